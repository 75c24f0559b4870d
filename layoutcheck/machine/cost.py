"""Predicted time of a copy from its counts: good for ranking two versions of one copy, not for planning.

The time is that of the busiest of four pipes, each counted in cycles of one SM, plus one trip:

    issue     one warp instruction a cycle into the load/store unit
    shared    one wavefront a cycle. Measured: 8 warps of ldmatrix.x4, stmatrix.x4, ld.shared or cp.async.ca
              take 1.00 to 1.06 cycles a wavefront, from 8 wavefronts an instruction on (docs/banks.md)
    fill      sectors from L2 at 77 bytes a cycle an SM. Measured: 8 warps of contiguous cp.async.cg, 512
              bytes an instruction, each 6.6 cycles
    memory    the SM's share of the memory bandwidth: 4.3 TB/s measured by a large copy (4.8 by the
              datasheet), over 132 SMs at 1.98 GHz (the clock under load)
    trip      33 cycles to shared memory, 42 to L1 (measured: one warp, one load at a time). A trip to L2 or
              memory is longer and depends on the load; it is the same for both versions and left out

Left out too: cache hits between blocks, occupancy, how many copies are in flight, barriers, address
arithmetic, and what else uses the same pipes. The constants are an H200's; elsewhere only the counts hold.
"""

from __future__ import annotations

from dataclasses import dataclass

SMS = 132
CLOCK_GHZ = 1.98
FILL_BYTES_PER_CYCLE = 77.0
MEMORY_GB_PER_S = 4300.0
SHARED_TRIP_CYCLES = 33.0
GLOBAL_TRIP_CYCLES = 42.0


@dataclass(frozen=True, slots=True)
class Counts:
    """What one thread block's copy asks of its SM: warp instructions, wavefronts, sectors (32 bytes)."""

    instructions: int
    wavefronts: int
    sectors: int


@dataclass(frozen=True, slots=True)
class Time:
    """Cycles of one SM, and the pipe that decides: "issue", "shared", "fill" or "memory"."""

    cycles: float
    bound: str

    @property
    def ns(self) -> float:
        """At the H200's clock."""
        return self.cycles / CLOCK_GHZ


def predicted_time(counts: Counts) -> Time:
    """The time of one block's copy while every other SM does the same."""
    moved = counts.sectors * 32
    memory_bytes_per_cycle = MEMORY_GB_PER_S / SMS / CLOCK_GHZ
    pipes = {
        "issue": float(counts.instructions),
        "shared": float(counts.wavefronts),
        "fill": moved / FILL_BYTES_PER_CYCLE,
        "memory": moved / memory_bytes_per_cycle,
    }
    bound = max(pipes, key=lambda pipe: pipes[pipe])
    trip = GLOBAL_TRIP_CYCLES if counts.sectors else SHARED_TRIP_CYCLES if counts.wavefronts else 0.0
    return Time(pipes[bound] + trip, bound)
