"""`neutral(through)`: what a fragment may be filled with so that all that is made of it is right.

A sum begins with 0, which copies, products and negations keep; a maximum begins with minus infinity. Anything
else that registers go through (both of them, an exponential, a difference) gives no answer.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from layoutcheck.sources.mlir import Operation

ZERO, LEAST = "0.0", 'float("-inf")'
_MOVES = re.compile(
    r"vector\.(?!reduction|multi_reduction)\w+|.*\.(?:select|bitcast|(?:insert|extract)value|freeze|extf|truncf)"
    r"|builtin\.unrealized_conversion_cast|nvvm\.shfl\.sync|llvm\.store|nvvm\.store\.ext"
)
_SUMS = re.compile(
    r"arith\.(?:addf|addi|mulf|negf|extsi|extui)|math\.(?:fma|absf)|nvvm\.(?:add|mul|fma)\.packed\.f32x2"
)
_MOST = re.compile(r"arith\.max(?:imum|num)f|nvvm\.fmax")
_KIND = re.compile(r"<(\w+)>")


def neutral(through: Iterable[Operation]) -> str:
    """What to fill registers with that go through these operations, in Python; "" where it is not known."""
    kinds = {kind for op in through if (kind := _kind(op)) != "move"}
    if kinds <= {"sum"}:
        return ZERO
    return LEAST if kinds == {"most"} else ""


def _kind(op: Operation) -> str:
    """Whether an operation is a "move", a step of a "sum", of the "most", or "other"."""
    if "reduction" in op.name:
        kind = _KIND.search(op.attributes.get("kind", ""))
        return {"add": "sum", "maximumf": "most", "maxnumf": "most"}.get(kind[1] if kind else "", "other")
    found = (
        kind
        for kind, names in (("move", _MOVES), ("sum", _SUMS), ("most", _MOST))
        if names.fullmatch(op.name)
    )
    return next(found, "other")
