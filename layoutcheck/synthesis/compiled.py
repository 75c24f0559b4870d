"""Plans' programs for the installed DSL to compile (`dsl.programs`), and what it makes of them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from layoutcheck.errors import InputError
from layoutcheck.fixes.code import dtype_code
from layoutcheck.synthesis.copies import Step
from layoutcheck.synthesis.moved import Ending
from layoutcheck.synthesis.program import program, takes_keep
from layoutcheck.synthesis.search import Found
from layoutcheck.synthesis.wanted import Wanted

_LABEL = re.compile(r"^(\$[\w$]+):")
_BRANCH = re.compile(r"\bbra(?:\.uni)?\s+(\$[\w$]+)")
_GUARD = re.compile(r"^@!?%p[0-9]+\s+")
_PACK = re.compile(r",\s*\{")
"""Several registers into one: not those of one into several, which halves of registers are."""
_WIDE = re.compile(r"(add|sub|mul|mad|shl|shr|and|or|xor)\..*64$")
_BARRIER = re.compile(r"(bar|barrier)(\.cta)?\.sync\b")
_NO_INSTRUCTION = (".", "{", "}", "(", ")", "//")


class Compiled(NamedTuple):
    """What the compiler made of a turn of a program's loop, which takes one tile or, unrolled, several.

    `instructions` of a thread, `alone` those of the one warp beside them that starts bulk copies, and
    `barriers`. From the machine code of sm_90 also the `cycles` that a warp takes by itself, in how many
    `rounds` it waits for loads, and the bytes that a thread has `loaded`; None where that is not known; and
    those that it has `spilled` into local memory, and before the loop, `once`.
    """

    registers: float
    instructions: float
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
            cycles=None if self.cycles is None else self.cycles / tiles,
            rounds=None if self.rounds is None else self.rounds / tiles,
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
    barriers = sum(_BARRIER.match(line) is not None for line in loop_lines(answer["ptx"]))
    return Compiled(answer["registers"], loop_instructions(answer["ptx"]), barriers=barriers)


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


def loop_instructions(ptx: str) -> int:
    """Of the loop: a move between registers costs the machine nothing, 64-bit arithmetic takes two."""
    return sum(map(_weight, loop_lines(ptx)))


def loop_lines(ptx: str) -> list[str]:
    """The longest loop, without guards and without the loops inside of it; all lines where there is none."""
    labels: dict[str, int] = {}
    lines: list[str] = []
    for line in ptx[ptx.index("{") :].splitlines():
        line = line.strip()
        label = _LABEL.match(line)
        if label:
            labels[label[1]] = len(lines)
        elif line and not line.startswith(_NO_INSTRUCTION):
            lines.append(line)
    loops = []
    for at, line in enumerate(lines):
        target = _BRANCH.search(line)
        if target and labels.get(target[1], at + 1) <= at:
            loops.append((labels[target[1]], at + 1))
    lines = [_GUARD.sub("", line) for line in lines]
    if not loops:
        return lines
    first, last = max(loops, key=lambda one: one[1] - one[0])
    inner = {n for a, b in loops if (a, b) != (first, last) and first <= a and b <= last for n in range(a, b)}
    return [lines[n] for n in range(first, last) if n not in inner]


def _weight(line: str) -> int:
    operation = line.partition(" ")[0]
    if operation.startswith("mov"):
        return int(_PACK.search(line) is not None)
    return 2 if _WIDE.match(operation) else 1
