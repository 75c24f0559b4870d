"""Coordinates of a tile in another order: whole tiles of (m, n) lie outside where (n, m) is meant."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator

from layoutcheck.algebra.measure import cosize
from layoutcheck.copies.changes import SIDES
from layoutcheck.copies.copy import Copy
from layoutcheck.copies.opaque import OtherOperand
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
        span = elements * whole.dtype.bits // 8 if isinstance(elements, int) else None
        if span is None and (fault.called or not fault.extent):  # else the extents are those of whole tiles
            continue
        if 0 <= fault.address < fault.other + (span or 0):
            continue
        yield from turned(program, start)


def turned(program: Program, start: Site) -> Iterator[tuple[str, Candidate]]:
    """Edits that swap two coordinates of what an expression was cut from, nearest first."""
    for place in program.behind(start):
        given, source = _coordinates(place.node), program.sources[place.path]
        texts = [] if given is None else [source.text_of(entry) for entry in given.elts]
        for i, j in itertools.combinations(range(len(texts)), 2):
            if given is not None and texts[i] != texts[j] and not {texts[i], texts[j]} & {"None", "_"}:
                old, other = source.text_of(given), [*texts]
                other[i], other[j] = texts[j], texts[i]
                new = ", ".join(other)
                new = f"({new})" if old.startswith("(") else new
                title = f"coordinates: {new} for {old}, with which more lies inside of the tensor"
                yield title, (rewritten(source, given, new),)


def _coordinates(node: ast.expr) -> ast.Tuple | None:
    """The written coordinates of an element or a tile: `local_tile`'s, an index or what is last in one."""
    if isinstance(node, ast.Call) and name_of(node) == "local_tile":
        given = argument_of(node, "coord", 2)
    else:
        given = node.slice if isinstance(node, ast.Subscript) else None
        if isinstance(given, ast.Tuple) and isinstance(given.elts[-1], ast.Tuple):
            given = given.elts[-1]
    return given if isinstance(given, ast.Tuple) else None
