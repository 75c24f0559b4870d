"""`transpose(x, y)`: the out-of-place BF16 transpose built from the variant that wins, for any M, N and strides."""

from __future__ import annotations

from typing import Any

from cuda.bindings.driver import CUstream
from cutlass import cute
from cutlass.cute.runtime import from_dlpack

from kernels.transpose.common import Kernel
from kernels.transpose.exchange import Exchange, build_exchange
from kernels.transpose.narrow import build_narrow
from kernels.transpose.registers import BLOCK

PLAN = Exchange()

COMPILED: dict[tuple[Any, ...], Any] = {}
"""Launchers by what their code depends on; sizes and strides are arguments."""


def build_fastest() -> Kernel:
    """The kernel for rows of whole 16-byte vectors, the case that matters."""
    return build_exchange(PLAN)


def transpose(x: Any, y: Any, stream: int = 0) -> None:
    """Write `x` (M,N) transposed to `y` (N,M), two CUDA tensors of one 16-bit type that do not overlap.

    `x` and `y` are anything with `shape`, `stride()`, `data_ptr()` and DLPack, such as torch tensors; `stream` is a
    `cudaStream_t` as an integer. Every bit pattern is kept.
    """
    m, n = x.shape
    if tuple(y.shape) != (n, m):
        raise ValueError(f"x is {m} x {n}, so y must be {n} x {m}, not {' x '.join(map(str, y.shape))}")
    if x.element_size() != 2 or x.dtype != y.dtype:
        raise ValueError(f"expected two tensors of one 16-bit type, got {x.dtype} and {y.dtype}")
    if m == 0 or n == 0:
        return
    wide = fits_vectors(x) and fits_vectors(y)
    align_bytes = 2 * BLOCK if wide else 2
    args = (as_cute(x, align_bytes), as_cute(y, align_bytes), CUstream(stream))
    key = (wide, x.dtype, unit_mode(x), unit_mode(y))
    if key not in COMPILED:
        kernel = build_fastest() if wide else build_narrow()
        COMPILED[key] = cute.compile(kernel.host, *args)
    COMPILED[key](*args)


def fits_vectors(t: Any) -> bool:
    """Whether every 8th element of a row starts a 16-byte vector."""
    return t.stride(1) == 1 and t.stride(0) % BLOCK == 0 and t.data_ptr() % (2 * BLOCK) == 0


def unit_mode(t: Any) -> int | None:
    """The mode of stride 1, the last if both are."""
    return 1 if t.stride(1) == 1 else 0 if t.stride(0) == 1 else None


def as_cute(t: Any, align_bytes: int) -> cute.Tensor:
    """A CuTe view of `t` with dynamic extents, so that one compilation serves every size."""
    return from_dlpack(t, assumed_align=align_bytes).mark_layout_dynamic(leading_dim=unit_mode(t))
