"""Fills for fragments that are read where nothing has written them: which, where, and what proves one."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from layoutcheck.patching.edit import apply
from layoutcheck.patching.operands import ways
from layoutcheck.patching.repair import repair
from layoutcheck.sources.traced import Frame, KernelFinding, KernelPlace, OperandReport, Trace

PROGRAM = """import cutlass
import cutlass.cute as cute
from cutlass import Float32

arch = cute.arch


@cute.kernel
def reduced(x: cute.Tensor, y: cute.Tensor):
    thread, _, _ = arch.thread_idx()
    row, _, _ = arch.block_idx()
    other = cute.make_rmem_tensor((4,), Float32)
    held, most = cute.make_rmem_tensor((4,), Float32), cute.make_rmem_tensor((4,), Float32)
    for i in cutlass.range_constexpr(4):
        other[i] = Float32(1.0)
        if thread * 4 + i < 100:
            held[i] = x[row, thread * 4 + i]
            most[i] = x[row, thread * 4 + i]
    total = held.load().reduce(cute.ReductionOp.ADD, Float32(0.0), 0) + other[0]
    largest = most.load().reduce(cute.ReductionOp.MAX, -Float32.inf, 0)
    total, largest = arch.warp_reduction_sum(total), arch.warp_reduction_max(largest)
    if thread == 0:
        y[row, 0] = total
        y[row, 1] = largest


@cute.jit
def run(x: cute.Tensor, y: cute.Tensor):
    spare = cute.make_rmem_tensor((4,), Float32)
    reduced(x, y).launch(grid=(8, 1, 1), block=(32, 1, 1))


made = [cute.runtime.make_fake_compact_tensor(Float32, (8, 128), stride_order=(1, 0)) for _ in range(2)]
cute.compile(run, *made)
"""
LINES = PROGRAM.splitlines()
MADE = next(i for i, line in enumerate(LINES, 1) if line.startswith("    held, most ="))
FILLS = ["    held.fill(0.0)", '    most.fill(float("-inf"))']


def finding(path: Path, stored: str, fill: str, lines: list[str] = LINES) -> KernelFinding:
    """One of a store, whose registers the next line but one before it writes."""
    at = next(i for i, line in enumerate(lines, 1) if f"= {stored}" in line and "y[" in line)
    name = {"total": "held", "largest": "most"}[stored]
    written = next(i for i, line in enumerate(lines, 1) if f"{name}[i] =" in line)
    places = tuple(KernelPlace("", Frame(str(path), line)) for line in (at, written))
    return KernelFinding("LC610", "wrong", "title", "message", places, {"fill": fill})


def test_the_fragment_that_the_lines_name_comes_first(tmp_path: Path) -> None:
    """And only those of the kernel do; the fill has the line behind the one that makes it."""
    path = tmp_path / "p.py"
    found = list(ways({str(path): PROGRAM}, finding(path, "largest", 'float("-inf")')))
    assert [title.partition(".")[0] for title, _ in found] == ["most", "other", "held"]
    text = apply({str(path): PROGRAM}, found[0][1])[str(path)]
    assert text.splitlines() == [*LINES[:MADE], FILLS[1], *LINES[MADE:]]
    assert list(ways({str(path): PROGRAM}, finding(path, "total", ""))) == []


def test_fills_are_kept_one_after_the_other_where_each_ends_its_finding(tmp_path: Path) -> None:
    """The second finding's lines are those of the program with the first fill; the report has the given."""
    path = tmp_path / "p.py"
    path.write_text(PROGRAM)

    def retrace(script: str, cwd: str | None, **_: bool) -> Trace:
        lines = Path(script).read_text().splitlines()
        found = [
            finding(Path(script), name, fill, lines)
            for line, name, fill in zip(FILLS, ("total", "largest"), ("0.0", 'float("-inf")'), strict=True)
            if line not in lines
        ]
        return Trace(operands=(OperandReport("k", "sm_90a", tuple(found)),))

    found = repair(str(path), retrace(str(path), None), retrace)
    stores = [i for i, line in enumerate(LINES, 1) if "y[row" in line]
    assert [one.where for one in found.repairs] == [Frame(str(path), line) for line in stores]
    assert found.after[str(path)].splitlines() == [*LINES[:MADE], FILLS[1], FILLS[0], *LINES[MADE:]]
    assert found.sketches == []


def test_every_finding_without_an_edit_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The number of repairs is limited, and not that of findings that have none."""
    monkeypatch.setattr("layoutcheck.patching.repair.MOST_REPAIRS", 1)
    path = tmp_path / "p.py"
    path.write_text(PROGRAM)
    every = [finding(path, name, "") for name in ("total", "largest")]
    every += [replace(every[0], evidence={"fill": "", "operand": letter}) for letter in "AC"]
    trace = Trace(operands=(OperandReport("k", "sm_90a", tuple(every)),))
    found = repair(str(path), trace, lambda *_, **__: trace)
    assert [one.where for one in found.sketches] == [one.places[0].where for one in every]


@pytest.mark.sweep
def test_a_program_is_filled_and_written(tmp_path: Path) -> None:
    path = tmp_path / "reduced.py"
    path.write_text(PROGRAM)
    command = [sys.executable, "-m", "layoutcheck", "trace", "--no-launch", "--arch", "sm_90a", "--fix"]
    run = subprocess.run(
        [*command, str(path)], capture_output=True, text=True, check=False, cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
    )  # fmt: skip
    assert path.read_text().splitlines() == [*LINES[:MADE], FILLS[1], FILLS[0], *LINES[MADE:]], run.stdout
