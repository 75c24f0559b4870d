"""Times and hardware counters of every transpose of kernels/ that runs: what the cost model is held against.

    python -m benchmarks.transpose_counters --out transpose_counters.json       needs ncu, a GPU, torch, the
    DSL

Each variant is timed as in bench_transpose.py, then runs once to warm up and once under Nsight Compute, in
the order of `kernels.transpose.VARIANTS`.
"""

from __future__ import annotations

import argparse
import csv
import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

SIZE = 8192
ROUNDS = 30

COUNTERS = {
    "instructions": "smsp__inst_executed.sum",
    "memory_instructions": "smsp__inst_executed_pipe_lsu.sum",
    "shared_load_wavefronts": "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
    "shared_store_wavefronts": "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum",
    "cp_async_wavefronts": "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ldgsts.sum",
    "all_wavefronts": "l1tex__data_pipe_lsu_wavefronts.sum",
    "global_load_sectors": "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
    "global_store_sectors": "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",
    "l2_read_sectors": "lts__t_sectors_srcunit_tex_op_read.sum",
    "l2_write_sectors": "lts__t_sectors_srcunit_tex_op_write.sum",
    "memory_read_bytes": "dram__bytes_read.sum",
    "memory_write_bytes": "dram__bytes_write.sum",
    "microseconds": "gpu__time_duration.sum",
    "cycles": "sm__cycles_elapsed.max",
    "issue_active_percent": "smsp__issue_active.avg.pct_of_peak_sustained_active",
    "data_pipe_percent": "l1tex__data_pipe_lsu_wavefronts.avg.pct_of_peak_sustained_elapsed",
    "lsu_in_percent": "l1tex__lsuin_requests.avg.pct_of_peak_sustained_elapsed",
    "memory_percent": "dram__throughput.avg.pct_of_peak_sustained_elapsed",
    "l2_percent": "lts__t_sectors.avg.pct_of_peak_sustained_elapsed",
    "warps_active": "sm__warps_active.avg.per_cycle_active",
}

STALLS = (
    "long_scoreboard", "short_scoreboard", "barrier", "mio_throttle", "lg_throttle", "branch_resolve",
    "no_instruction", "wait", "membar", "not_selected", "drain",
)  # fmt: skip


def metrics() -> dict[str, str]:
    """Names on the page -> names in ncu."""
    stalls = {
        f"stall_{name}": f"smsp__average_warps_issue_stalled_{name}_per_issue_active.ratio" for name in STALLS
    }
    return COUNTERS | stalls


def child() -> None:
    """Launch every variant: once outside the profiler's window, once inside."""
    import torch

    from benchmarks.transpose_checks import Compiled, random_bits
    from kernels.transpose import VARIANTS

    for name, variant in VARIANTS.items():
        if variant.verdict not in ("legal", "slow") or variant.most:
            continue
        dtype = torch.float32 if name == "fp32_elementwise" else torch.bfloat16
        x, y = random_bits(SIZE, SIZE, dtype), torch.empty((SIZE, SIZE), dtype=dtype, device="cuda")
        launch = Compiled(variant.builder()).launch(x, y)
        launch()
        torch.cuda.synchronize()
        torch.cuda.profiler.start()
        launch()
        torch.cuda.synchronize()
        torch.cuda.profiler.stop()
        print(f"VARIANT {name}", flush=True)


def profile() -> tuple[list[str], list[dict[str, Any]]]:
    """The ncu command, and one row of counters a variant."""
    command = [
        "ncu", "--clock-control", "none", "--cache-control", "none", "--profile-from-start", "off", "--csv",
        "--page", "raw", "--metrics", ",".join(metrics().values()),
        sys.executable, "-m", "benchmarks.transpose_counters", "--child",
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    lines = done.stdout.splitlines()
    names = [line.removeprefix("VARIANT ") for line in lines if line.startswith("VARIANT ")]
    table = list(csv.DictReader(io.StringIO("\n".join(line for line in lines if line.startswith('"')))))
    if done.returncode or not names or len(table) != len(names) + 1:  # the first row has the units
        raise SystemExit(
            f"{len(table)} rows for {len(names)} variants\n{done.stdout[-3000:]}{done.stderr[-3000:]}"
        )
    units, *rows = table
    found = []
    for name, row in zip(names, rows, strict=True):
        one: dict[str, Any] = {"name": name, "kernel": row["Kernel Name"][:80]}
        for key, metric in metrics().items():
            if row.get(metric):
                one[key] = _scaled(float(row[metric].replace(",", "")), units[metric])
        found.append(one)
    return command, found


def _scaled(value: float, unit: str) -> float:
    """The value in bytes or microseconds, whatever multiple ncu chose for its table."""
    scale = {"Kbyte": 1e3, "Mbyte": 1e6, "Gbyte": 1e9, "ns": 1e-3, "nsecond": 1e-3, "ms": 1e3, "msecond": 1e3}
    return value * scale.get(unit, 1.0)


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--out", type=Path)
    options.add_argument("--child", action="store_true")
    given = options.parse_args()
    if given.child:
        child()
        return
    from benchmarks.bench_transpose import environment, time_variants

    times = time_variants(SIZE, SIZE, ROUNDS)
    command, rows = profile()
    about = environment() | {"command": f"python -m benchmarks.transpose_counters --out {given.out.name}"}
    found = {
        "environment": about,
        "ncu": " ".join(command[:-3]),
        "size": SIZE,
        "times": times,
        "variants": rows,
    }
    given.out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    for row in (*times, *rows):
        print(row)


if __name__ == "__main__":
    main()
