"""Offsets in a tensor with room between its modes tell the coordinates, also of what strays."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from layoutcheck.dsl.lowered.arguments import dynamic_layout, dynamic_leaves
from layoutcheck.dsl.lowered.modes import coordinates, parts
from layoutcheck.dsl.lowered.tensors import Tensor


@st.composite
def tensors(draw: st.DrawFn) -> tuple[list[int], list[int], str]:
    """Extents of two to four modes, the order in which they lie, innermost first, and a printed type."""
    shape = draw(st.lists(st.integers(2, 40), min_size=2, max_size=4))
    order = draw(st.permutations(range(len(shape)))) if len(shape) == 2 else list(range(len(shape)))[::-1]
    stride = ["1" if i == order[0] else "?{i64}" for i in range(len(shape))]
    return shape, order, f'!cute.memref<f32, gmem, "({",".join("?" * len(shape))}):({",".join(stride)})">'


def numbered(shape: list[int], text: str, room: int) -> Tensor:
    layout = dynamic_layout(text)
    assert layout is not None
    leaves = iter(dynamic_leaves(layout, tuple(shape), room)[len(shape) :])
    stride = tuple(1 if one == 1 else next(leaves) for one in layout.stride)
    return Tensor(32, tuple(shape), stride, tuple(map(str, range(len(shape)))))


@given(tensors(), st.data())
def test_coordinates_of_what_strays(case: tuple[list[int], list[int], str], data: st.DataObject) -> None:
    """Within half of the room on either side: as computed from the coordinates alone."""
    shape, order, text = case
    was, now = numbered(shape, text, 1), numbered(shape, text, 2)
    assert was.span_bytes == 4 * np.prod(shape)
    found = parts(was, now)
    assert [int(one.name) for one in found] == list(order)
    assert [one.count for one in found] == [shape[i] for i in order]
    at = [data.draw(st.integers(-(n // 3), n - 1 + n // 3)) for n in shape]
    offset, compact = (sum(c * s for c, s in zip(at, one.stride, strict=True)) for one in (now, was))
    told = coordinates(found, np.array([offset]))
    assert [int(one[0]) for one in told[::-1]] == [at[i] for i in order]
    assert sum(int(c[0]) * one.compact for c, one in zip(told[::-1], found, strict=True)) == compact


def test_modes_that_lie_together_are_one_part() -> None:
    """A static stride leaves no room: its mode is judged with what is inside it."""
    was, now = (Tensor(16, (8, 100, 16), (step, 16, 1), ("0", "1", "2")) for step in (1600, 3200))
    assert [(one.name, one.stride, one.count) for one in parts(was, now)] == [
        ("2 and 1", 1, 1600),
        ("0", 3200, 8),
    ]
    crossed = Tensor(16, (8, 100), (64, 1), ("0", "1"))
    assert len(parts(crossed, crossed)) == 1
    assert not parts(Tensor(16, (8, 4), (4, -1), ("0", "1")), Tensor(16, (8, 4), (8, -1), ("0", "1")))
