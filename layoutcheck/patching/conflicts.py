"""Edits for bank conflicts: the shared tensor laid out anew where it is allocated, and when that is proven.

Proven by the trace of the edited program: its reads of shared memory find the same writes as before, and all
else that it does is the same (`order.uses`); no line takes more wavefronts or instructions there, the line
that had conflicts has none, and nothing is found that was not.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple, TypeAlias

from layoutcheck.fixes import pad_pitch, swizzle
from layoutcheck.order.uses import JOINED, WAVEFRONTS
from layoutcheck.patching.edit import Candidate
from layoutcheck.patching.paddings import padded, pads, pitches, swizzled, tensors
from layoutcheck.patching.program import Program, Site
from layoutcheck.patching.search import short
from layoutcheck.patching.state import Edited, Place, State, instead
from layoutcheck.sources.shared_uses import SharedReport, SharedUses
from layoutcheck.sources.traced import KernelFinding, KernelPlace, Trace

Way: TypeAlias = tuple[str, Candidate]

VERDICT, FEWER = "free of bank conflicts", "of fewer bank conflicts"
CODES = ("LC301", "LC305")
STRATEGIES = (pad_pitch.STRATEGY, swizzle.STRATEGY)
MOST_WAYS = 10  # traces for one line
WORTH = 2  # an edit that leaves conflicts is kept if it takes so many times fewer wavefronts
UNFOUND = "the statement that lays its tensor out was not found"
_NOT_COUNTED = "what the kernel does with shared memory is not known"


def findings(state: State) -> list[KernelFinding]:
    """What has bank conflicts, element accesses and copies, each line once, the most wavefronts first."""
    found: dict[Place, KernelFinding] = {}
    told = [one for report in state.trace.elements for one in report.findings]
    for one in sorted((*told, *_of_copies(state)), key=_wasted):
        if one.code in CODES and one.places and one.places[0].where.file:
            found.setdefault(one.lines[0], one)
    return list(found.values())


def _of_copies(state: State) -> Iterator[KernelFinding]:
    for one, report in state.reports:
        for told in report.findings if report is not None and report.verdict == "slow" else ():
            place = KernelPlace("copies", one.first.where, one.first.stack)
            evidence = {**told.evidence, "operations": one.count}
            yield KernelFinding(told.code, told.severity, told.title, told.message, (place,), evidence)


def _wasted(finding: KernelFinding) -> int:
    evidence = finding.evidence
    least = evidence.get("ideal_wavefronts", evidence.get("without_swizzle", 0))
    return (least - evidence.get("wavefronts", 0)) * evidence.get("operations", 1)


def ways(texts: dict[str, str], finding: KernelFinding) -> Iterator[Way]:
    """Longer rows of the shared tensors of the line, of one or of all, and swizzles, in turns.

    Where no layout of them is understood, another number in the line's index.
    """
    program, (path, line) = Program(texts), finding.lines[0]
    if path not in texts:
        return
    made, width = list(tensors(program, path, line)), finding.evidence.get("width_bits", 32)
    longer = [[*_longer(program, made, pad)] for pad in pads(program, made, width)]
    if not any(longer):
        longer = [[(_padded(pad), edits)] for pad, edits in pitches(program, path, line)]
    swizzles = [
        [(f"{swizzle.STRATEGY}: the pointer swizzle {other}", edits)]
        for one in made
        for other, edits in swizzled(program, one, width)
    ]
    for some in itertools.zip_longest(longer, swizzles, fillvalue=[]):
        yield from (way for part in some for way in part)


def _longer(program: Program, made: Sequence[Site], pad: int) -> Iterator[Way]:
    every = [edits for edits in (padded(program, one, pad) for one in made) if edits]
    for edits in every:
        yield _padded(pad), edits
    if len(every) > 1:  # views of one memory with pitches of their own
        yield _padded(pad), tuple(dict.fromkeys(edit for edits in every for edit in edits))


def _padded(pad: int) -> str:
    return f"{pad_pitch.STRATEGY}: rows padded by {pad} element{'s' if pad > 1 else ''}"


def objection(edited: Edited, finding: KernelFinding) -> str:
    """What is not shown to be as it was, or better; "" where all is."""
    if why := edited.failed():
        return why
    told = ((one for report in trace.elements for one in report.findings) for trace in _traces(edited))
    if why := instead(*told):
        return why
    accesses = [[(one.accesses, one.known) for one in trace.elements] for trace in _traces(edited)]
    if accesses[0] != accesses[1]:
        return "other accesses are known"
    slowed = next(edited.slowed(), None)
    return edited.objection() or _used(edited) or (f"{short(slowed)} takes longer" if slowed else "")


def left(edited: Edited, finding: KernelFinding) -> bool:
    """Whether the line that a finding is of has conflicts after an edit."""
    there = edited.places(finding.lines[0])
    return any(one.lines[0] in there for one in findings(edited.after))


class Taken(NamedTuple):
    """The wavefronts of a line before and after: of LLVM's instructions, each once, or of a launch."""

    before: int
    after: int
    launch: bool

    def __str__(self) -> str:
        of = " in a launch" if self.launch else ""
        return f"{self.after:,} wavefronts instead of {self.before:,}{of}"


def wavefronts(edited: Edited, finding: KernelFinding) -> Taken:
    """Those that the line of a finding takes, counted as the finding counts where both programs have that."""
    file, line = finding.lines[0]
    was, now = (_counted(state) for state in (edited.before, edited.after))
    joined, all_ = (
        (_of_lines(was, file, [line], what), _of_lines(now, file, edited.lines(file, line), what))
        for what in (JOINED, WAVEFRONTS)
    )
    return Taken(*joined, False) if all(joined) else Taken(*all_, True)


def _of_lines(counted: Counter[tuple[str, int, str]], file: str, lines: list[int], what: str) -> int:
    """The wavefronts of a kind, in the first of the lines that has any."""
    found = (
        sum(n for at, n in counted.items() if at[:2] == (file, line) and at[2].startswith(what))
        for line in lines
    )
    return next(filter(None, found), 0)


def _traces(edited: Edited) -> tuple[Trace, Trace]:
    return edited.before.trace, edited.after.trace


def _used(edited: Edited) -> str:
    """How a kernel uses shared memory otherwise, or takes more of its time; "" where it does not."""
    before, after = (_uses(state) for state in (edited.before, edited.after))
    if not before or len(before) != len(after):
        return _NOT_COUNTED
    for old, new in zip(before, after, strict=True):
        if old.problem or new.problem:
            return f"{_NOT_COUNTED}: {old.problem or new.problem}"
        if old.digest != new.digest:
            return "a read of shared memory would find other data, or the kernel does something else"
    was, now = _counted(edited.before), _counted(edited.after)
    for (file, line, what), count in was.items():
        places = [(*at, what) for at in edited.places((file, line))]
        found = next((now.pop(one) for one in places if one in now), 0)
        if found > count:
            return f"{short((file, line))} takes {found:,} {what} instead of {count:,}"
    more = next((key for key, count in now.items() if count), None)
    return f"{short(more[:2])} takes {more[2]}" if more else ""


def _uses(state: State) -> list[SharedUses]:
    return [one.uses for one in state.trace.orders if isinstance(one, SharedReport)]


def _counted(state: State) -> Counter[tuple[str, int, str]]:
    found: Counter[tuple[str, int, str]] = Counter()
    for uses in _uses(state):
        for one in uses.lines:
            found[one.file, one.line, one.what] += one.count
    return found


def repaired(edited: Edited) -> list[KernelFinding]:
    """What had conflicts before an edit and has none after it."""
    left = {one.lines[0] for one in findings(edited.after)}
    return [one for one in findings(edited.before) if left.isdisjoint(edited.places(one.lines[0]))]
