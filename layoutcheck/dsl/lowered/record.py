"""`Recorded`: one memory instruction as the evaluation met it, for all threads; `Data`: its bytes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from layoutcheck.copies.offsets import IntArray

Number: TypeAlias = "int | IntArray"
Mask = npt.NDArray[np.bool_]
BULK_COPY = "bulk"  # the `op` of cp.async.bulk, which has no tensor map


@dataclass(eq=False, slots=True)
class Recorded:
    """`op` moved `size` bytes a thread at `address` (and `second`, for instructions with two).

    `space` is "gmem", "smem", "dsmem", "rmem", "tmem" or "generic", of `address`. `active` are the threads
    that execute it (None: all); `reached` is False where it stands in a branch that this run did not take.
    `data` are the pieces that a store writes: (offset, bytes of an earlier access or None).
    `provenance` are the bits of what the address rests on, `guard` those of whether it executes, `counted`
    those of how many bytes an instruction is told to move, which `coordinates` hold then. `value` is
    what a store writes, `value_known` whether that is more than a number in its place (`contents.py`).
    `number` counts what was recorded before.
    """

    tag: str
    op: str
    size: int
    address: Number
    space: str
    align_bytes: int = 0
    active: Mask | None = None
    reached: bool = True
    iterations: tuple[int, ...] = ()
    second: Number | None = None
    second_space: str = ""
    provenance: int = 0
    second_provenance: int = 0
    guard: int = 0
    counted: int = 0
    data: tuple[tuple[int, int, Data | None], ...] = ()
    facts: dict[str, str] = field(default_factory=dict)
    coordinates: tuple[Number, ...] = ()
    value: Any = None
    value_provenance: int = 0
    value_known: bool = False
    number: int = 0


@dataclass(frozen=True, slots=True)
class Data:
    """Bytes `[start, start + size)` of what each thread loaded by `access`.

    Used as a number it counts as `number`: what is in memory is not known.
    """

    access: Recorded
    start: int
    size: int
    number: Number = 0

    def part(self, start: int, size: int) -> Data:
        """Some of these bytes."""
        return Data(self.access, self.start + start, size, self.number)

    def among(self, _mask: Any, _other: Any) -> Data:
        """These bytes in the threads of `mask`, and another value's in the rest: counted as these."""
        return self
