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
from layoutcheck.dsl.lowered.bounds import RELATED
from layoutcheck.dsl.lowered.modes import coordinates, parts
from layoutcheck.dsl.lowered.tensors import Tensor
from layoutcheck.dsl.trace import trace_script
from layoutcheck.reports.order import element_counts
from layoutcheck.reports.style import Style
from layoutcheck.sources.traced import SMALLER, ElementReport
from tests.dsl.lowered.conftest import Traced
from tests.dsl.lowered.guards import Spec, generate, leaves
from tests.lowering import SharedLowering


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


# What each kernel is told, by its name's last word: of the predicate's tile, or the tensor that guards.
GUARDS = """
import cutlass
from cutlass import cute
from cutlass.cute.runtime import make_fake_tensor
F32 = cutlass.Float32
@cute.kernel
def tiles(x: cute.Tensor, tc: cute.TiledCopy, swapped: cutlass.Constexpr, name: cutlass.Constexpr):
    bx, by, _ = cute.arch.block_idx()
    thr = tc.get_slice(cute.arch.thread_idx()[0])
    dst = thr.partition_D(cute.local_tile(x, (16, 32), (by, bx)))
    at = (bx, by) if cutlass.const_expr(swapped) else (by, bx)
    c = thr.partition_D(cute.local_tile(cute.make_identity_tensor(x.shape), (16, 32), at))
    r = cute.make_fragment_like(dst)
    r.fill(1.0)
    for i in cutlass.range_constexpr(cute.size(dst)):
        if cute.elem_less(c[i], x.shape):
            dst[i] = r[i]
@cute.kernel
def rows(x: cute.Tensor, name: cutlass.Constexpr):
    r, t = cute.arch.block_idx()[0], cute.arch.thread_idx()[0]
    if cutlass.const_expr(name == "flat"):  # two rows as one
        flat, at = cute.make_tensor(x.iterator, cute.make_layout(cute.size(x))), r * 32 + t
        if at < 120:
            flat[at] = 1.0
    elif cutlass.const_expr(name == "inner"):
        x[r, t % 60] = 1.0
    else:
        x[r, t] = 1.0  # over the next row: the last is not written
@cute.kernel
def guarded(x: cute.Tensor, y: cute.Tensor, by: cute.Tensor, name: cutlass.Constexpr):
    at = cute.arch.block_idx()[0] * 128 + cute.arch.thread_idx()[0]
    if at < by.shape[0]:
        y[at] = 1.0
@cute.jit
def host(x: cute.Tensor, part: cute.Tensor, padded: cute.Tensor, p: cute.Tensor, q: cute.Tensor):
    copy = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), F32, num_bits_per_copy=32)
    tc = cute.make_tiled_copy_tv(copy, cute.make_layout((4, 32), stride=(32, 1)), cute.make_layout((4, 1)))
    for swapped in cutlass.range_constexpr(2):
        for name, one in (("static", x), ("part", part), ("padded", padded)):
            grid = (cute.ceil_div(one.shape[1], 32), 4, 1)
            tiles(one, tc, bool(swapped), f"{name}{swapped}").launch(grid=grid, block=(128, 1, 1))
    for name in ("flat", "inner", "row"):
        rows(x, name).launch(grid=(4, 1, 1), block=(64, 1, 1))
    for name, one in (("own", q), ("other", p)):
        grid = (cute.ceil_div(one.shape[0], 128), 1, 1)
        guarded(p, q, one, name).launch(grid=grid, block=(128, 1, 1))
if __name__ == "__main__":
    many = cute.sym_int
    shapes = ((60, 60), (many(), 60), (60, 60), (many(),), (many(),))
    strides = ((60, 1), (60, 1), (128, 1), (1,), (1,))
    cute.compile(host, *(
        make_fake_tensor(F32, shape, stride=stride, assumed_align=16)
        for shape, stride in zip(shapes, strides, strict=True)
    ))
"""


def test_predicates_of_another_tile_and_another_tensor(traced: Traced) -> None:
    """Static strides tell which mode is left, as dynamic ones do; a guard by other extents is a condition."""
    pytest.importorskip("cutlass", reason="the CuTe DSL (nvidia-cutlass-dsl) is not installed")
    found = traced(GUARDS)
    assert not found.failures, found.failures
    (report,) = found.elements
    fault, row = (one for one in report.findings if one.severity == "wrong")
    left = [one for one in report.findings if one.code == "LC203"]
    nothing = [one.title.partition("tensor: ")[2] for one in left]
    rows = [f"nothing at indices {first} to 59 of mode 0" for first in (32, 2)]
    assert nothing == rows  # 28 rows and 64 elements; 58 rows
    said = [line for line in element_counts([report], Style(width=300)) if "note[LC203]" in line]
    launches = [n for n, text in enumerate(GUARDS.splitlines(), 1) if ".launch(" in text][:2]
    assert [line.endswith(f"; launched at program.py:{n}") for line, n in zip(said, launches, strict=True)], (
        said
    )
    assert [one.evidence["left_elements"] for one in left] == [
        1744,
        3480,
    ]  # by the predicate of the other tile, and by rows that no block has
    assert GUARDS.splitlines()[row.places[0].where.line - 1].endswith("the last is not written")
    assert (row.code, row.severity, row.evidence["operations"]) == ("LC204", "wrong", 1)
    line = GUARDS.splitlines().index("            dst[i] = r[i]") + 1
    assert (fault.code, fault.severity, fault.places[0].where.line) == ("LC204", "wrong", line)
    assert fault.evidence["kernel"].endswith("_static1_3") and fault.evidence["mode_extent"] == 60
    assert fault.evidence["operations"] == 8  # four each of static1 and part1; in a gap lies no element
    assert dict(report.verdicts) == {"legal": 20, "wrong": 9}
    of_rows = [
        (move[1].bytes, move[1].within)
        for _, at, move in report.inside
        if GUARDS.splitlines()[at - 1].find("] = 1.0") > 0
    ][:3]
    assert of_rows == [(832, -1), (1024, 1024), (1024, 960)]  # in memory, and in 60 of 64 columns
    ((why, count),) = [one for one in report.unchecked if SMALLER in one[0]]
    assert count == 1 and "with 1024 beside 2048 it is left" in why


COUNT, PART = 600, 100
ALIKE = (64, 96, 128, 65, 63, 67, 79, 97)
ALIKE_TILES = ((64, 64), (65, 65), (97, 97), (128, 128))
UNEQUAL = ((64, 128), (128, 64), (65, 129), (129, 65), (64, 97), (97, 64), (70, 150), (150, 70))


@pytest.mark.sweep
@pytest.mark.parametrize("first", range(0, COUNT, PART))
def test_random_guards(first: int, tmp_path: Path) -> None:
    """What is told of a kernel with dynamic extents, beside brute force over all blocks of small tensors."""
    pytest.importorskip("cutlass", reason="the CuTe DSL (nvidia-cutlass-dsl) is not installed")
    specs = different([generate(seed) for seed in range(first, first + PART)])
    kinds = list(zip(map(told, reports(specs, tmp_path)), specs, strict=True))
    print(f"seeds {first} to {first + PART - 1}: {dict(Counter(kind for kind, _ in kinds))}")
    differ = [(kind, spec) for kind, spec in kinds if not agrees(kind, spec)]
    assert not differ, differ[:3]
    assert {kind for kind, _ in kinds} >= {"wrong", "have to be equal", "multiple", "clean"}


@pytest.mark.sweep
@pytest.mark.parametrize("first", range(0, COUNT, PART))
def test_random_guards_of_static_tensors(first: int, tmp_path: Path) -> None:
    """The same where shape and strides stand in the types: with every block of the very tensor."""
    specs = [generate(seed) | {"kept": False} for seed in range(first, first + PART)]
    for spec in specs:
        spec["fewer"] = spec["seed"] % 2  # rows of blocks: what strays stays in memory more often
        spec["extents"] = ((*ALIKE_TILES, *UNEQUAL)[spec["seed"] % 12]) if spec["seed"] % 3 else (60, 60)
    specs = different(specs)
    kinds = list(zip(map(told, reports(specs, tmp_path)), specs, strict=True))
    print(f"seeds {first} to {first + PART - 1}: {dict(Counter(kind for kind, _ in kinds))}")
    differ = [(kind, spec) for kind, spec in kinds if not agrees_static(kind, spec)]
    assert not differ, (len(differ), differ[:3])
    assert {kind for kind, _ in kinds} >= {"wrong", "clean"}


def different(specs: list[Spec]) -> list[Spec]:
    """The first of each: kernels of the same code at the same lines are one."""
    return list({json.dumps(one | {"seed": 0}): one for one in reversed(specs)}.values())[::-1]


def reports(specs: list[Spec], folder: Path) -> list[ElementReport]:
    """What a trace says of the kernels of these specifications."""
    listed = folder / "specs.json"
    listed.write_text(json.dumps(specs))
    with SharedLowering() as lowering:
        found = trace_script(
            "-m", ["tests.dsl.lowered.mode_kernels", str(listed)], launch=False, arch="sm_90a",
            timeout_s=900, cwd=str(Path(__file__).parents[3]), lowering=lowering,
        )  # fmt: skip
    assert not found.failures and len(found.elements) == len(specs), found.failures
    return list(found.elements)


def told(report: ElementReport) -> str:
    """Which of the answers a kernel of one access in global memory got."""
    if any(one.code == "LC204" for one in report.findings):
        return "wrong"
    said = " ".join(why for why, _ in report.unchecked)
    words = ("have to be equal", "multiple", "other than", "another coordinate", RELATED, "does not follow")
    return next((word for word in words if word in said), "clean")


def agrees_static(kind: str, spec: Spec) -> bool:
    """Whether brute force says the same of the one tensor that there is."""
    memory, mode = leaves(spec, *spec["extents"])
    wrong = memory or (mode and spec["store"])
    expected = "wrong" if wrong else "another coordinate" if mode else "clean"
    return kind in (expected, "does not follow")


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
        RELATED: any(alike),
        "another coordinate": not any(alike) and strays,
        "does not follow": True,
        "clean": not any(alike) and not any(unequal) and not strays,
    }[kind]
