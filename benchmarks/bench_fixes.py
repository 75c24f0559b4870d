"""How quick verdicts and fixes are, and how many broken programs the first fix repairs.

    python -m benchmarks.bench_fixes --copies 3000 --programs 134 --out docs/evidence/fixes.json

Of random copies near the boundary, a third of them whole tiles: processor seconds of `check_copy`, alone and
with the fixes. Of the programs of `tests/patching/broken.py`, every so many: each is traced, repaired as
`layoutcheck trace --no-launch --fix` does, and counted as repaired where nothing is left rejected or wrong.
`bits` says how the repaired program's bytes differ from those of the working one, by the PTX of both. With
`--confirm` the repaired copies run, too. `--patch FILE` writes the repaired programs, and `--launch FILE`
launches them on a GPU: the second tensor must be the first, bit by bit. `--each N` applies every fix that is
shown for N of the programs, not only the first; what it leaves broken elsewhere in the program is then
repaired by any fix, so that the whole program can be compared. `--skip N` leaves out the first N programs.
"""

from __future__ import annotations

import argparse
import json
import runpy
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path
from random import Random
from typing import Any

from benchmarks.evidence import head, write
from benchmarks.measure import quantiles
from layoutcheck.api import check_copy
from layoutcheck.patching.repaired import Repaired
from layoutcheck.patching.state import moved
from layoutcheck.tracing import Script, repaired, traced
from tests.conformance.generate import random_copy
from tests.fixes.tiles import random_tile
from tests.patching.broken import PROGRAMS, RIGHT
from tests.patching.simulated import wrong

SEED = 139


def speed(count: int) -> dict[str, Any]:
    """Quantiles of processor seconds a copy."""
    rng = Random(SEED)
    copies = [random_tile(rng) if n % 3 == 0 else random_copy(rng) for n in range(count)]
    check_copy(copies[0])
    verdicts, fixes, strategies = [], [], Counter[str]()
    for copy in copies:
        start = time.process_time()
        report = check_copy(copy)
        verdicts.append(time.process_time() - start)
        strategies.update(fix.strategy for fix in report.fixes)
        fixes.append(time.process_time() - start)
    return {
        "copies": count,
        "fixes": sum(strategies.values()),
        "strategies": dict(strategies.most_common()),
        "check_seconds": quantiles(verdicts),
        "check_and_fixes_seconds": quantiles(fixes),
    }


def programs(
    count: int, skip: int, jobs: int, confirm: bool, save: Callable[[dict[str, Any]], None]
) -> dict[str, Any]:
    """Every so many programs of all families, and what the repair of each came to; saved after each."""
    rows: list[dict[str, Any]] = []

    def told() -> dict[str, Any]:
        found = {
            "programs": len(rows),
            "repaired": sum(row["repaired"] for row in rows),
            "right_bits": sum(row["repaired"] and not row["bits"] for row in rows),
            "rows": rows,
        }
        if confirm:
            found["confirmed_by_gpu"] = sum("gpu" in row["confirmed_by"] for row in rows)
        return found

    def one(row: dict[str, Any]) -> None:
        rows.append(row)
        save(told())

    _each(_confirmed if confirm else _repaired, _chosen(count, skip), jobs, one)
    return told()


def every_fix(count: int, skip: int, jobs: int, save: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    """Of so many programs every fix that `trace` shows, by its name; saved after each, as it takes long."""
    names = _chosen(count, skip)
    Random(SEED).shuffle(names)
    done: list[list[dict[str, Any]]] = []

    def told() -> dict[str, Any]:
        rows = [row for rows in done for row in rows]
        shown = [row for row in rows if not row["sketch"]]
        return {
            "programs": len(done),
            "fixes": len(rows),
            "labelled_sketch": len(rows) - len(shown),
            "shown_as_fix": len(shown),
            "proven_in_place": sum(row["proven"] for row in shown),
            "run_whole": sum(row["bits"] != "not run" for row in shown),
            "right_bits": sum(not row["bits"] for row in shown),
            "rows": rows,
        }

    def one(rows: list[dict[str, Any]]) -> None:
        done.append(rows)
        save(told())

    _each(_by_each, names, jobs, one)
    return told()


def _chosen(count: int, skip: int = 0) -> list[str]:
    names = list(PROGRAMS)[skip:]
    return names[:: max(1, len(names) // count)][:count]


def _each(
    judge: Callable[[str], Any], names: list[str], jobs: int, save: Callable[[Any], None] = lambda row: None
) -> list[Any]:
    rows = []
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        for task in as_completed([pool.submit(judge, name) for name in names]):
            rows.append(task.result())
            save(rows[-1])
            sys.stderr.write(f"{len(rows)} of {len(names)}\n")
    return rows


@contextmanager
def _script(name: str) -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder).resolve() / "kernel.py"
        script.write_text(PROGRAMS[name], encoding="utf-8")
        yield script


def _repaired(name: str, confirm: bool = False) -> dict[str, Any]:
    with _script(name) as script:
        found = repaired(Script(str(script), launch=False), confirm=confirm)
        edits = [line for line in found.diff().splitlines() if line[:1] == "+" and line[:3] != "+++"]
        row = {
            "program": name,
            "repaired": bool(found.repairs) and not found.sketches,
            "bits": wrong(found.after[str(script)], RIGHT[name]) if edits else "not edited",
            "edits": [repair.title for repair in found.repairs],
            "lines": [line[1:].strip() for line in edits],
            "left": [sketch.reason for sketch in found.sketches],
        }
        if confirm:
            row["confirmed_by"] = sorted({judge for one in found.repairs for judge in one.confirmed_by})
            row["unrun"] = [one.unrun for one in found.repairs if one.unrun]
        return row


def _confirmed(name: str) -> dict[str, Any]:
    return _repaired(name, confirm=True)


def _patched(name: str) -> dict[str, Any]:
    """The text of a program after its repair."""
    with _script(name) as script:
        found = repaired(Script(str(script), launch=False))
        edits = [repair.title for repair in found.repairs]
        return {"program": name, "text": found.after[str(script)], "edits": edits}


def launched(patched: list[dict[str, Any]]) -> dict[str, Any]:
    """Each patched program, launched on this machine's GPU: how many elements of its second tensor differ."""
    rows = []
    for one in patched:
        try:
            differing = _differing(one["text"])
        except Exception as error:
            differing = f"{type(error).__name__}: {error}"[:200]
        rows.append({"program": one["program"], "edits": one["edits"], "differing_elements": differing})
        sys.stderr.write(f"{rows[-1]}\n")
    right = sum(row["differing_elements"] == 0 for row in rows)
    return {"programs": len(rows), "right_bits": right, "rows": rows}


def _differing(text: str) -> int:
    """Of a program that copies its first tensor into its second; every bit is random."""
    import torch
    from cutlass.cute.runtime import from_dlpack

    call = "cute.compile(host, tensor("
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "kernel.py"
        script.write_text(text.replace(call, f"made = tensor()\ncompiled = {call}"), encoding="utf-8")
        program = runpy.run_path(str(script))
    bits = program["made"].element_type.width
    whole = {8: torch.int8, 16: torch.int16, 32: torch.int32}[bits]
    kind = {8: torch.int8, 16: torch.bfloat16, 32: torch.float32}[bits]
    limit = 1 << (bits - 1)
    given = torch.randint(-limit, limit, tuple(program["made"].shape), device="cuda").to(whole)
    result = torch.zeros_like(given)
    program["compiled"](*(from_dlpack(one.view(kind), assumed_align=16) for one in (given, result)))
    torch.cuda.synchronize()
    return int((given != result).sum())


def _by_each(name: str) -> list[dict[str, Any]]:
    """What becomes of every bad copy of a program by each fix that is shown for it, by its name."""
    with _script(name) as script:
        seen = traced(Script(str(script), launch=False), order=False)
        bad = [(one, r) for one, r in seen.reports if r is not None and r.verdict in ("rejected", "wrong")]
        rows = []
        for strategy in dict.fromkeys(fix.strategy for _, report in bad for fix in report.fixes):
            found = repaired(Script(str(script), launch=False), by=strategy)
            left = {sketch.where.line: sketch.reason for sketch in found.sketches}
            bits = _bits(found, script, name) if found.repairs else "not run"
            for one, report in bad:
                line = one.first.where.line
                now = moved(found.before, found.after, str(script), line)[0]
                rows += [
                    {
                        "program": name,
                        "line": line,
                        "fix": strategy,
                        "sketch": fix.sketch,
                        "proven": bool(found.repairs) and not {line, now} & left.keys(),
                        "bits": bits,
                        "left": left.get(line, left.get(now, "")),
                    }
                    for fix in report.fixes
                    if fix.strategy == strategy
                ]
        return rows


def _bits(found: Repaired, script: Path, name: str) -> str:
    """How the bytes of a program with one fix differ, where all its copies can be repaired by others."""
    text = found.after[str(script)]
    if found.sketches:
        with tempfile.TemporaryDirectory() as folder:
            other = Path(folder).resolve() / script.name
            other.write_text(text, encoding="utf-8")
            more = repaired(Script(str(other), launch=False))
            if more.sketches:
                return "not run"
            text = more.after[str(other)]
    return wrong(text, RIGHT[name])


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--copies", type=int, default=3000)
    parser.add_argument("--programs", type=int, default=len(PROGRAMS))
    parser.add_argument("--each", type=int, default=0, help="programs of which every fix is tried")
    parser.add_argument("--skip", type=int, default=0, help="programs left out at the begin")
    parser.add_argument("--confirm", action="store_true", help="run the repaired copies, too")
    parser.add_argument("--patch", type=Path, help="write repaired programs here; no more")
    parser.add_argument("--launch", type=Path, help="launch the programs of --patch; no more")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    found = head("benchmarks.bench_fixes")
    if given.patch is not None:
        names = [name for name in _chosen(given.programs) if name.startswith("staged")]
        write(_each(_patched, names, given.jobs), given.patch)
        return
    if given.launch is not None:
        found["launched"] = launched(json.loads(given.launch.read_text(encoding="utf-8")))
        write(found, given.out)
        return
    if given.copies:
        found["speed"] = speed(given.copies)

    def saved(part: str) -> Callable[[dict[str, Any]], None]:
        return lambda so_far: write({**found, part: so_far}, given.out) if given.out else None

    if given.programs:
        found["repair"] = programs(given.programs, given.skip, given.jobs, given.confirm, saved("repair"))
    if given.each:
        found["every_fix"] = every_fix(given.each, given.skip, given.jobs, saved("every_fix"))
    write(found, given.out)


if __name__ == "__main__":
    main()
