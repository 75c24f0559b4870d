"""A kernel's PTX run on the CPU, all threads of all blocks, over memory that knows its ends.

What the kernels of kernels/transpose need of PTX. Each basic block becomes a Python function over the
registers of a thread; threads run one after the other, from barrier to barrier. An asynchronous copy is done
at once, so a missing wait is not seen.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from typing import Any, NamedTuple

from layoutcheck.dsl.ptx.text import LABEL, LINE, operands_of

BARRIER, ENDED, MATRIX = -1, -2, -3
SHARED_BYTES = 227 * 1024

COMPARE = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
BINARY = {"add": "+", "sub": "-", "mul": "*", "and": "&", "or": "|", "xor": "^"}
IGNORED = (
    *("griddepcontrol.launch", "cp.async.commit_group", "cp.async.wait_group"),
    *("cp.async.bulk.prefetch", "cp.async.bulk.commit_group", "cp.async.bulk.wait_group"),
    *("bar.warp", "fence.proxy"),
)


class Memory:
    """Runs of bytes at their addresses. What lies in none of them cannot be read or written.

    `once`: and no byte can be written twice. Addresses have so many `bits`. `asked`: sectors, by number.
    """

    def __init__(self, *runs: tuple[int, bytearray], once: bool = False, bits: int = 64) -> None:
        self.runs, self.once, self.mask = runs, once, (1 << bits) - 1
        self.written: set[int] = set()
        self.asked: set[int] = set()

    def find(self, address: int, size: int) -> tuple[bytearray, int]:
        """Where so many bytes are."""
        address &= self.mask
        assert address % size == 0, f"{size} bytes at {address:#x}"
        for start, run in self.runs:
            if start <= address and address + size <= start + len(run):
                return run, address - start
        raise AssertionError(f"{size} bytes at {address:#x} are nobody's")


class Stop(NamedTuple):
    """Where a thread waits for others: at a BARRIER, or a MATRIX instruction of its warp."""

    kind: int
    at: int
    registers: list[int]
    special: dict[str, Any]


class Program:
    """The entry of a PTX module, as Python."""

    def __init__(self, ptx: str) -> None:
        head, body = ptx[ptx.index(".entry") :].split("{", 1)
        self.names = re.findall(r"\.param [^,]*?(\w+)(?:\[\d+\])?\s*[,)]", head.replace("\n", " "))
        self.threads = int(re.search(r"\.reqntid (\d+)", head)[1])
        self.index: dict[str, int] = {}
        # A kernel that may start early has to wait before it touches global memory.
        self.waits = "griddepcontrol.launch_dependents" in body
        blocks: list[list[tuple[str, str, str, list[str]]]] = [[]]
        self.labels: dict[str, int] = {}
        for line in body.splitlines():
            if label := LABEL.match(line):
                blocks.append([])
                self.labels[label[1]] = len(blocks) - 1
            elif (found := LINE.match(line)) and not found[3].startswith((".", "//")):
                blocks[-1].append((found[1] or "", found[2] or "", found[3], operands_of(found[4])))
                if found[3].startswith(("bra", "bar.sync", "ret")):
                    blocks.append([])
        self.blocks = [self.function(number, block) for number, block in enumerate(blocks)]

    def function(self, number: int, block: list[tuple[str, str, str, list[str]]]) -> Callable[..., int]:
        """What runs a basic block and returns the number of the next, BARRIER or ENDED."""
        lines = ["def block(r, p, s, g, special):"]
        for negate, guard, name, operands in block:
            test = f"if {'not ' * (negate == '!')}{self.value(guard)}: " if guard else ""
            lines += [f"  {test}{text}" for text in self.lines(name, operands)]
        space: dict[str, Callable[..., int]] = {}
        exec("\n".join([*lines, f"  return {number + 1}"]), HELPERS, space)
        return space["block"]

    def value(self, operand: str) -> str:
        """A register, a special one or a number."""
        if operand.startswith("%"):
            if re.match(r"%(tid|ctaid|nctaid|ntid)\.", operand):
                return f"special[{operand!r}]"
            return f"r[{self.index.setdefault(operand, len(self.index))}]"
        if operand in self.names:
            return f"p[{operand!r}]"
        if re.match(r"-?(0[xX])?[0-9a-fA-F]+U?$", operand):
            return str(int(operand.rstrip("U"), 0))
        return {"true": "1", "false": "0"}.get(operand, "0")  # the name of shared memory, which begins at 0

    def address(self, operand: str) -> str:
        """What is between the brackets."""
        base, _, more = operand.strip("[] ").partition("+")
        return f"({self.value(base)}{'+' + more if more else ''})"

    def lines(self, name: str, operands: list[str]) -> list[str]:
        """An instruction."""
        words = name.split(".")
        kind = words[0]
        wide = [int(found[1]) for word in words[1:] if (found := re.match(r"[bsuf](\d+)$", word))]
        bits = wide[-1] if wide else 1
        signed = words[-1].startswith("s")
        if name.startswith(IGNORED):
            return ["pass"]
        if name == "griddepcontrol.wait":
            return ["special['waited'] = 1"]
        if kind == "bra":
            return [f"return {self.labels[operands[0]]}"]
        if name == "ret":
            return [f"return {ENDED}"]
        if name == "bar.sync":
            return [f"return {BARRIER}"]
        if name.startswith("ld.param"):
            each = [self.value(one.strip()) for one in operands[0].strip("{}").split(",")]
            of, _, at = operands[1].strip("[]").partition("+")
            return [f"{', '.join(each)}, = parameter(p[{of!r}], {at or 0}, {bits // 8}, {len(each)})"]
        if name.startswith("prefetch.global.L2"):
            return [f"g.asked.add({self.address(operands[0])} // 32)"]
        if name.startswith("cp.async.c"):
            return [f"copy(s, ahead(special, g), {self.address(operands[0])}, {self.address(operands[1])})"]
        if name.startswith("cp.async.bulk.global.shared"):
            target, source = (self.address(one) for one in operands[:2])
            return [f"bulk(s, g, {target}, {source}, {self.value(operands[2])})"]
        if kind in ("ld", "st"):
            operands = operands[:2]  # the third is an L2 policy
            regs, where = operands if kind == "ld" else reversed(operands)
            each = [self.value(one.strip()) for one in regs.strip("{}").split(",")]
            memory = "s" if "shared" in words else "ahead(special, g)"
            call = f"({memory}, {self.address(where)}, {bits // 8}, {len(each)}"
            if kind == "ld":
                return [f"{', '.join(each)}{',' * (len(each) == 1)} = load{call})"]
            return [f"store{call}, ({', '.join(each)},))"]
        if kind == "mov" and "{" in "".join(operands):
            if operands[1].startswith("{"):
                parts = [self.value(one.strip()) for one in operands[1].strip("{}").split(",")]
                each = bits // len(parts)
                return [
                    f"{self.value(operands[0])} = "
                    + "|".join(f"({x} << {each * i})" for i, x in enumerate(parts))
                ]
            parts = [one.strip() for one in operands[0].strip("{}").split(",")]
            each = bits // len(parts)
            source = self.value(operands[1])
            return [
                f"{self.value(one)} = {source} >> {each * i} & {(1 << each) - 1}"
                for i, one in enumerate(parts)
                if one != "_"
            ]
        if kind == "shfl":  # what is the same in the whole warp
            assert operands[2] == "0"
            return [f"{self.value(operands[0].split('|')[0])} = {self.value(operands[1])}"]
        target, *sources = (self.value(one) for one in operands)
        mask = (1 << bits) - 1
        number_of = [f"signed({x}, {bits})" if signed else f"({x} & {mask})" for x in sources]
        if kind == "mov":
            return [f"{target} = {sources[0]}"]
        if kind in ("cvt", "cvta"):
            source = (
                f"signed({sources[0]}, {wide[-1]})"
                if words[-1].startswith("s")
                else f"({sources[0]} & {(1 << wide[-1]) - 1})"
            )
            return [f"{target} = {source} & {(1 << wide[0]) - 1}"]
        if kind == "setp":
            return [f"{target} = int({number_of[0]} {COMPARE[words[1]]} {number_of[1]})"]
        if kind == "selp":
            return [f"{target} = {sources[0]} if {sources[2]} else {sources[1]}"]
        if kind == "prmt":
            return [f"{target} = permuted({', '.join(sources)})"]
        if kind == "bfi":
            field, base, start, length = sources
            return [f"{target} = inserted({field}, {base}, {start}, {length})"]
        if kind == "shf":
            return [f"{target} = shifted({', '.join(sources)}, {words[1]!r})"]
        if kind == "not":
            return [f"{target} = ~{sources[0]} & {mask}"]
        if kind == "neg":
            return [f"{target} = -{sources[0]} & {mask}"]
        if kind in ("min", "max"):
            return [f"{target} = {kind}({number_of[0]}, {number_of[1]}) & {mask}"]
        if kind == "shl":
            return [f"{target} = {sources[0]} << min({sources[1]}, 64) & {mask}"]
        if kind == "shr":
            return [f"{target} = {number_of[0]} >> min({sources[1]}, 64) & {mask}"]
        if kind in ("div", "rem"):
            return [f"{target} = {kind}({number_of[0]}, {number_of[1]}) & {mask}"]
        if kind in ("mul", "mad"):
            product_of = f"{number_of[0]} * {number_of[1]}"
            if "hi" in words:
                product_of = f"({product_of} >> {bits})"
            out = 2 * bits if "wide" in words else bits
            return [
                f"{target} = ({product_of}{' + ' + sources[2] if kind == 'mad' else ''}) & {(1 << out) - 1}"
            ]
        if kind in BINARY:
            return [f"{target} = ({sources[0]} {BINARY[kind]} {sources[1]}) & {mask}"]
        raise AssertionError(f"PTX {name} is not known here")

    def run(
        self, grid: tuple[int, int, int], memory: Memory, *args: int | bytes, room: int = SHARED_BYTES
    ) -> None:
        """`args` in the order of the parameters: numbers, the address of a tensor, the bytes of a struct.

        `room`: bytes of shared memory that a block has.
        """
        params = dict(zip(self.names, args, strict=True))
        for z, y, x in product(*(range(extent) for extent in reversed(grid))):
            shared = Memory((0, bytearray(room)), bits=32)
            threads = [
                self.thread(params, shared, memory, grid, (x, y, z), tid) for tid in range(self.threads)
            ]
            while threads:
                stops = [next(thread, None) for thread in threads]
                assert len({stop and stop.at for stop in stops}) == 1, "a barrier that not all threads reach"
                threads = threads if stops[0] is not None else []

    def thread(
        self,
        params: dict[str, int | bytes],
        shared: Memory,
        memory: Memory,
        grid: tuple[int, int, int],
        block: tuple[int, int, int],
        tid: int,
    ) -> Iterator[Stop]:
        """Stops at every barrier."""
        registers = [0] * len(self.index)
        special: dict[str, Any] = {
            "waited": int(not self.waits),
            "%tid.x": tid,
            "%tid.y": 0,
            "%tid.z": 0,
            "%ntid.x": self.threads,
            "%ntid.y": 1,
            "%ntid.z": 1,
        }
        for letter, extent, number in zip("xyz", grid, block, strict=True):
            special |= {f"%nctaid.{letter}": extent, f"%ctaid.{letter}": number}
        at = 0
        while at >= 0 and at < len(self.blocks):
            before, at = at, self.blocks[at](registers, params, shared, memory, special)
            if at in (BARRIER, MATRIX):
                kind, at = at, before + 1
                yield Stop(kind, at, registers, special)


def signed(value: int, bits: int) -> int:
    value &= (1 << bits) - 1
    return value - (value >> bits - 1 << bits)


def div(a: int, b: int) -> int:
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def rem(a: int, b: int) -> int:
    return a - b * div(a, b)


def parameter(value: int | bytes, at: int, each: int, count: int) -> list[int]:
    """So many numbers of a parameter from byte `at` on."""
    if isinstance(value, int):
        return [value]
    return [int.from_bytes(value[at + i * each : at + (i + 1) * each], "little") for i in range(count)]


def permuted(low: int, high: int, selector: int) -> int:
    """Four of eight bytes."""
    held = (low & 0xFFFFFFFF | (high & 0xFFFFFFFF) << 32).to_bytes(8, "little")
    return int.from_bytes(bytes(held[selector >> 4 * i & 7] for i in range(4)), "little")


def shifted(low: int, high: int, by: int, way: str) -> int:
    """The word that 64 bits have below, or above, when they are shifted to the right, or left."""
    both = (low & 0xFFFFFFFF | (high & 0xFFFFFFFF) << 32) << 32
    return (both >> (by & 31) >> 32 if way == "r" else both << (by & 31) >> 64) & 0xFFFFFFFF


def inserted(field: int, base: int, start: int, length: int) -> int:
    """`base` with the low bits of `field` from a bit on."""
    mask = (1 << length) - 1 << start
    return (base & ~mask | field << start & mask) & 0xFFFFFFFF


def ahead(special: dict[str, int], memory: Memory) -> Memory:
    """Global memory, which the kernel ahead may still write until the thread has waited for it."""
    assert special["waited"], "global memory is touched before the wait for the kernel ahead"
    return memory


def load(memory: Memory, address: int, each: int, count: int) -> list[int]:
    run, at = memory.find(address, each * count)
    return [int.from_bytes(run[at + i * each : at + (i + 1) * each], "little") for i in range(count)]


def store(memory: Memory, address: int, each: int, count: int, values: Sequence[int]) -> None:
    run, at = memory.find(address, each * count)
    if memory.once:
        bytes_of = range(address, address + each * count)
        assert memory.written.isdisjoint(bytes_of), f"{each * count} bytes at {address:#x} are written again"
        memory.written.update(bytes_of)
    for i, value in enumerate(values):
        run[at + i * each : at + (i + 1) * each] = (value & (1 << 8 * each) - 1).to_bytes(each, "little")


def copy(shared: Memory, memory: Memory, target: int, source: int) -> None:
    run, at = memory.find(source, 16)
    into, to = shared.find(target, 16)
    into[to : to + 16] = run[at : at + 16]


def bulk(shared: Memory, memory: Memory, target: int, source: int, size: int) -> None:
    for at in range(0, size, 16):
        store(memory, target + at, 1, 16, load(shared, source + at, 1, 16))


HELPERS = {
    one.__name__: one
    for one in (ahead, signed, div, rem, parameter, permuted, shifted, inserted, load, store, copy, bulk)
}
