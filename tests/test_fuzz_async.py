"""Copies by TMA, in bulk and between blocks, with all that is said of them beside the two tensors.

Whatever it is, the answer is a report in every format, or one InputError.
"""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import layoutcheck as lc
from docs.schemas.reports import schema
from layoutcheck.errors import InputError
from layoutcheck.formats import FORMATS
from layoutcheck.reports import renderer
from layoutcheck.reports.json import to_dict
from layoutcheck.reports.style import Style
from layoutcheck.sources.records import read_record
from tests.test_fuzz import layouts, usual

SCHEMA = jsonschema.Draft202012Validator(schema())

ATOMS = (
    "tma_load", "tma_load.multicast", "tma_store", "tma_reduce", "im2col_tma_load",
    "im2col_tma_load.multicast", "im2col_tma_store", "tma_gather4", "tma_gather4.multicast", "tma_scatter4",
    "bulk.g2s", "bulk.g2s.multicast", "bulk.s2g", "bulk.s2g.mask", "bulk.s2s", "st.async",
)  # fmt: skip
STORES = ("tma_store", "tma_reduce", "im2col_tma_store", "tma_scatter4", "bulk.s2g", "bulk.s2g.mask")
BETWEEN = ("bulk.s2s", "st.async")
TYPES = ("bf16", "f32", "i8", "f64", "tf32", "f4E2M1FN", "f6E2M3FN", "i1")
CONVOLUTION = (
    "filter", "padding", "stride", "dilation", "lower_corner_whd", "upper_corner", "lower_srt", "taps",
)  # fmt: skip
sizes = st.sampled_from([1, 2, 3, 4, 8, 16, 32, 64])
# Numbers that some option takes, and that none does.
ODD = (-1, 0, 16, 17, 1 << 21, 1 << 41)


def printed(numbers: list[int]) -> str:
    return f"({','.join(map(str, numbers))})"


@st.composite
def compact(draw: st.DrawFn, extents: list[int], *, dynamic: bool = False) -> str:
    """A layout whose modes follow each other in some order, perhaps with gaps or run-time parts."""
    strides, step = ["0"] * len(extents), 1
    for mode in draw(st.permutations(range(len(extents)))):
        strides[mode] = str(step)
        if dynamic and step > 1 and draw(st.integers(0, 5)) == 0:
            strides[mode] = draw(st.sampled_from(["?", "?{div=8}", "?{i64 div=64}", "0"]))
        step = step * extents[mode] + draw(st.sampled_from([0, 0, 0, 8, 1]))
    shape = ["?" if dynamic and draw(st.integers(0, 7)) == 0 else str(n) for n in extents]
    return f"({','.join(shape)}):({','.join(strides)})"


@st.composite
def activations(draw: st.DrawFn) -> str:
    """A tensor of pixels and channels, contiguous along the channels."""
    channels = draw(sizes)
    pixels = draw(st.lists(sizes, min_size=2, max_size=4))
    strides = [channels]
    for n in pixels[:-1]:
        strides.append(strides[-1] * n)
    return f"({printed(pixels)},{channels}):({printed(strides)},1)"


@st.composite
def requests(draw: st.DrawFn) -> dict[str, Any]:
    atom = draw(st.sampled_from(ATOMS))
    tma, multicast = "tma" in atom, "multicast" in atom
    between = multicast or atom in BETWEEN
    rank = 2 if "4" in atom and draw(st.integers(0, 5)) else draw(st.integers(1, 5))
    gmem = draw(compact(draw(st.lists(sizes, min_size=rank, max_size=rank)), dynamic=True))
    if "im2col" in atom and draw(st.integers(0, 5)):
        gmem, rank = draw(activations()), 2
    tile = draw(st.lists(sizes, min_size=rank, max_size=rank))
    smem = draw(st.one_of(*[compact(tile)] * 3, layouts()))
    sides = (smem, smem) if atom in BETWEEN else (smem, gmem) if atom in STORES else (gmem, smem)
    request = {"atom": atom, "dtype": draw(st.sampled_from(TYPES)), "src": sides[0], "dst": sides[1]}
    others = draw(st.integers(0, 4)) == 0  # options of other atoms too
    odd = others and draw(st.booleans())

    def number(*usual: int) -> st.SearchStrategy[int]:
        return st.sampled_from(ODD if odd else usual)

    numbers = st.lists(number(1, 2, 4, 8), min_size=rank, max_size=5 if odd else rank).map(printed)
    taps = st.sampled_from(["1", "0", "3", "-1", "(1,1)", "(3,3)", "(2,0)", "(-1,-1)", "(3,3,3)", "(1,)"])
    swizzled = compact(tile).map(lambda one: f"S<2,4,3> o 0 o {one}")
    in_smem = compact(tile).map(lambda one: f'!cute.memref<i32, smem, "{one}">')
    rows = st.one_of(layouts(), compact(tile, dynamic=True), in_smem)
    mask = st.one_of(number(0, 1, 2, 3, 7), st.sampled_from(["0b11", "0x1", "", "7", "0b2"]))
    # What it may be said of, and how.
    optional: dict[str, tuple[bool, st.SearchStrategy[Any]]] = {
        "cluster": (between, number(1, 2, 4, 8)),
        "mcast_mask": (multicast, mask),
        "cta_rank": (atom in BETWEEN, number(0, 1, 3)),
        "waits_rank": (atom in BETWEEN, number(0, 1, 3)),
        "tiler": (tma, st.one_of(st.just(printed(tile)), numbers)),
        "coord": (tma, numbers),
        "described": (tma, st.one_of(layouts(), swizzled)),
        "internal_type": (tma, st.sampled_from(["bf16", "i32", "f64", "tf32", "f6E2M3FN"])),
        "im2col": ("im2col" in atom, st.dictionaries(st.sampled_from(CONVOLUTION), taps, max_size=4).map(
            lambda told: " ".join(f"{name}={value}" for name, value in told.items())
        )),
        "index": ("4" in atom, rows),
        "expect_bytes": (True, number(1, 16, 128, 4096)),
        "block": (True, number(1, 32)),
        "swizzle": (True, st.sampled_from(["S<3,4,3>", "S<1,4,3>", "S<0,4,3>", "S<1,2,3>", "S<3,3,3>"])),
        "arch": (True, st.sampled_from(["sm_80", "sm_90a", "sm_100a", "sm_120"])),
        "src_align": (True, number(1, 3, 16, 128, 1024)),
        "dst_align": (True, number(1, 3, 16, 128, 1024)),
        "bits": (not tma, st.sampled_from([8, 32, 64, 128, 1024])),
        "pred": (False, st.just("(1):(1)")),
        "op": (False, st.sampled_from(["copy", "copy_atom_call", "basic_copy_if", "autovec_copy"])),
    }  # fmt: skip
    for key, (belongs, values) in optional.items():
        if draw(st.integers(0, 2 if belongs else 12 if others else 60)) == 0:
            request[key] = draw(values)
    if between and draw(st.integers(0, 3)):  # what such a copy cannot do without
        request.setdefault("cluster", draw(st.sampled_from([1, 2, 4, 8])))
        request.setdefault("mcast_mask" if multicast else "cta_rank", draw(st.integers(0, 5)))
    return request


def every_format(request: dict[str, Any]) -> None:
    """A report or an InputError, whatever it is asked as: every format, the schema, and a line of JSON."""
    line = json.dumps(request)
    try:
        copy = read_record(line)
    except InputError as error:
        assert error.message
        with pytest.raises(InputError):
            lc.check(**request)
        return
    report = lc.check(**request)  # which never raises for a copy that can be read
    assert (copy.copy, copy.assumptions) == (report.copy, report.assumptions)
    SCHEMA.validate(json.loads(json.dumps(to_dict(report))))
    for name in FORMATS["explain"]:
        try:
            text = renderer(name)([report], Style(everything=True))
        except InputError:
            assert name == "svg", name  # which has nothing to show of a copy that never runs
            continue
        assert report.verdict in text or name in ("svg", "github", "sarif"), name  # which may have no finding


@settings(usual, max_examples=40)
@given(requests())
def test_async_copies(request: dict[str, Any]) -> None:
    every_format(request)


@pytest.mark.sweep
@settings(usual, max_examples=10_000)
@given(requests())
def test_async_copies_at_length(request: dict[str, Any]) -> None:
    every_format(request)


FOUND = {
    "gather4 of an internal type, a shared tensor of one mode": {
        "atom": "tma_gather4",
        "dtype": "bf16",
        "src": "(1,1):(1,1)",
        "dst": "1:0",
        "described": "S<2,4,3> o 0 o (1,1):(1,1)",
        "internal_type": "i32",
    },
    "a tile of fewer modes than the tensor": {
        "atom": "tma_scatter4", "dtype": "i8", "src": "16:128", "dst": "(2,64):(1,10)",
        "described": "S<2,4,3> o 0 o (4,4):(4,1)", "index": '!cute.memref<i32, smem, "(4,4):(1,5)">',
        "block": 32, "swizzle": "S<3,4,3>", "arch": "sm_80", "src_align": 3,
    },
    "pictures of it": {
        "atom": "tma_scatter4", "dtype": "tf32", "src": "((16,16,3)):((?,2,1))", "dst": "(2,?):(1,2)",
        "described": "(16,16,4):(64,64,-1)", "internal_type": "f64", "arch": "sm_80", "op": "autovec_copy",
    },
    "pictures of a tile beyond the tensor": {
        "atom": "tma_load", "dtype": "f32", "src": "(64,64):(1,64)", "dst": "(8,8):(1,9)", "coord": "(9,9)",
    },
    "pictures of boxes beyond the tensor": {
        "atom": "tma_gather4", "dtype": "bf16", "src": "(?,?):(1,?)", "dst": "(1,2):(1,1)", "tiler": "(1,2)",
        "coord": "(1,1)", "index": "(?,?):(1,1)",
    },
    "pictures of a tile partly beyond the tensor": {
        "atom": "tma_gather4", "dtype": "bf16", "src": "(?,?):(1,1)", "dst": "(2,2):(1,2)", "coord": "(1,2)",
        "described": "S<2,4,3> o 0 o (2,2):(1,2)",
    },
    "an index tensor of run-time extents": {
        "atom": "tma_gather4", "dtype": "bf16", "src": "(?,?):(1,1)", "dst": "(1,2):(1,1)", "coord": "(1,1)",
        "described": "S<2,4,3> o 0 o (1,2):(1,1)",
    },
    "a shared tensor of more elements than the tile": {
        "atom": "tma_scatter4", "dtype": "i8", "src": "(16,16,16):(257,16,1)", "dst": "(3,3,1):(1,11,41)",
        "tiler": "(4,8,2)", "swizzle": "S<3,4,3>",
    },
    "evidence of run-time extents": {
        "atom": "tma_load", "dtype": "bf16", "src": "(?):(1)", "dst": "((?)):((0))", "tiler": "(1)",
        "coord": "(1)",
    },
    "a repair whose layouts cannot be composed": {
        "atom": "bulk.s2g.mask", "dtype": "i1", "src": "(32,3,3,3,4):(4,392,128,1176,1)",
        "dst": "(3,4,3,4,32):(40,360,?{div=8},1440,1)", "swizzle": "S<1,4,3>", "src_align": 128,
    },
    "autovec_copy of layouts that cannot be composed": {
        "atom": "autovec", "dtype": "f32", "src": "((16,3),(2,4)):((1,0),(128,?))", "dst": "(64,6):(1,72)",
    },
}  # fmt: skip


@pytest.mark.parametrize("name", FOUND)
def test_what_the_long_run_found(name: str) -> None:
    every_format(FOUND[name])
