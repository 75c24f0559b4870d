"""LC268 inadmissible-composition: the DSL composes two layouts that have no composition, and returns a wrong layout.

## What it means

`cute.composition(A, B)` of literal layouts: no layout R has R(i) = A(B(i)), but the DSL returns a
layout. Code that uses it reads other elements, without an error.

## Why

R exists where the strides and extents of B divide those of A, or go beyond their end (CuTe's paper, equations 20
and 21). The DSL tests less: NVIDIA/cutlass#3177 and #2955. The tests compare our algebra with it;
docs/algebra-differences.md lists each wrong answer with the first index that shows it.

## How to fix it

Choose a B that divides A: a tile whose extent divides the mode that it cuts. `layoutcheck.composition(A, B)` says
which mode does not.

## How to silence it

`# layoutcheck: ignore[LC268] reason`.
"""

from __future__ import annotations

from collections.abc import Iterator

from layoutcheck.lint.literal import compositions
from layoutcheck.lint.rule import Example, Hit, make_rule
from layoutcheck.lint.source import Module


def find(module: Module) -> Iterator[Hit]:
    """Compositions of literals that the strict algebra refuses and the DSL answers."""
    for call, a, b, answer in compositions(module):
        yield Hit(
            call.node,
            f"{a} o {b} is not a layout, but the DSL returns {answer}",
            f"The DSL's {answer} is not A(B(i)). Use a B whose strides and extents divide the modes of A.",
            {"a": a, "b": b, "dsl": answer},
        )


_SOURCE = """
from cutlass import cute


@cute.jit
def host():
    whole = cute.make_layout((4, 6, 8), stride=(2, 3, 5))
    part = cute.composition(whole, cute.make_layout(6, stride=STRIDE))
    print(part)
"""

RULE = make_rule(
    __doc__,
    "wrong",
    find,
    Example(flagged=_SOURCE.replace("STRIDE", "3"), clean=_SOURCE.replace("STRIDE", "4")),
    needs=("composition",),
)
