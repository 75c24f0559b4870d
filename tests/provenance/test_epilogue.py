"""Elements of other tensors that come to results, held against the places where these are stored."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from layoutcheck.dsl.lowered.spaces import GLOBAL_STEP, MIDDLE
from layoutcheck.provenance.accesses import combine
from layoutcheck.provenance.epilogue import astray, uncompared
from layoutcheck.provenance.judged import Names
from layoutcheck.provenance.refs import GLOBAL, MIXED, PRODUCT
from layoutcheck.provenance.replay import Stored
from layoutcheck.provenance.tell import told
from layoutcheck.provenance.tensors import Mode, Tensor
from layoutcheck.sources.mlir import Operation
from layoutcheck.sources.traced import Frame, KernelPlace

C, BIAS, TABLE = (
    Tensor(n * GLOBAL_STEP + MIDDLE, 4, modes, len(modes))
    for n, modes in (
        (1, (Mode(0, 256, 32), Mode(1, 4, 64))),
        (2, (Mode(0, 4, 64),)),
        (3, (Mode(0, 64, 8), Mode(1, 4, 16))),
    )
)  # fmt: skip
KNOWN = {1: [C], 2: [BIAS], 3: [TABLE]}
OP = Operation("llvm.store")


def _products(tile: int, held: Any, more: Any = ()) -> Any:
    """A block that stores 4 rows of 16 columns from `tile` on; `held` is what comes to each column."""
    column = np.tile(np.arange(16), 4)
    at = C.base + 256 * np.repeat(np.arange(4), 16) + 4 * (tile + column)
    labels = np.arange(64)
    others = np.broadcast_to(np.asarray(held), 64)
    pairs = np.stack([labels | PRODUCT, others])
    beside = np.concatenate([pairs, np.array(more, np.int64).reshape(2, -1)], 1)
    blocks = [SimpleNamespace(beside=beside)]
    stored = [Stored(OP, at, labels, 0)]
    return SimpleNamespace(replay=SimpleNamespace(blocks=blocks, stored=stored, resolved=lambda _, x: x))


def _bias(tile: int, step: int = 1) -> Any:
    return BIAS.base + 4 * (tile + step * np.tile(np.arange(16), 4))


def _found(*every: Any, guesses: tuple[int, ...] = ()) -> list[Any]:
    return [(one.kind, one["held"], one["again"]) for one in astray(every, Names(KNOWN, frozenset(guesses)))]


def test_the_bias_of_another_tile() -> None:
    """It is that of columns 16 to 31 for the tile of columns 16 on; an element apart may be meant."""
    first = _products(0, _bias(0))
    assert _found(first, _products(16, _bias(16))) == []
    assert _found(first, _products(16, _bias(0))) == [("tile beside", (0,), (0,))]
    assert _found(first, _products(16, _bias(32))) == [("tile beside", (0,), (32,))]
    assert _found(first, _products(16, _bias(17))) == [] == _found(first, _products(16, _bias(0, 2)))
    again = np.array([[PRODUCT | 3], [BIAS.base + 200]])  # two of one tensor: neither is compared
    assert _found(first, _products(16, _bias(16), again)) == []


def test_extents_that_are_guessed_are_a_doubt() -> None:
    (one,) = astray([_products(0, _bias(0)), _products(16, _bias(0))], Names(KNOWN, frozenset((64,))))
    assert one["guessed"] is True
    module: Any = SimpleNamespace(
        kernel="k", arch="sm_80", place=lambda *_: KernelPlace("", Frame("k.py", 1))
    )
    finding = told(one, module)
    assert (finding.code, finding.severity) == ("LC614", "note")
    assert "[0, 16] with [0]" in finding.message and "argument 2" in finding.message


@pytest.mark.parametrize(
    ("held", "left"),
    [
        (_bias(16), set()),  # its columns go with those of C
        (_bias(0, 2), {2}),
        (np.full(64, BIAS.base), {2}),  # one element for all
        (TABLE.base + 4 * np.tile(np.arange(16), 4), {3}),  # it has no mode of C's extent
    ],
)
def test_what_is_not_compared_is_named(held: Any, left: set[int]) -> None:
    assert uncompared(_products(16, held), Names(KNOWN)) == left


def test_what_comes_to_results_is_kept() -> None:
    """Of plain elements of products, with those of memory; and no more than so many."""
    tracker: Any = SimpleNamespace(beside=[], combined_most=2)
    results = np.array([[PRODUCT | 5, PRODUCT | 6, PRODUCT | MIXED | 7, 0, PRODUCT | 8]])
    others = np.array([[GLOBAL + 4, 9, GLOBAL, GLOBAL, 0]])
    combine(tracker, results, others)
    assert [one.tolist() for one in tracker.beside] == [[[PRODUCT | 5, PRODUCT | 6], [GLOBAL + 4, 9]]]
    combine(tracker, results, others)
    assert len(tracker.beside) == 1
