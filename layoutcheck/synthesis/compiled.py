"""Plans' programs for the installed DSL to compile (`dsl.programs`), and what it makes of them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from layoutcheck.errors import InputError
from layoutcheck.fixes.code import dtype_code
from layoutcheck.synthesis.copies import Step
from layoutcheck.synthesis.program import Ending, program, takes_keep
from layoutcheck.synthesis.search import Found
from layoutcheck.synthesis.wanted import Wanted

_LABEL = re.compile(r"^(\$[\w$]+):")
_BRANCH = re.compile(r"\bbra(?:\.uni)?\s+(\$[\w$]+)")
_GUARD = re.compile(r"^@!?%p[0-9]+\s+")
_PACK = re.compile(r",\s*\{")
"""Several registers into one: not those of one into several, which halves of registers are."""
_WIDE = re.compile(r"(add|sub|mul|mad|shl|shr|and|or|xor)\..*64$")
_NO_INSTRUCTION = (".", "{", "}", "(", ")", "//")


class Compiled(NamedTuple):
    """What the compiler made of a plan's program: `instructions` of a thread for each tile.

    `rounds`: how many latencies a thread waits in a turn of its loop, whose `loads` are those of a tile or,
    unrolled, of several. None where that is not known.
    """

    registers: int
    instructions: int
    rounds: float | None = None
    loads: int = 0

    def rounds_of(self, loads: float) -> float | None:
        """Those for one tile, which takes so many loads of a thread."""
        return None if self.rounds is None else self.rounds / max(1, round(self.loads / loads))


def items(plans: Sequence[tuple[Found, list[list[Step]]]], wanted: Wanted) -> list[dict[str, Any]]:
    """For the task "program" of the DSL: programs that look at their registers and write nothing."""
    return [
        {
            "code": program(found, steps, wanted, Ending.LOOK),
            "arch": str(wanted.arch),
            "arguments": arguments(wanted),
            "scalars": int(takes_keep(wanted, Ending.LOOK)),
        }
        for found, steps in plans
    ]


def made_of(answer: dict[str, Any]) -> Compiled:
    """The task's answer. Raises InputError for a program that does not compile."""
    if "ptx" not in answer:
        said = str(answer.get("error", answer))[:500]
        raise InputError(f"the DSL does not compile a plan's program: {said}")
    rounds = answer.get("rounds"), answer.get("loads", 0)
    return Compiled(answer["registers"], loop_instructions(answer["ptx"]), *rounds)


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
    """Instructions of the longest loop, those of loops inside of it left out; of all where there is none.

    As the machine has them: a move between registers costs nothing, 64-bit arithmetic takes two.
    """
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
    weights = [_weight(_GUARD.sub("", line)) for line in lines]
    if not loops:
        return sum(weights)
    first, last = max(loops, key=lambda one: one[1] - one[0])
    inner = [(a, b) for a, b in loops if (a, b) != (first, last) and first <= a and b <= last]
    return sum(weights[first:last]) - sum(sum(weights[a:b]) for a, b in inner)


def _weight(line: str) -> int:
    operation = line.partition(" ")[0]
    if operation.startswith("mov"):
        return int(_PACK.search(line) is not None)
    return 2 if _WIDE.match(operation) else 1
