"""What a report says of a TMA copy: its tile and its tensor map, as text and as JSON."""

from __future__ import annotations

import json

import layoutcheck as lc
from layoutcheck.atoms.tma.descriptor import Corners
from layoutcheck.atoms.tma.plan import plan
from layoutcheck.atoms.tma.summary import lines, tensor_map

SMEM = '!cute.memref<bf16, smem, align<1024>, S<3,4,3>, "(128,64):(64,1)">'


def test_a_tile() -> None:
    src = '!cute.memref<bf16, gmem, align<16>, "(512,256,3):(256,1,131072)">'
    copy = lc.check(src, SMEM, "tma_load", tiler="(128,64,1)", coord="(3,2,1)").copy
    assert lines(copy) == [
        ("tile", "(128,64,1) at (3,2,1)"),
        (
            "map",
            "BF16_RN, globalDim (256,512,3), globalStrides (512,262144) B, boxDim (64,128,1), swizzle 128B",
        ),
    ]
    map_ = tensor_map(copy)
    assert map_ == plan(copy).written


def test_a_tile_wholly_outside_of_its_tensor_is_taken_to_be_meant() -> None:
    gmem = '!cute.memref<bf16, gmem, align<16>, "(250,256):(256,1)">'
    sides = {"load": (gmem, SMEM), "store": (SMEM, gmem)}

    def assumed(kind: str, coord: str) -> tuple[str, ...]:
        report = lc.check(*sides[kind], f"tma_{kind}", coord=coord)
        assert report.verdict == "legal"
        return report.assumptions

    outside = "(2, 0) is meant, which is wholly outside of the tensor"
    assert assumed("load", "(1,3)") == ()
    assert assumed("load", "(2,0)") == (f"tile {outside}: the load brings zeros",)
    assert assumed("store", "(2,0)") == (f"tile {outside}: the store writes nothing",)
    assert len(assumed("load", "(0,4)")) == 1


def test_rounding_by_an_internal_type_is_taken_to_be_meant() -> None:
    """A GPU's maps of tf32 round; elements that are tf32 already stay as they are."""
    made = {
        (element, internal): lc.check(
            "(300,8):(1,304)", "(24,8):(1,24)", "tma_load", dtype=element, internal_type=internal
        ).assumptions
        for element, internal in (("f32", "tf32"), ("f32", None), ("tf32", "tf32"), ("f32", "i32"))
    }
    rounds = {pair for pair, assumed in made.items() if any("rounds" in one for one in assumed)}
    assert rounds == {("f32", "tf32")}
    store = lc.check("(24,8):(1,24)", "(300,8):(1,304)", "tma_store", dtype="f32", internal_type="tf32")
    assert not any("rounds" in one for one in store.assumptions)


def test_a_convolution() -> None:
    src = '!cute.memref<bf16, gmem, align<16>, "((56,56,8),64):((64,3584,200704),1)">'
    report = lc.check(src, SMEM, "im2col_tma_load", im2col="filter=(3,3) padding=(1,1)", coord="(24,4)")
    map_ = tensor_map(report.copy)
    assert map_ is not None and map_.corners == Corners((-1, -1), (-1, -1)) and map_.box == (64, 128)
    told = json.loads(json.dumps(report.to_dict()))["copy"]["tma"]
    assert told["im2col"]["upper_padding"] == [1, 1] and told["coord"] == [24, 4]
    assert told["tensor_map"]["pixelsPerColumn"] == 128
    assert [word for word, _ in lines(report.copy)] == ["tile", "conv", "map"]


def test_run_time_strides_have_a_tile_alone() -> None:
    src = '!cute.memref<bf16, gmem, align<16>, "(512,256):(?{div=8},1)">'
    copy = lc.check(src, SMEM, "tma_load", tiler="(128,64)").copy
    assert tensor_map(copy) is None
    assert lines(copy) == [("tile", "(128,64) at (0,0)")]


def test_other_copies_have_none() -> None:
    report = lc.check("(8):(1)", "(8):(1)", "cp.async", bits=128, dtype="bf16")
    assert report.to_dict()["copy"]["tma"] is None
