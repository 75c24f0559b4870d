"""The host's functions of a lowered module: how they launch its kernels, and with which arguments.

    hosts_of(module, types).launches()["kernel_name"]

They are evaluated with numbers for their arguments: a kernel's arguments and its launch are what they
compute, a TMA descriptor and a fast division included.
"""

from __future__ import annotations

import re
import threading
from dataclasses import replace
from typing import Any

import numpy as np

from layoutcheck.dsl.lowered.arguments import EXTENTS, OTHERS, Extent, Numbers, dynamic_layout, instantiate
from layoutcheck.dsl.lowered.evaluate import Launched, name_of, prepare
from layoutcheck.dsl.lowered.flow import Flow
from layoutcheck.dsl.lowered.held import Memory as Bytes
from layoutcheck.dsl.lowered.held import memories
from layoutcheck.dsl.lowered.machine import Launch, Machine, Step
from layoutcheck.dsl.lowered.tensors import Tensor, by_object, sizes, static_tensor
from layoutcheck.dsl.lowered.types import parse_type
from layoutcheck.dsl.lowered.values import number
from layoutcheck.sources.mlir import Module, Operation, integer
from layoutcheck.sources.mlir import Value as SsaValue

LAUNCH = "layoutcheck.launch"  # what a launch is called in the clone that is lowered
_RESTS = ("static", "extents", "arguments")
_CLUSTER = "cuda.launch_cfg.cluster_dim"
_EARLY = "cuda.launch_cfg.programmatic_stream_serialization_allowed"
_SYMBOL = re.compile(r"@([\w$.-]+|\"[^\"]*\")\s*\Z")


class _Last(threading.local):
    made: tuple[Operation | None, dict[str, list[str]], Hosts] | None = None


_LAST = _Last()


def hosts_of(module: Module | Operation, types: dict[str, list[str]]) -> Hosts:
    """The host's functions of a module: those of the last time, if it was this module with these types."""
    top, last = next(iter(module.walk()), None), _LAST.made
    if last is None or last[0] is not top or last[1] is not types:
        last = _LAST.made = top, types, Hosts(module, types)
    return last[2]


class Hosts:
    """The host's functions of a module, as steps, which are run with any numbers for their arguments."""

    def __init__(self, module: Module | Operation, types: dict[str, list[str]]) -> None:
        self._launches: dict[tuple[Extent, int | None], dict[str, Launched]] = {}
        self._hosts = [
            _Host(host, calls, types.get(name_of(host), []))
            for host in module.walk()
            if host.name == "func.func" and host.regions and host.regions[0].blocks
            if (calls := [op for op in host.walk() if op.name == LAUNCH])
        ]

    @property
    def alone(self) -> bool:
        """Whether one function launches all kernels: their order and their arguments' numbers are its own."""
        return len(self._hosts) == 1

    def launches(self, extent: Extent = None, integer: int | None = None) -> dict[str, Launched]:
        """What they launch: kernel's name -> (launch, arguments); numbers as in `arguments`."""
        if (extent, integer) not in self._launches:
            found: dict[str, Launched] = {}
            for host in self._hosts:
                host.run(extent, integer, found)
            self._launches[extent, integer] = found
        return self._launches[extent, integer]


class _Host:
    """A function of the host with `calls` that launch kernels; `given` are the types of its arguments."""

    def __init__(self, host: Operation, calls: list[Operation], given: list[str]) -> None:
        roots: Any = [(op, [*op.operands, *_configuration(op)], []) for op in calls]
        self._launch = Launch((1, 1, 1), (1, 1, 1))
        self._machine, self._flow = prepare(host, self._launch, roots)
        self._given, self._arguments = given, host.regions[0].blocks[0].arguments
        self._translate, self._flow.translate = self._flow.translate, self._launching
        self._steps = self._flow.steps(host.regions[0].blocks[0], fast=False)
        self._known = dict(self._machine.reasons.known)

    def run(self, extent: Extent, integer: int | None, found: dict[str, Launched]) -> None:
        """Put what it launches into `found`."""
        machine, flow, given = self._machine, self._flow, self._given
        machine.restart(self._launch, self._known)
        flow.restart()
        for i, argument in enumerate(self._arguments):
            cute = given[i] if i < len(given) else ""
            slot = flow.slots[argument]
            machine.values[slot] = instantiate(parse_type(argument.type), cute, i, extent, integer)
            machine.provenance[slot] = 0
            told = extent.of(i) if isinstance(extent, Numbers) else None
            if told is None and static_tensor(cute) is None and parse_type(argument.type).kind != "pointer":
                why = OTHERS if dynamic_layout(cute) is None else EXTENTS
                machine.provenance[slot] = machine.reasons.bit("arguments", why)
        slots = flow.slots_of(self._arguments)
        values = [machine.values[slot] for slot in slots]
        static = [(v, t) for v, t in zip(values, given, strict=False) if static_tensor(t) is not None]
        fixed = frozenset(by_object(*zip(*static, strict=True))) if static else frozenset[int]()
        self._held = sizes(values, given, ["extents"] * len(slots)), by_object(values, given), fixed
        self._there = memories(extent.contents) if isinstance(extent, Numbers) else {}
        self._found = found
        with np.errstate(all="ignore"):
            flow.run(self._steps)

    def _launching(self, op: Operation) -> Step:
        if op.name != LAUNCH:
            return self._translate(op)
        told = _configuration(op), _siblings(op, _CLUSTER), any(map(_allowed, _siblings(op, _EARLY)))

        def launch() -> None:
            if self._machine.reached:
                launched = _launched(op, told, self._machine, self._flow, self._held, self._there)
                _keep(self._found, op, launched)

        return launch


def _keep(found: dict[str, Launched], op: Operation, launched: Launched) -> None:
    """The launch of a kernel. Of one that a loop of the host launches in several ways nothing is sure."""
    callee = _SYMBOL.search(op.attributes.get("callee", ""))
    name = callee[1].strip('"') if callee else ""
    was = found.get(name)
    if was is not None and was != launched:
        launched = replace(launched[0], rests=_RESTS[-1]), [(value, _RESTS[-1]) for value, _ in launched[1]]
    found[name] = launched


def _configuration(launch: Operation) -> list[SsaValue]:
    """Operands of what describes the launch: block, shared bytes, grid, stream; and of a cluster's size."""
    config = launch.operands[0].definition
    found = list(config.operands) if config is not None else []
    for op in _siblings(launch, _CLUSTER):
        found += op.operands[1:]
    return found


def _siblings(launch: Operation, name: str) -> list[Operation]:
    block = launch.parent
    return [
        op
        for op in (block.operations if block else [])
        if op.name == name and op.operands[0] is launch.operands[0]
    ]


def _launched(
    op: Operation, told: tuple[list[SsaValue], list[Operation], bool], machine: Machine, run: Flow,
    held: tuple[dict[int, int], dict[int, Tensor], frozenset[int]],
    there: dict[int, Bytes],
) -> Launched:  # fmt: skip
    def numbers(values: list[SsaValue]) -> list[int]:
        return [
            int(n) if isinstance(n := number(machine.values[run.slots[v]]), int) else int(n[0])
            for v in values
        ]

    config, (configuration, clusters, early) = op.operands[0].definition, told
    counts = (
        numbers(config.operands[:7])
        if config is not None and len(config.operands) >= 7
        else [1, 1, 1, 0, 1, 1, 1]
    )
    rests = [machine.provenance[run.slots[v]] for v in configuration if v.type == "i32"]
    cluster = (1, 1, 1)
    for one in clusters:
        cluster = tuple(max(1, n) for n in numbers(one.operands[1:4]))
    block, grid = ((max(1, n) for n in part) for part in (counts[:3], counts[4:7]))
    sure = config is not None and not machine.provenance[run.slots[config.operands[3]]]
    dynamic = counts[3] if sure else None
    launch = Launch(
        tuple(block), tuple(grid), cluster, True,  # type: ignore[arg-type]
        dynamic_bytes=dynamic, early=early,
        rests=max((_rests(machine, bits) for bits in rests), key=_RESTS.index),
        held=held[0], tensors=held[1], fixed=held[2], memories=there,
    )  # fmt: skip
    slots = run.slots_of(op.operands[1:])
    return launch, [(machine.values[slot], _rests(machine, machine.provenance[slot])) for slot in slots]


def _allowed(attribute: Operation) -> bool:
    """Whether an attribute of the launch is a constant other than 0."""
    made = attribute.operands[1].definition
    return made is not None and bool(integer(made.attributes.get("value", "0")))


def _rests(machine: Machine, provenance: int) -> str:
    """What a number of the host's code rests on, as `Launch.rests`."""
    found = machine.reasons.read(provenance)
    return _RESTS[0 if not found else 1 if found == [("arguments", EXTENTS)] else 2]
