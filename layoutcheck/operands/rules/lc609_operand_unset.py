"""LC609 operand-unset: a product adds to accumulators, or multiplies registers, that nothing has written.

## What it means

layoutcheck followed the kernel to the first execution of the instruction. Nothing in the kernel had written the
accumulators by then, and the instruction adds to them: the sum begins with what another kernel left there, or with what
the compiler chose. The same is said of an operand in registers if no thread has written any of it.

## Why

D = A B + C reads C (PTX ISA, mma.sync; wgmma.mma_async with scale-d; tcgen05.mma with enable-input-d). Neither registers nor
tensor memory are set to 0 for a block. A fragment in registers is a variable, and what is read of a variable before it
is written is undefined (LLVM Language Reference, "Undefined Values"), so that the compiler may also drop the product. On
an H200 a quarter of the elements of C is wrong for mma.sync without the fill, and two fifths for a wgmma that adds at
first (`docs/evidence/operands_unset.json`).

It is not said where some threads have written theirs (rows past the end of a tensor may be left out), where a branch that
only a run knows may have written the registers, or where their address is given to something other than a load or a store.

## How to fix it

Clear the accumulators before the first product: `acc.fill(0.0)`. For wgmma and tcgen05 set `ACCUMULATE` to False for
the first k-block, and to True after it. If an operand is named, copy it into its fragment before the product.
`layoutcheck trace --fix` fills accumulators in registers.
"""

from __future__ import annotations

from layoutcheck.markdown import page_rule


def tell(letter: str, instruction: str) -> tuple[str, str]:
    """What is not written, and what to do; `instruction` is mma.sync, wgmma or tcgen05.mma."""
    if letter != "C":
        return f"a product multiplies registers of {letter} that nothing has written", (
            f"The {instruction} reads {letter} from registers. No thread has written any of them before. Copy {letter} into "
            "its fragment first."
        )
    where = "tensor memory" if instruction == "tcgen05.mma" else "registers"
    repair = (
        "Clear them first: `acc.fill(0.0)`." if instruction == "mma.sync" else
        "Set ACCUMULATE to False for the first k-block."
    )  # fmt: skip
    return "a product adds to accumulators that nothing has written", (
        f"The first {instruction} of this sum adds to its accumulators in {where}. Nothing has written them before. {repair}"
    )


FLAGGED = """
acc = tiled_mma.make_fragment_C(tCgC)
for k in cutlass.range(k_blocks):
    cute.gemm(tiled_mma, acc, rA[None, None, k], rB[None, None, k], acc)
"""
CLEAN = """
acc = tiled_mma.make_fragment_C(tCgC)
acc.fill(0.0)
for k in cutlass.range(k_blocks):
    cute.gemm(tiled_mma, acc, rA[None, None, k], rB[None, None, k], acc)
"""

RULE = page_rule(__doc__, "wrong", FLAGGED, CLEAN)
