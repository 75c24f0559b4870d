"""LC607 operand-layout: no matrix descriptor can express the layout of a shared operand."""

from __future__ import annotations

from layoutcheck.markdown import Page, heading
from layoutcheck.operands.answers import OperandAnswer


def tell(answer: OperandAnswer) -> tuple[str, str]:
    """What the descriptor cannot say, the layout that fits, and the code of it."""
    fits = f" What fits: {answer.fits}." if answer.fits else ""
    code = "; ".join(answer.code.splitlines())
    message = f"{answer.given}: {answer.message}.{fits}{f' Code: {code}' if code else ''}"
    return answer.title, message


rule = Page(*heading(__doc__, "rejected"))
