"""What each line costs, by layoutcheck and by Nsight Compute: `python -m benchmarks.line_cost OUT`.

Every kernel of `line_cost_kernels` and every transpose of `kernels` that runs (square) is compiled
with line information and launched once under `ncu --section SourceCounters`; its counters are summed over the
machine instructions of each line. Beside them stands what the trace of the same kernel gives for the same
extents (`lowered.totals`), without a launch. OUT gets line_cost.json and ncu's reports as tables.

    python -m benchmarks.line_cost OUT [--size 1024] [--only swizzled,tma] [--again RECORD]

needs ncu with its Python module (extras/python), a GPU, torch and the DSL. With an earlier RECORD (a
line_cost.json) nothing is run: its predictions and counters are compared anew. A line counts as met where
wavefronts, sectors and instructions each are within 5 %. Two things about that are not the model's to know:

- ptxas turns some branches into predicates. ncu's `inst_executed` counts a predicated instruction for warps
  without a lane that is on, a prediction does not. For a line with such instructions ("predicated")
  wavefronts and sectors are compared, and that ncu counts no fewer instructions.
- The line table puts some instructions of a line on another of its file, as of inlined functions. A line
  that both count, and lines of that file that one alone counts, are one row if they agree exactly in sum
  ("together").
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from benchmarks.evidence import head, write

HERE = Path(__file__).parents[1]
SIZE, WITHIN, JOBS = 1024, 0.05, 6  # ncu's processes wait for each other where they count
# Our count -> the counter of a machine instruction. Wavefronts are those of shared memory.
COUNTERS = {
    "instructions": "inst_executed",
    "wavefronts": "memory_l1_wavefronts_shared",
    "sectors": "memory_l2_theoretical_sectors_global",
}
_MEMORY = re.compile(r"\b(LDS|STS|LDG|STG|LDGSTS|LDSM|STSM|ATOMS|ATOMG|RED|LD|ST|ATOM)(?:\.|\b)")
# ptxas puts shared loads that never execute beside cp.async; inst_executed counts them, no memory is reached.
NEVER = "@!PT"
# Compiled where it runs, as the trace sees it too: by a child of this module.
CHILD = "--child"


def names() -> list[str]:
    """The kernels of `line_cost_kernels`, and the transposes that run."""
    from benchmarks.line_cost_kernels import NAMES
    from kernels.transpose import VARIANTS

    squares = {name: one for name, one in VARIANTS.items() if not one.most}
    return [*NAMES, *(name for name, one in squares.items() if one.verdict in ("legal", "slow"))]


def child(name: str, size: int) -> None:
    """Compile one, with arguments of run-time extents; launch it once where there is a GPU."""
    from benchmarks.line_cost_kernels import NAMES
    from kernels.transpose import VARIANTS

    if name in NAMES:
        static_child(name)
        return
    compiled = VARIANTS[name].builder().compile()
    if "--launch" not in sys.argv:
        return
    import torch
    from cuda.bindings.driver import CUstream
    from cutlass.cute.runtime import from_dlpack

    dtype = torch.float32 if name == "fp32_elementwise" else torch.bfloat16
    x = torch.zeros((size, size), dtype=dtype, device="cuda")
    tensors = [from_dlpack(t, assumed_align=16).mark_layout_dynamic(leading_dim=1) for t in (x, x.clone())]
    torch.cuda.synchronize()
    torch.cuda.profiler.start()
    compiled(*tensors, CUstream(torch.cuda.current_stream().cuda_stream))
    torch.cuda.synchronize()
    torch.cuda.profiler.stop()


def static_child(name: str) -> None:
    """The same for a kernel of `line_cost_kernels`."""
    import cutlass
    from cutlass import cute
    from cutlass.cute.runtime import make_ptr

    from benchmarks.line_cost_kernels import F32, FLOATS, host

    places = [1 << 20, 1 << 24]
    launch = "--launch" in sys.argv
    if launch:
        import torch

        buffers = [torch.zeros(FLOATS, device="cuda") for _ in places]
        places = [buffer.data_ptr() for buffer in buffers]
    given = [make_ptr(F32, place, cutlass.AddressSpace.gmem, assumed_align=16) for place in places]
    compiled = cute.compile(host, *given, name)
    if launch:
        torch.cuda.synchronize()
        torch.cuda.profiler.start()
        compiled(*given)
        torch.cuda.synchronize()
        torch.cuda.profiler.stop()


def predicted(name: str, size: int) -> dict[str, Any]:
    """Of each "file:line": our counts; or why there are none."""
    from layoutcheck.tracing import Script, lines

    found: dict[str, Counter[str]] = defaultdict(Counter)
    child = ["benchmarks.line_cost", CHILD, name]
    trace, kernels = lines(Script("-m", child, launch=False, arch="sm_90a", timeout_s=200), size)
    for one in (line for kernel in kernels for line in kernel.lines):
        at = found[f"{Path(one.where.file).name}:{one.where.line}"]
        at.update(instructions=one.instructions, wavefronts=one.wavefronts, sectors=one.sectors)
    problems = [one.message for one in trace.failures] + [one.problem for one in kernels if one.problem]
    return {"lines": {place: dict(counts) for place, counts in found.items()}, "problems": problems}


def profiled(name: str, size: int, out: Path) -> dict[str, Any]:
    """Of each "file:line": ncu's counts of memory instructions; with the instructions one by one."""
    if not shutil.which("ncu"):
        return {"lines": {}, "said": "no ncu"}
    report = out / f"{name}.ncu-rep"
    command = [
        "ncu", "--section", "SourceCounters", "--import-source", "no", "--clock-control", "none",
        "--profile-from-start", "off", "--force-overwrite", "--export", str(report),
        sys.executable, "-m", "benchmarks.line_cost", CHILD, name, "--launch", "--size", str(size),
    ]  # fmt: skip
    environment = os.environ | {"CUTE_DSL_LINEINFO": "1", "CUTE_DSL_DISABLE_FILE_CACHING": "1"}
    ran = subprocess.run(
        command, capture_output=True, text=True, timeout=170, cwd=HERE, check=False, env=environment
    )
    if not report.exists():
        return {"lines": {}, "said": (ran.stdout + ran.stderr)[-1500:]}
    # Kept beside it, so that a version of ncu with other names can be read all the same.
    for page in ("source", "raw"):
        table = subprocess.run(
            ["ncu", "--import", str(report), "--page", page, "--csv"],
            capture_output=True,
            text=True,
            check=False,
        )
        (out / f"{name}.{page}.csv").write_text(table.stdout or table.stderr)
    lines: dict[str, Counter[str]] = defaultdict(Counter)
    try:
        instructions = list(_instructions(report))
    except Exception as error:  # what another version of ncu's module says of a name that it does not know
        return {"lines": {}, "said": f"{type(error).__name__}: {error}"}
    for one in instructions:
        for ours in COUNTERS:
            lines[one["line"]][ours] += one[ours]
    return {"lines": {place: dict(counts) for place, counts in lines.items()}, "instructions": instructions}


def _instructions(report: Path) -> Iterator[dict[str, Any]]:
    """The memory instructions of the profiled kernels, each with its line and counts."""
    module = _report_module()
    context = module.load_report(str(report))
    for range_ in (context.range_by_idx(i) for i in range(context.num_ranges())):
        for action in (range_.action_by_idx(i) for i in range(range_.num_actions())):
            counts: dict[int, Counter[str]] = defaultdict(Counter)
            for ours, theirs in COUNTERS.items():
                metric = action.metric_by_name(theirs)
                if metric is None:
                    known = [n for n in action.metric_names() if "wavefronts" in n or "sectors" in n]
                    raise KeyError(f"{report.name} has no {theirs}; it has {known}")
                at = metric.correlation_ids()
                for i in range(metric.num_instances()):
                    counts[at.as_uint64(i)][ours] += metric.as_uint64(i)
            for pc, found in sorted(counts.items()):
                text = action.sass_by_pc(pc)
                if not _MEMORY.search(text) or text.lstrip().startswith(NEVER):
                    continue
                place = action.source_info(pc)
                line = f"{Path(place.file_name()).name}:{place.line()}" if place is not None else "?"
                yield {
                    "pc": pc,
                    "sass": text.strip(),
                    "line": line,
                    **{ours: found[ours] for ours in COUNTERS},
                }


def _report_module() -> Any:
    """ncu's own reader of its reports, from beside the program."""
    ncu = Path(shutil.which("ncu") or "ncu").resolve()
    places = [folder / "extras" / "python" for folder in ncu.parents]
    places += sorted(Path("/").glob("opt/nvidia/nsight-compute/*/extras/python"), reverse=True)
    places += sorted(Path("/usr/local").glob("cuda*/nsight-compute*/extras/python"), reverse=True)
    for place in places:
        if (place / "ncu_report.py").exists():
            sys.path.insert(0, str(place))
            break
    import ncu_report

    return ncu_report


def compared(name: str, ours: dict[str, Any], theirs: dict[str, Any]) -> list[dict[str, Any]]:
    """One row a line that either side has; of lines that the line table exchanged, one for all."""
    predicated = {
        one["line"]
        for one in theirs.get("instructions", ())
        if one["sass"].startswith("@") and one["instructions"]
    }
    rows = []
    for place in sorted({*ours["lines"], *theirs["lines"]}):
        row: dict[str, Any] = {"kernel": name, "line": place}
        for key in COUNTERS:
            row[key] = [ours["lines"].get(place, {}).get(key, 0), theirs["lines"].get(place, {}).get(key, 0)]
        if not any(sum(row[key]) for key in COUNTERS):  # a path that is not taken, by either
            continue
        row["predicated"] = place in predicated
        row["within"] = all(_agrees(row, key) for key in COUNTERS)
        rows.append(row)
    return list(_together(rows))


def _agrees(row: dict[str, Any], key: str) -> bool:
    ours, theirs = row[key]
    near = abs(ours - theirs) <= WITHIN * max(ours, theirs)
    return near or (key == "instructions" and row["predicated"] and ours < theirs)


def _together(rows: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """The rows; those off in one file as one where their sums are equal, and one line of them both count."""
    files: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        if row["within"]:
            yield row
        else:
            files[row["line"].partition(":")[0]].append(row)
    for members in files.values():
        sums = {key: [sum(row[key][side] for row in members) for side in (0, 1)] for key in COUNTERS}
        both = sum(all(any(row[key][side] for key in COUNTERS) for side in (0, 1)) for row in members)
        if len(members) > 1 and both == 1 and all(a == b for a, b in sums.values()):
            lines = [row["line"] for row in members]
            first = members[0]
            predicated = any(row["predicated"] for row in members)
            joined = {
                "line": ", ".join(lines),
                "together": len(lines),
                "predicated": predicated,
                "within": True,
            }
            yield {"kernel": first["kernel"], **sums, **joined}
        else:
            yield from members


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path, nargs="?")
    parser.add_argument(CHILD, dest="child", default="")
    parser.add_argument("--launch", action="store_true")
    parser.add_argument("--size", type=int, default=SIZE)
    parser.add_argument("--only", default="")
    parser.add_argument("--again", type=Path, help="an earlier line_cost.json, compared anew")
    given = parser.parse_args()
    if given.child:
        child(given.child, given.size)
        return
    if given.out is None:
        parser.error("OUT, the folder for the results, is missing")
    given.out.mkdir(parents=True, exist_ok=True)
    rows, kernels = [], {}
    if given.again is not None:
        _again(given.again, given.out)
        return
    chosen = given.only.split(",") if given.only else names()
    with ThreadPoolExecutor(JOBS) as pool:
        expected = pool.map(lambda name: predicted(name, given.size), chosen)
        counted = pool.map(lambda name: profiled(name, given.size, given.out), chosen)
    for name, ours, theirs in zip(chosen, expected, counted, strict=True):
        kernels[name] = {"ours": ours, "ncu": theirs}
        rows += compared(name, ours, theirs)
        summary = _summary(rows)
        record = {
            **head("benchmarks.line_cost", size=given.size, ncu=_version()),
            "counters": COUNTERS, "within": WITHIN, "summary": summary, "rows": rows, "kernels": kernels,
        }  # fmt: skip
        write(record, given.out / "line_cost.json")
    _show(rows)


def _again(record: Path, out: Path) -> None:
    """The same record, its lines compared as they are compared now."""
    made = json.loads(record.read_text())
    rows = [row for name, one in made["kernels"].items() for row in compared(name, one["ours"], one["ncu"])]
    how = "the recorded counts, by --again"
    write(made | {"compared": how, "summary": _summary(rows), "rows": rows}, out / "line_cost.json")
    _show(rows)


def _show(rows: list[dict[str, Any]]) -> None:
    for row in rows:
        pairs = "  ".join(f"{key} {row[key][0]} {row[key][1]}" for key in COUNTERS)
        print(f"{row['kernel']:18} {row['line']:24} {'ok ' if row['within'] else 'OFF'}  {pairs}")
    print(json.dumps(_summary(rows)))


def _version() -> list[str]:
    """The last line of what ncu says of itself."""
    if not shutil.which("ncu"):
        return []
    return subprocess.run(
        ["ncu", "--version"], capture_output=True, text=True, check=False
    ).stdout.splitlines()[-1:]


def _summary(rows: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "kernels": len({row["kernel"] for row in rows}),
        "rows": len(rows),
        "within": sum(row["within"] for row in rows),
        **{f"{key} within": sum(_agrees(row, key) for row in rows) for key in COUNTERS},
        "lines predicated": sum(row["predicated"] for row in rows),
        "rows of lines together": sum("together" in row for row in rows),
    }


if __name__ == "__main__":
    main()
