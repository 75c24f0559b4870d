"""One operation as a step on the machine's values; which kinds there are is in `steps`.

What is not known here gives 0, and says so in the provenance of its results.
"""

from __future__ import annotations

import re

import numpy as np

from layoutcheck.digits import is_number
from layoutcheck.dsl.lowered.integers import BINARY
from layoutcheck.dsl.lowered.machine import Machine, Step
from layoutcheck.dsl.lowered.steps import Steps, aggregates, arithmetic, floats, lanes, maps, pointers
from layoutcheck.dsl.lowered.types import Type, parse_type
from layoutcheck.dsl.lowered.values import Value, wrap
from layoutcheck.sources.mlir import Operation, integer, integers
from layoutcheck.sources.mlir import Value as SsaValue

_FLOAT = re.compile(
    r"arith\.\w*f\Z|arith\.(?:extf|truncf|fptosi|fptoui|sitofp|uitofp)|math\.|llvm\.f|nvvm\.f"
)
# Intrinsics that are functions of their operands alone, as floating-point operations are.
_PURE = re.compile(r'"llvm\.(?:nvvm\.)?(?:sqrt|rsqrt|rcp|ex2|lg2|sin|cos|fma|floor|ceil|round|trunc)\b')
_OVERFLOWS = frozenset(
    ("arith.addi", "arith.muli", "arith.subi", "arith.shli", "llvm.add", "llvm.mul", "llvm.sub", "llvm.shl")
)
_DENSE = re.compile(r"dense<(-?[0-9]+|true|false)>")
# A barrier's wait succeeds: what waits goes on.
WAITS = frozenset(
    ("nvvm.mbarrier.try_wait.parity.timelimit", "nvvm.mbarrier.wait.parity", "nvvm.mbarrier.test.wait",
     "nvvm.mbarrier.try_wait", "nvvm.mbarrier.try_wait.parity", "nvvm.mbarrier.test.wait.parity")
)  # fmt: skip
_MAKERS = {**arithmetic.MAKERS, **aggregates.MAKERS, **lanes.MAKERS, **maps.MAKERS, **pointers.MAKERS}


class Operations(Steps):
    """`step(op)` makes the step of an operation that touches no memory."""

    def __init__(self, machine: Machine, slots: dict[SsaValue, int]) -> None:
        super().__init__(machine, slots)
        self.special = _special_registers(machine)

    def step(self, op: Operation) -> Step:
        """The step of an operation."""
        name = op.name
        if self.machine.overflow and name in _OVERFLOWS and op.results[0].type == "i32":
            return self.watched(op, BINARY[name])
        if name in BINARY and len(op.operands) == 2:
            return self.binary(op, BINARY[name])
        if name in ("arith.constant", "llvm.mlir.constant", "index.constant"):
            return self.constant(op, _constant(op.attributes.get("value", "")))
        if name in ("llvm.mlir.zero", "llvm.mlir.undef", "llvm.mlir.poison", "ub.poison"):
            return self.constant(op, _zero(parse_type(op.results[0].type)))
        if name in self.special:
            return self.constant(op, self.special[name])
        if name in _MAKERS:
            return _MAKERS[name](self, op)
        if name in WAITS:
            return self.constant(op, 1)
        if name.startswith("nvvm.clusterlaunchcontrol.query"):
            return self.assume(op, "uniform", "the tile that the hardware hands out next is taken for none")
        if name.startswith("nvvm.read.ptx.sreg."):
            kind = "uniform" if "clock" not in name and "timer" not in name else "blocked"
            return self.assume(op, kind, f"{name.removeprefix('nvvm.read.ptx.sreg.')} is taken for 0")
        if (made := floats.step(self, op)) is not None:
            return made
        if _FLOAT.match(name) or _PURE.match(op.attributes.get("intrin", "")):
            return self.assume(op, "blocked", "floating-point arithmetic", pure=True)
        return self.assume(op, "blocked", f"{name} is not evaluated")


def _constant(text: str) -> Value:
    found = integer(text)
    if found is not None:
        return wrap(found, 64) if not text.startswith("true") else 1
    if match := _DENSE.match(text):
        return {"true": 1, "false": 0}.get(match[1]) if not is_number(match[1].lstrip("-")) else int(match[1])
    if text.startswith("dense<["):
        return integers(text) or 0
    return floats.constant(text) or 0


def _zero(kind: Type) -> Value:
    if kind.kind == "struct":
        return tuple(_zero(part) for part in kind.parts)
    return 0


def _special_registers(machine: Machine) -> dict[str, Value]:
    launch = machine.launch
    cluster = launch.cluster[0] * launch.cluster[1] * launch.cluster[2]
    each = launch.threads // max(1, len(launch.blocks))
    found: dict[str, Value] = {
        "laneid": machine.lane if launch.threads > 1 else 0,
        "warpsize": 32,
        "warpid": np.arange(launch.threads, dtype=np.int64) % each // 32,
        "nwarpid": -(-each // 32),
        "cluster.ctarank": launch.ranks,
        "cluster.nctarank": cluster,
        "is.explicit.cluster": int(cluster > 1),
    }
    for i, axis in enumerate("xyz"):
        found[f"tid.{axis}"] = machine.tid[i] if launch.block[i] > 1 else 0
        found[f"ntid.{axis}"] = launch.block[i]
        found[f"nctaid.{axis}"] = launch.grid[i]
        index = launch.indices[i]
        found[f"ctaid.{axis}"] = index
        found[f"clusterid.{axis}"] = index // launch.cluster[i]
        found[f"cluster.ctaid.{axis}"] = index % launch.cluster[i]
        found[f"nclusterid.{axis}"] = -(-launch.grid[i] // launch.cluster[i])
        found[f"cluster.nctaid.{axis}"] = launch.cluster[i]
    return {f"nvvm.read.ptx.sreg.{name}": value for name, value in found.items()}
