"""Predicted time of a copy from its counts: good for ranking versions of one copy, not for planning.

Five pipes of an SM work at the same time, each busy for some cycles:

    issue     1.9 cycles a warp memory instruction: four instructions a cycle, and with addresses and
              predicates 2 to 8 are issued for each that touches memory
    data      one wavefront a cycle through L1's data banks, which shared and global accesses share. A global
              access has the bank conflicts of its address within L1 (`cp.async.cg` goes past it)
    fill      sectors from L2 at 77 bytes a cycle
    memory    the SM's share of the memory bandwidth, 4.3 TB/s over 132 SMs at 1.98 GHz. A sector that a copy
              touches twice comes once. A run of adjacent sectors costs 21 bytes more than it has when it is
              read, 9 when it is written
    trip      33 cycles to shared memory, 42 to L1; one to L2 or memory is longer and left out

Other pipes fill the gaps of the busiest, but not all of them: the busy times add up as
`(issue^p + data^p + fill^p + memory^p)^(1/p)` with p = 2.5.

Where the numbers come from, all of them measured on an H200: a wavefront a cycle and the trips,
docs/banks.md; `fill`, 8 warps of contiguous cp.async.cg, 512 bytes an instruction, 6.6 cycles each; the
bandwidth, a large device copy; the rest, the transposes of docs/kernels.md: instructions and wavefronts
counted (docs/evidence/transpose_counters.json), `issue` and p fitted to five variants and judged by four
others and by other sizes (tests/kernels/test_cost.py), runs from `exchange` with tiles of 64 and 128 elements
(`sweep` of docs/evidence/transpose.json).

Left out: cache hits between blocks and cache hints, occupancy, how many copies are in flight, barriers. The
constants are an H200's; elsewhere only the counts hold.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

SMS = 132
CLOCK_GHZ = 1.98
ISSUE_CYCLES = 1.9
FILL_BYTES_PER_CYCLE = 77.0
MEMORY_GB_PER_S = 4300.0
READ_RUN_BYTES = 21.0
WRITE_RUN_BYTES = 9.0
SHARED_TRIP_CYCLES = 33.0
GLOBAL_TRIP_CYCLES = 42.0
OVERLAP = 2.5


@dataclass(frozen=True, slots=True)
class Counts:
    """What one thread block's copy asks of its SM.

    `instructions` are warp instructions, `wavefronts` those of L1's data banks (shared memory's and global
    accesses' together), `sectors` of 32 bytes all that instructions ask for, `distinct_sectors` the different
    ones, which lie in `read_runs` and `write_runs` without a gap. Counts add.
    """

    instructions: int
    wavefronts: int
    sectors: int
    distinct_sectors: int = 0
    read_runs: int = 0
    write_runs: int = 0

    def __add__(self, other: Counts) -> Counts:
        return Counts(
            self.instructions + other.instructions,
            self.wavefronts + other.wavefronts,
            self.sectors + other.sectors,
            self.distinct_sectors + other.distinct_sectors,
            self.read_runs + other.read_runs,
            self.write_runs + other.write_runs,
        )


NOTHING = Counts(0, 0, 0)


class Time(NamedTuple):
    """Cycles of one SM, and the pipe that is busiest: "issue", "data", "fill" or "memory"."""

    cycles: float
    bound: str


def pipes(counts: Counts) -> dict[str, float]:
    """The cycles that each pipe is busy."""
    moved = counts.distinct_sectors * 32.0
    moved += READ_RUN_BYTES * counts.read_runs + WRITE_RUN_BYTES * counts.write_runs
    return {
        "issue": ISSUE_CYCLES * counts.instructions,
        "data": 1.0 * counts.wavefronts,
        "fill": counts.sectors * 32 / FILL_BYTES_PER_CYCLE,
        "memory": moved * SMS * CLOCK_GHZ / MEMORY_GB_PER_S,
    }


def busy_cycles(counts: Counts) -> float:
    """The cycles between one block and the next, where enough of them are in flight."""
    each = pipes(counts).values()
    most = max(each)
    return most and most * float(sum((one / most) ** OVERLAP for one in each)) ** (1 / OVERLAP)


def many_cycles(counts: Any) -> Any:
    """The cycles of `predicted_time`, of Counts that hold an array of numbers each."""
    busy = sum(pipe**OVERLAP for pipe in pipes(counts).values()) ** (1 / OVERLAP)
    shared = np.where(counts.wavefronts > 0, SHARED_TRIP_CYCLES, 0.0)
    return busy + np.where(counts.sectors > 0, GLOBAL_TRIP_CYCLES, shared)


def predicted_time(counts: Counts) -> Time:
    """The time of one block's copy while every other SM does the same."""
    each = pipes(counts)
    trip = GLOBAL_TRIP_CYCLES if counts.sectors else SHARED_TRIP_CYCLES if counts.wavefronts else 0.0
    return Time(busy_cycles(counts) + trip, max(each, key=lambda pipe: each[pipe]))
