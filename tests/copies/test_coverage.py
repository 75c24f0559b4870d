"""Coverage counted one (thread, value) at a time."""

import math
from collections import defaultdict

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from layoutcheck.algebra.inttuple import flatten
from layoutcheck.algebra.layout import Layout
from layoutcheck.algebra.notation import parse_layout, parse_tiler
from layoutcheck.atoms.cp_async import CpAsync
from layoutcheck.atoms.matrix import LdMatrix, StMatrix
from layoutcheck.atoms.universal import UniversalCopy
from layoutcheck.copies.coverage import coverage, ragged
from layoutcheck.copies.memref import Memref
from layoutcheck.copies.offsets import TooLarge
from layoutcheck.copies.tiled import TiledCopy, make_tiled_copy_tv, tile_indices
from layoutcheck.errors import InputError
from layoutcheck.machine.dtypes import dtype

BF16 = dtype("bf16")


def tiled(thr, val, bits=16):
    return make_tiled_copy_tv(UniversalCopy(BF16, bits), parse_layout(thr), parse_layout(val))


def tensor(text):
    return Memref(BF16, "gmem", parse_layout(text), 16)


def test_a_good_tiled_copy_is_bijective():
    found = coverage(tiled("(16,16):(16,1)", "(8,1)", 128))
    assert found.bijective


def test_fewer_values_than_the_atom_moves_overlap_and_run_past_the_tile():
    found = coverage(make_tiled_copy_tv(CpAsync(BF16, 128), Layout((32, 1)), Layout((1, 4))))
    assert not found.bijective
    assert found.outside == 32 * 4


def test_threads_on_the_same_place():
    tv = TiledCopy(UniversalCopy(BF16, 16), parse_layout("((2,4),2):((0,2),1)"), parse_tiler("[4:1;2:1]"))
    found = coverage(tv)
    assert (found.shared, found.repeated, found.uncovered, found.outside) == (8, 0, 0, 0)


def test_values_on_the_same_place_and_nobody_elsewhere():
    tv = TiledCopy(UniversalCopy(BF16, 16), parse_layout("(4,2):(1,0)"), parse_tiler("[4:1;2:1]"))
    found = coverage(tv)
    assert (found.shared, found.repeated, found.uncovered) == (0, 4, 4)


@pytest.mark.parametrize(
    ("atom", "layout_tv"),
    [
        (LdMatrix(BF16, 4), "((4,8),(2,2,2)):((32,1),(16,8,128))"),
        (StMatrix(BF16, 2), "((4,8),(2,2,2)):((32,1),(16,8,128))"),
        (LdMatrix(BF16, 1), "((4,8),(2,2,2)):((32,1),(16,8,128))"),
    ],
)
def test_matrix_fragments_are_counted_not_row_addresses(atom, layout_tv):
    assert coverage(TiledCopy(atom, parse_layout(layout_tv), parse_tiler("[16:1;16:1]"))).bijective


def test_ragged_modes():
    t = tiled("(4,8):(8,1)", "(1,8)", 128)
    assert ragged(t, tensor("(18,64):(64,1)")) == ((0, 18, 4),)
    assert ragged(t, tensor("(18,60):(64,1)")) == ((0, 18, 4), (1, 60, 64))
    assert ragged(t, tensor("(?,64):(64,1)")) == ()


def test_absurd_sizes_are_refused():
    t = TiledCopy(
        UniversalCopy(BF16, 16), Layout((10**9, 10**9), (1, 10**9)), parse_tiler(f"[{10**9}:1;{10**9}:1]")
    )
    with pytest.raises(TooLarge):
        coverage(t)


shapes = st.lists(st.sampled_from([1, 2, 3, 4]), min_size=2, max_size=2).map(tuple)


@st.composite
def tilings(draw):
    stride = st.sampled_from([0, 1, 2, 3, 4, 8, 12])
    tv = Layout((draw(shapes), draw(shapes)), tuple((draw(stride), draw(stride)) for _ in range(2)))
    tiler = tuple(Layout(draw(st.sampled_from([1, 2, 3, 4, 6])), 1) for _ in range(2))
    return TiledCopy(UniversalCopy(BF16, draw(st.sampled_from([16, 32, 64]))), tv, tiler)


@settings(max_examples=80, deadline=None)
@given(tilings())
def test_coverage_counted_one_by_one(t):
    shape = tuple(m.shape for m in t.tiler)
    try:
        found = coverage(t)
    except InputError:
        assume(False)
    owners = defaultdict(list)
    for thread, value, index in named(t):
        owners[index].append((thread, value))
    tile = math.prod(shape)
    inside = {i: o for i, o in owners.items() if i < tile}
    assert found.uncovered == tile - len(inside)
    assert found.outside == sum(len(o) for i, o in owners.items() if i >= tile)
    assert found.shared == sum(len({p[0] for p in o}) > 1 for o in inside.values())
    assert found.repeated == sum(len({p[0] for p in o}) < len(o) for o in inside.values())


def named(t):
    """(thread, value, index into the tile), one by one."""
    thread, (one, more) = tile_indices(t, "src")
    for i in range(math.prod(flatten(thread.shape))):
        for j in range(math.prod(flatten(one.shape))):
            for k in range(math.prod(flatten(more.shape))):
                yield i, j + k * math.prod(flatten(one.shape)), thread(i) + one(j) + more(k)
