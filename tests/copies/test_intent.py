from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from layoutcheck.algebra.layout import Layout
from layoutcheck.algebra.notation import parse_layout
from layoutcheck.algebra.swizzle import Swizzle
from layoutcheck.atoms.intent import intent
from layoutcheck.atoms.matrix import LdMatrix, StMatrix
from layoutcheck.atoms.universal import UniversalCopy
from layoutcheck.copies.addresses import PRIVATE
from layoutcheck.copies.copy import Copy, Tiling
from layoutcheck.copies.moves import NOTHING
from layoutcheck.copies.offsets import TooLarge
from layoutcheck.copies.tiled import make_tiled_copy_tv, partition
from layoutcheck.errors import InputError
from layoutcheck.machine.dtypes import dtype
from tests.miscompiles import BF16, CP16, F4, MISCOMPILES, g, memref, r, s, universal

SRC, DST = 1 << 20, 1 << 24

modes = st.lists(st.tuples(st.integers(1, 4), st.integers(-9, 40)), min_size=1, max_size=3)


def layout_of(parts: list[tuple[int, int]]) -> Layout:
    return Layout(tuple(n for n, _ in parts), tuple(d for _, d in parts))


@given(
    modes, st.sampled_from(["bf16", "f32", "i8"]), st.sampled_from([None, (3, 4, 3), (2, 1, 4), (3, 3, 3)])
)
def test_element_i_goes_to_element_i(parts, name, swizzle):
    """Byte k of element i lies at swizzle(base + layout(i) * width + k)."""
    layout = layout_of(parts)
    compact = Layout(layout.shape)
    bits = dtype(name).bits
    source = replace(memref(f"{name} smem (1):(1)"), layout=layout, swizzle=swizzle and Swizzle(*swizzle))
    target = replace(memref(f"{name} gmem (1):(1)"), layout=compact)
    found = intent(Copy(UniversalCopy(dtype(name)), source, target), SRC, DST)
    width = bits // 8
    for i in range(found.src.shape[0]):
        for k in range(width):
            at = SRC + layout(i) * width + k
            assert found.src[i, 0, k] == (source.swizzle(at) if swizzle else at)
            assert found.dst[i, 0, k] == DST + i * width + k


def test_four_bit_elements_are_counted_in_nibbles():
    found = intent(MISCOMPILES["h33"][0], SRC, DST)
    assert found.unit_bits == 4
    assert found.src[:, 0, 0].tolist() == [2 * SRC + 2 * i for i in range(8)]


def test_registers_of_threads_are_apart():
    tiled = make_tiled_copy_tv(universal(128), parse_layout("(4,8):(8,1)"), parse_layout("(1,8)"))
    src = g("(4,64):(64,1)")
    view = partition(tiled, "src", src).view
    fragment = r("((8,1),1,1):((1,0),0,0)")
    copy = Copy(universal(128), view, fragment, tiled=tiled, tiling=Tiling(tiled, src, fragment, 32))
    found = intent(copy, SRC, DST)
    assert found.dst.shape == (8, 32, 2) and not found.whole
    assert (found.dst[:, 1] - found.dst[:, 0] == PRIVATE).all()
    assert found.src[0, 9, 0] == SRC + 2 * (64 + 8)  # thread 9: row 1, second piece


def test_a_tile_in_memory_is_copied_as_a_whole():
    copy = MISCOMPILES["h26"][0]
    found = intent(copy, SRC, DST)
    assert found.whole and found.src.shape == (16 * 64, 1, 2)
    assert np.array_equal(found.src - SRC, found.dst - DST)


def test_nested_v_modes_of_different_size_pair_by_coordinate():
    copy = Copy(universal(128), g("((4,2)):((1,4))"), s("((8,2)):((1,8))"))
    found = intent(copy, SRC, DST)
    assert ((found.dst[:, 0, 0] - DST) // 2).tolist() == [0, 1, 2, 3, 8, 9, 10, 11]
    assert found.unmatched == 8


def test_predicates_guard_v1_or_single_elements():
    by_piece = MISCOMPILES["h06"][1]
    assert intent(by_piece, SRC, DST).pred.tolist() == [0] * 8 + [1] * 8
    by_element = MISCOMPILES["h06"][0]
    assert intent(by_element, SRC, DST).pred.tolist() == list(range(16))


def test_recast_elements_lie_where_the_original_has_them():
    found = intent(MISCOMPILES["h29"][0], SRC, DST)
    # element (1, 0) of the f32 view is elements (1, 0) and (1, 1) of the bf16 tensor of pitch 63
    assert found.src[1, 0].tolist() == [SRC + 126 + k for k in range(4)]
    right = MISCOMPILES["h29"][1]
    plain = replace(right, src=replace(right.src, recast_from=None))
    assert np.array_equal(intent(right, SRC, DST).src, intent(plain, SRC, DST).src)


def ldmatrix_bytes(lane: int, register: int, byte: int, transpose: bool) -> tuple[int, int]:
    """(row lane, byte of the row) that ldmatrix.m8n8.b16 puts in a byte of a register (PTX ISA, figures)."""
    half, within = divmod(byte, 2)
    if transpose:
        row, column = 2 * (lane % 4) + half, lane // 4
    else:
        row, column = lane // 4, 2 * (lane % 4) + half
    return 8 * register + row, 2 * column + within


@pytest.mark.parametrize("transpose", [False, True])
@pytest.mark.parametrize("count", [1, 2, 4])
def test_ldmatrix_follows_the_isa(count, transpose):
    rows, fragment = s("((8,1),1):((1,0),0)"), r(f"(({2 * count},1),1):((1,0),0)")
    found = intent(Copy(LdMatrix(BF16, count, transpose), rows, fragment), SRC, DST)
    assert found.unmatched == 0
    bases = {}
    for i in range(found.dst.shape[0]):
        for lane in range(32):
            for k in range(2):
                register, byte = divmod(2 * i + k, 4)
                row, at = ldmatrix_bytes(lane, register, byte, transpose)
                base = int(found.src[i, lane, k]) - at
                assert bases.setdefault(row, base) == base
                assert found.dst[i, lane, k] == DST + PRIVATE * lane + 2 * i + k
    assert len(set(bases.values())) == 8 * count


@pytest.mark.parametrize("transpose", [False, True])
def test_stmatrix_is_ldmatrix_backwards(transpose):
    rows, fragment = s("((8,1),1):((1,0),0)"), r("((8,1),1):((1,0),0)")
    load = intent(Copy(LdMatrix(BF16, 4, transpose), rows, fragment), SRC, DST)
    store = intent(Copy(StMatrix(BF16, 4, transpose), fragment, rows), DST, SRC)
    forward = set(zip(load.src.reshape(-1).tolist(), load.dst.reshape(-1).tolist(), strict=True))
    backward = set(zip(store.dst.reshape(-1).tolist(), store.src.reshape(-1).tolist(), strict=True))
    assert forward == backward


def test_fragment_elements_without_a_source_have_no_partner():
    found = intent(MISCOMPILES["h19-half"][0], SRC, DST)
    assert found.unmatched == 4
    assert (found.src == NOTHING).sum() * 2 == found.src.size


def test_different_widths_have_no_element_wise_intent():
    copy = Copy(universal(32), g("(8):(1)"), s("(8):(1)", name="f32"))
    with pytest.raises(InputError, match="differ in width"):
        intent(copy, SRC, DST)


@pytest.mark.parametrize(
    "copy",
    [
        Copy(CP16, g("(1000000000,1000000000):(1,1000000000)"), s("(1000000000,1000000000):(1,1000000000)")),
        Copy(CP16, g("(8,100000000):(1,8)"), s("(8,100000000):(1,8)")),
        Copy(UniversalCopy(F4), g("(99999999):(1)", name="f4E2M1FN"), g("(99999999):(1)", name="f4E2M1FN")),
        Copy(LdMatrix(BF16, 4), s("((8,1),9999999):((1,0),8)"), r("((8,1),9999999):((1,0),8)")),
    ],
)
def test_absurd_sizes_are_refused_at_once(copy):
    start = time.process_time()
    with pytest.raises(TooLarge):
        intent(copy, SRC, DST)
    assert time.process_time() - start < 0.5
