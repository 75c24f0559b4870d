"""Kernels that the compiler traces and verifies, and then does not compile.

    refusal(text, arch, passed, session)  -> Refusal("the compiler dies of SIGABRT: LLVM ERROR: ...", 3)

A run that launches nothing ends every build after its trace. What the DSL's first passes fail on is given to
its whole pipeline, as `cute.compile` runs it, so that nothing of ours is taken for the compiler's refusal.
"""

from __future__ import annotations

import re
import signal
from dataclasses import dataclass
from typing import Any

from layoutcheck.dsl.session import Session
from layoutcheck.sources.mlir import without_locations

_COPY = re.compile(r'\s*"cute\.copy(?:_atom_call)?"\(')
_MOST_COPIES = 32  # that are left out one by one to find the one it fails on
_SAID = re.compile(r"(?:LLVM ERROR|error):.*(?:\n(?!PLEASE|Stack|\s*#|\s*[0-9]+\.).+){0,2}")


@dataclass(frozen=True, slots=True)
class Refusal:
    """`message` is the compiler's; `copy` the number of the copy without which it compiles, if any."""

    message: str
    copy: int | None = None


def refusal(
    text: str, arch: str, passed: dict[str, Any], session: Session, timeout: float | None = None
) -> Refusal | None:
    """Why a traced module does not compile; None where it does, or where that cannot be told.

    `passed` is the answer of the first passes. Raises DslUnavailable.
    """
    if "died" not in passed and not str(passed.get("problem", "")).startswith("the passes fail"):
        return None
    bare = without_locations(text)
    answer = session.ask("compile", [{"module": bare, "arch": arch}], timeout)[0]
    if "died" not in answer and not answer["error"]:
        return None
    return Refusal(_message(answer), _culprit(bare, session, timeout))


def _message(answer: dict[str, str]) -> str:
    if "died" not in answer:
        return "the compiler's passes fail: " + " ".join(answer["error"].split())
    name = signal.Signals(int(answer["died"])).name
    said = _SAID.search(answer.get("said", ""))
    return f"the compiler dies of {name}" + (f": {' '.join(said[0].split())}" if said else "")


def _culprit(bare: str, session: Session, timeout: float | None) -> int | None:
    """The copy without which the passes run."""
    lines = bare.split("\n")
    copies = [i for i, line in enumerate(lines) if _COPY.match(line)]
    for number, i in enumerate(copies[:_MOST_COPIES]):
        without = "\n".join((*lines[:i], *lines[i + 1 :]))
        if "lowered" in session.ask("passes", [{"module": without}], timeout)[0]:
            return number
    return None
