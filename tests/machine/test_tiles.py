from __future__ import annotations

import doctest

import numpy as np
import pytest

from layoutcheck.algebra.layout import Layout
from layoutcheck.algebra.swizzle import ComposedLayout, Swizzle
from layoutcheck.errors import InputError
from layoutcheck.machine import tiles
from layoutcheck.machine.tiles import (
    TileAccess,
    analyse_tile,
    in_bytes,
    in_elements,
    matrix_access,
    vector_access,
)

TILE = Layout((64, 64), (64, 1))


def test_an_element_swizzle_is_its_byte_swizzle() -> None:
    access = [matrix_access(TILE, 16)]
    composed = ComposedLayout(Swizzle(3, 3, 3), 0, TILE)
    assert analyse_tile(composed, 16, access) == analyse_tile(TILE, 16, access, Swizzle(3, 4, 3))


def test_the_byte_numbers_in_an_element_swizzle_do_not_help() -> None:
    """S<3,4,3> of bf16 elements is S<3,5,3> of bytes: two rows of each matrix still share their banks."""
    composed = ComposedLayout(Swizzle(3, 4, 3), 0, TILE)
    assert analyse_tile(composed, 16, [matrix_access(TILE, 16)])[0].ways > 1


@pytest.mark.parametrize(("bits", "byte_base"), [(8, 4), (16, 5), (32, 6), (64, 7)])
def test_swizzle_units(bits: int, byte_base: int) -> None:
    assert in_bytes(Swizzle(3, 4, 3), bits) == Swizzle(3, byte_base, 3)
    assert in_elements(Swizzle(3, byte_base, 3), bits) == Swizzle(3, 4, 3)


def test_a_swizzle_within_an_element_has_no_element_form() -> None:
    with pytest.raises(InputError, match="takes elements of 32 bits apart"):
        in_elements(Swizzle(2, 1, 3), 32)


@pytest.mark.parametrize("matrices", [1, 2, 4])
@pytest.mark.parametrize("tile", [TILE, Layout((64, 64), (1, 64))])
def test_matrices_cover_the_tile_once(tile: Layout, matrices: int) -> None:
    access = matrix_access(tile, 16, matrices)
    index = access.index[access.index >= 0]
    step = 64 if tile.stride[1] == 1 else 1
    elements = (index[:, None] + step * np.arange(8)).ravel()
    assert sorted(elements) == list(range(64 * 64))


def test_threads_and_values() -> None:
    tv = Layout(((8, 16), 8), ((512, 1), 64))
    access = vector_access(TILE, 16, "cp.async", "cp.async", 128, tv)
    assert access.index.shape == (4, 32)
    assert analyse_tile(TILE, 16, [access])[0].ratio == 1.0
    partial = vector_access(TILE, 16, "half a warp", "st", 128, Layout(((8, 2), 8), ((512, 1), 64)))
    assert (partial.index[0, 16:] == -1).all() and (partial.index[0, :16] >= 0).all()


@pytest.mark.parametrize(
    ("tv", "op", "width", "message"),
    [
        (Layout((32, 8), (1, 1)), "st", 128, "are 128 bytes apart in the tile"),
        (Layout((32, 6), (1, 64)), "st", 128, "not whole accesses of 128 bits"),
        (Layout((32, 8), (1, 640)), "st", 128, "reaches element"),
        (Layout(32, 1), "st", 16, "(thread, value)"),
        (Layout((32, 8), (1, 64)), "matrix", 128, "no thread-value layout for 'matrix'"),
    ],
)
def test_vectors_that_are_none(tv: Layout, op: str, width: int, message: str) -> None:
    with pytest.raises(InputError) as error:
        vector_access(TILE, 16, "copy", op, width, tv)
    assert message in str(error.value)


def test_misaligned_and_foreign_accesses_are_refused() -> None:
    odd = TileAccess("odd", "ld", 128, np.full((1, 32), 64, np.int64))
    with pytest.raises(InputError, match="starts at byte 2, not a multiple of the access"):
        analyse_tile(TILE, 16, [odd])
    with pytest.raises(InputError, match="outside the tile"):
        analyse_tile(TILE, 16, [TileAccess("far", "ld", 16, np.full((1, 32), 64 * 64, np.int64))])
    with pytest.raises(InputError, match=r"shape \(32,\)"):
        TileAccess("flat", "ld", 16, np.zeros(32, np.int64))


def test_tiles_that_cannot_be_analysed() -> None:
    access = TileAccess("any", "ld", 16, np.zeros((1, 32), np.int64))
    with pytest.raises(InputError, match="no byte addresses"):
        analyse_tile(TILE, 4, [access])
    with pytest.raises(InputError, match="reaches below its base"):
        analyse_tile(Layout((4, 4), (-1, 4)), 16, [access])
    with pytest.raises(InputError, match="no mode of"):
        matrix_access(Layout((64, 64), (2, 128)), 16)
    with pytest.raises(InputError, match="not made of blocks of x4"):
        matrix_access(Layout((24, 64), (64, 1)), 16)
    with pytest.raises(InputError, match="a tile of two modes"):
        matrix_access(Layout(64, 1), 16)


def test_the_examples_in_the_text() -> None:
    assert doctest.testmod(tiles).failed == 0
