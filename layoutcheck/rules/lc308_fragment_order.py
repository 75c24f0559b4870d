"""LC308 fragment-order: `autovec_copy` uses narrow accesses because the fragment's order differs from memory's.

## What it means

The values in memory are adjacent and aligned for a wide access, but the register fragment has them
in another order. `autovec_copy` looks for the longest run that both layouts share, finds a short
one, and emits narrow accesses of that length.

## Why

`max_common_layout` of the two layouts decides the width (CuTe DSL, `autovec_copy`), and the compiler does
not permute registers. Measured on the DSL: a default column-major `(8,8)` fragment stored row by row to
row-major memory becomes 64 two-byte stores, although 8 stores of 16 bytes would be enough
(NVIDIA/cutlass#3463).

## How to fix it

Lay the fragment out as memory is: `cute.make_rmem_tensor(cute.make_layout(shape, stride=...), dtype)` with
stride 1 in memory's contiguous mode (`cute.make_fragment_like(memory_tensor)` does that).

## How to silence it

If another instruction fixes the fragment's order (as for an MMA accumulator), narrow accesses may
be unavoidable. `slow` fails a run only with `--strict`.
"""

from __future__ import annotations

from layoutcheck.analysis.vector import NAMES
from layoutcheck.copies.opaque import OtherOperand
from layoutcheck.copies.vectors import WIDEST_BITS, max_vector
from layoutcheck.errors import InputError
from layoutcheck.rules.rule import Analysis, Findings, Where, make_rule


def find(analysis: Analysis) -> Findings:
    """A working autovec_copy between registers and memory, narrower than the memory side alone bears."""
    copy = analysis.copy
    if copy.op != "autovec_copy" or analysis.worst is not None or not analysis.runs:
        return
    if isinstance(copy.src, OtherOperand) or isinstance(copy.dst, OtherOperand):
        return
    if (copy.src.space == "rmem") == (copy.dst.space == "rmem"):
        return
    fragment, side = ("src", "dst") if copy.src.space == "rmem" else ("dst", "src")
    registers, memory = getattr(copy, fragment), getattr(copy, side)
    try:
        alone = min(max_vector(memory, memory).bits, WIDEST_BITS)
        together = max_vector(copy.src, copy.dst).bits
    except InputError:
        return
    if alone < 2 * together:
        return
    yield RULE.finding(
        f"{together}-bit accesses, although the {NAMES[side]} allows {alone} bits: the fragment's order differs",
        f"{memory.layout} in {memory.space} is contiguous and aligned for {alone} bits, the fragment "
        f"{registers.layout} shares a run of {max(1, together // memory.dtype.bits)} with it. A fragment in "
        f"memory's order takes {alone // together} times fewer instructions.",
        Where(fragment),
        {"width_bits": together, "provable_bits": alone, "ratio": alone // together},
    )


RULE = make_rule(
    "slow",
    find,
    flagged={
        "src": '!cute.memref<bf16, rmem, align<32>, "(8):(8)">',
        "dst": '!cute.memref<bf16, gmem, align<16>, "(8):(1)">',
        "atom": "autovec",
    },
    twin={"src": '!cute.memref<bf16, rmem, align<32>, "(8):(1)">'},
)
