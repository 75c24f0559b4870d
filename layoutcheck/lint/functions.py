"""The functions of CuTe that make what a copy is made of, each read from its call."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from layoutcheck.lint import resolve
from layoutcheck.lint.expressions import Expressions
from layoutcheck.lint.scopes import Call
from layoutcheck.lint.values import Atom, Part, Pointer, Tensor, Tiled, Unknown

_OPS = {"CopyG2SOp": "cp.async", "CopyUniversalOp": "universal"}


def _make_layout(read: Expressions, call: Call) -> Any:
    from layoutcheck.algebra import Layout

    shape = read.value(call.scope, call.argument(0, "shape"))
    stride = call.argument(None, "stride")
    if not isinstance(shape, int | tuple):
        raise Unknown("a shape that is not written out")
    return Layout(shape) if stride is None else Layout(shape, read.value(call.scope, stride))


def _make_ordered_layout(read: Expressions, call: Call) -> Any:
    from layoutcheck.algebra import make_ordered_layout

    shape, order = (read.value(call.scope, call.argument(i, key)) for i, key in ((0, "shape"), (1, "order")))
    return make_ordered_layout(shape, order)


def _composition(read: Expressions, call: Call) -> Any:
    from layoutcheck.algebra import composition

    a, b = (read.layout(call.scope, call.argument(i, key)) for i, key in ((0, "lhs"), (1, "rhs")))
    return composition(a, b, strict=False)


def _make_swizzle(read: Expressions, call: Call) -> Any:
    from layoutcheck.algebra import Swizzle

    return Swizzle(*(read.value(call.scope, call.argument(i)) for i in range(3)))


def _make_composed_layout(read: Expressions, call: Call) -> Any:
    from layoutcheck.algebra import ComposedLayout

    inner, offset, outer = (read.value(call.scope, call.argument(i)) for i in range(3))
    return ComposedLayout(inner, offset, outer)


def _tile_to_shape(read: Expressions, call: Call) -> Any:
    from layoutcheck.algebra import tile_to_shape

    block = read.layout(call.scope, call.argument(0))
    shape, order = (read.value(call.scope, call.argument(i)) for i in (1, 2))
    return tile_to_shape(block, shape, order, strict=False)


def _make_tensor(read: Expressions, call: Call) -> Tensor:
    pointer = read.value(call.scope, call.argument(0, "iterator"))
    if not isinstance(pointer, Pointer):
        raise Unknown("a pointer that is not written out")
    return Tensor(pointer, read.layout(call.scope, call.argument(1, "layout")))


def _make_ptr(read: Expressions, call: Call) -> Pointer:
    dtype = read.dtype(call.scope, call.argument(0, "dtype"))
    space = call.argument(2, "mem_space")
    align = call.argument(None, "assumed_align")
    return Pointer(
        "generic" if space is None else read.value(call.scope, space),
        dtype,
        _element_bytes(dtype) if align is None else read.value(call.scope, align),
    )


def _allocate_tensor(read: Expressions, call: Call) -> Tensor:
    dtype = read.dtype(call.scope, call.argument(0, "element_type"))
    layout = read.layout(call.scope, call.argument(1, "layout"))
    align, swizzle = call.argument(2, "byte_alignment"), call.argument(3, "swizzle")
    aligned = max(_element_bytes(dtype), 1 if align is None else read.value(call.scope, align))
    turned = None if swizzle is None else str(read.value(call.scope, swizzle))
    return Tensor(Pointer("smem", dtype, aligned, turned), layout)


def _element_bytes(name: str) -> int:
    from layoutcheck.machine.dtypes import dtype

    return max(1, dtype(name).bits // 8)


def _make_rmem_tensor(read: Expressions, call: Call) -> Tensor:
    layout = read.layout(call.scope, call.argument(0))
    return Tensor(Pointer("rmem", read.dtype(call.scope, call.argument(1, "dtype")), 32), layout)


def _make_copy_atom(read: Expressions, call: Call) -> Atom:
    op, index = resolve.follow(call.scope, call.argument(0, "op"))
    if not isinstance(op, ast.Call) or index is not None:
        raise Unknown("an operation that is not written out")
    name = _OPS.get(resolve.last(read.module, op))
    if name is None or any(keyword.arg != "cache_mode" for keyword in op.keywords):
        raise Unknown(f"{resolve.last(read.module, op)} is not read")
    mode = op.args[0] if op.args else next((k.value for k in op.keywords), None)
    cache = "" if mode is None else resolve.last(read.module, mode).lower()
    bits = call.argument(None, "num_bits_per_copy")
    dtype = read.dtype(call.scope, call.argument(1, "copy_internal_type"))
    width = None if bits is None else read.value(call.scope, bits)
    return Atom(name, dtype, width, cache)


def _make_tiled_copy_tv(read: Expressions, call: Call) -> Tiled:
    atom = read.value(call.scope, call.argument(0))
    if not isinstance(atom, Atom):
        raise Unknown("an atom that is not written out")
    thr, val = (read.layout(call.scope, call.argument(i)) for i in (1, 2))
    return Tiled(atom, thr, val)


def _get_slice(read: Expressions, call: Call) -> Tiled:
    func = call.node.func
    value = read.value(call.scope, func.value) if isinstance(func, ast.Attribute) else None
    if not isinstance(value, Tiled):
        raise Unknown("a tiled copy that is not written out")
    return value


def _partition(read: Expressions, call: Call, side: str) -> Part:
    if not isinstance(call.node.func, ast.Attribute):
        raise Unknown("a partition of nothing")
    tiled = read.value(call.scope, call.node.func.value)
    if not isinstance(tiled, Tiled):
        raise Unknown("a tiled copy that is not written out")
    return Part(tiled, side, read.tensor(call.scope, call.argument(0)))


def _partition_s(read: Expressions, call: Call) -> Part:
    return _partition(read, call, "src")


def _partition_d(read: Expressions, call: Call) -> Part:
    return _partition(read, call, "dst")


FUNCTIONS: dict[str, Callable[[Expressions, Call], Any]] = {
    "make_layout": _make_layout,
    "make_ordered_layout": _make_ordered_layout,
    "composition": _composition,
    "make_swizzle": _make_swizzle,
    "make_composed_layout": _make_composed_layout,
    "tile_to_shape": _tile_to_shape,
    "make_tensor": _make_tensor,
    "make_ptr": _make_ptr,
    "allocate_tensor": _allocate_tensor,
    "make_rmem_tensor": _make_rmem_tensor,
    "make_fragment": _make_rmem_tensor,
    "make_copy_atom": _make_copy_atom,
    "CopyAtom": _make_copy_atom,
    "make_tiled_copy_tv": _make_tiled_copy_tv,
    "get_slice": _get_slice,
    "partition_S": _partition_s,
    "partition_D": _partition_d,
}
