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
