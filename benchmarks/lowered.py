"""How much of real kernels the lowered addresses recover, whether the model agrees, and where banks conflict.

    python -m benchmarks.lowered cutlass=CUTLASS/examples/python/CuTeDSL quack=QUACK flash-attention=DIR
        [--output docs/evidence/lowered.json] [--trace docs/evidence/trace.json]
        [--only TEXT,...] [--jobs 2] [--timeout 120] [--until HH:MM]

The repositories are those of benchmarks/trace_repos.py: every script is run as by `layoutcheck trace
--no-launch`. Every `cute.copy` of every module is counted by atom: what its addresses rest on, or why
it has none; `disagreement` is asked wherever both speak; and the wavefronts of each line are counted.
`--trace` keeps what benchmarks/trace_repos.py keeps, of the same runs. Groups (of the trace: repositories)
that are not run to their end keep what the evidence has of them; no script is begun after `--until` (UTC).
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import shlex
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from importlib.metadata import version
from pathlib import Path
from threading import Lock
from typing import Any

from benchmarks.trace_repos import Job, jobs, keep, one_line, place, run
from layoutcheck.dsl.lowered import Lowered, of_answer, passes
from layoutcheck.dsl.lowered.costs import NOWHERE, LineCost, line_costs, merged
from layoutcheck.dsl.session import Session
from layoutcheck.dsl.tagged import TAGGED
from layoutcheck.reports.trace import JudgedTrace
from layoutcheck.sources.mlir import parse
from layoutcheck.sources.printed import COPIES, where_of
from layoutcheck.sources.traced import Frame, TracedCopy
from tests.dsl.lowered.compare import Silent, disagreement

TITLES = {"cute": "CUTLASS", "cute_ext": "CUTLASS ext"}
LOWER_SECONDS = 120.0


def tag_places(text: str, copies: Sequence[Frame]) -> dict[str, Frame]:
    """Where each tagged operation of a module stands; `copies` are the places of its copies, in order."""
    seen: Counter[str] = Counter()
    found: dict[str, Frame] = {}
    given = iter(copies)
    for op in parse(text).walk():
        if TAGGED.match(op.name):
            frames = [next(given, NOWHERE)] if op.name in COPIES else where_of(op.location_text)
            found[f"{op.name}#{seen[op.name]}"] = frames[0] if frames else NOWHERE
            seen[op.name] += 1
    return found


@dataclass
class Group:
    """What is counted of one group; each module once, however many scripts build it."""

    scripts: int = 0
    not_traced: dict[str, str] = field(default_factory=dict)
    digests: set[str] = field(default_factory=set)
    atoms: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    model: Counter[str] = field(default_factory=Counter)
    silent: Counter[str] = field(default_factory=Counter)
    blocked: Counter[str] = field(default_factory=Counter)
    disagreements: list[str] = field(default_factory=list)
    seconds: list[tuple[float, float]] = field(default_factory=list)
    costs: list[LineCost] = field(default_factory=list)

    def take(self, text: str, arch: str, copies: Sequence[TracedCopy], session: Session) -> None:
        """One traced module."""
        digest = hashlib.sha256(f"{arch} {text}".encode()).hexdigest()
        if digest in self.digests:
            return
        self.digests.add(digest)
        start, answer = time.process_time(), passes(text, LOWER_SECONDS, session)
        lowered = of_answer(answer, text)
        self.seconds.append((answer.get("seconds", 0.0), time.process_time() - start))
        if lowered.problem:
            self.blocked[f"module: {lowered.problem[:80]}"] += 1
        else:
            places = tag_places(text, [one.where for one in copies])
            self.costs += line_costs(lowered, arch, lambda tag: [places[tag]] if tag in places else [])
        seen: Counter[str] = Counter()
        for copy in copies:
            name = copy.operation.split('"')[1]
            self._copy(copy, lowered, f"{name}#{seen[name]}")
            seen[name] += 1

    def _copy(self, copy: TracedCopy, lowered: Lowered, tag: str) -> None:
        kind = state(lowered, tag)
        self.atoms[family(copy)][kind] += 1
        picture = lowered.op(tag)
        if picture is None or copy.copy is None:
            self.model["not compared"] += 1
            return
        if kind in ("data", "blocked"):
            self.blocked[f"{kind}: {picture.reasons[-1]}"] += 1
        answer = disagreement(copy.copy, picture, copy.warps)
        if isinstance(answer, Silent):
            self.model["silent"] += 1
            self.silent[answer.reason[:80]] += 1
        elif answer:
            self.model["disagree"] += 1
            at = f"{copy.where.file.split('/')[-1]}:{copy.where.line}"
            self.disagreements.append(f"{at} {tag}: {answer}")
        else:
            self.model[f"agree, {copy.address_source}"] += 1

    def to_dict(self, root: Path) -> dict[str, Any]:
        """As the evidence has it."""
        seconds = self.seconds
        return {
            "scripts": self.scripts,
            "not_traced": self.not_traced,
            "modules": len(self.digests),
            "copies": sum(sum(kinds.values()) for kinds in self.atoms.values()),
            "by_atom": {atom: dict(kinds) for atom, kinds in sorted(self.atoms.items())},
            "blocked_by": dict(self.blocked.most_common()),
            "model": dict(self.model),
            "model_silent": dict(self.silent.most_common(8)),
            "disagreements": self.disagreements[:20],
            "mean_seconds": [round(sum(s[i] for s in seconds) / max(1, len(seconds)), 3) for i in (0, 1)],
            "most_seconds": round(max((sum(s) for s in seconds), default=0.0), 2),
            "conflicts": conflicts(self.costs, root),
        }


def conflicts(costs: list[LineCost], root: Path) -> list[dict[str, Any]]:
    """The lines that conflict in shared memory, most ways first."""
    found = [one for one in merged(costs) if one.side.space in ("smem", "dsmem") and one.side.ways > 1]
    found.sort(key=lambda one: (-one.side.ways, -one.extra_wavefronts, one.where.file, one.where.line))
    return [
        {
            "place": place(one.where.file, one.where.line, root),
            "instruction": f"{one.side.op} {one.side.width_bits} b",
            "ways": one.side.ways,
            "wavefronts": one.side.wavefronts,
            "ideal_wavefronts": one.side.ideal_wavefronts,
            "rests_on": one.kind,
            "reached": one.reached,
            "copies": one.count,
        }
        for one in found
    ]


def state(lowered: Lowered, tag: str) -> str:
    """What became of a copy: what its addresses rest on, or why there is none."""
    if tag in lowered.refused:
        return "refused"
    if lowered.problem:
        return "module not lowered"
    picture = lowered.op(tag)
    if picture is None:
        unmet = any(tag in kernel.unmet for kernel in lowered.kernels)
        return "not met" if unmet else "removed by the compiler"
    if all(access.space == "rmem" and access.second is None for access in picture.accesses):
        return "registers"
    return picture.kind


def family(copy: TracedCopy) -> str:
    """The atom's family."""
    if copy.copy is None or copy.copy.atom is None:
        return "unknown"
    name = type(copy.copy.atom).__name__
    return name if name != "OtherAtom" else str(copy.copy.atom).split("<")[0].split(".")[-1]


def title(job: Job) -> str:
    """The group's name on the page."""
    first, _, rest = job.group.partition("/")
    return f"{TITLES[first]} {rest}" if first in TITLES else job.group


def count(
    job: Job, group: Group, timeout_s: float, session: Session, lock: Lock
) -> tuple[JudgedTrace, float]:
    """Trace one script, and count its modules as they come."""

    def observe(text: str, arch: str, copies: Sequence[TracedCopy]) -> None:
        with lock:
            group.take(text, arch, copies, session)

    judged, seconds = run(job, timeout_s, observe)
    trace = judged.trace
    with lock:
        group.scripts += 1
        if not trace.kernels:
            said = [one_line(f"{f.kind}: {f.message}") for f in trace.failures] or ["it builds no kernel"]
            group.not_traced[job.name] = said[0]
    return judged, seconds


def write(target: Path, groups: dict[str, tuple[Group, Path]], left: Sequence[Job]) -> None:
    """The groups that are done, beside those of earlier runs."""
    evidence = json.loads(target.read_text()) if target.exists() else {"groups": {}}
    given = shlex.join(word.partition("=")[0] + "=DIR" if "=" in word else word for word in sys.argv[1:])
    given = re.sub(r"--(output|trace) \S*/", r"--\1 docs/evidence/", given)
    given = re.sub(r" --until \S+", "", given)
    now = datetime.now(timezone.utc)
    unfinished = {title(job) for job in left}
    for name, (group, root) in groups.items():
        if group.atoms and name not in unfinished:
            evidence["groups"][name] = {"date": now.strftime("%Y-%m-%d"), **group.to_dict(root)}
    head = {
        "command": f"python -m benchmarks.lowered {given}",
        "date": now.strftime("%Y-%m-%d"),
        "dsl": version("nvidia-cutlass-dsl"),
        "scripts_not_begun": [job.name for job in left],
    }
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(json.dumps({**evidence, **head}, indent=1) + "\n")


def next_time(clock: str) -> datetime:
    """When it is HH:MM next (UTC)."""
    hour, minute = map(int, clock.split(":"))
    now = datetime.now(timezone.utc)
    found = now.replace(hour=hour, minute=minute, second=0)
    return found if found > now else found + timedelta(days=1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("repositories", nargs="+", metavar="NAME=DIR")
    parser.add_argument("--output", type=Path)
    parser.add_argument("--trace", type=Path)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", default="")
    parser.add_argument("--timeout", type=float, default=120)
    parser.add_argument("--until", metavar="HH:MM")
    given = parser.parse_args()
    until = given.until and next_time(given.until)
    todo: list[Job] = []
    repositories: dict[str, list[Job]] = {}
    wanted = given.only.split(",")
    for text in given.repositories:
        name, _, folder = text.partition("=")
        root = Path(folder or ".").resolve()
        if name in ("quack", "flash-attention"):
            os.environ["PYTHONPATH"] = os.pathsep.join([str(root), os.environ.get("PYTHONPATH", "")])
        found = list(jobs(name, root))
        repositories[name] = [
            job for job in found if any(part in f"{job.group} {job.name}" for part in wanted)
        ]
        todo += repositories[name]
    groups = {title(job): (Group(), job.root) for job in todo}
    left = list(todo)
    rows: dict[str, tuple[JudgedTrace, float]] = {}
    lock = Lock()

    def one(job: Job, session: Session) -> Job | None:
        if until and datetime.now(timezone.utc) >= until:
            return None
        rows[job.name] = count(job, groups[title(job)][0], given.timeout, session, lock)
        return job

    with ExitStack() as stack:
        session = stack.enter_context(Session())
        pool = stack.enter_context(ThreadPoolExecutor(given.jobs))
        for future in as_completed([pool.submit(one, job, session) for job in todo]):
            job = future.result()
            if job is None:
                continue
            left.remove(job)
            print(job.group, job.name, len(left), "left", flush=True)
            for name, mine in repositories.items():
                if given.trace and job in mine and not any(one in left for one in mine):
                    keep(given.trace, [name], [(one, *rows[one.name]) for one in mine], True, None)
            if given.output:
                with lock:
                    write(given.output, groups, left)
    for name, (group, root) in groups.items():
        print(name, json.dumps(group.to_dict(root), indent=1))


if __name__ == "__main__":
    main()
