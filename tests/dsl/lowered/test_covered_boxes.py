"""The bytes of boxes that TMA stores write, against those of the tensor that numpy counts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from layoutcheck.atoms.tma.descriptor import Descriptor
from layoutcheck.dsl.lowered.blocks import Blocks
from layoutcheck.dsl.lowered.covered_boxes import TMA_STORE, stored_boxes
from layoutcheck.dsl.lowered.record import Recorded
from layoutcheck.dsl.lowered.spaces import GLOBAL_STEP, MIDDLE
from layoutcheck.dsl.lowered.values import Reasons

BLOCKS = Blocks(((0, 0, 0), (1, 0, 0)), 2, {}, Reasons(), {}, "static", whole=True)
AT = GLOBAL_STEP + MIDDLE


def _store(*coordinates: Any, active: Any = None, **facts: str) -> Recorded:
    return Recorded("a#1", TMA_STORE, 0, 0, "smem", active=active, coordinates=coordinates, facts=facts)


def _bytes(map_: Descriptor, store: Recorded) -> list[tuple[int, int]]:
    """Every byte, with the thread that writes it."""
    rows = stored_boxes(BLOCKS, store, map_)
    assert rows is not None
    return sorted((int(a) + i, int(t)) for a, n, t in zip(*rows, strict=True) for i in range(int(n)))


def test_boxes_are_cut_at_the_ends_of_their_tensor() -> None:
    """A box of 4 columns by 2 rows of 2 B, of which thread 1 of each block stores one."""
    map_ = Descriptor("F16_RN", (6, 3), (16,), (4, 2), base=AT)
    only = np.array([False, True, False, True])
    store = _store(np.array([9, 0, 9, 4]), np.array([9, 0, 9, 2]), active=only)
    first = [(16 * row + byte, 1) for row in (0, 1) for byte in range(8)]
    assert _bytes(map_, store) == [*first, *((32 + 8 + byte, 3) for byte in range(4))]
    assert _bytes(map_, _store(0, 0, active=np.zeros(4, bool))) == []
    assert {byte for byte, _ in _bytes(map_, _store(-2, -1))} == set(range(4))


def test_a_tensor_of_one_mode() -> None:
    assert _bytes(Descriptor("F32_RN", (5,), (), (4,), base=AT + 8), _store(4)) == [
        (24 + i, 0) for i in range(4)
    ]


@pytest.mark.parametrize(
    ("map_", "store"),
    [
        (None, _store(0)),
        (Descriptor("U4", (64,), (), (64,), base=AT), _store(0)),
        (Descriptor("F32_RN", (8,), (), (4,), base=AT, element_strides=(2,)), _store(0)),
        (Descriptor("F32_RN", (8,), (), (4,), base=AT), _store(0, 0)),
        (Descriptor("F32_RN", (8,), (), (4,), base=AT), _store(0, mode="im2col")),
    ],
)
def test_other_maps_are_not_counted(map_: Descriptor | None, store: Recorded) -> None:
    assert stored_boxes(BLOCKS, store, map_) is None
