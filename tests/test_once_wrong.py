"""What an outside trial found wrong once and no other test names: verdicts and algebra, one call each."""

from __future__ import annotations

import pytest

import layoutcheck as lc

F4 = '!cute.memref<f4E2M1FN, {}, align<16>, "((32,1),2):((1,32),{})">'
I4 = '!cute.memref<i4, gmem, align<16>, "((32,1),(1,2)):((1,32),({},32))">'
F16 = '!cute.memref<f16, {}, align<{}>, "(4,7):(1,4)">'


@pytest.mark.parametrize(
    ("step", "verdict"),
    [("33", "rejected"), ("129", "rejected"), ("?", "rejected"), ("34", "wrong"), ("64", "legal")],
)
def test_an_offset_of_odd_nibbles_has_no_instruction(step: str, verdict: str) -> None:
    """libNVVM fails on cp.async of 4-bit elements that may begin inside a byte."""
    atom = "!cute_nvgpu.atom.simt_async_copy<f4E2M1FN, cache = always, 128 b>"
    report = lc.check(F4.format("gmem", step), F4.format("smem", 64), atom)
    assert report.verdict == verdict
    assert ("LC191" in [one.code for one in report.findings]) == (verdict == "rejected")


def test_the_run_time_stride_of_a_mode_of_one_does_not_count() -> None:
    report = lc.check(I4.format("?"), I4.format(32), "!cute_nvgpu.atom.universal_copy<i4, 128 b>")
    assert report.compiler.accepted and report.verdict in ("legal", "slow")


def test_values_beyond_a_tiler_mode_of_one_have_stride_0() -> None:
    sides = F16.format("gmem", 16), F16.format("smem", 8)
    report = lc.check(*sides, "universal", bits=128, thr="1:1", val="(4,1):(1,4)")
    assert str(report.copy.src.layout) == "(((4,2),1),1,7):(((1,0),0),0,4)"
    assert [one.code for one in report.findings] == ["LC102"]


def test_algebra_that_was_refused() -> None:
    assert str(lc.group_modes(lc.Layout(4, 1), 0, 1)) == "(4):(1)"
    assert str(lc.make_ordered_layout(((4, 2), 3), (1, 0))) == "((4,2),3):((3,12),1)"
    rows = lc.Layout(((4, 12), 16), ((192, 16), 1))
    assert str(lc.zipped_divide(rows, (None, 16))) == "((4,16),(12,1)):((192,1),(16,0))"
    assert str(lc.slice_(lc.Layout((2, 2), (1, 2)), (0, 0))) == "():()"


def test_ldmatrix_turns_no_tile_whose_rows_are_no_multiple_of_16_bytes() -> None:
    sides = (
        '!cute.memref<bf16, gmem, align<16>, "({}):({},1)">',
        '!cute.memref<bf16, smem, align<128>, "({}):(1,64)">',
    )
    for columns, offered in ((36, False), (64, True)):
        pair = (side.format(f"64,{columns}", columns) for side in sides)
        fixes = lc.check(*pair, "cp.async", bits=64, thr="(32,1):(1,1)", val="(1,4)").fixes
        assert ("transpose-in-ldmatrix" in [fix.strategy for fix in fixes]) == offered


def test_strides_of_booleans_are_told_in_the_bytes_that_they_are_stored_in() -> None:
    sides = (f'!cute.memref<i1, {space}, align<16>, "(8):(16)">' for space in ("gmem", "smem"))
    (finding,) = lc.check(*sides, "universal", bits=8).findings
    assert "stride 16: its neighbours are 16 B apart" in finding.message
