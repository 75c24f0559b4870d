"""The DSL's verdicts on random copies near the border, recorded: a judge for runs that have no DSL.

    python -m tests.conformance.recorded_verdicts        # ask the installed DSL again

Copies come from the generators by seed; a digest of each shows when a generator makes another copy.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from random import Random
from typing import Any

from layoutcheck.copies.copy import Copy
from tests.conformance import generate, generate_bulk, generate_tmem

FILE = Path(__file__).parents[1] / "data" / "verdicts.json"
GENERATORS: dict[str, tuple[Callable[[Random], Copy], int]] = {
    "generate": (generate.random_copy, 1600),
    "generate_bulk": (generate_bulk.random_copy, 500),
    "generate_tmem": (generate_tmem.random_tmem_copy, 500),
}


def copies(name: str) -> list[Copy]:
    """The copies of a generator."""
    make, count = GENERATORS[name]
    rng = Random(21)
    return [make(rng) for _ in range(count)]


def digest(copy: Copy) -> str:
    """Six digits that stand for a copy."""
    parts = (copy.op, copy.tiled or copy.atom, copy.src, copy.dst, copy.pred, copy.arch)
    return hashlib.sha256(repr([str(part) for part in parts]).encode()).hexdigest()[:6]


def main() -> None:
    """Ask the DSL and write the file."""
    from layoutcheck.dsl.session import Session
    from layoutcheck.dsl.verifier import verify

    messages: dict[str, int] = {}
    answers: dict[str, list[list[Any]]] = {}
    with Session() as session:
        for name in GENERATORS:
            asked = copies(name)
            answers[name] = [
                [digest(copy), found.outcome, messages.setdefault(found.message, len(messages))]
                for copy, found in zip(asked, verify(asked, session=session, bare=True), strict=True)
            ]
    text = {"dsl": version("nvidia-cutlass-dsl"), "messages": list(messages), "verdicts": answers}
    FILE.write_text(json.dumps(text, separators=(",", ":")) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
