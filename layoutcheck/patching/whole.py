"""Repairs of what no copy shows: products whose operands do not fit, and programs that fail before they copy.

A failure is repaired by the alignment that the compiler asks for, or by other strides near the line that it
came from, if the whole program is right then: it builds as many kernels or more, and nothing in it is
rejected, wrong or out of order.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import NamedTuple

from layoutcheck.patching import conflicts, guards, operands, ordering
from layoutcheck.patching.edit import Candidate, Way, apply
from layoutcheck.patching.fragments import retiled
from layoutcheck.patching.layouts import aligned
from layoutcheck.patching.ordering import proof
from layoutcheck.patching.paddings import fitted
from layoutcheck.patching.program import COPIES, Program, Site
from layoutcheck.patching.repaired import Repair
from layoutcheck.patching.search import MOST_ORDERED, MOST_TRIES, Proven, Search, lines_of, short, told
from layoutcheck.patching.state import RANKS, Edited, State
from layoutcheck.patching.strides import calls_at, respelled
from layoutcheck.patching.tiles import SHIFTED
from layoutcheck.patching.unbuilt import UNBUILT, unbuilt
from layoutcheck.patching.views import views
from layoutcheck.patching.wraps import wrapped
from layoutcheck.sources.shared_uses import SharedReport
from layoutcheck.sources.traced import UNCOMPILED, Frame, KernelFinding, Trace, TraceFailure
from layoutcheck.syntax import name_of

FAILED = ("raised", "killed", "uncompiled", "refused")
UNFOUND = "no statement of the program was found that a fix changes"
UNGROWN = "an index of it is too large or its layout too small: no allocation has fewer elements than that"
NO_COPY = "no copy is called in this line: generated code has no statement that can be edited"


class _Done(NamedTuple):
    """What an edit repaired: for which place it is (None: its own), the verdict, all places.

    `note` goes behind its title.
    """

    where: Frame | None
    verdict: str
    places: tuple[Frame, ...]
    note: str = ""


def product(
    search: Search, state: State, finding: KernelFinding, texts: dict[str, str]
) -> tuple[Proven | None, str]:
    """The edit with which a product's operands fit; else why there is none."""
    where = finding.places[0].where

    def objection(edited: Edited, _edits: Candidate) -> str:
        why = operands.objection(state.trace, edited.after.trace, finding)
        return why or edited.objection(registers=False) or _harmed(edited)

    ways = operands.ways(texts, finding)
    done = _Done(where, "legal", (where,))
    made, why = _first(search, state, texts, ways, MOST_TRIES, objection, lambda _: done)
    return made, why or UNFOUND


def bounded(
    search: Search, state: State, finding: KernelFinding, texts: dict[str, str]
) -> tuple[Proven | None, str]:
    """The edit with which element accesses stay in their tensor, or fit their allocation; else why not."""
    where = finding.places[0].where
    held = finding in guards.in_shared(state.trace)
    every = guards.ways(texts, finding, state.trace)
    if held:
        at = Program(texts), *finding.lines[0]
        every = (Way(*way) for one in (wrapped, fitted) for way in one(*at))
    ways = {way.edits: way for way in every}

    def objection(edited: Edited, edits: Candidate) -> str:
        why = edited.failed() or guards.objection(edited, finding) or edited.objection() or _harmed(edited)
        bare = ways[edits].bare
        if why or held or bare is None:
            return why or ("" if held else guards.unturned(edited, finding, ways[edits].moves))
        return guards.unkept(edited, lambda: State(search.trace(apply(texts, bare))), finding, edits)

    def repaired(edited: Edited) -> _Done:
        return _Done(where, guards.VERDICT, tuple(one.places[0].where for one in guards.repaired(edited)))

    made, why = _first(search, state, texts, ways.values(), MOST_TRIES, objection, repaired)
    if made is not None and ways[made.edits].moves:
        rest = [way for way in ways.values() if way.moves]
        rest = rest[rest.index(ways[made.edits]) + 1 :]
        other, _ = _first(search, state, texts, rest, MOST_TRIES, objection, repaired)
        made, why = _alone(made, other)
    return made, why or (UNGROWN if held else SHIFTED if "shifted" in finding.evidence else "")


def unconflicted(
    search: Search, state: State, finding: KernelFinding, texts: dict[str, str]
) -> tuple[Proven | None, str]:
    """The edit with which a line has no bank conflict, else the one with the fewest, or why there is none."""
    by = search.by
    every = [way for way in conflicts.ways(texts, finding) if by is None or way[0].startswith(f"{by}:")]
    built = [one.name for one in state.trace.kernels]
    others = [unbuilt(texts, {**texts, **apply(texts, edits)}, built) for _, edits in every]
    ways = [way for way, other in zip(every, others, strict=True) if not other]
    if not ways:
        return None, f"{UNBUILT}: {others[0]}" if others else conflicts.UNFOUND
    search = replace(search, uses=True)
    if not any(isinstance(one, SharedReport) for one in state.trace.orders):
        state = State(search.trace(texts))
    fewer: list[tuple[int, Candidate, Edited]] = []

    def objection(edited: Edited, edits: Candidate) -> str:
        why = conflicts.objection(edited, finding) or _harmed(edited)
        if why or not conflicts.left(edited, finding):
            return why
        taken = conflicts.wavefronts(edited, finding)
        if taken.after * conflicts.WORTH <= taken.before:
            fewer.append((taken.after, edits, edited))
        return str(taken)

    def repaired(edited: Edited) -> _Done:
        taken = conflicts.wavefronts(edited, finding)
        verdict = conflicts.FEWER if conflicts.left(edited, finding) else conflicts.VERDICT
        places = tuple(one.places[0].where for one in conflicts.repaired(edited)) or (
            finding.places[0].where,
        )
        return _Done(finding.places[0].where, verdict, places, f": {taken}")

    made, why = _first(search, state, texts, ways, conflicts.MOST_WAYS, objection, repaired)
    if made is None and fewer:
        _, edits, edited = min(fewer, key=lambda one: one[0])
        title = next(title for title, one in ways if one == edits)
        return _proven(edited, title, edits, repaired(edited)), ""
    return made, why


def disorder(
    search: Search, state: State, finding: KernelFinding, texts: dict[str, str]
) -> tuple[Proven | None, str]:
    """The edit with which accesses are in order; else why there is none."""
    where = finding.places[min(1, len(finding.places) - 1)].where
    both = tuple(dict.fromkeys(place.where for place in finding.places[:2]))

    def objection(edited: Edited, _edits: Candidate) -> str:
        return (
            edited.failed()
            or proof.objection(state.trace, edited.after.trace, finding, edited.lines)
            or edited.objection()
            or _harmed(edited)
            or proof.misplaced(state.trace, edited.after.trace, edited.lines)
        )

    search = replace(search, uses=proof.accesses(finding))
    ways = ordering.ways(texts, finding, state.trace)
    done = _Done(where, "in order", both)
    made, why = _first(search, state, texts, ways, MOST_ORDERED, objection, lambda _: done)
    if made is not None or not search.uses:
        return made, why
    # No order is right: a line may access another stage than is meant.
    others = [*ordering.restaged(Program(texts), finding)]
    made, reason = _first(search, state, texts, others, MOST_ORDERED, objection, lambda _: done)
    if made is not None:
        rest = others[[edits for _, edits in others].index(made.edits) + 1 :]
        other, _ = _first(search, state, texts, rest, MOST_ORDERED, objection, lambda _: done)
        made, reason = _alone(made, other)
        why = ""
    return made, why or reason


def _alone(made: Proven, other: Proven | None) -> tuple[Proven | None, str]:
    """An edit, if no other one is as good."""
    if other is None:
        return made, ""
    return None, f"it is not known which is meant: {made.repair.title}; or {other.repair.title}"


def _harmed(edited: Edited) -> str:
    """Which copy an edit harms, in words; "" for none."""
    harmed = edited.harmed()
    return f"{short(harmed[0])} is worse" if harmed else ""


def _first(
    search: Search,
    state: State,
    texts: dict[str, str],
    ways: Iterable[tuple[str, Candidate] | Way],
    most: int,
    objection: Callable[[Edited, Candidate], str],
    repaired: Callable[[Edited], _Done],
) -> tuple[Proven | None, str]:
    """The first edit that nothing is said against; else what is said. `repaired` is what it did."""
    refused: list[str] = []
    tried: set[tuple[str, ...]] = {tuple(texts.values())}
    for title, edits, *_ in ways:
        if not search.may(edits):
            continue
        changed = apply(texts, edits)
        if tuple(changed.values()) in tried:
            continue
        if len(tried) > most:
            break
        tried.add(tuple(changed.values()))
        edited = Edited(texts, state, changed, State(search.trace(changed)))
        why = objection(edited, edits)
        if not why:
            return _proven(edited, title, edits, repaired(edited)), ""
        refused.append(f"{title.split(';')[0]} at line {lines_of(texts, edits)[0].line}: {why}")
    return None, told(refused)


def _proven(edited: Edited, title: str, edits: Candidate, done: _Done) -> Proven:
    places = lines_of(edited.texts, edits)
    where = done.where or places[0]
    return Proven(edited, Repair(where, f"{title}{done.note}", done.verdict, done.places, places), edits)


def failures(state: State) -> list[TraceFailure]:
    """What ended the program; where no line is known of it, one of the compiler."""
    ended = (one for one in state.trace.failures if one.kind in FAILED)
    return [one for one in ended if one.where is not None or one.kind in UNCOMPILED]


def uncompiled(trace: Trace) -> list[str]:
    """What the compiler says of kernels that it does not build, each place once."""
    found = {one.where or one.message: one for one in trace.failures if one.kind in UNCOMPILED}
    return [
        f"{one.where or 'a kernel'}: the compiler refuses it: {one.message.strip().splitlines()[0][:200]}"
        for one in found.values()
        if one.message.strip()
    ]


_ALIGNMENT = re.compile(r"alignment \([0-9]+ bits\) does not meet requirement \(([0-9]+) bits\)")


def near(program: Program, failed: TraceFailure) -> Iterator[tuple[str, Candidate]]:
    """Titles and edits for the arguments of the calls that span the line of a failure, if that is known.

    Of what the compiler refuses, for all fragments too, and for views of shared tiles.
    """
    asked = _ALIGNMENT.search(failed.message)
    if failed.where is None:
        yield from _retiled(program)
        return
    for call in calls_at(program, failed.where.file, failed.where.line):
        yield from retiled(program, call)
        yield from _other_operand(program, call)
        if asked is not None:
            need = int(asked[1]) // 8
            yield from (
                (f"alignment: {need} B, as the compiler asks", one) for one in aligned(program, call, need)
            )
        yield from respelled(program, call)
    if failed.kind in UNCOMPILED:  # the place is often the kernel's alone
        yield from _retiled(program)
        for source in program.sources.values():
            yield from views(source)


def _retiled(program: Program) -> Iterator[tuple[str, Candidate]]:
    """The fragments of all copies, retiled."""
    sites = (
        Site(path, made, source.scope_of(made))
        for path, source in program.sources.items()
        for made in source.calls()
    )
    yield from dict.fromkeys(way for site in sites for way in retiled(program, site))


def _other_operand(program: Program, call: Site) -> Iterator[tuple[str, Candidate]]:
    """`make_tiled_copy_B` for `make_tiled_copy_A` and the like, behind the atom of a copy."""
    for place in program.reached_by(call, "atom") if name_of(call.call) in COPIES else ():
        yield from operands.of_others(program.sources[place.path], place.node)  # type: ignore[arg-type]


def failure(search: Search, state: State, failed: TraceFailure, texts: dict[str, str]) -> Proven | None:
    """The edit with which the program does not fail, and all of it is right."""

    def objection(edited: Edited, _edits: Candidate) -> str:
        after = edited.after
        if after.trace.failures or not after.ranks or max(after.ranks.values()) > RANKS["slow"]:
            return "the program is not right"
        fewer = len(after.trace.kernels) < len(state.trace.kernels)
        return "fewer kernels" if fewer or edited.disorder() or operands.findings(after.trace) else ""

    def repaired(edited: Edited) -> _Done:
        worst = max(edited.after.ranks.values())
        return _Done(failed.where, "legal" if worst == RANKS["legal"] else "slow", ())

    return _first(search, state, texts, near(Program(texts), failed), MOST_TRIES, objection, repaired)[0]
