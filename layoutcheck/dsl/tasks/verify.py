"""`verify` and `parse`: what MLIR's verifier says of operations written as text."""

from __future__ import annotations

from layoutcheck.dsl.tasks import Item
from layoutcheck.dsl.tasks.errors import verifier_error


def verify(item: Item) -> Item:
    """The MLIR verifier's word on the operands as they stand: {} or {"error", "stage"}."""
    from cutlass._mlir import ir

    operands = [item[name] for name in ("atom", "src", "dst", "pred") if item.get(name)]
    names = [f"%{i}" for i in range(len(operands))]
    heads = ", ".join(f"{n}: {t}" for n, t in zip(names, operands, strict=True))
    call = f"cute.copy({', '.join(names)}) : ({', '.join(operands)})"
    try:
        ir.Module.parse(f"func.func @f({heads}) {{ {call} return }}")
    except ir.MLIRError as error:
        return verifier_error(error)
    return {}


def parse(item: Item) -> Item:
    """{} or {"error", "stage"} for a function with the item's `arguments` and `body`."""
    from cutlass._mlir import ir

    try:
        ir.Module.parse(f"func.func @f({item['arguments']}) {{ {item['body']} return }}")
    except ir.MLIRError as error:
        return verifier_error(error)
    return {}
