"""Times and hardware counters of every transpose of kernels/ that runs: what the cost model is held against.

    python -m benchmarks.transpose_counters --out transpose_counters.json [--plans]     needs ncu, a GPU,
    torch, the DSL

Each variant is timed as in bench_transpose.py, then runs once to warm up and once under Nsight Compute, in
the order of `kernels.transpose.VARIANTS`. `--plans`: plans of `transpose` at the shapes of PLANNED instead.
"""

from __future__ import annotations

import argparse
import csv
import io
import json
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

SIZE = 8192
ROUNDS = 30

PLANNED = {
    "16384x16384": ("elementwise", "exchange 128x128 last, 768"),
    "32768x32768": ("exchange 128x128 last, 768",),
    "16383x16385": ("shifted 248x128", "shifted 120x64"),
    "255x131072": ("shifted 120x64", "few rows, 64 by 1"),
    "33x500000": ("elementwise", "few rows, 96 by 6"),
    "500000x33": ("few columns, 128",),
    "70000x300": ("few columns, 64",),
    "1000x77x129": ("whole, 1 320 by words",),
    "18x689x566": ("elementwise", "shifted 120x64"),
    "40x701x499:uint8": ("elementwise", "shifted 128x128, 4, 1 bytes"),
    "8191x8193:uint8": ("elementwise", "shifted 240x128, 1 bytes"),
    "70000x300:uint8": ("elementwise", "shifted 128x128, 4, 1 bytes", "few columns, 128"),
    "153x66943:uint8": ("elementwise", "few rows, 128 by 1"),
}
"""Plans by shape, and by the type of its elements if that is not bfloat16."""

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
        count(name, Compiled(variant.builder()).launch(x, y))


def count_plans() -> None:
    """As `child`, of the plans and shapes of PLANNED."""
    import torch

    from benchmarks.transpose_shapes import Shape, launch_of, pair
    from kernels.transpose.plans import candidates

    for shape, names in PLANNED.items():
        named, _, kind = shape.partition(":")
        x, y = pair(Shape.named(named), getattr(torch, kind or "bfloat16"))
        raw = [t.view(torch.uint8).view(-1) for t in (x, y)]
        bits = [t[: len(t) & -2].view(torch.int16) for t in raw]
        for name in names:
            if name == "elementwise":
                count(f"{name} {shape}", partial(torch.bitwise_not, bits[0], out=bits[1]))
            else:
                count(f"{name} {shape}", launch_of(candidates(x, y)[name], x, y))
        del x, y, raw, bits
        torch.cuda.empty_cache()


def count(name: str, launch: Callable[[], Any]) -> None:
    """Launch once outside the profiler's window, once inside."""
    import torch

    launch()
    torch.cuda.synchronize()
    torch.cuda.profiler.start()
    launch()
    torch.cuda.synchronize()
    torch.cuda.profiler.stop()
    print(f"VARIANT {name}", flush=True)


def profile(
    child: str, module: str = "benchmarks.transpose_counters"
) -> tuple[list[str], list[dict[str, Any]]]:
    """The ncu command, and one row of counters for each that `child`, an option of `module`, launches."""
    command = [
        "ncu", "--clock-control", "none", "--cache-control", "none", "--profile-from-start", "off", "--csv",
        "--page", "raw", "--metrics", ",".join(metrics().values()),
        sys.executable, "-m", module, child,
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
    options.add_argument("--plans", action="store_true", help="plans at some shapes, not variants at one")
    options.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    options.add_argument("--plans-child", action="store_true", help=argparse.SUPPRESS)
    given = options.parse_args()
    if given.child:
        child()
        return
    if given.plans_child:
        count_plans()
        return
    from benchmarks.bench_transpose import environment, time_variants

    about = environment() | {"command": "python -m benchmarks.transpose_counters " + " ".join(sys.argv[1:])}
    if given.plans:
        command, rows = profile("--plans-child")
        found = {"environment": about, "ncu": " ".join(command[:-3]), "plans": rows}
    else:
        times = time_variants(SIZE, SIZE, ROUNDS)
        command, rows = profile("--child")
        found = {
            "environment": about,
            "ncu": " ".join(command[:-3]),
            "size": SIZE,
            "times": times,
            "variants": rows,
        }
    given.out.parent.mkdir(parents=True, exist_ok=True)
    given.out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    for row in (*found.get("times", ()), *rows):
        print(row)


if __name__ == "__main__":
    main()
