"""What tensors of integers hold in a call, and what leaves a tensor because of it."""

from __future__ import annotations

import numpy as np
import pytest

from layoutcheck.dsl.lowered.arguments import Numbers
from layoutcheck.dsl.lowered.calls import numbers_of, unwritten
from layoutcheck.dsl.lowered.held import Contents, memories
from layoutcheck.dsl.lowered.judged_blocks import LOADED
from layoutcheck.sources.traced import KEPT, ElementReport
from layoutcheck.tracing import Script, traced
from tests.on_gpu import HELD, ON_GPU

OFFSETS = '!cute.memref<i32, gmem, "(?):(1)">'


def test_elements_are_found_by_their_offset() -> None:
    memory = Contents(32, (2, 3), (4, 1), (0, 1, 2, 10, 11, 12)).memory()
    assert memory is not None
    assert [memory.at(4 * i, 4, None) for i in range(8)] == [0, 1, 2, None, 10, 11, 12, None]
    assert [memory.at(offset, size, None) for offset, size in ((2, 4), (-4, 4), (0, 8))] == [None, None, None]
    asked = np.array([0, 4, 12, 24])
    assert memory.at(asked, 4, None) is None
    active = np.array([True, True, False, True])
    found = memory.at(asked, 4, active)
    assert found is not None and np.asarray(found)[active].tolist() == [0, 1, 12]
    assert memory.at(asked + 1, 4, active) is None and memory.at(asked - 4, 4, active) is None


@pytest.mark.parametrize(
    ("bits", "shape", "stride", "elements"),
    [
        (32, (3,), (1,), (0, 1)),  # not as many
        (32, (2,), (1 << 20,), (0, 1)),  # far apart
        (32, (2,), (-1,), (0, 1)),
        (8, (1,), (1,), (128,)),  # unsigned
        (64, (1,), (1,), (0x7F0012345678,)),  # a pointer
        (64, (1,), (1,), (1 << 64,)),
    ],
)
def test_nothing_is_held_that_cannot_be_found(
    bits: int, shape: tuple[int, ...], stride: tuple[int, ...], elements: tuple[int, ...]
) -> None:
    held = Contents(bits, shape, stride, elements)
    assert held.memory() is None
    call = ((shape, stride, elements),)
    kind = f'!cute.memref<i{bits}, gmem, "(?):(?)">'
    assert all(one is None or one.contents == () for one in numbers_of([call], {"host": [kind]}, []))


def test_a_call_has_what_its_tensors_hold_but_for_what_is_written() -> None:
    ends, pages, same = ((3,), (1,), (0, 3, 7)), ((2,), (1,), (5, 6)), ((3,), (1,), (0, 3, 7))
    found = numbers_of([(ends, 4, pages, same)], {"host": [OFFSETS, "i32", OFFSETS, OFFSETS]}, [])
    [call] = found
    assert call is not None and sorted(memories(call.contents)) == [1, 3, 4]
    assert call.told == "(3), 4, (2), (3), where (3) holds 0, 3, 7; (2) holds 5, 6"
    [left] = unwritten([call], {1})  # the last may be the same tensor
    assert left is not None and sorted(memories(left.contents)) == [3]
    assert unwritten([call, None], {2, 7}) == (call, None)
    assert unwritten([call], {1, 3}) == (Numbers(call.arguments, call.extents, call.name),)
    assert str(Contents(32, (40,), (1,), tuple(range(40)))).endswith(
        "holds 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, ..., 39"
    )


# Each block has the rows of one sequence, a thread a row; `kind` says how many there are taken to be.
PROGRAM = (
    ON_GPU
    + HELD
    + """
import cutlass
from cutlass import cute
from cutlass.cute.runtime import from_dlpack, make_ptr
from layoutcheck.dsl.true_integers import addressed

@cute.kernel
def kernel(rows: cute.Tensor, ends: cute.Tensor, kind: cutlass.Constexpr):
    thread, block = cute.arch.thread_idx()[0], cute.arch.block_idx()[0]
    begin, end = ends[block], ends[block + 1]
    if cutlass.const_expr(kind == 0):  # as many as there are
        if thread < end - begin:
            rows[begin + thread] = cutlass.Float32(1)
    if cutlass.const_expr(kind == 1):  # one too many
        if thread <= end - begin:
            rows[begin + thread] = cutlass.Float32(1)
    if cutlass.const_expr(kind == 2):  # in turns of 4, as often as the sequence takes, without its rest
        for turn in cutlass.range((end - begin + 3) // 4, unroll=1):
            if thread < 4:
                rows[begin + 4 * turn + thread] = cutlass.Float32(1)
    if cutlass.const_expr(kind == 3):  # as the first, of what another thread may have written
        if thread == 40:
            ends[block] = 0
        if thread <= end - begin:
            rows[begin + thread] = cutlass.Float32(1)
    if cutlass.const_expr(kind == 4):  # at what each thread loads: the last is the number of rows
        if thread < 3:
            rows[ends[thread]] = cutlass.Float32(1)

@cute.jit
def host(rows: cute.Tensor, ends: cute.Tensor, kind: cutlass.Constexpr):
    kernel(rows, ends, kind).launch(grid=(cute.size(ends) - 1, 1, 1), block=(64, 1, 1))

@cute.jit
def by_address(rows: cute.Tensor, ends: cute.Pointer):
    kernel(rows, cute.make_tensor(ends, cute.make_layout(3)), 1).launch(grid=(2, 1, 1), block=(64, 1, 1))

def tensor(array):
    return from_dlpack(array).mark_layout_dynamic()

rows = tensor(on_gpu(np.zeros(20, np.float32)))
for kind in range(5):
    host(rows, tensor(held(np.array([0, 7, 20], np.int32))), kind)
ends = held(np.array([0, 7, 20], np.int32))
addressed(ends, 4096)
by_address(rows, make_ptr(cutlass.Int32, 4096, cute.AddressSpace.gmem))
"""
)


@pytest.fixture(scope="module")
def elements(tmp_path_factory: pytest.TempPathFactory) -> tuple[ElementReport, ...]:
    pytest.importorskip("cutlass", reason="the CuTe DSL (nvidia-cutlass-dsl) is not installed")
    script = tmp_path_factory.mktemp("held") / "held.py"
    script.write_text(PROGRAM)
    return traced(Script(str(script), launch=False, arch="sm_90a"), order=False).trace.elements


def left(report: ElementReport) -> list[tuple[str, object, object]]:
    return [
        (f.code, f.evidence["block"], (f.evidence["thread"], f.evidence["address"])) for f in report.findings
    ]


def test_what_leaves_its_tensor_by_what_another_holds_is_wrong(elements: tuple[ElementReport, ...]) -> None:
    """The second sequence has 13 rows, the last 13 of 20: its row 13 is at byte 80."""
    assert [left(one) for one in elements] == [
        [], [("LC204", "(1,0,0)", (13, 80))], [("LC204", "(1,0,0)", (1, 80))], [],
        [("LC204", "(1,0,0)", (2, 80))], [("LC204", "(1,0,0)", (13, 80))],
    ]  # fmt: skip
    for number, shapes in ((1, "(20), (3)"), (4, "(20), (3)"), (5, "(20)")):
        message = elements[number].findings[0].message
        assert f"The program calls the kernel so, with {shapes}, where (3) holds 0, 7, 20." in message


def test_what_stays_inside_is_not_checked_but_for_the_calls(elements: tuple[ElementReport, ...]) -> None:
    """Nothing is known of a tensor that the kernel itself writes."""
    told = [[why for why, _ in one.unchecked] for one in elements]
    assert told[1:3] == [[], []] and told[4:] == [[], []]
    [[right], [of_itself]] = told[:4:3]
    assert right.startswith(f"bounds in global memory: {LOADED}; {KEPT} (")
    assert of_itself.startswith(f"bounds in global memory: {LOADED} (")
