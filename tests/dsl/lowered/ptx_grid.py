"""PTX run for all threads of all blocks of a grid at once, for the memory that it touches.

What is loaded, and all floating-point values, are unknown: an address or a branch that rests on one is an
error. A register without a value is not known.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tests.conformance.written.machine import U64, Machine, parameters

Ints = npt.NDArray[np.int64]
_BLOCK = re.compile(r"\.reqntid ([0-9]+), 1, 1")
_REGISTER = re.compile(r"%\w+(?:\.\w+)?")
_FLOAT = re.compile(r"b?f[0-9]+\w*|\w*x2")


class Moved(NamedTuple):
    """`width` bytes that these lanes read or write; lane i of block n is n * threads + i."""

    lanes: Ints
    address: Ints
    width: Ints
    write: bool


def touched(ptx: str, grid: tuple[int, int], bases: tuple[int, ...]) -> tuple[int, list[Moved]]:
    """The threads of a block, and what all blocks do in global memory; `bases` are the pointers given."""
    run = executed(ptx, (*grid, 1), bases)
    return run.block, run.moved


def executed(ptx: str, grid: tuple[int, int, int], bases: tuple[int, ...]) -> Run:
    """A kernel, run to its end."""
    run = Run(ptx, grid, bases)
    run.execute()
    return run


class Run(Machine):
    """`moved` is what the `block` threads of all blocks do in global memory, `in_shared` in shared memory."""

    def __init__(self, ptx: str, grid: tuple[int, int, int], bases: tuple[int, ...]) -> None:
        found, (gx, gy, gz) = _BLOCK.search(ptx), grid
        assert found is not None
        self.block, self.moved, self.in_shared = int(found[1]), list[Moved](), list[Moved]()
        given = [base.to_bytes(8, "little") for base in bases[: len(parameters(ptx))]]
        super().__init__(ptx, given, {}, np.zeros(0, np.uint8), self.block * gx * gy * gz)
        lane = np.arange(self.threads, dtype=U64)
        block = lane // U64(self.block)
        self.registers |= {
            "%tid.x": lane % U64(self.block), "%ntid.x": np.full(self.threads, self.block, U64),
            "%tid.y": 0 * lane, "%tid.z": 0 * lane, "%ctaid.x": block % U64(gx),
            "%ctaid.y": block // U64(gx) % U64(gy), "%ctaid.z": block // U64(gx * gy),
        }  # fmt: skip

    def step(self, name: str, words: list[str], operands: list[str], mask: Any) -> None:
        loads = words[0] == "ld" and "param" not in words
        floats = _FLOAT.fullmatch(words[-1]) and words[0] not in ("mov", "selp", "ld", "st")
        given = [one for text in operands[1:] for one in _REGISTER.findall(text)]
        unknown = loads or floats or any(one not in self.registers for one in given)
        if not unknown or words[0] in ("ld", "st", "cp"):
            super().step(name, words, operands, mask)
        if unknown and words[0] not in ("st", "cp"):
            for one in _REGISTER.findall(operands[0]):
                self.registers.pop(one, None)

    def address(self, operand: str) -> Any:
        assert all(one in self.registers for one in _REGISTER.findall(operand)), f"{operand} is not known"
        return super().address(operand)

    def log(self, name: str, kind: str, space: str, width: Any, address: Any, mask: Any) -> None:
        if space == "local":
            return
        at = address.astype(np.int64)
        if space == "shared":
            at = (at + (1 << 31)) % (1 << 32) - (1 << 31)
        lanes = np.flatnonzero(mask)
        bytes_ = np.broadcast_to(np.asarray(width, np.int64), at.shape)[lanes]
        (self.in_shared if space == "shared" else self.moved).append(
            Moved(lanes, at[lanes], bytes_, kind == "write")
        )

    def cp_async(self, name: str, operands: list[str], mask: Any) -> None:
        taken = self.value(operands[3 if len(operands) > 3 else 2])
        self.log(name, "read", "global", taken, self.address(operands[1]), mask)

    def load(self, space: str, address: Any, width: int, mask: Any) -> Any:
        return np.zeros((self.threads, width), np.uint8)

    def store(self, space: str, address: Any, data: Any, mask: Any) -> None:
        pass
