"""LC223 bulk-vanishes: the compiler accepts the bulk copy and emits nothing."""

from __future__ import annotations

from layoutcheck.rules.bulk import asked_bytes, bulk_atom, instructions, run_of_v, stalls
from layoutcheck.rules.rule import Analysis, Findings, Where, demanded, make_rule

EXPLAINS = ("missing",)


@make_rule("wrong", explains=EXPLAINS)
def rule(analysis: Analysis) -> Findings:
    """An accepted bulk copy without instructions."""
    atom = bulk_atom(analysis)
    if atom is None or instructions(analysis):
        return
    run = run_of_v(analysis)
    bits = run * atom.dtype.bits
    yield rule.finding(
        "the compiler emits no instruction for this bulk copy",
        f"Mode 0 keeps {run} elements together, {bits} bits, which {atom.width_bits} does not divide: "
        f"none of {asked_bytes(analysis)} B is copied.{stalls(analysis)}",
        Where("atom", (0,)),
        demanded(
            "copy_bits",
            atom.width_bits,
            f"a divisor of {bits}, the bits that mode 0 keeps together",
            "the DSL's PTX: no cp.async.bulk in it",
            asked_bytes=asked_bytes(analysis),
        ),
    )
