"""Accesses that the compiler removes: loads into registers that are written again before they are read.

Measured in the DSL's PTX. A vector is loaded into an array of registers (`llvm.alloca`) by accesses as wide
as its alignment allows. Those are left out all of whose bytes are written again before anything reads them,
on every way that the kernel can take. A vector that does not lie whole in its array is not stored, no byte of
it: LLVM calls such a store undefined ("SROA", `visitStoreInst`). A universal copy whose V is smaller than its
vector makes both: of one element by vectors of four, 16 loads of which 4 stay.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cached_property, lru_cache
from itertools import pairwise, product
from math import prod
from typing import Any, NamedTuple

from layoutcheck.dsl.lowered.integers import BINARY
from layoutcheck.dsl.lowered.operations import CONSTANTS
from layoutcheck.dsl.lowered.types import GENERIC, parse_type
from layoutcheck.dsl.lowered.values import wrap
from layoutcheck.sources.mlir import Block, Operation, Value, integer, integers

MOST_STEPS = 200_000  # accesses that are followed in one kernel
MOST_TURNS = 4096  # of the loops around one store
_CASTS = {"arith.extsi", "arith.extui", "arith.trunci", "arith.index_cast", "arith.index_castui"}
_SAME = ("llvm.ptrtoint", "llvm.inttoptr", "llvm.bitcast")  # the same address
_OPERAND = -(1 << 31)  # how rawConstantIndices marks an index that is an operand
Turn = Callable[[Value], Any]  # the turn of a loop, by the loop's own number
# Of a load or store: tells the bytes [first, end) that are left of it in this turn; None: always all.
Left = Callable[[Operation], Callable[[], tuple[int, int]] | None]


class _Place(NamedTuple):
    """Bytes from the begin of `array`, of `size`: `constant`, and so many for each of `parts`."""

    array: Operation
    size: int
    constant: int = 0
    parts: tuple[tuple[Value, int], ...] = ()

    def at(self, turn: Turn) -> int:
        """The first byte in this turn."""
        return self.constant + sum((_number(value, turn) or 0) * each for value, each in self.parts)


class _Access(NamedTuple):
    """A load or store of so many `bytes` of an array of registers."""

    place: _Place
    bytes: int
    stores: bool


class _TooLong(Exception):
    """The kernel has more accesses than are followed."""


class Removed:
    """Of one kernel: what is left of its loads and stores, turn by turn of the loops around them."""

    def __init__(self, kernel: Operation) -> None:
        self._kernel = kernel
        # Of a store in a turn: the bytes of it that are read, as bits of its array.
        self._read: dict[tuple[Operation, tuple[int, ...]], int] = {}
        self._followed: set[Operation] = set()
        self._left: dict[Operation, Callable[[Turn], tuple[int, int]] | None] = {}

    def left(self, op: Operation, turn: Turn) -> Callable[[], tuple[int, int]] | None:
        """Tells of a load or store the bytes [first, end) that are left of it in a turn; None: always all.

        They reach from the first to the last one that is read; (0, 0) where none is.
        """
        if op not in self._left:
            self._left[op] = self._found(op)
        found = self._left[op]
        return None if found is None else lambda: found(turn)

    def _found(self, op: Operation) -> Callable[[Turn], tuple[int, int]] | None:
        if op.name == "llvm.store":
            value, users = op.operands[0], [op]
        elif op.name == "llvm.load" and op.results[0].type.startswith("vector"):
            value = op.results[0]
            users = self._users.get(value, [])
        else:
            return None
        stores = [(one, self._accesses[one]) for one in users if one in self._accesses]
        if not stores or len(stores) < len(users) or any(one.operands[0] is not value for one in users):
            return None
        if any(at.place.array not in self._torn for _, at in stores):
            return None
        self._follow(self._torn)
        loops = list(dict.fromkeys(number for one, _ in stores for number in _loops(one)))
        align = _align(op)

        def left(turns: Turn) -> tuple[int, int]:
            bits = 0
            for one, at in stores:
                bits |= self._needed(one, at, turns)
            return _hull(bits, align)

        whole = (0, stores[0][1].bytes)
        if all(left(one.__getitem__) == whole for one in _all_turns(loops)):
            return None
        return left

    def spare(self, copied: list[Operation]) -> Callable[[int], int | None]:
        """Of a copy's stores into registers: how many bytes of the array lie behind its first so many ones.

        None where one of these is read before it is written again, or where they are not in one array.
        """
        stores = [(op, self._accesses[op].place) for op in copied if op in self._accesses]
        arrays = {place.array for _, place in stores}
        if len(arrays) != 1 or len(stores) < len(copied):
            return lambda _: None
        self._follow(arrays)
        size = stores[0][1].size
        bits, first = 0, size
        for op, place in stores:
            for turns in _all_turns(_loops(op)):
                bits |= self._read.get((op, tuple(turns.values())), -1)
                first = min(first, place.at(turns.__getitem__))
        return lambda count: size - first - count if first >= 0 and not bits >> (first + count) else None

    def _needed(self, op: Operation, store: _Access, turn: Turn) -> int:
        """The bytes of a store that are read, as bits: bit 0 is its first byte."""
        at = store.place.at(turn)
        if not 0 <= at <= store.place.size - store.bytes:
            return 0
        found = self._read.get((op, tuple(int(turn(number)) for number in _loops(op))))
        return (1 << store.bytes) - 1 if found is None else found >> at

    @cached_property
    def _users(self) -> dict[Value, list[Operation]]:
        found: dict[Value, list[Operation]] = defaultdict(list)
        for op in self._kernel.walk():
            for value in op.operands:
                found[value].append(op)
        return found

    @cached_property
    def _accesses(self) -> dict[Operation, _Access]:
        """Of every array all of whose accesses are written in the module; another one stays in memory."""
        found = {}
        for array in self._kernel.walk():
            if array.name != "llvm.alloca" or parse_type(array.results[0].type).space != GENERIC:
                continue
            users = self._accessed(array.results[0])
            accesses = {op: at for op in users or () if (at := _access(op)) is not None}
            if users and len(accesses) == len(users):
                found.update(accesses)
        return found

    def _accessed(self, array: Value) -> list[Operation] | None:
        """The loads and stores of an array; None where its address goes elsewhere."""
        found, pointers = [], [array]
        for pointer in pointers:
            for op in self._users.get(pointer, ()):
                if op.name in _SAME or (op.name == "llvm.getelementptr" and op.operands[0] is pointer):
                    pointers.append(op.results[0])
                elif op.name == "llvm.load" or (op.name == "llvm.store" and op.operands[0] is not pointer):
                    found.append(op)
                else:
                    return None
        return found

    @cached_property
    def _torn(self) -> set[Operation]:
        """Arrays of which a store overlaps a part of another one, or leaves it."""
        met: dict[Operation, set[tuple[int, int]]] = defaultdict(set)
        sizes = {}
        for op, (place, count, stores) in self._accesses.items():
            if stores:
                starts = {place.at(turns.__getitem__) for turns in _all_turns(_loops(op))}
                met[place.array].update((at, at + count) for at in starts)
                sizes[place.array] = place.size
        found = set()
        for array, spans in met.items():
            inside = min(spans)[0] >= 0 and max(end for _, end in spans) <= sizes[array]
            if not inside or any(one[1] > other[0] for one, other in pairwise(sorted(spans))):
                found.add(array)
        return found

    def _follow(self, arrays: set[Operation]) -> None:
        """Find what is read of the stores into these arrays."""
        new = arrays - self._followed
        if not new:
            return
        accesses = {op: at for op, at in self._accesses.items() if at.place.array in new}
        self._followed |= new
        with suppress(_TooLong):
            self._read |= _Backwards(self._kernel, accesses).read()


class _Backwards:
    """A kernel from its end to its begin: which bytes of the arrays are read before they are written.

    Where ways meet, at a branch or a loop that is not unrolled, all bytes of an array that is accessed there
    count as read: LLVM keeps what it promotes as one value. What no load reads at all, as in the sketch of a
    kernel, counts as read at the end.
    """

    def __init__(self, kernel: Operation, accesses: dict[Operation, _Access]) -> None:
        self._kernel, self._accesses = kernel, accesses
        self._found: dict[tuple[Operation, tuple[int, ...]], int] = {}
        self._turn: dict[Value, int] = {}
        self._steps = 0
        self._inside: dict[Block, list[Operation]] = defaultdict(list)
        self._touched: dict[Operation, set[Operation]] = defaultdict(set)  # arrays, by what is around
        for op, access in accesses.items():
            for above in op.around():
                self._touched[above].add(access.place.array)
        for op in kernel.walk():
            if op.parent is not None and (op in accesses or op in self._touched):
                self._inside[op.parent].append(op)

    def read(self) -> dict[tuple[Operation, tuple[int, ...]], int]:
        """Of each store, in each turn, the bytes that are read. Raises _TooLong."""
        live = {at.place.array: -1 for at in self._accesses.values()}
        live |= {at.place.array: 0 for at in self._accesses.values() if not at.stores}
        (block, *others) = self._kernel.regions[0].blocks
        if others:
            self._apart(self._kernel, live)
        else:
            self._block(block, live)
        return self._found

    def _block(self, block: Block, live: dict[Operation, int]) -> None:
        for op in reversed(self._inside[block]):
            self._steps += 1
            if self._steps > MOST_STEPS:
                raise _TooLong
            if op in self._accesses:
                self._step(op, self._accesses[op], live)
                continue
            body = op.regions[0].blocks[0] if op.name == "scf.for" else None
            turns = None if body is None else turns_of(body.arguments[0])
            if body is None or turns is None:
                self._apart(op, live)
                continue
            for turn in reversed(turns):
                self._turn[body.arguments[0]] = turn
                self._block(body, live)
            self._turn.pop(body.arguments[0], None)

    def _apart(self, op: Operation, live: dict[Operation, int]) -> None:
        """The blocks of an operation that may run in another order, or not at all."""
        for region in op.regions:
            for block in region.blocks:
                self._block(block, dict.fromkeys(live, -1))
        live.update(dict.fromkeys(self._touched[op], -1))

    def _step(self, op: Operation, access: _Access, live: dict[Operation, int]) -> None:
        place, count, stores = access
        at = place.at(self._turn.__getitem__)
        bits = ((1 << count) - 1) << max(0, at)
        if not stores:
            live[place.array] |= bits
            return
        if not 0 <= at <= place.size - count:
            bits = 0
        key = op, tuple(self._turn[number] for number in _loops(op))
        self._found[key] = self._found.get(key, 0) | live[place.array] & bits
        live[place.array] &= ~bits


@lru_cache(maxsize=4)
def removed(kernel: Operation) -> Removed:
    """What is removed of a kernel, which several runs of it ask."""
    return Removed(kernel)


def _access(op: Operation) -> _Access | None:
    """What a load or store accesses; None where that is not written in the module."""
    stores = op.name == "llvm.store"
    place = _place(op.operands[1 if stores else 0])
    if place is None or prod(len(turns_of(one) or ()) for one in _loops(op)) > MOST_TURNS:
        return None
    value = op.operands[0] if stores else op.results[0]
    return _Access(place, parse_type(value.type).size_bytes, stores)


def _hull(bits: int, align: int) -> tuple[int, int]:
    """From the first to the last bit that is set, in whole accesses of `align`; (0, 0) where none is."""
    first = (bits & -bits).bit_length() - 1
    return (first // align * align, -(-bits.bit_length() // align) * align) if bits else (0, 0)


def _align(op: Operation) -> int:
    """How wide an access of a load or store is, in bytes, as its alignment allows."""
    value = op.results[0] if op.results else op.operands[0]
    kind = parse_type(value.type)
    align = integer(op.attributes.get("alignment", "")) or kind.align_bytes
    return min(align & -align, kind.size_bytes & -kind.size_bytes)


def _all_turns(loops: list[Value]) -> Iterator[dict[Value, int]]:
    """Every turn of these loops."""
    for turns in product(*(turns_of(number) or () for number in loops)):
        yield dict(zip(loops, turns, strict=True))


def _loops(op: Operation) -> list[Value]:
    """The numbers of the loops around it that the compiler unrolls in full, the outermost first."""
    numbers = [above.regions[0].blocks[0].arguments[0] for above in op.around() if above.name == "scf.for"]
    return [number for number in reversed(numbers) if turns_of(number) is not None]


def _place(pointer: Value) -> _Place | None:
    """Where a pointer points to in registers, if that is written in the module; else None."""
    op = pointer.definition
    if op is None:
        return None
    if op.name in _SAME:
        return _place(op.operands[0])
    if op.name == "llvm.alloca" and parse_type(pointer.type).space == GENERIC:
        count = constant_of(op.operands[0])
        return (
            None if count is None else _Place(op, count * parse_type(op.attributes["elem_type"]).size_bytes)
        )
    indices = integers(op.attributes.get("rawConstantIndices", "")) or ()
    base = _place(op.operands[0]) if op.name == "llvm.getelementptr" and len(indices) == 1 else None
    if base is None:
        return None
    each = parse_type(op.attributes["elem_type"]).size_bytes
    index = indices[0] if indices[0] != _OPERAND else constant_of(op.operands[1])
    if index is not None:
        return base._replace(constant=base.constant + index * each)
    if _number(op.operands[1], lambda _: 0) is None:
        return None
    return base._replace(parts=(*base.parts, (op.operands[1], each)))


def _number(value: Value, turn: Turn) -> int | None:
    """A value of constants and of the turns of loops that are unrolled in full; None for another one."""
    made = value.definition
    if made is None:
        return None if turns_of(value) is None else int(turn(value))
    if made.name in CONSTANTS:
        return constant_of(value)
    bits = parse_type(value.type).bits or 64
    given = [_number(one, turn) for one in made.operands]
    if made.name in _CASTS:
        return given[0]
    if made.name not in BINARY or len(given) != 2 or given[0] is None or given[1] is None:
        return None
    return int(wrap(BINARY[made.name](given[0], given[1], bits), bits))


@lru_cache(maxsize=64)  # what is asked next lies mostly in the same loops
def turns_of(value: Value) -> range | None:
    """The numbers of a loop that the compiler unrolls in full; None for what is none."""
    block = value.owner
    loop = block.parent.parent if isinstance(block, Block) else None
    if loop is None or loop.name != "scf.for" or value.index:
        return None
    start, stop, step = (constant_of(bound) for bound in loop.operands[:3])
    if start is None or stop is None or not step:
        return None
    return range(start, stop, step) if unrolled(loop) else None


def unrolled(loop: Operation) -> bool:
    """Whether the compiler is told to unroll a loop in full."""
    names = ("loop_annotation", "llvm.loop_annotation")  # the second until DSL 4.5
    return any("full = true" in loop.attributes.get(name, "") for name in names)


def constant_of(value: Value) -> int | None:
    """The number that a value is written as; None for another value."""
    made = value.definition
    return integer(made.attributes.get("value", "")) if made and made.name in CONSTANTS else None
