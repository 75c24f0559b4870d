"""CuTe DSL source for the parts of a copy, as a user would write it."""

from __future__ import annotations

from typing import Any

from layoutcheck.algebra import inttuple
from layoutcheck.algebra.integers import Dynamic
from layoutcheck.algebra.layout import Layout, compact_col_major
from layoutcheck.algebra.measure import cosize
from layoutcheck.algebra.swizzle import Swizzle
from layoutcheck.copies.atom import Atom, VectorAtom
from layoutcheck.machine.dtypes import DType

WIDTH = 72  # columns of a line of code: `explain` sets it in 80, indented

_DSL_TYPES = {
    "bf16": "BFloat16", "f16": "Float16", "f32": "Float32", "tf32": "TFloat32", "f64": "Float64",
    "f8E4M3FN": "Float8E4M3FN", "f8E5M2": "Float8E5M2", "f8E8M0FNU": "Float8E8M0FNU",
    "f8E4M3B11FNUZ": "Float8E4M3B11FNUZ", "f8E4M3": "Float8E4M3",
    "f6E2M3FN": "Float6E2M3FN", "f6E3M2FN": "Float6E3M2FN", "f4E2M1FN": "Float4E2M1FN",
    "i1": "Boolean", "i4": "Int4", "i8": "Int8", "i16": "Int16", "i32": "Int32", "i64": "Int64",
    "i128": "Int128", "ui8": "Uint8", "ui16": "Uint16", "ui32": "Uint32", "ui64": "Uint64",
}  # fmt: skip


def folded(text: str) -> str:
    """Code with every call that is too long for a line broken up: its arguments on a line, or on one each."""
    return "\n".join(part for line in text.split("\n") for part in _fold(line))


def _fold(line: str) -> list[str]:
    """One line, or the outermost call that ends it spread over several; comments and strings stay as they are."""
    body = line.rstrip(",")
    tail = line[len(body) :]
    if len(line) <= WIDTH or not {"#", "'", '"'}.isdisjoint(line) or not body.endswith(")"):
        return [line]
    opening, arguments = _last_call(body)
    if not arguments:
        return [line]
    indent = line[: len(line) - len(line.lstrip())]
    inner = [f"{indent}    {', '.join(arguments)}"]
    if len(inner[0]) > WIDTH:
        inner = [part for argument in arguments for part in _fold(f"{indent}    {argument},")]
    return [body[: opening + 1], *inner, f"{indent}){tail}"]


def _last_call(body: str) -> tuple[int, list[str]]:
    """Where the parenthesis that the last character closes opens, and what is between its commas."""
    depth, end = 0, len(body) - 1
    arguments: list[str] = []
    for at in range(len(body) - 1, -1, -1):
        depth += (body[at] in ")]}") - (body[at] in "([{")
        if depth == 0:
            arguments.insert(0, body[at + 1 : end].strip())
            return at, [argument for argument in arguments if argument]
        if depth == 1 and body[at] == ",":
            arguments.insert(0, body[at + 1 : end].strip())
            end = at
    return len(body), []


def dtype_code(dtype: DType) -> str:
    """`cutlass.BFloat16`."""
    return f"cutlass.{_DSL_TYPES.get(dtype.name, dtype.name)}"


def tree_code(tree: Any) -> str:
    """A shape or stride as a Python literal; a run-time value as the name `ld`."""
    if type(tree) is tuple:
        inner = ", ".join(map(tree_code, tree))
        return f"({inner},)" if len(tree) == 1 else f"({inner})"
    if isinstance(tree, Dynamic):
        return "ld" if tree.divisor == 1 else f"cute.assume(ld, divby={tree.divisor})"
    return str(tree)


def layout_code(layout: Layout) -> str:
    """`cute.make_layout((128, 64), stride=(1, 128))`; the stride of a vector is left out where it is 1."""
    if len(layout) == 1 and layout.stride == compact_col_major(layout.shape):
        return f"cute.make_layout({tree_code(layout.shape)})"
    return f"cute.make_layout({tree_code(layout.shape)}, stride={tree_code(layout.stride)})"


def allocated_code(layout: Layout) -> str:
    """The layout to allocate: as above, or "layout" where the tile is a part of a larger one."""
    whole = layout.is_static and cosize(layout) == inttuple.product(layout.shape)
    return layout_code(layout) if whole else "layout"


def fragment_code(view: str, dtype: DType) -> str:
    """The register tensor of a thread's view, compact from its first mode on, so that V is contiguous.

    `make_rmem_tensor_like` orders by the view's strides instead, a run-time one last (DSL 4.8.1): of
    (8,4):(?,64) it makes (8,4):(4,1), which no wide copy takes.
    """
    return f"fragment = cute.make_rmem_tensor({view}.shape, {dtype_code(dtype)})"


def swizzle_code(swizzle: Swizzle) -> str:
    """`cute.make_swizzle(3, 4, 3)`."""
    return f"cute.make_swizzle({swizzle.bits}, {swizzle.base}, {swizzle.shift})"


def atom_code(atom: Atom) -> str:
    """`cute.make_copy_atom(op, dtype, num_bits_per_copy=128)`; the printed atom where there is no such call."""
    if not atom.constructor:
        return str(atom)
    bits = atom.width_bits if isinstance(atom, VectorAtom) else 0
    width = f", num_bits_per_copy={bits}" if bits else ""
    return f"cute.make_copy_atom({atom.constructor}, {dtype_code(atom.dtype)}{width})"


def tiled_copy_code(atom: Atom, thr: Layout, val: Layout, name: str = "tiled_copy") -> str:
    """The atom and `make_tiled_copy_tv`, one statement a line."""
    return (
        f"atom = {atom_code(atom)}\n"
        f"{name} = cute.make_tiled_copy_tv(atom, {layout_code(thr)}, {layout_code(val)})"
    )
