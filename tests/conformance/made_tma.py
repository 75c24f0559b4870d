"""Random TMA copies as the DSL makes them, beside the model of them."""

from __future__ import annotations

from collections.abc import Callable

from layoutcheck.copies.copy import Copy
from layoutcheck.dsl.session import Session
from layoutcheck.dsl.tma import MadeTma, make_tma

BASE = (1 << 40) + 64  # of the global tensor


def differences(copies: list[Copy], session: Session, compare: Callable[[Copy, MadeTma], str]) -> list[str]:
    """What the DSL makes otherwise than the model, copy by copy; `compare` says it of one, "" for nothing."""
    made = make_tma([(copy, copy, BASE) for copy in copies], session=session)
    return [
        f"{copy.atom} {copy.src} {copy.dst} {copy.tma} {copy.index or ''}\n{text}"
        for copy, one in zip(copies, made, strict=True)
        if (text := compare(copy, one))
    ]
