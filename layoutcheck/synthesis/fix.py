"""The last fix of `explain`: a way into the shared tile as it lies, where no other fix is as quick."""

from __future__ import annotations

from layoutcheck.check import Fix, Report
from layoutcheck.fixes import faster
from layoutcheck.fixes.draft import Draft
from layoutcheck.synthesis.optimum import kept
from layoutcheck.synthesis.program import statements

STRATEGY = "synthesize"


def with_synthesized(
    report: Report, found: tuple[tuple[Fix, ...], str | None]
) -> tuple[tuple[Fix, ...], str | None]:
    """The fixes and the obstacle, with the synthesised fix after the others.

    The search proposes it; `check` judges its copies again, as those of every fix.
    """
    fixes, _ = found
    for best in kept(report.copy):
        draft = Draft(
            STRATEGY,
            f"copy by other threads and values: {best.title}",
            statements(best.found, best.steps, best.wanted, False),
            tuple(step.copy for step in best.steps),
        )
        last = faster(draft, best.least, report, fixes)
        return found if last is None else ((*fixes, last), None)
    return found
