"""What a command's exit status promises: 0 only where all that was asked for was seen, and nothing is wrong.

0   everything was seen, nothing is `rejected` or `wrong`
1   something is (with --strict also `slow` or `unknown`), or a kernel does not compile
2   nothing is, and something asked for was not seen (`--fail-on`, `--require-coverage`); unusable input too
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from layoutcheck.digits import many
from layoutcheck.errors import InputError

T = TypeVar("T")

CONDITIONS = ("case-failed", "no-kernels", "unreadable", "types-only", "tests-skipped")
DEFAULT = ("case-failed", "no-kernels", "unreadable")


@dataclass(frozen=True, slots=True)
class Gate:
    """What must have been seen: no condition of `fail_on` met, and at least `coverage` percent of the copies.

    "case-failed"  a script, test or registered case that ended before it had compiled all it would have
    "no-kernels"   a run that compiled nothing
    "unreadable"   a file that mentions CuTe and cannot be read or parsed
    "types-only"   a copy that is known by its types, for one thread
    "tests-skipped"  a test that was skipped, or expected to fail and failed, for every architecture
    """

    fail_on: tuple[str, ...] = DEFAULT
    coverage: float = 0.0

    def unseen(
        self, failed: int, kernels: int | None, types_only: int, seen: int, total: int, skipped: int = 0,
        unreadable: int = 0,
    ) -> list[str]:  # fmt: skip
        """Each thing that was not seen, in words; `kernels` None where none were asked for.

        `seen` of `total` copies, or copy sites, count for the coverage.
        """
        told = {
            "case-failed": failed and f"{many(failed, 'run')} not seen to the end",
            "no-kernels": kernels == 0 and "no kernel was compiled",
            "unreadable": unreadable and f"{many(unreadable, 'file')} not read",
            "types-only": types_only and f"{many(types_only, 'copy', 'copies')} known by their types alone",
            "tests-skipped": skipped and f"{many(skipped, 'test')} did not run",
        }
        found = [f"{name}: {words}" for name, words in told.items() if words and name in self.fail_on]
        if self.coverage and (not total or 100 * seen < self.coverage * total):
            share = f"{100 * seen / total:.4g} %" if total else "none"
            found.append(f"coverage: {share} seen ({seen} of {total}), {self.coverage:g} % required")
        return found


NO_GATE = Gate(())


@dataclass(frozen=True, slots=True)
class Part:
    """One of `count` machines that share the programs, `index` from 1: every `count`-th is its own."""

    index: int
    count: int

    def of(self, items: Sequence[T]) -> list[T]:
        """What of `items` is this part's. The parts together have each once."""
        return list(items[self.index - 1 :: self.count])


def gate(fail_on: str | None, coverage: float | None) -> Gate:
    """The gate that the options ask for. Raises InputError for an unknown condition or share."""
    conditions: tuple[str, ...] = DEFAULT
    if fail_on is not None:
        conditions = tuple(word.strip() for word in fail_on.split(",") if word.strip())
        if conditions == ("none",):
            conditions = ()
        for word in conditions:
            if word not in CONDITIONS:
                raise InputError(
                    f"unknown condition '{word[:40]}'", expected=f"--fail-on none, or {', '.join(CONDITIONS)}"
                )
    if coverage is not None and not 0 <= coverage <= 100:
        raise InputError(f"coverage {coverage:g} % is out of range", expected="--require-coverage 0 to 100")
    return Gate(conditions, coverage or 0.0)
