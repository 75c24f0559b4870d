"""LC306: only numbers that follow from the element's width are read as elements."""

from __future__ import annotations

import pytest

import layoutcheck as lc

UNIT = "LC306"


@pytest.mark.parametrize(
    ("tile", "swizzle", "dtype", "bits", "thr", "val", "found"),
    [
        # CUTLASS's tensorop_gemm: a shift of log2(128 // width) bits
        ("(64,64):(64,1)", "S<2,4,4>", "f8E4M3FN", 128, "(64,4):(1,64)", "(1,16)", True),
        # learn-CuTeDSL: make_swizzle(5, 1, 6), of f16 elements, in a composed layout
        ("(128,64):(64,1)", "S<5,2,6>", "f16", 16, "(128,2):(2,1)", "(1,32)", False),
    ],
)
def test_a_shift_is_a_mistake_of_units_only_if_the_width_explains_it(
    tile: str, swizzle: str, dtype: str, bits: int, thr: str, val: str, found: bool
) -> None:
    report = lc.check(
        tile,
        f'!cute.memref<{dtype}, smem, align<8192>, {swizzle}, "{tile}">',
        "universal",
        bits=bits,
        dtype=dtype,
        src_space="gmem",
        thr=thr,
        val=val,
    )
    codes = [finding.code for finding in report.findings]
    assert "LC301" in codes
    assert (UNIT in codes) == found


def test_a_copy_that_is_not_modelled_without_its_swizzle_has_a_report() -> None:
    """24-bit elements: under the swizzle one at a time, without it vectors of 3 bytes."""
    report = lc.check(
        '!cute.memref<i24, gmem, align<12>, "(3,(2,2)):(1,(3,6))">',
        '!cute.memref<i24, smem, align<12>, S<2,4,3>, "(3,(2,2)):(1,(3,6))">',
        "!cute_nvgpu.atom.universal_copy<i16>",
    )
    assert "LC205" not in {finding.code for finding in report.findings}
