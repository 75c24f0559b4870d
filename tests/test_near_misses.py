"""Arguments of a near-miss type: each gives the answer that it can only mean, or one error that names it."""

from __future__ import annotations

import inspect
import warnings
from typing import Any

import numpy as np
import pytest

import layoutcheck as lc
from layoutcheck import algebra


class Opaque:
    """An object that layoutcheck knows nothing of."""


A, B = lc.Layout((8, 8), (8, 1)), lc.Layout((4, 2), (1, 4))
COLUMNS = lc.Layout((8, 8), (1, 8))
TILE = lc.Layout((64, 64), (64, 1))
ROWS = lc.matrix_access(TILE, 16)
LANES = list(range(0, 128, 4))
PER_THREAD = "(32,2):(2,1)"
BF16 = lc.dtype("bf16")
# Every public function and constructor, with arguments that it answers.
CALLS: dict[str, tuple[Any, ...]] = {
    "Basis": (1, (0,)),
    "ComposedLayout": (lc.Swizzle(3, 4, 3), 0, A),
    "Dynamic": (8, 32),
    "Layout": ((8, 8), (8, 1)),
    "Swizzle": (3, 4, 3),
    "append": (A, B),
    "blocked_product": (A, B),
    "coalesce": (A, (1, 1)),
    "compact_col_major": ((4, 2),),
    "compact_row_major": ((4, 2),),
    "complement": (B, 64),
    "composition": (A, B),
    "cosize": (A,),
    "crd2idx": ((1, 2), (4, 2), (2, 1)),
    "depth": (A,),
    "dice": (A, (0, None)),
    "downcast": (COLUMNS, 2),
    "filter": (A,),
    "filter_zeros": (A,),
    "flat_divide": (A, (4, 2)),
    "flat_product": (A, B),
    "flatten_layout": (A,),
    "get": (A, (0,)),
    "group_modes": (A, 0, 2),
    "idx2crd": (3, (4, 2)),
    "image": (A,),
    "left_inverse": (A,),
    "logical_divide": (A, (4, 2)),
    "logical_product": (A, B),
    "make_identity_layout": ((4, 2),),
    "make_layout": (A, B),
    "make_ordered_layout": ((4, 2), (1, 0)),
    "max_alignment": (A,),
    "max_common_layout": (A, B),
    "max_common_vector": (A, B),
    "nullspace": (A,),
    "parse_any_layout": ("8:1",),
    "parse_layout": ("8:1",),
    "parse_swizzle": ("S<3,4,3>",),
    "parse_tile": ("(4,2)",),
    "parse_tiler": ("(4,2)",),
    "parse_tree": ("(4,2)",),
    "prepend": (A, B),
    "print_tile": ((4, 2),),
    "print_tiler": ((lc.Layout(4), lc.Layout(2)),),
    "raked_product": (A, B),
    "rank": (A,),
    "recast_is_exact": (16, 8, COLUMNS),
    "recast_layout": (16, 8, COLUMNS),
    "right_inverse": (A,),
    "select": (A, (0,)),
    "size": (A,),
    "slice": (A, (0, None)),
    "slice_": (A, (0, None)),
    "slice_and_offset": (A, (0, None)),
    "tile_to_shape": (B, (8, 8), (0, 1)),
    "tiled_divide": (A, (4, 2)),
    "tiled_product": (A, B),
    "upcast": (A, 2),
    "zip_modes": (A, B),
    "zipped_divide": (A, (4, 2)),
    "zipped_product": (A, B),
    "Memref": (BF16, "gmem", A, 16, None),
    "TileAccess": ("rows", "ld", 32, ROWS.index),
    "analyse_tile": (TILE, 16, [ROWS], None),
    "best_swizzle": (TILE, 16, [ROWS], "sm_90", ("swizzle",)),
    "canonical": ("(64,128):(128,1)", "f16", "K", "S<3,4,3>", "wgmma"),
    "dtype": ("bf16",),
    "exchange": ((8, 8), PER_THREAD, PER_THREAD, "bf16"),
    "global_sectors": (LANES, 32, "sm_90"),
    "matrix_access": (TILE, 16, 4),
    "shared_wavefronts": (LANES, 32, "sm_90", "ld"),
    "synthesize": ("(128,64)", "gmem (?{div=8},?):(1,?{div=8})", "ldmatrix.trans"),
    "vector_access": (TILE, 16, "load", "ld", 128, lc.Layout(((8, 4), 8), ((512, 1), 64))),
}
# What they do not read: results, errors, and what tests/test_request.py and tests/test_operands.py try.
OTHERS = {
    "Copy",
    "DType",
    "DslUnavailable",
    "Finding",
    "Fix",
    "InputError",
    "Report",
    "assert_legal",
    "assert_wavefronts",
    "case",
    "check",
    "check_copy",
    "check_error",
    "check_mma",
}
NEVER: tuple[Any, ...] = (
    2.0,
    float("inf"),
    True,
    b"4",
    {},
    {1: 2},
    int,
    Opaque(),
    np.array([1.5, 2.0]),
    np.bool_(True),
    (4.0, 2),
    ("4", 2),
    [[4.0], 2],
    (True, 2),
)
FREE = {("TileAccess", 0), ("vector_access", 2)}  # a name, for people


def test_every_public_name_is_tried() -> None:
    assert set(CALLS) | OTHERS == set(dir(lc)) and not set(CALLS) & OTHERS


@pytest.mark.parametrize("name", CALLS)
def test_what_nobody_can_mean_is_one_error_of_ours(name: str) -> None:
    function, given = getattr(lc, name), CALLS[name]
    function(*given)
    names = list(inspect.signature(function).parameters)
    for at in range(len(given)):
        for near in NEVER:
            if (name, at) in FREE or (name == "print_tile" and near is None):
                continue
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                with pytest.raises(lc.InputError) as caught:
                    function(*given[:at], near, *given[at + 1 :])
            assert len(str(caught.value)) < 400 and " at 0x" not in str(caught.value), (name, names[at], near)


@pytest.mark.parametrize(
    "name", [name for name in CALLS if not name.startswith("parse") and name in algebra.__all__]
)
def test_text_is_no_value_of_the_algebra(name: str) -> None:
    function, given = getattr(lc, name), CALLS[name]
    for at in range(len(given)):
        for text in ("4", "(8,8):(8,1)", ""):
            with pytest.raises(lc.InputError):
                function(*given[:at], text, *given[at + 1 :])


def test_lists_and_numpys_integers_are_what_they_say() -> None:
    four: Any = np.int64(4)
    assert lc.Layout([8, [four, 2]]) == lc.Layout((8, (4, 2)))
    assert lc.crd2idx([1, np.int32(2)], [4, 2]) == 9 and type(lc.crd2idx(four, (4, 2))) is int
    assert A([1, four]) == A(1, 4) == 12 and type(A(four)) is int
    assert lc.logical_divide(A, [four, 2]) == lc.logical_divide(A, (4, 2))
    assert lc.select(A, 1) == lc.select(A, [1]) == lc.Layout((8,), (1,))
    assert lc.get(A, 0) == lc.get(A, (0,)) == lc.Layout(8, 8)
    assert lc.Swizzle(3, four, 3) == lc.Swizzle(3, 4, 3)
    assert lc.upcast(A, four) == lc.upcast(A, 4)
    assert lc.Memref(BF16, "gmem", A, 4 * four).align_bytes == 16
    lanes: Any = np.array(LANES)
    assert lc.shared_wavefronts(lanes, 8 * four) == lc.shared_wavefronts(LANES, 32)
    tile: Any = [128, 64]
    first, second = (
        lc.synthesize(one, CALLS["synthesize"][1], "ldmatrix.trans") for one in (tile, (128, 64))
    )
    assert first.best.code == second.best.code


def test_an_error_names_the_argument_what_it_is_and_what_it_should_be() -> None:
    with pytest.raises(lc.InputError, match=r"'coord' is the text '4'; expected an int, None"):
        lc.crd2idx("4", (4, 2))
    with pytest.raises(lc.InputError, match=r"parse_layout and parse_tree read text"):
        lc.composition("(8,8):(8,1)", B)
    with pytest.raises(lc.InputError, match=r"'shape' is the float 8\.0; expected"):
        lc.idx2crd(3, (8.0, 2))
    with pytest.raises(lc.InputError, match=r"a coordinate is made of integers, not the float 1\.5"):
        A(1.5)
    with pytest.raises(lc.InputError, match=r"'shape': every extent of a shape is at least 1, not 0"):
        lc.make_identity_layout((4, 0))
    with pytest.raises(lc.InputError, match=r"shape \(4,2\) and stride 2 do not match"):
        lc.crd2idx((1, 1), (4, 2), 2)
    with pytest.raises(lc.InputError, match=r"'copy' is the text 'x'; expected a Copy"):
        lc.check_copy("x")  # type: ignore[arg-type]
    with pytest.raises(lc.InputError, match=r"'text' is None; expected text"):
        lc.check_error(None)  # type: ignore[arg-type]


def test_arrays_of_coordinates_give_arrays_of_offsets() -> None:
    assert A(np.arange(4)).tolist() == [A(i) for i in range(4)] == lc.crd2idx(np.arange(4), A).tolist()
    with pytest.raises(lc.InputError):
        A(np.array([1.5]))


def test_signatures_and_names_are_those_of_the_functions() -> None:
    assert list(inspect.signature(lc.crd2idx).parameters) == ["coord", "shape", "stride"]
    assert lc.crd2idx.__module__ == "layoutcheck.algebra.layout" and lc.slice is lc.slice_
    with pytest.raises(TypeError, match="positional argument"):
        lc.crd2idx(1)  # type: ignore[call-arg]
