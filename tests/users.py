"""Whole kernels as users write them, right ones and planted faults: what a trace tells of each.

    python -m tests.users --out docs/evidence/user_faults.json [NAME ...]     # other kernels' rows are kept

Each variant is traced without a GPU, with its copies, its order and its products, as `layoutcheck trace
--no-launch` does. A fault is told (a finding), noted (a note that the right kernel does not get), named (the
report lists something as not checked that it does not list of the right kernel, or products that are not
followed; or what the script has in `NAMED`, of the right one, too), refused by the DSL, or silent.
"""

from __future__ import annotations

import argparse
import ast
import json
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

from layoutcheck.dsl.lowered.resolve import Lowering
from layoutcheck.dsl.trace import trace_script
from layoutcheck.findings import BY_LOWERING
from layoutcheck.order import check_module
from layoutcheck.provenance import check_products
from layoutcheck.reports.trace import JudgedTrace
from layoutcheck.sources.traced import OperandReport
from layoutcheck.tracing import judge

ROOT = Path(__file__).parents[1]
MODULES = ("tests.provenance.users", "tests.dsl.lowered.users")
USUAL = "sm_90a"


@dataclass(frozen=True, slots=True)
class Told:
    """What is said of one variant: codes of findings, codes of notes, and what is not checked."""

    wrong: frozenset[str]
    notes: frozenset[str]
    unchecked: frozenset[str]
    refused: bool

    def beside(self, right: Told, named: str) -> str:
        """The answer for a fault, beside that for the right kernel; `named` is of what is not checked."""
        if self.refused and not right.refused:
            return "refused"
        if found := sorted(self.wrong - right.wrong):
            return " ".join(found)
        if found := sorted(self.notes - right.notes):
            return "note " + " ".join(found)
        open_ = any(named in words for words in self.unchecked) if named else False
        return "not checked" if open_ or self.unchecked - right.unchecked else ""


def written(module: str, name: str) -> Any:
    """What a script of kernels says of itself, without being run."""
    tree = ast.parse(ROOT.joinpath(*module.split(".")).with_suffix(".py").read_text())
    return next(
        ast.literal_eval(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == name
    )


class Kernel(NamedTuple):
    """A kernel of a script: what its variants from 1 on are told, and what is named as not checked."""

    module: str
    name: str
    arch: str
    told: tuple[str, ...]
    named: str


def kernels() -> Iterator[Kernel]:
    """All of both scripts."""
    for module in MODULES:
        archs, named = (written(module, name) for name in ("ARCHS", "NAMED"))
        for name, told in written(module, "TOLD").items():
            yield Kernel(module, name, archs.get(name, USUAL), told, named.get(name, ""))


def traced(one: Kernel, how: int, lowering: Lowering) -> Told:
    """Trace one variant."""
    trace = trace_script(
        "-m", [one.module, one.name, str(how)], launch=False, arch=one.arch, timeout_s=300, cwd=str(ROOT),
        lowering=lowering,
    )  # fmt: skip
    return said(judge(trace))


def said(judged: JudgedTrace) -> Told:
    """What a report says."""
    trace = judged.trace
    found = [one for _, report in judged.reports if report is not None for one in report.findings]
    found += [one for report in trace.told for one in report.findings]
    unchecked = {words for report in trace.told for words in report.unchecked}
    unchecked |= {f"{report.problem}" for report in trace.orders if report.problem}
    unchecked |= {one.unbounded.replace(BY_LOWERING, "") for one in trace.copies if one.unbounded}
    unchecked |= {
        f"{one.products - one.followed} products" for one in trace.operands
        if isinstance(one, OperandReport) and one.followed < one.products
    }  # fmt: skip
    return Told(
        frozenset(one.code for one in found if one.severity in ("wrong", "rejected")),
        frozenset(one.code for one in found if one.severity == "note"),
        frozenset(unchecked),
        bool(judged.uncompiled),
    )


def main() -> None:
    """Trace all, write what each is told, and print the counts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    rows: list[dict[str, Any]] = json.loads(options.out.read_text())["rows"] if options.out.exists() else []
    rows = [row for row in rows if options.names and row["kernel"] not in options.names]
    with Lowering(order=check_module, products=check_products) as lowering:
        for one in kernels():
            if options.names and one.name not in options.names:
                continue
            right = traced(one, 0, lowering)
            row = {"kernel": one.name, "arch": one.arch}
            rows.append({**row, "fault": 0, "answer": " ".join(sorted(right.wrong))})
            for how in range(1, len(one.told) + 1):
                answer = traced(one, how, lowering).beside(right, one.named)
                right_too = one.told[how - 1] == "right"
                rows.append({**row, "fault": 0 if right_too else how, "answer": answer})
                print(one.name, how, answer or "silent", flush=True)
    kinds = {"": "silent", "note": "noted", "not": "named", "refused": "refused"}
    counts = Counter(kinds.get(row["answer"].partition(" ")[0], "told") for row in rows if row["fault"])
    right = [row for row in rows if not row["fault"]]
    found = {
        "date": time.strftime("%Y-%m-%d"),
        "command": "python -m tests.users --out docs/evidence/user_faults.json",
        "nvidia-cutlass-dsl": version("nvidia-cutlass-dsl"),
        "right": len(right),
        "false_alarms": sum(bool(row["answer"]) for row in right),
        "faults": dict(sorted(counts.items())),
        "rows": rows,
    }
    options.out.write_text(json.dumps(found, indent=1) + "\n")
    print({key: found[key] for key in ("right", "false_alarms", "faults")})


if __name__ == "__main__":
    main()
