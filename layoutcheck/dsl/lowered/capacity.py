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
from layoutcheck.machine.arch import parse_arch

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
    end = 0
    for one in allocations(kernel.grid.kernel).values():
        end = -(-end // one.align) * one.align + one.size
    return end, sum(one.size for one in symbols(kernel.grid.kernel).values())
