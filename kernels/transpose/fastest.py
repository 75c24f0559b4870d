"""`transpose(x, y)`: the out-of-place transpose built from what wins, for any shape and strides.

The plan is found for the device and the shape at hand: at the first call with a shape, every plan of
`plans.py` that fits runs a few times (`choice.py`), and the quickest is kept.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from cuda.bindings import runtime as cuda
from cuda.bindings.driver import CUstream
from cutlass import cute
from cutlass.cute.runtime import from_dlpack

from kernels.transpose.blocks import Blocks
from kernels.transpose.choice import Launch, call, captured, copies, timed
from kernels.transpose.common import AFTER, SOON, multiprocessors
from kernels.transpose.direct import Direct
from kernels.transpose.fitting import overlaps
from kernels.transpose.plans import SIZES, TINY, AnyPlan, align_bytes, build, candidates

MAX_COLUMNS = 65535 * 64
"""Columns of x that a grid can cover, 65535 tiles of 64."""

MAX_ITEMS = 65535
"""Matrices of a batch that a grid can cover."""

COMPILED: dict[tuple[Any, ...], Any] = {}
"""Launchers by what their code depends on; sizes and strides are arguments, but of tiny tensors."""

RESIDENT_BYTES = 64 << 10
"""Bytes of a matrix, for each multiprocessor, up to which several launches may have their blocks there at a
time: where those of each lie depends on when they may start."""

CHOSEN: dict[tuple[Any, ...], Way] = {}
"""The quickest plan by shape, size of an element, strides, alignment and device."""


def transpose(x: Any, y: Any, stream: int = 0) -> None:
    """Write `x` (M,N) transposed to `y` (N,M), or each matrix of a batch (B,M,N) to (B,N,M).

    `x` and `y` are CUDA tensors of one type of 1, 2, 4 or 8 bytes that do not overlap: torch tensors, or what
    has their `shape`, `dtype`, `device`, `stride()`, `permute()`, `as_strided()`, `new_empty()`, `numel()`,
    `dim()`, `data_ptr()`, `element_size()`, slices and DLPack. `stream` is a `cudaStream_t` as an integer.
    Every bit pattern is kept. The first call with a shape waits for the device, and compiles and times the
    plans that fit, on copies of `x` and `y` that together exceed the L2 or, where these are large, on
    themselves; while the stream is captured the first plan that fits is taken.
    Raises ValueError for tensors whose shapes or types do not fit.
    """
    for part in parts(x, y):
        chosen(*part, stream).launcher(*part)(stream)


def prepare(x: Any, y: Any, stream: int = 0) -> Launch:
    """What `transpose` does with these two, without looking at them again: call it with a stream.

    It holds on to both. Waits, and raises, as `transpose` does.
    """
    launches = [chosen(*part, stream).launcher(*part) for part in parts(x, y)]

    def run(stream: int) -> None:
        for launch in launches:
            launch(stream)

    return run


def parts(x: Any, y: Any) -> Iterator[tuple[Any, Any]]:
    """Both, in pieces that a grid can cover; ValueError if they do not fit."""
    if len(x.shape) not in (2, 3):
        raise ValueError(f"x is {shown(x)}: expected (M,N) or (batch,M,N)")
    *batch, m, n = x.shape
    if tuple(y.shape) != (*batch, n, m):
        wanted = " x ".join(map(str, (*batch, n, m)))
        raise ValueError(f"x is {shown(x)}, so y must be {wanted}, not {shown(y)}")
    if x.element_size() not in SIZES or x.dtype != y.dtype:
        raise ValueError(f"expected one type of 1, 2, 4 or 8 bytes for both, got {x.dtype} and {y.dtype}")
    for item in range(0, batch[0] if batch else 1, MAX_ITEMS):
        part = slice(item, item + MAX_ITEMS)
        whole_x, whole_y = (x[part], y[part]) if batch else (x, y)
        for start in range(0, n if m else 0, MAX_COLUMNS):
            columns = slice(start, start + MAX_COLUMNS)
            yield by_rows(whole_x[..., columns], whole_y[..., columns, :])


def by_rows(x: Any, y: Any) -> tuple[Any, Any]:
    """The same transpose with the modes exchanged if both have contiguous columns and no contiguous rows."""
    if any(t.stride(-1) == 1 or t.stride(-2) != 1 for t in (x, y)):
        return x, y
    modes = (*range(x.dim() - 2), x.dim() - 1, x.dim() - 2)
    return x.permute(modes), y.permute(modes)


def shown(t: Any) -> str:
    return " x ".join(map(str, t.shape))


class Way(NamedTuple):
    """A plan, and whether it starts early: see `common.enter`."""

    plan: AnyPlan
    early: int

    def launcher(self, x: Any, y: Any) -> Launch:
        """What launches it on a stream."""
        return launcher(self.plan, x, y, self.early)


def chosen(x: Any, y: Any, stream: int) -> Way:
    """The quickest plan; the first that fits while the stream is captured, as nothing can be timed then."""
    bases = x.data_ptr() % 256, y.data_ptr() % 256
    key = (tuple(x.shape), x.element_size(), x.stride(), y.stride(), *bases, x.device)
    if key not in CHOSEN:
        first, *others = starts(x)
        ways = [Way(plan, first) for plan in candidates(x, y).values()]
        if captured(stream):
            return ways[0]
        call(cuda.cudaDeviceSynchronize())  # the copies may lie where work of any stream is not done yet
        pairs = copies(x, y)
        CHOSEN[key] = timed(
            ways,
            lambda way: [way.launcher(*pair) for pair in pairs],
            lambda way: [Way(way.plan, early) for early in others],
        )
    return CHOSEN[key]


def starts(x: Any) -> list[int]:
    """When kernels may start that come behind one for `x`; all but the first for the best plans alone."""
    if not overlaps():
        return [0]
    few = x.numel() * x.element_size() <= multiprocessors() * RESIDENT_BYTES
    return [SOON, AFTER] if few else [SOON]


def launcher(plan: AnyPlan, x: Any, y: Any, early: int | None = None) -> Launch:
    """What launches `plan` on a stream, compiled at its first use.

    `early`: whether it may start before the kernel ahead of it has ended; as the device can, if None.
    """
    early = SOON * overlaps() if early is None else early
    fixed = isinstance(plan, Blocks | Direct) and x.numel() <= TINY
    align = align_bytes(plan, x.element_size())
    args = as_cute(x, align, fixed), as_cute(y, align, fixed)
    sizes = (tuple(x.shape), x.stride(), y.stride()) if fixed else (len(x.shape), unit_mode(x), unit_mode(y))
    key = (plan, x.dtype, sizes, early)
    if key not in COMPILED:
        COMPILED[key] = cute.compile(build(plan, early).host, *args, CUstream(0))
    function = COMPILED[key]
    return lambda stream: function(*args, CUstream(stream))


def unit_mode(t: Any) -> int | None:
    """Which of the last two modes has stride 1, the last if both have: 1, 0 or none."""
    return 1 if t.stride(-1) == 1 else 0 if t.stride(-2) == 1 else None


def as_cute(t: Any, align_bytes: int, fixed: bool) -> cute.Tensor:
    """A CuTe view, its extents dynamic, so that one compilation serves every size, or `fixed`.

    A batch is its last mode.
    """
    view = from_dlpack(t.permute(1, 2, 0) if len(t.shape) == 3 else t, assumed_align=align_bytes)
    return view if fixed else view.mark_layout_dynamic(leading_dim=unit_mode(t))
