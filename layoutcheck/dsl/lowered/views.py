"""What operations of a traced module are given in shared memory: members of structs, and views of a size.

`SmemAllocator.allocate` gives a `cute.struct` one allocation; the DSL writes its members into the module. The
lowered address no longer says of which member's pointer it was made: the chain of views in the traced module
does.

An access through the pointer of one member that touches another may be meant: an epilogue's tile over the
space of several operands. So it is `wrong` only if a value gets lost between two members: what was written
through the pointer of one is read through that of another (`mixed`, `overwritten`). Else it is told as not
checked. What reaches padding alone, bytes of no member, is a note: nobody has given them away, and the next
member may move there. The same is asked where an access leaves its allocation for another one, through a view
whose own layout spans that far.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, TypeAlias

import numpy as np

from layoutcheck.algebra.measure import cosize
from layoutcheck.copies.offsets import IntArray
from layoutcheck.dsl.lowered.needed import handed_on
from layoutcheck.dsl.tagged import TAGGED
from layoutcheck.errors import InputError
from layoutcheck.sources.chains import MAX_STEPS
from layoutcheck.sources.mlir import Operation, Value, parse, without_locations
from layoutcheck.sources.printed import COPIES
from layoutcheck.sources.traced_module import tags
from layoutcheck.sources.types import parse_memref

_FIELDS = "smem.struct_fields"
_FIELD = re.compile(r'"([^":]*):([0-9]+):([0-9]+)"')
_BYTES = re.compile(r'"([0-9]+):1"')
_OFFSET = re.compile(r'!cute\.int_tuple<"([0-9]+)">')
_SHARED = re.compile(r'!cute\.(?:ptr|memref)<[^"]*\bsmem\b')
_COMPOSED = re.compile(r'"S<[0-9,]+> o 0 o ')
_POINTER = re.compile(r"!llvm\.ptr<[37]>")
_STORES = re.compile(r"store|mbarrier")


class Member(NamedTuple):
    """A struct's member: its name, its bytes, where it begins in the struct of `whole` bytes.

    `room` are the bytes from its begin on that no other member has: its own, and the padding behind them.
    """

    name: str
    size: int
    start: int
    whole: int
    room: int = 0


Members: TypeAlias = "Mapping[tuple[str, int], Member]"
"""By tag and side (0 source, 1 destination): the member whose pointer an operation is given there."""


class SharedViews:
    """Of the text of a traced module, which is parsed once, and only for what is asked."""

    def __init__(self, text: str) -> None:
        self.text = text

    @cached_property
    def members(self) -> Members:
        """None for a text that is no module, or of a DSL that does not write them."""
        if _FIELDS not in self.text:
            return {}
        try:
            given = self._given
        except InputError:
            return {}
        found = ((tag, side, _member(value)) for tag, side, value in given)
        return {(tag, side): member for tag, side, member in found if member is not None and member.size}

    @cached_property
    def spans(self) -> Mapping[tuple[str, int], int]:
        """By tag and side as in `Members`: the bytes of the widest view of those it is given there.

        A view that was made of a pointer may span more than what was allocated at it.
        """
        return {(tag, side): max(map(_span, _views(value))) for tag, side, value in self._given}

    @cached_property
    def _given(self) -> list[tuple[str, int, Value]]:
        return list(_given(parse(without_locations(self.text)).walk()))


def _given(ops: Iterable[Operation]) -> Iterator[tuple[str, int, Value]]:
    """What each tagged operation is given in shared memory, by tag and side."""
    tagged = [op for op in ops if TAGGED.match(op.name)]
    for tag, op in zip(tags(op.name for op in tagged), tagged, strict=True):
        yield from ((tag, side, value) for side, value in _sides(op))


def _views(value: Value) -> Iterator[Value]:
    """A view, and those that it is made of."""
    at: Value | None = value
    for _ in range(MAX_STEPS):
        if at is None:
            return
        yield at
        at = _before(at)


def _span(view: Value) -> int:
    """The bytes that a view's layout spans; 0 for a pointer, and for extents of run time.

    A swizzle that the layout is composed with, as one that the pointer has, does not count.
    """
    if not view.type.startswith("!cute.memref"):
        return 0
    try:
        memref = parse_memref(_COMPOSED.sub('"', view.type))
        end = cosize(memref.layout)
    except InputError:
        return 0
    return -(-end * memref.dtype.bits // 8) if isinstance(end, int) else 0


def _sides(op: Operation) -> Iterator[tuple[int, Value]]:
    """The operands in shared memory that an operation moves data from (0) or to (1)."""
    if op.name in COPIES:
        yield from ((i, value) for i, value in enumerate(op.operands[1:3]) if _SHARED.match(value.type))
        return
    first = _shared(op.operands)
    if first is not None:
        yield (1 if _STORES.search(op.name) else 0), first


def _member(value: Value) -> Member | None:
    """The member that a chain of views begins at, one step after the whole struct."""
    last: Operation | None = None
    for _ in range(MAX_STEPS):
        made = value.definition
        if made is not None and made.name == "cute.memref.alloca":
            return None if last is None else _at(made, last)
        if made is not None and made.name == "scf.if":  # a view that both arms hand on
            found = set(map(_member, handed_on(value)))
            return found.pop() if len(found) == 1 else None
        outer = _before(value)
        if outer is None:
            return None
        last = made if made is not None and made.name == "cute.add_offset" else last
        value = outer
    return None


def _before(value: Value) -> Value | None:
    """What a view is made of, or what a loop's variable or result begins with."""
    made = value.definition
    if made is None or made.name in ("scf.for", "scf.while"):
        return next(iter(handed_on(value)), None)
    return None if made.regions else _shared(made.operands)


def _shared(values: Sequence[Value]) -> Value | None:
    return next((v for v in values if _SHARED.match(v.type) or _POINTER.match(v.type)), None)


def _at(struct: Operation, step: Operation) -> Member | None:
    """The member of a struct that begins where a step from its beginning leads."""
    offset = _OFFSET.fullmatch(step.operands[1].type)
    fields = _FIELD.findall(struct.attributes.get(_FIELDS, ""))
    if offset is None or not fields:
        return None
    allocated = _BYTES.search(struct.results[0].type)
    whole = int(allocated[1]) if allocated else max(int(size) + int(start) for _, size, start in fields)
    alike = [one for one in fields if one[2] == offset[1]]
    name, size, start = max(alike, key=lambda one: int(one[1]), default=("", "0", "0"))
    if not name:
        return None
    end = int(start) + int(size)
    following = min((int(at) for _, bytes_, at in fields if int(bytes_) and int(at) >= end), default=whole)
    return Member(name, int(size), int(start), whole, following - int(start))


@dataclass(slots=True)
class Touch:
    """Bytes of a struct that an operation reads (side 0) or writes (1): `width` at each of `starts`, in it.

    `number` is its place in program order. What an asynchronous copy writes has none (`late`).
    """

    number: int
    tag: str
    side: int
    starts: IntArray
    width: int
    member: Member | None
    late: bool

    @property
    def mbarrier(self) -> bool:
        """Whether it is the work on an mbarrier; between two of these goes no value."""
        return "mbarrier" in self.tag

    @property
    def bytes_(self) -> IntArray:
        """All of them that lie behind the struct's begin."""
        at = (self.starts[:, None] + np.arange(self.width)).ravel()
        return at[at >= 0]

    def outside(self, at: IntArray) -> bool:
        """Whether these bytes are none of its own member."""
        assert self.member is not None
        low, high = self.member.start, self.member.start + self.member.size
        return bool(((at < low) | (at >= high)).all())


def mixed(touched: Sequence[Touch]) -> dict[tuple[str, int], str]:
    """The accesses between which a value goes from one member of a struct to another, by tag and side.

    Of these the one that leaves its own member, with the name of the other. `touched` is all of one struct.
    """
    size = max((int(one.starts.max(initial=0)) + one.width for one in touched), default=0)
    by, late = np.full(size, -1), np.zeros(size, bool)
    for one in touched:
        late[one.bytes_] |= one.late and one.side == 1
    found: dict[tuple[str, int], str] = {}
    inorder = sorted(touched, key=lambda one: one.number)
    for i, one in enumerate(inorder):
        at = one.bytes_
        if one.side:
            by[at] = i if one.member is not None else -1
            continue
        if one.member is None:
            continue
        at = at[~late[at]]
        for j in np.unique(by[at]):
            writer = inorder[j]
            if j < 0 or writer.member == one.member or (writer.mbarrier and one.mbarrier):
                continue
            for stray, other in ((writer, one), (one, writer)):
                if stray.outside(at[by[at] == j]) and other.member is not None:
                    found.setdefault((stray.tag, stray.side), other.member.name)
    return found


def overwritten(touched: Sequence[Touch]) -> set[tuple[str, int]]:
    """Asynchronous copies, by tag and side, that write what is read behind them through another member."""
    reads = [one for one in touched if not one.side and one.member is not None and not one.mbarrier]
    found: set[tuple[str, int]] = set()
    for one in touched:
        if not (one.late and one.side) or one.member is None:
            continue
        at, low = one.bytes_, one.member.start
        at = at[(at < low) | (at >= low + one.member.size)]
        later = (read for read in reads if read.number > one.number and read.member != one.member)
        if at.size and any(np.isin(at, read.bytes_).any() for read in later):
            found.add((one.tag, one.side))
    return found
