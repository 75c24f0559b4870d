"""Delays put into the kernels that a process builds: `nanosleep` in chosen warps and blocks, at chosen lines.

    LAYOUTCHECK_DELAYS='[{"file": "/k.py", "line": 21, "warps": 65535, "blocks": 1, "nanoseconds": 20000}]'

Before every operation of such a line that moves or orders memory (`tagged`) stands inline PTX, which the
compiler moves no memory access across. Bit `w % 32` of `warps` says whether warp w of a block sleeps, bit
`b % 32` of `blocks` the same of block b along x. PTX ISA, nanosleep: it suspends a thread for 0 to twice the
time, and the time is 1 ms at most.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
from collections.abc import Callable
from typing import Any

from layoutcheck.dsl.tagged import TAGGED

VARIABLE = "LAYOUTCHECK_DELAYS"
_PTX = (
    "{{ .reg .pred p; .reg .b32 a, b, c; mov.u32 a, %tid.z; mov.u32 b, %ntid.y; mov.u32 c, %tid.y; "
    "mad.lo.u32 a, a, b, c; mov.u32 b, %ntid.x; mov.u32 c, %tid.x; mad.lo.u32 a, a, b, c; shr.u32 a, a, 5; "
    "and.b32 a, a, 31; mov.b32 b, {warps}; shr.u32 b, b, a; mov.u32 a, %ctaid.x; and.b32 a, a, 31; "
    "mov.b32 c, {blocks}; shr.u32 c, c, a; and.b32 b, b, c; and.b32 b, b, 1; setp.ne.u32 p, b, 0; "
    "@p nanosleep.u32 {nanoseconds}; }}"
)


def asked() -> list[dict[str, Any]]:
    """The delays that this process is to put into its kernels."""
    found: list[dict[str, Any]] = json.loads(os.environ.get(VARIABLE, "[]"))
    return found


def inserter(delays: list[dict[str, Any]], told: Callable[[str, int], None]) -> Callable[[Any, str], None]:
    """What puts `delays` into a module that was traced; `told` gets the kernel's name, and how many."""
    from layoutcheck.sources.printed import where_of

    by_place: dict[tuple[str, int], dict[str, Any]] = {(one["file"], one["line"]): one for one in delays}

    def insert(module: Any, kernel: str) -> None:
        ir = sys.modules["cutlass._mlir.ir"]
        found: list[tuple[Any, dict[str, Any]]] = []

        def visit(op: Any) -> Any:
            if TAGGED.match(op.name):
                frames = where_of(str(op.location))
                delay = by_place.get((frames[0].file, frames[0].line)) if frames else None
                if delay is not None:
                    found.append((op, delay))
            return ir.WalkResult.ADVANCE

        module.operation.walk(visit, ir.WalkOrder.PRE_ORDER)
        for op, delay in found:
            _before(ir, op, delay)
        told(kernel, len(found))

    return insert


def _before(ir: Any, op: Any, delay: dict[str, Any]) -> None:
    llvm = importlib.import_module("cutlass._mlir.dialects.llvm")
    with op.context, ir.Location.unknown(), ir.InsertionPoint(op):
        llvm.inline_asm(
            None, [], _PTX.format_map(delay), "~{memory}", has_side_effects=True,
            asm_dialect=llvm.AsmDialect.AD_ATT,
        )  # fmt: skip
