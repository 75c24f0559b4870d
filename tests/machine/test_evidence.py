"""The models against what an H200 counted (docs/evidence/), and docs/banks.md against both."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from benchmarks.banks import evidence, page, tensorop_gemm

ROOT = Path(__file__).parents[2]


copy_cases = cache(evidence.copy_cases)


@cache
def load(name: str) -> dict[str, Any]:
    return json.loads((ROOT / "docs/evidence" / name).read_text())


def test_every_counted_access_is_predicted_exactly() -> None:
    banks = load("banks.json")
    cases = evidence.plain_cases(banks["seed"])
    assert len(cases) == len(banks["accesses"]) >= 300
    for access, (_, name, probe) in zip(banks["accesses"], cases, strict=True):
        assert (access["pattern"], access["op"], access["width_bits"]) == (name, probe.op, probe.width_bits)
        assert evidence.predict(probe) == access["measured"], f"{probe.op}: {name}"


def test_cp_async_through_l1() -> None:
    """Exact where one side conflicts at most; a lower bound where both do."""
    copies = load("cp_async.json")
    for access, (name, probe) in zip(copies["accesses"], copy_cases(copies["seed"]), strict=True):
        if probe.op == "cp.async.ca":
            wavefronts, sectors = evidence.predict_copy(probe)
            assert sectors == access["measured"][2]
            if name.startswith("both"):
                assert wavefronts <= access["measured"][0] <= 1.5 * wavefronts
            else:
                assert wavefronts == access["measured"][0], name


def test_cp_async_past_l1() -> None:
    """Exact for everything but random addresses (within one packet) and many lanes of one source."""
    copies = load("cp_async.json")
    regular = 0
    for access, (name, probe) in zip(copies["accesses"], copy_cases(copies["seed"]), strict=True):
        if probe.op != "cp.async.cg" or name == "from global: stride 0 B":
            continue
        packets, sectors = evidence.predict_copy(probe)
        assert sectors == access["measured"][2], name
        assert abs(packets - access["measured"][0]) <= ("random" in name), name
        regular += "random" not in name
    assert regular >= 30


def test_a_wavefront_is_a_cycle() -> None:
    for timed in load("cp_async.json")["cycles"]:
        if timed["op"] in ("ldmatrix.x4", "ldmatrix.x4.trans", "stmatrix.x4") and timed["predicted"][0] >= 8:
            assert 1.0 <= timed["eight_warps"] / timed["predicted"][0] < 1.03


def test_tensorop_gemm() -> None:
    """fp16 to the last wavefront; fp8 within the few that no layout explains."""
    runs = {run["run"]: run for run in load("tensorop_gemm.json")["runs"]}
    for name, (_, bits, shift, _) in tensorop_gemm.RUNS.items():
        predicted = tensorop_gemm.predicted(bits, shift)
        measured = runs[name]["measured"]
        assert predicted[tensorop_gemm.LDSM] == measured[tensorop_gemm.LDSM]
        for metric, count in predicted.items():
            assert 0 <= measured[metric] - count <= (0 if bits == 16 else 80), (name, metric)
    assert [row.ways for row in tensorop_gemm.tile_table(8, 4)] == [1, 2]
    assert [row.ways for row in tensorop_gemm.tile_table(8, 3)] == [1, 1]


def test_the_page_is_generated() -> None:
    assert (ROOT / "docs/banks.md").read_text() == page.page(ROOT)
