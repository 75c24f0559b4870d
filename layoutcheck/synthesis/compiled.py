"""Plans' programs for the installed DSL to compile (`dsl.programs`), and what it makes of them, or should."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from layoutcheck.errors import InputError
from layoutcheck.fixes.code import dtype_code
from layoutcheck.synthesis.copies import Step
from layoutcheck.synthesis.matrix import Matrix
from layoutcheck.synthesis.moved import Ending, together
from layoutcheck.synthesis.moves import Direct, Move
from layoutcheck.synthesis.program import program, takes_keep
from layoutcheck.synthesis.search import Found
from layoutcheck.synthesis.threads import Threads
from layoutcheck.synthesis.tma import Tma
from layoutcheck.synthesis.wanted import Wanted


class Compiled(NamedTuple):
    """What the compiler made of a turn of a program's loop, which takes one tile or, unrolled, several.

    `registers`, and from the machine code of sm_90 `instructions` of a thread, `alone` those of the one warp
    beside them that starts bulk copies, `barriers`, the `cycles` that a warp takes by itself, in how many
    `rounds` it waits for loads, the bytes that a thread has `loaded`, and those that it has `spilled` into
    local memory, and before the loop, `once`. Of others `cycles` is None: all but registers is guessed.
    """

    registers: float
    instructions: float = 0
    alone: float = 0
    barriers: float = 0
    cycles: float | None = None
    rounds: float | None = None
    loaded: float = 0
    spilled: float = 0
    once: float = 0

    def of_a_tile(self, barriers: int, loaded: float) -> Compiled:
        """For one tile, which takes so many barriers, or without any so many bytes of a thread."""
        tiles = max(1.0, self.barriers / barriers if barriers else self.loaded / loaded if loaded else 1.0)
        return self._replace(
            instructions=self.instructions / tiles,
            alone=self.alone / tiles,
            cycles=self.cycles and self.cycles / tiles,
            rounds=self.rounds and self.rounds / tiles,
            spilled=self.spilled / tiles,
        )


def items(plans: Sequence[tuple[Found, list[list[Step]]]], wanted: Wanted) -> list[dict[str, Any]]:
    """For the task "program" of the DSL: programs that look at their registers and write nothing."""
    return [
        {
            "code": program(found, steps, wanted, Ending.LOOK),
            "arch": str(wanted.arch),
            "arguments": arguments(wanted),
            "scalars": int(takes_keep(wanted, Ending.LOOK)),
            "looks": all(one.target != "gmem" for one in wanted.consumers),
        }
        for found, steps in plans
    ]


def made_of(answer: dict[str, Any]) -> Compiled:
    """The task's answer. Raises InputError for a program that does not compile."""
    if "ptx" not in answer:
        said = str(answer.get("error", answer))[:500]
        raise InputError(f"the DSL does not compile a plan's program: {said}")
    if "turn" in answer:
        instructions, alone, cycles, rounds, barriers, *loaded = answer["turn"]
        return Compiled(answer["registers"], instructions, alone, barriers, cycles, rounds, *loaded)
    return Compiled(answer["registers"])


def arguments(wanted: Wanted) -> list[list[Any]]:
    """The tensors of `launch`: each its element type and its strides, a number or ["?", divisor]."""
    outs = [(wanted.src, wanted.dtype) for one in wanted.consumers if one.target != "gmem"]
    tensors = [(wanted.src, wanted.src.dtype), *outs]
    if wanted.dst is not None:
        tensors.append((wanted.dst, wanted.dst.dtype))
    times = 1 if wanted.packed is None else 2
    found = []
    for tensor, kind in tensors:
        strides: Any = tensor.layout.stride
        given = [one if isinstance(one, int) else ["?", one.divisor * times] for one in strides]
        found.append([dtype_code(wanted.packed or kind).split(".")[1], *given])
    return found


MOST_REGISTERS = 255.0
"""Of a thread (CUDA programming guide, compute capability 9.0)."""
REGISTER_BYTES = 4
"""Of a register (the same)."""
BOX_INSTRUCTIONS = 8.0
"""Of the warp that starts bulk copies, for each box: compiled programs take 8 to 10 for each of 6 to 16 boxes
that they load, 4 to 6 for one that they store, and 15 for each of 192."""
FEW_REGISTERS, BESIDE_LOADS, BESIDE_BLOCK, EACH_WORD = 32.0, 16.0, 24.0, 2.0
"""Registers of a thread: at least; beside the words that loads bring `together`; beside a block that it
turns, and for each word of that (compiled programs)."""
OWN_CYCLES, ANEW_CYCLES = 70.0, 290.0
"""Of a warp by itself for a tile of an epilogue, and more if it has one stage: its loop is not unrolled, and
works out addresses in each turn (compiled programs, as the next)."""
WORD_CYCLES, ACCESS_CYCLES, TURNED_CYCLES, BOX_CYCLES = 1.8, 6.7, 1.1, 9.0
"""For each word that stmatrix takes, access of a thread, element turned in registers, and box. Two halves of
390 programs, fitted alone, give 0.8 to 1.4 times these."""
ROUND_WORDS = 16.0
"""Registers that loads of a thread fill before it waits, if ptxas mixes them with their use (the same)."""


def active(move: Move, wanted: Wanted) -> int:
    """Threads that take part."""
    if isinstance(move, Matrix):
        return move.threads
    return move.deal.threads if isinstance(move, (Threads, Direct)) else wanted.threads


def expected(found: Found, wanted: Wanted) -> Compiled:
    """Registers and instructions of a thread for a tile, of an epilogue also its cycles: a rough guess.

    Fitted to what it makes of random plans; a plan's registers are often half or twice as many.
    """
    size, shared = math.prod(wanted.tile) * wanted.element_bytes, found.shared
    piped = wanted.stages > 1 and shared is not None
    registers, instructions, alone = FEW_REGISTERS, 24.0 + 12.0 * piped, 0.0
    cycles = OWN_CYCLES + ANEW_CYCLES * (not piped)
    for move in found.moves:
        if isinstance(move, Tma) and shared is not None:
            alone += BOX_INSTRUCTIONS * move.boxes(shared)
            cycles += BOX_CYCLES * move.boxes(shared)
        words = size / REGISTER_BYTES / active(move, wanted)
        if isinstance(move, Matrix):
            instructions += words * (1 + 2 / math.prod(move.matrices))
            cycles += WORD_CYCLES * words
        elif isinstance(move, (Threads, Direct)):
            deal = move.deal
            elements = words * REGISTER_BYTES / wanted.element_bytes
            accesses = elements / deal.vector
            turned = deal.block > 1 and deal.vector > 1
            cycles += ACCESS_CYCLES * accesses + TURNED_CYCLES * elements * turned
            if turned:
                block = deal.vector * deal.block * wanted.element_bytes / REGISTER_BYTES
                registers = max(registers, BESIDE_BLOCK + EACH_WORD * block)
                instructions += elements * (wanted.element_bytes < REGISTER_BYTES)
            instructions += 3 * accesses + (0 if isinstance(move, Threads) and move.outer else words)
    if together(found, wanted):
        registers = max(registers, BESIDE_LOADS + size / REGISTER_BYTES / active(found.moves[0], wanted))
    registers = min(registers, MOST_REGISTERS)
    return Compiled(registers, instructions, alone, cycles=cycles if wanted.accumulator else None)


def rounds_of(code: Compiled, found: Found, wanted: Wanted) -> float:
    """Those of the program for one tile, or at least so many: ptxas lets few of many loads wait together."""
    if code.rounds is not None:
        return max(1.0, code.rounds)
    words = math.prod(wanted.tile) * wanted.element_bytes / REGISTER_BYTES / active(found.moves[0], wanted)
    return 1.0 if together(found, wanted) else max(1.0, words / ROUND_WORDS)
