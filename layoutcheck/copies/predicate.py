"""Which modes of a predicate's shape a copy does not ask for."""

from __future__ import annotations

from math import prod
from typing import Any

from layoutcheck.algebra.inttuple import flatten, product, rank, wrap
from layoutcheck.algebra.layout import text


def surplus(want: Any, got: Any) -> str:
    """What a predicate of shape `got` has beyond `want`, which the copy asks for; "" where it is not more.

    Shapes are trees of static integers. In mode 0, one entry for each instruction, the surplus is an
    instruction's own elements; in another it is a mode by which the data is sliced.
    """
    if rank(want) != rank(got):
        return ""
    for at, (asked, has) in enumerate(zip(wrap(want), wrap(got), strict=True)):
        more = _rest(has, asked) if product(asked) != product(has) else []
        if not more:
            continue
        if at == 0 and _plain(has)[: len(more)] == more:
            return (
                f"Mode 0 is {text(has)}: it still has the {prod(more)} elements of one instruction; leave "
                f"their mode out, one entry for each instruction ({product(asked)})"
            )
        return (
            f"Mode {at} is {text(has)}, {product(has)} entries for {product(asked)} of the data: it still "
            f"has a mode of {' x '.join(map(str, more))}, by which the data is sliced; slice the predicate "
            "alike (pred[None, m, None])"
        )
    return ""


def _rest(has: Any, asked: Any) -> list[int]:
    """The leaves of a mode without those of another, from the right; none where it lacks one of them."""
    wanted, rest = _plain(asked), list[int]()
    for leaf in reversed(_plain(has)):
        if wanted and leaf == wanted[-1]:
            wanted.pop()
        else:
            rest.insert(0, leaf)
    return [] if wanted else rest


def _plain(mode: Any) -> list[int]:
    """The leaves of a mode that are not 1."""
    return [leaf for leaf in flatten(mode) if leaf != 1]
