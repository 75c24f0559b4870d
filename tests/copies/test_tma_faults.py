"""Which TMA instructions fault: the model beside what an H200 did with the same map and coordinates."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from layoutcheck.analysis import Analysis
from layoutcheck.atoms.tma.execution import _fault
from layoutcheck.sources.request import build
from tests.gpu.tma_probes import PLAIN, probes
from tests.tma_miscompiles import g, load, s

EVIDENCE = Path(__file__).parents[2] / "docs" / "evidence" / "tma_probes.json"
MEASURED = json.loads(EVIDENCE.read_text(encoding="utf-8"))["probes"]
# What other places say: the address in shared memory, and that no store begins before the tensor.
ELSEWHERE = ("smem-", "negative-", "stride-negative")
COPY = build(**load(g(), s()))[0]


@pytest.mark.parametrize("name", [name for name in probes() if not name.startswith(ELSEWHERE)])
def test_the_model_faults_where_the_machine_did(name: str) -> None:
    probe = probes()[name]
    predicted = _fault(COPY, probe.map, np.array([probe.coords], dtype=np.int64))
    assert bool(predicted) == bool(MEASURED[name]["fault"])


def test_one_box_of_many_is_enough() -> None:
    """The second of two boxes begins at byte 8 of a row of whole 16 bytes."""
    assert _fault(COPY, PLAIN, np.array([[0, 0], [4, 0]])) == "illegal instruction"
    assert _fault(COPY, PLAIN, np.array([[0, 0], [8, 3]])) == ""


def test_elements_of_four_bits_need_blackwell() -> None:
    nibbles = replace(PLAIN, format="U4", box=(128, 8))
    at = np.array([[128, 0]])
    assert _fault(COPY, nibbles, at) == "illegal instruction"
    assert _fault(replace(COPY, arch="sm_100a"), nibbles, at) == ""
    assert _fault(replace(COPY, arch="sm_100a"), nibbles, np.array([[16, 0]])) == "illegal instruction"


@pytest.mark.parametrize("width", [4, 8, 12, 16, 64, 72])
@pytest.mark.parametrize(("swizzle", "rank"), [("", 1), ("", 2), ("S<1,4,3>, ", 2), ("S<3,4,3>, ", 2)])
def test_coordinates_fault_as_whole_tensors_do(width: int, rank: int, swizzle: str) -> None:
    """One box, seen as `cute.copy` sees it and as the tensors that its map is made of."""
    align = "align<1024>"
    if rank == 1:
        whole, tile, basis, steps = "(256):(1)", f"({width}):(1)", f"({width}):(1@0)", "1@0"
    else:
        whole, tile = "(64,256):(256,1)", f"(8,{width}):({width},1)"
        basis, steps = f"({width},8):(1@0,1@1)", "1@0,1@1"
    extents = f"{width}" if rank == 1 else f"{width},8"
    elements = width * (8 if rank == 2 else 1)
    there = f'!cute.coord_tensor<"({",".join("0" * rank)})", "((({extents}),1)):((({steps}),0))">'
    here = f'!cute.memref<bf16, smem, {align}, {swizzle}"((({elements}),1)):(((1),0))">'
    atom = (
        f"!cute_nvgpu.atom.tma_load<bf16, copy_bits = {16 * elements}, mode = tiled, num_cta = 1, "
        f'g_stride = <"()"> tma_gbasis = <"{basis}">>'
    )
    view = Analysis(build(there, here, atom)[0])
    gmem = f'!cute.memref<bf16, gmem, align<16>, "{whole}">'
    all_of_it = Analysis(build(gmem, f'!cute.memref<bf16, smem, {align}, {swizzle}"{tile}">', "tma_load")[0])
    assert view.runs and all_of_it.runs
    faults = [any(run.execution.fault for run in one.runs) for one in (view, all_of_it)]
    inner = 2 * width
    span = {"": 0, "S<1,4,3>, ": 32, "S<3,4,3>, ": 128}[swizzle]
    too_wide = bool(span and inner > span)
    assert faults[0] == bool(inner % 16 or too_wide)
    if not too_wide:  # of whole tensors the DSL would cut the box in several
        assert faults[1] == faults[0]
