"""Two runs of `check`: what became better or worse, copy by copy."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from types import NoneType
from typing import Any

from layoutcheck.errors import InputError
from layoutcheck.findings import VERDICTS, json_lines

# Numbers of `execution` in the JSON of a report, of which less is better.
COSTS = ("smem_wavefronts", "gmem_sectors", "instructions_per_thread")


@dataclass(frozen=True, slots=True)
class Difference:
    """What one copy's reports say of `what`, "verdict" or a cost; None where one says nothing."""

    subject: str
    what: str
    before: Any
    now: Any

    @property
    def worse(self) -> bool:
        """Whether this should fail a run: a worse verdict, or a higher cost."""
        if self.before is None or self.now is None:
            return False
        if self.what == "verdict":
            return VERDICTS.index(self.now) > VERDICTS.index(self.before)
        return bool(self.now > self.before)


def read(lines: Iterable[str]) -> list[dict[str, Any]]:
    """The reports that `check --format json` wrote. Raises InputError, with the line, for anything else."""
    found = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            one = json.loads(line)
        except (ValueError, RecursionError):
            one = None
        if not isinstance(one, dict) or one.get("verdict") not in VERDICTS:
            raise InputError(f"line {number} is no report", expected="what check --format json wrote")
        costs = one.get("execution", {})
        if not isinstance(costs, dict):
            raise InputError(f"line {number}: 'execution' is no object", expected="what check wrote")
        for key in COSTS:
            if type(costs.get(key, 0)) not in (int, float, NoneType):
                raise InputError(f"line {number}: '{key}' is no number", expected="what check wrote")
        found.append(one)
    return found


def differences(before: Iterable[dict[str, Any]], now: Iterable[dict[str, Any]]) -> list[Difference]:
    """What differs between reports of the same subject; of several with one subject, in their order."""
    old, new = _named(before), _named(now)
    found = []
    for subject in (*old, *(name for name in new if name not in old)):
        a, b = old.get(subject), new.get(subject)
        pairs = [("verdict", (a or {}).get("verdict"), (b or {}).get("verdict"))]
        if a and b:
            pairs += [(key, *(one.get("execution", {}).get(key) for one in (a, b))) for key in COSTS]
        found += [Difference(subject, what, was, is_) for what, was, is_ in pairs if was != is_]
    return found


def _named(reports: Iterable[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    seen: Counter[str] = Counter()
    out = {}
    for one in reports:
        subject = str(one.get("subject") or "")
        seen[subject] += 1
        out[subject if seen[subject] == 1 else f"{subject} ({seen[subject]})"] = one
    return out


def render(found: list[Difference], format_: str) -> str:
    """A line for each difference, and how many are worse."""
    if format_ == "json":
        return json_lines({**asdict(one), "worse": one.worse} for one in found)
    return (
        "\n".join([*_lines(found), f"{len(found)} differences, {sum(one.worse for one in found)} worse"])
        + "\n"
    )


def _lines(found: list[Difference]) -> Iterator[str]:
    for one in found:
        if one.before is None or one.now is None:
            said = "is new" if one.before is None else "is gone"
            if one.what != "verdict":
                said = f"{one.what.replace('_', ' ')}: known in one run only"
            yield f"{one.subject}: {said}"
        else:
            mark = "worse" if one.worse else "better"
            yield f"{one.subject}: {one.what.replace('_', ' ')} {one.before} -> {one.now} ({mark})"
