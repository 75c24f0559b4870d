"""LC607 operand-layout: no matrix descriptor can express the layout of a shared operand.

## What it means

The tensor cores of wgmma and tcgen05 read an operand in shared memory through a descriptor: a start, two strides, a
swizzle mode, and the MMA's major. The fragment that the kernel makes of a shared tile has a layout that no descriptor can
express. Either the compiler refuses it ("rejected"), after the trace, with an error that names no tensor, or it rounds a stride
to 16 bytes and the product reads other elements ("wrong").

## Why

PTX ISA, wgmma.mma_async and tcgen05, "Shared Memory Matrix Layout" and "Matrix Descriptor". The installed DSL decides
the same way (`make_gmma_smem_desc`, `make_umma_smem_desc`): [canonical](../canonical.md) has
the rules, and both agree on random layouts.

## How to fix it

Make the tile from the layout atom that the finding names, `make_smem_layout_atom(SmemLayoutAtomKind.K_SW128, dtype)` and
`tile_to_shape`, and allocate it with `layout.outer` and `swizzle=layout.inner`. If the tile is canonical along the other mode, the
operation's `OperandMajorMode` is wrong.
"""

from __future__ import annotations

from layoutcheck.markdown import page_rule
from layoutcheck.operands.answers import OperandAnswer


def tell(answer: OperandAnswer) -> tuple[str, str]:
    """What the descriptor cannot say, the layout that fits, and the code of it."""
    fits = f" What fits: {answer.fits}." if answer.fits else ""
    code = "; ".join(answer.code.splitlines())
    message = f"{answer.given}: {answer.message}.{fits}{f' Code: {code}' if code else ''}"
    return answer.title, message


FLAGGED = """
layout = cute.make_ordered_layout((64, 128), order=(1, 0))
sA = smem.allocate_tensor(cutlass.Float16, layout, byte_alignment=1024)
tCrA = tiled_mma.make_fragment_A(thr_mma.partition_A(sA))
"""
CLEAN = """
atom = warpgroup.make_smem_layout_atom(warpgroup.SmemLayoutAtomKind.K_SW128, cutlass.Float16)
layout = cute.tile_to_shape(atom, (64, 128), order=(0, 1))
sA = smem.allocate_tensor(cutlass.Float16, layout.outer, byte_alignment=1024, swizzle=layout.inner)
tCrA = tiled_mma.make_fragment_A(thr_mma.partition_A(sA))
"""

RULE = page_rule(__doc__, "rejected", FLAGGED, CLEAN)
