"""What a fragment may be filled with so that all that is made of its registers is right."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable

from layoutcheck.sources.mlir import Operation, Value

ZERO, LEAST = "0.0", 'float("-inf")'
_MOVES = re.compile(
    r"vector\.(?!reduction|multi_reduction)\w+|.*\.(?:select|bitcast|(?:insert|extract)value|freeze|extf|truncf)"
    r"|builtin\.unrealized_conversion_cast|nvvm\.shfl\.sync|llvm\.store|nvvm\.store\.ext"
)
_SUMS = re.compile(
    r"arith\.(?:addf|addi|mulf|negf|extsi|extui)|math\.(?:fma|absf)|nvvm\.(?:add|mul|fma)\.packed\.f32x2"
)
_PRODUCTS = re.compile(r"arith\.mulf|math\.fma|nvvm\.(?:mul|fma)\.packed\.f32x2")
_MOST = re.compile(r"arith\.max(?:imum|num)f|nvvm\.fmax")
_KIND = re.compile(r"<(\w+)>")


def neutral(through: Iterable[Operation], held: Collection[Value]) -> str:
    """What a fragment may be filled with, in Python, so that all that is made of it is right; "" if unknown.

    Its registers go `through` operations, and the values `held` hold them, or what is computed of them. A sum
    begins with 0, which copies, negations and products with other values keep; a maximum begins with minus
    infinity. Anything else (both of them, an exponential, a difference, a product of two registers of the
    fragment) gives no answer.
    """
    kinds = {kind for op in through if (kind := _kind(op, held)) != "move"}
    if kinds <= {"sum"}:
        return ZERO
    return LEAST if kinds == {"most"} else ""


def _kind(op: Operation, held: Collection[Value]) -> str:
    """Whether an operation is a "move", a step of a "sum", of the "most", or "other"."""
    if _PRODUCTS.fullmatch(op.name) and len(set(op.operands[:2]) & set(held)) > 1:
        return "other"
    if "reduction" in op.name:
        kind = _KIND.search(op.attributes.get("kind", ""))
        return {"add": "sum", "maximumf": "most", "maxnumf": "most"}.get(kind[1] if kind else "", "other")
    found = (
        kind
        for kind, names in (("move", _MOVES), ("sum", _SUMS), ("most", _MOST))
        if names.fullmatch(op.name)
    )
    return next(found, "other")
