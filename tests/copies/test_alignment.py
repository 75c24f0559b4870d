"""The measured alignment rule on the table of expressions it was measured with, and its soundness."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from layoutcheck.algebra.integers import Dynamic
from layoutcheck.algebra.layout import Layout
from layoutcheck.algebra.notation import parse_layout
from layoutcheck.algebra.swizzle import Swizzle
from layoutcheck.copies.alignment import align_bits, offset, recast, shifted
from layoutcheck.copies.memref import Memref
from layoutcheck.errors import InputError
from layoutcheck.machine.dtypes import dtype
from tests.copies.slices import local_tile, slice_

TID = Dynamic()


def bf16(layout, align=16):
    return Memref(dtype("bf16"), "gmem", parse_layout(layout), align)


def align(memref):
    return align_bits(memref) // 8


@pytest.mark.parametrize(
    ("layout", "coord", "expected"),
    [
        ("(8,16):(1,9)", (None, 1), 2), ("(8,16):(1,9)", (None, 2), 4),
        ("(8,16):(1,9)", (None, 4), 8), ("(8,16):(1,9)", (None, 8), 16),
        *((f"(8,64):(1,{s})", (None, TID), a)
          for s, a in zip((1, 2, 4, 6, 8, 9, 12, 16, 0), (2, 4, 8, 4, 16, 2, 8, 16, 16), strict=True)),
        ("(1,4):(1,2)", (None, Dynamic(2)), 8),
        ("(8,(2,4)):(1,(2,128))", (None, TID), 4), ("(8,(2,4)):(1,(2,128))", (None, (0, TID)), 16),
        ("(8,8):(1,60)", (None, TID), 8),
        ("(8,8):(1,65)", (None, 2), 4), ("(8,8):(1,65)", (None, 8), 16), ("(8,8):(1,65)", (None, TID), 2),
        ("(8,4,4,4):(1,12,16,4)", (None, 1, TID, 1), 8), ("(8,4,4,4):(1,12,4,16)", (None, 1, 1, TID), 16),
        ("(8,(4,4)):(1,(1,8))", (None, Dynamic(6)), 2), ("(8,(4,4)):(1,(1,8))", (None, Dynamic(2)), 4),
    ],
)  # fmt: skip
def test_slices(layout, coord, expected):
    assert align(slice_(bf16(layout), coord)) == expected


@pytest.mark.parametrize(
    ("elements", "expected"),
    [(1, 2), (2, 4), (4, 8), (6, 4), (8, 16), (-8, 16), (TID, 2), (Dynamic(8), 16), (0, 16)],
)
def test_pointer_arithmetic(elements, expected):
    assert align(shifted(bf16("8:1"), elements)) == expected


@pytest.mark.parametrize(("tiler", "expected"), [((16, 16), 16), ((16, 4), 8), ((16, 6), 4)])
def test_local_tiles(tiler, expected):
    tile = local_tile(bf16("(64,64):(64,1)"), tiler, (TID, TID))
    assert align(tile) == expected
    assert tile.layout == Layout(tiler, (64, 1))
    rest = local_tile(bf16("(64,64):(64,1)"), tiler, (None, TID))
    assert rest.layout == Layout((*tiler, 4), (64, 1, 1024))


def test_sub_byte_alignment_is_not_printed():
    fp4 = Memref(dtype("f4E2M1FN"), "gmem", parse_layout("8:1"), 16)
    assert [shifted(fp4, k).align_bytes for k in (1, 2, 4, 8)] == [None, 1, 2, 4]
    assert align_bits(shifted(fp4, 1)) == 4


def test_the_element_s_own_alignment_is_not_printed():
    assert shifted(bf16("8:1"), 1).align_bytes is None


def test_a_swizzle_weakens_the_address_not_the_claim():
    m = Memref(dtype("bf16"), "smem", parse_layout("(8,64):(64,1)"), 128, Swizzle(3, 2, 3))
    row = slice_(m, (TID, None))
    assert (row.align_bytes, row.access_align_bytes) == (128, 4)


def test_recast_keeps_bytes_and_forgets_the_swizzle():
    m = Memref(dtype("bf16"), "smem", parse_layout("(8,8):(63,1)"), 2, Swizzle(3, 4, 3))
    wide = recast(m, dtype("f32"))
    assert str(wide) == '!cute.memref<f32, smem, align<2>, "(8,4):(32,1)">'
    assert wide.recast_from is m


def test_a_moved_base_keeps_the_layout():
    whole = bf16("(8,64):(64,1)")
    moved = shifted(whole, offset(whole.layout, (TID, 4)))
    assert str(moved) == '!cute.memref<bf16, gmem, align<8>, "(8,64):(64,1)">'


@pytest.mark.parametrize("coord", [(1,), (None, 1, 1), ((None, 1), 1), (1, 1)])
def test_coordinates_that_do_not_fit(coord):
    with pytest.raises(InputError):
        slice_(bf16("(8,8):(8,1)"), coord)


def test_basis_strides_have_no_address():
    with pytest.raises(InputError):
        offset(parse_layout("(8,8):(1@0,1@1)"), (1, 1))


leaf = st.tuples(st.sampled_from([2, 3, 4, 8]), st.sampled_from([0, 1, 2, 3, 8, 12, -4]))
index = st.one_of(st.integers(0, 40), st.sampled_from([1, 2, 3, 4, 8]).map(Dynamic))


@settings(max_examples=200, deadline=None)
@given(st.lists(leaf, min_size=1, max_size=3), index, st.lists(st.integers(0, 50), min_size=3, max_size=3))
def test_the_claim_holds_for_every_value(leaves, coord, factors):
    """Whatever a run-time index turns out to be, the offset is a multiple of what was claimed of it."""
    layout = Layout(tuple(s for s, _ in leaves), tuple(d for _, d in leaves))
    claimed = offset(layout, coord)
    known = claimed.divisor if isinstance(claimed, Dynamic) else abs(claimed)
    for k in factors:
        at = k * coord.divisor if isinstance(coord, Dynamic) else coord
        assert math.gcd(layout(at), known) == known or layout(at) == 0
