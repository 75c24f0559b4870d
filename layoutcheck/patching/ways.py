"""The edits that may repair a copy, in the order in which they are tried.

`other_major`: copies of a tile whose contiguous mode is the wrong one fail for that one reason. Each could be
repaired by itself, with narrower or transposed accesses; the tile laid out the other way round repairs all.

`tma_edits`: the coordinates of a TMA copy do not tell the tile's modes, so no fix of it alone is proposed.
Its layouts are in the program: that of the allocation and that which the map is made of. Both are written in
the order of the global tensor, under a swizzle that TMA has.
"""

from __future__ import annotations

import ast
import itertools
import math
from collections.abc import Iterator
from dataclasses import replace

from layoutcheck.algebra.inttuple import flatten, wrap
from layoutcheck.algebra.layout import Layout
from layoutcheck.algebra.measure import size
from layoutcheck.atoms.matrix import LdMatrix, StMatrix
from layoutcheck.check import Fix, Report
from layoutcheck.copies.atom import ThreadAtom, VectorAtom
from layoutcheck.copies.changes import moved_sides
from layoutcheck.copies.copy import Copy
from layoutcheck.copies.memref import Memref
from layoutcheck.copies.opaque import OtherOperand
from layoutcheck.fixes import code
from layoutcheck.fixes.draft import ALLOCATED
from layoutcheck.fixes.pad_pitch import STRATEGY as PAD
from layoutcheck.patching.arguments import with_keyword
from layoutcheck.patching.copiers import along_the_other_mode, flipped, own_width, width
from layoutcheck.patching.edit import Candidate, Edit, Way, rewritten
from layoutcheck.patching.edits import MOST_PLACES, candidates
from layoutcheck.patching.fragments import retiled
from layoutcheck.patching.instead import before_recast
from layoutcheck.patching.layouts import coarser, laid_out, unswizzled
from layoutcheck.patching.paddings import fitted
from layoutcheck.patching.predicates import STRATEGY, guarded, reused
from layoutcheck.patching.program import Program, Site
from layoutcheck.patching.readers import SIDES, Reports, allocated_at
from layoutcheck.patching.stages import spaced
from layoutcheck.patching.state import place_of
from layoutcheck.patching.strides import respelled
from layoutcheck.patching.tiles import is_shifted, turned_tiles
from layoutcheck.patching.words import flags, other_words
from layoutcheck.patching.wraps import wrapped
from layoutcheck.sources.traced import Distinct
from layoutcheck.syntax import argument_of, name_of


def ways(
    texts: dict[str, str], one: Distinct, report: Report, by: str | None = None, bad: Reports = ()
) -> Iterator[Way]:
    """What repairs others of the `bad` copies, too; the report's fixes; then what no model predicts.

    A fix that lays a global tensor out otherwise is tried only where it is asked for `by` its name: what the
    tensor's memory holds is the caller's, and no trace shows it.
    """
    program = Program(texts)
    first = one.first
    site = program.copy_at(first.where.file, first.where.line)
    if site is None:
        return
    if by is None:
        tiles = itertools.chain(other_major(program, bad, one, report), other_flags(program, bad, one))
        for title, edits, others in tiles:
            yield Way(title, edits, "legal", others=others)
        for edits in _counted(program, site, report):
            yield Way("matrices: as many as the registers hold", edits, "legal")
        for make in (wrapped, fitted) if first.outgrows else ():
            yield from itertools.starmap(Way, make(program, site.path, site.call.lineno))
        yield from itertools.starmap(Way, turned_tiles(program, site, first, report.copy))
    if by in (None, STRATEGY) and (first.has_tail or first.leaves_tensor) and not is_shifted(first):
        for edits in reused(program, site, report.copy):
            yield Way(_REUSED, edits, bare=())
        for edits, bare in guarded(program, site, report.copy):
            yield Way(_GUARDED if name_of(site.call) == "copy" else _BRANCH, edits, bare=bare)
    codes = {finding.code for finding in report.findings if by is None}
    if "LC205" in codes or (by is None and _splits(report.copy)):
        for edits in _coarser(program, site, report.copy):
            yield Way(_UNITS, edits)
    if "LC213" in codes:
        yield from itertools.starmap(Way, _strides(program, site))
    for unit, edits in _spaced(program, site, report.copy) if by in (None, PAD) else ():
        yield Way(f"{PAD}: pitches of whole vectors, {unit} elements", edits)
    start = program.argument(site, "atom")
    if by is None and start is not None:
        for edits in itertools.islice(own_width(program, start), MOST_PLACES):
            yield Way("width: without what multiplies it", edits)
    for fix in sorted(report.fixes, key=lambda one: other_registers(report, one)):
        if by != fix.strategy and (by is not None or moves_global(report.copy, fix)):
            continue
        for edits in candidates(program, report.copy, fix, site):
            note = f"; {fix.note}" if fix.note and fix.note != ALLOCATED else ""
            yield Way(f"{fix.strategy}: {fix.title}{note}", edits, fix.verdict)
    for title, edits in _guesses(program, site, report) if by is None else ():
        yield Way(title, edits, "slow" if title.startswith("width: copy") else "legal")


def _spaced(program: Program, site: Site, copy: Copy) -> Iterator[tuple[int, Candidate]]:
    """Strides of a shared tile rounded up, whose pitch leaves a thread's part aligned to less than needed."""
    need = copy.atom.address_bytes if copy.atom is not None else 0
    for side in ("src", "dst"):
        tile = copy.whole(side)
        if isinstance(tile, OtherOperand) or tile.space != "smem" or not tile.layout.is_static:
            continue
        unit = need * 8 // tile.dtype.bits
        pitches = [d for d in flatten(wrap(tile.layout.stride)) if d > 1]
        start = program.argument(site, side)
        ragged = unit > 1 and any(d % unit for d in pitches)
        if start is not None and ragged and tile.proved_align_bytes % need:
            yield from ((unit, edits) for edits in spaced(program, start, unit, tile.layout))


def _splits(copy: Copy) -> bool:
    """Whether a swizzle moves parts of one access, for which it has no alignment: a vector of 16 bytes."""
    swizzles = [copy.side(side).swizzle for side in ("src", "dst")]
    wide = isinstance(copy.atom, VectorAtom) and copy.atom.width_bits == 128
    return wide and any(one is not None and one.base < 4 for one in swizzles)


_GUARDED = (
    f"{STRATEGY}: a predicate for each vector; one that begins outside of the tensor is not copied, and "
    "leaves 0 in registers and behind cp.async"
)
_BRANCH = f"{STRATEGY}: a branch asks whether the first element of a thread is inside of the tensor"
_REUSED = f"{STRATEGY}: the predicate of the other copy"


def moves_global(copy: Copy, fix: Fix) -> bool:
    """Whether a fix gives a tensor in global memory other static strides, not only a promise about them."""
    return len(fix.copies) == 1 and any(
        copy.whole(side).space == "gmem" for side in moved_sides(copy, fix.copies[0])
    )


def other_registers(report: Report, fix: Fix) -> bool:
    """Whether threads get other elements in their registers, which those who use them must know."""
    registers = "rmem" in (report.copy.src.space, report.copy.dst.space)
    return registers and any(change.argument == "threads and values" for change in fix.changes)


def _counted(program: Program, site: Site, report: Report) -> Iterator[Candidate]:
    """The instruction's number of matrices taken from the registers: what is copied stays as written."""
    atom, start = report.copy.atom, program.argument(site, "atom")
    if start is None or not isinstance(atom, (LdMatrix, StMatrix)) or report.copy.tiling is not None:
        return
    registers = report.copy.side(atom.register_side)
    values = size(registers.layout[0])
    bits = values * registers.dtype.bits if isinstance(values, int) else 0
    if bits in (32, 64, 128) and bits // 32 != atom.num_matrices:  # a register of 32 bits a matrix
        for place in program.reached(start):
            if name_of(place.call).startswith(("LdMatrix8x8x16b", "StMatrix8x8x16b")):
                source, matrices = program.sources[place.path], str(bits // 32)
                yield from with_keyword(source, place.call, "num_matrices", matrices, 1)


_UNITS = "swizzle: units of 16 bytes, which one access keeps together"


def _coarser(program: Program, site: Site, copy: Copy) -> Iterator[Candidate]:
    if not isinstance(copy.src, OtherOperand):
        yield from coarser(program, site, copy.src.dtype.bits)


def _guesses(program: Program, site: Site, report: Report) -> Iterator[tuple[str, Candidate]]:
    """Edits that no model of the copy alone proposes, as its threads are cut anew by them."""
    atom = report.copy.atom
    if report.copy.mapped is not None:
        yield from tma_edits(program, site, report.copy)
        yield from other_words(program, site)
        yield from _strides(program, site)
        return
    for edits in _coarser(program, site, report.copy):
        yield _UNITS, edits
    if any(one.code == "LC209" for one in report.findings):
        for edits in before_recast(program, site, report.copy):
            yield "recast: copy the elements as they were before it", edits
    for edits in along_the_other_mode(program, site) if isinstance(atom, ThreadAtom) else ():
        yield "values: along the other mode of the tile", edits
    if isinstance(atom, ThreadAtom):
        yield from _strides(program, site)
    yield from retiled(program, site) if report.verdict == "rejected" else ()
    yield from other_words(program, site)
    start = program.argument(site, "atom")
    if start is None:
        for role in ("src", "dst"):
            yield from _behind(program, site, role)
    cut = atom if report.copy.tiling is None else report.copy.tiling.tiled.atom
    if start is not None and isinstance(atom, VectorAtom) and isinstance(cut, VectorAtom):
        wide = report.verdict in ("rejected", "wrong") or cut.width_bits > atom.width_bits
        for bits in (128, 64, 32, 16, 8) if wide else ():
            narrower = atom.dtype.bits <= bits < cut.width_bits
            for edits in width(program, start, bits) if narrower else ():
                yield f"width: copy {bits} bits at a time", edits
    if start is None or not isinstance(atom, (LdMatrix, StMatrix)):
        return
    for place in program.reached(start):
        if name_of(place.call).startswith(("LdMatrix8x8x16b", "StMatrix8x8x16b")):
            for edits in flipped(program, place):
                yield "transpose: the other way round", edits
            source, other = program.sources[place.path], str(not atom.transpose)
            for edits in with_keyword(source, place.call, "transpose", other, 0):
                yield f"transpose: transpose={other}", edits


def _behind(program: Program, site: Site, role: str) -> Iterator[tuple[str, Candidate]]:
    """Other widths of the tiled copy that cut an operand of a copy without one."""
    start = program.argument(site, role)
    for bits in (128, 64, 32):
        for edits in width(program, start, bits) if start is not None else ():
            yield f"width: cut for {bits} bits at a time", edits


def _strides(program: Program, site: Site) -> Iterator[tuple[str, Candidate]]:
    for role in ("atom", "src", "dst"):
        start = program.argument(site, role)
        yield from respelled(program, start) if start is not None else ()


def other_major(
    program: Program, bad: Reports, one: Distinct, report: Report
) -> Iterator[tuple[str, Candidate, list[Distinct]]]:
    """Each edit of the shared tile of a failing copy: what it does, the edit, its other bad copies."""
    site = program.copy_at(one.first.where.file, one.first.where.line)
    for side in SIDES if site is not None else ():
        old = report.copy.whole(side)
        new = None if isinstance(old, OtherOperand) else turned_over(old)
        start = program.argument(site, side)  # type: ignore[arg-type]
        made = None if new is None else allocated_at(program, one, side)
        if new is None or start is None or made is None:
            continue
        others = _of_the_same(program, bad, one, made)
        if others:
            title = f"match-layout: lay the shared tile out the other way round, {new.layout}"
            for edits in laid_out(program, start, old, new):
                yield title, edits, others


def other_flags(
    program: Program, bad: Reports, one: Distinct
) -> Iterator[tuple[str, Candidate, list[Distinct]]]:
    """Each True or False that a helper makes the tile's layout of, the other way round; as `other_major`."""
    site = program.copy_at(one.first.where.file, one.first.where.line)
    for side in SIDES if site is not None else ():
        start = program.argument(site, side)  # type: ignore[arg-type]
        made = allocated_at(program, one, side)
        others = [] if made is None else _of_the_same(program, bad, one, made)
        for title, edits in flags(program, start) if start is not None and others else ():
            yield title, edits, others


def _of_the_same(program: Program, bad: Reports, one: Distinct, made: tuple[str, int, int]) -> list[Distinct]:
    """The other failing copies of the tile that is allocated there."""
    return [
        other
        for other, _ in bad
        if place_of(other) != place_of(one) and made in [allocated_at(program, other, s) for s in SIDES]
    ]


def turned_over(tile: Memref) -> Memref | None:
    """A shared matrix with its other mode contiguous, as many elements apart beyond its extent as before.

    None for what is no matrix of two modes without a nested one, one of them contiguous.
    """
    shape, stride = tile.layout.shape, tile.layout.stride
    if tile.space != "smem" or not tile.layout.is_static or not isinstance(shape, tuple) or len(shape) != 2:
        return None
    (rows, columns), (down, along) = shape, stride
    numbers = (rows, columns, down, along)
    if any(type(number) is not int or number < 1 for number in numbers) or 1 not in (down, along):
        return None
    if down == 1 and along >= rows:
        return replace(tile, layout=Layout((rows, columns), (columns + along - rows, 1)))
    if along == 1 and down >= columns:
        return replace(tile, layout=Layout((rows, columns), (1, rows + down - columns)))
    return None


_SWIZZLE_BITS = (3, 2, 1)  # of 128, 64 and 32 bytes; CUDA driver API, CUtensorMapSwizzle


def tma_edits(program: Program, site: Site, copy: Copy) -> Iterator[tuple[str, Candidate]]:
    """The layouts in the global tensor's order, under the swizzle that there is or another."""
    reached = {role: [*program.reached_by(site, role)] for role in ("src", "dst", "atom")}
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
