"""When an edit of a program's synchronisation is proven: the trace of the edited program shows nothing worse.

The finding is gone, no other one of its kernels is new, and each kernel is followed as far as before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeAlias

from layoutcheck.sources.traced import Frame, KernelFinding, OrderReport, Trace

Key: TypeAlias = "tuple[str, tuple[tuple[str, int], ...]]"
Moved: TypeAlias = "Callable[[str, int], list[int]]"

_BAD = ("rejected", "wrong")
_REVEALED = "no-proxy-fence-before-overwrite"  # a note on what a barrier has put in order, as CUTLASS does it
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


def _told(reports: Iterable[OrderReport]) -> list[KernelFinding]:
    return [one for r in reports for one in r.findings if one.evidence.get("kind") != _REVEALED]
