"""`Finding`: one thing that is wrong, slow or unknown about a copy or a matmul, with its evidence."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

SCHEMA_VERSION = 1  # of every JSON document
VERDICTS = ("legal", "slow", "unknown", "wrong", "rejected")  # mild to bad
SEVERITIES = ("rejected", "wrong", "unknown", "slow", "note")  # worst first; "note" never decides a verdict
# What is left of values that are not adjacent, what only names symptoms, and a remark.
CONSEQUENCES = frozenset(("LC101", "LC202", "LC203", "LC204", "LC210", "LC258"))


def versioned(fields: Mapping[str, Any]) -> dict[str, Any]:
    """A JSON document of these fields."""
    return {"schema_version": SCHEMA_VERSION, **fields}


def json_lines(documents: Iterable[Mapping[str, Any]], *, ascii_: bool = True) -> str:
    """A line of JSON for each document."""
    return "".join(json.dumps(versioned(one), ensure_ascii=ascii_) + "\n" for one in documents)


class Where(NamedTuple):
    """The part of the copy a finding is about.

    `operand` is "src", "dst", "pred", "atom" or "tiled"; `mode` the path of the mode in its layout
    ((0, 1) is mode 1 of mode 0); `thread`, `value` and `instruction` the first offender.
    """

    operand: str | None = None
    mode: tuple[int, ...] | None = None
    thread: int | None = None
    value: int | None = None
    instruction: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """The parts that are known."""
        known = {key: part for key, part in self._asdict().items() if part is not None}
        return known | ({"mode": list(self.mode)} if self.mode is not None else {})


BY_LOWERING = "The addresses come from the compiler's own lowering, for all threads of a block."


def shortened(message: str) -> str:
    """A finding's message for a text that has many: its counts say how many addresses come from where."""
    return message.replace(f" {BY_LOWERING}", "")


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong, slow or worth knowing about a copy, or about a matmul's arithmetic (LC4xx).

    `code` is the rule's ("LC201"), `severity` "rejected", "wrong", "unknown", "slow" or "note" (which never
    decides a verdict). `title` is one line; `message` gives the reason in the user's modes and strides;
    `where` the part of the copy it is about; `evidence` the numbers by name (names that end in `_bytes` or
    `_bits` count those).
    """

    code: str
    severity: str
    title: str
    message: str
    where: Where = field(default_factory=Where)
    evidence: dict[str, Any] = field(default_factory=dict)
    beyond: str = ""  # where no byte and no type differs: what is wrong all the same

    def to_dict(self) -> dict[str, Any]:
        """As the JSON schema has it."""
        return {
            "code": self.code,
            "severity": self.severity,
            "title": self.title,
            "message": self.message,
            "where": self.where.to_dict(),
            "evidence": self.evidence,
            **({"beyond": self.beyond} if self.beyond else {}),
        }


def rank(code: str, severity: str) -> tuple[int, bool, str]:
    """In this order findings at one place are listed, everywhere: worst first, causes before consequences."""
    return SEVERITIES.index(severity), code in CONSEQUENCES, code


def verdict(findings: Iterable[Finding]) -> str:
    """The worst severity: "rejected", "wrong", "unknown", "slow"; "legal" where there are only notes."""
    found = {finding.severity for finding in findings}
    return next((one for one in SEVERITIES if one in found and one != "note"), "legal")


def plain(evidence: Mapping[str, Any]) -> dict[str, Any]:
    """Evidence as JSON has it: integers, strings, booleans, lists of them; anything else as text."""
    return {key: _plain(value) for key, value in evidence.items()}


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (tuple, list)):
        return [_plain(v) for v in value]
    return str(value)
