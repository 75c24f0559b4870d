"""What single strategies make of one copy."""

from __future__ import annotations

from dataclasses import replace

import pytest

from layoutcheck.check import check
from layoutcheck.fixes import _unpads, times
from layoutcheck.fixes.match_layout import own_side
from layoutcheck.fixes.pad_pitch import _padded, padded
from layoutcheck.fixes.regroup import _one_vector
from layoutcheck.fixes.tma import _draft
from layoutcheck.judge import judge
from layoutcheck.sources.request import build
from layoutcheck.sources.types import parse_memref
from tests.tma_miscompiles import g, load, s


@pytest.mark.parametrize(("layout", "made"), [
    ("((32,2),3):((1,64),128)", "((8,(4,2)),3):((1,(8,64)),128)"),
    ("(8,3):(1,128)", "((8,1),3):((1,0),128)"),
    ("((2,16),3):((1,2),128)", "((8,4),3):((1,8),128)"),
])  # fmt: skip
def test_v_is_split_after_one_vector(layout: str, made: str) -> None:
    found = _one_vector(parse_memref(f'!cute.memref<bf16, gmem, align<16>, "{layout}">'), 8)
    assert found is not None and str(found.layout) == made


@pytest.mark.parametrize(("layout", "made"), [
    ("(8,4):(1,9)", "(8,4):(1,16)"),
    ("((8,1),4):((1,0),-9)", "((8,1),4):((1,0),-9)"),
])  # fmt: skip
def test_a_tensor_that_runs_backwards_keeps_its_strides(layout: str, made: str) -> None:
    assert str(_padded(parse_memref(f'!cute.memref<bf16, smem, align<16>, "{layout}">'), 8).layout) == made


@pytest.mark.parametrize(("space", "tiled", "side"), [
    ("smem", True, "dst"), ("smem", False, "dst"), ("rmem", True, None), ("rmem", False, "dst"),
    ("gmem", True, None), ("gmem", False, None),
])  # fmt: skip
def test_whose_layout_the_kernel_chooses(space: str, tiled: bool, side: str | None) -> None:
    threads = {"thr": "(8,4):(4,1)", "val": "(1,8)"} if tiled else {}
    tensor = '!cute.memref<bf16, {}, align<16>, "(8,32):(32,1)">'
    copy, _ = build(tensor.format("gmem"), tensor.format(space), "universal", bits=128, **threads)
    assert own_side(copy) == side


@pytest.mark.parametrize("kind", ["tma_load", "tma_store"])
@pytest.mark.parametrize("changed", [False, True])
def test_a_change_of_the_tile_concerns_every_use_of_it(kind: str, changed: bool) -> None:
    request = load(g(), s())
    if kind == "tma_store":
        request |= {"src": request["dst"], "dst": request["src"], "atom": kind}
    copy, _ = build(**request)
    assert copy.tma is not None and check(copy).verdict == "legal"
    side, other = ("dst", "src") if kind == "tma_load" else ("src", "dst")
    smem = copy.side(side)
    new = parse_memref(str(smem).replace("(64,1)", "(1,64)")) if changed else replace(smem, align_bytes=2048)
    note = _draft(copy, kind.removeprefix("tma_"), copy.side(other), new, copy.tma, ("a",)).note
    assert note == ("a; every use of the tile takes that layout" if changed else "a")


def test_a_pitch_is_as_far_apart_as_what_is_below_it_now_takes() -> None:
    assert padded([4, 8, 2], [1, 5, 40], 4) == [1, 8, 64]
    assert padded([4, 1, 2], [1, 7, 40], 4) == [1, 7, 40]  # nothing is stepped over


def test_costs_differ_by_halves_of_the_least() -> None:
    assert [times(cost, 10) for cost in (10, 14.9, 15, 22.4, 22.5)] == [0, 0, 1, 1, 2]


@pytest.mark.parametrize(("old", "new", "lost"), [("(8,8):(8,1)", "(8,8):(8,1)", False),
    ("(8,8):(12,1)", "(8,8):(12,1)", False), ("(8,8):(12,1)", "(8,8):(8,1)", True),
    ("(8,8):(12,1)", "(8,8):(1,8)", False)])  # fmt: skip
def test_padding_is_lost_where_less_of_it_is_along_the_same_mode(old: str, new: str, lost: bool) -> None:
    given, made = (
        build("(8,8):(8,1)", layout, "universal", dtype="bf16", thr="(8,1):(1,1)", val="(1,8)")[0]
        for layout in (old, new)
    )
    fix = next(iter(judge(build("(8):(1)", "(8):(64)", "cp.async", bits=128, dtype="bf16")[0]).fixes))
    assert _unpads(given, replace(fix, copies=(made,))) == lost
