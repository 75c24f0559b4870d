"""What a trace found: every copy of every kernel that a script built, with its place and its operands.

A `Trace` is data: it is written as JSON Lines (`to_lines`) and read back (`from_lines`), so that a child
process can make it and another can keep it. Nothing here imports the DSL.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from layoutcheck.copies.as_dict import copy_to_dict
from layoutcheck.copies.copy import Copy, Tiling
from layoutcheck.copies.memref import Memref
from layoutcheck.errors import InputError
from layoutcheck.sources.atoms import parse_atom
from layoutcheck.sources.types import parse_memref, parse_tiled_copy

FORMAT = 1


@dataclass(frozen=True, slots=True)
class Frame:
    """A place in Python source. `column` counts from 1, 0 where it is not known; so does `line`."""

    file: str
    line: int
    column: int = 0
    function: str = ""

    def __str__(self) -> str:
        return f"{self.file}:{self.line}" + (f":{self.column}" if self.column else "")


@dataclass(frozen=True, slots=True)
class LoweredSide:
    """One operand's instructions by the compiler's own lowering, counted as in `copies.cost.SideCost`.

    `lanes` are the byte addresses of warp instruction number `worst`, -1 where a lane is off. `kind` is what
    the addresses rest on: "static", "arguments" or "uniform" (dsl/lowered/pictures.py).
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
    """An address that cannot be right: `kind` is "misaligned", "outside" (of shared memory) or "race".

    The access of `width_bytes` by `thread` at `address` bytes (from the beginning of its tensor's memory or
    of the block's shared memory). `other` is the size of that memory ("outside") or the other thread
    ("race").
    """

    kind: str
    side: str
    op: str
    space: str
    thread: int
    address: int
    width_bytes: int
    other: int = 0


@dataclass(frozen=True, slots=True)
class Addresses:
    """What the compiler's lowering of one copy does in memory, for all `threads` of a block."""

    threads: int
    sides: tuple[LoweredSide, ...] = ()
    faults: tuple[LoweredFault, ...] = ()


@dataclass(frozen=True, slots=True)
class TracedCopy:
    """One copy operation of one kernel.

    `copy`       what the checker takes; None where the printed types cannot be read (`missing` says why)
    `operation`  the operation as the compiler prints it, with the types of its operands
    `where`      the innermost frame of the user's code, `stack` its callers, innermost first
    `picture`    "threads" where the addresses of all threads follow from the layouts (`copy.tiling`),
                 "lowered" where they are those of the compiler's lowering (`addresses`), else "types"
    `missing`    what kept it from the full picture, in words; "" where nothing did
    `refused`    the verifier's own message, where it refuses this operation
    `in_dsl`     whether DSL library code made the copy on behalf of the user's line
    `warps`      the thread of the tiled copy as which each warp's first lane works (-1: none); () where no
                 tiled copy is known
    """

    copy: Copy | None
    operation: str
    where: Frame
    stack: tuple[Frame, ...]
    kernel: str
    arch: str
    picture: str = "types"
    missing: str = ""
    refused: str | None = None
    in_dsl: bool = False
    addresses: Addresses | None = None
    warps: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Kernel:
    """A module that the DSL built: its function's name, how many copies it has, how often it was built."""

    name: str
    arch: str
    copies: int
    built: int = 1


@dataclass(frozen=True, slots=True)
class TraceFailure:
    """Something that kept kernels from being seen.

    `kind` is "raised" (an exception left the script), "exited" (a status that is not 0), "timeout",
    "killed" (a signal, such as the SIGABRT of a compiler that dies), "refused" (the verifier refuses an
    operation that is not a copy) or "unsupported" (a DSL that cannot be traced).
    """

    kind: str
    message: str
    where: Frame | None = None


@dataclass(frozen=True, slots=True)
class Trace:
    """All that a run showed. `notes` are facts about the run, `versions` of the DSL, Python and the tool."""

    copies: tuple[TracedCopy, ...] = ()
    kernels: tuple[Kernel, ...] = ()
    failures: tuple[TraceFailure, ...] = ()
    notes: tuple[str, ...] = ()
    versions: dict[str, str] = field(default_factory=dict)

    def merged(self, other: Trace) -> Trace:
        """One trace of both."""
        return Trace(
            self.copies + other.copies,
            self.kernels + other.kernels,
            self.failures + other.failures,
            tuple(dict.fromkeys(self.notes + other.notes)),
            {**self.versions, **other.versions},
        )


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
        known = one.copy if one.copy is not None else one.operation
        key = (one.where, known, one.refused, one.arch, one.addresses)
        groups.setdefault(key, []).append(one)
    found = [Distinct(g[0], len(g), tuple(dict.fromkeys(one.kernel for one in g))) for g in groups.values()]
    return sorted(found, key=lambda d: (d.first.where.file, d.first.where.line, d.first.where.column))


def pictures(seen: Iterable[str]) -> dict[str, int]:
    """How many copies, given their `picture`, are known in which way."""
    found = Counter(seen)
    return {"layouts": found["threads"], "lowered": found["lowered"], "types": found["types"]}


def to_lines(trace: Trace) -> Iterator[str]:
    """The trace as JSON Lines: a head, then one line for each copy that differs (with a `count`)."""
    head = {
        "trace": FORMAT,
        "versions": trace.versions,
        "notes": list(trace.notes),
        "kernels": [asdict(kernel) for kernel in trace.kernels],
        "failures": [asdict(failure) for failure in trace.failures],
    }
    yield json.dumps(head)
    for one, count in Counter(trace.copies).items():
        yield json.dumps({**_copy_line(one), "count": count})


def _copy_line(one: TracedCopy) -> dict[str, Any]:
    return {
        "copy": None if one.copy is None else _copy_out(one.copy),
        "operation": one.operation,
        "where": asdict(one.where),
        "stack": [asdict(frame) for frame in one.stack],
        "kernel": one.kernel,
        "arch": one.arch,
        "picture": one.picture,
        "missing": one.missing,
        "refused": one.refused,
        "in_dsl": one.in_dsl,
        "addresses": None if one.addresses is None else asdict(one.addresses),
        "warps": list(one.warps),
    }


def from_lines(lines: Iterable[str]) -> Trace:
    """The trace that `to_lines` wrote. Raises InputError for anything else."""
    reading = iter(lines)
    head = _object(next(reading, ""))
    if head.get("trace") != FORMAT:
        raise InputError("not a trace of this version", expected=f'a first line with "trace": {FORMAT}')
    try:
        copies: list[TracedCopy] = []
        for line in reading:
            record = _object(line)
            copies += [_copy_in(record)] * int(record.get("count", 1))
        return Trace(
            tuple(copies),
            tuple(Kernel(**kernel) for kernel in head["kernels"]),
            tuple(TraceFailure(f["kind"], f["message"], _frame(f["where"])) for f in head["failures"]),
            tuple(head["notes"]),
            dict(head["versions"]),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"not a trace: {error}") from None


def _object(line: str) -> dict[str, Any]:
    try:
        value = json.loads(line)
    except ValueError:
        value = None
    if not isinstance(value, dict):
        raise InputError("not a trace", expected="JSON objects, one a line")
    return value


def _frame(value: dict[str, Any] | None) -> Frame | None:
    return None if value is None else Frame(**value)


def _copy_in(record: dict[str, Any]) -> TracedCopy:
    copy = record["copy"]
    return TracedCopy(
        None if copy is None else _copy_of(copy),
        record["operation"],
        Frame(**record["where"]),
        tuple(Frame(**frame) for frame in record["stack"]),
        record["kernel"],
        record["arch"],
        record["picture"],
        record["missing"],
        record["refused"],
        record["in_dsl"],
        _addresses(record.get("addresses")),
        tuple(record.get("warps", ())),
    )


def _addresses(record: dict[str, Any] | None) -> Addresses | None:
    if record is None:
        return None
    sides = tuple(LoweredSide(**{**side, "lanes": tuple(side["lanes"])}) for side in record["sides"])
    return Addresses(record["threads"], sides, tuple(LoweredFault(**fault) for fault in record["faults"]))


def _copy_out(copy: Copy) -> dict[str, Any]:
    """The schema's object, and what that does not hold: the tensors that views were recast from."""
    out = copy_to_dict(copy)
    out["evict_priority"] = copy.evict_priority
    out["mapped"] = None if copy.mapped is None else str(copy.mapped)
    for side in ("src", "dst"):
        chain = []
        memref = copy.side(side).recast_from
        while memref is not None:
            chain.append(str(memref))
            memref = memref.recast_from
        out[side]["recast_from"] = chain
    return out


def _copy_of(record: dict[str, Any]) -> Copy:
    tiling = record["tiling"]
    pred = record["pred"]
    return Copy(
        None if record["atom"] is None else parse_atom(record["atom"]),
        _memref(record["src"]),
        _memref(record["dst"]),
        None if pred is None else _memref(pred),
        None if record["tiled"] is None else parse_tiled_copy(record["tiled"]),
        None
        if tiling is None
        else Tiling(
            parse_tiled_copy(tiling["tiled"]),
            _memref(tiling["src"]),
            _memref(tiling["dst"]),
            tiling["block_threads"],
        ),
        record["op"],
        record["arch"],
        record["evict_priority"],
        mapped=parse_memref(record["mapped"]) if record.get("mapped") else None,
    )


def _memref(record: dict[str, Any]) -> Memref:
    memref = parse_memref(record["text"])
    if not record.get("recast_from"):
        return memref
    first, *rest = record["recast_from"]
    return replace(memref, recast_from=_memref({"text": first, "recast_from": rest}))
