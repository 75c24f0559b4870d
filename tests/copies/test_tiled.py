"""Tiled copies and partitions, by enumeration and on the cases of the measured facts; no DSL needed."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from layoutcheck.algebra.image import image
from layoutcheck.algebra.inttuple import flatten
from layoutcheck.algebra.layout import Layout, compact_row_major, crd2idx, idx2crd
from layoutcheck.algebra.notation import parse_layout, parse_tiler
from layoutcheck.atoms.cp_async import CpAsync
from layoutcheck.atoms.matrix import LdMatrix
from layoutcheck.atoms.other import OtherAtom
from layoutcheck.atoms.universal import UniversalCopy
from layoutcheck.copies.memref import Memref
from layoutcheck.copies.tiled import (
    PartitionRefused,
    TiledCopy,
    TiledCopyAborts,
    make_tiled_copy,
    make_tiled_copy_tv,
    partition,
    threads,
    tile_shape,
)
from layoutcheck.copies.tiling import tile
from layoutcheck.errors import InputError
from layoutcheck.machine.dtypes import dtype

BF16 = dtype("bf16")
CP = CpAsync(BF16, 128)


def tensor(layout, align=16, space="gmem"):
    return Memref(BF16, space, parse_layout(layout), align)


def test_the_report_s_copy():
    """cutlass#2319's tiling: 256 threads of eight values down a column."""
    tiled = make_tiled_copy_tv(CP, parse_layout("(16,16):(16,1)"), parse_layout("(8,1)"))
    assert str(tiled.layout_tv) == "((16,16),8):((128,8),1)"
    assert (tile_shape(tiled), threads(tiled)) == ((128, 16), 256)
    copy = tile(tiled, tensor("(128,64):(1,128)"), tensor("(128,64):(64,1)", 128, "smem"), block_threads=256)
    assert str(copy.src) == '!cute.memref<bf16, gmem, align<16>, "((8,1),1,4):((1,0),0,2048)">'
    assert str(copy.dst) == '!cute.memref<bf16, smem, "((8,1),1,4):((64,0),0,16)">'
    assert copy.tiling.block_threads == 256
    assert copy.tiled is tiled


@pytest.mark.parametrize(
    ("values", "expected"),
    [(4, "((8,1),1,1):((1,0),0,0)"), (8, "((8,1),1,1):((1,0),0,0)"), (12, "((8,2),1,1):((1,8),0,0)")],
)
def test_values_that_are_no_whole_atoms_widen_the_slice(values, expected):
    tiled = make_tiled_copy_tv(CP, Layout((32, 1)), Layout((1, values)))
    view = partition(tiled, "src", tensor(f"(32,{values}):({values},1)")).view
    assert str(view.layout) == expected


def test_threads_of_a_partition_are_where_layout_tv_says():
    tiled = make_tiled_copy_tv(CP, parse_layout("(4,8):(8,1)"), parse_layout("(1,8)"))
    found = partition(tiled, "src", tensor("(16,64):(72,1)"))
    assert found.threads == 32
    assert image(found.thread).tolist() == [72 * (t // 8) + 8 * (t % 8) for t in range(32)]


def test_a_static_thread_proves_more():
    tiled = make_tiled_copy_tv(UniversalCopy(BF16, 16), parse_layout("(32):(1)"), parse_layout("(1)"))
    assert partition(tiled, "src", tensor("(32):(1)")).view.align_bytes is None
    assert partition(tiled, "src", tensor("(32):(1)"), 4).view.align_bytes == 8
    assert partition(tiled, "src", tensor("(32):(1)"), 0).view.align_bytes == 16


def test_ldmatrix_sides_differ():
    """Lane t brings row t of four 8x8 matrices on the source side and owns fragments on the other."""
    tiled = TiledCopy(
        LdMatrix(BF16, 4), parse_layout("((4,8),(2,2,2)):((32,1),(16,8,128))"), parse_tiler("[16:1;16:1]")
    )
    src = partition(tiled, "src", tensor("(16,16):(16,1)", 128, "smem"))
    dst = partition(tiled, "dst", tensor("(16,16):(16,1)", 128, "smem"))
    assert str(src.view.layout) == "((8,1),1,1):((1,0),0,0)"
    assert src.view.align_bytes == 16
    assert sorted(image(src.thread).tolist()) == sorted(16 * r + 8 * h for r in range(16) for h in range(2))
    assert str(dst.view.layout) == "(((2,2,2),1),1,1):(((1,128,8),0),0,0)"


@pytest.mark.parametrize(
    ("thr", "val"), [("(4,8):(4,1)", "(1,8)"), ("(4,8):(1,1)", "(1,8)"), ("(2,3):(2,1)", "(2,2):(2,1)")]
)
def test_overlapping_threads_abort(thr, val):
    with pytest.raises(TiledCopyAborts, match="overlaps itself"):
        make_tiled_copy_tv(CP, parse_layout(thr), parse_layout(val))


def test_what_cannot_be_partitioned_is_an_input_error():
    tiled = make_tiled_copy_tv(CP, parse_layout("(4,8):(8,1)"), parse_layout("(1,8)"))
    with pytest.raises(PartitionRefused, match=r"has 1 mode, the tiler .* has 2"):
        partition(tiled, "src", tensor("(64):(1)"))
    with pytest.raises(PartitionRefused, match="divisibility"):
        partition(tiled, "src", tensor("(16,(24,8)):(192,(8,1))"))
    with pytest.raises(InputError, match="unknown side"):
        partition(tiled, "left", tensor("(16,64):(64,1)"))
    other = OtherAtom("tmem_load", "!cute_nvgpu.atom.tmem_load<f32, 32 DP, 32 bit, x4>")
    with pytest.raises(InputError, match="not modelled"):
        partition(TiledCopy(other, tiled.layout_tv, tiled.tiler), "src", tensor("(16,64):(64,1)"))


@pytest.mark.parametrize("layout_tv", ["32:1", "(32,8,2):(8,1,256)", "(32,?):(8,1)"])
def test_layout_tv_has_two_static_modes(layout_tv):
    with pytest.raises(InputError):
        make_tiled_copy(CP, parse_layout(layout_tv), parse_tiler("[4:1;64:1]"))


extents = st.sampled_from([1, 2, 4])


@st.composite
def tilings(draw):
    """Compact thread layouts, column-major values, a tensor of whole tiles with any static strides."""
    thr, val, reps = (tuple(draw(extents) for _ in range(2)) for _ in range(3))
    thr_layout = Layout(thr, compact_row_major(thr) if draw(st.booleans()) else None)
    whole = tuple(t * v * r for t, v, r in zip(thr, val, reps, strict=True))
    stride = (draw(st.sampled_from([1, 3, 64])), draw(st.sampled_from([1, 100, 512])))
    bits = 16 * draw(st.sampled_from([n for n in (1, 2, 4, 8) if math.prod(val) % n == 0]))
    return (
        make_tiled_copy_tv(UniversalCopy(BF16, bits), thr_layout, Layout(val)),
        thr_layout,
        val,
        Layout(whole, stride),
    )


@settings(max_examples=60, deadline=None)
@given(tilings())
def test_a_partition_is_the_definition(given_tiling):
    """Thread t at (m, n) of thr_layout has the val-shaped block at (m, n) of every tile, in value order."""
    tiled, thr, val, whole = given_tiling
    found = partition(tiled, "src", Memref(BF16, "gmem", whole, 2))
    tile = tile_shape(tiled)
    ids = {
        crd2idx(idx2crd(i, thr.shape), thr.shape, thr.stride): idx2crd(i, thr.shape)
        for i in range(found.threads)
    }
    rests = [-(-w // t) for w, t in zip(whole.shape, tile, strict=True)]
    for thread, place in ids.items():
        want = [
            whole(
                *(
                    p * v + c + t * r
                    for p, v, c, t, r in zip(place, val, idx2crd(value, val), tile, rest, strict=True)
                )
            )
            for rest in (idx2crd(k, tuple(rests)) for k in range(math.prod(rests)))
            for value in range(math.prod(val))
        ]
        start = found.thread(thread)
        assert [start + x for x in image(found.view.layout).tolist()] == want
    assert len(flatten(found.view.layout.shape)) >= 3
