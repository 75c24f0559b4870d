"""`Prediction`: what the compiler says of one copy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Prediction:
    """`outcome` of building the copy; for every outcome but "accepted", what stopped it.

    accepted   the copy reaches code generation
    rejected   an error: `message` is the compiler's own text, without its location prefix
    aborts     the compiler's process dies (SIGABRT or SIGFPE); `message` says where, in our words
    unknown    the atom is not modelled, or the compiler could not be asked

    `kind` is a stable snake_case key of the cause, `operand` the operand at fault ("src", "dst", "pred",
    "atom", or None when it is the pair) and `evidence` the numbers the message speaks of.
    """

    outcome: str
    message: str = ""
    kind: str = ""
    operand: str | None = None
    evidence: Mapping[str, Any] = field(default_factory=dict, compare=False)

    @property
    def accepted(self) -> bool:
        """Whether the copy reaches code generation."""
        return self.outcome == "accepted"


ACCEPTED = Prediction("accepted")


def rejected(kind: str, message: str, operand: str | None = None, **evidence: Any) -> Prediction:
    """A rejection."""
    return Prediction("rejected", message, kind, operand, evidence)


def aborts(
    kind: str, message: str, operand: str | None = None, signal: str = "SIGABRT", **evidence: Any
) -> Prediction:
    """A death of the compiler's process; `message` says doing what."""
    text = f"the compiler dies of {signal} {message}"
    return Prediction("aborts", text, kind, operand, {"signal": signal, **evidence})
