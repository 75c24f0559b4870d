"""`--mma`: what `explain` and `draw` ask of an MMA's operands."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from layoutcheck.errors import InputError, option_of

if TYPE_CHECKING:
    from layoutcheck.operands import MmaReport


def asked(given: Mapping[str, str]) -> MmaReport | None:
    """The answers; None without --mma. Raises InputError, naming the option whose text is unusable."""
    if "mma" not in given:
        for name in given:
            raise InputError(f"{option_of(name)} is not used without --mma", expected="--mma MMA")
        return None
    from layoutcheck.operands.answers import answered

    return answered(**given)
