"""What the program calls a kernel with: numbers for the `?` of its arguments, and what leaves a tensor so."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from types import SimpleNamespace

import pytest

from layoutcheck.dsl.called import MOST, Called, Calls, Compiled
from layoutcheck.dsl.lowered.arguments import Numbers
from layoutcheck.dsl.lowered.calls import Call, numbers_of, strayed
from layoutcheck.dsl.lowered.grid import RUN_TIME
from layoutcheck.dsl.lowered.held import Contents
from layoutcheck.judge import judge_traced
from layoutcheck.sources.traced import KEPT, TracedCopy
from layoutcheck.tracing import Script, traced
from tests.forking import printed
from tests.on_gpu import ON_GPU

ROWS = '!cute.memref<f16, gmem, align<16>, "(?,?{div=8}):(?{i64 div=8},1)">'
FLAT = '!cute.memref<f32, gmem, "(?):(1)">'
PACKED = '!cute.memref<f4E2M1FN, gmem, "(?,?):(?,1)">'


class Executor:
    """As a compiled function of the DSL; one of its classes has `__call__` from a base."""

    def __call__(self, *args: object, scale: int = 1) -> int:
        return len(args) * scale


class Colour(IntEnum):
    """A constant, which the module does not take."""

    RED = 1


@dataclass
class Parts:
    """Arguments that a program keeps together."""

    rows: int
    tensor: object


class Other(Executor):
    """One that inherits it."""


class Slotted:
    """One that nobody can refer to weakly."""

    __slots__ = ()

    def __call__(self) -> int:
        return 1


def test_calls_of_compiled_functions_are_told_and_made() -> None:
    """Of each function its own, once; what it returns and raises stays; afterwards nothing is told."""
    told: list[Called] = []
    compiled, plain = Compiled(lambda function: function), vars(Executor)["__call__"]
    first, second, other = Executor(), Executor(), Other()
    for number, one in enumerate((first, other)):
        compiled.hear(one, Calls(number, told.append))
    compiled.hear(first, Calls(None, told.append))  # compiled again, from the DSL's cache
    compiled.hear(Slotted(), Calls(7, told.append))
    assert (first(3, 5, scale=2), first(3, 5), second(9), other(4), Slotted()()) == (4, 2, 1, 1, 1)
    with pytest.raises(TypeError):
        first(1, wrong=2)
    assert told == [Called(0, (3, 5, 2)), Called(0, (3, 5)), Called(1, (4,)), Called(0, (1, 2))]
    compiled.undo()
    assert vars(Executor)["__call__"] is plain and "__call__" not in vars(Other)
    assert first(8) == 1 and len(told) == 4


def test_arguments_of_a_host_get_the_numbers_of_a_call_in_order() -> None:
    types = [ROWS, "i32", "f32", FLAT, "!cute.ptr<f16, gmem>", "i64", "!cuda.stream"]
    call = (((42, 128), (136, 1), None), 7, ((5,), (1,), (1, 2, 3, 4, 5)), 9)
    [found] = numbers_of([call, call], {"host": types, "kernel": ["i32"]}, ["kernel"])
    assert found.arguments == ((42, 128, 136), (7,), None, (5,), None, (9,), None)
    assert (found.extents, found.name) == ((42, 128, 5), "(42,128), 7, (5), 9")
    assert found.contents == () and found.told == found.name  # FLAT holds no integers
    assert [found.of(i) for i in (0, 2, 7)] == [(42, 128, 136), None, None]


def test_what_a_pointer_points_to_is_held_where_each_pointer_is_told() -> None:
    types = ["!cute.ptr<i32, gmem, align<4>>", "i32", "!cute.ptr<f16, gmem>", "!cute.ptr<i64, generic>"]
    call = ((0, 3, 7),), 5, ((1, 2),), ((4,),)
    [found, fewer, shared] = numbers_of([call, call[:3], (((8,),), 6, (None,), (None,))], {"host": types}, [])
    assert found is not None and fewer is not None and shared is not None
    first, last = Contents(32, (3,), (1,), (0, 3, 7)), Contents(64, (1,), (1,), (4,))
    assert found.contents == (first, None, None, last) and fewer.contents == ()
    assert found.told == "5, where (3) holds 0, 3, 7; (1) holds 4" and shared.told == "6, where (1) holds 8"


@pytest.mark.parametrize(
    ("types", "call"),
    [
        ([ROWS], (((42, 127), (136, 1), None),)),  # no multiple of 8
        ([ROWS], (((42, 128), (1, 42), None),)),  # a static stride that it does not have
        ([ROWS], (((42,), (1,), None),)),  # of another rank
        ([ROWS], ()),
        ([ROWS], (((42, 128), (128, 1), None), 3)),  # a constant, which the module does not take
        (["i32", "i32"], (3,)),
        (
            [PACKED],
            (((42, 128), (128, 1), None),),
        ),  # two elements a byte: whose extents these are is not known
        (['!cute.int_tuple<"(?,?)">'], (3, 4)),
    ],
)
def test_nothing_is_known_of_a_call_that_does_not_fit(types: list[str], call: Call) -> None:
    assert numbers_of([call], {"host": types}, []) == (None,)


COLUMNS = '!cute.memref<f32, gmem, "(?,64):(64,1)">'  # what mark_compact_shape_dynamic makes of x[:, :64]


@pytest.mark.parametrize(
    ("shape", "stride", "mode"),
    [
        ((64, 64), (128, 1), 0),
        ((32, 64), (1, 32), 0),  # transposed: the first mode of two
        ((64, 64), (64, 1), None),
        ((1, 64), (128, 1), None),  # one row has no stride
        ((1, 64), (128, 2), 1),
        ((0, 64), (128, 2), None),
        ((64, 32), (128, 1), None),  # another static extent: perhaps another argument
        ((64,), (1,), None),
    ],
)
def test_a_call_gives_other_strides_than_its_type_has(
    shape: tuple[int, ...], stride: tuple[int, ...], mode: int | None
) -> None:
    found = list(strayed([None, ((shape, stride, None),)], [COLUMNS, "i32"]))
    told = [(given.shape, given.stride, at) for given, _, at in found]
    assert told == [(shape, stride, mode)] * (mode is not None)


def test_a_tensor_that_fits_another_argument_is_of_no_other_strides() -> None:
    """Arguments given by name; a tensor more, as a constant is; elements of less than a byte."""
    sliced, packed = ((64, 64), (128, 1), None), ((64, 64), (64, 1), None)
    static = '!cute.memref<f32, gmem, "(64,64):(128,1)">'
    assert list(strayed([(packed, sliced)], [static, COLUMNS])) == []
    assert list(strayed([(sliced, sliced)], [COLUMNS])) == []
    assert list(strayed([(sliced,)], [COLUMNS.replace("f32", "f4E2M1FN")])) == []
    [(given, taken, _)] = strayed([(packed, sliced)], [COLUMNS, COLUMNS])
    assert (str(given), str(taken)) == ("(64,64):(128,1)", "(?,64):(64,1)")


def test_the_stride_of_one_element_is_any() -> None:
    given = (((42, 1, 16), (16, 16, 1), None),)
    [found] = numbers_of([given], {"host": ['!cute.memref<i64, gmem, "(?,1,16):(16,0,1)">']}, [])
    assert found is not None and found.arguments == ((42,),)


def test_nothing_is_known_of_a_module_with_two_hosts() -> None:
    assert numbers_of([(3,), None], {"a": ["i32"], "b": ["i32"]}, []) == (None,)
    assert numbers_of([(3,)], {"a": ["i32"], "b": ["i32"]}, ["b"]) == (Numbers(((3,),), (), "3"),)


def test_a_call_is_told_once_and_not_without_numbers() -> None:
    told: list[Called] = []
    calls = Calls(4, told.append)
    tensor = SimpleNamespace(shape=(3, (4, 5)), stride=lambda: (20, (5, 1)))
    for _ in range(2):
        calls.take([tensor, (True, 6), None, 1.5], {"last": [7]})
    assert told == [Called(4, (((3, 4, 5), (20, 5, 1), None), 6, 7))]
    calls.take([SimpleNamespace(shape=(object(),), stride=(1,))], {})
    assert told[1:] == [Called(4, None)]
    for n in range(2 * MOST):
        calls.take([n], {})
    assert len(told) == MOST
    Calls(None, told.append).take([1], {})
    assert len(told) == MOST


def test_numbers_of_the_dsl_and_parts_of_a_dataclass_are_told() -> None:
    told: list[Called] = []
    held = type("Int32", (), {"value": 8})(), type("Int8", (), {"value": object()})()  # one inside a kernel
    Calls(4, told.append).take([*held, Colour.RED, Parts(3, SimpleNamespace(shape=5, stride=1))], {})
    assert told == [Called(4, (8, 3, ((5,), (1,), None)))]


# Tiles of 4 x 64, without a predicate. The columns are promised to be multiples of 8, the rows nothing.
PROGRAM = (
    ON_GPU
    + """
import cutlass
from cutlass import cute
from cutlass.cute.runtime import from_dlpack

@cute.kernel
def kernel(m: cute.Tensor, rows: cutlass.Int32, kind: cutlass.Constexpr):
    row = cute.arch.block_idx()[0]
    tiled = cute.make_tiled_copy_tv(
        cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), m.element_type, num_bits_per_copy=128),
        cute.make_layout((4, 8), stride=(8, 1)), cute.make_layout((1, 8)),
    )
    part = tiled.get_slice(cute.arch.thread_idx()[0]).partition_D(cute.local_tile(m, (4, 64), (row, 0)))
    held = cute.make_fragment_like(part)
    held.fill(kind)
    cute.copy(tiled, held, part)

@cute.jit
def host(m: cute.Tensor, rows: cutlass.Int32, kind: cutlass.Constexpr):
    grid = cute.ceil_div(m.shape[0], 4) if cutlass.const_expr(kind % 2 == 0) else cute.ceil_div(rows, 4)
    kernel(m, rows, kind).launch(grid=(grid, 1, 1), block=(32, 1, 1))

@cute.jit
def empty(kind: cutlass.Constexpr):
    pass

def tensor(rows, columns=128):
    made = from_dlpack(on_gpu(np.zeros((rows, columns), np.float16)), assumed_align=16)
    return made.mark_layout_dynamic().mark_compact_shape_dynamic(mode=1, divisibility=8)

host(tensor(40), 40, 2)  # whole tiles: its condition stays
host(tensor(42), 42, 4)  # a tail
compiled = cute.compile(host, tensor(40), 40, 6)
compiled(tensor(44), 44)
compiled(tensor(45, 64), 45)  # only this call has a tail
host(tensor(40), 40, 3)  # the grid is made of an integer
host(tensor(40), 41, 5)  # too large by a block
only_measured = cute.compile(host, tensor(40), 40, 8)
given = cute.testing.JitArguments(tensor(46), 46)
cute.testing.benchmark(only_measured, kernel_arguments=given, iterations=5)
tuned = []
def tune(*functions):
    for kind in range(20):  # few are built that reach nothing new: there may be a hundred of them
        for function in functions:
            tuned.append(function(kind))
    return given
built = lambda kind: cute.compile(host, tensor(47), 47, kind)  # enough of it were built before
cute.testing.benchmark(only_measured, workspace_generator=lambda: tune(built))
assert len(tuned) == 8, tuned
first = lambda kind: cute.compile(empty, kind)
cute.testing.benchmark(only_measured, workspace_generator=lambda: tune(first))
assert len(tuned) == 8 + 4 + 8, tuned
cute.testing.benchmark(only_measured, workspace_generator=lambda: cute.testing.JitArguments(tensor(48), 48))
"""
)


@pytest.fixture(scope="module")
def copies(tmp_path_factory: pytest.TempPathFactory) -> tuple[TracedCopy, ...]:
    pytest.importorskip("cutlass", reason="the CuTe DSL (nvidia-cutlass-dsl) is not installed")
    script = tmp_path_factory.mktemp("calls") / "calls.py"
    script.write_text(PROGRAM)
    return traced(Script(str(script), launch=False, arch="sm_90a"), order=False).trace.copies


def test_a_copy_that_leaves_its_tensor_in_a_call_is_wrong(copies: tuple[TracedCopy, ...]) -> None:
    faults = [one.addresses.faults if one.addresses else () for one in copies]
    assert [[fault.called for fault in some] for some in faults] == [
        [], ["(42,128), 42"], ["(45,64), 45"], [], ["(40,128), 41"], ["(46,128), 46"],
    ]  # fmt: skip
    # The second row of the last tile of 42 rows is in the tensor, the third begins at its end.
    [tail] = faults[1]
    assert (tail.kind, tail.thread, tail.block, tail.width_bytes) == ("beyond", 16, "(10,0,0)", 16)
    assert tail.address == tail.other == 42 * 128 * 2
    assert all(
        one.bounded_if == one.unbounded == "" for one, some in zip(copies, faults, strict=True) if some
    )
    report = judge_traced(copies[1])
    assert report is not None and report.verdict == "wrong"
    assert "The program calls the kernel so, with (42,128), 42." in report.findings[0].message


def test_a_promise_of_one_mode_holds_for_no_other(copies: tuple[TracedCopy, ...]) -> None:
    """Rows in steps of 8, as the columns are promised, would be whole tiles of 4 at any time."""
    least = "the dynamic extents have to be multiples of 4 in mode 0"
    seen = "with 1025 x 1032 thread 8 of block (256,0,0) writes 16 B"
    assert copies[0].bounded_if.startswith(f"{least}: {seen}")


def test_a_condition_that_all_calls_keep_says_so(copies: tuple[TracedCopy, ...]) -> None:
    assert copies[0].bounded_if.endswith(f"; {KEPT}")
    assert copies[3].unbounded.startswith(RUN_TIME) and copies[3].unbounded.endswith(f"; {KEPT}")


STENCIL = """
import cutlass
import numpy
from cutlass import cute
from cutlass.cute.runtime import from_dlpack

@cute.kernel
def stencil(x: cute.Tensor, y: cute.Tensor, mma: cute.TiledMma):
    i = cute.arch.block_idx()[0] * 256 + cute.arch.thread_idx()[0]
    if i < x.shape[0]:
        y[i] = x[i + 1]

@cute.jit
def host(x: cute.Tensor, y: cute.Tensor):
    mma = cute.make_tiled_mma(cute.nvgpu.MmaUniversalOp(cutlass.Float32))  # its type holds an arrow
    stencil(x, y, mma).launch(grid=(cute.ceil_div(x.shape[0], 256), 1, 1), block=(256, 1, 1))

def tensor():
    return from_dlpack(numpy.zeros(1000, "float32")).mark_layout_dynamic()

host(tensor(), tensor())
"""


def test_what_leaves_its_tensor_at_all_extents_is_told_by_those_of_the_call(tmp_path: Path) -> None:
    pytest.importorskip("cutlass", reason="the CuTe DSL (nvidia-cutlass-dsl) is not installed")
    script = tmp_path / "stencil.py"
    script.write_text(STENCIL)
    [found] = traced(Script(str(script), launch=False, arch="sm_90a"), order=False).trace.elements
    [message] = [one.message for one in found.findings]
    assert "Thread 231 of block (3,0,0) reads 4 B at byte 4000 of a tensor of 4000 B" in message
    assert (
        "calls the kernel so, with (1000), (1000). It leaves the tensor with all dynamic extents" in message
    )


# Pages of 4 rows of 32; the leading index is that of every fourth page.
WINDOWS = """
import numpy, sys
from cutlass import Int32, cute
from cutlass.cute.runtime import from_dlpack

@cute.kernel
def pages(x: cute.Tensor, y: cute.Tensor):
    page, row, lane = cute.arch.block_idx()[0], cute.arch.thread_idx()[1], cute.arch.thread_idx()[0]
    y[page, row, lane] = x[4 * page, row, lane]

@cute.jit
def host(x: cute.Tensor, y: cute.Tensor, count: Int32, step: Int32):
    window = cute.make_tensor(x.iterator, cute.make_layout((count, 4, 32), stride=(step, 32, 1)))
    pages(window, y).launch(grid=(count, 1, 1), block=(32, 4, 1))

x, y = numpy.zeros((20, 32), "float32"), numpy.zeros((5, 4, 32), "float32")
host(from_dlpack(x).mark_layout_dynamic(), from_dlpack(y), 5, int(sys.argv[1]))
"""


@pytest.mark.parametrize(("step", "told"), [(32, 0), (128, 1)])
def test_a_window_that_moves_over_rows_says_nothing_of_the_memory_behind_it(
    tmp_path: Path, step: int, told: int
) -> None:
    """Pages that begin a row behind each other overlap: more rows may follow. Others end with memory."""
    pytest.importorskip("cutlass", reason="the CuTe DSL (nvidia-cutlass-dsl) is not installed")
    script = tmp_path / "windows.py"
    script.write_text(WINDOWS)
    [found] = traced(
        Script(str(script), [str(step)], launch=False, arch="sm_90a"), order=False
    ).trace.elements
    assert [one.code for one in found.findings] == ["LC204"] * told


SWAPPED = """
import cutlass
import numpy
from cutlass import cute
from cutlass.cute.runtime import from_dlpack

@cute.kernel
def fill(x: cute.Tensor, how: cutlass.Constexpr):
    i, j, _ = cute.arch.block_idx()
    j = j * 32 + cute.arch.thread_idx()[0]
    if cutlass.const_expr(how == 0):
        if cute.elem_less((i, j), x.shape):
            x[i, j] = cutlass.Float32(1)
    else:
        if cute.elem_less((j, i), x.shape):
            x[i, j] = cutlass.Float32(1)

@cute.jit
def host(x: cute.Tensor, how: cutlass.Constexpr):
    grid = (x.shape[0], cute.ceil_div(x.shape[1], 32), 1)
    fill(x, how).launch(grid=grid, block=(32, 1, 1))

for how in range(2):
    host(from_dlpack(numpy.zeros((80, 40), "float32")).mark_layout_dynamic(), how)
"""


def test_a_predicate_of_another_mode_is_told_by_the_call(tmp_path: Path) -> None:
    """Rows of 40, of which those below 40 are written up to column 63: all of it in the tensor's memory."""
    pytest.importorskip("cutlass", reason="the CuTe DSL (nvidia-cutlass-dsl) is not installed")
    script = tmp_path / "swapped.py"
    script.write_text(SWAPPED)
    right, swapped = traced(Script(str(script), launch=False, arch="sm_90a"), order=False).trace.elements
    assert right.findings == ()
    [message] = [one.message for one in swapped.findings]
    assert "Thread 8 of block (39,1,0) writes 4 B at index 40 of mode 1, which has 40" in message
    assert "calls the kernel so, with (80,40)." in message


TOGETHER = """
import cutlass
import numpy
from cutlass import cute
from cutlass.cute.runtime import from_dlpack

@cute.kernel
def fill(x: cute.Tensor, how: cutlass.Constexpr):
    i, t = cute.arch.block_idx()[0], cute.arch.thread_idx()[0]
    rows, columns = x.shape
    if cutlass.const_expr(how == "vectors of two rows"):
        at = cute.crd2idx((2 * (32 * i + t), 0), x.layout)
        pointer = cute.make_ptr(
            cutlass.Float32, (x.iterator + at).toint(), cute.AddressSpace.gmem, assumed_align=16
        )
        four = cute.make_rmem_tensor(cute.make_layout(4), cutlass.Float32)
        four.fill(1)
        if 2 * (32 * i + t) < rows:
            cute.autovec_copy(four, cute.make_tensor(pointer, cute.make_layout(4)))
    elif cutlass.const_expr(how == "two rows a block"):
        most = 2 * columns - 2 * columns % 3
        if t < most and 2 * i * columns + t < rows * columns:
            x[2 * i, t] = cutlass.Float32(1)
        if most + t < 2 * columns and 2 * i * columns + most + t < rows * columns:
            x[2 * i, most + t] = cutlass.Float32(1)
    elif t < 2 * columns and i * columns + t < rows * columns:
        x[i, t] = cutlass.Float32(1)

@cute.jit
def host(x: cute.Tensor, how: cutlass.Constexpr):
    blocks = cute.ceil_div(x.shape[0], 1 if how == "a row a block" else 2)
    fill(x, how).launch(grid=(blocks, 1, 1), block=(64, 1, 1))

for how, shape in (
    ("vectors of two rows", (256, 2)), ("two rows a block", (81, 20)), ("a row a block", (81, 20)),
    ("two rows a block", (81, 40)),
):
    host(from_dlpack(numpy.zeros(shape, "float32")).mark_layout_dynamic(), how)
"""


def test_rows_that_are_taken_together_leave_no_mode(tmp_path: Path) -> None:
    """What goes on to the end of the next row, in which nothing else is; there two blocks are in each row."""
    pytest.importorskip("cutlass", reason="the CuTe DSL (nvidia-cutlass-dsl) is not installed")
    script = tmp_path / "together.py"
    script.write_text(TOGETHER)
    trace = traced(Script(str(script), launch=False, arch="sm_90a"), order=False).trace
    together, apart = trace.elements
    assert together.findings == ()
    [message] = [one.message for one in apart.findings]
    assert "Thread 20 of block (79,0,0) writes 4 B at index 20 of mode 1, which has 20" in message
    [vectors] = trace.copies
    assert vectors.addresses is not None and vectors.addresses.faults == ()
    assert vectors.unbounded == vectors.bounded_if == ""


PARTS = """
import cutlass
import numpy
from cutlass import cute
from cutlass.cute.runtime import from_dlpack

@cute.kernel
def double(x: cute.Tensor, how: cutlass.Constexpr):
    t = cute.arch.thread_idx()[0]
    each = cute.ceil_div(x.shape[0], 128)
    for i in range(cutlass.min(each, x.shape[0] - t * each)):
        x[t * each + i] = how * x[t * each + i]

@cute.jit
def host(x: cute.Tensor, how: cutlass.Constexpr):
    double(x, how).launch(grid=(1, 1, 1), block=(128, 1, 1))

for how, size in ((1, 100), (2, 1), (3, 4096), (3, 100)):
    host(from_dlpack(numpy.zeros(size, "int32")).mark_layout_dynamic(), how)
"""


def test_what_is_wasted_at_numbers_of_ours_alone_is_not_told(tmp_path: Path) -> None:
    """Each thread takes its part of 512 elements, four apart from the next: of 100 it takes one.

    With one element the call says nothing of how threads lie. In 4096, lanes are 128 bytes apart; of two
    calls the larger counts.
    """
    pytest.importorskip("cutlass", reason="the CuTe DSL (nvidia-cutlass-dsl) is not installed")
    script = tmp_path / "parts.py"
    script.write_text(PARTS)
    found = traced(Script(str(script), launch=False, arch="sm_90a"), order=False).trace.elements
    assert [{one.code for one in each.findings} for each in found] == [set(), {"LC302"}, {"LC302"}]


DROPPED = """
import cutlass
import numpy
from cutlass import cute
from cutlass.cute.runtime import from_dlpack

@cute.kernel
def double(x: cute.Tensor):
    row, column = cute.arch.block_idx()[0], cute.arch.thread_idx()[0]
    x[row, column] = x[row, column] * 2

@cute.jit
def host(x: cute.Tensor, kind: cutlass.Constexpr):
    double(x).launch(grid=(x.shape[0], 1, 1), block=(64, 1, 1))

def columns():
    return from_dlpack(numpy.zeros((32, 128), "float32")[:, :64])

host(columns().mark_layout_dynamic(), 0)
host(columns().mark_compact_shape_dynamic(mode=1), 1)
host(columns(), 2)
host(from_dlpack(numpy.zeros((32, 64), "float32")).mark_compact_shape_dynamic(mode=0), 3)
host(columns().mark_compact_shape_dynamic(mode=0), 4)
@cute.kernel
def own(x: cute.Tensor, pitch: cutlass.Int32):
    row, column = cute.arch.block_idx()[0], cute.arch.thread_idx()[0]
    rows = cute.make_tensor(x.iterator, cute.make_layout((x.shape[0], 64), stride=(pitch, 1)))
    rows[row, column] = rows[row, column] * 2

@cute.jit
def pitched(x: cute.Tensor, pitch: cutlass.Int32):
    own(x, pitch).launch(grid=(cute.size(x, mode=[0]), 1, 1), block=(64, 1, 1))

pitched(columns().mark_compact_shape_dynamic(mode=0), 128)
packed = cute.compile(host, from_dlpack(numpy.zeros((32, 64), "float32")), 5)
packed(columns())
"""


def test_strides_that_a_compiled_kernel_drops_are_told_where_it_is_built(tmp_path: Path) -> None:
    pytest.importorskip("cutlass", reason="the CuTe DSL (nvidia-cutlass-dsl) is not installed")
    script = tmp_path / "dropped.py"
    script.write_text(DROPPED)
    found = traced(Script(str(script), launch=False, arch="sm_90a"), order=False).trace.elements
    told = [one for report in found for one in report.findings if one.code == "LC264"]
    lines = [DROPPED.splitlines()[one.places[0].where.line - 1] for one in told]
    assert [line.partition("(")[0] for line in lines] == ["host", "packed = cute.compile"]
    assert [line[-3:] for line in lines] == [" 4)", " 5)"]
    assert [one.evidence["type"] for one in told] == ["(?,64):(64,1)", "(32,64):(64,1)"]
    assert [one.places[0].thread for one in told] == [-1, -1]  # no thread of a kernel
    assert all(one.severity == "wrong" and "(1,0) lies at offset 128" in one.message for one in told)


READS = """
import numpy
from cutlass import cute
from cutlass.cute.runtime import from_dlpack

x = numpy.arange(256 * 128, dtype="float32").reshape(256, 128)

@cute.jit
def read(tensor: cute.Tensor):
    cute.printf("{} {}", tensor[1, 0], tensor[0, 1])

read(from_dlpack(x[:, :64]).mark_compact_shape_dynamic(mode=0))
read(from_dlpack(x[:, ::2]).mark_compact_shape_dynamic(mode=1))
read(from_dlpack(x[:, :64]).mark_layout_dynamic(leading_dim=1))
"""


def test_the_dsl_reads_by_the_strides_of_the_type(tmp_path: Path) -> None:
    """On the CPU, elements (1, 0) and (0, 1): of a packed tensor, of neighbours, and the right ones."""
    pytest.importorskip("cutlass", reason="the CuTe DSL (nvidia-cutlass-dsl) is not installed")
    script = tmp_path / "reads.py"
    script.write_text(READS)
    told = printed(str(script), arch="sm_90a", cwd=str(tmp_path)).splitlines()[-3:]
    assert [[float(word) for word in line.split()] for line in told] == [[64, 1], [128, 1], [128, 1]]
