"""LC221 bulk-odd-size: the emitted bulk instructions move a number of bytes that is not a multiple of 16."""

from __future__ import annotations

from layoutcheck.atoms.bulk import GRAIN_BYTES
from layoutcheck.rules.bulk import SOURCE, bulk_atom, instruction_bytes, instructions, run_of_v
from layoutcheck.rules.effects import evidence
from layoutcheck.rules.rule import Analysis, Findings, Where, demanded, make_rule

EXPLAINS = ("misaligned_src", "misaligned_dst", "missing", "wrong")


@make_rule("wrong", explains=EXPLAINS)
def rule(analysis: Analysis) -> Findings:
    """Instructions whose size is not a multiple of 16."""
    if bulk_atom(analysis) is None or not instructions(analysis):
        return
    size = instruction_bytes(analysis)
    if size % GRAIN_BYTES == 0:
        return
    run = run_of_v(analysis)
    yield rule.finding(
        f"bulk copies of {size} B, which is not a multiple of {GRAIN_BYTES}",
        f"Mode 0 of {analysis.copy.src.layout} and {analysis.copy.dst.layout} keeps {run} "
        f"element{'s' if run != 1 else ''} together, and each such run becomes one instruction of {size} B.",
        Where("atom", (0,)),
        demanded(
            "size",
            f"{size} B",
            f"a multiple of {GRAIN_BYTES} B",
            SOURCE,
            instructions=instructions(analysis),
            **evidence(analysis, *EXPLAINS),
        ),
    )
