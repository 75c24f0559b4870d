"""LC191 fails-later: the verifier accepts the copy and a later pass of the compiler fails on it.

## What it means

The error comes from code generation and does not mention the copy: "NVVM_ERROR_COMPILATION ...
Failed creating the llvm::Module", or the process ends.

## Why

Measured on the DSL: `stmatrix` takes its count from the source's V, and a V of 16 asks for a form that does
not exist; 4- and 6-bit slices that begin inside a byte have no address. The lowering of `cp.async` dies of
V modes of three parts, and of `(atom, rest)` against a flat mode. That of a bulk copy dies of a run-time
stride in V (SIGSEGV). A predicate of f16, bf16, f32 or f64 is folded for `cp.async`
and fails for the other atoms; `basic_copy_if` fails on those of other floating-point types. The lowering of
an im2col copy dies where the tile's place is known when it is compiled ("Failed to infer result type(s)" of
`cute.crd2idx`). ptxas refuses some memory attributes of `CopyG2ROp` and its kin: a load that releases, a store
that acquires, `acq_rel` and `sc` of both, `mmio` of a vector or of another scope than `sys`, and
`l1c_evict_priority` with a cache mode or with `volatile` ("Modifier '.evict_first' cannot be combined with
modifier '.cs'").

## How to fix it

The report names the extent or the stride to change.
"""

from __future__ import annotations

from layoutcheck.copies.offsets import CompilerFails
from layoutcheck.rules.rule import Analysis, Findings, Where, make_rule


def find(analysis: Analysis) -> Findings:
    """Forms for which there is no instruction, found when the instructions are worked out."""
    if isinstance(analysis.obstacle, CompilerFails):
        reason = analysis.obstacle.message
        yield RULE.finding(
            "accepted by the verifier, refused by code generation",
            f"{reason[0].upper() + reason[1:]}.",
            Where("atom"),
        )


RULE = make_rule(
    "rejected",
    find,
    flagged={
        "src": '!cute.memref<bf16, rmem, align<32>, "((16,1),1):((1,0),0)">',
        "dst": '!cute.memref<bf16, smem, align<128>, "((16,1),1):((1,0),0)">',
        "atom": "stmatrix.x4",
    },
    twin={
        "src": '!cute.memref<bf16, rmem, align<32>, "((8,1),1):((1,0),0)">',
        "dst": '!cute.memref<bf16, smem, align<128>, "((8,1),1):((1,0),0)">',
    },
)
