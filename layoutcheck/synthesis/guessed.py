"""What the compiler is expected to make of a plan's program, where it is not asked.

The constants were found with plans whose programs it compiled and an H200 ran; those of other seeds judged
them (docs/evidence/synthesis_pace.json). A plan's registers are often half or twice as many.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from layoutcheck.machine.arch import WARP
from layoutcheck.synthesis.compiled import Compiled
from layoutcheck.synthesis.matrix import Matrix
from layoutcheck.synthesis.moves import Direct, Global, Move
from layoutcheck.synthesis.search import Found
from layoutcheck.synthesis.shared import Shared
from layoutcheck.synthesis.threads import Threads
from layoutcheck.synthesis.tma import Tma
from layoutcheck.synthesis.wanted import Wanted

MOST_REGISTERS = 255.0
"""Of a thread (CUDA programming guide, compute capability 9.0)."""
REGISTER_BYTES = 4
"""Of a register (the same)."""


@dataclass(frozen=True)
class Instructions:
    """Of a thread for a tile: of the `loop`, more if it is `piped`, and for each thing.

    `barrier`; access of global memory (`load`, `store`), of shared memory (`access`), by cp.async
    (`asynchronous`, with its two addresses), by `matrix` instructions; `bulk` copy; `word` that a thread
    reads or takes through its registers without shared memory; `turned` element of under 4 bytes, in a block
    that changes its contiguous mode.
    """

    loop: float = 24.0
    piped: float = 12.0
    barrier: float = 2.0
    load: float = 3.0
    store: float = 1.3
    access: float = 2.2
    asynchronous: float = 3.0
    matrix: float = 2.0
    bulk: float = 2.0
    word: float = 1.0
    turned: float = 0.8


@dataclass(frozen=True)
class Registers:
    """Of a thread: `loop`, more if it is `piped`, or `swizzled` (addresses that are no sums); and for each.

    `held` word of the tile that waits between a load and a store; `turned` word of a block that changes its
    contiguous mode, `spread` more under a swizzle; access of cp.async (`asynchronous`).
    """

    loop: float = 22.0
    piped: float = 4.0
    swizzled: float = 3.3
    held: float = 0.2
    turned: float = 0.8
    spread: float = 13.0
    asynchronous: float = 0.4


@dataclass(frozen=True)
class Rounds:
    """In which a thread loads its part of a tile: as many as its registers allow, which do not hold `own`.

    At least `least` do. Of many loads ptxas lets few wait together: `together` of twice as many, and each
    doubling takes a round more.
    """

    own: float = 20.0
    least: float = 4.0
    together: float = 4.0


ISSUED, HELD, WAITED = Instructions(), Registers(), Rounds()


def active(move: Move, wanted: Wanted) -> int:
    """Threads that take part."""
    if isinstance(move, Matrix):
        return move.threads
    return move.deal.threads if isinstance(move, (Threads, Direct)) else wanted.threads


def expected(found: Found, wanted: Wanted) -> Compiled:
    """Registers and instructions of a thread for a tile, without the compiler: a rough guess."""
    shared = found.shared
    piped = wanted.stages > 1 and shared is not None
    swizzled = shared is not None and shared.swizzle is not None
    barriers = 0 if shared is None else 2 if wanted.stages == 1 else 1
    instructions = ISSUED.loop + ISSUED.piped * piped + ISSUED.barrier * barriers
    registers = HELD.loop + HELD.piped * piped + HELD.swizzled * swizzled
    turned = 0.0
    for move in found.moves:
        words = _words(wanted, active(move, wanted))
        instructions += _issued(move, shared, words, wanted)
        if isinstance(move, (Threads, Direct)) and _turns(move):
            turned += words
        if isinstance(move, Threads) and move.asynchronous:
            registers += HELD.asynchronous * _accesses(move, move.deal.fast)
    if turned:
        registers += HELD.turned * turned + HELD.spread * swizzled
    elif not wanted.accumulator and _holds(found.moves[0]):
        registers += HELD.held * _words(wanted, max(active(move, wanted) for move in found.moves))
    return Compiled(min(registers, MOST_REGISTERS), instructions)


def _words(wanted: Wanted, threads: int) -> float:
    """Of the tile, for each of so many threads."""
    return math.prod(wanted.tile) * wanted.element_bytes / REGISTER_BYTES / threads


def _turns(move: Threads | Direct) -> bool:
    return move.deal.block > 1 and move.deal.vector > 1


def _holds(writer: Move) -> bool:
    """Whether threads hold what it loads."""
    return isinstance(writer, Direct) or (isinstance(writer, Threads) and not writer.asynchronous)


def _accesses(move: Threads | Direct, mode: int) -> float:
    """Of a thread, along a mode."""
    return move.deal.issued(mode) / -(-move.deal.threads // WARP)


def _issued(move: Move, shared: Shared | None, words: float, wanted: Wanted) -> float:
    """Instructions of a thread, for its words of the tile."""
    if isinstance(move, Tma):
        return ISSUED.bulk
    if isinstance(move, Matrix):
        return ISSUED.matrix * words / math.prod(move.matrices) + ISSUED.word * words
    if not isinstance(move, (Threads, Direct)):
        return 0.0
    small = wanted.element_bytes < REGISTER_BYTES and _turns(move)
    total = ISSUED.turned * words * REGISTER_BYTES / wanted.element_bytes if small else 0.0
    if isinstance(move, Direct):
        each = (ISSUED.store if n else ISSUED.load for n in range(len(move.sides)))
        sides = zip(each, move.sides, strict=True)
        return total + ISSUED.word * words + sum(cost * _accesses(move, mode) for cost, (_, mode) in sides)
    near = _accesses(move, move.deal.fast if shared is None else shared.fast)
    if move.asynchronous:
        return ISSUED.asynchronous * near
    if move.outer is None:
        return total + ISSUED.access * near + ISSUED.word * words
    outer = ISSUED.load if move.into else ISSUED.store
    return total + ISSUED.access * near + outer * _accesses(move, move.deal.fast)


def rounds_of(code: Compiled, writer: Move, threads: int, wanted: Wanted) -> float:
    """Those of the program for one tile, or at least so many."""
    if code.rounds is not None:
        return max(1.0, code.rounds)
    found = _words(wanted, threads) / max(code.registers - WAITED.own, WAITED.least)
    if isinstance(writer, (Threads, Direct)):
        loads = math.prod(writer.deal.tile) / (writer.deal.threads * writer.deal.width(loaded(writer)[1]))
        found = max(found, math.log2(loads / WAITED.together))
    return max(1.0, found)


def loaded(writer: Threads | Direct) -> tuple[Global | None, int]:
    """The global tensor that it loads, and along which mode."""
    return writer.sides[0] if isinstance(writer, Direct) else (writer.outer, writer.deal.fast)
