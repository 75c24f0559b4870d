"""Kernels without a product: tiles that are written and read through different views."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from layoutcheck.algebra.swizzle import Swizzle
from layoutcheck.dsl.lowered.spaces import object_at
from layoutcheck.dsl.trace import trace_script
from layoutcheck.provenance import check_products
from layoutcheck.provenance.judged import Breach, Names
from layoutcheck.provenance.moved import Moves, linear, misplaced, pair
from layoutcheck.provenance.refs import Array
from layoutcheck.provenance.tensors import Mode, Tensor
from layoutcheck.sources.mlir import parse
from tests.lowering import SharedLowering
from tests.users import ROOT

PLAIN = '!cute.memref<bf16, smem, align<16>, "(64,64):(64,1)">'
SWIZZLED = '!cute.memref<bf16, smem, align<16>, S<3,4,3>, "(64,64):(64,1)">'
COMPOSED = '!cute.memref<bf16, smem, align<16>, "S<3,3,3> o 0 o (64,64):(64,1)">'
POINTER = "!cute.ptr<bf16, smem, align<16>>"
TRACED = f"""
"builtin.module"() ({{
  %0 = "cute.memref.alloca"() : () -> {PLAIN}
  %1 = "cute.make_view"(%0) : ({PLAIN}) -> {SWIZZLED}
  "cute.memref.store"(%1) : ({SWIZZLED}) -> ()
  "cute.copy"(%0) : ({PLAIN}) -> ()
  "cute.copy"(%1) : ({SWIZZLED}) -> ()
  "cute_nvgpu.bulk"(%0) : ({PLAIN}) -> ()
  %2 = "cute.get_iter"(%0) : ({PLAIN}) -> {POINTER}
  %3 = "cute.make_view"(%2) : ({POINTER}) -> {COMPOSED}
  %4 = "cute.tiled.copy.partition_S"(%3) : ({COMPOSED}) -> {PLAIN}
  "cute.copy"(%4) : ({PLAIN}) -> ()
  %5 = "cute.get_iter"(%3) : ({COMPOSED}) -> {POINTER}
  %6 = "cute.make_view"(%5) : ({POINTER}) -> {PLAIN}
  "cute.copy"(%6) : ({PLAIN}) -> ()
  %7 = "cute.get_iter"(%4) : ({PLAIN}) -> {POINTER}
  %8 = "cute.make_view"(%7) : ({POINTER}) -> {PLAIN}
  "cute.copy"(%8) : ({PLAIN}) -> ()
  %9 = "elsewhere"() : () -> !cute.layout<"1:0">
  "cute.copy"(%9) : (!cute.layout<"1:0">) -> ()
}}) : () -> ()
"""
ROW, COLUMN = np.divmod(np.arange(64 * 64), 64)
EXCHANGED = Swizzle(3, 4, 3)(np.arange(64 * 64) * 2) // 2


def _told(loaded: Array, reader: str = "cute.copy#0") -> list[Breach]:
    """What is said of a tile whose element i comes from element `loaded[i]` of a tensor."""
    return _seen(loaded, reader)[0]


def _seen(loaded: Array, reader: str = "cute.copy#0") -> tuple[list[Breach], int]:
    """The same, and the bytes that arrive in order."""
    names = ("cute.memref.store#0", reader, "cute.memref.store#1")
    text = "".join(f'"a"() : () -> () loc("{name}")\n' for name in names)
    ops = [op for op in parse(f'"builtin.module"() ({{\n{text}}}) : () -> ()').walk() if op.name == "a"]
    moves = Moves()
    writer, read = (moves.number(op) for op in ops[:2])
    at = object_at(2) + 2 * np.arange(64 * 64)
    moves.keep(ops[2], 0, at, object_at(1) + 2 * loaded, pair(np.full(at.size, writer), read))
    known = {n: [Tensor(object_at(n), 2, (Mode(0, 128, 64), Mode(1, 2, 64)), 2)] for n in (1, 2)}
    return misplaced(moves, Names(known), TRACED), moves.in_order


def test_a_swizzle_on_one_side_is_told_with_both_and_the_first_element() -> None:
    (one,) = _told(EXCHANGED)
    assert (one.kind, one["written"], one["read"], one["at"], one["held"]) == (
        "swizzle", "S<3,4,3>", "", (1, 0), (1, 8)
    )  # fmt: skip
    assert (one["differ"], one["of"]) == (56 * 64, 64 * 64)


def test_bytes_that_arrive_in_order_are_counted() -> None:
    assert _seen(64 * ROW + COLUMN)[1] == _seen(64 * COLUMN + ROW)[1] == 2 * 64 * 64
    assert _seen(EXCHANGED)[1] == _seen(64 * ROW + (COLUMN + ROW) % 64)[1] == 0


def test_one_swizzle_on_both_sides_is_an_order_that_is_meant() -> None:
    assert not _told(EXCHANGED, "cute.copy#1")
    assert not _told(EXCHANGED, "cute.copy#5")  # nothing in shared memory
    assert not _told(EXCHANGED, "cute_nvgpu.bulk#0")  # raw bytes: a tile packed for later


def test_the_swizzle_of_a_layout_is_that_of_what_is_cut_from_it_and_not_of_its_first_address() -> None:
    # 8 elements of 2 bytes: S<3,3,3> of elements is S<3,4,3> of bytes, as it was written.
    assert not _told(EXCHANGED, "cute.copy#2")  # partitioned: the type says nothing of it
    (one,) = _told(EXCHANGED, "cute.copy#3")  # another layout at the same address
    assert (one["written"], one["read"]) == ("S<3,4,3>", "")
    assert not _told(EXCHANGED, "cute.copy#4")  # the thread's own address, which has the swizzle


@pytest.mark.parametrize(
    "loaded",
    [
        64 * ROW + COLUMN,
        64 * COLUMN + ROW,
        64 * ROW + (COLUMN % 32) * 2 + COLUMN // 32,  # interleaved halves
        64 * (ROW ^ 1) + COLUMN,
        64 * ROW + (COLUMN + ROW) % 64,  # rotated: no exclusive or
        64 * ROW + COLUMN // 2 * 2,  # two elements from one
    ],
)
def test_copies_transposes_and_orders_within_a_mode_are_left(loaded: Array) -> None:
    assert not _told(loaded) and not _told(loaded, "cute.copy#1")


def test_transposed_blocks_are_a_note() -> None:
    loaded = 64 * (COLUMN // 8 * 8 + ROW % 8) + ROW // 8 * 8 + COLUMN % 8
    (one,) = _told(loaded, "cute.copy#1")
    assert (one.kind, one["at"], one["held"]) == ("blocks", (8, 0), (0, 8))


@given(st.lists(st.integers(1, 2**30), min_size=6, max_size=6, unique=True), st.integers(0, 63))
def test_linear_finds_the_image_of_each_bit(images: list[int], start: int) -> None:
    given = np.arange(64) ^ start
    results = np.zeros(64, np.int64)
    for bit, image in enumerate(images):
        results ^= (given >> bit & 1) * image
    assert linear(given, results) == dict(enumerate(images))
    wrong = results.copy()
    wrong[63] ^= 1 << 31
    assert linear(given, wrong) is None


def test_a_swizzle_that_is_in_the_layout() -> None:
    """Right, read without it, through another, by elements without it, through the same of a pointer."""
    pytest.importorskip("cutlass", reason="kernels are traced through the installed DSL")
    with SharedLowering(copies=False, products=check_products) as lowering:
        found = trace_script(
            "-m", ["tests.dsl.lowered.users", "seen", *"01234"], launch=False, arch="sm_90a", cwd=str(ROOT),
            lowering=lowering,
        )  # fmt: skip
    assert not found.failures and len(found.kernels) == 5
    told = [
        [
            (one.code, one.evidence["written"], one.evidence["read"], one.evidence["differ"])
            for one in report.findings
        ]
        for report in found.operands
    ]
    # Of 32 rows every eighth stays as it is; two of eight have the same two lowest bits under both swizzles.
    plain = ("LC605", "S<3,4,3>", "", 28 * 32)
    assert told == [[], [plain], [("LC605", "S<3,4,3>", "S<2,4,3>", 16 * 32)], [plain], []]
    assert [report.in_order for report in found.operands] == [4096, 0, 0, 0, 4096]
