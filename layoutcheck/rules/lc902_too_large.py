"""LC902 too-large: the copy is too large to compare byte by byte; one period of it was compared, or nothing."""

from __future__ import annotations

from layoutcheck.copies.offsets import TooLarge
from layoutcheck.rules.rule import Analysis, Findings, Where, make_rule


@make_rule("unknown")
def rule(analysis: Analysis) -> Findings:
    """Copies past the limit of the enumeration, and those of which one period answers for the whole."""
    if isinstance(analysis.obstacle, TooLarge):
        yield rule.finding(
            "too large to compare byte by byte",
            f"{analysis.obstacle.message[0].upper() + analysis.obstacle.message[1:]}. Only the compiler's answer is known.",
            Where(),
        )
    elif not analysis.agrees and analysis.runs and analysis.runs[-1].times > 1:
        times = analysis.runs[-1].times
        yield rule.finding(
            f"one period was compared byte by byte; the copy is {times} of them",
            "Every other iteration repeats one of these at another address. Findings count the bytes of one period.",
            Where(),
            {"times": times},
            severity="note",
        )
