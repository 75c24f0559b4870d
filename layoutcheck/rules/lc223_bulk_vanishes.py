"""LC223 bulk-vanishes: the compiler accepts the bulk copy and emits nothing.

## What it means

The width divides the run of the whole layout but not that of mode 0: the loop over mode 0 has no
iterations, and the compiler emits no `cp.async.bulk`. The destination keeps what it held, and a
wait on the barrier never ends.

## Why

Measured on the DSL: the verifier divides the common run of the *whole* layouts by the width. The
lowering divides that of mode 0, and emits nothing if there is a remainder. Confirmed on an H200:
docs/evidence/bulk.json.

## How to fix it

Leave `num_bits_per_copy` out, so that each run of mode 0 is one copy; or give a width that divides it; or
move the run into mode 0.
"""

from __future__ import annotations

from layoutcheck.rules.bulk import asked_bytes, bulk_atom, instructions, run_of_v, stalls
from layoutcheck.rules.rule import Analysis, Findings, Where, demanded, make_rule

EXPLAINS = ("missing",)


def find(analysis: Analysis) -> Findings:
    """An accepted bulk copy without instructions."""
    atom = bulk_atom(analysis)
    if atom is None or instructions(analysis):
        return
    run = run_of_v(analysis)
    bits = run * atom.dtype.bits
    yield RULE.finding(
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


RULE = make_rule(
    "wrong",
    find,
    flagged={
        "src": '!cute.memref<bf16, gmem, align<16>, "(32,2):(1,32)">',
        "dst": '!cute.memref<bf16, smem, align<128>, "(32,2):(1,32)">',
        "atom": "bulk.g2s",
        "bits": 1024,
    },
    twin={"bits": 512},
    explains=EXPLAINS,
)
