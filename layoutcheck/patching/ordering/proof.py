"""When an edit of a program's synchronisation is proven: the trace of the edited program shows nothing worse.

The finding is gone, no other one of its kernels is new, and each kernel is followed as far as before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias

from layoutcheck.order.meaning import READS, WRITES
from layoutcheck.patching.search import short
from layoutcheck.sources.shared_uses import EARLY, LOST, OVER, SharedReport, Unread
from layoutcheck.sources.traced import Frame, KernelFinding, OrderReport, Trace

Key: TypeAlias = "tuple[str, tuple[tuple[str, int], ...]]"
Moved: TypeAlias = "Callable[[str, int], list[int]]"

_BAD = ("rejected", "wrong")
_REVEALED = "no-proxy-fence-before-overwrite"  # a note on what a barrier has put in order, as CUTLASS does it
OVERLAP = "both write the same bytes, and a barrier keeps the later ones only: their tiles overlap"
STUCK = "what follows a wait that did not end in this run"


def key(finding: KernelFinding) -> Key:
    """Which finding it is: its code and its two lines."""
    return finding.code, finding.lines


def wrong(trace: Trace, notes: bool = False) -> list[KernelFinding]:
    """What is wrong with a trace's order, notes too where they are asked for; each finding once."""
    found: dict[Key, KernelFinding] = {}
    for report in trace.orders:
        for one in report.findings:
            if one.places and (notes or one.severity in _BAD):
                found.setdefault(key(one), one)
    return list(found.values())


def frames(finding: KernelFinding) -> list[Frame]:
    """All places of a finding, with their callers."""
    return [frame for place in finding.places for frame in (place.where, *place.stack)]


def remains(trace: Trace, finding: KernelFinding, lines: Moved) -> bool:
    """Whether a trace has a finding of that code at these lines, where they are now."""
    there = [{(file, at) for at in lines(file, line)} for file, line in finding.lines]
    return any(
        one.code == finding.code and all(frame in now for frame, now in zip(one.lines, there, strict=False))
        for one in wrong(trace, notes=True)
    )


def objection(before: Trace, after: Trace, finding: KernelFinding, lines: Moved) -> str:
    """Why it is not shown that the edited program is better; "" where it is."""
    if remains(after, finding, lines):
        return f"{finding.code} remains"
    old = {
        (one.code, *((file, lines(file, line)[0]) for file, line in one.lines))
        for one in _told(before.orders)
    }
    for one in _told(after.orders):
        if (one.code, *one.lines) not in old:
            return f"{one.code} is found instead"
    if len(after.orders) < len(before.orders):
        return "fewer kernels are followed"
    unfinished = {report.kernel for report in before.orders if report.problem}
    for report in after.orders:
        if report.problem and report.kernel not in unfinished:
            return f"the order is not checked then: {report.problem}"
    if any(STUCK in report.unchecked for report in after.orders):
        return "a wait did not end in the run of the model"
    return ""


def accesses(finding: KernelFinding) -> bool:
    """Whether both of its places access shared memory."""
    return all(one.kind in (*READS, *WRITES) for one in finding.places[:2]) and len(finding.places) > 1


def misplaced(before: Trace, after: Trace, lines: Moved) -> str:
    """Why an order is not shown to be what was missing, as an access may be meant for another place; else "".

    Bytes that both write and nothing reads between; copies of a ring that nothing reads, as with a wrong
    modulo, or stages that are read before they are written: a longer wait would only hide that. Of all
    findings that are gone, as one barrier repairs several.
    """
    gone = (one for one in wrong(before, notes=True) if accesses(one) and not remains(after, one, lines))
    found = [one.uses.unread for one in after.orders if isinstance(one, SharedReport)]
    return next(filter(None, (_meant_elsewhere(one, found, lines) for one in gone)), "")


def _meant_elsewhere(finding: KernelFinding, found: Sequence[tuple[Unread, ...] | None], lines: Moved) -> str:
    write = all(one.kind in WRITES for one in finding.places[:2])
    if write and None in found:
        return "whether anything reads what both write is not known"
    one, other = ({(file, at): (file, line) for at in lines(file, line)} for file, line in finding.lines)
    was, may = {**one, **other}, "its stage, or its reader's, may be meant to be another"
    for what, first, second in (pair for each in found for pair in each or ()):
        if what == OVER and write and first in one and second in other:
            return OVERLAP
        if what == EARLY and first in was:
            return f"{short(was[first])} reads in some turns what is not written yet: {may}"
        if what == LOST and (first in was or second in was):
            return f"what {short(was.get(first, first))} writes in some turns is never read: {may}"
    return ""


def _told(reports: Iterable[OrderReport]) -> list[KernelFinding]:
    return [one for r in reports for one in r.findings if one.evidence.get("kind") != _REVEALED]
