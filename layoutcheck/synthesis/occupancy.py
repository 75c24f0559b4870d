"""How many blocks share an SM, and what they leave of L1 (compute capability 9.0)."""

from __future__ import annotations

import math

from layoutcheck.machine.arch import WARP

REGISTERS, MOST_WARPS, MOST_BLOCKS = 65536, 64, 32
"""Of an SM (CUDA programming guide, compute capability 9.0)."""
L1_BYTES = 256 << 10
"""Of L1 and shared memory together (the same)."""
CARVEOUTS_KB = (0, 8, 16, 32, 64, 100, 132, 164, 196, 228)
"""What shared memory can have of it (the same)."""
BLOCK_BYTES = 1024
"""Of shared memory, which each block has besides its own (the same)."""


def resident(registers: float, threads: int, shared_bytes: int) -> int:
    """Blocks on an SM."""
    each = math.ceil(registers / 8) * 8 * threads
    room = (CARVEOUTS_KB[-1] << 10) // (shared_bytes + BLOCK_BYTES)
    return int(max(1, min(MOST_WARPS * WARP // threads, MOST_BLOCKS, REGISTERS // each, room)))


def l1_left(blocks: int, shared_bytes: int) -> float:
    """Bytes that the shared memory of so many blocks leaves to L1."""
    if not shared_bytes:
        return float(L1_BYTES)
    asked = min(blocks * (shared_bytes + BLOCK_BYTES), CARVEOUTS_KB[-1] << 10)
    return float(L1_BYTES - next(kb << 10 for kb in CARVEOUTS_KB if kb << 10 >= asked))
