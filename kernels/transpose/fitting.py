"""What plans ask of two tensors: sizes of an element, strides, bases and what a grid covers."""

from __future__ import annotations

from typing import Any

from cuda.bindings import runtime as cuda

from kernels.transpose.common import GRID_Y

CHUNK_BYTES = 16
"""Bytes of the widest access."""

SMALL = 1 << 24
"""Elements up to which one at a time may pay."""

SHORT_RUN = (1 << 31) - (1 << 16)
"""Elements up to which Runs and Spliced are: a block's last place is less than 2**31."""


def few_pads(pad: int, extent: int) -> bool:
    """Whether rows with so many elements in between are moved as one run."""
    return 0 <= 2 * pad <= extent


def in_rows(x: Any, y: Any, size: int = 0) -> bool:
    """Whether the rows of both are contiguous, their elements of `size` bytes if it is given."""
    return x.stride(-1) == 1 == y.stride(-1) and size in (0, x.element_size())


def whole_tiles(x: Any, y: Any, plan: Any) -> bool:
    """Whether rows of both are 16-byte chunks, and a grid has as many of the plan's tiles."""
    chunks = in_rows(x, y, plan.size) and whole_chunks(x) and whole_chunks(y)
    return chunks and x.shape[-1] <= GRID_Y * plan.tile[0]


def thin_sides(x: Any, y: Any, plan: Any) -> tuple[Any, Any] | None:
    """The side that is one run, and the other, if `plan.count` is what the matrix has of `plan.few`."""
    thin, whole, other = (x.shape[-2], y, x) if plan.few == "rows" else (x.shape[-1], x, y)
    fit = x.dim() == 2 and thin == plan.count and without_gaps(whole) and x.numel() < SHORT_RUN
    return (whole, other) if fit and in_rows(x, y, plan.size) else None


def overlaps() -> bool:
    """Whether kernels of the device may start early: compute capability 9.0 (CUDA C++ Programming Guide)."""
    major = cuda.cudaDeviceAttr.cudaDevAttrComputeCapabilityMajor
    status, found = cuda.cudaDeviceGetAttribute(major, 0)
    return bool(status == cuda.cudaError_t.cudaSuccess and found >= 9)


def span(t: Any) -> int:
    """Elements from the first to the last, and those in between."""
    return 1 + sum((extent - 1) * stride for extent, stride in zip(t.shape, t.stride(), strict=True))


def same_order(x: Any) -> bool:
    """Whether the elements of `x` transposed are one run, in order."""
    return without_gaps(x, (*range(x.dim() - 2), x.dim() - 1, x.dim() - 2))


def without_gaps(t: Any, modes: tuple[int, ...] | None = None) -> bool:
    """Whether the elements are one run, in order; `modes`: which go before others, as they are if None."""
    step = 1
    for mode in reversed(modes or range(t.dim())):
        if t.shape[mode] != 1 and t.stride(mode) != step:
            return False
        step *= t.shape[mode]
    return True


def in_vectors(t: Any, vector: int) -> bool:
    """Whether rows are made of aligned vectors of so many elements."""
    strides = [t.stride(mode) for mode in range(t.dim() - 1)]
    aligned = t.data_ptr() % CHUNK_BYTES == 0 and all(stride % vector == 0 for stride in strides)
    return aligned and t.shape[-1] % vector == 0


def whole_chunks(t: Any) -> bool:
    """Whether every row starts on 16 bytes."""
    return rows_start_on(t, CHUNK_BYTES)


def rows_start_on(t: Any, run: int) -> bool:
    """Whether every row starts on a multiple of so many bytes."""
    starts = [t.stride(mode) * t.element_size() for mode in range(t.dim() - 1)]
    return all(start % run == 0 for start in (t.data_ptr(), *starts))
