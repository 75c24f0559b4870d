"""Coordinates in another order, or without a shift: tiles of (m, n) lie outside where (n, m) is meant."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator

from layoutcheck.algebra.measure import cosize
from layoutcheck.copies.changes import SIDES
from layoutcheck.copies.copy import Copy
from layoutcheck.copies.opaque import OtherOperand
from layoutcheck.lint.source import Source
from layoutcheck.patching.edit import Candidate, rewritten
from layoutcheck.patching.program import Program, Site
from layoutcheck.sources.traced import TracedCopy
from layoutcheck.syntax import argument_of, name_of


def turned_tiles(
    program: Program, site: Site, one: TracedCopy, copy: Copy
) -> Iterator[tuple[str, Candidate]]:
    """Edits that swap two coordinates of a tile of which an access begins behind the tensor and a tile more.

    A tail ends the tensor within a tile. A predicate would hide the wrong tile, of which it copies nothing.
    """
    for fault in one.addresses.faults if one.addresses is not None else ():
        side = SIDES[fault.side == "dst"]
        whole, start = copy.whole(side), program.argument(site, side)
        if fault.kind != "beyond" or start is None or isinstance(whole, OtherOperand):
            continue
        elements = cosize(whole.layout)
        if isinstance(elements, int):
            tail = 0 <= fault.address < fault.other + elements * whole.dtype.bits // 8
        else:  # the extents that it was given are those of whole tiles, or a call's
            tail = bool(fault.called) or not fault.extent
        if fault.shifted or not tail:
            yield from turned(program, start, fault.shifted)


def turned(program: Program, start: Site, shifted: bool = False) -> Iterator[tuple[str, Candidate]]:
    """Edits that swap two coordinates of what an expression was cut from, nearest first.

    What is `shifted` has coordinates to which a number is added: edits that leave it away.
    """
    for place in program.behind(start):
        given, source = _coordinates(place.node), program.sources[place.path]
        if given is not None:
            yield from (_unshifted if shifted else _swapped)(source, given)


def _unshifted(source: Source, given: ast.expr) -> Iterator[tuple[str, Candidate]]:
    for entry in given.elts if isinstance(given, ast.Tuple) else [given]:
        plain = isinstance(entry, ast.BinOp) and isinstance(entry.op, (ast.Add, ast.Sub))
        if plain and isinstance(entry.right, ast.Constant):  # type: ignore[attr-defined]
            new = source.text_of(entry.left)  # type: ignore[attr-defined]
            title = f"coordinates: {new} in place of {source.text_of(entry)}: {SHIFTED}"
            yield title, (rewritten(source, entry, new),)


def _swapped(source: Source, given: ast.expr) -> Iterator[tuple[str, Candidate]]:
    texts = [source.text_of(entry) for entry in given.elts] if isinstance(given, ast.Tuple) else []
    for i, j in itertools.combinations(range(len(texts)), 2):
        if texts[i] != texts[j] and not {texts[i], texts[j]} & {"None", "_"}:
            old, other = source.text_of(given), [*texts]
            other[i], other[j] = texts[j], texts[i]
            new = ", ".join(other)
            new = f"({new})" if old.startswith("(") else new
            title = f"coordinates: {new} in place of {old}, which leaves the tensor"
            yield title, (rewritten(source, given, new),)


SHIFTED = "nothing writes the tensor's first element, and this writes behind its last one"


def is_shifted(one: TracedCopy) -> bool:
    """Whether a copy's tile lies wrong, which a predicate would only hide."""
    return one.addresses is not None and any(fault.shifted for fault in one.addresses.faults)


def _coordinates(node: ast.expr) -> ast.expr | None:
    """The written coordinates of an element or a tile: `local_tile`'s, an index or what is last in one."""
    if isinstance(node, ast.Call) and name_of(node) == "local_tile":
        return argument_of(node, "coord", 2)
    given = node.slice if isinstance(node, ast.Subscript) else None
    tile = isinstance(given, ast.Tuple) and isinstance(given.elts[-1], ast.Tuple)
    return given.elts[-1] if tile else given  # type: ignore[union-attr]
