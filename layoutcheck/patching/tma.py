"""Edits for a traced TMA copy whose shared tile lies otherwise than its tensor map says.

The coordinates of such a copy do not tell the tile's modes, so no fix of the copy alone is proposed. Its
layouts are in the program: that of the allocation and that which the map is made of. Both are written in the
order of the global tensor, under a swizzle that TMA has.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator

from layoutcheck.algebra.inttuple import wrap
from layoutcheck.copies.copy import Copy
from layoutcheck.fixes import code
from layoutcheck.patching.edit import Candidate, Edit, rewritten
from layoutcheck.patching.layouts import unswizzled
from layoutcheck.patching.program import Program, Site
from layoutcheck.syntax import argument_of, name_of

_SWIZZLE_BITS = (3, 2, 1)  # of 128, 64 and 32 bytes; CUDA driver API, CUtensorMapSwizzle


def tma_edits(program: Program, site: Site, copy: Copy) -> Iterator[tuple[str, Candidate]]:
    """The layouts in the global tensor's order, under the swizzle that there is or another."""
    reached = {role: _reached(program, site, role) for role in ("src", "dst", "atom")}
    found = {
        (place.path, place.node.lineno, place.node.col_offset): place
        for places in reached.values()
        for place in places
    }
    calls = list(found.values())
    laid = tuple(edit for place in calls for edit in _laid(program, place, copy))
    starts = [program.argument(site, role) for role in ("src", "dst")]
    bare = next((edits for start in starts if start for edits in unswizzled(program, start)), ())
    if bare and not any(_may_swizzle(place) for place in reached["atom"]):
        yield "tma: allocate the tile without a swizzle, as its map is made", (*laid, *bare)
        return  # a trace does not show the map's swizzle: whatever leaves them apart would pass
    if laid:
        yield "tma: lay the tile out in the global tensor's order", laid
    for bits in _SWIZZLE_BITS:
        swizzled = tuple(edit for place in calls for edit in _swizzled(program, place, bits))
        if swizzled:
            yield f"tma: swizzle as TMA does, S<{bits},4,3>", (*laid, *swizzled)


def _reached(program: Program, site: Site, role: str) -> list[Site]:
    start = program.argument(site, role)
    return [] if start is None else list(program.reached(start))


def _may_swizzle(place: Site) -> bool:
    """Whether a call makes a swizzle, or a layout that may have one."""
    name = name_of(place.call)
    return name in ("make_swizzle", "make_composed_layout", "tile_to_shape") or "smem_layout" in name


def _laid(program: Program, place: Site, copy: Copy) -> Iterator[Edit]:
    """A `make_layout` of a whole tile in numbers, compact with the global tensor's contiguous mode first."""
    call = place.node
    assert isinstance(call, ast.Call) and copy.mapped is not None
    strides = wrap(copy.mapped.layout.stride)
    given = argument_of(call, "stride")
    if name_of(call) != "make_layout" or not call.args or given is None or 1 not in strides:
        return
    try:
        shape, stride = ast.literal_eval(call.args[0]), ast.literal_eval(given)
    except ValueError:
        return
    plain = isinstance(shape, tuple) and all(isinstance(n, int) for n in shape)
    if not plain or len(shape) != len(strides) or math.prod(shape) != _tile_elements(copy):
        return
    first = strides.index(1)
    order = [first, *(i for i in range(len(shape) - 1, -1, -1) if i != first)]
    compact, at = [0] * len(shape), 1
    for mode in order:
        compact[mode] = at
        at *= shape[mode]
    if tuple(compact) != stride:
        source = program.sources[place.path]
        yield rewritten(source, given, code.tree_code(tuple(compact)))


def _tile_elements(copy: Copy) -> int:
    bits = getattr(copy.atom, "copy_bits", 0)
    return int(bits) // copy.atom.dtype.bits if copy.atom is not None else 0


def _swizzled(program: Program, place: Site, bits: int) -> Iterator[Edit]:
    call = place.call
    if name_of(call) == "make_swizzle" and len(call.args) == 3:
        made, source = f"cute.make_swizzle({bits}, 4, 3)", program.sources[place.path]
        if ast.unparse(call).partition("(")[2] != made.partition("(")[2]:
            yield rewritten(source, call, made)
