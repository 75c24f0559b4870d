"""What is reported: a `Report`, a compiler `Message` without types, an `Explained` error, a `Failure`."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from layoutcheck.check import Report
from layoutcheck.errors import InputError
from layoutcheck.findings import Finding, Where

if TYPE_CHECKING:
    from layoutcheck.catalogue import Answer
    from layoutcheck.sources.diagnostics import Diagnostic
    from layoutcheck.sources.messages import Explanation


class Message(NamedTuple):
    """A compiler error whose operand types are not in the paste: only what its message says is known."""

    diagnostic: Diagnostic

    @property
    def verdict(self) -> str:
        """The compiler said no."""
        return "rejected"

    @property
    def subject(self) -> str | None:
        """The place in the user's code, where the text has it."""
        return self.diagnostic.location

    @property
    def operand(self) -> str | None:
        """The operand that the message names."""
        found = self._explanation()
        return found.operand if found else None

    @property
    def findings(self) -> tuple[Finding, ...]:
        """The rule behind the message, where the message is known."""
        found = self._explanation()
        if found is None:
            return ()
        where = Where(found.operand)
        meaning = " ".join((found.meaning, *(f"{one}." for one in self.diagnostic.given)))
        return (Finding(found.code, "rejected", found.title, meaning, where, found.evidence),)

    @property
    def missing(self) -> str:
        """What to do to get the whole answer."""
        from layoutcheck.sources.messages import PRINT_THEM, SHOW_TYPES

        if self.diagnostic.problem:
            return f"The operand types are there but cannot be read: {self.diagnostic.problem}."
        if "!cute.layout<" in self.diagnostic.message:
            return f"The message holds both layouts. To have the copy itself judged, {PRINT_THEM}."
        if self.diagnostic.printed:
            return f"{self.diagnostic.printed}. The other operand's type is missing: {PRINT_THEM}."
        script = (self.diagnostic.location or "").rpartition(":")[0]
        shows = SHOW_TYPES.replace("SCRIPT", script if script.endswith(".py") else "SCRIPT")
        return f"The operand types are missing. {PRINT_THEM if self.diagnostic.python else shows}."

    def _explanation(self) -> Explanation | None:
        from layoutcheck.sources.messages import explain, of_family  # patterns cost more than they are used

        return explain(self.diagnostic.message) or of_family(self.diagnostic.message)


class Explained(NamedTuple):
    """An error that the catalogue knows, and whose copy is not in the text."""

    answer: Answer

    @property
    def verdict(self) -> str:
        """What the error means for the program: rejected, wrong or slow."""
        return self.answer.entry.level

    @property
    def called(self) -> str:
        """How a reader sees the verdict: a text that tells no error asks something."""
        return "asked" if self.verdict == "unknown" else self.verdict

    @property
    def subject(self) -> str | None:
        """The place in the user's code, where the text has it."""
        return self.answer.place

    @property
    def findings(self) -> tuple[Finding, ...]:
        """The error as a finding of its rule, or of the general rule of its level, if there is one."""
        answer = self.answer
        code = answer.entry.rule or {"rejected": "LC100", "wrong": "LC200"}.get(answer.entry.level)
        if code is None:  # slow, and not by a copy
            return ()
        return (
            Finding(code, self.verdict, answer.title, f"{answer.cause} {answer.remedy}.".removesuffix(" .")),
        )


class Failure(NamedTuple):
    """An input that could not be used; `subject` says which."""

    subject: str
    error: InputError


Outcome: TypeAlias = "Report | Message | Explained | Failure"

_FAILING = {"rejected", "wrong"}
_FAILING_STRICT = _FAILING | {"slow", "unknown"}


def exit_status(outcomes: list[Outcome], strict: bool = False) -> int:
    """0 nothing wrong, 1 something `rejected` or `wrong` (strict: or `slow` or `unknown`), 2 unusable."""
    if any(isinstance(outcome, Failure) for outcome in outcomes):
        return 2
    failing = _FAILING_STRICT if strict else _FAILING
    return int(any(not isinstance(o, Failure) and o.verdict in failing for o in outcomes))
