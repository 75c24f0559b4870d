"""LC257 undistributed-swizzle: the view's layout is still composed with a swizzle at a run-time offset, which the lowering drops.

## What it means

A partition of a tensor whose swizzle is in its *layout* (`S<4,0,4> o 0 o (64,16):...`) keeps it there, with
the thread's offset inside: `S<4,0,4> o ? o ...`. If the compiler cannot distribute the swizzle to strides,
it leaves the view as it is. The asynchronous and matrix atoms then drop its layout: every instruction goes
to the address of the first element. Universal and s2r/r2s atoms refuse such a view.

## Why

Measured on the DSL, in PTX: eight `cp.async` of one thread, all to `[%r1]`; ldmatrix and stmatrix likewise. With a
static offset (`o 0 o`) each instruction gets its own address, the swizzle counting elements. Reported in
[NVIDIA/cutlass#3160](https://github.com/NVIDIA/cutlass/issues/3160).

## How to fix it

Put the swizzle on the pointer: `smem.allocate_tensor(dtype, outer_layout, byte_alignment=1024, swizzle=...)`; it then counts
bytes. Or choose a thread layout whose rest modes stay out of the swizzle's bits.

## How to silence it

A copy of a single instruction at offset 0 is right; give it the plain layout.
"""

from __future__ import annotations

from layoutcheck.copies.opaque import run_time_swizzle
from layoutcheck.rules.rule import Analysis, Findings, Where, make_rule


def find(analysis: Analysis) -> Findings:
    """A composed layout with a run-time offset under an atom that forgets it."""
    if analysis.copy.atom is None or not analysis.copy.atom.drops_composed:
        return
    for side in ("src", "dst"):
        view = analysis.copy.side(side)
        swizzle = run_time_swizzle(view)
        if swizzle is not None:
            yield RULE.finding(
                "the swizzle was not distributed: every instruction goes to one address",
                f"{view} is still composed with {swizzle} at a run-time offset. The lowering drops the layout, and all "
                "instructions of a thread use the address of its first element.",
                Where(side),
                {"swizzle": swizzle, "view": str(view)},
            )
            return


_SRC = '!cute.memref<f32, gmem, align<16>, "((4,1),(4,2)):((1,0),(4,16))">'

RULE = make_rule(
    "wrong",
    find,
    flagged={
        "src": _SRC,
        "dst": '!cute.memref<f32, smem, align<1024>, "S<4,0,4> o ? o ((4,1),(4,2)):((1,0),(64,512))">',
        "atom": "cp.async",
        "bits": 128,
    },
    twin={"dst": '!cute.memref<f32, smem, align<1024>, S<3,4,3>, "((4,1),(4,2)):((1,0),(64,512))">'},
    beyond="where the elements are depends on a run-time offset inside the layout, which is not modelled",
)
