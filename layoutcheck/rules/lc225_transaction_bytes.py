"""LC225 transaction-bytes: the bytes that the barrier expects are not the bytes that arrive."""

from __future__ import annotations

from layoutcheck.rules.bulk import arriving_bytes, asked_bytes
from layoutcheck.rules.rule import Analysis, Findings, Where, demanded, make_rule


@make_rule("wrong")
def rule(analysis: Analysis) -> Findings:
    """A stated expectation that differs from what arrives."""
    issue, barrier = analysis.copy.issue, analysis.observables.get("barrier")
    if issue is None or issue.expect_bytes is None or barrier is None:
        return
    arriving, expected = arriving_bytes(analysis), issue.expect_bytes
    what = "the wait never ends" if arriving < expected else "the phase ends early, or runs into the next one"
    cluster = analysis.copy.cluster
    where = "" if cluster is None else f" in block {' and in block '.join(map(str, cluster.named))}"
    yield rule.finding(
        f"the barrier expects {expected} B and {arriving} B arrive{where}",
        f"The copy brings {arriving} B (its layouts hold {asked_bytes(analysis)}), the barrier was told to expect {expected}: {what}.",
        Where("atom"),
        demanded(
            "expected transaction bytes",
            expected,
            arriving,
            "PTX ISA, mbarrier: a phase completes at a transaction count of zero",
        ),
    )
