"""One operation as a step on the machine's values; which kinds there are is in `steps`.

What is not known here gives 0, and says so in the provenance of its results.
"""

from __future__ import annotations

import re

from layoutcheck.digits import is_number
from layoutcheck.dsl.lowered.integers import BINARY
from layoutcheck.dsl.lowered.machine import Step
from layoutcheck.dsl.lowered.steps import Steps, aggregates, arithmetic, floats, lanes, maps, pointers
from layoutcheck.dsl.lowered.types import Type, parse_type
from layoutcheck.dsl.lowered.values import Value, wrap
from layoutcheck.sources.mlir import Operation, integer, integers

_FLOAT = re.compile(
    r"arith\.\w*f\Z|arith\.(?:extf|truncf|fptosi|fptoui|sitofp|uitofp)|math\.|llvm\.f|nvvm\.f"
)
# Intrinsics that are functions of their operands alone, as floating-point operations are.
_PURE = re.compile(r'"llvm\.(?:nvvm\.)?(?:sqrt|rsqrt|rcp|ex2|lg2|sin|cos|fma|floor|ceil|round|trunc)\b')
_OVERFLOWS = frozenset(
    ("arith.addi", "arith.muli", "arith.subi", "arith.shli", "llvm.add", "llvm.mul", "llvm.sub", "llvm.shl")
)
_DENSE = re.compile(r"dense<(-?[0-9]+|true|false)>")
CONSTANTS = ("arith.constant", "llvm.mlir.constant")
# A barrier's wait succeeds: what waits goes on.
WAITS = frozenset(
    ("nvvm.mbarrier.try_wait.parity.timelimit", "nvvm.mbarrier.wait.parity", "nvvm.mbarrier.test.wait",
     "nvvm.mbarrier.try_wait", "nvvm.mbarrier.try_wait.parity", "nvvm.mbarrier.test.wait.parity")
)  # fmt: skip
_MAKERS = {**arithmetic.MAKERS, **aggregates.MAKERS, **lanes.MAKERS, **maps.MAKERS, **pointers.MAKERS}


class Operations(Steps):
    """`step(op)` makes the step of an operation that touches no memory."""

    def step(self, op: Operation) -> Step:
        """The step of an operation."""
        name = op.name
        if self.machine.overflow and name in _OVERFLOWS and op.results[0].type == "i32":
            return self.watched(op, BINARY[name])
        if name in BINARY and len(op.operands) == 2:
            return self.binary(op, BINARY[name])
        if name in (*CONSTANTS, "index.constant"):
            return self.constant(op, _constant(op.attributes.get("value", "")))
        if name in ("llvm.mlir.zero", "llvm.mlir.undef", "llvm.mlir.poison", "ub.poison"):
            return self.constant(op, _zero(parse_type(op.results[0].type)))
        if name in self.machine.special:
            return self._special(op)
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

    def _special(self, op: Operation) -> Step:
        machine, name, targets = self.machine, op.name, [self.slots[v] for v in op.results]

        def run() -> None:
            for slot in targets:
                machine.values[slot], machine.provenance[slot] = machine.special[name], 0

        return run


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
