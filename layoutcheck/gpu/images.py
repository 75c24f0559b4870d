"""Where a copy's tensors lie on the device, and what memory should hold before and after it runs.

The model (atoms.execution, atoms.intent) speaks in addresses of its own: register files 2^47 bytes
apart, the rows of lanes it knows nothing about 2^24 apart. An `Arena` maps them to one flat image of units
(bytes; nibbles for 4-bit types) that is uploaded, copied from or to by the real kernel, and downloaded again.
Low address bits are kept, so that alignment and pointer swizzles mean the same on both sides.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from layoutcheck.algebra.integers import round_up
from layoutcheck.copies.addresses import PRIVATE
from layoutcheck.copies.lanes import LANE_APART_BYTES
from layoutcheck.copies.offsets import IntArray
from layoutcheck.errors import InputError

GUARD_BYTES = 256  # poisoned around everything that is touched
PAGE_BYTES = 4096  # the granularity at which low address bits are kept
# Where dynamic shared memory begins: the first KiB of a block's window is the system's (sm_90).
SHARED_START = 1024
FAR_BYTES = 1 << 23  # further from the base than this nothing of the copy is mapped
UNMAPPED = "unmapped"  # the fault of an access there

# Spaces whose addresses are the shared window's; a cluster of one block is its own distributed memory.
SHARED = ("smem", "dsmem")

OUTSIDE = -1  # not in the image
POISON, ZERO, ANY = -2, -3, -4  # contents of a unit that are no source unit: untouched, zero, not determined


class NotRunnable(InputError):
    """The copy cannot be put on the device: too large for it, or for its shared memory."""


@dataclass(frozen=True, slots=True)
class Arena:
    """One operand's memory: `chunks` runs of `chunk_bytes`, the base at byte `origin` of the first.

    `base` is the model's address of the operand, `pitch` the model's distance between chunks (0: one chunk).
    """

    space: str
    base: int
    pitch: int
    chunks: int
    chunk_bytes: int
    origin: int
    unit_bits: int

    @property
    def size_bytes(self) -> int:
        """Bytes of the whole image."""
        return self.chunks * self.chunk_bytes

    @property
    def units(self) -> int:
        """Units of the whole image."""
        return self.size_bytes * 8 // self.unit_bits

    def place(self, address: int) -> int:
        """The byte of the image at a model address in bytes, unchecked."""
        chunk, local = self._split(np.asarray(address, dtype=np.int64))
        return int(chunk) * self.chunk_bytes + self.origin + int(local)

    def index(self, addresses: IntArray) -> IntArray:
        """The unit of the image at each model address in units; OUTSIDE where there is none."""
        per_byte = 8 // self.unit_bits
        chunk, local = self._split(addresses // per_byte)
        at = self.origin + local
        inside = (at >= 0) & (at < self.chunk_bytes) & (chunk >= 0) & (chunk < self.chunks)
        flat = (chunk * self.chunk_bytes + at) * per_byte + addresses % per_byte
        return np.where(inside, flat, OUTSIDE)

    def _split(self, addresses: IntArray) -> tuple[IntArray, IntArray]:
        """Chunk and byte within it, counted from the chunk's own base."""
        local = addresses - self.base
        if not self.pitch:
            return np.zeros_like(local), local
        chunk = (local + self.pitch // 2) // self.pitch
        return chunk, local - chunk * self.pitch


def arena(
    space: str, base: int, lanes: bool, touched: list[IntArray], unit_bits: int, threads: int = 1024
) -> Arena:
    """The arena that holds every touched model address (in units) and a guard zone around.

    `lanes` says that the lanes' rows lie `LANE_APART_BYTES` apart; there are at most `threads` chunks. Raises
    NotRunnable for operands too large.
    """
    pitch = PRIVATE if space == "rmem" else LANE_APART_BYTES if lanes else 0
    probe = Arena(space, base, pitch, 1, 1, 0, unit_bits)
    per_byte = 8 // unit_bits
    addresses = np.unique(np.concatenate([t.reshape(-1) for t in touched])) // per_byte
    addresses = addresses[addresses >= 0]
    chunk, local = probe._split(addresses)
    near = (np.abs(local) < FAR_BYTES) & (chunk < threads)  # an address run astray is no thread's
    chunk, local = chunk[near], local[near]
    low = int(local.min(initial=0)) - GUARD_BYTES
    high = int(local.max(initial=0)) + 1 + GUARD_BYTES
    chunks = int(chunk.max(initial=0)) + 1 if pitch else 1
    if space in SHARED and not pitch:
        origin = base - SHARED_START  # shared addresses are the machine's own
        return Arena(space, base, 0, 1, round_up(origin + high, 16), origin, unit_bits)
    origin = round_up(-low, PAGE_BYTES) + base % PAGE_BYTES
    step = 1024 if space in SHARED else PAGE_BYTES
    if space in SHARED:
        origin = round_up(-low, 1024) + (base - SHARED_START) % 1024
    return Arena(space, base, pitch, chunks, round_up(origin + high, step), origin, unit_bits)


def coded(contents: IntArray, turn: int, digit_bits: int, poison: IntArray) -> IntArray:
    """The values of units that hold source units, POISON or ZERO: digit `turn` of the source's number."""
    digit = (contents >> (turn * digit_bits)) & ((1 << digit_bits) - 1)
    return np.where(contents >= 0, digit, np.where(contents == ZERO, 0, poison))


def turns(units: int, digit_bits: int) -> int:
    """How many runs tell `units` source units apart, one digit of `digit_bits` a run; at least two."""
    count = 2
    while (1 << (count * digit_bits)) < units:
        count += 1
    return count


def packed(values: IntArray, unit_bits: int) -> bytes:
    """Unit values as memory holds them."""
    parts = values.astype(np.uint8).reshape(-1, 8 // unit_bits)
    out = np.zeros(len(parts), dtype=np.uint8)
    for i in range(parts.shape[1]):
        out |= parts[:, i] << np.uint8(i * unit_bits)
    return out.tobytes()


def unpacked(data: bytes, unit_bits: int) -> IntArray:
    """The inverse of `packed`."""
    values = np.frombuffer(data, dtype=np.uint8).astype(np.int64)
    mask = (1 << unit_bits) - 1
    return np.stack([values >> i & mask for i in range(0, 8, unit_bits)], axis=1).reshape(-1)


def poison(units: int, turn: int, unit_bits: int) -> IntArray:
    """What the destination holds before each turn: values that differ from turn to turn."""
    return np.full(units, (0xA5 ^ (turn * 0x3C)) & ((1 << unit_bits) - 1), dtype=np.int64)
