"""`trace --advise` on many scripts: `python -m benchmarks.advice_sweep LIST --output FILE [--lines FILE]`.

LIST has a line for each script, its words parted by tabs: a name, an architecture, the folder to run in, what
PYTHONPATH holds, and the script with its arguments. Each advice is counted again by another than its
proposer: the script is traced as it is and as the advice has it, and what all its lines cost is added up by
the addresses that the compiler's passes give (`trace --banks`), where they give any. `--lines` has
the scripts of earlier runs, which are not run again, and gets those of this run.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.evidence import head, write

Row = dict[str, Any]
EDITED = "advised_"
"""Before the name of a script as the advice has it, beside it: it imports what its folder has."""


def one(arch: str, path: str, *words: str) -> Row:
    """What the advice says of a script, and what the lines of both programs cost."""
    from layoutcheck import tracing
    from layoutcheck.errors import InputError

    script = tracing.Script(path, words, launch=False, arch=arch)
    judged = tracing.traced(script)
    advice = tracing.advised(judged, script)
    told = [_row(advised, path) for advised in advice.told]
    found: Row = {
        "kernels": len(judged.trace.kernels),
        "copies": len(judged.reports),
        "failures": [failure.message[:200] for failure in judged.trace.failures][:3],
        "looked": advice.looked,
        "unknown": advice.unknown,
        "advice": told,
    }
    if any("text" in row for row in told):
        found["cost"] = cost(tracing.banks(script)[1])
    edited = Path(path).with_name(EDITED + Path(path).name)
    for row in told:
        text = row.pop("text", None)
        if text is None:
            continue
        edited.write_text(text, encoding="utf-8")
        try:
            again = tracing.Script(str(edited), words, launch=False, arch=arch)
            row["cost"] = cost(tracing.banks(again)[1])
        except InputError as error:
            row["failed"] = error.message[:300]
        finally:
            edited.unlink()
    return found


def _row(advised: Any, path: str) -> Row:
    best, made = advised.best, advised.written
    row: Row = {
        "where": f"{Path(advised.one.first.where.file).name}:{advised.one.first.where.line}",
        "cycles": round(best.cycles),
        "least": round(best.least),
        "best": best.title,
        "keeps": best.keeps,
    }
    if made is None:
        return {**row, "why": advised.why}
    [(_, text)] = [(old, new) for old, new in made.files.after.items() if new != made.files.before[old]]
    return {
        **row, "written": made.best.title, "counted": round(made.cycles), "diff": made.files.diff(),
        "text": text,
    }  # fmt: skip


def cost(lines: list[Any]) -> Row:
    """Of all lines together."""
    return {
        name: sum(line.count * getattr(line.side, name) for line in lines)
        for name in ("instructions", "wavefronts", "sectors")
    }


def run(line: str, limit_s: float) -> Row:
    """A line of the list, in a process of its own."""
    name, arch, folder, path, words = line.split("\t")
    here = str(Path(__file__).parents[1])
    paths = filter(None, [here, path, os.environ.get("PYTHONPATH")])
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    command = [sys.executable, "-m", "benchmarks.advice_sweep", "--one", arch, *shlex.split(words)]
    began = time.monotonic()
    try:
        ran = subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, text=True, timeout=limit_s, check=False
        )
        told = [text for text in ran.stdout.splitlines() if text.startswith('{"kernels"')]
        found = json.loads(told[-1]) if told else {"ended": ran.stderr.strip().splitlines()[-1:]}
    except subprocess.TimeoutExpired:
        found = {"ended": [f"after {limit_s:.0f} s"]}
    return {"name": name, "arch": arch, "seconds": round(time.monotonic() - began, 1), **found}


def summary(rows: list[Row]) -> Row:
    """Counted."""
    told = [advice for row in rows for advice in row.get("advice", [])]
    written = [(row, one) for row in rows for one in row.get("advice", []) if "written" in one]
    counted = [
        (row["cost"], one["cost"]) for row, one in written if any(row["cost"].values()) and "cost" in one
    ]
    return {
        "scripts": len(rows),
        "built_kernels": sum(row.get("kernels", 0) > 0 for row in rows),
        "kernels": sum(row.get("kernels", 0) for row in rows),
        "copies": sum(row.get("copies", 0) for row in rows),
        "looked": sum(row.get("looked", 0) for row in rows),
        "unknown": dict(sum((Counter(row.get("unknown", {})) for row in rows), Counter[str]())),
        "advice": len(told),
        "written": len(written),
        "counted_again": len(counted),
        "less": sum(_less(before, after) for before, after in counted),
        "not_written": dict(Counter(one["why"] for one in told if "why" in one).most_common()),
    }


def _less(before: Row, after: Row) -> bool:
    """Whether the lines cost less by predicted time."""
    from layoutcheck.machine.cost import Counts, predicted_time

    return predicted_time(Counts(**after)).cycles < predicted_time(Counts(**before)).cycles


def main() -> None:
    if sys.argv[1:2] == ["--one"]:
        print(json.dumps(one(*sys.argv[2:])))
        return
    options = argparse.ArgumentParser()
    options.add_argument("list", type=Path)
    options.add_argument("--output", type=Path)
    options.add_argument("--lines", type=Path)
    options.add_argument("--processes", type=int, default=1)
    options.add_argument("--limit", type=float, default=240)
    given = options.parse_args()
    kept = (
        given.lines.read_text(encoding="utf-8").splitlines() if given.lines and given.lines.exists() else []
    )
    rows = {row["name"]: row for row in map(json.loads, kept)}
    asked = given.list.read_text(encoding="utf-8").splitlines()
    new = [line for line in asked if line.partition("\t")[0] not in rows]
    with ThreadPoolExecutor(given.processes) as pool:
        for row in pool.map(partial(run, limit_s=given.limit), new):
            rows[row["name"]] = row
            told = [("written" in one, one.get("why", "")[:60]) for one in row.get("advice", [])]
            print(row["name"], row["seconds"], row.get("ended", ""), told, flush=True)
            if given.lines:
                with given.lines.open("a", encoding="utf-8") as out:
                    out.write(json.dumps(row) + "\n")
    found = {**head("benchmarks.advice_sweep"), "total": summary(list(rows.values()))}
    write({**found, "scripts": list(rows.values())}, given.output)
    print(found["total"])


if __name__ == "__main__":
    main()
