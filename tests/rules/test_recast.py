"""LC209: what `recast_tensor` loses."""

from __future__ import annotations

import pytest

import layoutcheck as lc

TILE = '!cute.memref<bf16, smem, align<1024>, {}"(8,64):(64,1)">'
FRAGMENT = '!cute.memref<f32, rmem, align<32>, "(8,32):(1,8)">'


@pytest.mark.parametrize(("swizzle", "verdict"), [("S<3,4,3>, ", "wrong"), ("", "legal")])
def test_a_recast_forgets_the_pointers_swizzle(swizzle: str, verdict: str) -> None:
    report = lc.check(f"recast<f32>({TILE.format(swizzle)})", FRAGMENT, "universal", bits=32)
    assert report.copy.src.swizzle is None
    assert report.verdict == verdict
    assert ("LC209" in [finding.code for finding in report.findings]) == (verdict == "wrong")
