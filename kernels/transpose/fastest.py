"""`transpose(x, y)`: the out-of-place transpose built from what wins, for any shape and strides.

The plan is found for the device and the shape at hand: at the first call with a shape, every plan of
`plans.py` that fits runs a few times, and the quickest is kept.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cuda.bindings import runtime as cuda
from cuda.bindings.driver import CUstream
from cutlass import cute
from cutlass.cute.runtime import from_dlpack

from kernels.transpose.plans import ALIGNED, CHUNK_BYTES, AnyPlan, build, candidates

MAX_COLUMNS = 65535 * 64
"""Columns of x that a grid can cover, 65535 tiles of 64."""

MAX_ITEMS = 65535
"""Matrices of a batch that a grid can cover."""

SHORT_LAUNCHES, LONG_LAUNCHES = 20, 4
"""Launches that are timed together, of matrices below 2**24 elements and of larger ones."""

COMPILED: dict[tuple[Any, ...], Any] = {}
"""Launchers by what their code depends on; sizes and strides are arguments."""

CHOSEN: dict[tuple[Any, ...], AnyPlan] = {}
"""The quickest plan by shape, strides, alignment and device."""


def build_fastest() -> Any:
    """The kernel of the plan for large matrices of whole lines."""
    from kernels.transpose.exchange import build_exchange

    return build_exchange()


def transpose(x: Any, y: Any, stream: int = 0) -> None:
    """Write `x` (M,N) transposed to `y` (N,M), or each matrix of a batch (B,M,N) to (B,N,M).

    `x` and `y` are CUDA tensors of one 16-bit type that do not overlap: torch tensors, or what has their
    `shape`, `dtype`, `device`, `stride()`, `permute()`, `data_ptr()`, `element_size()`, slices and DLPack.
    `stream` is a `cudaStream_t` as an integer. Every bit pattern is kept. The first call with a shape waits
    for the stream and writes `y` many times; while the stream is captured the first plan that fits is taken.
    Raises ValueError for tensors whose shapes or types do not fit.
    """
    if len(x.shape) not in (2, 3):
        raise ValueError(f"x is {shown(x)}: expected (M,N) or (batch,M,N)")
    *batch, m, n = x.shape
    if tuple(y.shape) != (*batch, n, m):
        wanted = " x ".join(map(str, (*batch, n, m)))
        raise ValueError(f"x is {shown(x)}, so y must be {wanted}, not {shown(y)}")
    if x.element_size() != 2 or x.dtype != y.dtype:
        raise ValueError(f"expected two tensors of one 16-bit type, got {x.dtype} and {y.dtype}")
    for item in range(0, batch[0] if batch else 1, MAX_ITEMS):
        part = slice(item, item + MAX_ITEMS)
        whole_x, whole_y = (x[part], y[part]) if batch else (x, y)
        for start in range(0, n if m else 0, MAX_COLUMNS):
            columns = slice(start, start + MAX_COLUMNS)
            launch(whole_x[..., columns], whole_y[..., columns, :], stream)


def shown(t: Any) -> str:
    return " x ".join(map(str, t.shape))


def launch(x: Any, y: Any, stream: int) -> None:
    """One launch of the plan chosen for these two."""
    key = (tuple(x.shape), x.stride(), y.stride(), x.data_ptr() % 256, y.data_ptr() % 256, x.device)
    plan = CHOSEN.get(key)
    if plan is None:
        plans = candidates(x, y)
        if captured(stream):
            plan = plans[0]
        else:
            call(cuda.cudaStreamSynchronize(stream))
            plan = CHOSEN[key] = quickest(plans, lambda plan: microseconds(plan, x, y))
    launcher(plan, x, y)(stream)


def quickest(plans: list[AnyPlan], time: Callable[[AnyPlan], float]) -> AnyPlan:
    """The plan of the shortest time; with one plan nothing is timed."""
    return plans[0] if len(plans) == 1 else min(plans, key=time)


def launcher(plan: AnyPlan, x: Any, y: Any) -> Callable[[int], None]:
    """What launches `plan` on a stream, compiled at its first use."""
    align_bytes = CHUNK_BYTES if isinstance(plan, ALIGNED) else x.element_size()
    args = as_cute(x, align_bytes), as_cute(y, align_bytes)
    key = (plan, x.dtype, len(x.shape), align_bytes, unit_mode(x), unit_mode(y))
    if key not in COMPILED:
        COMPILED[key] = cute.compile(build(plan).host, *args, CUstream(0))
    function = COMPILED[key]
    return lambda stream: function(*args, CUstream(stream))


def captured(stream: int) -> bool:
    """Whether a graph is being captured from the stream, so that nothing can be timed."""
    return (
        call(cuda.cudaStreamIsCapturing(stream)) != cuda.cudaStreamCaptureStatus.cudaStreamCaptureStatusNone
    )


def microseconds(plan: AnyPlan, x: Any, y: Any) -> float:
    """The time of one launch, from a graph of a few on a stream of its own, replayed twice."""
    count = SHORT_LAUNCHES if x.shape[-1] * x.shape[-2] < 1 << 24 else LONG_LAUNCHES
    stream = call(cuda.cudaStreamCreateWithFlags(cuda.cudaStreamNonBlocking))
    begin, end = call(cuda.cudaEventCreate()), call(cuda.cudaEventCreate())
    run = launcher(plan, x, y)
    run(int(stream))
    call(cuda.cudaStreamSynchronize(stream))
    call(cuda.cudaStreamBeginCapture(stream, cuda.cudaStreamCaptureMode.cudaStreamCaptureModeThreadLocal))
    for _ in range(count):
        run(int(stream))
    graph = call(cuda.cudaStreamEndCapture(stream))
    replay = call(cuda.cudaGraphInstantiate(graph, 0))
    call(cuda.cudaGraphLaunch(replay, stream))
    call(cuda.cudaEventRecord(begin, stream))
    call(cuda.cudaGraphLaunch(replay, stream))
    call(cuda.cudaEventRecord(end, stream))
    call(cuda.cudaEventSynchronize(end))
    spent = call(cuda.cudaEventElapsedTime(begin, end))
    call(cuda.cudaGraphExecDestroy(replay))
    call(cuda.cudaGraphDestroy(graph))
    call(cuda.cudaEventDestroy(begin))
    call(cuda.cudaEventDestroy(end))
    call(cuda.cudaStreamDestroy(stream))
    return float(1000 * spent / count)


def call(answer: tuple[Any, ...]) -> Any:
    """The result of a CUDA call; RuntimeError if it failed."""
    status, *results = answer
    if status != cuda.cudaError_t.cudaSuccess:
        raise RuntimeError(f"CUDA: {status.name}")
    return results[0] if results else None


def unit_mode(t: Any) -> int | None:
    """Which of the last two modes has stride 1, the last if both have: 1, 0 or none."""
    return 1 if t.stride(-1) == 1 else 0 if t.stride(-2) == 1 else None


def as_cute(t: Any, align_bytes: int) -> cute.Tensor:
    """A CuTe view with dynamic extents: one compilation serves every size. A batch is its last mode."""
    view = t.permute(1, 2, 0) if len(t.shape) == 3 else t
    return from_dlpack(view, assumed_align=align_bytes).mark_layout_dynamic(leading_dim=unit_mode(t))
