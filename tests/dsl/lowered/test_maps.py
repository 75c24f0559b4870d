"""Tensor maps and shared tiles of random swizzles: wrong exactly where bytes come to another element."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from layoutcheck.dsl.trace import trace_script
from layoutcheck.judge import judge_traced
from layoutcheck.provenance import check_products
from tests.lowering import SharedLowering

pytest.importorskip("cutlass", reason="the CuTe DSL (nvidia-cutlass-dsl) is not installed")

ROWS, COUNT, PART = 64, 160, 40
Spec = dict[str, Any]


def generate(seed: int) -> Spec:
    """Swizzles (bits, 0 for none) of the tile and of both maps, and who writes and who reads the tile."""
    draw = random.Random(seed)
    width = draw.choice((16, 32, 64))
    full = {16: 1, 32: 2, 64: 3}[width]
    first, second = draw.choice((("tma", "rows"), ("tma", "sum"), ("rows", "tma"), ("tma", "tma")))
    return {
        "width": width, "bits": draw.choice((0, full, full, draw.randint(0, 3))),
        "loads": draw.choice((0, full)), "stores": draw.choice((0, full)), "first": first, "second": second,
    }  # fmt: skip


def place(row: int, column: int, width: int, bits: int) -> int:
    """The byte of an element, by CuTe's definition of S<bits,4,3>: bits 7 and up go onto bits 4 and up."""
    byte = 2 * (row * width + column)
    return byte ^ (byte >> 7 & (1 << bits) - 1) << 4


def exchanged(spec: Spec) -> bool:
    """Whether some element is written to another byte than it is read from."""
    sides = {"tma": None, "rows": spec["bits"], "sum": spec["bits"]}
    wrote = spec["loads"] if spec["first"] == "tma" else sides[spec["first"]]
    read = spec["stores"] if spec["second"] == "tma" else sides[spec["second"]]
    width = spec["width"]
    return any(
        place(row, column, width, wrote) != place(row, column, width, read)
        for row in range(ROWS)
        for column in range(width)
    )


@pytest.mark.sweep
@pytest.mark.parametrize("first", range(0, COUNT, PART))
def test_maps_of_random_swizzles(first: int, tmp_path: Path) -> None:
    specs = [generate(seed) for seed in range(first, first + PART)]
    specs = list({json.dumps(one): one for one in specs}.values())
    listed = tmp_path / "specs.json"
    listed.write_text(json.dumps(specs))
    with SharedLowering(products=check_products) as lowering:
        found = trace_script(
            "-m", ["tests.dsl.lowered.map_kernels", str(listed)], launch=False, arch="sm_90a", timeout_s=900,
            cwd=str(Path(__file__).parents[3]), lowering=lowering,
        )  # fmt: skip
    assert not found.failures, found.failures
    assert not [one for report in found.operands for one in report.findings]  # LC605 of what LC234 tells
    copies, differ, wrong = iter(found.copies), [], 0
    for spec, kernel in zip(specs, found.kernels, strict=True):
        told = False
        for _ in range(kernel.copies):
            report = judge_traced(next(copies))
            told |= report is not None and any(one.code == "LC234" for one in report.findings)
        wrong += exchanged(spec)
        if told != exchanged(spec):
            differ.append(f"{spec}: told {told}")
    print(f"{len(specs)} kernels, {wrong} wrong, {len(differ)} differ")
    assert not differ, differ[:5]
    assert 0 < wrong < len(specs)
