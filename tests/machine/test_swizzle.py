from __future__ import annotations

import itertools
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from layoutcheck.algebra.layout import Layout
from layoutcheck.algebra.measure import cosize
from layoutcheck.algebra.swizzle import Swizzle
from layoutcheck.errors import InputError
from layoutcheck.machine.best_swizzle import best_swizzle, candidates, padded
from layoutcheck.machine.tiles import TileAccess, analyse_tile, matrix_access, vector_access

K_MAJOR = Layout((128, 128), (128, 1))
M_MAJOR = Layout((128, 128), (1, 128))


def rows(tile: Layout, threads: tuple[int, int] = (16, 8), op: str = "cp.async") -> TileAccess:
    """128-bit accesses of bf16 rows by 128 threads, 8 threads along a row."""
    down, along = threads
    tv = (
        Layout(((along, down), 8), ((8 * 128, 1), 128))
        if tile.stride[1] == 1
        else Layout(((along, down), 8), ((8, 128), 1))
    )
    return vector_access(tile, 16, f"{op} rows", op, 128, tv)


@pytest.mark.parametrize("tile", [K_MAJOR, M_MAJOR])
def test_the_standard_swizzle_is_found(tile: Layout) -> None:
    accesses = [rows(tile), matrix_access(tile, 16), rows(tile, op="st")]
    found = best_swizzle(tile, 16, accesses)
    assert found.conflict_free
    assert found.swizzle_elements is not None and found.swizzle is not None
    assert found.swizzle.base == found.swizzle_elements.base + 1
    assert [row.wavefronts for row in found.before] != [row.wavefronts for row in found.after]


def test_a_tile_of_128_byte_rows_gets_s343() -> None:
    tile = Layout((64, 64), (64, 1))
    found = best_swizzle(tile, 16, [matrix_access(tile, 16)])
    assert (found.swizzle, found.swizzle_elements) == (Swizzle(3, 4, 3), Swizzle(3, 3, 3))
    assert found.before[0].ways == 8 and found.after[0].ways == 1


def test_what_is_free_is_left_alone() -> None:
    tile = Layout((128, 64), (64, 1))
    tv = Layout(((8, 16), 8), ((8 * 128, 1), 128))
    found = best_swizzle(tile, 16, [vector_access(tile, 16, "rows", "st", 128, tv)])
    assert (found.swizzle, found.padding, found.conflict_free) == (None, 0, True)


def test_f32_swizzles_in_bytes_and_in_elements() -> None:
    """NVIDIA/cutlass users swap the two: S<3,4,3> on a pointer is S<3,2,3> of f32 elements."""
    tile = Layout((32, 32), (32, 1))
    column = Layout((32, (4, 8)), (1, (32, 128)))
    found = best_swizzle(tile, 32, [vector_access(tile, 32, "column", "ld", 128, column)])
    assert (found.swizzle, found.swizzle_elements) == (Swizzle(3, 4, 3), Swizzle(3, 2, 3))


def test_padding_alone() -> None:
    tile = Layout((64, 64), (64, 1))
    found = best_swizzle(tile, 16, [matrix_access(tile, 16)], allow=("padding",))
    assert (found.swizzle, found.padding, found.layout) == (None, 8, Layout((64, 64), (72, 1)))
    assert found.conflict_free


def test_a_pitch_that_is_no_power_of_two() -> None:
    """Rows of 96 bytes: counted, not ranked; S<1,4,3> parts the two rows that meet."""
    tile = Layout((48, 48), (48, 1))
    found = best_swizzle(tile, 16, [matrix_access(tile, 16)])
    assert (found.before[0].ways, found.conflict_free, found.swizzle) == (2, True, Swizzle(1, 4, 3))


def test_cp_async_past_l1_asks_for_no_swizzle() -> None:
    """Its writes know no banks (measured), so only the reader decides."""
    tile = Layout((64, 64), (64, 1))
    writes = vector_access(tile, 16, "cp.async", "cp.async.cg", 128, Layout(((8, 16), 8), ((512, 1), 64)))
    assert best_swizzle(tile, 16, [writes]).swizzle is None
    assert best_swizzle(tile, 16, [writes, matrix_access(tile, 16)]).swizzle == Swizzle(3, 4, 3)


def test_padded_grows_every_outer_stride() -> None:
    assert padded(Layout((64, 64), (64, 1)), 8) == Layout((64, 64), (72, 1))
    assert padded(Layout(((8, 4), 64), ((64, 512), 1)), 8) == Layout(((8, 4), 64), ((72, 576), 1))
    assert padded(Layout((4, 4), (2, 8)), 8) is None
    assert padded(Layout((4, 4), (1, 5)), 8) is None


@st.composite
def problems(draw: st.DrawFn) -> tuple[Layout, int, list[TileAccess]]:
    """Power-of-two tiles, and some that are not, with random linear or scattered accesses."""
    log_rows, log_columns = draw(st.integers(3, 5)), draw(st.integers(3, 5))
    m, n = 1 << log_rows, 1 << log_columns
    pitch = draw(st.sampled_from([n, n, n + 8]))
    tile = Layout((m, n), (pitch, 1))
    rng = random.Random(draw(st.integers(0, 999)))
    bits = draw(st.sampled_from([16, 32]))
    width = draw(st.sampled_from([32, 128]))
    each = width // bits
    out = []
    for name in ("a", "b"):
        base = [rng.randrange(m) + m * each * rng.randrange(n // each) for _ in range(5)]
        index = [0] * 32
        for lane in range(32):
            for bit in range(5):
                if lane >> bit & 1:
                    index[lane] ^= base[bit]
        if draw(st.booleans()) and pitch != n:
            index = [rng.randrange(m) + m * each * rng.randrange(n // each) for _ in range(32)]
        out.append(TileAccess(name, draw(st.sampled_from(["ld", "st"])), width, np.array([index, index])))
    return tile, bits, out


@given(problems())
@settings(max_examples=15, deadline=None)
def test_no_swizzle_of_any_kind_beats_the_result(problem: tuple[Layout, int, list[TileAccess]]) -> None:
    """Against every S<b,m,s> up to 10 bits, negative shifts and useless ones included, by enumeration."""
    tile, bits, accesses = problem
    found = best_swizzle(tile, bits, accesses, allow=("swizzle",))
    assert found.wavefronts == sum(
        row.wavefronts for row in analyse_tile(tile, bits, accesses, found.swizzle)
    )
    vector = max(access.width_bits for access in accesses) // 8
    tried = candidates(vector, int(cosize(tile)) * bits // 8)
    for b, m, s in itertools.product(range(1, 5), range(vector.bit_length() - 1, 9), range(-6, 7)):
        if abs(s) >= b:
            total = sum(row.wavefronts for row in analyse_tile(tile, bits, accesses, Swizzle(b, m, s)))
            assert total >= found.wavefronts, f"S<{b},{m},{s}> takes {total}"
            if total == found.wavefronts and Swizzle(b, m, s) in tried:
                assert found.swizzle is None or liked(found.swizzle) <= liked(Swizzle(b, m, s))


def liked(s: Swizzle) -> tuple[int, ...]:
    """Among equals: the standard one, then fewer bits."""
    return (s.base, s.shift) != (4, 3), s.bits, s.base, s.shift


def cutlass_tile(extents: tuple[int, int], element_bits: int, along: int) -> tuple[Layout, Swizzle | None]:
    """The tile that CUTLASS's `make_smem_layout_atom` and `tile_to_shape` make, and its byte swizzle.

    The atom is 8 rows of 128, 64, 32 or 16 bytes, the widest that divides the contiguous extent, under
    S<3,4,3>, S<2,4,3>, S<1,4,3> or none (CUTLASS, `sm90_get_smem_layout_atom` / `sm90_utils`). `along` is
    the contiguous mode; some atom has to fit.
    """
    row_bytes = extents[along] * element_bits // 8
    bits = next(b for b in (3, 2, 1, 0) if row_bytes % (16 << b) == 0)
    assert extents[1 - along] % 8 == 0
    width = (16 << bits) * 8 // element_bits
    lines, steps = extents[1 - along] // 8, extents[along] // width
    rows = ((8, lines), (width, 8 * width))
    columns = ((width, steps), (1, 8 * width * lines))
    first, second = (rows, columns) if along == 1 else (columns, rows)
    return Layout((first[0], second[0]), (first[1], second[1])), Swizzle(bits, 4, 3) if bits else None


@pytest.mark.parametrize(
    ("bits", "extents"), [(16, (128, 64)), (16, (64, 32)), (8, (128, 128)), (32, (64, 32))]
)
def test_never_worse_than_cutlass(bits: int, extents: tuple[int, int]) -> None:
    plain = Layout(extents, (extents[1], 1))
    theirs, swizzle = cutlass_tile(extents, bits, 1)
    accesses = [matrix_access(plain, bits), matrix_access(plain, bits, store=True)]
    ours = best_swizzle(plain, bits, accesses)
    assert ours.wavefronts <= sum(row.wavefronts for row in analyse_tile(theirs, bits, accesses, swizzle))


def test_the_tile_cutlass_makes() -> None:
    assert cutlass_tile((128, 64), 16, 1) == (
        Layout(((8, 16), (64, 1)), ((64, 512), (1, 8192))),
        Swizzle(3, 4, 3),
    )
    assert cutlass_tile((32, 8), 16, 1)[1] is None


def test_bad_input_says_what_is_wrong() -> None:
    with pytest.raises(InputError, match="at least one access"):
        best_swizzle(K_MAJOR, 16, [])
    with pytest.raises(InputError, match="cannot try magic"):
        best_swizzle(K_MAJOR, 16, [matrix_access(K_MAJOR, 16)], allow=("magic",))
    with pytest.raises(InputError, match="unknown architecture"):
        best_swizzle(K_MAJOR, 16, [matrix_access(K_MAJOR, 16)], arch="sm_1")
