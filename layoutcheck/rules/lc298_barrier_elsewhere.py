"""LC298 barrier-elsewhere: the kernel waits on the barrier of one block, but the copy writes to another."""

from __future__ import annotations

from layoutcheck.rules.bulk import MEASURED
from layoutcheck.rules.rule import Analysis, Findings, Where, demanded, make_rule


@make_rule("wrong")
def rule(analysis: Analysis) -> Findings:
    """A copy to one block whose bytes another block waits for."""
    waiting = analysis.observables.get("waiting")
    if waiting is None:
        return
    waits, to = waiting.asked, waiting.done
    yield rule.finding(
        f"block {waits} waits for bytes that block {to}'s barrier counts",
        f"The copy writes to block {to}, and the barrier of that block counts its bytes, whichever block's mbar_ptr was given: the wait of block {waits} never ends.",
        Where("atom"),
        demanded("the block that waits", waits, to, f"PTX ISA, cp.async.bulk and st.async; {MEASURED}"),
    )
