"""How much of real kernels the lowered addresses recover, and whether the model agrees with them.

    python -m benchmarks.lowered OUT.json GROUP:ARCH:FOLDER ...

FOLDER holds traced modules, `*.trace.mlir`, in MLIR's generic form with locations (what `trace_script` gives
to its `observe`). Every `cute.copy` of every module is counted by atom: what its addresses rest on, or why it
has none; and `disagreement` is asked wherever both speak.
"""

from __future__ import annotations

import datetime
import json
import sys
from collections import Counter, defaultdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

from layoutcheck.dsl.lowered import Lowered, lower
from layoutcheck.dsl.lowered.compare import Silent, disagreement
from layoutcheck.dsl.session import Session
from layoutcheck.sources.printed import read_module
from layoutcheck.sources.traced import TracedCopy


def main(target: Path, groups: list[str]) -> None:
    """Count, print, write."""
    found: dict[str, Any] = {}
    with Session() as session:
        for group in groups:
            name, arch, folder = group.split(":", 2)
            found[name] = count(sorted(Path(folder).glob("*.trace.mlir")), arch, session)
            print(name, json.dumps(found[name], indent=1), flush=True)
            write(target, found)


def write(target: Path, found: dict[str, Any]) -> None:
    """The groups done so far."""
    head = {
        "command": "python -m benchmarks.lowered lowered.json GROUP:ARCH:FOLDER ...",
        "date": datetime.datetime.now(datetime.timezone.utc).date().isoformat(),
        "dsl": version("nvidia-cutlass-dsl"),
    }
    target.write_text(json.dumps({**head, "groups": found}, indent=1) + "\n")


def count(files: list[Path], arch: str, session: Session) -> dict[str, Any]:
    """One group's counts."""
    atoms: dict[str, Counter[str]] = defaultdict(Counter)
    model: Counter[str] = Counter()
    silent: Counter[str] = Counter()
    blocked: Counter[str] = Counter()
    disagreements: list[str] = []
    seconds: list[tuple[float, float]] = []
    for file in files:
        text = file.read_text()
        lowered = lower([text], 120, session)[0]
        seconds.append(lowered.seconds)
        if lowered.problem:
            blocked[f"module: {lowered.problem[:80]}"] += 1
        seen: Counter[str] = Counter()
        for copy in read_module(text, file.stem, arch):
            name = copy.operation.split('"')[1]
            tag = f"{name}#{seen[name]}"
            seen[name] += 1
            kind = state(lowered, tag)
            atoms[family(copy)][kind] += 1
            picture = lowered.picture(tag)
            if picture is None or copy.copy is None:
                model["not compared"] += 1
                continue
            if kind in ("data", "blocked"):
                blocked[f"{kind}: {picture.reasons[-1]}"] += 1
            answer = disagreement(copy.copy, picture)
            if isinstance(answer, Silent):
                model["silent"] += 1
                silent[answer.reason[:80]] += 1
            elif answer:
                model["disagree"] += 1
                disagreements.append(f"{copy.where.file.split('/')[-1]}:{copy.where.line} {tag}: {answer}")
            else:
                model[f"agree, {copy.picture}"] += 1
    return {
        "modules": len(files),
        "copies": sum(sum(kinds.values()) for kinds in atoms.values()),
        "by_atom": {atom: dict(kinds) for atom, kinds in sorted(atoms.items())},
        "blocked_by": dict(blocked.most_common()),
        "model": dict(model),
        "model_silent": dict(silent.most_common(8)),
        "disagreements": disagreements[:20],
        "mean_seconds": [round(sum(s[i] for s in seconds) / max(1, len(seconds)), 3) for i in (0, 1)],
        "most_seconds": round(max((sum(s) for s in seconds), default=0.0), 2),
    }


def state(lowered: Lowered, tag: str) -> str:
    """What became of a copy: what its addresses rest on, or why there is no picture."""
    if tag in lowered.refused:
        return "refused"
    if lowered.problem:
        return "module not lowered"
    picture = lowered.picture(tag)
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


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
