"""LC303 narrow: the copy moves fewer bits an instruction than its layouts and alignment are proved to bear.

## What it means

Every thread has its values side by side in source and destination, at addresses proved to be aligned, for a
wider access than the one that was asked for. The same bytes take two, four or more times the instructions.

## Why

The load/store unit takes one warp instruction a cycle whatever its width, up to 16 bytes a lane (PTX ISA,
`ld` and `st`: `.v4.b32`; `cp.async`: cp-size 16). What is provable is computed from `align<>`, the strides
of the views and the pointer's swizzle; it holds for every thread and every step of the copy.

## How to fix it

Raise `num_bits_per_copy` to the width that the finding names (and, with `make_tiled_copy_tv`, give each
thread that many values along the contiguous mode).

## How to silence it

An atomic-free narrow access has no advantage of its own, except that `cp.async` of 4 or 8 bytes can predicate
smaller pieces. `slow` fails a run only with `--strict`.
"""

from __future__ import annotations

from collections.abc import Iterator

from layoutcheck.analysis import Analysis
from layoutcheck.atoms.cp_async import CpAsync
from layoutcheck.atoms.register import RegisterCopy
from layoutcheck.atoms.universal import UniversalCopy
from layoutcheck.copies.opaque import OtherOperand
from layoutcheck.copies.vectors import WIDEST_BITS, max_vector
from layoutcheck.errors import InputError
from layoutcheck.findings import Finding, Where
from layoutcheck.rules.rule import Example, make_rule


def find(analysis: Analysis) -> Iterator[Finding]:
    """A working copy of a stated width, at most half of what `max_vector` proves."""
    copy = analysis.copy
    width = analysis.width_bits
    if analysis.worst is not None or not analysis.runs:
        return
    if not isinstance(copy.atom, (CpAsync, RegisterCopy, UniversalCopy)):
        return
    if width == 0 or isinstance(copy.src, OtherOperand) or isinstance(copy.dst, OtherOperand):
        return
    if copy.pred is not None or copy.src.dtype.bits % 8 or 2 * width > WIDEST_BITS:
        return
    try:
        provable = min(max_vector(copy.src, copy.dst).bits, WIDEST_BITS)
    except InputError:
        return
    if provable < 2 * width:
        return
    done = analysis.runs[-1].execution.instructions
    yield Finding(
        RULE.code,
        RULE.severity,
        f"{width}-bit accesses where {provable} bits are proved",
        f"{done} instructions of {width} bits a thread; {max(1, done * width // provable)} of {provable} "
        f"bits move the same: the values lie side by side on both sides, and the alignment is proved.",
        Where("atom"),
        {
            "width_bits": width,
            "provable_bits": provable,
            "instructions": done,
            "ideal_instructions": max(1, done * width // provable),
            "ratio": provable // width,
        },
    )


RULE = make_rule(
    __doc__,
    "slow",
    find,
    Example(
        flagged={
            "src": '!cute.memref<bf16, gmem, align<16>, "((8,1),4):((1,0),64)">',
            "dst": '!cute.memref<bf16, smem, align<16>, "((8,1),4):((1,0),64)">',
            "atom": "universal",
            "bits": 32,
        },
        clean={
            "src": '!cute.memref<bf16, gmem, align<16>, "((8,1),4):((1,0),64)">',
            "dst": '!cute.memref<bf16, smem, align<16>, "((8,1),4):((1,0),64)">',
            "atom": "universal",
            "bits": 128,
        },
    ),
)
