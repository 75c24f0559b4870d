"""Kernels whose shared memory a block of their architecture cannot have.

What `SmemAllocator` gives is dynamic shared memory: the launch asks for it, for as much as the host's code
says where it says so. `cute.arch.alloc_smem` declares arrays of a fixed size, of which the assembler allows
48 KiB (CUDA C++ Programming Guide, "Shared Memory"; ptxas 13: "uses too much shared data").
"""

from __future__ import annotations

from collections.abc import Iterator

from layoutcheck.dsl.lowered import Kernel, Lowered
from layoutcheck.dsl.lowered.allocations import allocations, symbols
from layoutcheck.dsl.lowered.refusals import Refusal
from layoutcheck.dsl.tagged import SHARED_SIZE
from layoutcheck.machine.arch import parse_arch
from layoutcheck.sources.mlir import integer

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
    """Bytes that a kernel allocates, and those of its arrays of a fixed size, without gaps between these.

    Where the compiler does not say the first (an older DSL), they are the least that it may be.
    """
    if kernel.grid is None:
        return kernel.shared_bytes, 0
    op = kernel.grid.kernel
    fixed = sum(one.size for one in symbols(op).values())
    said = integer(op.attributes.get(SHARED_SIZE, "").partition(" : ")[0])
    if said is not None:
        return said, fixed
    sizes = [one.size for one in allocations(op).values()]
    return max(sizes, default=0) if MERGED in op.attributes else sum(sizes), fixed
