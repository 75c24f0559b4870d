"""`--mma`: what `explain` and `draw` ask of an MMA's operands."""

from __future__ import annotations

from typing import TYPE_CHECKING

from layoutcheck.errors import InputError

if TYPE_CHECKING:
    from layoutcheck.operands import MmaReport


def asked(
    mma: str | None,
    a: str | None,
    b: str | None,
    c: str | None,
    atom_layout: str | None,
    permutation: str | None,
) -> MmaReport | None:
    """The answers; None without --mma. Raises InputError, naming the option whose text is unusable."""
    options = {
        "a": a, "b": b, "c": c, "atom-layout": atom_layout, "permutation": permutation,
    }  # fmt: skip
    if mma is None:
        given = next((name for name, value in options.items() if value is not None), None)
        if given is not None:
            raise InputError(f"--{given} is not used without --mma", expected="--mma MMA")
        return None
    from layoutcheck.operands.answers import answered

    return answered(mma, a, b, c, atom_layout=atom_layout, permutation=permutation)
