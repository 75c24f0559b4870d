"""Plans' programs for the installed DSL to compile (`dsl.programs`), and what it makes of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from layoutcheck.errors import InputError
from layoutcheck.fixes.code import dtype_code
from layoutcheck.synthesis.copies import Step
from layoutcheck.synthesis.moved import Ending
from layoutcheck.synthesis.program import program, takes_keep
from layoutcheck.synthesis.search import Found
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
        tiles = self.barriers / barriers if barriers else self.loaded / loaded if loaded else 1.0
        tiles = max(1.0, tiles)
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
