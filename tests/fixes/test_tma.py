"""TMA as a repair: of TMA copies that go wrong, and of other copies between global and shared memory."""

from __future__ import annotations

import pytest

from layoutcheck.check import check
from layoutcheck.fixes import propose
from layoutcheck.sources.request import build
from tests.tma_holes import TMA_HOLES, g, load, s

# A stride of two, rows and tiles of odd widths, a tile too long, a pitch that runs backwards: another copy.
NO_REPAIR = {"t3", "box-row", "coordinate", "box-skips", "negative"}


@pytest.mark.parametrize("name", TMA_HOLES)
def test_every_hole_has_its_repair(name: str) -> None:
    fixes, obstacle = propose(check(build(**TMA_HOLES[name][0])[0]))
    assert bool(fixes) == (name not in NO_REPAIR), obstacle
    assert all(fix.verdict in ("legal", "slow") for fix in fixes)
    assert fixes or obstacle


def test_a_split_tile_gets_atoms_as_wide_as_the_swizzle() -> None:
    report = check(build(**load(g(), s("(64,128):(128,1)", swizzle="S<3,4,3>")))[0])
    fixes, _ = propose(report)
    assert str(fixes[0].copies[0].dst.layout) == "(64,(64,2)):(64,(1,4096))"
    assert fixes[0].predicted["instructions_per_thread"] == 2
    assert "(64, (64, 2))" in fixes[0].code


def test_another_copy_of_the_tile_comes_last() -> None:
    copy, _ = build(
        g("(64,64):(256,1)"), s("(64,64):(1,64)", 16), "cp.async", bits=128, thr="(16,8):(8,1)", val="(1,8)"
    )
    fixes, _ = propose(check(copy))
    assert fixes[-1].strategy == "tma"
    assert "mbarrier_arrive_and_expect_tx(mbar, 8192)" in fixes[-1].code
