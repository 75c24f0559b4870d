"""LC612 sum-lost: accumulators are begun anew before what they had summed is stored."""

from __future__ import annotations

from typing import Any

from layoutcheck.markdown import Page, heading


def tell(facts: dict[str, Any], instruction: str) -> tuple[str, str]:
    """Which k are lost, and which are stored; `instruction` is mma.sync, wgmma or tcgen05.mma."""
    if not facts["lost"]:
        return "nothing uses the sums of a product", (
            f"The {instruction} multiplies elements of its tensors, and its sums are neither stored nor computed with, "
            "while those of another product are stored. If it is not there to take time, the accumulators of the other "
            "one are used in its place."
        )
    (first, last), (low, high) = facts["lost"], facts["stored"]
    repair = (
        "Clear the accumulators once, before the loop over k." if instruction == "mma.sync" else
        "Set ACCUMULATE to False once, before the loop over k, and to True after the first k-block."
    )  # fmt: skip
    return "accumulators are begun anew before what they summed is stored", (
        f"The {instruction} sums products of k from {first} to {last} that nothing stores. C gets the sum of k from "
        f"{low} to {high}. {repair}"
    )


rule = Page(*heading(__doc__, "wrong"))
