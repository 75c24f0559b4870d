"""What the DSL's cubin says of a kernel: its registers, and what a turn of its loop over tiles takes a warp.

PTX does not show it. ptxas mixes the loads of a tile with the stores of what they brought, to need fewer
registers: a store waits for its loads, and the loads behind it begin only then. LLVM and ptxas unroll loops,
so that one turn takes several tiles: how many, its barriers or its loads say. Every instruction of sm_90
carries what it waits for (six scoreboards) and how long the next one waits for it, so a turn can be replayed.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import NamedTuple

from layoutcheck.machine.cubin import sections

_BYTES = 16
"""Of an instruction."""
_ASYNC, _ALWAYS = 0xFAE, 0x7
"""`LDGSTS`, which is cp.async, and the guard of what is under no predicate: bits 12 to 15."""
_NAMES = {
    0x981: "LDG", 0x986: "STG", 0x388: "STS", 0x988: "STS", 0x984: "LDS", 0x83B: "LDSM", 0x844: "STSM",
    0xFAE: "LDGSTS", 0x387: "STL", 0x947: "BRA", 0x547: "BRA", 0xB1D: "BAR",
    0x5B4: "BULK", 0x3B5: "BULK", 0x9B7: "BULK",
}  # fmt: skip
"""The lowest 12 bits of sm_90's instructions, as nvdisasm names them; "BULK" are those of the copy engine."""
_MEMORY = frozenset({"LDG", "STG", "STS", "LDS", "LDSM", "STSM", "LDGSTS"})
_WIDTHS = (1, 1, 2, 2, 4, 8, 16, 0)
"""Bytes of an access, by bits 73 to 75."""
_SCOREBOARDS = 6
_NEAR, _READ = 30.0, 15.0
"""Cycles until shared memory answers (docs/banks.md), and until an access has read its registers."""
_FAR = 1e4
"""Cycles, far more than all else of a turn: how often they appear in it is how often it waits for memory."""
_TURNS = 3
"""That are replayed: the last one begins where the one before left the scoreboards."""


class Instruction(NamedTuple):
    """An instruction, and what it waits for.

    `writes` and `reads` are the scoreboards that it holds until its result is there, or its registers are
    read; 7 is none. `waits` has a bit for each that it waits for, `stall` are cycles until the next.
    """

    name: str
    guard: int
    bytes: int
    stall: int
    writes: int
    reads: int
    waits: int
    target: int | None


class Turn(NamedTuple):
    """A turn of the loop over tiles, of which there are as many as its `barriers` or `loaded` bytes say.

    `instructions` of every warp, `alone` those that one warp executes beside them, which starts the bulk
    copies; `cycles` of that warp if memory answered at once, `rounds` how often it waits for memory. Local
    memory has `spilled` bytes of a thread that registers do not hold, and `once` those before the loop.
    """

    instructions: int
    alone: int
    cycles: float
    rounds: float
    barriers: int
    loaded: int
    spilled: int = 0
    once: int = 0


def turn(cubin: bytes, looks: bool) -> Turn:
    """Of a kernel of sm_90. `looks`: what it stores to global memory under a condition is never stored."""
    every = _decoded(_code(cubin))
    loops = [
        (one.target, at + 1)
        for at, one in enumerate(every)
        if one.target is not None and one.target <= at and _accesses(every[one.target : at])
    ]
    begin, end = max(loops, key=lambda loop: loop[1] - loop[0], default=(0, len(every)))
    left_out = {n for first, last in loops if begin <= first and last <= end and (first, last) != (begin, end)
                for n in range(first, last)}  # fmt: skip
    alone: set[int] = set()
    for at in range(begin, end):
        over = every[at].target
        if over is None or every[at].guard == _ALWAYS or not at < over <= end:
            continue
        names = {one.name for one in every[at + 1 : over]}
        if looks and names & _MEMORY == {"STG"}:
            left_out |= set(range(at + 1, over))
        elif "BULK" in names and not names & _MEMORY:
            alone |= set(range(at + 1, over))
    body = [n for n in range(begin, end) if n not in left_out]
    shared = [every[n] for n in body if n not in alone]
    whole = [every[n] for n in body]
    rounds = (_replayed(shared, _FAR) - _replayed(shared, 0.0)) / _FAR
    return Turn(
        instructions=len(shared),
        alone=len(whole) - len(shared),
        cycles=_replayed(whole, 0.0),
        rounds=rounds,
        barriers=sum(one.name == "BAR" for one in shared),
        loaded=sum(one.bytes for one in shared if one.name == "LDG"),
        spilled=sum(one.bytes for one in shared if one.name == "STL"),
        once=sum(one.bytes for one in every[:begin] if one.name == "STL"),
    )


def _replayed(body: Sequence[Instruction], latency: float) -> float:
    """Cycles of a turn of one warp that has the SM for itself; loads take `latency`."""
    now = begun = 0.0
    free = [0.0] * _SCOREBOARDS
    for _ in range(_TURNS):
        begun = now
        for one in body:
            for board in range(_SCOREBOARDS):
                if one.waits >> board & 1:
                    now = max(now, free[board])
            if one.writes < _SCOREBOARDS:
                free[one.writes] = max(free[one.writes], now + (latency if one.name == "LDG" else _NEAR))
            if one.reads < _SCOREBOARDS:
                free[one.reads] = max(free[one.reads], now + _READ)
            now += max(1, one.stall)
    return now - begun


def guarded(cubin: bytes) -> bool:
    """Whether a cp.async stands under a predicate of its own: ncu counts its wavefronts in another way."""
    code = _code(cubin)
    words = (struct.unpack_from("<Q", code, at)[0] for at in range(0, len(code), _BYTES))
    return any(low & 0xFFF == _ASYNC and low >> 12 & 0xF != _ALWAYS for low in words)


def _code(cubin: bytes) -> bytes:
    """The machine code of its kernel."""
    return next((content for name, content in sections(cubin) if name.startswith(".text.")), b"")


def _accesses(some: Sequence[Instruction]) -> bool:
    return any(one.name in _MEMORY or one.name == "BULK" for one in some)


def _decoded(code: bytes) -> list[Instruction]:
    """The instructions; a branch with the number of its target."""
    found = []
    for at in range(0, len(code), _BYTES):
        low, high = struct.unpack_from("<QQ", code, at)
        name = _NAMES.get(low & 0xFFF, "")
        found.append(
            Instruction(
                name=name,
                guard=low >> 12 & 0xF if low & 0xFFF != 0x547 else 0,  # BRA.U: a uniform predicate
                bytes=_WIDTHS[high >> 9 & 7] if name in ("LDG", "STG", "LDGSTS", "STL") else 0,
                stall=high >> 41 & 0xF,
                writes=high >> 46 & 7,
                reads=high >> 49 & 7,
                waits=high >> 52 & 0x3F,
                target=at // _BYTES + 1 + _distance(low, high) // _BYTES if name == "BRA" else None,
            )
        )
    return found


def _distance(low: int, high: int) -> int:
    """Bytes from behind a branch to its target, in units of 4: bits 16 to 23, then 34 to 81."""
    upper = low >> 34 | (high & (1 << 18) - 1) << 30
    upper -= (upper >> 47) << 48
    return 4 * (upper << 8 | low >> 16 & 0xFF)
