"""LC609 operand-unset: a product adds to accumulators, or multiplies registers, that nothing has written."""

from __future__ import annotations

from layoutcheck.markdown import Page, heading


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


rule = Page(*heading(__doc__, "wrong"))
