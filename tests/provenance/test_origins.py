"""Operands by their tensors, rows that run along k, and results that are lost on their way to C."""

from __future__ import annotations

import importlib.util
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from layoutcheck.dsl.lowered.spaces import object_at
from layoutcheck.dsl.trace import trace_script
from layoutcheck.operands.rules import lc604, lc608
from layoutcheck.provenance import check_products
from layoutcheck.provenance.deeds import Deed
from layoutcheck.provenance.depth import Depths
from layoutcheck.provenance.judged import Judged, Names
from layoutcheck.provenance.origins import left_over, of_one_tensor
from layoutcheck.provenance.pairs import Pairs
from layoutcheck.provenance.place import NO_RESULT, OTHERS, Stores, _bare, placed
from layoutcheck.provenance.products import Execution, Products
from layoutcheck.provenance.refs import PRODUCT
from layoutcheck.provenance.replay import Replay, Stored
from layoutcheck.provenance.sides import Side, side
from layoutcheck.provenance.tensors import Mode, Tensor
from layoutcheck.reports.order import operand_counts
from layoutcheck.reports.style import Style
from layoutcheck.sources.mlir import Operation
from tests.lowering import SharedLowering

NAMES = Names({n: [Tensor(object_at(n), 2, (Mode(0, 128, 64), Mode(1, 2, 64)), 2)] for n in (1, 2, 3)})
TILE = 128 * np.arange(4)[None, :, None] + 2 * np.arange(4)[None, None, :]


def _side(tensor: int, at: int = 0, labels: Any = TILE) -> Side:
    return side(labels + object_at(tensor) + at, lambda index: (0 * index, 0 * index))


def _execution(a: Side, b: Side, first: int = 10, op: Operation | None = None) -> Execution:
    sums = first + np.arange(16).reshape(1, 4, 4)
    return Execution(op or Operation("nvvm.mma.sync"), 0, a, b, sums, np.array([0]), 16, np.array([0]))


def _blocks(**named: Any) -> Any:
    return SimpleNamespace(blocks=[SimpleNamespace(references=64, touched=frozenset(), deeds={}, **named)])


def test_both_operands_of_one_tensor_are_named() -> None:
    op, a, b = Operation("nvvm.mma.sync"), _side(1), _side(2)
    for pairs, tensor in (([(a, b)], 0), ([(a, a)], 1), ([(b, b), (b, b)], 2)):
        found = Judged()
        of_one_tensor(op, [_execution(*one) for one in pairs], found)
        assert found.one_tensor.get(op, 0) == tensor and not found.breaches


@pytest.mark.parametrize("letter", "AB")
def test_an_operand_that_changes_tensors_within_a_sum_is_told(letter: str) -> None:
    a, b = _side(1), _side(2)
    after, own = ((b, b), 1) if letter == "A" else ((a, a), 2)
    op = Operation("nvvm.mma.sync")
    for order in ([(a, b), after], [after, (a, b)]):
        found = Judged()
        of_one_tensor(op, [_execution(*one) for one in order], found)
        (breach,) = found.breaches
        assert (breach.kind, breach.letter, breach["own"], breach["tensor"]) == (
            "tensor",
            letter,
            own,
            3 - own,
        )
        assert f"{letter} is elements of argument {own}" in lc608.tell(letter, dict(breach.facts))[1]
    other = Judged()
    of_one_tensor(op, [_execution(a, b), _execution(*after, first=50)], other)
    assert not other.breaches  # of another sum, as of another group of a grouped product
    both = Judged()
    of_one_tensor(op, [_execution(a, b), _execution(_side(3), b)], both)
    assert not both.breaches  # [A1 A2] B: neither is B's


def test_what_is_left_over_is_neither_loaded_nor_stored_to() -> None:
    op, a, b = Operation("nvvm.mma.sync"), _side(1), _side(2)
    stores = {0: Deed("store", Operation("llvm.store"), None, object_at(3))}

    def left(executions: list[Execution], deeds: Any, touched: Any = (), labels: int = 0) -> frozenset[int]:
        replay = _blocks()
        replay.labels, replay.pairs, replay.maps = [np.array([labels])], Pairs(), {}
        replay.blocks[0].deeds, replay.blocks[0].touched = deeds, frozenset(touched)
        products = Products(replay)
        products.executions += executions
        found = Judged()
        of_one_tensor(op, executions, found)
        left_over(products, NAMES, found)
        return found.left.get(op, frozenset())

    assert left([_execution(b, b)], stores) == {1}  # C is argument 3
    assert left([_execution(a, b)], stores) == frozenset()
    assert left([_execution(b, b)], {}) == {1, 3}
    assert left([_execution(b, b)], stores, touched=[1]) == frozenset()  # loaded to registers
    assert (
        left([_execution(b, b)], stores, labels=object_at(1) + 6) == frozenset()
    )  # or through shared memory


def test_a_tensor_that_serves_two_products_is_noted_where_another_is_left() -> None:
    """K in the place of V: the second product's A is computed, its B is the first one's."""
    scores, mixed = Operation("nvvm.mma.sync"), Operation("nvvm.mma.sync")
    q, k, v, p = _side(1), _side(2), _side(3), replace(_side(1), computed=True)
    replay = _blocks()
    replay.labels, replay.pairs, replay.maps = [np.array([0])], Pairs(), {}

    def left(*executions: Execution) -> dict[Operation, frozenset[int]]:
        products = Products(replay)
        products.executions += executions
        found = Judged()
        for one in executions:
            of_one_tensor(one.op, [one], found)
        left_over(products, NAMES, found)
        return found.left

    first = _execution(q, k, op=scores)
    assert left(first, _execution(p, k, op=mixed)) == {mixed: frozenset({3})}
    assert left(first, _execution(p, v, op=mixed)) == {}  # attention as it is meant
    assert left(first, _execution(q, k, op=mixed)) == {}  # one product in two instructions
    assert "of argument 2" in lc608.tell("", {"tensor": 2, "own": 0, "left": (3,), "products": 2})[1]


@pytest.mark.parametrize(("turns", "told"), [("vk", (2, 3)), ("kv", (2, 3)), ("vv", None), ("vw", None)])
def test_a_sum_that_goes_on_with_the_tensor_of_another_product_is_told(
    turns: str, told: tuple[int, int] | None
) -> None:
    """V, and K in a later turn; a second tensor of values (new tokens) is none of another product."""
    scores, mixed = Operation("nvvm.mma.sync"), Operation("nvvm.mma.sync")
    q, k, p = _side(1), _side(2), replace(_side(1), computed=True)
    values = {"k": k, "v": _side(3), "w": _side(4)}
    products = Products(_blocks(labels=[]))
    products.replay.labels, products.replay.pairs, products.replay.maps = [np.array([0])], Pairs(), {}
    found = Judged()
    of_one_tensor(scores, [_execution(q, k, op=scores)], found)
    of_one_tensor(mixed, [_execution(p, values[one], op=mixed) for one in turns], found)
    left_over(products, NAMES, found)
    assert [(one.op, one.letter, one["tensor"], one["own"]) for one in found.breaches] == (
        [(mixed, "B", *told)] if told else []
    )
    if told:
        assert "an operand of another product" in lc608.tell("B", dict(found.breaches[0].facts))[1]


@pytest.mark.parametrize("swapped", [False, True])
@pytest.mark.parametrize(("extent", "ahead", "told"), [(4, 8, False), (4, 6, True), (64, 8, True)])
def test_all_k_of_one_operand_may_come_again_and_again(
    extent: int, ahead: int, told: bool, swapped: bool
) -> None:
    """A sum over segments: the k of one goes on by as many as the other has, which are all multiplied."""
    short = Tensor(object_at(2), 2, (Mode(0, 128, 64), Mode(1, 2, extent)), 2)
    found, op = Judged(), Operation("nvvm.mma.sync")
    depths = Depths(Names({**NAMES.known, 2: [short]}), found)
    sides = [(_side(1, at), _side(2)) for at in (0, ahead)]
    turns = [_execution(*(pair[::-1] if swapped else pair), op=op) for pair in sides]
    assert not depths.take(op, turns)
    depths.finish()
    assert [one.kind for one in found.breaches] == ["depth"] * told


def test_rows_along_the_k_of_the_same_sum_are_told() -> None:
    """ldmatrix transposes blocks of one of two instructions; patches of an image have other rows."""
    m, k = np.arange(4)[:, None], np.arange(8)[None]
    whole, turned = (128 * m + 2 * k)[None], (2 * m + 128 * k)[None]  # K, or rows, contiguous
    blocks = (2 * (k % 4) + 128 * (k // 4 * 4 + m))[None]
    patches = (128 * (m + 4 * (k // 4)) + 2 * (k % 4))[None]  # k goes on in other rows, after 4
    for usual, labels, after, told in (
        (turned, blocks, 1024, True), (whole, patches, 16, False), (whole, whole, 16, False)
    ):  # fmt: skip
        found = Judged()
        depths = Depths(NAMES, found)
        ops = [Operation("nvvm.mma.sync"), Operation("nvvm.mma.sync")]
        sides = (usual, 0), (labels, after)
        for op, (mine, at) in zip(ops, sides, strict=True):
            one = _execution(_side(1, at, mine), _side(2, at, usual), op=op)
            found.followed |= {} if depths.take(op, [one]) else {op: None}
        assert not found.breaches  # k along two modes is not told by itself
        depths.finish()
        assert bool(found.breaches) == told
        if told:
            (breach,) = found.breaches
            assert (breach.kind, breach.op is ops[1], breach["held"]) == ("scrambled", True, (9, 0))
            assert ops[1] not in found.followed and found.reasons[ops[1]]


def _stores(apart: Any, kept: Any) -> tuple[Judged, str]:
    """32 x 32 results at columns that are `apart` from their own; those `kept` are stored."""
    rows, columns = (x.reshape(-1) for x in np.meshgrid(np.arange(32), np.arange(32), indexing="ij"))
    given = columns + np.broadcast_to(apart, (32, 32)).reshape(-1)
    rows, columns, given = (x[np.broadcast_to(kept, (32, 32)).reshape(-1)] for x in (rows, columns, given))
    stores = Stores(
        object_at(3) + 128 * rows + 2 * columns, object_at(1) + 128 * rows, object_at(2) + 128 * given,
        np.zeros(len(rows), np.int64), [Operation("llvm.store")], np.zeros(len(rows), np.int64),
    )  # fmt: skip
    products, found = Products(_blocks()), Judged(stored=2 * len(rows))
    products.met[Operation("nvvm.mma.sync")] = None
    return found, placed(stores, products, NAMES, found)


def test_few_results_that_stray_are_told_and_another_order_is_not() -> None:
    columns = np.arange(32)
    found, why = _stores(np.where(columns == 4, 4, 0), columns != 8)  # column 8 in the place of 4; 4 is lost
    (breach,) = found.breaches
    assert not why and (breach.kind, breach.letter, breach["at"]) == ("place", "B", (0, 4))
    assert breach["differ"] == 32 and breach["coordinate"] == 8
    for apart, kept in ((np.where(columns < 16, 0, 8), True), (columns // 8 * 8, True), (columns, True)):
        found, why = _stores(apart, kept)
        assert not found.breaches and why == OTHERS
    found, why = _stores(0 * columns, (columns != 3) | (np.arange(32)[:, None] != 3))
    assert not found.breaches and why == NO_RESULT  # one element's hole, which something else may fill


def test_a_store_of_what_nothing_wrote_is_told() -> None:
    block = SimpleNamespace(references=8, opaque=False, begun=False)
    for opaque in (False, True):
        block.opaque = opaque
        replay = Replay([block], {})  # type: ignore[list-item]
        replay._write(0, np.arange(8), np.full(8, PRODUCT | 3))
        at = object_at(3) + np.arange(16)
        replay._store_box(0, Deed("tma_store", Operation("nvvm.store"), None), at, 0, np.arange(16))
        assert [one.at.tolist() for one in replay.bare] == ([] if opaque else [at[8:].tolist()])
        assert replay.stored[0].at.tolist() == at[:8].tolist()
    replay = Replay([block], {})  # type: ignore[list-item]
    block.opaque = False
    products = Products(_blocks())
    products.met[Operation("nvvm.mma.sync")] = None
    products.replay.bare = [Stored(Operation("nvvm.store"), at[8:], 0 * at[8:], 0)]
    breach = _bare(products, NAMES)
    assert breach is not None and breach["at"] == (0, 4) and breach["bare"] == 4
    assert "from shared memory that nothing wrote" in lc604.tell("", dict(breach.facts))[1]


@pytest.mark.skipif(importlib.util.find_spec("cutlass") is None, reason="needs nvidia-cutlass-dsl")
def test_a_program_that_multiplies_b_by_b_is_told_so(tmp_path: Path) -> None:
    text = (Path(__file__).parents[1] / "operands" / "one_product.py").read_text()
    fed = text.replace("copy_a = cute.make_tiled_copy_B", "copy_a = cute.make_tiled_copy_A")
    fed = fed.replace("thread_a.partition_S(a)", "thread_a.partition_S(b)")
    program = tmp_path / "fed.py"
    program.write_text(fed)
    with SharedLowering(copies=False, products=check_products) as lowering:
        trace = trace_script(str(program), launch=False, arch="sm_80", lowering=lowering)
    (report,) = trace.operands
    (finding,) = report.findings
    assert (finding.code, finding.severity, finding.evidence["left"]) == ("LC608", "note", [1])
    line = next(i for i, one in enumerate(fed.splitlines(), 1) if "cute.gemm" in one)
    assert finding.places[0].where.line == line and report.followed == report.products == 4
    said = " ".join(" ".join(operand_counts(trace.operands, Style())).split())
    assert "4 of 4 products followed: 0 wrong, 1 note (--all)" in said
    assert "are elements of one tensor, and nothing uses argument 1: if that is meant" in said
