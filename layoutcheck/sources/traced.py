"""What a trace found: every copy of every kernel that a script built, with its place and its operands.

A `Trace` is data: other processes read what trace_lines.py writes of it. Nothing here imports the DSL.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, TypeAlias

from layoutcheck.copies.compiler.prediction import Prediction
from layoutcheck.copies.copy import Copy
from layoutcheck.sources.evaluated import Evaluated, Inside

ON_THE_CALLER = "bounds rest on the caller: "  # begins what is no gap of the check, but a condition
TOO_MANY = "no tensor may have"  # so begin conditions on extents that have nothing to do with tails
SMALLER = "no other tensor may have larger dynamic extents than its own"
KEPT = "in the program's own calls it stays inside"
HOST = -1  # for the thread of a place
_MOST_LINES = 3  # of those in one sentence
VERIFIER_PREFIX = re.compile(r"'cute\.\w+' op |Inputs are incorrect for type: \S+\n")  # of its messages


@dataclass(frozen=True, slots=True)
class Frame:
    """A place in Python source. `column` counts from 1, 0 where it is not known; so does `line`."""

    file: str
    line: int
    column: int = 0
    function: str = ""

    def __str__(self) -> str:
        return f"{self.file}:{self.line}" + (f":{self.column}" if self.column else "")


def in_lines(frames: Iterable[Frame]) -> str:
    """The lines of these places in brackets, as " (kernel.py:12, kernel.py:15 and 2 more)"; "" for none."""
    lines = list(dict.fromkeys(f"{Path(one.file).name}:{one.line}" for one in frames))
    more = f" and {len(lines) - _MOST_LINES} more" if len(lines) > _MOST_LINES else ""
    return f" ({', '.join(lines[:_MOST_LINES])}{more})" if lines else ""


@dataclass(frozen=True, slots=True)
class LoweredSide:
    """One operand's instructions by the compiler's own lowering, counted as in `analysis.cost.SideCost`.

    `lanes` are the byte addresses of warp instruction number `worst`, -1 where a lane is off. `kind` is what
    the addresses rest on: "static", "arguments" or "uniform" (dsl/lowered/lowered_op.py).
    """

    side: str
    op: str
    space: str
    width_bits: int
    kind: str
    instructions: int
    wavefronts: int
    ideal_wavefronts: int
    ways: int
    worst: int
    sectors: int
    ideal_sectors: int
    bytes_used: int
    lanes: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class LoweredFault:
    """An address that cannot be right.

    `kind` is "misaligned", "outside" (shared memory), "beyond" (a tensor's memory), "mode" (a mode of it, in
    its memory), "leaves" (its allocation), "member" (that of a struct), "padding" (the same, in bytes of no
    member), "race" or "unwritten" (left by threads that do not come by). A "contested" one is a doubt: two
    threads write one byte, and what they write is not known. A "turns" one as well: threads of two warps
    write other data, and barriers may order them.

    The access of `width_bytes` by `thread` at `address` bytes (from the beginning of its tensor's memory or
    of the block's shared memory). `other` is the size of that memory ("outside", "beyond") or the other
    thread ("race"), `block` the block's index, if known, `extent` the number given to all dynamic extents
    (0: none), `called` the shapes and integers of a call that the program makes ("": not of one call alone).
    `overflows` says that 32-bit arithmetic of the address did. Of "leaves" the address counts from the
    allocation's begin, which is aligned to `align` bytes and here lies `base` past a multiple of 1024. Of
    "mode", `other` is the extent of mode `mode`, and `coordinate` where the access lies in it. Of
    "member" the address counts from the member's begin; `mode` is its name, `called` that of the one hit,
    and of "padding" `coordinate` the end of what is reached. Of "left" and "unread" (by stores,
    or loads, of all blocks) `other` of `coordinate` elements are, at indices of `mode`; `called` is the grid.
    """

    kind: str
    side: str
    op: str
    space: str
    thread: int
    address: int
    width_bytes: int
    other: int = 0
    block: str = ""
    base: int = 0
    align: int = 0
    extent: int = 0
    overflows: bool = False
    mode: str = ""
    coordinate: int = 0
    called: str = ""
    shifted: bool = False  # a write "beyond", and nothing writes the tensor's first byte


@dataclass(frozen=True, slots=True)
class Addresses:
    """What the compiler's lowering of one copy does in memory, for all `threads` of a block.

    `untold` says why a side's cost is not told: it is none of `sides`; "" where each is told.
    """

    threads: int
    sides: tuple[LoweredSide, ...] = ()
    faults: tuple[LoweredFault, ...] = ()
    untold: str = ""


@dataclass(frozen=True, slots=True)
class Partitioned:
    """A copy as its tiled copy of `threads` partitions it: `index` is that of every thread of the block."""

    copy: Copy
    index: tuple[int, ...]
    threads: int


@dataclass(frozen=True, slots=True)
class TracedCopy:
    """One copy operation of one kernel.

    `copy`       what the checker takes; None where the printed types cannot be read (`missing` says why)
    `operation`  the operation as the compiler prints it, with the types of its operands
    `where`      the innermost frame of the user's code, `stack` its callers, innermost first
    `address_source`  "threads" where the addresses of all threads follow from the layouts (`copy.tiling`),
                 "lowered" where they are those of the compiler's lowering (`addresses`), else "types"
    `missing`    what kept the addresses of all threads from being known, in words; "" where nothing did
    `refused`    the verifier's own message, where it refuses this operation
    `verified`   whether the verifier came to an end: its process may have been ended, or have died of it
    `in_dsl`     whether DSL library code made the copy on behalf of the user's line
    `warps`      the thread of the tiled copy as which each warp's first lane works (-1: none); () where no
                 tiled copy is known
    `partitioned` what it is once it is known which threads come by, where only that is missing
    `uncompiled` whether its kernel is one that the compiler refuses
    `bounded_if` what the caller has to keep so that it stays in its tensors in global memory; "" for nothing
    `unbounded`  why it was not checked that it stays in them; "" where it was, or where it has none
    `inside`     what of its accesses stays in their tensors in global memory, by the blocks that were
                 evaluated; first with whole tiles for dynamic extents
    `box_align`  bytes, up to 128, that the boxes of a TMA copy are aligned to in shared memory, a copy there
                 whose type promises less than it needs, or a bulk copy in global memory, by the addresses of
                 the lowering; 0 where they are not known
    """

    copy: Copy | None
    operation: str
    where: Frame
    stack: tuple[Frame, ...]
    kernel: str
    arch: str
    address_source: str = "types"
    missing: str = ""
    refused: str | None = None
    verified: bool = True
    in_dsl: bool = False
    addresses: Addresses | None = None
    warps: tuple[int, ...] = ()
    uncompiled: bool = False
    shifted: tuple[str, ...] = ()
    unbounded: str = field(default="", compare=False)
    bounded_if: str = field(default="", compare=False)
    inside: tuple[tuple[Evaluated, Inside], ...] = field(default=(), compare=False)
    box_align: int = 0
    partitioned: Partitioned | None = field(default=None, compare=False, repr=False)

    @property
    def judged_by(self) -> tuple[Any, ...]:
        """What a report on it rests on: copies that are alike in this are judged once."""
        return self.copy or self.operation, self.refused, self.verified, self.addresses, self.box_align

    @property
    def leaves_tensor(self) -> bool:
        """Whether the copy was seen to leave a tensor in global memory."""
        return self.addresses is not None and any(
            one.kind in ("beyond", "mode") for one in self.addresses.faults
        )

    @property
    def outgrows(self) -> bool:
        """Whether the copy was seen to leave what is allocated for it in shared memory."""
        kinds = ("outside", "leaves", "member")
        return self.addresses is not None and any(one.kind in kinds for one in self.addresses.faults)

    @property
    def has_tail(self) -> bool:
        """Whether accesses leave the tensor for extents that the caller may give."""
        return bool(self.bounded_if) and not self.bounded_if.startswith((TOO_MANY, SMALLER))

    @property
    def observed(self) -> Prediction | None:
        """What the compiler's verifier said of the operation; None where it was not `verified`."""
        if self.refused is None:
            return Prediction("accepted") if self.verified else None
        return Prediction("rejected", VERIFIER_PREFIX.sub("", self.refused, count=1))


@dataclass(frozen=True, slots=True)
class KernelPlace:
    """What one line has to do with a finding about order: `thread` of `block`, or `HOST`, does `what` there.

    `turns` are the numbers of the loop iterations around it, outermost first; `stack` are the callers,
    innermost first. `kind` is that of the operation's `Meaning`, where order is judged.
    """

    what: str
    where: Frame
    stack: tuple[Frame, ...] = ()
    thread: int = 0
    block: int = 0
    turns: tuple[int, ...] = ()
    kind: str = ""


@dataclass(frozen=True, slots=True)
class KernelFinding:
    """Two places of a kernel that nothing orders, a wait that never ends, or an element access at fault."""

    code: str
    severity: str
    title: str
    message: str
    places: tuple[KernelPlace, ...]  # one or more
    evidence: dict[str, Any] = field(default_factory=dict, hash=False)

    @property
    def lines(self) -> tuple[tuple[str, int], ...]:
        """The files and lines of its first two places."""
        return tuple((place.where.file, place.where.line) for place in self.places[:2])


@dataclass(frozen=True, slots=True)
class OrderReport:
    """What the check of one kernel's order came to. `problem` says why it was not checked, "" where it was.

    Where its time was used up, `findings` are those found until then.
    `assumed` and `unchecked` are sentences: what the run took for granted, and what it did not look at.
    `trips` are the trip counts of the loops around asynchronous loads that were tried.
    """

    kernel: str
    arch: str
    findings: tuple[KernelFinding, ...] = ()
    problem: str = ""
    assumed: tuple[str, ...] = ()
    unchecked: tuple[str, ...] = ()
    threads: int = 0
    blocks: int = 1
    events: int = 0
    trips: tuple[int, ...] = ()
    seconds: float = field(default=0.0, compare=False)


@dataclass(frozen=True, slots=True)
class ElementReport:
    """What the check of one kernel's element accesses came to: loads and stores that are not copies.

    `problem` says why they were not looked at, "" where they were. Of `accesses` operations in memory `known`
    have addresses that the lowering tells; `unchecked` are (reason, operations). `verdicts` are (verdict,
    operations) of those known, `lines` the files and lines of all. `inside` is that of `TracedCopy`, of all
    accesses of a line: its file and number first.
    """

    kernel: str
    arch: str
    findings: tuple[KernelFinding, ...] = ()
    problem: str = ""
    accesses: int = 0
    known: int = 0
    unchecked: tuple[tuple[str, int], ...] = ()
    verdicts: tuple[tuple[str, int], ...] = ()
    lines: tuple[tuple[str, int], ...] = ()
    inside: tuple[tuple[str, int, tuple[Evaluated, Inside]], ...] = ()


@dataclass(frozen=True, slots=True)
class OperandReport:
    """What the check of one kernel's products came to: `followed` of its `products` are known.

    `unchecked` are sentences on the rest. A kernel without products has `in_order`: the bytes that it moves
    through shared memory and that were seen to arrive each at its place.
    """

    kernel: str
    arch: str
    findings: tuple[KernelFinding, ...] = ()
    unchecked: tuple[str, ...] = ()
    products: int = 0
    followed: int = 0
    in_order: int = 0


Told: TypeAlias = "OrderReport | ElementReport | OperandReport"


@dataclass(frozen=True, slots=True)
class Kernel:
    """A module that the DSL built: its function's name, how many copies it has, how often it was built."""

    name: str
    arch: str
    copies: int
    built: int = 1


UNCOMPILED = ("refused", "uncompiled")  # failures of the compiler: its word on a kernel


@dataclass(frozen=True, slots=True)
class TraceFailure:
    """Something that kept kernels from being seen.

    `kind` is "raised" (an exception left the script), "not run" (nothing is there to start), "missing" (a
    module without which the script went on), "exited" (a status that is not 0), "timeout", "killed" (a
    signal, as of a compiler that dies), "test" (a test failed before it launched a kernel), "refused" (the
    verifier refuses an operation that is not a copy), "uncompiled" (the compiler refuses a kernel, or dies
    of it), "caught" (a build failed before there was a kernel, and the program went on), "loaded" (a
    compiled file in place of a build), "unjudged" (layoutcheck failed on a kernel), "ended" (the run was
    asked to end), "shadowed" (installed files in place of the repository's) or "unsupported" (the DSL).
    `stack` are the user's callers of `where`, innermost first.
    """

    kind: str
    message: str
    where: Frame | None = None
    stack: tuple[Frame, ...] = field(default=(), compare=False)


@dataclass(frozen=True, slots=True)
class Trace:
    """All that a run showed. `notes` are facts about the run, `versions` of the DSL, Python and the tool.

    `imported` are the files of the modules that its processes imported, and what else they read that a run
    hangs on (`dsl/reads.py`). `skipped` are tests that did not run, "" a whole file of them, each with the
    reason.
    """

    copies: tuple[TracedCopy, ...] = ()
    kernels: tuple[Kernel, ...] = ()
    failures: tuple[TraceFailure, ...] = ()
    notes: tuple[str, ...] = ()
    versions: dict[str, str] = field(default_factory=dict)
    orders: tuple[OrderReport, ...] = ()
    imported: tuple[str, ...] = ()
    elements: tuple[ElementReport, ...] = ()
    operands: tuple[OperandReport, ...] = ()
    skipped: tuple[tuple[str, str], ...] = ()

    @property
    def told(self) -> tuple[Told, ...]:
        """All reports on kernels beside their copies."""
        return (*self.elements, *self.operands, *self.orders)

    def merged(self, other: Trace) -> Trace:
        """One trace of both."""
        lists = [one.name for one in fields(Trace) if one.name != "versions"]
        both: dict[str, Any] = {name: getattr(self, name) + getattr(other, name) for name in lists}
        both |= {name: tuple(dict.fromkeys(both[name])) for name in ("notes", "imported")}
        return Trace(**both, versions={**self.versions, **other.versions})


@dataclass(frozen=True, slots=True)
class Distinct:
    """Copies that one line makes alike: `first` of them, their number, and the kernels they are in."""

    first: TracedCopy
    count: int
    kernels: tuple[str, ...]


def distinct(trace: Trace) -> list[Distinct]:
    """One entry for each different copy of each place, sorted by file, line and column."""
    groups: dict[Any, list[TracedCopy]] = {}
    for one in trace.copies:
        groups.setdefault((one.where, *one.judged_by, one.arch, one.uncompiled), []).append(one)
    found = [Distinct(g[0], len(g), tuple(dict.fromkeys(one.kernel for one in g))) for g in groups.values()]
    return sorted(found, key=lambda d: (d.first.where.file, d.first.where.line, d.first.where.column))


def address_sources(seen: Iterable[str]) -> dict[str, int]:
    """How many copies, given their `address_source`, are known in which way."""
    found = Counter(seen)
    return {"layouts": found["threads"], "lowered": found["lowered"], "types": found["types"]}
