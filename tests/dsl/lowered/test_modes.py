"""Offsets in a tensor with room between its modes tell the coordinates, also of what strays."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from layoutcheck.dsl.lowered.arguments import ROOM, dynamic_layout, dynamic_leaves
from layoutcheck.dsl.lowered.modes import coordinates, parts
from layoutcheck.dsl.lowered.resolve import Lowering
from layoutcheck.dsl.lowered.tensors import Tensor
from layoutcheck.dsl.trace import trace_script
from layoutcheck.sources.traced import ElementReport
from tests.dsl.lowered.guards import Spec, generate, leaves


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
    """By as much as its extent on either side: as computed from the coordinates alone."""
    shape, order, text = case
    was, now = numbered(shape, text, 1), numbered(shape, text, ROOM)
    assert was.span_bytes == 4 * np.prod(shape)
    found = parts(was, now)
    assert [int(one.name) for one in found] == list(order)
    assert [one.count for one in found] == [shape[i] for i in order]
    at = [data.draw(st.integers(1 - n, 2 * n - 1)) for n in shape]
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


COUNT, PART = 600, 100
ALIKE = (64, 96, 128, 65, 63, 67, 79, 97)
UNEQUAL = ((64, 128), (128, 64), (65, 129), (129, 65), (64, 97), (97, 64), (70, 150), (150, 70))


@pytest.mark.sweep
@pytest.mark.parametrize("first", range(0, COUNT, PART))
def test_random_guards(first: int, tmp_path: Path) -> None:
    """What is told of a kernel with dynamic extents, beside brute force over all blocks of small tensors."""
    pytest.importorskip("cutlass", reason="the CuTe DSL (nvidia-cutlass-dsl) is not installed")
    specs = [generate(seed) for seed in range(first, first + PART)]
    listed = tmp_path / "specs.json"
    listed.write_text(json.dumps(specs))
    with Lowering() as lowering:
        found = trace_script(
            "-m", ["tests.dsl.lowered.mode_kernels", str(listed)], launch=False, arch="sm_90a",
            timeout_s=900, cwd=str(Path(__file__).parents[3]), lowering=lowering,
        )  # fmt: skip
    assert not found.failures and len(found.elements) == PART, found.failures
    kinds = [(told(one), spec) for one, spec in zip(found.elements, specs, strict=True)]
    print(f"seeds {first} to {first + PART - 1}: {dict(Counter(kind for kind, _ in kinds))}")
    differ = [(kind, spec) for kind, spec in kinds if not agrees(kind, spec)]
    assert not differ, differ[:3]
    assert {kind for kind, _ in kinds} >= {"wrong", "have to be equal", "multiple", "clean"}


def told(report: ElementReport) -> str:
    """Which of the answers a kernel of one access in global memory got."""
    if any(one.code == "LC204" for one in report.findings):
        return "wrong"
    said = " ".join(why for why, _ in report.unchecked)
    words = ("have to be equal", "multiple", "other than", "another coordinate", "does not follow")
    return next((word for word in words if word in said), "clean")


def agrees(kind: str, spec: Spec) -> bool:
    """Whether brute force says the same; reads that stay in memory are told as such."""

    def bad(m: int, n: int) -> bool:
        memory, mode = leaves(spec, m, n)
        return memory or (mode and spec["store"])

    alike, unequal = [bad(n, n) for n in ALIKE], [bad(*shape) for shape in UNEQUAL]
    strays = any(leaves(spec, n, n)[1] for n in ALIKE)
    return {
        "wrong": all(alike),
        "have to be equal": not any(alike) and any(unequal),
        "multiple": any(alike) and not any(bad(n, n) for n in (128, 256)),
        "other than": any(alike),
        "another coordinate": not any(alike) and strays,
        "does not follow": True,
        "clean": not any(alike) and not any(unequal) and not strays,
    }[kind]
