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
        for place in program.behind(start):
            given, source = _coordinates(place.node), program.sources[place.path]
            if given is None:
                continue
            texts = [source.text_of(entry) for entry in given.elts]
            for i, j in itertools.combinations(range(len(texts)), 2):
                if texts[i] != texts[j] and not {texts[i], texts[j]} & {"None", "_"}:
                    other = [*texts]
                    other[i], other[j] = texts[j], texts[i]
                    new = f"({', '.join(other)})"
                    title = (
                        f"coordinates: the tile {new}, as {source.text_of(given)} lies outside of the tensor"
                    )
                    yield title, (rewritten(source, given, new),)


def _coordinates(node: ast.expr) -> ast.Tuple | None:
    """The written coordinates of the tile that an expression takes: `local_tile`'s, or an index's last."""
    if isinstance(node, ast.Call) and name_of(node) == "local_tile":
        given = argument_of(node, "coord", 2)
    elif isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Tuple):
        given = node.slice.elts[-1]
    else:
        return None
    return given if isinstance(given, ast.Tuple) else None
