"""Where the bytes of plans go on a GPU: sectors in L1 and L2, bytes of memory, and why warps wait.

    python -m benchmarks.synthesis_sectors OUT [--processes 17] [--only 0,1,2]

needs torch, the DSL, ncu and an sm_90 GPU. The requests are those whose plans ran in another order than was
predicted: tiles whose rows are parts of a line, and copies that are turned on their way to global memory. All
plans are timed together, some also with shared memory that they do not use, so that fewer blocks share an SM,
or with every other block walking its tiles in another order; then plans are counted, one at a time. Writes
OUT/synthesis_sectors.json.
"""

from __future__ import annotations

import argparse
import csv
import io
import re
import subprocess
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

from benchmarks import synthesis_plans
from benchmarks.evidence import head, write
from benchmarks.synthesis_plans import _children

Row = dict[str, Any]
LEAST_KB = 228
"""Of shared memory on an SM (CUDA programming guide, compute capability 9.0)."""
LIMITS = (4, 8)
"""Blocks that share an SM, where unused shared memory keeps others away."""
TILE_OF_K = re.compile(r"(?<!out_)tiles\[None, None, (k|ahead)\]")
"""In a program, where a block loads a tile."""
K, MN = "(?,?{{div={0}}}):(?{{div={0}}},1)", "(?{{div={0}}},?):(1,?{{div={0}}})"
READ = [
    ((64, 48), "f8E4M3FN", 128, 1), ((64, 48), "f8E4M3FN", 128, 2), ((64, 48), "f8E4M3FN", 128, 3),
    ((96, 48), "f8E4M3FN", 256, 2), ((192, 48), "f8E4M3FN", 256, 3), ((64, 32), "f8E4M3FN", 128, 3),
    ((128, 32), "f8E4M3FN", 128, 2), ((64, 64), "f8E4M3FN", 128, 2), ((64, 64), "f8E4M3FN", 128, 3),
    ((192, 64), "f8E4M3FN", 128, 1), ((192, 64), "f8E4M3FN", 128, 2), ((96, 96), "f8E4M3FN", 128, 2),
    ((192, 96), "f8E4M3FN", 256, 2), ((64, 32), "f16", 128, 3), ((96, 32), "f16", 128, 3),
    ((64, 32), "f16", 256, 3), ((128, 32), "bf16", 128, 2),
]  # fmt: skip
"""Tile, type, threads and stages: tiles to registers, whose rows are contiguous along K."""
COPIED = [
    ((64, 32), "f8E4M3FN", 128, 1, K, MN), ((64, 64), "f8E4M3FN", 128, 3, K, MN),
    ((128, 128), "f8E4M3FN", 128, 3, K, MN), ((96, 64), "f16", 128, 1, K, MN),
    ((64, 32), "f16", 128, 2, K, MN), ((96, 48), "f32", 128, 1, K, MN), ((64, 64), "f8E4M3FN", 128, 3, MN, K),
    ((128, 48), "f8E4M3FN", 256, 3, MN, K), ((96, 128), "f16", 128, 1, MN, K),
    ((192, 64), "bf16", 128, 3, K, K),
]  # fmt: skip
"""The same, with where src and dst are contiguous: tiles to global memory."""
METRICS = (
    "gpu__time_duration.sum", "dram__bytes_read.sum", "dram__bytes_write.sum", "lts__t_sectors_op_read.sum",
    "lts__t_sectors_op_write.sum", "lts__t_sectors_lookup_miss.sum", "lts__t_sectors_op_read_lookup_miss.sum",
    "lts__t_sectors_op_write_lookup_miss.sum", "lts__t_requests_srcunit_tex.sum",
    "lts__t_sectors_srcunit_tex.sum", "lts__t_sectors_srcunit_ltcfabric.sum",
    "lts__t_sectors_srcunit_tex_lookup_miss.sum", "lts__t_tag_requests.sum",
    "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum", "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum", "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_ld_lookup_hit.sum",
    "l1tex__m_xbar2l1tex_read_sectors.sum", "l1tex__m_l1tex2xbar_write_sectors.sum",
    "l1tex__data_pipe_lsu_wavefronts.sum", "l1tex__data_bank_conflicts_pipe_lsu.sum",
    "l1tex__t_output_wavefronts_pipe_lsu_mem_global_op_ld.sum",
    "l1tex__t_output_wavefronts_pipe_lsu_mem_global_op_st.sum", "smsp__inst_executed.sum",
    "sm__warps_active.avg.pct_of_peak_sustained_active",
    "smsp__average_warps_issue_stalled_long_scoreboard_per_issue_active.ratio",
    "smsp__average_warps_issue_stalled_lg_throttle_per_issue_active.ratio",
    "smsp__average_warps_issue_stalled_barrier_per_issue_active.ratio",
)  # fmt: skip


def requests() -> list[Row]:
    """As `synthesis_plans.requests` has them."""
    found = []
    for tile, dtype, threads, stages, *ways in (*READ, *COPIED):
        div = 16 if dtype.startswith("f8") else 8
        src, dst = ways or (K, None)
        found.append(
            {
                "tile": tile, "to": "gmem" if dst else "registers", "dtype": dtype, "src": src.format(div),
                "dst": dst and dst.format(div), "threads": threads, "stages": stages, "seed": 1,
            }
        )  # fmt: skip
    return found


def plans_of(request: Row, first: int) -> list[Row]:
    """All plans of a request; those of cp.async and of plain loads also with other blocks kept away."""
    synthesis_plans.MOST_PLANS = 8
    rows = synthesis_plans.plans_of(request, first)
    found = list(rows)
    for row in rows if request["to"] == "registers" else []:
        if "padded" in row["kind"] or row["kind"].startswith("tma"):
            continue
        flipped = TILE_OF_K.sub(r"tiles[None, None, \1 ^ (row % 2)]", row["timed"])
        if flipped != row["timed"]:
            name = f"plan_{first + len(found):03d}"
            code = flipped.replace(row["name"], name)
            found.append(row | {"name": name, "flipped": True, "timed": code, "code": code})
        for limit in (one for one in LIMITS if one < row["demand"]["blocks"]):
            room = (LEAST_KB << 10) // (limit + 1) + 1024 - row["shared_bytes"]
            if room > 0:
                name = f"plan_{first + len(found):03d}"
                more = f"cutlass.memory.SmemAllocator().allocate_array(cutlass.Uint8, {room})"
                code = row["timed"].replace(row["name"], name)
                code = code.replace("thread_idx()\n", f"thread_idx()\n    {more}\n", 1)
                found.append(row | {"name": name, "limit": limit, "timed": code, "code": code})
    return found


def counters(printed: str) -> dict[str, Row]:
    """All of ncu's counters, by the plan's name."""
    lines = "\n".join(line for line in printed.splitlines() if line.startswith('"'))
    found: dict[str, Row] = {}
    for row in csv.DictReader(io.StringIO(lines)):
        name = re.search(r"plan_[0-9]{3}", row.get("Kernel Name") or "")
        if name is not None:
            found[name[0]] = {
                metric: float(row[metric].replace(",", ""))
                for metric in METRICS
                if re.fullmatch(r"[0-9.,]+", row.get(metric) or "")
            }
    return found


def known() -> list[str]:
    """The metrics that this ncu has for the device."""
    asked = ["ncu", "--query-metrics", "--chips", "gh100"]
    said = subprocess.run(asked, capture_output=True, text=True, check=False).stdout.split()
    return [metric for metric in METRICS if metric.split(".")[0] in said]


def shared_out(rows: list[Row], count: int) -> list[list[Row]]:
    """Rows of one request stay together."""
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(str(row["request"]), []).append(row)
    shares = [[row for group in [*groups.values()][n::count] for row in group] for n in range(count)]
    return [share for share in shares if share]


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("out", type=Path)
    options.add_argument("--processes", type=int, default=17)
    options.add_argument("--only", help="of the requests, by their places")
    given = options.parse_args()
    asked = requests()
    if given.only:
        asked = [asked[int(place)] for place in given.only.split(",")]
    with ProcessPoolExecutor(given.processes) as pool:
        groups = pool.map(plans_of, asked, range(0, 34 * len(asked), 34))
        planned = [row for group in groups for row in group]
    rows, _ = _children(shared_out(planned, given.processes), [])
    texts = {row["name"]: row for row in planned}
    metrics = known()
    found = {**head("benchmarks.synthesis_sectors", "torch"), "metrics": metrics, "plans": rows}
    write(found, given.out / "synthesis_sectors.json")
    ncu = [
        "ncu", "--clock-control", "none", "--cache-control", "none", "--profile-from-start", "off", "--csv",
        "--page", "raw", "--metrics", ",".join(metrics),
    ]  # fmt: skip
    whole = [texts[row["name"]] for row in rows if "us" in row and "limit" not in row]
    # Those that walk in another order are counted, too.
    # What is counted is what was timed: all stages.
    whole = [row | {"counting": row["timed"]} for row in whole]
    _, printed = _children(shared_out(whole, given.processes), ncu)
    counted = counters(printed)
    for row in rows:
        row["counted"] = counted.get(row["name"])
    write(found, given.out / "synthesis_sectors.json")
    for row in sorted(rows, key=lambda row: str(row["name"])):
        count = row["counted"] or {}
        memory = [count.get(f"dram__bytes_{way}.sum", 0) / 2**30 for way in ("read", "write")]
        variant = "flipped" if "flipped" in row else row.get("limit", "-")
        print(
            f"{row['name']} {row.get('us', 0):7.1f} us, {row['predicted_us']:6.1f} predicted, "
            f"{variant}, memory {memory[0]:.2f} {memory[1]:.2f}, "
            f"wrong {row.get('wrong') if variant == '-' else '-'} {row.get('failed', '')[:80]} "
            f"{row['request']['tile']} {row['request']['dtype']} {row['request']['stages']}: {row['kind']}"
        )
    print(f"{len(rows)} plans, {len(counted)} counted, {len(metrics)} of {len(METRICS)} metrics")


if __name__ == "__main__":
    main()
