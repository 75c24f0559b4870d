"""The best way for a copy, written into the traced program: kept if the edited program shows what it should.

The compiler must have the copies that were judged, from and to the same tiles, which by their partitions take
fewer cycles; no other copy may be worse, no accesses out of order, and nothing may fail that did not.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from layoutcheck.algebra.inttuple import product
from layoutcheck.copies.changes import SIDES
from layoutcheck.copies.copy import Copy
from layoutcheck.copies.opaque import OtherOperand
from layoutcheck.fixes import code
from layoutcheck.machine.arch import WARP
from layoutcheck.machine.cost import NOTHING, Counts
from layoutcheck.patching.arguments import with_keyword
from layoutcheck.patching.edit import Candidate, Edit, apart, apply, at_once
from layoutcheck.patching.instead import by_all, instead
from layoutcheck.patching.program import Program, Site
from layoutcheck.patching.repaired import Repaired
from layoutcheck.patching.search import Search, short
from layoutcheck.patching.state import RANKS, Edited, Place, State
from layoutcheck.sources.traced import TracedCopy
from layoutcheck.syntax import name_of
from layoutcheck.synthesis.optimum import WORTH, Alone, Optimum

UNNAMED = "its tiles or its thread have no names where the copy stands"
GUARDED = "it is under a predicate, and other threads and values need others: `layoutcheck synth --tails`"
ALLOCATION = "the allocation of the shared tile was not found"


class Written(NamedTuple):
    """The way that was written, the files with it, and the predicted cycles of the traced copies."""

    best: Optimum
    files: Repaired
    cycles: float


def alone_of(one: TracedCopy) -> Alone | None:
    """What a copy costs that one thread makes of all its elements; None if several do, or nobody knows."""
    copy, found = one.copy, one.addresses
    if copy is None or found is None or copy.tiling is not None or isinstance(copy.dst, OtherOperand):
        return None
    elements, counts = product(copy.src.layout.shape), NOTHING
    for side in found.sides:
        if not isinstance(elements, int) or elements < WARP or sum(lane >= 0 for lane in side.lanes) != 1:
            return None
        moved = elements * copy.src.dtype.bits // 8
        if side.space == "gmem" and side.bytes_used != moved:
            return None
        times = moved * 8 // side.width_bits
        counts += Counts(times, times, times if side.space == "gmem" else 0)
    return Alone(found.threads, counts) if len(found.sides) == len(SIDES) else None


def written(
    search: Search, state: State, texts: Mapping[str, str], place: Place, ways: Sequence[Optimum]
) -> tuple[Written | None, str]:
    """The first of the ways for the copy at a place that is proven in the program; else why none is."""
    program = Program(texts)
    site = program.copy_at(*place)
    if site is None:
        return None, "no copy is called in this line of the program"
    refused = ""
    for best in ways:
        edits = _edits(program, site, best)
        if isinstance(edits, str):
            refused = refused or edits
            continue
        if not search.may(edits):
            held = [search.locked[edit.path] for edit in edits if edit.path in search.locked]
            refused = refused or (held[0] if held else "there was no time to try it")
            continue
        changed = apply(dict(texts), edits)
        edited = Edited(dict(texts), state, changed, State(search.trace(changed)))
        cycles, why = best.recounted, _objection(edited, edits, best)
        if not why and (cycles is None or cycles > best.cycles / WORTH):
            why = f"counted again, it takes {best.cycles if cycles is None else cycles:,.0f} cycles"
        if not why and cycles is not None:
            return Written(best, Repaired(dict(texts), changed), cycles), ""
        refused = refused or f"{best.title}: {why}"
    return None, refused


def _edits(program: Program, site: Site, best: Optimum) -> Candidate | str:
    """The copy's statement written anew, and the allocation of its tile; or why not."""
    if best.alone:
        edits = by_all(program, site, best.code)
    else:
        edits = instead(program, site, best.code, len(best.wanted.tile))
    if not edits:
        return UNNAMED
    if best.keeps:
        return edits
    moved = _allocated(program, site, best)
    return (*edits, *moved) if moved and apart((*edits, *moved)) else ALLOCATION


def _allocated(program: Program, site: Site, best: Optimum) -> Candidate:
    """The shared tile's allocation with another layout, alignment and swizzle; nothing if it is not found."""
    start, shared = program.argument(site, "dst"), best.found.shared
    assert shared is not None
    reached = program.reached(start) if start is not None else ()
    place = next((one for one in reached if name_of(one.call) == "allocate_tensor"), None)
    if place is None:
        return ()
    source, call = program.sources[place.path], place.call
    keywords = {keyword.arg for keyword in call.keywords}
    wanted = [("layout", code.layout_code(shared.layout), 1), ("byte_alignment", str(shared.align), 2)]
    if shared.swizzle is not None:
        wanted.append(("swizzle", code.swizzle_code(shared.swizzle), 3))
    elif "swizzle" in keywords or len(call.args) > 3:
        wanted.append(("swizzle", "None", 3))
    found: list[Edit] = []
    for name, text, position in wanted:
        found += next(iter(with_keyword(source, call, name, text, position)), ())
    return at_once(found)


def _objection(edited: Edited, edits: Candidate, best: Optimum) -> str:
    """What the edited program does not show as it should; "" where it does."""
    if why := edited.objection():
        return why
    if harmed := edited.harmed():
        return f"{short(harmed[0])} is worse"
    there = set(_made(edited, edits))
    rank = max((edited.after.ranks[one] for one in there), default=None)
    if rank is None or rank > RANKS["slow"]:
        return "the copy is " + next((name for name, one in RANKS.items() if one == rank), "gone")
    at = (one.copy for one in edited.after.trace.copies if (one.where.file, one.where.line) in there)
    seen = [copy for copy in at if copy is not None]
    for step in best.steps:
        if step.role != "turn" and not any(_same(step.copy, copy) for copy in seen):
            return f"the compiler does not have the {step.role} that was judged"
    return ""


def _same(judged: Copy, traced: Copy) -> bool:
    """Whether both have the same atom, threads and values, and whole tiles in memory."""
    if judged.atom != traced.atom or judged.tiling is None or traced.tiling is None:
        return False
    if judged.tiling.tiled != traced.tiling.tiled:
        return False
    for side in SIDES:
        a, b = judged.tiling.side(side), traced.tiling.side(side)
        if isinstance(a, OtherOperand) or isinstance(b, OtherOperand):
            return False
        if (a.space, a.dtype) != (b.space, b.dtype):
            return False
        if a.space != "rmem" and (a.layout, a.swizzle) != (b.layout, b.swizzle):
            return False
    return True


def _made(edited: Edited, edits: Candidate) -> Iterator[Place]:
    """The places of copies in the first edit's lines, the copy's own: counted from the file's end."""
    statement = edits[0]
    before, after = edited.texts[statement.path], edited.changed[statement.path]
    left = before.count("\n", statement.end)
    for other in edits[1:]:
        if other.path == statement.path and other.start >= statement.end:
            left += other.new.count("\n") - before.count("\n", other.start, other.end)
    last = after.count("\n") + 1 - left
    for line in range(last - statement.new.count("\n"), last + 1):
        if (statement.path, line) in edited.after.ranks:
            yield statement.path, line
