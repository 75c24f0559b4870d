"""What a kernel of `broken.py` does with its bytes, by its PTX: every thread of one block, run for itself.

Shared memory is written before the kernel's one barrier and read after it. So each thread runs alone, with
names for what it reads there, and the names are replaced by what the block's threads wrote. The matrices of
an ldmatrix are put together from the rows of its 32 lanes (PTX ISA, ldmatrix: lane 8j + r has row r of
matrix j; lane n gets elements 2 (n % 4) and the next of row n / 4, of column n / 4 where transposed).
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory

from layoutcheck.dsl.ptx.bits import Bits, of_int
from layoutcheck.dsl.ptx.text import registers_in
from layoutcheck.dsl.ptx.thread import Thread
from tests.forking import printed

ARCH = "sm_90a"
SHARED = 1024  # where shared memory begins
SOURCE, DESTINATION = 1 << 40, 1 << 41
_BLOCK = re.compile(r"\.reqntid ([0-9]+), 1, 1")
_PARAMETER = re.compile(r"ld\.param\.b64 \s*%\w+, \[(\w+)\]")


class Broken(Exception):
    """What is wrong with a kernel, in words."""


@dataclass
class Block:
    """What a block did: bytes of global memory by address, and registers by (thread, instruction, register).

    A byte is the address of the byte of global memory that it is a copy of. `wavefronts` are those of loads
    and stores in shared memory, of all warps.
    """

    written: dict[int, int] = field(default_factory=dict)
    matrices: dict[tuple[int, int, int], tuple[int, ...]] = field(default_factory=dict)
    wavefronts: int = 0


class _Lane(Thread):
    """A thread among others. Its accesses must be aligned to their width."""

    def __init__(self, text: str, index: int, at: tuple[int, int] = (0, 0)) -> None:
        names = _PARAMETER.findall(text)
        given = {name: SOURCE.to_bytes(8, "little") for name in names[:1]}
        given |= {name: DESTINATION.to_bytes(8, "little") for name in names[1:]}
        super().__init__(text, given, lambda space, at: (space, at))
        self.registers |= {"%tid.x": of_int(index, 32), "__dynamic_shmem__0": of_int(SHARED, 32)}
        self.registers["__static_shmem__0"] = of_int(SHARED, 32)  # a kernel here has one of the two
        self.registers |= {"%ctaid.x": of_int(at[0], 32), "%ctaid.y": of_int(at[1], 32)}
        self.rows: list[tuple[int, bool, int]] = []

    def step(self, name: str, operands: list[str]) -> None:
        if name.startswith("shfl.sync.idx"):  # of a value that is every lane's
            self.registers[operands[0].split("|")[0]] = self.value(operands[1])
        elif not name.startswith(("bar.sync", "barrier.sync", "cp.async.commit", "cp.async.wait")):
            super().step(name, operands)

    def record(self, name: str, kind: str, space: str, width_bytes: int, address: int) -> None:
        if address % width_bytes:
            raise Broken(f"{name} at {address:#x}")
        super().record(name, kind, space, width_bytes, address)

    def matrix(self, name: str, operands: list[str]) -> None:
        super().matrix(name, operands)
        self.rows.append((self.address(operands[1]), ".trans" in name, len(registers_in(operands[0]))))


def block(ptx: str, at: tuple[int, int] = (0, 0)) -> Block:
    """Run every thread of a block. Raises Broken for misaligned accesses, races and unwritten bytes."""
    found = _BLOCK.search(ptx)
    if found is None:
        raise Broken("no block size")
    lanes = [_Lane(ptx, index, at) for index in range(int(found[1]))]
    shared: dict[int, Bits] = {}
    written: dict[int, Bits] = {}
    for lane in lanes:
        for (space, address), bits in lane.run().memory.items():
            into = shared if space == "shared" else written
            if into.setdefault(address, bits) != bits:
                raise Broken(f"two threads write byte {address:#x} of {space} memory")
    out = Block({address: _origin(bits, shared) for address, bits in written.items()})
    for first in range(0, len(lanes), 32):
        out.wavefronts += _wavefronts(lanes[first : first + 32])
        for n, (_, transposed, count) in enumerate(lanes[first].rows):
            rows = [lane.rows[n][0] for lane in lanes[first : first + 32]]
            for j in range(count):
                for lane_id in range(32):
                    value = _fragment(rows[8 * j : 8 * j + 8], lane_id, transposed)
                    at = tuple(_origin(shared.get(byte), shared) for byte in value)
                    out.matrices[first + lane_id, n, j] = at
    return out


def _wavefronts(warp: list[_Lane]) -> int:
    """What its loads and stores in shared memory take: in a phase, the most words of one of 32 banks.

    A phase has as many lanes as 128 bytes have accesses. All lanes make the same accesses in the same order.
    """
    total = 0
    shared = ([one for one in lane.trace.accesses if one.space == "shared"] for lane in warp)
    for together in zip(*shared, strict=True):
        lanes = 128 // max(4, together[0].width_bytes)
        for first in range(0, len(together), lanes):
            part = together[first : first + lanes]
            words = {(one.address + k) // 4 for one in part for k in range(one.width_bytes)}
            total += max(Counter(word % 32 for word in words).values())
    return total


def _fragment(rows: list[int], lane: int, transposed: bool) -> list[int]:
    """The shared addresses of the four bytes that a lane gets of a matrix."""
    slow, fast = divmod(lane, 4)
    places = [(slow, 2 * fast), (slow, 2 * fast + 1)]
    if transposed:
        places = [(column, row) for row, column in places]
    return [rows[row] + 2 * column + k for row, column in places for k in range(2)]


def _origin(bits: Bits | None, shared: dict[int, Bits]) -> int:
    """The global byte that eight bits are a copy of."""
    for _ in range(2):
        first = None if bits is None else bits[0]
        if not isinstance(first, tuple) or bits != tuple((first[0], first[1] + i) for i in range(8)):
            raise Broken(f"a byte is {bits}")
        if first[0] == "global":
            return first[1] // 8
        bits = shared.get(first[1] // 8)
    raise Broken("a byte of shared memory was never written")


def wrong(text: str, right: str) -> str:
    """How the bytes of a program differ from those of a working one; "" where they do not."""
    try:
        made, wanted = block(compiled(text)), block(compiled(right))
    except Broken as error:
        return str(error)
    if made.written != wanted.written:
        return f"{_differing(made.written, wanted.written)} bytes of memory differ"
    if made.matrices != wanted.matrices:
        return f"{_differing(made.matrices, wanted.matrices)} registers differ"
    return ""


def _differing(a: dict, b: dict) -> int:  # type: ignore[type-arg]
    return len(dict(a.items() ^ b.items()))


@lru_cache(maxsize=64)
def compiled(text: str) -> str:
    """The PTX of a program's one kernel. Raises Broken where the DSL refuses it."""
    with TemporaryDirectory() as folder:
        script = Path(folder) / "kernel.py"
        script.write_text(text, encoding="utf-8")
        kept = {"CUTE_DSL_KEEP": "ptx", "CUTE_DSL_DUMP_DIR": folder}
        try:
            printed(script.name, arch=ARCH, env=kept, cwd=folder)
        except AssertionError as error:
            raise Broken(f"the compiler refuses it: {str(error)[-300:]}") from None
        texts = [path.read_text(encoding="utf-8") for path in Path(folder).glob("*.ptx")]
        if len(texts) != 1:
            raise Broken(f"the compiler keeps {len(texts)} texts of it")
        return texts[0]
