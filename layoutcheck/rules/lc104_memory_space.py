"""LC104 memory-space: the atom does not move data between these memory spaces.

## What it means

`cp.async` copies from global to shared memory only; `ldmatrix` from shared memory to registers;
`CopyUniversalOp` between any two spaces except tensor memory. A pointer that lost its memory space
prints as `generic` (or without a space), and `cp.async` refuses that too.

## Why

PTX ISA: `cp.async.ca.shared.global`, `ldmatrix...shared`, `stmatrix...shared` name their spaces. The
verifier checks them (measured).

## How to fix it

Swap the operands if they are the wrong way round. Use the atom made for the two spaces. If a
pointer lost its space, build it with
`make_ptr(dtype, address, AddressSpace.gmem, assumed_align=16)`.
"""

from __future__ import annotations

from layoutcheck.rules.rule import Analysis, Findings, make_rule, refusal, refused

_LOST = (
    "generic is the memory of a pointer of which nothing says where it points. It is a host array that was given to "
    "from_dlpack (move it to the GPU before, tensor.cuda()), or a pointer that was made without "
    "AddressSpace.gmem (name it in make_ptr)."
)


def find(analysis: Analysis) -> Findings:
    """The compiler's own refusal, in terms of the copy."""
    if said := refusal(analysis, "space"):
        title = f"the atom does not copy from {analysis.copy.src.space} to {analysis.copy.dst.space}"
        lost = [name for name in ("src", "dst") if getattr(analysis.copy, name).space == "generic"]
        why = f" {' and '.join(lost)}: {_LOST}" if lost else ""
        yield refused(RULE, said, title, f"{analysis.copy.atom}: {said.message}.{why}")


RULE = make_rule(
    "rejected",
    find,
    flagged={
        "src": '!cute.memref<bf16, smem, align<16>, "(8):(1)">',
        "dst": '!cute.memref<bf16, gmem, align<16>, "(8):(1)">',
        "atom": "cp.async",
        "bits": 128,
    },
    twin={
        "src": '!cute.memref<bf16, gmem, align<16>, "(8):(1)">',
        "dst": '!cute.memref<bf16, smem, align<16>, "(8):(1)">',
    },
)
