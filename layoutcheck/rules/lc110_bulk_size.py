"""LC110 bulk-size: the two layouts share no contiguous run of bytes of the size that the bulk copy moves.

## What it means

A bulk copy moves one run of bytes: at least 16, and a multiple of 16. Its width must divide the run
that is contiguous in *both* layouts from their first element on. The compiler refuses strided,
transposed or too short tensors, and runs of 12 elements of 2 bytes.

## Why

PTX ISA, cp.async.bulk: the size is a multiple of 16. The DSL compares the width with the common run of the
whole layouts, rest modes included, in bits of the atom's element type (measured).

## How to fix it

Give both sides the same order, pad rows to 16 bytes, or copy with ordinary instructions
(`cute.autovec_copy`). A tile whose rows are not adjacent takes one bulk copy for each row: keep the
row in mode 0.
"""

from __future__ import annotations

from layoutcheck.rules.rule import Analysis, Findings, make_rule, refusal, refused


def find(analysis: Analysis) -> Findings:
    """The compiler's own refusal, in terms of the copy."""
    if said := refusal(analysis, "bulk_minimum", "bulk_grain", "bulk_width"):
        run = said.evidence["common_elements"]
        together = f"keep {run} element{'s' if run != 1 else ''} together from the first on"
        title = "the two layouts share no run of bytes that this bulk copy could move"
        why = f"{said.message}. {analysis.copy.src.layout} and {analysis.copy.dst.layout} {together}."
        yield refused(RULE, said, title, why, "atom")


RULE = make_rule(
    "rejected",
    find,
    flagged={
        "src": '!cute.memref<bf16, gmem, align<16>, "(64,64):(64,1)">',
        "dst": '!cute.memref<bf16, smem, align<128>, "(64,64):(1,64)">',
        "atom": "bulk.g2s",
    },
    twin={"src": '!cute.memref<bf16, gmem, align<16>, "(64,64):(1,128)">'},
)
