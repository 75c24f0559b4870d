"""PTX run for all threads of all blocks of a grid at once, for the global memory that it touches.

Every lane has a program counter of its own; the lanes with the lowest one go on. What is loaded, and all
floating-point values, are unknown: an address or a branch that rests on one is an error.
"""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from layoutcheck.dsl.ptx.text import ADDRESS, LABEL, LINE, literal, operands_of, registers_in, width_of

Ints = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
_BLOCK = re.compile(r"\.reqntid ([0-9]+), 1, 1")
_NOTHING = ("bar", "barrier", "membar", "fence", "ret")
_COMPARE = {"lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal, "eq": np.equal,
            "ne": np.not_equal, "lo": np.less, "ls": np.less_equal, "hi": np.greater,
            "hs": np.greater_equal}  # fmt: skip


class Moved(NamedTuple):
    """`width` bytes that these lanes read or write; lane i of block n is n * threads + i."""

    lanes: Ints
    address: Ints
    width: Ints
    write: bool


def touched(ptx: str, grid: tuple[int, int], bases: tuple[int, ...]) -> tuple[int, list[Moved]]:
    """The threads of a block, and what all blocks do in global memory; `bases` are the pointers given."""
    run = executed(ptx, (*grid, 1), bases)
    return run.threads, run.moved


def executed(ptx: str, grid: tuple[int, int, int], bases: tuple[int, ...]) -> Run:
    """A kernel, run to its end."""
    run = Run(ptx, grid, bases)
    run.all()
    return run


class Run:
    """`moved` is what the `threads` of all blocks do in global memory, `in_shared` in shared memory."""

    def __init__(self, ptx: str, grid: tuple[int, int, int], bases: tuple[int, ...]) -> None:
        found = _BLOCK.search(ptx)
        assert found is not None
        self.threads, (gx, gy, gz) = int(found[1]), grid
        lane = np.arange(self.threads * gx * gy * gz)
        block = lane // self.threads
        self.count, self.bases, self.moved, self.in_shared = len(lane), bases, list[Moved](), list[Moved]()
        self.registers: dict[str, Ints | None] = {
            "%tid.x": lane % self.threads, "%ctaid.x": block % gx, "%ctaid.y": block // gx % gy,
            "%ctaid.z": block // (gx * gy),
        }  # fmt: skip
        for name, one in (("%tid.y", 0), ("%tid.z", 0), ("%ntid.x", self.threads)):
            self.registers[name] = np.full(self.count, one)
        self.code: list[tuple[str, str, str, list[str]]] = []
        self.labels: dict[str, int] = {}
        for line in ptx[ptx.index("{", ptx.index(")", ptx.index(".entry"))) + 1 :].splitlines():
            if label := LABEL.match(line):
                self.labels[label[1]] = len(self.code)
            elif match := LINE.match(line):
                self.code.append((match[1] or "", match[2] or "", match[3], operands_of(match[4])))

    def all(self) -> None:
        at = np.zeros(self.count, np.int64)
        while (lowest := int(at.min())) < len(self.code):
            negate, guard, name, operands = self.code[lowest]
            here = at == lowest
            if guard:
                here = here & ((self.known(guard) != 0) != (negate == "!"))
            at[at == lowest] += 1
            if name.split(".")[0] == "bra":
                at[here] = self.labels[operands[0]]
            elif name == "ret":
                at[here] = len(self.code)
            elif here.any():
                self.step(name, operands, here)

    def value(self, operand: str) -> Ints | None:
        if operand in self.registers:
            return self.registers[operand]
        if operand.startswith("%"):
            return None
        return np.full(self.count, 0 if operand.startswith("__dynamic") else _signed(literal(operand), 64))

    def known(self, operand: str) -> Ints:
        found = self.value(operand)
        assert found is not None, f"{operand} rests on what is loaded"
        return found

    def put(self, name: str, value: Ints | None, here: Mask) -> None:
        before = self.registers.get(name)
        if value is not None and before is not None:
            value = np.where(here, value, before)
        self.registers[name] = value

    def step(self, name: str, operands: list[str], here: Mask) -> None:
        words = name.split(".")
        kind = words[0]
        if kind in ("ld", "st") and words[1] != "param":
            load = kind == "ld"
            data = registers_in(operands[0] if load else operands[1])
            if "local" not in name:
                width = width_of(name) // 8 * len(data)
                self.move(operands[1 if load else 0], width, here, write=not load, shared="shared" in name)
            for one in data if load else ():
                self.registers[one] = None
        elif kind == "ld":
            self.put(operands[0], np.full(self.count, self.bases[int(operands[1].rstrip("]")[-1])]), here)
        elif name.startswith("cp.async.c") and len(operands) > 2:
            taken = (
                self.known(operands[3]) if len(operands) > 3 else np.full(self.count, literal(operands[2]))
            )
            self.move(operands[1], taken, here, write=False)
        elif kind == "shfl":
            value = self.known(operands[1]).reshape(-1, 32)
            assert words[2] == "idx" and operands[2] == "0"
            self.put(operands[0].partition("|")[0], np.repeat(value[:, 0], 32), here)
        elif kind not in (*_NOTHING, "cp"):
            target, *sources = operands
            for one in registers_in(target):
                self.put(one, self.compute(words, sources), here)

    def move(self, operand: str, width: int | Ints, here: Mask, write: bool, shared: bool = False) -> None:
        found = ADDRESS.fullmatch(operand)
        assert found is not None
        address = self.known(found[1]) + (int(found[2], 0) if found[2] else 0)
        lanes = np.flatnonzero(here)
        each = np.broadcast_to(np.asarray(width, np.int64), (self.count,))
        (self.in_shared if shared else self.moved).append(Moved(lanes, address[lanes], each[lanes], write))

    def compute(self, words: list[str], sources: list[str]) -> Ints | None:
        kind, last = words[0], words[-1]
        given = [self.value(one) for one in sources if not one.startswith("{")]
        if len(given) < len(sources) or any(one is None for one in given):
            return None
        if re.fullmatch(r"(b?f[0-9]+\w*|\w*x2)", last) and kind not in ("mov", "selp"):
            return None
        width, signed = width_of(".".join(words)), last.startswith("s")
        read = int(last[1:]) if kind in ("cvt", "cvta") and last[1:].isdigit() else width
        cut = (lambda n: _signed(n, read)) if signed else (lambda n: _unsigned(n, read))
        if kind == "selp":
            a, b, c = (one for one in given if one is not None)
            return np.where(c != 0, a, b)
        a, *rest = (cut(one) for one in given if one is not None)
        b = rest[0] if rest else a
        if kind == "setp":
            return _COMPARE[words[1]](a, b).astype(np.int64)
        wide = "wide" in words
        if kind == "mad":
            third = given[2]
            assert third is not None
            return _cut(a * b + third, 2 * width if wide else width)
        if kind == "not":
            return _cut(~a, width) if width > 1 else 1 - a
        if kind in ("div", "rem"):
            quotient = (np.abs(a) // np.maximum(1, np.abs(b))) * np.sign(a) * np.sign(b)
            return _cut(quotient if kind == "div" else a - quotient * b, width)
        if kind == "shl" or kind == "shr":
            by = np.minimum(_unsigned(b, 32), 63)
            return _cut(a << by if kind == "shl" else a >> by, width)
        simple = {
            "mov": lambda: a, "cvt": lambda: a, "cvta": lambda: a, "add": lambda: a + b, "neg": lambda: -a,
            "sub": lambda: a - b, "mul": lambda: a * b, "and": lambda: a & b, "or": lambda: a | b,
            "xor": lambda: a ^ b, "min": lambda: np.minimum(a, b), "max": lambda: np.maximum(a, b),
        }  # fmt: skip
        assert kind in simple and ("hi" not in words or (kind == "mul" and width == 32)), ".".join(words)
        if "hi" in words:
            whole = (
                a * b
                if signed
                else (a.astype(np.uint64) * b.astype(np.uint64) >> np.uint64(32)).astype(np.int64)
            )
            return _cut(whole >> 32 if signed else whole, width)
        return _cut(simple[kind](), 2 * width if wide else width)


def _signed(value: Ints | int, bits: int) -> Ints:
    value = np.asarray(value, object if isinstance(value, int) else np.int64)
    if bits >= 64:
        return np.asarray(
            (value + (1 << 63)) % (1 << 64) - (1 << 63) if value.dtype == object else value, np.int64
        )
    return np.asarray((value + (1 << bits - 1)) % (1 << bits) - (1 << bits - 1), np.int64)


def _unsigned(value: Ints, bits: int) -> Ints:
    return value if bits >= 64 else value & ((1 << bits) - 1)


def _cut(value: Ints, bits: int) -> Ints:
    return _unsigned(value, bits) if bits > 1 else value & 1
