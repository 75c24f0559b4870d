"""Random kernels in three modes: what a trace tells, held against the PTX of every thread of every block.

Byte, thread and block of every fault have to be what the PTX does. Where the PTX leaves a tensor or the
block's shared memory on one side, something is told of that side. Nothing else is told, nor left unchecked.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from layoutcheck.dsl.lowered.bounds import UNUSED
from layoutcheck.dsl.trace import trace_script
from layoutcheck.sources.traced import Trace
from tests.dsl.lowered import ptx_grid
from tests.dsl.lowered.places import BASE, OTHER, Spec, generate, shared_bytes, size_bytes
from tests.lowering import SharedLowering

pytest.importorskip("cutlass", reason="the CuTe DSL (nvidia-cutlass-dsl) is not installed")

COUNT, PART, FIRST = 2000, 100, 0
ROOT = Path(__file__).parents[3]
Outside = dict[tuple[str, str], set[tuple[str, int, int]]]  # (space, side): block, thread and byte of each


def test_a_few_places(tmp_path: Path) -> None:
    """Four leave shared memory in blocks behind block 0 alone."""
    compared((0, 4, 11, 13, 26), tmp_path)


@pytest.mark.sweep
@pytest.mark.parametrize("first", range(FIRST, FIRST + COUNT, PART))
def test_random_places_by_their_ptx(first: int, tmp_path: Path) -> None:
    compared(range(first, first + PART), tmp_path)


def compared(seeds: Sequence[int], folder: Path) -> None:
    """What is told of the kernels of these seeds is what their PTX does."""
    counts, differ = held(seeds, folder)
    print(f"seeds {seeds[0]} to {seeds[-1]}: {counts}")
    assert not differ, differ[:3]
    assert counts["leave"] and counts["told"] >= counts["sides"]


def held(seeds: Sequence[int], folder: Path) -> tuple[dict[str, int], list[dict[str, Any]]]:
    """Trace the kernels of these seeds and run their PTX: the counts, and where the two differ."""
    specs = [generate(seed) for seed in seeds]
    listed = folder / "specs.json"
    listed.write_text(json.dumps(specs))
    executed = list(by_ptx(specs, listed, folder))
    with SharedLowering() as lowering:
        found = trace_script(
            "-m", ["tests.dsl.lowered.place_kernels", str(listed)], launch=False, arch="sm_90a",
            timeout_s=900, cwd=str(ROOT), lowering=lowering,
        )  # fmt: skip
    assert not found.failures, found.failures
    differ = []
    faults = 0
    for spec, outside, (told, unchecked) in zip(specs, executed, predicted(found, specs), strict=True):
        faults += sum(map(len, told.values()))
        extra = {key: places - outside.get(key, set()) for key, places in told.items()}
        if unchecked or any(extra.values()) or told.keys() != outside.keys():
            first = {key: (len(places), min(places)) for key, places in outside.items()}
            differ.append({"spec": spec, "told": told, "ptx": first, "unchecked": unchecked})
    counts = {
        "kernels": len(specs), "leave": sum(map(bool, executed)), "sides": sum(map(len, executed)),
        "told": faults,
    }  # fmt: skip
    return counts, differ


def by_ptx(specs: list[Spec], listed: Path, folder: Path) -> Iterator[Outside]:
    """What the PTX of each kernel touches outside of its tensors and of its shared memory, byte by byte."""
    command = [sys.executable, "-m", "tests.dsl.lowered.place_kernels", str(listed), "--ptx", str(folder)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}
    subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True, timeout=900)
    for number, spec in enumerate(specs):
        gz, gy, gx = spec["grid"]
        run = ptx_grid.executed((folder / f"{number}.ptx").read_text(), (gx, gy, gz), (BASE, OTHER))
        found: Outside = defaultdict(set)
        moved = [(one, "smem", 0, shared_bytes(spec)) for one in run.in_shared]
        for one in run.moved:
            which = int(one.address.size > 0 and one.address[0] > (BASE + OTHER) // 2)
            moved.append((one, "gmem", (BASE, OTHER)[which], size_bytes(spec, which)))
        for one, space, base, size in moved:
            for lane, address, width in np.column_stack([one.lanes, one.address - base, one.width]).tolist():
                block = lane // run.block
                place = f"({block % gx},{block // gx % gy},{block // (gx * gy)})", lane % run.block
                bytes_ = {at for at in range(address, address + width) if not 0 <= at < size}
                if bytes_:
                    found[space, "writes" if one.write else "reads"] |= {(*place, at) for at in bytes_}
        yield dict(found)


def predicted(found: Trace, specs: list[Spec]) -> Iterator[tuple[Outside, list[str]]]:
    """What is told of each kernel, by the first byte outside, and what of it is not checked."""
    modules = {one.kernel: one for one in found.elements}
    assert len(found.kernels) == len(specs) == len({kernel.name for kernel in found.kernels})
    for spec, kernel in zip(specs, found.kernels, strict=True):
        told: Outside = defaultdict(set)
        report = modules[kernel.name]
        for one in report.findings:
            if one.code == "LC204" and "mode" not in one.evidence:
                told[one.evidence["space"], one.places[0].what].add(first_byte(one.evidence, spec))
        yield dict(told), [why for why, _ in report.unchecked if UNUSED not in why]


def first_byte(evidence: dict[str, Any], spec: Spec) -> tuple[str, int, int]:
    """Block, thread and first byte outside of a fault; of shared memory it is told for the first block."""
    size = evidence.get("tensor bytes") or evidence.get("tensor_bytes") or shared_bytes(spec)
    at = evidence["address"]
    return evidence.get("block", "(0,0,0)"), evidence["thread"], at if at < 0 else max(at, size)
