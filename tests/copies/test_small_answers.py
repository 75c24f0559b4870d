"""Small functions whose answers other tests only see from far away."""

from __future__ import annotations

import pytest

from layoutcheck.algebra.integers import Dynamic, minimum
from layoutcheck.atoms.autovec.loops import _store
from layoutcheck.atoms.register import RegisterCopy
from layoutcheck.atoms.register.compiler import wants_strides
from layoutcheck.copies.copy import Copy
from layoutcheck.errors import InputError
from layoutcheck.machine.dtypes import dtype
from layoutcheck.sources.im2col import _numbers
from layoutcheck.sources.types import parse_memref


def test_a_run_time_minimum_is_as_wide_as_the_wider() -> None:
    assert minimum(Dynamic(4, 64), Dynamic(6, 32)) == Dynamic(2, 64)
    assert minimum(Dynamic(4, 32), 6) == Dynamic(2, 32)
    assert minimum(Dynamic(4, 64), 1) == 1


@pytest.mark.parametrize(
    ("src", "dst", "kind"),
    [
        ("bf16", "bf16", None),
        ("bf16", "f32", None),
        ("i8", "i32", None),
        ("f32", "bf16", "element_width"),
        ("i8", "f32", "element_width"),
        ("i16", "bf16", "element_type"),
    ],
)
def test_a_store_widens_within_a_kind(src: str, dst: str, kind: str | None) -> None:
    found = _store(dtype(src), dtype(dst))
    assert (found and found.kind) == kind


@pytest.mark.parametrize(("kind", "composed", "wants"), [
    ("r2s", "dst", True), ("r2s", "src", False), ("s2r", "src", True), ("s2r", "dst", False),
])  # fmt: skip
def test_the_side_in_memory_is_the_one_that_may_be_composed(kind: str, composed: str, wants: bool) -> None:
    plain = parse_memref('!cute.memref<bf16, rmem, align<16>, "(8,4):(1,8)">')
    other = parse_memref('!cute.memref<bf16, smem, align<16>, "S<3,3,3> o 0 o (8,4):(1,8)">')
    src, dst = (other, plain) if composed == "src" else (plain, other)
    assert wants_strides(Copy(RegisterCopy(kind, dtype("bf16"), 128), src, dst)) == wants


@pytest.mark.parametrize("value", [(1, 1 << 40), "(1,?)", (1, "x"), (1,), (1, 2, 3), True])
def test_a_convolutions_numbers_are_small_and_whole(value: object) -> None:
    with pytest.raises(InputError, match="is not 2 whole numbers"):
        _numbers("stride", value, 2)
    assert _numbers("stride", (1, -2), 2) == (1, -2) and _numbers("stride", 3, 2) == (3, 3)
