"""Bank conflicts in kernels that are shipped: found by the lowered addresses, confirmed by a GPU's counters.

    python -m benchmarks.banks.shipped find ARCH SCRIPT [ARGS...] >> found.jsonl    # no GPU; needs the DSL
    python -m benchmarks.banks.shipped confirm found.jsonl shipped_banks.json       # nvcc, ncu and a GPU

`find` traces a script without launching anything and keeps, for every line that reaches shared memory, up
to `MOST` warp instructions of one execution with their 32 addresses. `confirm` executes each of them alone,
at the same addresses (moved by a multiple of 1024 bytes), and writes predicted and measured wavefronts.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.banks import counters
from benchmarks.banks.counters import KINDS, SHARED_BYTES, Probe
from benchmarks.banks.evidence import host, measured, predict
from layoutcheck.dsl.lowered.costs import LineCost

MOST = 16  # warp instructions of a line that are executed, the worst first
CONTROLS = 3  # lines without a conflict that are executed for every script, too


def find(arch: str, script: str, args: list[str]) -> list[dict[str, Any]]:
    """The lines of a script's kernels that reach shared memory by loads, stores and matrix instructions."""
    from layoutcheck import tracing

    _, costs, problems = tracing.banks(tracing.Script(script, args, launch=False, arch=arch))
    for problem in problems:
        print(problem, file=sys.stderr)
    found, controls = [], 0
    for one in sorted(costs, key=lambda c: -c.side.ways):
        kind = (one.side.op, one.side.width_bits)
        if one.side.space != "smem" or kind not in KINDS or kind[0].startswith("cp") or not one.where.file:
            continue
        controls += one.side.ways <= 1
        if one.side.ways > 1 or controls <= CONTROLS:
            found.append(record(one, arch, script))
    return found


def record(one: LineCost, arch: str, script: str) -> dict[str, Any]:
    """One line, with the addresses of its worst warp instructions."""
    side = one.side
    rule = Probe(side.op, side.width_bits)
    probes = [Probe(rule.op, rule.width_bits, lanes(row)) for row in side.addresses if (row >= 0).any()]
    probes.sort(key=lambda probe: -predict(probe)[0])
    parts = Path(one.where.file).parts
    start = parts.index("examples") if "examples" in parts else max(0, len(parts) - 3)
    return {
        "script": Path(script).name,
        "file": "/".join(parts[start:]),
        "line": one.where.line,
        "arch": arch,
        "instruction": side.op,
        "width_bits": side.width_bits,
        "instructions": side.instructions,
        "wavefronts": side.wavefronts,
        "ideal_wavefronts": side.ideal_wavefronts,
        "ways": side.ways,
        "rests_on": one.kind,
        "copies": one.count,
        "addresses": [probe.shared for probe in probes[:MOST]],
    }


def lanes(row: Any) -> tuple[int | None, ...]:
    """The addresses of one warp instruction, moved down as far as its banks stay the same."""
    on = row[row >= 0]
    base = int(on.min()) // 1024 * 1024
    if int(on.max()) - base + 16 > SHARED_BYTES:  # far apart: the same lines of 1024 bytes, nearer
        near = {block: i for i, block in enumerate(np.unique(on // 1024).tolist())}
        return tuple(None if at < 0 else near[int(at) // 1024] * 1024 + int(at) % 1024 for at in row)
    return tuple(None if at < 0 else int(at) - base for at in row)


def confirm(source: Path, target: Path) -> None:
    """Execute every instruction kept, and write what was counted beside what was predicted."""
    rows = [json.loads(line) for line in source.read_text().splitlines()]
    probes = [
        Probe(row["instruction"], row["width_bits"], tuple(at)) for row in rows for at in row["addresses"]
    ]
    with tempfile.TemporaryDirectory() as folder:
        counted = iter(counters.measure(probes, Path(folder)))
        one = iter(probes)
        for row in rows:
            pairs = [(predict(p := next(one)), measured(p, next(counted))) for _ in row.pop("addresses")]
            row["executed"] = len(pairs)
            row["predicted"] = [sum(p[i] for p, _ in pairs) for i in (0, 1)]
            row["measured"] = [sum(m[i] for _, m in pairs) for i in (0, 1)]
            row["equal"] = all(p == m for p, m in pairs)
    lines = ",\n".join(json.dumps(row) for row in rows)
    command = f"python -m benchmarks.banks.shipped confirm {source.name} {target.name}"
    target.write_text(
        f'{{\n"command": "{command}",\n"host": {json.dumps(host())},\n'
        f'"counts": ["wavefronts", "bank conflicts"],\n"lines": [\n{lines}\n]\n}}\n'
    )


if __name__ == "__main__":
    if sys.argv[1] == "find":
        for row in find(sys.argv[2], sys.argv[3], sys.argv[4:]):
            print(json.dumps(row))
    else:
        confirm(Path(sys.argv[2]), Path(sys.argv[3]))
