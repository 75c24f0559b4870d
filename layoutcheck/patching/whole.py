"""Repairs of what no copy shows: products whose operands do not fit, and programs that fail before they copy.

A failure is repaired by the alignment that the compiler asks for, or by other strides near the line that it
came from, if the whole program is right then: it builds as many kernels or more, and nothing in it is
rejected, wrong or out of order.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable, Iterator

from layoutcheck.patching import guards, operands, ordering
from layoutcheck.patching.edit import Candidate, apply, rewritten
from layoutcheck.patching.layouts import aligned
from layoutcheck.patching.ordering import proof
from layoutcheck.patching.program import COPIES, Program, Site
from layoutcheck.patching.repaired import Repair
from layoutcheck.patching.retiles import retiled
from layoutcheck.patching.search import MOST_ORDERED, MOST_TRIES, Proven, Search, lines_of, short, told
from layoutcheck.patching.state import RANKS, Edited, State
from layoutcheck.patching.strides import calls_at, respelled
from layoutcheck.patching.views import views
from layoutcheck.sources.traced import UNCOMPILED, Frame, KernelFinding, Trace, TraceFailure
from layoutcheck.syntax import name_of

FAILED = ("raised", "killed", "uncompiled", "refused")
UNFOUND = "no statement of the program was found that a fix changes"
NO_COPY = "no copy is called in this line: generated code has no statement that can be edited"


def product(
    search: Search, state: State, finding: KernelFinding, texts: dict[str, str]
) -> tuple[Proven | None, str]:
    """The edit with which a product's operands fit; else why there is none."""
    where = finding.places[0].where

    def objection(edited: Edited, _edits: Candidate) -> str:
        why = operands.objection(state.trace, edited.after.trace, finding)
        return why or edited.objection(registers=False)

    ways = operands.ways(texts, finding)
    made, why = _first(
        search, state, texts, ways, MOST_TRIES, objection, lambda _: (where, "legal", (where,))
    )
    return made, why or UNFOUND


def unguarded(
    search: Search, state: State, finding: KernelFinding, texts: dict[str, str]
) -> tuple[Proven | None, str]:
    """The edit with which element accesses stay in their tensor; else why there is none."""
    ways = {way.edits: way for way in guards.ways(texts, finding, state.trace)}

    def objection(edited: Edited, edits: Candidate) -> str:
        why = edited.failed() or guards.objection(edited, finding) or edited.objection()
        if why:
            return why
        bare = State(search.trace(apply(texts, ways[edits].bare)))
        return guards.unkept(edited, bare, finding, edits)

    def repaired(edited: Edited) -> tuple[Frame, str, tuple[Frame, ...]]:
        there = tuple(one.places[0].where for one in guards.repaired(edited))
        return finding.places[0].where, guards.VERDICT, there

    titled = [(way.title, way.edits) for way in ways.values()]
    return _first(search, state, texts, titled, MOST_TRIES, objection, repaired)


def disorder(
    search: Search, state: State, finding: KernelFinding, texts: dict[str, str]
) -> tuple[Proven | None, str]:
    """The edit with which accesses are in order; else why there is none."""
    where = finding.places[min(1, len(finding.places) - 1)].where
    both = tuple(dict.fromkeys(place.where for place in finding.places[:2]))

    def objection(edited: Edited, _edits: Candidate) -> str:
        why = edited.failed() or proof.objection(state.trace, edited.after.trace, finding, edited.lines)
        return why or edited.objection()

    ways = ordering.ways(texts, finding, state.trace)
    return _first(search, state, texts, ways, MOST_ORDERED, objection, lambda _: (where, "in order", both))


def _first(
    search: Search,
    state: State,
    texts: dict[str, str],
    ways: Iterable[tuple[str, Candidate]],
    most: int,
    objection: Callable[[Edited, Candidate], str],
    repaired: Callable[[Edited], tuple[Frame, str, tuple[Frame, ...]]],
) -> tuple[Proven | None, str]:
    """The first edit that nothing is said against and that harms no copy; else what is said.

    `repaired` is for which place it is, the verdict then, and the places that it repaired.
    """
    refused: list[str] = []
    tried: set[tuple[str, ...]] = {tuple(texts.values())}
    for title, edits in ways:
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
        if not why and edited.harmed():
            why = f"{short(edited.harmed()[0])} is worse"
        if not why:
            where, verdict, places = repaired(edited)
            return Proven(edited, Repair(where, title, verdict, places, lines_of(texts, edits))), ""
        refused.append(f"{title.split(';')[0]} at line {lines_of(texts, edits)[0].line}: {why}")
    return None, told(refused)


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
        yield from _as_siblings(program, call)
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
    start = program.argument(call, "atom") if name_of(call.call) in COPIES else None
    for place in program.reached(start) if start is not None else ():
        yield from operands.of_others(program.sources[place.path], place.node)  # type: ignore[arg-type]


def _as_siblings(program: Program, place: Site) -> Iterator[tuple[str, Candidate]]:
    """One argument of a call as another call of the same function, in the same function, gives it."""
    source, call = program.sources[place.path], place.call
    for other in source.calls():
        alike = name_of(other) == name_of(call) and len(other.args) == len(call.args) > 1
        if other is call or not alike or source.scope_of(other) is not place.scope:
            continue
        for mine, theirs in zip(call.args[1:], other.args[1:], strict=True):  # the first says which it is
            old, new = (source.text_of(one) for one in (mine, theirs))
            if old != new:
                title = f"argument: {new[:40]}, as the other {name_of(call)} has it"
                yield title, (rewritten(source, mine, new),)


def failure(search: Search, state: State, failed: TraceFailure, texts: dict[str, str]) -> Proven | None:
    """The edit with which the program does not fail, and all of it is right."""
    mine = (way for way in near(Program(texts), failed) if search.may(way[1]))
    for title, edits in itertools.islice(mine, MOST_TRIES):
        changed = apply(texts, edits)
        edited = Edited(texts, state, changed, State(search.trace(changed)))
        after = edited.after
        if after.trace.failures or not after.ranks or edited.disorder() or operands.findings(after.trace):
            continue
        worst = max(after.ranks.values())
        if worst <= RANKS["slow"] and len(after.trace.kernels) >= len(state.trace.kernels):
            verdict = "legal" if worst == RANKS["legal"] else "slow"
            places = lines_of(texts, edits)
            return Proven(edited, Repair(failed.where or places[0], title, verdict, (), places))
    return None
