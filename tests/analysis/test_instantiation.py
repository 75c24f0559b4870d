from __future__ import annotations

import numpy as np
import pytest

from layoutcheck.algebra.integers import Dynamic
from layoutcheck.algebra.inttuple import flatten
from layoutcheck.algebra.notation import parse_layout
from layoutcheck.analysis.instantiation import (
    DST_REGION,
    SRC_REGION,
    bases,
    instantiations,
    is_static,
    static_layout,
)
from layoutcheck.copies.copy import Copy, Tiling
from layoutcheck.copies.offsets import offsets
from layoutcheck.copies.tiled import make_tiled_copy_tv, partition
from layoutcheck.errors import InputError
from tests.miscompiles import CP16, g, memref, s, universal

DYNAMIC = [
    "(8,4):(1,?)",
    "(8,4):(1,?{div=8})",
    "((8,4)):((?{div=2},?))",
    "(8,2,3):(?{i64 div=24},?,?{div=16})",
]


@pytest.mark.parametrize("text", DYNAMIC)
@pytest.mark.parametrize("grow", [True, False])
def test_values_keep_every_promise_and_no_more(text, grow):
    layout = parse_layout(text)
    static = static_layout(layout, grow)
    assert static.is_static and static.shape == layout.shape
    for promised, value in zip(flatten(layout.stride), flatten(static.stride), strict=True):
        if isinstance(promised, Dynamic):
            assert value % promised.divisor == 0
            assert value // promised.divisor % 2 == 1
        else:
            assert value == promised


@pytest.mark.parametrize("text", DYNAMIC)
def test_values_keep_elements_apart(text):
    image = offsets(static_layout(parse_layout(text), grow=True))
    assert np.unique(image).size == image.size


def test_equal_marks_are_different_values():
    """Two `?` of one layout, and those of the two operands, are independent."""
    copy = Copy(CP16, g("(8,2,2):(1,?,?)"), s("(8,2,2):(1,?,?)"))
    first = instantiations(copy)[0]
    strides = [d for m in (first.src, first.dst) for d in flatten(m.layout.stride)[1:]]
    assert len(set(strides)) == 4


def test_a_static_copy_is_its_own_instance():
    copy = Copy(CP16, g("(8):(1)"), s("(8):(1)"))
    assert instantiations(copy) == (copy,)


def test_dynamic_predicates_and_extents_become_static():
    pred = memref("i8 gmem (1,2):(0,?)")
    copy = Copy(CP16, g("(8,?):(1,8)"), s("(8,2):(1,8)"), pred=pred)
    assert all(is_static(w) for w in instantiations(copy))


def test_views_of_a_tiling_stay_its_partitions():
    tiled = make_tiled_copy_tv(CP16, parse_layout("(16,8):(8,1)"), parse_layout("(1,8)"))
    src, dst = g("(64,64):(?{div=8},1)"), s("(64,64):(64,1)")
    views = [partition(tiled, side, whole).view for side, whole in (("src", src), ("dst", dst))]
    copy = Copy(CP16, *views, tiled=tiled, tiling=Tiling(tiled, src, dst, 128))
    for instance in instantiations(copy):
        assert is_static(instance)
        assert instance.src.layout == partition(tiled, "src", instance.tiling.src).view.layout
        assert instance.src.align_bytes == copy.src.align_bytes
        pitch = flatten(instance.tiling.src.layout.stride)[0]
        assert pitch % 8 == 0 and pitch % 16 != 0


def test_coordinates_have_no_place_in_memory():
    copy = Copy(CP16, g("(8,8):(1@0,1@1)"), s("(8,8):(1,8)"))
    with pytest.raises(InputError, match="coordinates"):
        instantiations(copy)


@pytest.mark.parametrize("align", [1, 2, 12, 16, 24, 128, 1024])
def test_bases_are_as_aligned_as_promised_and_no_more(align):
    copy = Copy(universal(16), g("(8):(1)", align), s("(8):(1)", align, "S<3,4,3>"))
    pairs = bases(copy)
    for pair in pairs:
        assert all(base % align == 0 for base in pair)
    lowest = align & -align
    assert all(base % (2 * lowest) == lowest for base in pairs[0])


def test_swizzled_bases_set_the_bits_that_are_xored():
    copy = Copy(universal(128), g("(8):(1)"), s("(8):(1)", 16, "S<3,4,3>"))
    _, base = bases(copy)[0]
    assert base >> 7 & 7 == 7
    assert base % 32 == 16


def test_registers_have_one_comfortable_base():
    copy = Copy(universal(128), g("(8):(1)"), memref("bf16 rmem align<2> (8):(1)"))
    assert {dst % 1024 for _, dst in bases(copy)} == {0}


@pytest.mark.parametrize("align", [1, 16, 1024, 1 << 20, 1 << 21, 3 << 19])
def test_a_comfortable_base_is_a_multiple_of_twice_the_promise(align):
    """And of 1 MiB, which is more than any swizzle or access asks for, where the promise divides that."""
    copy = Copy(universal(16), g("(8):(1)", align), s("(8):(1)", align))
    grid = 2 * align if align == 3 << 19 else max(1 << 20, 2 * align)
    for base, region in zip(bases(copy)[-1], (SRC_REGION, DST_REGION), strict=True):
        assert base % grid == 0
        assert region < base <= region + grid


def test_the_least_strides_still_move():
    """Without growth: the least odd multiple that clears what is static, and never 1, which is adjacent."""
    assert str(static_layout(parse_layout("(1,4):(1,?)"), grow=False)) == "(1,4):(1,3)"
    assert str(static_layout(parse_layout("(8,4):(1,?)"), grow=False)) == "(8,4):(1,9)"
    assert str(static_layout(parse_layout("(8,4):(1,?{div=8})"), grow=False)) == "(8,4):(1,8)"
    assert str(static_layout(parse_layout("(8,4,2):(1,?,?)"), grow=False)) == "(8,4,2):(1,9,35)"
