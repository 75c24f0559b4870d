"""TMA as a repair: of TMA copies that go wrong, and of other copies between global and shared memory."""

from __future__ import annotations

import pytest

from layoutcheck.check import check
from layoutcheck.fixes import propose
from layoutcheck.sources.request import build
from tests.rules.test_tma_rows import MISCOMPILES as ROW_MISCOMPILES
from tests.tma_miscompiles import TMA_MISCOMPILES, g, load, s

# Rows and tiles of odd widths, a pitch that runs backwards: another copy.
NO_REPAIR = {"box-row", "coordinate", "negative"}


@pytest.mark.parametrize("name", TMA_MISCOMPILES)
def test_every_hole_has_its_repair(name: str) -> None:
    fixes, obstacle = propose(check(build(**TMA_MISCOMPILES[name][0])[0]))
    assert bool(fixes) == (name not in NO_REPAIR), obstacle
    assert all(fix.verdict in ("legal", "slow") for fix in fixes)
    assert fixes or obstacle


def test_a_split_tile_gets_atoms_as_wide_as_the_swizzle() -> None:
    report = check(build(**load(g(), s("(64,128):(128,1)", swizzle="S<3,4,3>")))[0])
    fixes, _ = propose(report)
    assert str(fixes[0].copies[0].dst.layout) == "(64,(64,2)):(64,(1,4096))"
    assert fixes[0].predicted["instructions_per_thread"] == 2
    assert "(64, (64, 2))" in fixes[0].code


def test_another_way_to_move_the_tile_comes_after_what_changes_less() -> None:
    copy, _ = build(
        g("(64,64):(256,1)"), s("(64,64):(1,64)", 16), "cp.async", bits=128, thr="(16,8):(8,1)", val="(1,8)"
    )
    fixes, _ = propose(check(copy))
    [at] = [n for n, fix in enumerate(fixes) if fix.strategy == "tma"]
    assert at > 0 and {fix.verdict for fix in fixes[:at]} == {"legal"}
    assert {fix.verdict for fix in fixes[at + 1 :]} == {"slow"}
    assert "mbarrier_arrive_and_expect_tx(mbar, 8192)" in fixes[at].code


def test_a_long_tile_in_parts() -> None:
    """Every part is the model's own copy, in its place, and together they are the tile."""
    fixes, _ = propose(check(build(**{**TMA_MISCOMPILES["box-skips"][0], "coord": "(1,2,0)"})[0]))
    parts = fixes[0].copies
    assert [(copy.tma.tiler, copy.tma.coord) for copy in parts if copy.tma] == [
        ((150, 16, 4), (2, 2, 0)),
        ((150, 16, 4), (3, 2, 0)),
    ]
    assert "stride=(16, 1, 2400, 9600)" in fixes[0].code  # one tensor for all of them
    assert "mbarrier_arrive_and_expect_tx(mbar, 38400)" in fixes[0].code


def test_every_second_element_comes_with_the_others() -> None:
    fixes, _ = propose(check(build(**TMA_MISCOMPILES["t3"][0])[0]))
    (copy,) = fixes[0].copies
    assert copy.tma is not None and copy.tma.tiler == (64, 128)
    assert str(copy.src.layout) == "(256,256):(256,1)"
    assert "element 2*j" in fixes[0].note


# Rows of 16 B, 24 B and 392 B have no tile of whole boxes at 128 B, or none that may be stored.
NO_ROWS = {"smem-address", "box-row", "store-tail"}


@pytest.mark.parametrize("name", ROW_MISCOMPILES)
def test_rows_of_four_have_their_repair(name: str) -> None:
    fixes, obstacle = propose(check(build(**ROW_MISCOMPILES[name][0])[0]))
    assert bool(fixes) == (name not in NO_ROWS), obstacle
    for fix in fixes:
        assert [copy.index is not None for copy in fix.copies] == [True]
        assert "gmem_coord_tensor=index" in fix.code


def test_a_tile_of_more_modes_than_the_tensor_has_no_parts() -> None:
    """A long mode that the tensor does not have (found by tests/test_fuzz_async.py)."""
    copy, _ = build("(1):(1)", "(1,(2,16,16),(1)):(0,(0,0,0),(0))", "tma_load", dtype="bf16")
    report = check(copy)
    assert report.verdict == "rejected" and propose(report)[0] == ()
