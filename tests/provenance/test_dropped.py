"""`dropped` on sums of one row of A and one column of B that are stored, or begun anew before."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from layoutcheck.dsl.lowered.spaces import GLOBAL_STEP, MIDDLE
from layoutcheck.provenance.contract import dropped, idle
from layoutcheck.provenance.judged import Breach, Judged, Names
from layoutcheck.provenance.products import Execution
from layoutcheck.provenance.refs import PRODUCT
from layoutcheck.provenance.replay import Stored
from layoutcheck.provenance.sides import Side
from layoutcheck.provenance.tell import told
from layoutcheck.provenance.tensors import Mode, Tensor
from layoutcheck.sources.mlir import Operation
from layoutcheck.sources.traced import Frame, KernelPlace

OP = Operation("nvvm.mma.sync")
TENSORS = {n: Tensor(n * GLOBAL_STEP + MIDDLE, 2, (Mode(0, 128, 64), Mode(1, 2, 64)), 2) for n in (1, 2)}
NAMES = Names({n: [one] for n, one in TENSORS.items()})


def _side(tensor: int, first: int, row: int = 0) -> Side:
    """Two rows from `row` on by two k from `first` on."""
    rows, k = np.arange(row, row + 2)[:, None], np.arange(first, first + 2)
    labels = (TENSORS[tensor].base + 128 * rows + 2 * k)[None]
    return Side(labels[:, :, 0], labels[:, 0, :], labels)


def _execution(first: int, sums: int, row: int = 0) -> Execution:
    """The product of k from `first` on, into four sums from number `sums` on."""
    index = np.arange(sums, sums + 4).reshape(1, 2, 2)
    return Execution(OP, 0, _side(1, first, row), _side(2, first), index, np.array([0]), 16, np.array([0]))


def _found(
    executions: list[Execution],
    stored: list[int],
    *,
    mixed: bool = False,
    taken: int = 0,
    left: range = range(0),
) -> list[Any]:
    """`taken` is a sum that something computes with, `left` are those that go to shared memory."""
    products = _products(executions, stored, mixed=mixed, taken=taken, left=left)
    return [(one.kind, one["lost"], one["stored"]) for one in dropped(products, NAMES)]


def _products(
    executions: list[Execution], stored: list[int], *, mixed: bool = False, taken: int = 0,
    left: range = range(0),
) -> Any:  # fmt: skip
    refs = np.array([PRODUCT | taken] * bool(taken), np.int64)
    block = SimpleNamespace(problem="", watched=SimpleNamespace(complete=True), taken=refs)
    labels = np.array(stored, np.int64)
    replay = SimpleNamespace(
        lost={}, mixed=mixed, blocks=[block], stored=[Stored(Operation("llvm.store"), labels, labels, 0)],
        resolved=lambda _block, at: at, left=[np.isin(np.arange(64), left)],
    )  # fmt: skip
    return SimpleNamespace(replay=replay, unknown={}, own=32, executions=executions)


def test_sums_that_begin_anew_lose_their_k() -> None:
    assert _found([_execution(0, 2), _execution(2, 8)], [8, 9, 10, 11]) == [("dropped", (0, 1), (2, 3))]
    assert _found([_execution(0, 2), _execution(2, 8)], [9]) == [("dropped", (0, 1), (2, 3))]


@pytest.mark.parametrize(
    ("executions", "stored"),
    [
        ([_execution(0, 2), _execution(2, 2)], [2, 3]),  # one sum
        ([_execution(0, 2), _execution(0, 8)], [8, 9]),  # the same k again: a second pass
        ([_execution(0, 2), _execution(2, 8)], [2, 8]),  # both are stored
        ([_execution(0, 2), _execution(2, 8, row=2)], [8, 9]),  # another tile
        ([_execution(0, 2), _execution(2, 8)], []),  # nothing is
    ],
)
def test_what_loses_nothing(executions: list[Execution], stored: list[int]) -> None:
    assert _found(executions, stored) == []


def test_sums_that_go_elsewhere() -> None:
    """Into a store of several sums, into arithmetic or shared memory, or into another product."""
    both = [_execution(0, 2), _execution(2, 8)]
    assert _found(both, [8, 9], mixed=True) == _found(both, [8, 9], taken=5) == []
    assert _found(both, [8, 9], left=range(2, 6)) == []
    assert _found(both, [8, 9], taken=8) != []  # that one is stored
    taken = _side(1, 0)
    taken.labels, taken.computed = PRODUCT | np.arange(2, 6).reshape(1, 2, 2), True
    other = Execution(OP, 0, taken, _side(2, 0), np.arange(20, 24).reshape(1, 2, 2), np.array([0]), 16,
                      np.array([0]))  # fmt: skip
    assert _found([*both, other], [8, 9]) == []


def test_a_statement_none_of_whose_sums_is_used() -> None:
    """Not where one of its sums is stored, an operand is beyond its tensor, or nothing else is stored."""
    other = Operation("nvvm.mma.sync", location_text='loc("a#7")')
    up, more = (replace(_execution(k, first, row=2), op=other) for k, first in ((0, 8), (2, 12)))
    every = [_execution(0, 2), up, more]
    assert list(idle(_products(every, [2]), NAMES)) == [other]
    assert dict(idle(_products(every, [2]), NAMES)[other].facts) == {"lost": (), "stored": ()}
    assert not idle(_products(every, [2, 15]), NAMES) and not idle(_products(every, []), NAMES)
    assert not idle(_products(every, [2], taken=9), NAMES) and not idle(
        _products(every, [2], mixed=True), NAMES
    )
    more.b.labels[0, 0, 0] = 0
    assert not idle(_products(every, [2]), NAMES)


def test_what_one_block_uses_is_not_idle() -> None:
    breach = Breach("dropped", OP, "C", (("lost", ()), ("stored", ())))
    for known, kept in (({}, True), ({OP: None}, False)):
        first = Judged(idle={OP: breach}, followed={OP: None})
        first.add(Judged(followed=known))
        assert (OP in first.idle) is kept


def test_what_nothing_uses_is_a_note() -> None:
    module: Any = SimpleNamespace(
        kernel="k", arch="sm_90a", place=lambda *_: KernelPlace("", Frame("k.py", 1))
    )
    finding = told(Breach("dropped", OP, "C", (("lost", ()), ("stored", ()))), module)
    assert (finding.code, finding.severity) == ("LC612", "note")
    lost = told(Breach("dropped", OP, "C", (("lost", (0, 1)), ("stored", (2, 3)))), module)
    assert lost.severity == "wrong" and lost.title != finding.title
