"""Tensor memory: sound copies are legal; each way of going wrong is named by its rule, its twin is legal."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

import layoutcheck as lc
from layoutcheck.atoms import tmem
from layoutcheck.atoms.s2t import FORMS, S2TCopy
from layoutcheck.atoms.s2t.execution import rows_of
from layoutcheck.atoms.tmem import TmemLoad
from layoutcheck.atoms.tmem.addresses import LANE_BYTES
from layoutcheck.atoms.tmem.execution import rectangle, tmem_address
from layoutcheck.check import check
from layoutcheck.copies.copy import Copy, Tiling
from layoutcheck.copies.tiled import partition
from layoutcheck.fixes import propose
from layoutcheck.machine.dtypes import dtype
from layoutcheck.sources.types import parse_memref, parse_tiled_copy
from tests.conformance.generate_tmem import sound_tmem
from tests.miscompiles import TENSOR_MEMORY

F32 = dtype("f32")


@given(st.randoms(use_true_random=False), st.sampled_from(("f32", "bf16", "i8")))
def test_what_make_tmem_copy_partitions_is_legal(rng: Random, name: str) -> None:
    atom, view, registers = sound_tmem(rng, dtype(name))
    src, dst = (view, registers) if isinstance(atom, TmemLoad) else (registers, view)
    report = check(Copy(atom, src, dst, arch="sm_100a"))
    if view.align_bytes == 1 and (atom.width_bits > 32 or atom.packed):
        assert (report.verdict, report.findings[0].code) == ("rejected", "LC121")
        return
    assert report.verdict == "legal", report.findings


@pytest.mark.parametrize("name", TENSOR_MEMORY)
def test_holes(name: str) -> None:
    broken, fixed, code, _ = TENSOR_MEMORY[name]
    found = lc.check(**broken)
    assert found.verdict == "wrong"
    assert code in [finding.code for finding in found.findings], found.findings
    twin = lc.check(**fixed)
    assert twin.verdict == "legal", twin.findings


def test_fragments_are_the_figures_of_the_ptx_isa() -> None:
    """Register r of lane l, as the PTX ISA's figures for tcgen05.ld have it."""
    formulas = {
        (32, 32): lambda lane, r: (lane, r),
        (16, 64): lambda lane, r: (lane // 4 + 8 * (lane % 2), lane // 2 % 2 + 2 * r),
        (16, 128): lambda lane, r: (lane // 4 + 8 * (r % 2), lane % 4 + 4 * (r // 2)),
        (16, 256): lambda lane, r: (lane // 4 + 8 * (r // 2 % 2), r % 2 + 2 * (lane % 4) + 8 * (r // 4)),
        (16, 32): lambda lane, r: (lane % 16, r + 4 * (lane // 16)),
    }
    for (lanes, bits), formula in formulas.items():
        atom = TmemLoad(F32, lanes, bits, 4)
        at = rectangle(atom, split_columns=4)
        for lane in range(32):
            for r in range(tmem.registers(atom)):
                row, column = formula(lane, r)
                assert at[lane, 4 * r] == row * LANE_BYTES + 4 * column


def test_packing_takes_the_lower_half_of_each_column() -> None:
    at = rectangle(TmemLoad(dtype("bf16"), 32, 32, 2, True), split_columns=2)
    assert at[0].tolist() == [0, 1, 4, 5, 8, 9, 12, 13]


def test_a_fraction_of_a_column_ends_up_on_top() -> None:
    import numpy as np

    offsets = np.array([0, 2, 3, -2], dtype=np.int64)
    assert (tmem_address(offsets, 16) // 4).tolist() == [0, 1, 0x80000001, 0x7FFFFFFF]
    assert (tmem_address(offsets, 32) // 4).tolist() == [0, 2, 3, -2]


@pytest.mark.parametrize("form", FORMS)
def test_every_lane_gets_a_row(form: tuple[int, int, str]) -> None:
    atom = S2TCopy(F32, form[0], form[1], 1, form[2])
    rows = rows_of(atom).tolist()
    assert len(rows) == 128
    if form[0] == 4:
        assert {lane: row for lane, row in enumerate(rows) if row >= 0} == {0: 0, 32: 1, 64: 2, 96: 3}
    else:
        assert sorted(set(rows)) == list(range(form[0]))


@pytest.mark.parametrize(
    ("name", "dst", "verdict"),
    [
        ("f32", "(((4,8),1),1):(((2097152,1),0),0)", "legal"),
        ("f32", "(((128,8),1),1,1,4):(((65536,1),0),0,0,8)", "legal"),  # as make_s2t_copy partitions it
        ("f32", "(((4,8),1),1):(((65536,1),0),0)", "wrong"),  # four lanes in a row
        ("f32", "(((64,8),1),1):(((65536,1),0),0)", "wrong"),
        ("f32", "(((4,4),1),1):(((2097152,1),0),0)", "wrong"),
        ("bf16", "(((4,16),1),1):(((4194304,1),0),0)", "legal"),
        ("f4E2M1FN", "(((4,64),1),1):(((16777216,1),0),0)", "legal"),
        ("f4E2M1FN", "(((4,32),1),1):(((16777216,1),0),0)", "wrong"),
        ("bf16", "((1024,2),1,1,4):((0,8),0,0,16)", "wrong"),  # what the DSL partitions of bf16
    ],
)
def test_four_rows_go_to_one_lane_of_each_warp(name: str, dst: str, verdict: str) -> None:
    inner = 2 if "1024" in dst else 1
    layout = f"((1,{inner}),1,1,4):((0,0),0,0,64)" if ",4):" in dst else "((1,1),1):((0,0),0)"
    src = f'!cute_nvgpu.smem_desc_view<!cute_nvgpu.smem_desc, "{layout}">'
    view = f'!cute.memref<{name}, tmem, align<16>, "{dst}">'
    report = lc.check(src, view, "tcgen05.cp.4x256b", dtype=name)
    assert report.verdict == verdict, report.findings
    assert verdict == "legal" or report.findings[0].code == "LC256"


@pytest.mark.parametrize(("columns", "verdict"), [(64, "legal"), (32, "wrong")])
def test_elements_of_four_bits(columns: int, verdict: str) -> None:
    src = '!cute_nvgpu.smem_desc_view<!cute_nvgpu.smem_desc, "((1,1),1):((0,0),0)">'
    dst = f'!cute.memref<f4E2M1FN, tmem, align<16>, "(((128,{columns}),1),1):(((524288,1),0),0)">'
    assert lc.check(src, dst, "tcgen05.cp.128x256b", dtype="f4E2M1FN").verdict == verdict


def test_without_an_architecture_the_first_that_has_it() -> None:
    report = lc.check(
        '!cute.memref<f32, tmem, align<16>, "(((32,32),1),1):(((1,65536),0),0)">',
        '!cute.memref<f32, rmem, align<32>, "((32,1),1):((1,0),0)">',
        "tcgen05.ld.32x32b.x32",
        dtype="f32",
    )
    assert report.copy.arch == "sm_100a"
    assert any("sm_100a" in line for line in report.assumptions)


@pytest.mark.parametrize("name", ["h30-repeat", "h30-stride", "atom-type", "register-stride", "warp-lanes"])
def test_fixes_are_legal(name: str) -> None:
    report = lc.check(**TENSOR_MEMORY[name][0])
    assert [fix.strategy for fix in report.fixes] == ["match-repetition"]
    assert report.fixes[0].verdict == "legal"


@pytest.mark.parametrize(
    ("case", "code"), [("forum-361833", "LC250"), ("issue-2094", "LC311"), ("issue-3160", "LC257")]
)
def test_published_cases(case: str, code: str) -> None:
    from layoutcheck.sources.cases import case as read

    found = [lc.check(**copy) for copy in read(case).copies]
    assert code in [finding.code for report in found for finding in report.findings]


def test_tensor_memory_is_never_run() -> None:
    """Neither a GPU nor the simulator can hold a view of tensor memory: no outcome, and no disagreement."""
    from layoutcheck.gpu.images import NotRunnable
    from layoutcheck.gpu.make_job import make_job

    for broken, fixed, _, _ in TENSOR_MEMORY.values():
        for arguments in (broken, fixed):
            with pytest.raises(NotRunnable):
                make_job(lc.check(**arguments).copy)


def test_a_fragment_of_the_source_partition_s_shape_is_the_fragment_s_fault() -> None:
    """All lanes of a warp name all that tcgen05.ld moves: the thread-value layout is as it should be.

    luongthecong123/learn-cutedsl makes the fragment of tTR_tAcc's shape, 64 values instead of 2.
    """
    tiled = (
        "!cute.tiled_copy<!cute_nvgpu.atom.tmem_load<f32, 32 DP, 32 bit, x2>, "
        'layout_copy_tv = <"((32,4),(2,32)):((0,1),(4,8))">, tiler_mn = <"[(8,32):(32,1)]">>'
    )
    view = parse_tiled_copy(tiled)
    tile = parse_memref('!cute.memref<f32, tmem, align<16>, "(((128,2))):(((65536,1)))">')
    fragment = parse_memref('!cute.memref<f32, rmem, align<32>, "(((2,32),1),(1)):(((1,2),0),(0))">')
    src = partition(view, "src", tile).view
    rows = Tiling(view, tile, replace(tile, space="rmem"))
    found = check(Copy(view.atom, src, fragment, tiled=view, tiling=rows, arch="sm_100a"))
    assert [finding.code for finding in found.findings if finding.severity == "wrong"] == ["LC252"]
    assert [fix.strategy for fix in propose(found)[0]] == ["match-repetition"]
