"""Kernels whose shared memory a block of their architecture cannot have.

What `SmemAllocator` gives is dynamic shared memory: the launch asks for it, for as much as the host's code
says where it says so. `cute.arch.alloc_smem` declares arrays of a fixed size, of which the assembler allows
48 KiB (CUDA C++ Programming Guide, "Shared Memory"; ptxas 13: "uses too much shared data").
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

from layoutcheck.dsl.lowered import Kernel, Lowered
from layoutcheck.dsl.lowered.allocations import MOST, Allocation, allocations, symbols
from layoutcheck.dsl.lowered.branches import BRANCHES
from layoutcheck.dsl.lowered.refusals import Refusal
from layoutcheck.machine.arch import parse_arch
from layoutcheck.sources.mlir import Operation, Region

MERGED = "smem.merge_branch_allocs"
"""Of a kernel: branches of which one runs have their allocations in the same memory, as the launch says."""
FIXED_BYTES = 48 << 10  # of arrays of a fixed size, whatever the architecture


def too_large(lowered: Lowered, arch: str) -> Iterator[Refusal]:
    """Why kernels of a module cannot be compiled or launched, for their shared memory alone."""
    most = parse_arch(arch).smem_per_block_bytes
    for kernel in lowered.kernels:
        allocated, fixed = _taken(kernel)
        asked = kernel.launch.dynamic_bytes
        if fixed > FIXED_BYTES:
            yield Refusal(
                f"the compiler refuses it: its shared arrays of a fixed size take {fixed} B,"
                f" ptxas allows {FIXED_BYTES} B"
            )
            continue
        taken = fixed + (allocated if asked is None else asked)
        said = f"it {'allocates' if asked is None else 'asks for'} {taken} B of shared memory"
        if taken > most:
            yield Refusal(f"the launch fails: {said}, a block of {arch} has {most} B")
        elif asked is not None and allocated > asked:
            yield Refusal(f"the launch fails: {said}, the kernel allocates {allocated} B")


def _taken(kernel: Kernel) -> tuple[int, int]:
    """Bytes that a kernel allocates, and those of its arrays of a fixed size, without gaps between these."""
    if kernel.grid is None:
        return kernel.shared_bytes, 0
    op = kernel.grid.kernel
    found, fixed = allocations(op), sum(one.size for one in symbols(op).values())
    if MERGED in op.attributes:
        return _merged([(_arms(op, one), each.size) for one, each in found.items()]), fixed
    return least(list(found.values())), fixed


def least(found: Sequence[Allocation]) -> int:
    """The bytes that allocations take in the order that leaves the fewest between them.

    The compiler puts barriers and what is `Reserved` first, then the others as the program has them; lowered,
    they stand in another order. Of more than `MOST` the gaps are not counted.
    """
    if len(found) > MOST:
        return sum(one.size for one in found)
    ends = [0] * (1 << len(found))
    for taken in range(1, 1 << len(found)):
        each = [(one, ends[taken ^ 1 << i]) for i, one in enumerate(found) if taken >> i & 1]
        ends[taken] = min(-(-end // one.align) * one.align + one.size for one, end in each)
    return ends[-1]


def _merged(found: Sequence[tuple[tuple[Region, ...], int]], depth: int = 0) -> int:
    """The least bytes for allocations that are used in these arms of branches only, of which one runs."""
    inner: dict[Region, list[tuple[tuple[Region, ...], int]]] = {}
    for arms, size in found:
        if len(arms) > depth:
            inner.setdefault(arms[depth], []).append((arms, size))
    common = sum(size for arms, size in found if len(arms) == depth)
    return common + max((_merged(some, depth + 1) for some in inner.values()), default=0)


def _arms(kernel: Operation, allocation: Operation) -> tuple[Region, ...]:
    """The arms of branches, from outside, that all uses of an allocation are in."""
    users = [op for op in kernel.walk() if any(one in op.operands for one in allocation.results)]
    paths = [tuple(_around(op)) for op in users]
    same = itertools.takewhile(lambda each: len(set(map(id, each))) == 1, zip(*paths, strict=False))
    return tuple(each[0] for each in same)


def _around(op: Operation) -> list[Region]:
    """The arms of branches around an operation, the outermost first."""
    found: list[Region] = []
    while op.parent is not None and op.parent_operation is not None:
        if op.parent_operation.name in BRANCHES:
            found.insert(0, op.parent.parent)
        op = op.parent_operation
    return found
