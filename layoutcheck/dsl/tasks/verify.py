"""`verify` and `parse`: what MLIR's verifier says of operations written as text."""

from __future__ import annotations

from layoutcheck.dsl.tasks import Item, verifier_error
from layoutcheck.dsl.tasks.build import beside_source


def verify(item: Item) -> Item:
    """The MLIR verifier's word on the operands as they stand: {} or {"error", "stage"}."""
    from cutlass._mlir import ir

    operands = {name: item[name] for name in ("atom", "src", "dst", "pred", "index", "aux") if item.get(name)}
    heads = ", ".join(f"%{name}: {kind}" for name, kind in operands.items())
    shown = {name: (f"%{name}", kind) for name, kind in operands.items()}
    if "index" in shown:  # it goes beside the coordinates
        side = "src" if beside_source(item) else "dst"
        (a, b), (c, d) = shown[side], shown.pop("index")
        shown[side] = f"[{a}, {c}]", f"[{b}, {d}]"
    if "aux" in shown:
        (a, b), (c, d) = shown["dst"], shown.pop("aux")
        shown["dst"] = f"[{a}, {c}]", f"[{b}, {d}]"
    names, kinds = (", ".join(column) for column in zip(*shown.values(), strict=True))
    call = f"cute.copy({names}) : ({kinds})"
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
