"""The lowered addresses: what every copy of a traced module does in memory, by NVIDIA's own arithmetic.

    for kernel in of_answer(passes(text, None, session), text).kernels:
        kernel.lowered_ops["cute.copy#0"].accesses

The DSL's own passes (`passes`, in the DSL's process) turn a kernel into integer arithmetic on the thread
index, in which every memory instruction still says which operation it comes from. `evaluate` then computes
its address for all threads of block 0, the kernel's arguments being what the host's code makes of numbers for
dynamic extents and strides. No layout algebra of ours is in it: it judges `atoms.execution`, and speaks
where that is silent.

`cute.copy#3` is the tag of the fourth `cute.copy` in the text of the module.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from functools import lru_cache
from typing import Any

from layoutcheck.brackets import closing, split
from layoutcheck.dsl.lowered.evaluate import Evaluated, evaluate_kernel, kernels_in, name_of, parse_once
from layoutcheck.dsl.lowered.grid import Grid
from layoutcheck.dsl.lowered.hosts import hosts_of
from layoutcheck.dsl.lowered.lowered_op import LoweredOp, lowered_ops
from layoutcheck.dsl.lowered.machine import Launch
from layoutcheck.dsl.session import Session
from layoutcheck.errors import InputError, fault
from layoutcheck.sources.mlir import without_locations

__all__ = ["Kernel", "Launch", "Lowered", "LoweredOp", "read"]

_FUNCTION = re.compile(r'^\s*"(?:cuda\.kernel|func\.func|gpu\.func)"\(', re.MULTILINE)
_NAME = re.compile(r'sym_name = "([^"]*)"')
SURPRISES = (IndexError, KeyError, ValueError, TypeError, AttributeError, OverflowError, RecursionError)
_TYPES = "function_type = ("


@dataclass(frozen=True, slots=True)
class Kernel(Evaluated):
    """One kernel: the operations by tag, and the tags whose instructions were met by nobody.

    `launch.known` says that the grid is what the host's code computes, for the numbers it was given. `roomy`
    gives its grid if its tensors' modes lie apart (`arguments.roomier`), None where that is not known.
    `called` gives its operations with the numbers of the program's largest call, none where that is not
    known. `turned` gives them as `faults.in_turns` does.
    """

    lowered_ops: dict[str, LoweredOp] = field(default_factory=dict)
    unmet: tuple[str, ...] = ()
    grid: Grid | None = field(default=None, compare=False, repr=False)
    roomy: Callable[[], Grid | None] = field(default=lambda: None, compare=False, repr=False)
    called: Callable[[], dict[str, LoweredOp]] = field(default=dict, compare=False, repr=False)
    turned: Callable[[], Sequence[tuple[bool, dict[str, LoweredOp]]]] = field(
        default=tuple, compare=False, repr=False
    )


@dataclass(frozen=True, slots=True)
class Lowered:
    """A module. `problem` says why there are no kernels; `refused` are copies that the verifier refuses."""

    kernels: tuple[Kernel, ...] = ()
    problem: str = ""
    refused: tuple[str, ...] = ()

    def op(self, tag: str) -> LoweredOp | None:
        """The operation of a tag, in whichever kernel has it."""
        return next((k.lowered_ops[tag] for k in self.kernels if tag in k.lowered_ops), None)


def passes(text: str, timeout: float | None, session: Session) -> dict[str, Any]:
    """What the DSL says of a module: "lowered" text, or a "problem" in words. Raises DslUnavailable."""
    try:
        bare = without_locations(text)
    except InputError as error:
        return {"problem": f"the module cannot be read: {error.message}"}
    answer: dict[str, Any] = session.ask("passes", [{"module": bare}], timeout)[0]
    if "lowered" not in answer:
        answer.setdefault("problem", f"the passes die of signal {answer.get('died')}")
    return answer


def of_answer(answer: dict[str, Any], text: str) -> Lowered:
    """An answer of `passes` on the module `text`, evaluated."""
    if "lowered" not in answer:
        return Lowered(problem=answer["problem"], refused=tuple(answer.get("refused", ())))
    return read(answer["lowered"], text, tuple(answer.get("refused", ())))


def read(lowered: str, traced: str = "", refused: tuple[str, ...] = ()) -> Lowered:
    """Evaluate the text of a lowered module; `traced` is what it was lowered from.

    Raises nothing for text that is no module: `problem` says so.
    """
    try:
        types = argument_types(traced)
        module = parse_once(lowered)
        launches = hosts_of(module, types).launches()
        evaluated = [
            evaluate_kernel(op, launches.get(name_of(op)), types.get(name_of(op), []))
            for op in kernels_in(module)
        ]
    except (InputError, *SURPRISES) as error:
        return Lowered(problem=unreadable(error), refused=refused)
    kernels = tuple(
        Kernel(
            **{one.name: getattr(k, one.name) for one in fields(k)},
            lowered_ops=lowered_ops(k),
            unmet=tuple(sorted(k.present - set(k.accesses))),
            grid=None if k.operation is None else Grid(k.operation, types),
        )
        for k in evaluated
    )
    return Lowered(kernels, "", refused)


def unreadable(error: Exception) -> str:
    """Why a lowered module is not evaluated: it is no module, or the evaluation fails."""
    if isinstance(error, InputError):
        return f"the lowered module cannot be read: {error.message}"
    return fault(error)


@lru_cache(maxsize=2)  # many checks in a row look at one module
def argument_types(traced: str) -> dict[str, list[str]]:
    """The types of the arguments of every function in a traced module, by its name."""
    found: dict[str, list[str]] = {}
    for match in _FUNCTION.finditer(traced):
        end = traced.find("\n", match.end())
        line = traced[match.start() : end if end >= 0 else len(traced)]
        name, at = _NAME.search(line), line.find(_TYPES)
        if name is None or at < 0:
            continue
        opened = at + len(_TYPES) - 1
        try:  # a type may hold an arrow of its own: universal_fma<1x1x1, (f32, f32) -> f32>
            found[name[1]] = split(line[opened + 1 : closing(line, opened) - 1])
        except InputError:
            continue
    return found


def host_types(traced: str) -> list[list[str]]:
    """Those of its host functions: a kernel's line has its name as a symbol in a GPU module."""
    return [kinds for name, kinds in argument_types(traced).items() if f"::@{name}" not in traced]
