"""`transpose(x, y)`: the out-of-place BF16 transpose built from what wins, for any M, N and strides."""

from __future__ import annotations

from typing import Any

from cuda.bindings.driver import CUstream
from cutlass import cute
from cutlass.cute.runtime import from_dlpack

from kernels.transpose.common import Kernel
from kernels.transpose.exchange import Exchange, build_exchange
from kernels.transpose.narrow import build_narrow
from kernels.transpose.registers import BLOCK, Plan, build_registers

SMALL = Plan(lanes=(8, 4), warps=(1, 1), load="no_allocate", store="streaming")
"""One warp a block, no barrier: up to 2048 x 2048 the time is a launch and one trip to memory."""

MEDIUM = Exchange(tile=(128, 64), load="no_allocate", store="streaming")
"""While all its tiles are resident at once: 10 on each of 132 multiprocessors."""

BIG = Exchange(tile=(128, 128), load="no_allocate", store="streaming")
"""Runs of 256 bytes both ways; from 3300 to 8192 a side keeping lines of x costs more than it gains.

Only where every row starts a line: else blocks share lines, and keeping them pays at any size.
"""

LARGE = Exchange(tile=(128, 128), load="evict_last", resident=256)
"""Runs of 256 bytes both ways. Lines of x stay in the L2, so those of y leave it first: 1 % on an H200."""

MAX_COLUMNS = 65535 * 64
"""Columns of x that a grid can cover, 65535 tiles of the narrowest kernel."""

COMPILED: dict[tuple[Any, ...], Any] = {}
"""Launchers by what their code depends on; sizes and strides are arguments."""


def plan_for(m: int, n: int, whole_lines: bool = True) -> Plan | Exchange:
    """The plan that wins on an H200 at this size; `whole_lines`: every row starts on 256 bytes."""
    if m * n <= 2048**2:
        return SMALL
    if m * n <= 1320 * 128 * 64:
        return MEDIUM
    return BIG if whole_lines and m * n < 8192**2 else LARGE


def build_fastest(plan: Plan | Exchange = LARGE) -> Kernel:
    """The kernel of `plan`, for rows of whole 16-byte vectors."""
    return build_registers(plan) if isinstance(plan, Plan) else build_exchange(plan)


def transpose(x: Any, y: Any, stream: int = 0) -> None:
    """Write `x` (M,N) transposed to `y` (N,M), two CUDA tensors of one 16-bit type that do not overlap.

    `x` and `y` are torch tensors, or have their `shape`, `dtype`, `stride()`, `data_ptr()`, `element_size()`,
    slices and DLPack; `stream` is a `cudaStream_t` as an integer. Every bit pattern is kept. Raises
    ValueError for tensors whose shapes or types do not fit.
    """
    m, n = x.shape
    if tuple(y.shape) != (n, m):
        raise ValueError(f"x is {m} x {n}, so y must be {n} x {m}, not {' x '.join(map(str, y.shape))}")
    if x.element_size() != 2 or x.dtype != y.dtype:
        raise ValueError(f"expected two tensors of one 16-bit type, got {x.dtype} and {y.dtype}")
    if m == 0:
        return
    for start in range(0, n, MAX_COLUMNS):
        launch(x[:, start : start + MAX_COLUMNS], y[start : start + MAX_COLUMNS], stream)


def launch(x: Any, y: Any, stream: int) -> None:
    """One launch, compiled at its first use."""
    fits = fits_vectors(x) and fits_vectors(y)
    plan = plan_for(*x.shape, starts_lines(x) and starts_lines(y)) if fits else None
    align_bytes = 2 * BLOCK if plan else 2
    args = (as_cute(x, align_bytes), as_cute(y, align_bytes), CUstream(stream))
    key = (plan, x.dtype, unit_mode(x), unit_mode(y))
    if key not in COMPILED:
        kernel = build_fastest(plan) if plan else build_narrow()
        COMPILED[key] = cute.compile(kernel.host, *args)
    COMPILED[key](*args)


def fits_vectors(t: Any) -> bool:
    """Whether every 8th element of a row starts a 16-byte vector."""
    return t.stride(1) == 1 and t.stride(0) % BLOCK == 0 and t.data_ptr() % (2 * BLOCK) == 0


def starts_lines(t: Any) -> bool:
    """Whether every row starts on 256 bytes."""
    return t.stride(0) % 128 == 0 and t.data_ptr() % 256 == 0


def unit_mode(t: Any) -> int | None:
    """The mode of stride 1, the last if both are."""
    return 1 if t.stride(1) == 1 else 0 if t.stride(0) == 1 else None


def as_cute(t: Any, align_bytes: int) -> cute.Tensor:
    """A CuTe view of `t` with dynamic extents, so that one compilation serves every size."""
    return from_dlpack(t, assumed_align=align_bytes).mark_layout_dynamic(leading_dim=unit_mode(t))
