"""Evaluate a kernel of a lowered module: its tagged memory instructions, for all threads of block 0.

    kernel = evaluate_kernel(op, launched, types)
    kernel.name, kernel.accesses["cute.copy#3"]

How it is launched, and with which arguments, is what the host's function computes (`hosts`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from typing import Any, TypeAlias

import numpy as np

from layoutcheck.dsl.lowered.arguments import EXTENTS, OTHERS, instantiate
from layoutcheck.dsl.lowered.contents import RandomMemory, RandomOperations
from layoutcheck.dsl.lowered.flow import BRANCHES, Flow, Turns
from layoutcheck.dsl.lowered.instructions import WRITERS, is_access, numbers_and_data
from layoutcheck.dsl.lowered.loops import LOOPS
from layoutcheck.dsl.lowered.machine import Launch, Machine, Step
from layoutcheck.dsl.lowered.memory import Memory
from layoutcheck.dsl.lowered.needed import NUMBER, Needed, fast_part
from layoutcheck.dsl.lowered.operations import Operations
from layoutcheck.dsl.lowered.record import Recorded
from layoutcheck.dsl.lowered.removed import removed
from layoutcheck.dsl.lowered.spaces import passed_at
from layoutcheck.dsl.lowered.steps.maps import MAP_TYPE
from layoutcheck.dsl.lowered.tensors import static_tensor
from layoutcheck.dsl.lowered.types import parse_type
from layoutcheck.dsl.lowered.values import Reasons, Value
from layoutcheck.sources.mlir import Module, Operation, integers, parse
from layoutcheck.sources.mlir import Value as SsaValue

KERNELS = ("cuda.kernel", "gpu.func")

# A launch, and the kernel's arguments: each with what it rests on, as `Launch.rests`.
Launched: TypeAlias = tuple[Launch, list[tuple[Value, str]]]
Contents: TypeAlias = "Callable[[Collection[str]], dict[str, list[Recorded]]]"

Roots: TypeAlias = "list[tuple[Operation, list[SsaValue], list[SsaValue]]]"
Again: TypeAlias = "Callable[..., tuple[Machine, Flow]]"

_TAG = re.compile(r'"([\w.]+#[0-9]+)"')


@dataclass(frozen=True, slots=True)
class Evaluated:
    """One kernel. `accesses` are its memory instructions by tag, `present` the tags that survived lowering.

    `notes` say where the evaluation cut something short. `contents(tags)` evaluates the kernel again for what
    the stores under `tags` write (`contents.py`): accesses whose `value` is that of random memory.
    `again(roots, recorded, ready)` evaluates it anew for these operands; `ready` gets machine and flow
    before they run; `blocks` are evaluated side by side instead of block 0, `launched` so and not as the host
    does with the first numbers. `shortened` says that of some loop not all turns are here.
    """

    name: str
    launch: Launch
    accesses: dict[str, list[Recorded]] = field(default_factory=dict)
    reasons: Reasons = field(default_factory=Reasons)
    present: frozenset[str] = frozenset()
    notes: tuple[str, ...] = ()
    shared_bytes: int = 0
    contents: Contents = field(default=lambda _: {}, compare=False, repr=False)
    again: Again | None = field(default=None, compare=False, repr=False)
    shortened: bool = False
    operation: Operation | None = field(default=None, compare=False, repr=False)


parse_once = lru_cache(maxsize=1)(parse)  # several checks in a row look at one lowered module


def kernels_in(module: Module) -> list[Operation]:
    """Its kernels that have a body, in the order of the text."""
    return [op for op in module.walk() if op.name in KERNELS and op.regions and op.regions[0].blocks]


def tag(op: Operation) -> str:
    """The tag that an operation's location carries, "" for none."""
    text = op.location_text
    if "#" not in text:
        return ""
    match = _TAG.search(text)
    return match[1] if match else ""


def evaluate_kernel(
    kernel: Operation, launch: Launched | None = None, types: Any = (), least_turns: int = 0
) -> Evaluated:
    """One kernel, with its launch and arguments as the host computes them, where that is known.

    A loop whose end rests on what only a run knows has `least_turns` at least.
    """
    how = launch_of(kernel, launch)
    machine, run = prepare(kernel, how)
    run.turns = Turns(least=least_turns)
    run_kernel(kernel, machine, run, launch, types)
    present = frozenset(t for op in kernel.walk() if (t := tag(op)) and is_access(op))

    def contents(tags: Collection[str]) -> dict[str, list[Recorded]]:
        again, random = prepare(kernel, how, contents=tags)
        run_kernel(kernel, again, random, launch, types)
        found = {tag: accesses for tag, accesses in again.accesses.items() if tag in tags}
        for access in (access for accesses in found.values() for access in accesses):
            access.value_known = again.reasons.worst(access.value_provenance) != "blocked"
            access.provenance = machine.reasons.adopted(again.reasons, access.provenance)
            access.guard = machine.reasons.adopted(again.reasons, access.guard)
        return found

    def again(
        roots: Roots, recorded: Callable[[Operation], str], ready: Callable[[Machine, Flow], None],
        blocks: tuple[tuple[int, int, int], ...] = (), launched: Launched | None = None,
    ) -> tuple[Machine, Flow]:  # fmt: skip
        how_ = how if launched is None else launch_of(kernel, launched)
        other, flow = prepare(kernel, replace(how_, blocks=blocks), roots, recorded=recorded)
        ready(other, flow)
        run_kernel(kernel, other, flow, launch if launched is None else launched, types)
        return other, flow

    return Evaluated(
        name_of(kernel), how, machine.accesses, machine.reasons, present, tuple(sorted(machine.notes)),
        machine.all_shared_bytes, contents, again, bool(run.shortened), kernel,
    )  # fmt: skip


def launch_of(kernel: Operation, launch: Launched | None) -> Launch:
    """How a kernel is launched: as the host does, with the block size that the kernel itself demands."""
    how = launch[0] if launch else Launch()
    block = integers(kernel.attributes.get("nvvm.reqntid", "")) or how.block
    block = tuple((*block, 1, 1)[:3])
    if launch is None and not integers(kernel.attributes.get("nvvm.reqntid", "")):
        block = (128, 1, 1)
    return replace(how, block=block)  # type: ignore[arg-type]


def run_kernel(kernel: Operation, machine: Machine, run: Flow, launch: Launched | None, types: Any) -> None:
    """Evaluate a kernel with its arguments."""
    enter(kernel, machine, run, launch, types)
    with np.errstate(all="ignore"):
        run.run(run.steps(kernel.regions[0].blocks[0], fast=False))


def enter(kernel: Operation, machine: Machine, run: Flow, launch: Launched | None, types: Any) -> None:
    """Give a kernel its arguments."""
    entry = kernel.regions[0].blocks[0]
    extents, others = (machine.reasons.bit("arguments", why) for why in (EXTENTS, OTHERS))
    given = launch[1] if launch and len(launch[1]) == len(entry.arguments) else None
    for i, argument in enumerate(entry.arguments):
        slot = run.slots[argument]
        cute = types[i] if i < len(types) else ""
        pointer = cute.startswith("!cute.ptr<")  # its address is all that a run gives it
        bit = others if given is None else {"static": 0, "extents": extents}.get(given[i][1], others)
        bit = 0 if pointer or static_tensor(cute) is not None else bit
        if given is not None:
            machine.values[slot], machine.provenance[slot] = given[i][0], bit
            by_value = parse_type(argument.type).kind == "pointer" or argument.type == MAP_TYPE
            if by_value and isinstance(given[i][0], tuple):
                machine.values[slot] = passed_at(i)
        else:
            machine.values[slot] = instantiate(parse_type(argument.type), cute, i)
            machine.provenance[slot] = bit
    if len(kernel.regions[0].blocks) > 1:
        machine.notes.add("the kernel branches between blocks: only its first is evaluated")


def prepare(
    kernel: Operation,
    launch: Launch,
    roots: Any = None,
    contents: Collection[str] = (),
    recorded: Callable[[Operation], str] | None = None,
) -> tuple[Machine, Flow]:
    """A machine and what runs on it; `roots` are (operation, numbers, data), by default all tagged.

    With `contents` they are the stores under these tags, with what they write. `recorded` gives the tag under
    which an access is recorded. What is needed may be given in the place of roots.
    """
    slots = _slots(kernel)
    machine = Machine(launch, [0] * len(slots), [0] * len(slots))
    machine.provenance[:] = [machine.unknown] * len(slots)
    if roots is None:
        roots = [
            (op, *numbers_and_data(op))
            for op in kernel.walk()
            if op.location_text and tag(op) and is_access(op)
        ]
    full = roots if isinstance(roots, Needed) else Needed(kernel, roots)
    operations = Operations(machine, slots)
    memory: Memory | None = None
    left = partial(removed(kernel).left, turn=lambda number: machine.values[slots[number]])
    if contents:
        addresses = {value for value, level in full.levels.items() if level == NUMBER}
        writers = [op for op, _, _ in roots if tag(op) in contents and op.name in WRITERS]
        full = Needed(kernel, [(op, op.operands, []) for op in writers])
        operations = RandomOperations(machine, slots)
        memory = RandomMemory(operations, full.levels, _recorded, left, addresses)
    tags = recorded or _recorded
    memory = memory or Memory(operations, full.levels, tags, left)

    def translate(op: Operation) -> Step:
        return memory.step(op) or operations.step(op)

    fast = partial(fast_part, kernel, full)
    return machine, Flow(machine, slots, full, fast, translate, tags, tag, {**BRANCHES, **LOOPS}, left)


@lru_cache(maxsize=4)
def _slots(kernel: Operation) -> dict[SsaValue, int]:
    """A number for each value of a kernel, which several runs of it share."""
    values: list[SsaValue] = []
    for op in kernel.walk():
        values += op.results
        values += (one for region in op.regions for block in region.blocks for one in block.arguments)
    return {value: slot for slot, value in enumerate(values)}


def _recorded(op: Operation) -> str:
    """The tag under which an operation is recorded, "" for none."""
    return tag(op) if is_access(op) else ""


def name_of(op: Operation) -> str:
    """The symbol that a kernel or function defines."""
    return op.attributes.get("sym_name", "").strip('"')
