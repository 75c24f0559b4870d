"""LC226 bulk-not-elected: several threads issue the same bulk copy."""

from __future__ import annotations

from layoutcheck.rules.bulk import arriving_bytes, asked_bytes, bulk_atom
from layoutcheck.rules.rule import Analysis, Findings, Where, demanded, make_rule


@make_rule("wrong")
def rule(analysis: Analysis) -> Findings:
    """A bulk copy of one view, issued by more than one thread."""
    issue = analysis.copy.issue
    if bulk_atom(analysis) is None or issue is None or issue.threads == 1 or analysis.copy.tiling is not None:
        return
    threads = issue.threads
    counted = "barrier" in analysis.observables
    more = (
        f" {arriving_bytes(analysis)} B arrive at a barrier that waits for {asked_bytes(analysis)}."
        if counted
        else ""
    )
    yield rule.finding(
        f"{threads} threads issue the same bulk copy",
        f"The compiler elects no thread: each of {threads} threads moves all of the bytes.{more}",
        Where("atom"),
        demanded(
            "issuing threads", threads, 1, "DSL documentation, CopyBulkG2SOp; the DSL's PTX has no elect.sync"
        ),
        severity=rule.severity if counted else "slow",
    )
