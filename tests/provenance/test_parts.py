"""The parts of provenance by themselves: references, fragments, descriptors, coordinates, the contract."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from layoutcheck.algebra import parse_layout
from layoutcheck.copies.offsets import offsets
from layoutcheck.dsl.lowered.spaces import object_at
from layoutcheck.machine.canonical.footprint import operand
from layoutcheck.operands.fragments import tiled_mma
from layoutcheck.operands.rules import lc602
from layoutcheck.provenance.carry import carry
from layoutcheck.provenance.contract import _mixed, broadcast, of_product, summed
from layoutcheck.provenance.depth import Depths, exchanged
from layoutcheck.provenance.fragments import (
    accumulator_cells,
    accumulator_registers,
    described,
    matrix_bytes,
    operand_registers,
    read_instruction,
    tensor_cells,
)
from layoutcheck.provenance.instances import USUAL, unequal
from layoutcheck.provenance.judged import NOT_MET, Breach, Judged, Names
from layoutcheck.provenance.pairs import Pairs
from layoutcheck.provenance.place import NO_NAME, Stores, placed
from layoutcheck.provenance.products import Execution, Products, _other_row
from layoutcheck.provenance.refs import (
    FIRST,
    FLAGS,
    GLOBAL,
    JOINED,
    MASKED,
    MIXED,
    PAIR,
    PRODUCT,
    UNKNOWN,
    Refs,
    joined,
    refs_of,
)
from layoutcheck.provenance.sides import COMPUTED, CONSTANT, PARTLY, Side, side
from layoutcheck.provenance.tensor_memory import TensorMemory
from layoutcheck.provenance.tensors import Mode, Tensor, tensors
from layoutcheck.provenance.tiles import no_more
from layoutcheck.sources.mlir import Operation, parse

MEMORY, OTHER = GLOBAL + 16, GLOBAL + 32
ACCUMULATOR, NEXT = PRODUCT | 7, PRODUCT | 8
LOADED = FIRST + 96  # a byte that a load from shared memory brings


def nothing(index: Any) -> tuple[Any, Any]:
    """No element of a product has a name."""
    return np.zeros_like(index), np.zeros_like(index)


@pytest.mark.parametrize(
    ("a", "b", "sums", "result"),
    [
        (0, MEMORY, True, MEMORY),
        (MEMORY, 0, False, MEMORY),
        (MEMORY, MEMORY, True, MEMORY),
        (MEMORY, OTHER, False, MEMORY | MIXED),
        (ACCUMULATOR, MEMORY, True, ACCUMULATOR),
        (UNKNOWN, ACCUMULATOR, False, ACCUMULATOR),
        (ACCUMULATOR, NEXT, True, ACCUMULATOR | MIXED),
        (ACCUMULATOR, NEXT | MIXED, False, ACCUMULATOR),  # scaled by the sum of a row
        (ACCUMULATOR, NEXT | MIXED, True, ACCUMULATOR | MIXED),  # the next step of that sum
        (LOADED, LOADED + 4, True, LOADED | MIXED),  # the largest of two that are not loaded yet
        (MASKED, ACCUMULATOR, False, ACCUMULATOR),  # scaled, and minus infinity
        (ACCUMULATOR, MASKED, True, ACCUMULATOR | MIXED),  # the largest of a masked row
        (MASKED, 0, True, MASKED),
    ],
)
def test_arithmetic_keeps_the_place(a: int, b: int, sums: bool, result: int) -> None:
    assert joined(np.array([[a]]), np.array([[b]]), sums=sums).tolist() == [[result]]


@pytest.mark.parametrize(
    ("a", "b", "result"),
    [
        (ACCUMULATOR, NEXT, ACCUMULATOR | JOINED),  # P times dP
        (LOADED, NEXT, LOADED | JOINED),
        (ACCUMULATOR, NEXT | MIXED, ACCUMULATOR),  # times the sum of a row
        (MEMORY, OTHER, MEMORY | MIXED),
        (ACCUMULATOR, ACCUMULATOR, ACCUMULATOR),
        (MASKED, ACCUMULATOR, MASKED),  # P is 0 there, and so is dS
        (ACCUMULATOR | JOINED, MASKED, MASKED),
        (MASKED, 0, MASKED),
    ],
)
def test_products_that_are_multiplied_are_joined(a: int, b: int, result: int) -> None:
    assert joined(np.array([[a]]), np.array([[b]]), sums=False, times=True).tolist() == [[result]]


def _last(text: str) -> Operation:
    module = parse(f'"builtin.module"() ({{\n{text}\n}}) : () -> ()')
    return [op for op in module.walk() if op.results][-1]


V4, V4F = "vector<4xf16>", "vector<4xf32>"


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (f'"vector.extract"(%0) <{{static_position = array<i64: 2>}}> : ({V4}) -> f16', [104, 105]),
        (f'"vector.shuffle"(%0, %0) <{{mask = array<i64: 3, 4>}}> : ({V4}, {V4}) -> vector<2xf16>',
         [106, 107, 100, 101]),
        (f'"vector.extract_strided_slice"(%0) <{{offsets = [1], sizes = [2], strides = [1]}}> : ({V4})'
         f" -> vector<2xf16>", [102, 103, 104, 105]),
        (f'"arith.extf"(%0) : ({V4}) -> {V4F}', [100] * 4 + [102] * 4 + [104] * 4 + [106] * 4),
        (f'"arith.cmpf"(%0, %0) <{{predicate = 1 : i64}}> : ({V4}, {V4}) -> vector<4xi8>', [0] * 4),
    ],
)  # fmt: skip
def test_bytes_move_with_their_elements(line: str, expected: list[int]) -> None:
    op = _last(f'%0 = "a"() : () -> {V4}\n%2 = {line}')
    (found,) = carry(op)([np.arange(100, 108).reshape(1, 8)] * len(op.operands))
    assert found.tolist() == [expected]


@pytest.mark.parametrize(("held", "expected"), [(0, 0), (MEMORY, UNKNOWN)])
def test_what_is_cast_from_a_type_without_size_has_all_bytes_of_its_own(held: int, expected: int) -> None:
    """As the state of a tiled MMA that a loop carries: parts are put into it and taken out."""
    flags, mma = "!llvm.struct<(i1, i1, i32)>", "!cute.tiled_mma<x>"
    cast = _last(
        f'%0 = "a"() : () -> {mma}\n%1 = "builtin.unrealized_conversion_cast"(%0) : ({mma}) -> {flags}'
    )
    taken = f'"llvm.extractvalue"(%0) <{{position = array<i64: 2>}}> : ({flags}) -> i32'
    part = _last(f'%0 = "a"() : () -> {flags}\n%1 = {taken}')
    (found,) = carry(cast)([np.array([[held]])])
    assert found.tolist() == [[expected] * 8]
    assert carry(part)([found])[0].tolist() == [[expected] * 4]


def test_a_part_goes_to_its_offset() -> None:
    part = "vector<2xf16>"
    op = _last(
        f'%0 = "a"() : () -> {part}\n%1 = "a"() : () -> {V4}\n'
        f'%2 = "vector.insert_strided_slice"(%0, %1) <{{offsets = [2], strides = [1]}}> '
        f": ({part}, {V4}) -> {V4}"
    )
    (found,) = carry(op)([np.arange(50, 54).reshape(1, 4), np.arange(100, 108).reshape(1, 8)])
    assert found.tolist() == [[100, 101, 102, 103, 50, 51, 52, 53]]


@pytest.mark.parametrize(
    ("asm", "factors", "expected"),
    [
        ("dp4a.s32.s32 $0, $1, $2, $3;", 256, [101] * 4),
        ("dp4a.s32.s32 $0, $1, $2, $3;", 257, [MIXED | 100] * 4),
        ("dp4a.s32.s32 $0, $1, $2, $3;", 0, [0] * 4),
        ("add.s32 $0, $1, $2;", 7, [100, 101, 102, 103]),
        ("redux.sync.add.s32 $0, $1, $2;", 7, [UNKNOWN] * 4),
    ],
)
def test_assembly_that_picks_bytes_or_works_by_lane(asm: str, factors: int, expected: list[int]) -> None:
    """dp4a with one factor that is not 0 takes out one byte: the way from int8 to a float."""
    op = _last(
        f'%0 = "a"() : () -> i32\n%1 = "arith.constant"() <{{value = {factors} : i32}}> : () -> i32\n'
        f'%2 = "llvm.inline_asm"(%0, %1, %1) <{{asm_string = "{asm}"}}> : (i32, i32, i32) -> i32'
    )
    given = [np.arange(100, 104).reshape(1, 4), np.zeros((1, 4), np.int64), np.zeros((1, 4), np.int64)]
    assert carry(op)(given)[0].tolist() == [expected]


@pytest.mark.parametrize(
    ("operation", "met"),
    [("arith.mulf", True), ("arith.subf", True), ("arith.addf", False), ("arith.maximumf", False)],
)
def test_only_factors_and_what_is_subtracted_meet_as_pairs(operation: str, met: bool) -> None:
    op = _last(f'%0 = "a"() : () -> f32\n%1 = "{operation}"(%0, %0) : (f32, f32) -> f32')
    seen = []

    def combine(a: Any, b: Any) -> Any:
        seen.append((a.tolist(), b.tolist()))
        return a + 1000

    a, b = np.arange(100, 104).reshape(1, 4), np.arange(200, 204).reshape(1, 4)
    (found,) = carry(op, combine)([a, b])
    assert bool(seen) == met
    assert found.tolist() == ((a + 1000) if met else a | MIXED).tolist()


def test_an_element_is_told_from_its_scale() -> None:
    """Weights with a scale for each row, or for each row and group of k; not sums of two matrices."""
    row, k = np.arange(4)[:, None], np.arange(8)[None]
    weights = GLOBAL + 64 + 16 * row + k
    pairs = Pairs()
    for scales in (2 * GLOBAL + row + 0 * k, 2 * GLOBAL + 2 * row + k // 4, 2 * GLOBAL + 0 * row + k):
        for a, b in ((weights, scales), (scales, weights)):
            labels = pairs.met(a.reshape(-1), b.reshape(-1), np.ones(32, bool)).reshape(1, 4, 8)
            assert ((labels & PAIR) != 0).all()
            found = pairs.element(labels)
            assert found is not None and (found[0] == weights).all()
    for other in (2 * GLOBAL + 8 * row + k, 2 * GLOBAL + (row * k) % 5):
        labels = pairs.met(weights.reshape(-1), other.reshape(-1), np.ones(32, bool)).reshape(1, 4, 8)
        assert pairs.element(labels) is None


def test_packing_puts_the_second_operand_lower() -> None:
    text = (
        '%0 = "a"() : () -> f32\n%1 = "llvm.inline_asm"(%0, %0) '
        '<{asm_string = "cvt.rn.bf16x2.f32 $0, $1, $2;"}> : (f32, f32) -> i32'
    )
    op = _last(text)
    high, low = np.full((1, 4), 50), np.full((1, 4), 60)
    assert carry(op)([high, low])[0].tolist() == [[60, 60, 50, 50]]


def test_a_branch_takes_each_threads_own() -> None:
    one = Refs(np.array([[5], [6]])).among(np.array([1, 0]), Refs(np.array([[8], [9]])))
    assert one.at.tolist() == [[5], [9]]
    assert refs_of((one, 3), 2).tolist() == [[5, 0], [9, 0]]


@pytest.mark.parametrize(("kind", "depth"), [("bf16", 8), ("bf16", 16), ("tf32", 4), ("tf32", 8)])
@pytest.mark.parametrize("letter", ["A", "B"])
def test_registers_are_those_of_the_dsl(letter: str, kind: str, depth: int) -> None:
    mma = tiled_mma(
        f"!cute.tiled_mma<!cute_nvgpu.sm80.mma<16x8x{depth}, elem_type = ({kind}, {kind}, f32) >, "
        'atom_layout_MNK = <"(1,1,1):(0,0,0)">>'
    )
    values = (16 if letter == "A" else 8) * depth // 32
    theirs = mma.coordinates(letter, values, (1, 1))
    mine = operand_registers(letter, values, mma.atom.types[0].bits)
    for one, other in zip(mine, theirs, strict=True):
        assert one.tolist() == other[:, :, 0, 0].tolist()


def test_accumulators_cover_their_tile_once() -> None:
    m, n = accumulator_registers(64)
    assert sorted((16 * n + m).reshape(-1).tolist()) == list(range(16 * 128))
    assert (int(m[5, 2]), int(n[5, 2])) == (9, 2)  # PTX: c2 of lane 4 g + q is row g + 8, column 2 q


@given(
    st.integers(0, 3), st.integers(0, 60), st.integers(1, 64), st.integers(1, 64), st.sampled_from(["k", "m"])
)
def test_descriptors_reach_the_units_that_order_replays(
    mode: int, start: int, leading: int, stride: int, major: str
) -> None:
    word = 8 * start | leading << 16 | stride << 32 | mode << 62
    mine = described(word, 64, 16, 16, major)
    assert mine is not None
    theirs = set(operand(word, range(64), major).tolist())
    assert {int(at) // 16 * 16 for at in mine.reshape(-1)} == theirs
    whole = mine[:, :8] if major == "k" else mine[:8, :]
    ascending = np.diff(whole, axis=1 if major == "k" else 0)
    assert (ascending == 2).all()


@given(
    st.sampled_from([0, 2, 4, 6]), st.integers(0, 60), st.integers(1, 64), st.integers(1, 64),
    st.sampled_from(["k", "m"]),
)  # fmt: skip
def test_descriptors_of_tcgen05_reach_the_units_that_order_replays(
    mode: int, start: int, leading: int, stride: int, major: str
) -> None:
    word = 8 * start | leading << 16 | stride << 32 | mode << 61
    mine = described(word, 128, 16, 16, major, tcgen05=True)
    assert mine is not None
    theirs = set(operand(word, range(128), major, tcgen05=True).tolist())
    assert {int(at) // 16 * 16 for at in mine.reshape(-1)} == theirs


def test_a_descriptor_with_a_base_offset_is_not_read() -> None:
    assert described(1 << 49, 64, 16, 16, "k") is None
    assert described(1 << 61, 64, 16, 16, "k", tcgen05=True) is None  # 32-byte atoms


def test_instruction_descriptors_of_tcgen05() -> None:
    word = 1 << 4 | 1 << 7 | 1 << 10 | 1 << 16 | (256 // 8) << 17 | (128 // 16) << 24
    assert read_instruction(word, "f16") == (128, 256, 16, 16, "k", "m")
    assert read_instruction(word, "tf32") == (128, 256, 8, 32, "k", "m")
    assert read_instruction(word & ~(3 << 4), "f16") is None  # results of 16 bits
    assert read_instruction(word | 4 << 7, "f8f6f4") is None  # inputs of 4 bits


@given(st.permutations([(2, 7), (14, 5), (70, 3)]), st.integers(0, 104))
def test_coordinates_are_found_again(modes: list[tuple[int, int]], index: int) -> None:
    base, place = object_at(2), {step: i for i, (step, _) in enumerate(modes)}
    ordered = sorted((Mode(place[step], step, extent) for step, extent in modes), key=lambda m: -m.step)
    tensor = Tensor(base, 2, tuple(ordered), 3)
    expected = [index // 35, index // 7 % 5, index % 7]
    found = tensor.coordinates(np.array([base + 2 * index]))
    assert found is not None
    assert [int(found[0, place[step]]) for step in (70, 14, 2)] == expected
    assert tensor.coordinates(np.array([base + 210])) is None


@pytest.mark.parametrize("open_", [False, True])
def test_an_extent_that_only_a_run_knows_has_no_end(open_: bool) -> None:
    tensor = Tensor(object_at(2), 2, (Mode(0, 128, 4), Mode(1, 2, 64)), 2, open_)
    assert tensor.coordinates(np.array([object_at(2) + 3 * 128])) is not None
    beyond = tensor.coordinates(np.array([object_at(2) + 9 * 128 + 6]))
    assert (beyond is None) != open_ and (beyond is None or beyond.tolist() == [[9, 3]])
    assert tensor.coordinates(np.array([object_at(2) - 2])) is None


def test_guessed_extents_end_where_the_next_mode_begins() -> None:
    cute = '!cute.memref<bf16, gmem, align<16>, "((4,?),?,?):((?,?),1,?)">'
    value = (object_at(3), ((256, 256, 256), (256, 65536, 1024)))
    (one,) = tensors([(value, "")], [cute], {}, frozenset((256,)))[3]
    # rows 131072 bytes apart, 64 groups of 2048 bytes, 4 heads of 512 bytes, 256 elements
    assert [(m.place, m.step, m.extent) for m in one.modes] == [
        (1, 131072, 256), (3, 2048, 64), (0, 512, 4), (2, 2, 256)
    ]  # fmt: skip
    assert one.open


def test_blocks_together_follow_what_one_of_them_follows() -> None:
    ops = [Operation(str(i)) for i in range(4)]
    one = Judged(followed={ops[0]: None}, reasons={ops[1]: CONSTANT, ops[2]: PARTLY}, placed=1, stored=2)
    one.add(Judged(followed=dict.fromkeys(ops[1:3]), reasons={ops[0]: NOT_MET, ops[3]: CONSTANT}, stored=3))
    assert list(one.followed) == ops[:2] and (one.placed, one.stored) == (1, 5)
    assert one.reasons == {ops[2]: PARTLY, ops[3]: CONSTANT}


def test_other_extents_judge_only_what_no_block_has_executed() -> None:
    ops = [Operation(str(i)) for i in range(3)]
    one = Judged(followed={ops[0]: None}, reasons={ops[1]: PARTLY})
    assert [one.knows(op) for op in ops] == [True, True, False]
    breaches = [Breach("depth", op) for op in ops] + [Breach("place", ops[2])]
    other = Judged(breaches, {ops[2]: None}, dict.fromkeys(ops[:2], COMPUTED), placed=4, stored=8)
    found = other.of([op for op in ops if not one.knows(op)])
    assert found.breaches == breaches[2:3] and list(found.followed) == ops[2:] and not found.reasons
    assert (found.placed, found.stored) == (0, 0)


def test_tensors_are_given_extents_of_their_own_in_turn() -> None:
    dynamic = '!cute.memref<f16, gmem, align<16>, "(?,64):(?,1)">'
    static = '!cute.memref<f16, gmem, align<16>, "(64,64):(64,1)">'
    text = "".join(
        f'"func.func"() <{{function_type = ({", ".join([static] + [dynamic] * count)}) -> (), '
        f'sym_name = "{name}"}}> ({{\n'
        for name, count in (("host", 6), ("kernel", 9))
    )
    kernel: Any = SimpleNamespace(name="kernel")
    found = list(unequal(kernel, text))
    assert [one.argument for one in found] == [1, 2]
    assert all(one.guesses == {1024, 1144} and one.share == 0 for one in found)
    assert USUAL.guesses == {256}


def _tile(rows: int = 4, depth: int = 4, pitch: int = 128, start: int = object_at(1)) -> Any:
    return (start + pitch * np.arange(rows)[:, None] + 2 * np.arange(depth))[None]


def test_a_tile_is_one_sum_of_rows_and_k() -> None:
    one = side(_tile(), nothing)
    assert one.scrambled is None and not one.reason
    labels = _tile()
    labels[0, [1, 2], 3] = labels[0, [2, 1], 3]
    assert side(labels, nothing).scrambled == (0, 1, 3)


def test_what_is_beyond_the_end_is_left_out() -> None:
    labels = _tile()
    labels[:, 2:] = 0
    one = side(labels, nothing)
    assert not one.reason and one.rows[0].tolist()[2:] == [0, 0] and one.depth.all()
    labels[0, 0, 1] = 0
    assert side(labels, nothing).reason == PARTLY
    assert side(0 * labels, nothing).reason == CONSTANT


def _four_by_four(index: Any) -> tuple[Any, Any]:
    return 1000 + index // 4, 2000 + index % 4


def test_results_are_operands_either_way_round() -> None:
    named = _four_by_four
    labels = (PRODUCT | np.arange(16)).reshape(1, 4, 4)
    one, other = side(labels, named), side(labels.transpose(0, 2, 1), named)
    assert one.rows.tolist() == other.depth.tolist() == [[1000, 1001, 1002, 1003]]
    assert one.depth.tolist() == other.rows.tolist() == [[2000, 2001, 2002, 2003]]
    labels[0, 0, 0], labels[0, 3, 3] = labels[0, 3, 3], labels[0, 0, 0]
    assert side(labels, named).scrambled is not None


def test_masked_elements_have_no_place() -> None:
    labels = (PRODUCT | np.arange(16)).reshape(1, 4, 4)
    labels[0, 0, 1:] = labels[0, 1] = MASKED
    one = side(labels, _four_by_four)
    assert not one.reason and one.scrambled is None and not one.masked
    assert one.rows.tolist() == [[1000, 0, 1002, 1003]] and one.depth.tolist() == [[2000, 2001, 2002, 2003]]
    labels[0, 2, 3] = PRODUCT | 14
    assert side(labels, _four_by_four).scrambled is not None
    whole = side(np.full_like(labels, MASKED), _four_by_four)
    assert whole.masked and whole.reason == CONSTANT


def test_a_product_with_nothing_but_masked_elements_counts_for_nothing() -> None:
    a, b = _sides()
    none = side(np.full_like(a.labels, MASKED), nothing)
    one, other, third = _execution(a, b), _execution(none, b), _execution(a, none)
    assert summed([one, other, third]) == [one] and summed([other]) == [other]


def _execution(a: Side, b: Side, first: int = 10) -> Execution:
    op = Operation("nvvm.mma.sync")
    sums = first + np.arange(16).reshape(1, 4, 4)
    return Execution(op, 0, a, b, sums, np.array([0]), 16, np.array([0]))


def _sides(shift_a: int = 0, shift_b: int = 0) -> tuple[Side, Side]:
    made = [
        side(_tile(start=object_at(number) + 2 * shift), nothing)
        for number, shift in ((1, shift_a), (2, shift_b))
    ]
    return made[0], made[1]


def _judged(*executions: Execution, brought: Any = (), guesses: frozenset[int] = frozenset()) -> Judged:
    known = {n: [Tensor(object_at(n), 2, (Mode(0, 128, 64), Mode(1, 2, 64)), 2)] for n in (1, 2)}
    known |= {n: [Tensor(object_at(n), 2, (Mode(0, 2, 4096),), 1)] for n in (3, 4)}
    found = Judged()
    depths = Depths(Names(known, guesses), found, list(brought))
    for one in executions:
        if not depths.take(one.op, [one]):
            found.followed[one.op] = None
    depths.finish()
    return found


def test_one_distance_of_k_is_right_and_two_are_not() -> None:
    assert not _judged(_execution(*_sides(0, 4)), _execution(*_sides(4, 8))).breaches
    (breach,) = _judged(_execution(*_sides(0, 4)), _execution(*_sides(4, 4))).breaches
    assert (breach.kind, breach["a"], breach["b"], breach["first"], breach["within"]) == (
        "depth", 4, 4, (0, 4), False
    )  # fmt: skip
    other_sum = _execution(*_sides(4, 4), first=50)
    assert not _judged(_execution(*_sides(0, 4)), other_sum).breaches


def test_k_that_copies_bring_and_no_product_takes_are_left() -> None:
    """Of 64 k, an extent that a run gives, a sum takes 0 to 3, and copies bring 0 to 7 of A, of B or both."""
    one, tiles = _execution(*_sides()), [_tile(depth=8, start=object_at(n)) for n in (1, 2)]

    def left(*more: Execution, brought: Any) -> list[Any]:
        labels = [tile.reshape(-1) for tile in brought]
        short = _judged(one, *more, brought=labels, guesses=frozenset((64,))).short
        return [(breach["left"], breach["count"], breach["unread"]) for breach in short if breach["unread"]]

    assert left(brought=tiles) == [((4, 63), 60, True)]
    assert not left(brought=tiles[:1]) and not left(brought=tiles[1:]) and not left(brought=_sides_of(one))
    # a state that the last chunk need not bring up to date: its elements are rows of another product
    rows = side(_tile(start=object_at(1) + 2 * 4).transpose(0, 2, 1), nothing)
    assert not left(_execution(rows, side(_tile(pitch=8, start=object_at(3)), nothing), 50), brought=tiles)
    beyond = [
        np.concatenate([tile.reshape(-1), [object_at(n) + 64 * 128]]) for n, tile in enumerate(tiles, 1)
    ]
    assert not left(brought=beyond)  # where addresses leave the tensor nothing is known
    static = _judged(one).short
    assert [(breach["left"], breach["unread"]) for breach in static] == [((4, 63), False)]


def test_k_at_an_end_that_no_product_uses_are_left_for_other_extents_to_confirm() -> None:
    """Of 64 k, an extent that a run gives; not where k between are left, or rows of another product."""

    def left(*every: Execution) -> list[Any]:
        return [(one["left"], one["guessed"]) for one in _judged(*every, guesses=frozenset((64,))).short]

    assert left(_execution(*_sides())) == [((4, 63), True)]
    assert left(_execution(*_sides(60, 60))) == [((0, 59), True)]
    assert left(_execution(*_sides(8, 8))) == []
    rows = side(_tile(start=object_at(1) + 2 * 4).transpose(0, 2, 1), nothing)
    assert (
        left(_execution(*_sides()), _execution(rows, side(_tile(pitch=8, start=object_at(3)), nothing), 50))
        == []
    )


def _sides_of(one: Execution) -> list[Any]:
    return [one.a.labels, one.b.labels]


def test_every_second_k_is_no_other_order() -> None:
    a, b = _sides()
    spread = side(2 * (b.labels - object_at(2)) + object_at(2), nothing)
    assert not _judged(_execution(a, spread)).breaches


def test_a_flat_tensor_has_no_k() -> None:
    flat = [side(_tile(pitch=8, start=object_at(n)), nothing) for n in (3, 4)]
    turned = side(flat[1].labels.transpose(0, 2, 1), nothing)
    found = _judged(_execution(flat[0], turned))
    assert not found.breaches and not found.followed


def test_rows_of_several_heads_have_their_own_columns() -> None:
    a, b = _sides()
    labels = a.labels + np.array([0, 0, 16, 16])[None, :, None]  # the next head, 8 columns on
    packed = side(labels, nothing)
    assert not _judged(_execution(packed, b)).breaches


def test_a_permuted_k_in_one_operand_is_told() -> None:
    a, b = _sides()
    labels = b.labels[:, :, [1, 0, 2, 3]]
    (breach,) = _judged(_execution(a, side(labels, nothing))).breaches
    assert breach.kind == "depth" and breach["within"] is True
    both = [side(one.labels[:, :, [1, 0, 2, 3]], nothing) for one in (a, b)]
    assert not _judged(_execution(*both)).breaches


def test_a_row_with_k_of_its_own_is_told() -> None:
    a, b = _sides()
    labels = a.labels + np.array([0, 0, 4, 4])[None, :, None]  # as a swizzle on one side does
    (breach,) = _judged(_execution(side(labels, nothing), b)).breaches
    assert (breach.kind, breach.letter, breach["held"], breach["taken"]) == ("scrambled", "A", (2, 2), (2, 0))
    hankel = object_at(1) + 2 * (np.arange(4)[:, None] + np.arange(4))[None]
    assert not _judged(_execution(side(hankel, nothing), b)).breaches


def test_a_tile_of_results_with_a_hole_says_so() -> None:
    """What the store of a tile takes from shared memory that nothing wrote."""
    rows, columns = (x.reshape(-1) for x in np.meshgrid(np.arange(4), np.arange(8), indexing="ij"))
    target = Tensor(object_at(3), 2, (Mode(0, 128, 64), Mode(1, 2, 64)), 2)
    names = Names({n: [replace(target, base=object_at(n))] for n in (1, 2, 3)})
    for kept, missing in ((np.ones(32, bool), 0), (np.arange(32) % 8 != 5, 0), (np.arange(32) != 5, 2)):
        at, row, column = (x[kept] for x in (rows, columns, columns))
        stores = Stores(
            object_at(3) + 128 * at + 2 * row, object_at(1) + 128 * at, object_at(2) + 128 * column,
            np.zeros(len(at), np.int64), [Operation("llvm.store")], np.zeros(len(at), np.int64),
        )  # fmt: skip
        found = Judged(stored=2 * int(kept.sum()))
        why = placed(stores, Products(SimpleNamespace(blocks=[SimpleNamespace(references=8)])), names, found)  # type: ignore[arg-type]
        assert found.stored - found.placed == missing and bool(why) == bool(missing)
    rows = np.where(
        np.arange(32) < 8, UNKNOWN, object_at(1) + 128 * rows
    )  # the first row's product is not followed
    at = object_at(3) + 128 * (np.arange(32) // 8) + 2 * columns
    none = np.zeros(32, np.int64)
    stores = Stores(at, rows, object_at(2) + 128 * columns, none, [Operation("llvm.store")], none)
    found = Judged(stored=64)
    why = placed(stores, Products(SimpleNamespace(blocks=[SimpleNamespace(references=8)])), names, found)  # type: ignore[arg-type]
    assert (found.placed, found.stored, why) == (48, 64, NO_NAME)


@pytest.mark.parametrize("tiles", [False, True])
def test_one_element_in_another_place_is_told_within_a_tile(tiles: bool) -> None:
    """Between several tiles, the places of which may be meant, it is not compared."""
    rows, columns = (x.reshape(-1) for x in np.meshgrid(np.arange(4), np.arange(8), indexing="ij"))
    target = Tensor(object_at(3), 2, (Mode(0, 128, 64), Mode(1, 2, 64)), 2)
    names = Names({n: [replace(target, base=object_at(n))] for n in (1, 2, 3)})
    at = np.where(np.arange(32) == 5, 9, rows)
    op = Operation("llvm.store")
    stores = Stores(
        object_at(3) + 128 * at + 2 * columns, object_at(1) + 128 * rows, object_at(2) + 128 * columns,
        np.zeros(32, np.int64), [op], np.zeros(32, np.int64),
    )  # fmt: skip
    replay: Any = SimpleNamespace(blocks=[SimpleNamespace(references=8)])
    products, found = Products(replay, met={op: None}), Judged()
    why = placed(stores, products, names, found, tiles)
    told = [(one.letter, one["at"], one["coordinate"]) for one in found.breaches]
    assert told == ([] if tiles else [("A", (9, 5), 0)]) and bool(why) == tiles


@pytest.mark.parametrize(
    ("calls", "expected"),
    [
        ([(64, 128)], True),
        ([(128, 128)], True),
        ([(128, 64)], False),
        ([(64, 128), (256, 128)], False),
        ([(64, 128), None], None),
        ([], None),
    ],
)
def test_c_has_no_more_tiles_than_its_operand_in_all_calls(calls: list[Any], expected: bool | None) -> None:
    """The rows of C and of A in each call; without calls two made-up sizes do not say."""

    def launched(rows: int, others: int) -> Any:
        values = [(object_at(i + 1), ((n, 64), (64,))) for i, n in enumerate((rows, others))]
        types = ['!cute.memref<bf16, gmem, align<16>, "(?,?):(?,1)">'] * 2
        return SimpleNamespace(given=(None, [(value, "") for value in values]), types=types)

    def with_numbers(call: Any, _integer: int) -> Any:
        if isinstance(call, int):  # a made-up size
            return launched(call, 3 * call // 2 - 128)
        return None if call is None else launched(*call)

    kernel: Any = SimpleNamespace(with_numbers=with_numbers)
    assert no_more(kernel, calls, (1, 0, 0), (2, 0, 0)) is expected


def test_a_sum_that_changes_its_place_is_not_followed() -> None:
    replay: Any = SimpleNamespace(blocks=[SimpleNamespace(references=64)])
    index = np.arange(2, 34).reshape(1, 4, 8)
    for later, moved in ((index, False), (index[:, [1, 0, 2, 3]], True), (index[:, ::-1, :4], False)):
        products = Products(replay)
        assert not products._moved(0, index).any()
        assert products._moved(0, later).any() == moved


def test_a_sum_that_goes_on_with_another_row_is_told() -> None:
    """Two instructions of one sum, 16 bytes of k apart; then the same with two rows of C exchanged."""
    first, after = (side(_tile(start=object_at(1) + at), nothing) for at in (0, 8))
    before = np.broadcast_to(first.rows[:, :, None], (1, 4, 8))
    assert _other_row(after, before) is None
    found = _other_row(after, before[:, [1, 0, 2, 3]])
    assert found == (0, object_at(1) + 8, object_at(1) + 128)
    elsewhere = side(_tile(start=object_at(2), pitch=64), nothing)  # of another tensor, with other strides
    assert _other_row(elsewhere, before) is None
    known = {1: [Tensor(object_at(1), 2, (Mode(0, 128, 64), Mode(1, 2, 64)), 2)]}
    products: Any = SimpleNamespace(mixed={Operation("nvvm.mma.sync"): ("A", *found, 16)})
    (breach,) = _mixed(products, Names(known))
    assert (breach["held"], breach["taken"]) == ((0, 4), (1, 0))
    _, message = lc602.tell("A", dict(breach.facts))
    assert "that of A[0, 4], and its sum began with the row of A[1, 0]" in message


@pytest.mark.parametrize(("down", "extent", "told"), [(4, 64, True), (2, 64, False), (4, 4, False)])
@pytest.mark.parametrize("beyond", [False, True])
def test_tiles_along_the_rows_in_the_place_of_k_are_told(
    down: int, extent: int, told: bool, beyond: bool
) -> None:
    """A copy whose coordinates are exchanged; a convolution has taken all of its k, and goes on by rows.

    The last rows may lie beyond the tensor's end.
    """
    (a, b), (_, later) = _sides(), _sides(0, 4)
    kept = np.array([1, 1, not beyond, not beyond])[None, :, None]
    moved = side((a.labels + 128 * down) * kept, nothing)
    known = {1: [Tensor(object_at(1), 2, (Mode(0, 128, 64), Mode(1, 2, extent)), 2)]}
    known[2] = [Tensor(object_at(2), 2, (Mode(0, 128, 64), Mode(1, 2, 64)), 2)]
    for turned in (False, True):
        found = Judged()
        pairs = [(b, a), (later, moved)] if turned else [(a, b), (moved, later)]
        executions = [replace(_execution(*one), op=Operation("nvvm.mma.sync")) for one in pairs]
        why = Depths(Names(known), found).take(executions[0].op, executions)
        assert bool(found.breaches) == told and why
        if told:
            (breach,) = found.breaches
            assert (breach["first"], breach["a"], breach["b"]) == ((0, 0), *((4, 0) if turned else (0, 4)))


def test_k_that_runs_across_the_rows_is_told() -> None:
    a, b = _sides()
    swizzled = a.labels + 128 * np.arange(4)  # k runs down the rows, too
    (breach,) = _judged(_execution(side(swizzled, nothing), b)).breaches
    assert (breach.kind, breach.letter, breach["k"], breach["held"]) == ("scrambled", "A", 1, (1, 1))


def _product_names(index: Any) -> tuple[Any, Any]:
    """Names of a product of 4 rows and 4 columns: rows of tensor 1, columns of tensor 2."""
    return object_at(1) + 128 * (index // 4), object_at(2) + 128 * (index % 4)


def test_blocks_that_are_exchanged_are_told_and_patches_of_an_image_are_not() -> None:
    """8 x 8 blocks, each transposed by itself; rows (h / 4, w / 4) and k (h % 4, w % 4) of a picture."""
    row, k = np.arange(16)[:, None], np.arange(16)[None, :]
    both, none = np.array([0, 1]), (np.zeros((1, 2), np.int64), np.zeros(2, np.int64))
    crossed = np.stack([k % 8 + row // 8 * 8, row % 8 + k // 8 * 8], 2)
    assert exchanged(crossed[None], both, *none) == (0, 0, 8)
    assert exchanged(crossed[None, ..., ::-1], both, *none) == (0, 0, 8)
    patches = np.stack([row // 4 * 4 + k // 4, row % 4 * 4 + k % 4], 2)
    windows = np.stack([row + k // 4, 0 * row + k % 4], 2)  # of a convolution
    tiles = np.array([[8, 64]]), np.array([64, 64])  # other sums have other rows
    for one in (patches, windows, np.stack([row + 0 * k, 0 * row + k], 2)):
        assert exchanged(one[None], both, *tiles) is None
    columns = crossed[None, :8]  # of B; the same of a window of 8 channels that is dilated by 8
    assert exchanged(columns, both, *tiles) == (0, 0, 8)
    assert exchanged(columns, both, tiles[0], np.array([8, 256])) is None
    dilated = np.stack([0 * row + k % 8, row + k // 8 * 4], 2)[None, :8]
    assert exchanged(dilated, both, *tiles) is None


@pytest.mark.parametrize("turned", [False, True])
def test_results_in_another_order_are_told_by_their_rows_and_columns(turned: bool) -> None:
    labels = (PRODUCT | np.arange(16)).reshape(1, 4, 4)
    labels[0, 1, [1, 2]] = labels[0, 1, [2, 1]]  # registers of (1, 1) and (1, 2) are exchanged
    broken = side(labels.transpose(0, 2, 1) if turned else labels, _product_names)
    known = {n: [Tensor(object_at(n), 2, (Mode(0, 128, 64), Mode(1, 2, 64)), 2)] for n in (1, 2)}
    facts = dict(of_product(_execution(broken, broken), broken, Names(known)))
    assert (facts["product"], facts["held"], facts["taken"]) == (("n",), (2,), (1,))
    assert (facts["row"], facts["k"]) == (1, 1)
    assert of_product(_execution(broken, broken), replace(broken, joined=True), Names(known)) == ()


def test_a_broadcast_operand_has_one_row() -> None:
    known = {n: [Tensor(object_at(n), 2, (Mode(0, 128, 64), Mode(1, 2, 64)), 2)] for n in (1, 2)}
    row = np.repeat(_tile()[:, :1], 4, 1)
    later = np.where(np.arange(4) < 2, row + 8, 0)  # the next k, of which two are beyond the end
    assert broadcast([side(row, nothing), side(later, nothing)], Names(known))
    assert broadcast([side(row, nothing), side(row + 128, nothing)], Names(known)) is False  # another row
    assert broadcast([side(_tile(), nothing)], Names(known)) is False
    shifted = _tile(pitch=2)  # rows that begin one element on, along the same mode
    assert broadcast([side(shifted, nothing)], Names(known)) is False
    assert broadcast([side(0 * row, nothing)], Names(known)) is None


@pytest.mark.parametrize(
    ("rows", "pair", "layout"),
    [
        (128, False, "(128,128):(65536,1)"),
        (64, False, "((16,4),128):((65536,2097152),1)"),
        (128, True, "(128,128):(65536,1)"),
        (64, True, "(64,(64,2)):(65536,(1,4194304))"),
    ],
)
def test_accumulators_lie_where_the_fragments_of_the_dsl_do(rows: int, pair: bool, layout: str) -> None:
    """The layouts that `make_fragment_C` of DSL 4.8.1 prints: lanes are 65,536 apart, columns 1."""
    cells = accumulator_cells(rows, 128, pair)
    assert cells is not None
    expected = offsets(parse_layout(layout)).reshape(128, rows).T
    assert ((cells[0] << 16) + cells[1] == expected).all()


def test_accumulators_of_other_rows_are_not_known() -> None:
    assert accumulator_cells(96, 128, False) is None
    assert accumulator_cells(64, 127, True) is None


@pytest.mark.parametrize(("lanes", "bits"), [(32, 32), (16, 64), (16, 128), (16, 256)])
def test_a_load_of_tensor_memory_takes_each_cell_once(lanes: int, bits: int) -> None:
    size = 4 * {256: 4, 128: 2}.get(bits, 1) * 2  # twice the shape
    cells = tensor_cells(lanes, bits, size)
    assert cells is not None and cells[0].shape == (32, size)
    taken = set(zip(cells[0].ravel().tolist(), cells[1].ravel().tolist(), strict=True))
    assert taken == {(lane, byte) for lane in range(lanes) for byte in range(2 * bits // 8)}
    assert (np.diff(cells[1].reshape(32, -1, 4), axis=2) == 1).all()  # a register holds four adjacent bytes


def test_a_load_of_tensor_memory_that_ptx_has_not_is_unknown() -> None:
    assert tensor_cells(32, 32, 12) is None  # three registers
    assert tensor_cells(8, 32, 4) is None


@pytest.mark.parametrize("count", [2, 4])
def test_ldmatrix_of_sixteen_rows_takes_each_byte_once(count: int) -> None:
    row, byte = matrix_bytes(count)
    assert row.shape == byte.shape == (32, 4 * count)
    taken = sorted(zip(row.ravel().tolist(), byte.ravel().tolist(), strict=True))
    assert taken == [(r, b) for r in range(8 * count) for b in range(16)]


def test_what_a_pairs_other_block_multiplies_has_references_of_its_own() -> None:
    """The leader of a pair multiplies for both blocks; its references may be more than the other's."""
    replay: Any = SimpleNamespace(
        blocks=[SimpleNamespace(references=40_000), SimpleNamespace(references=100)],
        tensor=[TensorMemory(1, False) for _ in range(2)],
    )
    products, op = Products(replay), Operation("nvvm.tcgen05.mma")
    sums = products._cells(1, op, 30_000 + products.own, 0, 128, 64, True, False)
    assert sums is not None
    index = sums & ~(PRODUCT | FLAGS)
    assert int(index.min()) >= 100 and int(index.max()) < len(products.row_of[1])
    again = products._cells(1, op, 0, 0, 128, 64, True, True)
    assert again is not None and (again == sums).all()  # it adds to what is there
    assert not products.unset and products._cells(1, op, 0, 64, 128, 64, True, True) is not None
    assert list(products.unset) == [op]  # nothing is there
