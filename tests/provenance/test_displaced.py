"""Tiles that are put elsewhere: which orders of two tensors of one shape are told, and which are meant."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from layoutcheck.dsl.lowered.spaces import object_at
from layoutcheck.dsl.trace import trace_script
from layoutcheck.provenance import check_products
from layoutcheck.provenance.displaced import Arrived, alike, arrived, displaced
from layoutcheck.provenance.judged import Breach, Names
from layoutcheck.provenance.moved import Moves, pair
from layoutcheck.provenance.pairs import Pairs
from layoutcheck.provenance.refs import MIXED, Array
from layoutcheck.provenance.tensors import Mode, Tensor
from layoutcheck.sources.mlir import parse
from tests.lowering import SharedLowering
from tests.users import ROOT

N, TILE = 64, 16
ROW, COLUMN = np.divmod(np.arange(N * N), N)
BLOCK = (ROW // TILE, COLUMN // TILE)
INSIDE = (ROW % TILE, COLUMN % TILE)
(STORE,) = (op for op in parse('"a"() : () -> ()').walk() if op.name == "a")
KNOWN = {n: [Tensor(object_at(n), 4, (Mode(0, 4 * N, N), Mode(1, 4, N)), 2)] for n in (1, 2, 3)}


def _at(number: int, row: Array, column: Array) -> Array:
    return object_at(number) + 4 * (N * row + column)


def _stored(labels: Array, pairs: Pairs | None = None, through: int = 0, mine: Any = ...) -> Arrived:
    """What the block of the elements `mine` stores; `through` wrote it to shared memory."""
    moves = Moves()
    moves.keep(
        STORE, 0, _at(3, ROW, COLUMN)[mine], labels[mine], np.full_like(labels[mine], pair(through, 1))
    )
    found = arrived(moves, pairs or Pairs())
    assert found is not None
    return found


def _told(row: Array, column: Array, through: int = 1, tile: int = TILE) -> list[Breach]:
    """Of blocks of which each stores a tile."""
    block = ROW // tile * N + COLUMN // tile
    every = [_stored(_at(1, row, column), None, through, block == one) for one in np.unique(block)]
    return displaced(every, Names(KNOWN))


@pytest.mark.parametrize(
    ("kind", "row", "column", "differ", "at", "other"),
    [
        ("tile twice", ROW, TILE * BLOCK[0] + INSIDE[1], 12, (0, 16), (0, 0)),
        ("tile twice", TILE * BLOCK[1] + INSIDE[0], COLUMN, 12, (0, 16), (16, 16)),
        ("tiles exchanged", TILE * BLOCK[1] + INSIDE[0], TILE * BLOCK[0] + INSIDE[1], 12, (0, 16), (0, 16)),
        ("tile turned", TILE * BLOCK[0] + INSIDE[1], TILE * BLOCK[1] + INSIDE[0], 15, (0, 1), (0, 1)),
    ],
    ids=["of the row", "of the column", "exchanged", "turned"],
)
def test_tiles_that_are_put_elsewhere(
    kind: str, row: Array, column: Array, differ: int, at: tuple[int, int], other: tuple[int, int]
) -> None:
    """With the number of sixteenths of the tensor that come from elsewhere."""
    (one,) = _told(row, column)
    assert (one.kind, one["differ"], one["of"]) == (kind, differ * N * N // 16, N * N)
    assert (one["at"], one["other"], one["tensors"]) == (at, other, (1, 3))


@pytest.mark.parametrize(
    ("row", "column"),
    [
        (ROW, COLUMN), (COLUMN, ROW),  # a copy, a transpose
        (ROW, np.minimum(COLUMN + 1, N - 1)), (ROW, (COLUMN + 4) % N),  # shifted by elements
        (ROW, (COLUMN + TILE) % N), (ROW, N - 1 - COLUMN),  # rolled, reversed
        (ROW, TILE * (3 - BLOCK[1]) + INSIDE[1]),  # tiles in another order, each once
        (ROW // 2, COLUMN // 2), (ROW, COLUMN % 32 * 2 + COLUMN // 32),  # zoomed, interleaved
        (ROW, np.abs(COLUMN - 4)), (ROW * 0, COLUMN),  # reflected, one row for all
        (ROW, np.maximum(COLUMN - TILE, 0) // TILE * TILE + INSIDE[1]),  # the tile before, or the first
        (ROW, COLUMN % (N // 2)), (ROW % TILE, COLUMN),  # half a table, one tile for all rows
        (TILE * BLOCK[0] // 2 // TILE * TILE + INSIDE[0], COLUMN),  # a tile for each two
        (TILE * abs(BLOCK[0] - BLOCK[1]) + INSIDE[0], INSIDE[1]),  # by distance
        (TILE * (ROW // TILE) + COLUMN % TILE, COLUMN // TILE * TILE + (ROW + COLUMN) % TILE),  # skewed
    ],
)  # fmt: skip
def test_what_may_be_meant_is_not_told(row: Array, column: Array) -> None:
    assert not _told(row, column)


def test_tiles_that_are_exchanged_on_purpose() -> None:
    """By registers alone, or small ones in the tile of a block; told of what goes through shared memory."""
    exchanged = TILE * BLOCK[1] + INSIDE[0], TILE * BLOCK[0] + INSIDE[1]
    turned = TILE * BLOCK[0] + INSIDE[1], TILE * BLOCK[1] + INSIDE[0]
    assert _told(*exchanged) and not _told(*exchanged, through=0)
    assert _told(*turned, through=0) and not _told(*turned, tile=2 * TILE)


def test_tiles_of_another_shape_or_in_few_rows_are_not_told() -> None:
    """A row for each block, shifted by one; a tensor of other extents."""
    assert not _told(np.maximum(ROW - 1, 0), COLUMN)
    assert alike(Names(KNOWN))
    narrow = {**KNOWN, 1: [Tensor(object_at(1), 4, (Mode(0, 4 * N, N // 2), Mode(1, 4, N)), 2)]}
    stored = _stored(_at(1, ROW % 32, COLUMN))
    assert not displaced([stored], Names(narrow))
    assert not alike(Names({1: narrow[1], 3: KNOWN[3]}))


def test_each_tensor_that_meets_others_is_looked_at_by_itself() -> None:
    """Of a + b, the tiles of b are those of the row; of a sum of several elements nothing is told."""
    pairs = Pairs()
    one, other = _at(1, ROW, COLUMN), _at(2, ROW, TILE * BLOCK[0] + INSIDE[1])
    met = pairs.met(one, other, np.zeros(one.size, bool))
    (found,) = displaced([_stored(met, pairs)], Names(KNOWN))
    assert (found.kind, found["tensors"]) == ("tile twice", (2, 3))
    again = pairs.met(met, _at(2, ROW, COLUMN), np.ones(one.size, bool))
    assert not displaced([_stored(again, pairs)], Names(KNOWN))
    assert not displaced([_stored(other | MIXED)], Names(KNOWN))


def test_boxes_of_tma() -> None:
    """c = a + b: right, coordinates exchanged, b's map for a, (bx, bx) for a, (by, by) for b."""
    pytest.importorskip("cutlass", reason="kernels are traced through the installed DSL")
    with SharedLowering(copies=False, products=check_products) as lowering:
        found = trace_script(
            "-m", ["tests.dsl.lowered.users", "boxes", *"01245"], launch=False, arch="sm_90a", cwd=str(ROOT),
            lowering=lowering,
        )  # fmt: skip
    assert not found.failures and len(found.kernels) == 5
    told = [(one.severity, one.evidence["tensors"], one.evidence.get("held"), one.evidence["of"])
            for report in found.operands for one in report.findings]  # fmt: skip
    assert told == [
        ("note", (1, 3), (64, 0), 4 * 64 * 32),
        ("note", (2, 1), None, 4 * 64 * 32),
        ("note", (1, 3), (0, 0), 4 * 64 * 32),
        ("note", (2, 3), (64, 32), 4 * 64 * 32),
    ]
