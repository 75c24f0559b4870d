"""Judge the bank and sector models by an NVIDIA GPU's own counters, and write what was measured.

    python -m benchmarks.banks.evidence OUT_DIRECTORY [SEED]
    python -m benchmarks.banks.evidence --predict DIRECTORY    # today's predictions, the same measurements

The first needs nvcc, ncu and a GPU. It writes `banks.json` (every access: predicted and measured) and
`cp_async.json` (counters and cycles of cp.async). `benchmarks.banks.page` turns them into docs/banks.md.
"""

from __future__ import annotations

import datetime
import json
import platform
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.banks import cases, counters
from benchmarks.banks.counters import Probe
from layoutcheck.machine.banks import shared_wavefronts
from layoutcheck.machine.cp_async import bypass, cached
from layoutcheck.machine.sectors import global_sectors

LDGSTS_WAVEFRONTS = "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ldgsts.sum"
LDGSTS_CONFLICTS = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ldgsts.sum"
LDGSTS_SECTORS = "smsp__sass_l1tex_t_sectors_pipe_lsu_mem_global_op_ldgsts.sum"
L2_SECTORS = "lts__t_sectors_srcunit_tex_op_read.sum"
LDGSTS_METRICS = (LDGSTS_WAVEFRONTS, LDGSTS_CONFLICTS, LDGSTS_SECTORS, L2_SECTORS)


def predict(probe: Probe) -> list[int]:
    """[wavefronts, conflicts] of a shared access, [sectors, requests] of a global one; not for cp.async."""
    if "global" in probe.op:
        cost = global_sectors(probe.globl, probe.width_bits)
        return [cost.sectors, cost.requests]
    op, lanes = probe.op.split(".")[0], list(probe.shared)
    if "matrix" in op:
        rows = 8 * int(probe.op.split(".x")[1][0])
        op, lanes = "matrix", [*lanes[:rows], *[None] * (32 - rows)]
    found = shared_wavefronts(lanes, probe.width_bits, op=op)
    return [found.wavefronts, found.conflicts]


def measured(probe: Probe, row: dict[str, float]) -> list[int]:
    """The counters that `predict` predicts."""
    load = probe.op.startswith("ld")
    if "global" in probe.op:
        pair = (
            (counters.SECTORS_LD, counters.REQUESTS_LD)
            if load
            else (counters.SECTORS_ST, counters.REQUESTS_ST)
        )
    else:
        pair = (
            (counters.SHARED_LD, counters.CONFLICTS_LD)
            if load
            else (counters.SHARED_ST, counters.CONFLICTS_ST)
        )
    return [int(row[name]) for name in pair]


def host() -> dict[str, str]:
    """What the numbers were measured on."""
    query = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
    name, driver = _output(query).strip().split(", ")
    version = [line for line in _output(["ncu", "--version"]).splitlines() if line.startswith("Version")]
    release = [line for line in _output(["nvcc", "--version"]).splitlines() if "release" in line]
    return {
        "date": datetime.datetime.now(datetime.timezone.utc).date().isoformat(),
        "device": name,
        "driver": driver,
        "ncu": version[0].removeprefix("Version ").split(" ")[0],
        "nvcc": release[0].split("release ")[1].split(",")[0],
        "python": platform.python_version(),
    }


def plain_cases(seed: int) -> list[tuple[str, str, Probe]]:
    """(family, pattern, probe) of everything but cp.async."""
    return [
        (family, name, probe)
        for family, probes in (
            ("shared", cases.shared_probes(seed)[::2]),
            ("repeats", cases.join_probes(seed)),
            ("matrix", cases.matrix_probes(seed)[::3]),
            ("tile", [case for case in cases.tile_probes() if "cp.async" not in case[1].op][::2]),
            ("global", cases.global_probes(seed)[::4]),
        )
        for name, probe in probes
    ]


def copy_cases(seed: int) -> list[tuple[str, Probe]]:
    """(pattern, probe) of cp.async."""
    tiles = [case for case in cases.tile_probes() if "cp.async" in case[1].op]
    return cases.cp_async_probes(seed)[::3] + tiles[::2] + cases.cp_async_bypass_probes()[::4]


def main(out: Path, seed: int) -> None:
    """Measure everything in two runs of ncu and one of the plain binary."""
    plain, copies = plain_cases(seed), copy_cases(seed)
    timed = cases.cp_async_bypass_probes() + cases.timing_probes()
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        rows = counters.measure([probe for _, _, probe in plain], work)
        print(f"{len(rows)} accesses measured", flush=True)
        copy_rows = counters.measure([probe for _, probe in copies], work, LDGSTS_METRICS)
        print(f"{len(copy_rows)} cp.async measured", flush=True)
        cycles = counters.cycles([probe for _, probe in timed], work)
    command = f"python -m benchmarks.banks.evidence OUT {seed}"
    tool = counters.command(Path("probe"), Path("cases.bin"))
    write(
        out / "banks.json",
        {
            "command": command,
            "ncu": " ".join(tool),
            "host": host(),
            "seed": seed,
            "accesses": [
                {
                    "family": family,
                    "op": probe.op,
                    "width_bits": probe.width_bits,
                    "pattern": name,
                    "predicted": predict(probe),
                    "measured": measured(probe, row),
                }
                for (family, name, probe), row in zip(plain, rows, strict=True)
            ],
        },
    )
    write(
        out / "cp_async.json",
        {
            "command": command,
            "host": host(),
            "seed": seed,
            "metrics": list(LDGSTS_METRICS),
            "accesses": [
                {
                    "op": probe.op,
                    "width_bits": probe.width_bits,
                    "pattern": name,
                    "predicted": predict_copy(probe),
                    "measured": [int(row[metric]) for metric in LDGSTS_METRICS],
                }
                for (name, probe), row in zip(copies, copy_rows, strict=True)
            ],
            "cycles": [
                {
                    "op": probe.op,
                    "width_bits": probe.width_bits,
                    "pattern": name,
                    "predicted": predict_copy(probe) if "cp.async" in probe.op else predict(probe),
                    "one_warp": one,
                    "eight_warps": eight,
                }
                for (name, probe), (one, eight) in zip(timed, cycles, strict=True)
            ],
        },
    )


def predict_again(folder: Path) -> None:
    """Replace the predictions in both files by today's; what was measured stays."""
    banks = json.loads((folder / "banks.json").read_text())
    for access, (_, name, probe) in zip(banks["accesses"], plain_cases(banks["seed"]), strict=True):
        assert (access["pattern"], access["op"]) == (name, probe.op)
        access["predicted"] = predict(probe)
    write(folder / "banks.json", banks)
    copies = json.loads((folder / "cp_async.json").read_text())
    for access, (name, probe) in zip(copies["accesses"], copy_cases(copies["seed"]), strict=True):
        assert (access["pattern"], access["op"]) == (name, probe.op)
        access["predicted"] = predict_copy(probe)
    timed = cases.cp_async_bypass_probes() + cases.timing_probes()
    for access, (name, probe) in zip(copies["cycles"], timed, strict=True):
        assert (access["pattern"], access["op"]) == (name, probe.op)
        access["predicted"] = predict_copy(probe) if "cp.async" in probe.op else predict(probe)
    write(folder / "cp_async.json", copies)


def predict_copy(probe: Probe) -> list[int]:
    """[wavefronts, sectors] of a cp.async."""
    cost = (
        bypass(probe.shared, probe.globl)
        if probe.op == "cp.async.cg"
        else cached(probe.shared, probe.globl, probe.width_bits)
    )
    return [cost.wavefronts, cost.sectors]


def write(path: Path, document: dict[str, Any]) -> None:
    """JSON with one line an entry of a list, so that a diff of two runs is readable."""
    parts = []
    for key, value in document.items():
        if isinstance(value, list):
            rows = ",\n  ".join(json.dumps(row) for row in value)
            parts.append(f"{json.dumps(key)}: [\n  {rows}\n]")
        else:
            parts.append(f"{json.dumps(key)}: {json.dumps(value)}")
    path.write_text("{\n" + ",\n".join(parts) + "\n}\n")


def _output(command: list[str]) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


if __name__ == "__main__":
    if sys.argv[1] == "--predict":
        predict_again(Path(sys.argv[2]))
    else:
        main(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 2)
