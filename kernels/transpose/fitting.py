"""Which plans fit two tensors: sizes of an element, strides, bases and what a grid covers."""

from __future__ import annotations

from typing import Any

from cuda.bindings import runtime as cuda

from kernels.transpose.blocks import Blocks
from kernels.transpose.common import GRID_Y
from kernels.transpose.direct import Direct
from kernels.transpose.exchange import Exchange
from kernels.transpose.few_columns import FewColumns
from kernels.transpose.few_rows import FewRows
from kernels.transpose.flat import Flat
from kernels.transpose.narrow import Narrow, Small
from kernels.transpose.padded import Padded
from kernels.transpose.registers import Plan
from kernels.transpose.runs import Runs
from kernels.transpose.shifted import Shifted
from kernels.transpose.slim import Slim
from kernels.transpose.spliced import Spliced
from kernels.transpose.whole import Whole

Thin = FewRows | FewColumns | Slim | Spliced | Runs
AnyPlan = Plan | Exchange | Shifted | Thin | Padded | Whole | Blocks | Flat | Direct | Narrow | Small

CHUNK_BYTES = 16
"""Bytes of the widest access."""

ANY_SIZE = (Direct, Small, Narrow, Flat)
"""Those whose kernels take elements of any size."""

ALIGNED = (Plan, Exchange, Blocks)
"""Those whose kernels are compiled for bases that are multiples of CHUNK_BYTES."""

SMALL = 1 << 24
"""Elements up to which one at a time may pay."""

SHORT_RUN = (1 << 31) - (1 << 16)
"""Elements up to which Runs, Slim and Spliced are: a block's last place is less than 2**31."""


def few_pads(pad: int, extent: int) -> bool:
    """Whether rows with so many elements in between are moved as one run."""
    return 0 <= 2 * pad <= extent


def align_bytes(plan: AnyPlan, size: int) -> int:
    """What the bases must be multiples of, for elements of `size` bytes."""
    if isinstance(plan, Slim):
        return size * plan.vector
    return CHUNK_BYTES if isinstance(plan, ALIGNED) else size


def takes(plan: AnyPlan, size: int) -> bool:
    """Whether the kernel of `plan` is for elements of `size` bytes."""
    if isinstance(plan, Blocks):
        return max(plan.block) * size <= CHUNK_BYTES
    return isinstance(plan, ANY_SIZE) or size == (2 if isinstance(plan, Plan) else plan.size)


def fits(plan: AnyPlan, x: Any, y: Any) -> bool:
    """Whether the kernel of `plan` takes these two."""
    if not takes(plan, x.element_size()):
        return False
    if isinstance(plan, Narrow):
        return True
    if isinstance(plan, Flat):
        bases = x.data_ptr() % CHUNK_BYTES == 0 == y.data_ptr() % CHUNK_BYTES
        return bases and x.numel() < 2**31 and without_gaps(y) and same_order(x)
    columns = x.stride(-2) == 1 and isinstance(plan, Direct)  # its lanes lie along them
    if y.stride(-1) != 1 or not (x.stride(-1) == 1 or columns):
        return False
    if isinstance(plan, Direct):
        return x.numel() <= SMALL and x.shape[-1] <= GRID_Y * plan.each * plan.warps
    if isinstance(plan, Shifted):
        return x.shape[-1] <= GRID_Y * plan.tile[0]
    if isinstance(plan, Slim | Spliced | Runs):
        thin, whole, other = (x.shape[-2], y, x) if plan.few == "rows" else (x.shape[-1], x, y)
        fit = x.dim() == 2 and thin == plan.count and without_gaps(whole) and x.numel() < SHORT_RUN
        if not isinstance(plan, Slim):
            return fit
        size = plan.size
        bases = all(t.data_ptr() % (size * plan.vector) == 0 for t in (whole, other))
        return fit and bases and other.stride(0) % plan.vector == 0
    if isinstance(plan, Padded):
        return y.stride(-2) * plan.columns < 2**31
    if isinstance(plan, FewRows):
        return y.stride(-2) == plan.count and x.numel() < 2**31
    if isinstance(plan, FewColumns):
        return x.dim() == 2 and x.stride(-2) == plan.pitch and span(x) < 2**31
    if isinstance(plan, Whole):
        return plan.items == 1 or plan.apart == (x.stride(0), y.stride(0))
    if isinstance(plan, Small):
        items = x.shape[0] if x.dim() == 3 else 1
        one = items == 1 or y.stride(0) == y.shape[1] * y.stride(1)
        short = items * x.shape[-1] <= GRID_Y * plan.tile[0] and span(x) < 2**31 > span(y)
        return one and short and x.numel() <= 4 * SMALL
    if isinstance(plan, Blocks):
        vectors = in_vectors(x, plan.block[0]) and in_vectors(y, plan.block[1])
        short = x.stride(-2) * x.shape[-2] < 2**31 > y.stride(-2) * y.shape[-2]
        return vectors and short and x.shape[-1] <= GRID_Y * plan.tile[0] and x.numel() <= SMALL
    if isinstance(plan, Exchange) and (plan.store == "bulk" and not overlaps()):
        return False
    return whole_chunks(x) and whole_chunks(y) and x.shape[-1] <= GRID_Y * plan.tile[0]


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
