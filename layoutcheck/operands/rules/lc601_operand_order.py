"""LC601 operand-order: a copy fills an MMA's fragment in another order than the MMA reads it."""

from __future__ import annotations

from layoutcheck.markdown import Page, heading
from layoutcheck.operands.check import Filling


def tell(letter: str, filling: Filling) -> tuple[str, str]:
    """The first register that holds another element, and the count."""
    row = "m" if letter == "A" else "n"
    held, taken = (f"{letter}[{row} = {x}, k = {k}]" for x, k in (filling.held, filling.taken))
    title = f"registers of {letter} hold other elements than the MMA takes them for"
    other = "B" if letter == "A" else "A"
    why = (
        "C is stored by the MMA's own partition, so rows or columns change places."
        if filling.across
        else f"{other} has its k in another order, so products pair different k."
    )
    message = (
        f"register {filling.register} of thread {filling.thread} holds {held}, and the MMA takes it for {taken}; "
        f"{filling.differ:,} of {filling.of:,} registers differ. {why} "
        f"make_tiled_copy_{letter}(atom, tiled_mma) of the product's own tiled MMA has its order."
    )
    return title, message


rule = Page(*heading(__doc__, "wrong"))
