"""Edits for findings about order (LC501 to LC524): a statement that is missing, a number that is wrong.

`slots.py` finds where a statement may stand, `inserted.py` and `changed.py` propose, cheapest first, in the
words of the file (`spelling.py`), and `proof.py` compares the trace of the edited program with the first.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from layoutcheck.order.meaning import COPIES
from layoutcheck.patching.edit import Candidate
from layoutcheck.patching.ordering.changed import changed
from layoutcheck.patching.ordering.inserted import Missing
from layoutcheck.patching.ordering.proof import OVERLAP
from layoutcheck.patching.ordering.restaged import restaged
from layoutcheck.patching.program import Program
from layoutcheck.sources.traced import KernelFinding, Trace

STRATEGY = "synchronise"
_CAUSES = ("LC506", "LC507", "LC508", "LC509", "LC511", "LC512", "LC513", "LC510")  # of which others follow


def overlapping(findings: Sequence[KernelFinding]) -> bool:
    """Whether bytes of a kernel are copied twice, in no turns of a loop that reuse a buffer, and never read.

    FlashAttention's paged loads (#2368) had such an offset: an order of the copies does not make both right.
    Of two statements, none of the findings has a read of what the first one brings.
    """
    pairs = [one.places[:2] for one in findings if one.code == "LC501" and len(one.places) > 1]
    read = {first.where for first, second in pairs if second.kind not in COPIES}
    return any(
        first.kind in COPIES and second.kind in COPIES and first.turns == second.turns
        and (first.where == second.where or first.where not in read)
        for first, second in pairs
    )  # fmt: skip


def ways(texts: dict[str, str], finding: KernelFinding, trace: Trace) -> Iterator[tuple[str, Candidate]]:
    """Titles and edits for a finding, the cheapest and likeliest first."""
    if any(finding in one.findings and overlapping(one.findings) for one in trace.orders):
        return
    program = Program(texts)
    threads = max((one.threads for one in trace.orders if finding in one.findings), default=0)
    numbers, statements = changed(program, finding, threads), Missing(program, finding, threads).ways()
    if finding.evidence.get("kind") in (
        "race",
        "overwritten-by-copy",
        "not-initialised",
        "too-many-arrivals",
    ):
        yield from statements
        yield from numbers
    else:
        yield from numbers
        yield from statements


def first(findings: list[KernelFinding]) -> list[KernelFinding]:
    """The findings, those before others that follow from them."""
    return sorted(findings, key=lambda one: (one.severity == "note", one.code not in _CAUSES))


__all__ = ["OVERLAP", "STRATEGY", "first", "overlapping", "restaged", "ways"]
