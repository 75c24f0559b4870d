"""Random kernels with tails, predicates and offsets: out of bounds exactly where brute force says."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from layoutcheck.dsl.trace import trace_script
from layoutcheck.sources.traced import Trace
from tests.dsl.lowered import ptx_grid
from tests.dsl.lowered.tails import Spec, faults, generate, touched
from tests.lowering import SharedLowering

pytest.importorskip("cutlass", reason="the CuTe DSL (nvidia-cutlass-dsl) is not installed")

COUNT, PART = 2000, 100


@pytest.mark.sweep
@pytest.mark.parametrize("first", range(0, COUNT, PART))
def test_random_tails(first: int, tmp_path: Path) -> None:
    """Block, thread and byte of an access outside where there is one; else nothing."""
    specs = [generate(seed) for seed in range(first, first + PART)]
    wrong, differ = compared(specs, tmp_path)
    print(f"seeds {first} to {first + PART - 1}: {PART} kernels, {wrong} outside, {len(differ)} differ")
    assert not differ, differ[:5]
    assert wrong


@pytest.mark.sweep
@pytest.mark.parametrize("first", range(0, COUNT, PART))
def test_random_tails_by_their_ptx(first: int, tmp_path: Path) -> None:
    """What the PTX of every thread of every block reads or writes outside, byte by byte."""
    specs = [generate(seed) for seed in range(first, first + PART)]
    differ = by_ptx(specs, tmp_path)
    wrong, others = compared(specs, tmp_path)
    print(
        f"seeds {first} to {first + PART - 1}: {PART} kernels, {wrong} outside, {len(differ)} differ from PTX"
    )
    assert not differ and not others, (differ[:5], others[:5])


def by_ptx(specs: list[Spec], folder: Path) -> list[str]:
    """Where the bytes that the PTX touches outside of its tensor are not those of brute force."""
    listed, base = folder / "specs.json", 1 << 40
    listed.write_text(json.dumps(specs))
    command = [sys.executable, "-m", "tests.dsl.lowered.tail_kernels", str(listed), "--ptx", str(folder)]
    subprocess.run(command, cwd=folder, env=_environment(), check=True, capture_output=True, timeout=900)
    differ = []
    for number, spec in enumerate(specs):
        gy, gx = spec["grid"]
        ptx = (folder / f"{number}.ptx").read_text()
        threads, moved = ptx_grid.touched(ptx, (gx, gy), (base, 1 << 41))
        brute = touched(spec)
        expected = {
            (int(x), int(y), int(t), int(at) + k)
            for x, y, t, at, width in brute.outside.tolist()
            for k in range(width)
            if not 0 <= at + k < brute.size
        }
        found = set()
        for one in moved:
            rows = np.column_stack([one.lanes, one.address - base, one.width]).tolist()
            for lane, at, width in rows:
                if at < 1 << 38 and (at < 0 or at + width > brute.size):
                    block = lane // threads
                    place = (block % gx, block // gx, lane % threads)
                    found |= {(*place, at + k) for k in range(width) if not 0 <= at + k < brute.size}
        if found != expected:
            differ.append(f"{spec}: {len(found)} bytes outside by PTX, {len(expected)} by brute force")
    return differ


def _environment() -> dict[str, str]:
    root = str(Path(__file__).parents[3])
    return {**os.environ, "PYTHONPATH": os.pathsep.join([root, os.environ.get("PYTHONPATH", "")])}


def compared(specs: list[Spec], folder: Path) -> tuple[int, list[str]]:
    """How many leave their tensor, and where prediction and brute force differ."""
    listed = folder / "specs.json"
    listed.write_text(json.dumps(specs))
    with SharedLowering() as lowering:
        found = trace_script(
            "-m", ["tests.dsl.lowered.tail_kernels", str(listed)], launch=False, arch="sm_90a",
            timeout_s=900, cwd=str(Path(__file__).parents[3]), lowering=lowering,
        )  # fmt: skip
    assert not found.failures, found.failures
    wrong, differ = 0, []
    for spec, one in zip(specs, predicted(found, specs), strict=True):
        expected = faults(spec)
        wrong += bool(expected)
        if one not in (expected or {None}):
            differ.append(f"{spec}: {one}, not one of {len(expected)}")
    return wrong, differ


def predicted(found: Trace, specs: list[Spec]) -> list[tuple[str, int, int] | str | None]:
    """Of each specification: (block, thread, byte) of its fault, why it is not judged, or None for none."""
    out: list[tuple[str, int, int] | str | None] = []
    copies, elements = iter(found.copies), {one.kernel: one for one in found.elements}
    assert len(found.kernels) == len(specs)
    for spec, kernel in zip(specs, found.kernels, strict=True):
        fault: tuple[str, int, int] | str | None = None
        if spec["mode"] == "element":
            report = elements[kernel.name]
            for one in report.findings:
                if one.code == "LC204":
                    fault = one.evidence["block"], one.evidence["thread"], one.evidence["address"]
            fault = str(report.unchecked) if report.unchecked else fault
        else:
            copy = next(copies)
            assert kernel.copies == 1
            for beyond in copy.addresses.faults if copy.addresses is not None else ():
                if beyond.kind == "beyond":
                    fault = beyond.block, beyond.thread, beyond.address
            fault = copy.unbounded or fault
        out.append(fault)
    return out
