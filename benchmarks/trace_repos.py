"""Whole repositories traced on a machine without a GPU: `python -m benchmarks.trace_repos cutlass=DIR ...`.

    python -m benchmarks.trace_repos cutlass=CUTLASS/examples/python/CuTeDSL quack=QUACK kernels=.
        [--output docs/evidence/trace.json] [--jobs 2] [--only TEXT] [--timeout 300] [--lowered] [--order]

`cutlass` is a folder of scripts that are run as they are, without arguments; `quack`, `flash-attention` and
`liger-kernel` are what goes on the path (a checkout, or its `src`) of the kernels that
`benchmarks/trace_drivers` calls; `kernels` is this repository. Under any other name each script with a kernel
is run, for the architecture that its text names.
Every copy that is `rejected` or `wrong` stands in the evidence with its place, beside what the compiler said,
and every finding about the order of accesses.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import shlex
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from threading import Lock
from typing import Any

from layoutcheck.dsl.collect import Observe
from layoutcheck.dsl.lowered import LoweredOp
from layoutcheck.dsl.lowered.resolve import Lowering
from layoutcheck.dsl.session import Session
from layoutcheck.dsl.trace import trace_script
from layoutcheck.order import check_module
from layoutcheck.reports.order import distinct
from layoutcheck.reports.trace import JudgedTrace
from layoutcheck.settings import Settings
from layoutcheck.sources.traced import OrderReport, TracedCopy
from layoutcheck.sources.traced_module import TracedModule
from layoutcheck.tracing import judge
from tests.dsl.lowered.compare import Silent, disagreement
from tests.lowering import lower

HERE = Path(__file__).parent
ARCHES = {"ampere": "sm_80", "hopper": "sm_90a", "blackwell_geforce": "sm_120a", "blackwell": "sm_100a"}
REPORTED = ("rejected", "wrong", "slow")
_NO_SCRIPT = re.compile(r"(^|/)(__init__|conftest|test_[^/]*|utils/|helpers/|notebooks/)")


@dataclass
class Job:
    group: str
    name: str
    script: Path
    args: list[str]
    arch: str
    root: Path
    environment: dict[str, str] = field(default_factory=dict)


def jobs(name: str, root: Path) -> Iterator[Job]:
    if name == "cutlass":
        for script in sorted(root.rglob("*.py")):
            inside = str(script.relative_to(root))
            text = script.read_text(errors="replace")
            if _NO_SCRIPT.search(inside) or "__main__" not in text:
                continue
            parts = inside.split("/")
            arch = next((a for part in parts for key, a in ARCHES.items() if part == key), "sm_100a")
            yield Job("/".join(parts[:2]), inside, script, [], arch, root)
        return
    if name == "kernels":
        driver = HERE / "trace_drivers" / "kernels_cases.py"
        yield Job("kernels", "kernels", driver, [], "sm_90a", root)
        return
    driver = driver_of(name)
    if not driver.exists():
        yield from scripts(name, root)
        return
    for arch in ("sm_80", "sm_90a", "sm_100a", "sm_120a"):
        for case in cases(driver):
            yield Job(f"{name} {arch}", f"{case} {arch}", driver, [case], arch, root)


def driver_of(name: str) -> Path:
    return HERE / "trace_drivers" / f"{name.replace('-', '_')}_cases.py"


def scripts(name: str, root: Path) -> Iterator[Job]:
    for script in sorted(root.rglob("*.py")):
        inside, text = str(script.relative_to(root)), script.read_text(errors="replace")
        if "@cute.kernel" in text and not _NO_SCRIPT.search(inside):
            newer = "sm_120a" if re.search(r"sm_?12\d", text, re.IGNORECASE) else "sm_90a"
            yield Job(name, inside, script, [], "sm_100a" if "tcgen05" in text else newer, root)


def cases(driver: Path) -> list[str]:
    return re.findall(r"^def (case_\w+)", driver.read_text(), re.MULTILINE)


class Agreement:
    """The copies of traced modules held against NVIDIA's own lowering of the same modules."""

    def __init__(self, dsl: Session) -> None:
        self.dsl = dsl
        self.lock = Lock()
        self.counts: dict[str, Counter[str]] = defaultdict(Counter)
        self.disagreements: list[dict[str, str]] = []

    def __call__(self, text: str, arch: str, copies: Sequence[TracedCopy]) -> None:
        with self.lock:
            lowered = lower([text], session=self.dsl)[0]
            numbers: Counter[str] = Counter()
            for one in copies:
                name = one.operation.split('"')[1]
                picture = lowered.op(f"{name}#{numbers[name]}")
                numbers[name] += 1
                self.counts[one.address_source][self.said(one, picture)] += 1

    def said(self, one: TracedCopy, picture: LoweredOp | None) -> str:
        if one.copy is None or picture is None:
            return "not lowered (the branch is dead, or a pass fails)"
        found = disagreement(one.copy, picture, one.warps)
        if isinstance(found, Silent):
            return f"nothing to compare: {found.reason}"
        if found:
            place = f"{Path(one.where.file).name}:{one.where.line}"
            self.disagreements.append({"place": place, "operation": one.operation, "says": found})
        return "disagrees" if found else "agrees"


def run(
    job: Job, timeout_s: float, observe: Observe | None, copies: bool = True
) -> tuple[JudgedTrace, float]:
    """As `layoutcheck trace --no-launch` runs a script; `observe` sees every module.

    `copies` False leaves copies unjudged.
    """
    start = time.perf_counter()
    with tempfile.TemporaryFile() as log, Lowering(copies=copies, order=ordered) as lowering:
        found = trace_script(
            str(job.script), job.args, launch=False, arch=job.arch, timeout_s=timeout_s, output=log,
            cwd=str(job.script.parent), observe=observe, lowering=lowering,
        )  # fmt: skip
    judged = judge(found) if copies else JudgedTrace(found, [])
    return judged, time.perf_counter() - start


def ordered(module: TracedModule, lowered: str, problem: str) -> OrderReport:
    """As `layoutcheck trace` checks the order of accesses, with its default budget of time."""
    return check_module(module, lowered, problem, Settings().order_seconds)


def order_of(rows: list[tuple[Job, JudgedTrace, float]]) -> dict[str, Any]:
    """What the check of order came to, kernel by kernel: its findings, and why some were not checked."""
    orders = [(job, one) for job, judged, _ in rows for one in judged.trace.orders]
    seconds = sorted(round(one.seconds, 2) for _, one in orders)
    found: dict[tuple[str, ...], dict[str, Any]] = {}
    for job, judged, _ in rows:
        for finding, kernels in distinct(judged.trace.orders):
            places = [place(p.where.file, p.where.line, job.root) for p in finding.places]
            row = found.setdefault(
                (finding.code, *places[:2]),
                {"code": finding.code, "severity": finding.severity, "places": places,
                 "title": finding.title, "message": finding.message, "runs": []},
            )  # fmt: skip
            row["runs"] = sorted({*row["runs"], f"{job.name}: {kernels[0][:60]}"})
    return {
        "kernels": len(orders),
        "followed": sum(not one.problem for _, one in orders),
        "findings": dict(Counter(row["severity"] for row in found.values())),
        "seconds": {"median": seconds[len(seconds) // 2], "max": seconds[-1]} if seconds else {},
        "reported": sorted(found.values(), key=lambda row: (row["severity"] != "wrong", row["places"])),
        "not_checked": dict(Counter(one.problem for _, one in orders if one.problem).most_common()),
        "partly": dict(Counter(s for _, one in orders for s in one.unchecked).most_common()),
    }  # fmt: skip


def one_line(text: str) -> str:
    plain = re.sub(r"\x1b\[[0-9;]*m", "", text)
    return " ".join(plain.split())[:300]


def reason(missing: str) -> str:
    """Why an operation is missing, without the layouts and coordinates of the one copy."""
    return re.sub(r"its view \S+ is not.*", "its view is not the partition", missing).partition(", by ")[0]


def family(operation: str) -> str:
    atom = re.search(r"!cute_nvgpu\.atom\.(\w+)", operation)
    return atom[1] if atom else "none"


def place(file: str, line: int, root: Path) -> str:
    with_root = Path(os.path.normpath(file))
    return f"{with_root.relative_to(root) if with_root.is_relative_to(root) else with_root.name}:{line}"


def gather(rows: list[tuple[Job, JudgedTrace, float]]) -> dict[str, Any]:
    groups: dict[str, dict[str, Any]] = {}
    by_atom: dict[str, Counter[str]] = defaultdict(Counter)
    missing: Counter[str] = Counter()
    reported: dict[tuple[str, ...], dict[str, Any]] = {}
    for job, judged, seconds in rows:
        group = groups.setdefault(
            job.group,
            {"runs": 0, "traced": 0, "kernels": 0, "copies": 0, "all_threads": 0, "verdicts": Counter(),
             "by_lowering": 0, "seconds": 0.0, "not_traced": {}},
        )  # fmt: skip
        trace = judged.trace
        group["runs"] += 1
        group["seconds"] = round(group["seconds"] + seconds, 1)
        if trace.kernels:
            group["traced"] += 1
        else:
            said = [one_line(f"{f.kind}: {f.message}") for f in trace.failures] or ["it builds no kernel"]
            group["not_traced"][job.name] = said[0]
        group["kernels"] += len(trace.kernels)
        group["copies"] += len(trace.copies)
        group["verdicts"].update(judged.verdicts())
        for copy in trace.copies:
            group["all_threads"] += copy.address_source != "types"
            group["by_lowering"] += copy.address_source == "lowered"
            by_atom[family(copy.operation)][copy.address_source] += 1
            if copy.missing and copy.address_source == "types":
                missing[reason(copy.missing)] += 1
        for entry, report in judged.reports:
            if report is None or report.verdict not in REPORTED:
                continue
            first = entry.first
            codes = [f.code for f in report.findings if f.severity == report.verdict] or ["?"]
            at = place(first.where.file, first.where.line, job.root)
            row = reported.setdefault(
                (at, report.verdict, codes[0], report.findings[0].title if report.findings else ""),
                {"place": at, "verdict": report.verdict, "codes": codes,
                 "title": report.findings[0].title if report.findings else "",
                 "compiler": first.refused or "accepts it", "copies": 0, "runs": [],
                 "operation": first.operation, "in_dsl": first.in_dsl},
            )  # fmt: skip
            row["copies"] += entry.count
            row["runs"] = sorted({*row["runs"], job.name})
    total = {
        key: sum(group[key] for group in groups.values())
        for key in ("runs", "traced", "kernels", "copies", "all_threads", "by_lowering")
    }
    return {
        "total": total,
        "groups": groups,
        "pictures": {atom: dict(found) for atom, found in sorted(by_atom.items())},
        "missing": dict(missing.most_common()),
        "reported": sorted(reported.values(), key=lambda r: (REPORTED.index(r["verdict"]), r["place"])),
        "order": order_of(rows),
    }


def keep(
    output: Path,
    names: list[str],
    rows: list[tuple[Job, JudgedTrace, float]],
    finished: bool,
    agreement: Agreement | None,
) -> None:
    """Write what is known so far under the repositories' names, beside what other runs wrote."""
    evidence = json.loads(output.read_text()) if output.exists() else {}
    given = shlex.join(word.partition("=")[0] + "=DIR" if "=" in word else word for word in sys.argv[1:])
    given = re.sub(r"--(output|trace) \S*/", r"--\1 docs/evidence/", given)
    given = re.sub(r" --until \S+", "", given)
    versions = next((judged.trace.versions for _, judged, _ in rows if judged.trace.versions), {})
    evidence.setdefault("repositories", {})["+".join(names)] = {
        "date": datetime.now(timezone.utc).strftime("%Y-%m-%d"),
        "command": f"python -m benchmarks.{Path(sys.argv[0]).stem} {given}",
        "versions": {**versions, "platform": platform.system(), "gpu": "none"},
        "finished": finished,
        **gather(rows),
    }
    if agreement is not None:
        evidence["repositories"]["+".join(names)]["lowered"] = {
            "by_address_source": {picture: dict(found) for picture, found in agreement.counts.items()},
            "disagreements": agreement.disagreements,
        }
    output.write_text(json.dumps(evidence, indent=1) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("repositories", nargs="+", metavar="NAME=DIR")
    parser.add_argument("--output", type=Path)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", default="")
    parser.add_argument("--timeout", type=float, default=300)
    parser.add_argument("--lowered", action="store_true", help="hold every copy against the DSL's lowering")
    parser.add_argument("--order", action="store_true", help="check the order of accesses only")
    given = parser.parse_args()
    todo = []
    for text in given.repositories:
        name, _, folder = text.partition("=")
        root = Path(folder or ".").resolve()
        if driver_of(name).exists():
            os.environ["PYTHONPATH"] = os.pathsep.join([str(root), os.environ.get("PYTHONPATH", "")])
        todo += [job for job in jobs(name, root) if given.only in job.name or given.only in job.group]
    rows: list[tuple[Job, JudgedTrace, float]] = []
    names = [text.partition("=")[0] for text in given.repositories]
    with ExitStack() as stack:
        agreement = Agreement(stack.enter_context(Session())) if given.lowered else None
        pool = stack.enter_context(ThreadPoolExecutor(given.jobs))
        ran = pool.map(lambda j: run(j, given.timeout, agreement, not given.order), todo)
        for job, (judged, seconds) in zip(todo, ran, strict=True):
            rows.append((job, judged, seconds))
            bad = {k: v for k, v in judged.verdicts().items() if k in REPORTED}
            said = [one_line(f"{f.kind}: {f.message}")[:120] for f in judged.trace.failures]
            told = Counter(f"{f.code}" for f, _ in distinct(judged.trace.orders))
            said += [f"order: {one.problem[:120]}" for one in judged.trace.orders if one.problem]
            print(
                f"{job.name[-60:]:60} {seconds:6.1f} s {len(judged.trace.kernels):3} kernels "
                f"{len(judged.trace.copies):5} copies {bad or ''} {dict(told) or ''} {said or ''}",
                flush=True,
            )
            if given.output:
                keep(given.output, names, rows, len(rows) == len(todo), agreement)
    found = gather(rows)
    for row in found["reported"]:
        print(
            row["verdict"],
            row["codes"][0],
            row["place"],
            row["copies"],
            row["title"][:90],
            "|",
            row["compiler"][:80],
        )
    for row in found["order"]["reported"]:
        print(row["severity"], row["code"], *row["places"], row["title"][:120], "|", *row["runs"][:2])
    print({key: found["order"][key] for key in ("kernels", "followed", "findings", "seconds")})
    print(found["total"], found["pictures"], json.dumps(found["missing"], indent=1))


if __name__ == "__main__":
    main()
