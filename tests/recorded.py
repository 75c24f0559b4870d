"""What is said of some 680 copies, in numbers: verdicts, evidence, costs, the compiler's words, the fixes.

    python -m tests.recorded        # write tests/data/recorded.jsonl again; then read the diff

The judges of single copies stand elsewhere (the compiler, a GPU, brute force). This is the net under them:
a changed boundary, count or atom shows as a line of the diff, and whoever changes it says why. Sentences are
not recorded, only the numbers in them.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

from layoutcheck.check import Report, check
from layoutcheck.copies.copy import Copy
from layoutcheck.errors import InputError
from layoutcheck.findings import plain
from layoutcheck.fixes import propose
from layoutcheck.rules import rules
from layoutcheck.sources.request import build
from tests.cluster_miscompiles import CLUSTER_MISCOMPILES
from tests.conformance import emitted, generate, generate_bulk, generate_tmem
from tests.im2col_miscompiles import IM2COL_MISCOMPILES
from tests.miscompiles import MISCOMPILES
from tests.rules.examples import example
from tests.rules.test_tma_rows import MISCOMPILES as ROW_MISCOMPILES
from tests.tma_miscompiles import TMA_MISCOMPILES

FILE = Path(__file__).parent / "data" / "recorded.jsonl"
GENERATORS = {
    "verifier": (generate.random_copy, 120),
    "emitted": (emitted.random_copy, 60),
    "bulk": (generate_bulk.random_copy, 30),
    "tmem": (generate_tmem.random_tmem_copy, 30),
}
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")


def copies() -> Iterator[tuple[str, Copy]]:
    """Every copy with its name: miscompiles and their twins, rules' examples, random ones near the border."""
    for name, (broken, fixed, *_) in MISCOMPILES.items():
        yield f"{name} broken", broken
        yield f"{name} fixed", fixed
    requests: dict[str, dict[str, Any]] = {}
    for found in (TMA_MISCOMPILES, IM2COL_MISCOMPILES, ROW_MISCOMPILES, CLUSTER_MISCOMPILES):
        for name, one in found.items():
            requests |= {f"tma {name} broken": one[0], f"tma {name} fixed": one[1]}
    for rule in rules().values():
        flagged, clean = example(rule.code)
        requests |= {f"{rule.code} flagged": flagged, f"{rule.code} clean": clean}
    for name, request in requests.items():
        yield name, build(**request)[0]
    for name, (random_copy, count) in GENERATORS.items():
        rng = Random(13)
        for n in range(count):
            yield f"{name} {n}", random_copy(rng)


def answer(name: str, copy: Copy) -> dict[str, Any]:
    """All that is said of a copy, but for the wording."""
    try:
        report = check(copy)
    except InputError as error:
        return {"name": name, "copy": digest(str(copy)), "refused": numbers(str(error))}
    compiler = report.compiler
    return {
        "name": name,
        "copy": digest(str(copy)),
        "verdict": report.verdict,
        "compiler": [compiler.outcome, compiler.kind, compiler.operand, compiler.message],
        "findings": [
            [f.code, f.severity, f.where.to_dict(), plain(f.evidence), numbers(f"{f.title} {f.message}")]
            for f in report.findings
        ],
        "inference": rounded(report.inference),
        "execution": rounded(report.execution),
        "fixes": fixes(report),
    }


def fixes(report: Report) -> Any:
    """Strategy, verdict, atoms, a digest of copies and code, cost, best first; or the obstacle's numbers."""
    found, obstacle = propose(report)
    if not found:
        return numbers(obstacle or "")
    return [
        [
            fix.strategy,
            fix.verdict,
            [str(copy.atom) for copy in fix.copies],
            digest(*map(str, fix.copies), *numbers(f"{fix.title} {fix.code} {fix.note}")),
            rounded(fix.predicted),
        ]
        for fix in found
    ]


def numbers(text: str) -> list[str]:
    """The numbers of a text, in order of size: words may be put otherwise."""
    return sorted(_NUMBER.findall(text), key=lambda one: (float(one), one))


def digest(*texts: str) -> str:
    """Eight digits that stand for the texts."""
    return hashlib.sha256("|".join(texts).encode()).hexdigest()[:8]


def rounded(value: Any) -> Any:
    """As JSON has it, with four digits after the point."""
    if isinstance(value, dict):
        return {key: rounded(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [rounded(one) for one in value]
    return round(value, 4) if isinstance(value, float) else plain({"": value})[""]


def line(name: str, copy: Copy) -> str:
    """The answer as a line of the file."""
    return json.dumps(answer(name, copy), ensure_ascii=False)


if __name__ == "__main__":
    FILE.write_text("".join(line(*one) + "\n" for one in copies()), encoding="utf-8")
