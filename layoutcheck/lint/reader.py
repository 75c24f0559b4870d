"""Expressions read as CuTe's values, one function of CuTe at a time; `Unknown` for what is no literal."""

from __future__ import annotations

import ast
from typing import Any

from layoutcheck.errors import InputError
from layoutcheck.lint import resolve
from layoutcheck.lint.source import Call, Module, Scope
from layoutcheck.lint.values import Argument, Atom, Part, Pointer, Tensor, Tiled, Unknown

_DEPTH = 64
_MAX_DIGITS = 18
_OPS = {"CopyG2SOp": "cp.async", "CopyUniversalOp": "universal"}
_SPACES = frozenset(("gmem", "smem", "rmem"))


class Reader:
    """Reads expressions as CuTe values; raises Unknown for what is not written out."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self.depth = 0

    def copy(self, call: Call) -> dict[str, Any]:
        """The arguments of `layoutcheck.check` for a copy."""
        scope = call.scope
        if call.name.endswith("autovec_copy"):
            source, target = (self.tensor(scope, call.argument(i)) for i in (0, 1))
            element = source.pointer.dtype or target.pointer.dtype
            return {"op": "autovec_copy", **_operands(source, target, element)}
        source_node, target_node = call.argument(1, "src"), call.argument(2, "dst")
        source, target = self.value(scope, source_node), self.value(scope, target_node)
        if isinstance(source, Part) and isinstance(target, Part):
            tiled = source.tiled
            if target.tiled != tiled or (source.side, target.side) != ("src", "dst"):
                raise Unknown("partitions of different tiled copies")
            given = self.value(scope, call.argument(0))
            atom = given.atom if isinstance(given, Tiled) else given
            if atom != tiled.atom:
                raise Unknown("an atom that is not the partition's")
            views = _operands(source.tensor, target.tensor, atom.dtype)
            threads = {"thr": str(tiled.thr), "val": str(tiled.val)}
            return {**views, **_atom(atom), **threads, **self._block(scope)}
        atom = self.value(scope, call.argument(0))
        if not (isinstance(source, Tensor) and isinstance(target, Tensor) and isinstance(atom, Atom)):
            raise Unknown("operands that are not written out")
        op = "copy_atom_call" if call.name.endswith("copy_atom_call") else "copy"
        return {"op": op, **_operands(source, target, atom.dtype), **_atom(atom)}

    def tensor(self, scope: Scope, node: ast.expr | None) -> Tensor:
        """A tensor."""
        value = self.value(scope, node)
        if not isinstance(value, Tensor):
            raise Unknown("a tensor that is not written out")
        return value

    def layout(self, scope: Scope, node: ast.expr | None) -> Any:
        """A layout; a shape is that shape's packed layout."""
        value = self.value(scope, node)
        if isinstance(value, int | tuple):
            from layoutcheck.algebra import Layout

            return Layout(value)
        if hasattr(value, "shape") and not isinstance(value, Tensor):
            return value
        raise Unknown("a layout that is not written out")

    def value(self, scope: Scope, node: ast.expr | None) -> Any:
        """What an expression is."""
        self.depth += 1
        try:
            if node is None or self.depth > _DEPTH:
                raise Unknown("nothing written out")
            return self._value(scope, node)
        finally:
            self.depth -= 1

    def _value(self, scope: Scope, node: ast.expr) -> Any:
        if isinstance(node, ast.Constant) and type(node.value) is int and len(str(node.value)) <= _MAX_DIGITS:
            return node.value
        if isinstance(node, ast.Tuple | ast.List):
            return tuple(self.value(scope, each) for each in node.elts)
        if isinstance(node, ast.Name):
            return self._name(scope, node.id)
        if isinstance(node, ast.UnaryOp | ast.BinOp):
            number = resolve.integer(scope, node)
            if number is None:
                raise Unknown("an expression")
            return number
        if isinstance(node, ast.Call):
            return self._call(scope, node)
        if isinstance(node, ast.Attribute):
            return self._attribute(scope, node)
        raise Unknown(f"{type(node).__name__} is not read")

    def _name(self, scope: Scope, name: str) -> Any:
        bound = scope.only(name)
        if bound is not None:
            value = self.value(self._owner(scope, name), bound.node)
            if bound.index is None:
                return value
            if isinstance(value, tuple) and bound.index < len(value):
                return value[bound.index]
            raise Unknown(f"'{name}' is part of something")
        owner = self._parameter_of(scope, name)
        if owner is None:
            raise Unknown(f"'{name}' is bound more than once")
        return self._argument(owner, name)

    def _owner(self, scope: Scope, name: str) -> Scope:
        at: Scope | None = scope
        while at is not None and name not in at.values:
            at = at.parent
        return at or scope

    def _parameter_of(self, scope: Scope, name: str) -> Scope | None:
        at: Scope | None = scope
        while at is not None and name not in at.values:
            if name in at.parameters:
                return at
            at = at.parent
        return None

    def _argument(self, scope: Scope, name: str) -> Any:
        """A parameter: what the only call in the file gives, or a kernel's argument."""
        calls = self.module.callers(scope)
        if len(calls) == 1:
            shift = 1 if scope.parameters[:1] == ("self",) else 0
            position = scope.parameters.index(name) - shift
            given = calls[0].argument(position if position >= 0 else None, name)
            if given is not None:
                return self.value(calls[0].scope, given)
        if calls or not resolve.decorated(scope, "kernel", "jit"):
            raise Unknown(f"'{name}' comes from a caller")
        return Argument(name)

    def _attribute(self, scope: Scope, node: ast.Attribute) -> Any:
        if node.attr == "iterator":
            value = self.value(scope, node.value)
            if isinstance(value, Argument):
                return Pointer("gmem", None, 16)
            if isinstance(value, Tensor):
                return value.pointer
        elif node.attr == "layout":
            value = self.value(scope, node.value)
            if isinstance(value, Tensor):
                return value.layout
        elif node.attr in _SPACES and self.module.dotted(node.value).endswith("AddressSpace"):
            return node.attr
        raise Unknown(f".{node.attr} is not read")

    def _dtype(self, scope: Scope, node: ast.expr | None) -> str:
        found, index = resolve.follow(scope, node)
        if found is not None and index is None and not isinstance(found, ast.Call):
            from layoutcheck.machine.dtypes import dtype

            try:
                return str(dtype(resolve.last(self.module, found)))
            except InputError:
                pass
        raise Unknown("an element type that is not written out")

    def _call(self, scope: Scope, node: ast.Call) -> Any:
        name = resolve.last(self.module, node)
        call = Call(node, name, scope, ())
        reader = getattr(self, f"_read_{name}", None)
        if reader is None:
            raise Unknown(f"{name or 'a call'}() is not read")
        return reader(call)

    # One method for each function of CuTe that makes what a copy is made of.

    def _read_make_layout(self, call: Call) -> Any:
        from layoutcheck.algebra import Layout

        shape = self.value(call.scope, call.argument(0, "shape"))
        stride = call.argument(None, "stride")
        if not isinstance(shape, int | tuple):
            raise Unknown("a shape that is not written out")
        return Layout(shape) if stride is None else Layout(shape, self.value(call.scope, stride))

    def _read_make_ordered_layout(self, call: Call) -> Any:
        from layoutcheck.algebra import make_ordered_layout

        shape, order = (
            self.value(call.scope, call.argument(i, key)) for i, key in ((0, "shape"), (1, "order"))
        )
        return make_ordered_layout(shape, order)

    def _read_composition(self, call: Call) -> Any:
        from layoutcheck.algebra import composition

        a, b = (self.layout(call.scope, call.argument(i, key)) for i, key in ((0, "lhs"), (1, "rhs")))
        return composition(a, b, strict=False)

    def _read_make_swizzle(self, call: Call) -> Any:
        from layoutcheck.algebra import Swizzle

        return Swizzle(*(self.value(call.scope, call.argument(i)) for i in range(3)))

    def _read_make_composed_layout(self, call: Call) -> Any:
        from layoutcheck.algebra import ComposedLayout

        inner, offset, outer = (self.value(call.scope, call.argument(i)) for i in range(3))
        return ComposedLayout(inner, offset, outer)

    def _read_tile_to_shape(self, call: Call) -> Any:
        from layoutcheck.algebra import tile_to_shape

        block = self.layout(call.scope, call.argument(0))
        shape, order = (self.value(call.scope, call.argument(i)) for i in (1, 2))
        return tile_to_shape(block, shape, order, strict=False)

    def _read_make_tensor(self, call: Call) -> Tensor:
        pointer = self.value(call.scope, call.argument(0, "iterator"))
        if not isinstance(pointer, Pointer):
            raise Unknown("a pointer that is not written out")
        return Tensor(pointer, self.layout(call.scope, call.argument(1, "layout")))

    def _read_make_ptr(self, call: Call) -> Pointer:
        dtype = self._dtype(call.scope, call.argument(0, "dtype"))
        space = call.argument(2, "mem_space")
        align = call.argument(None, "assumed_align")
        from layoutcheck.machine.dtypes import dtype as named

        least = max(1, named(dtype).bits // 8)
        return Pointer(
            "generic" if space is None else self.value(call.scope, space),
            dtype,
            least if align is None else self.value(call.scope, align),
        )

    def _read_allocate_tensor(self, call: Call) -> Tensor:
        dtype = self._dtype(call.scope, call.argument(0, "element_type"))
        layout = self.layout(call.scope, call.argument(1, "layout"))
        align, swizzle = call.argument(2, "byte_alignment"), call.argument(3, "swizzle")
        from layoutcheck.machine.dtypes import dtype as named

        least = max(1, named(dtype).bits // 8)
        aligned = max(least, 1 if align is None else self.value(call.scope, align))
        turned = None if swizzle is None else str(self.value(call.scope, swizzle))
        return Tensor(Pointer("smem", dtype, aligned, turned), layout)

    def _read_make_rmem_tensor(self, call: Call) -> Tensor:
        layout = self.layout(call.scope, call.argument(0))
        return Tensor(Pointer("rmem", self._dtype(call.scope, call.argument(1, "dtype")), 32), layout)

    _read_make_fragment = _read_make_rmem_tensor

    def _read_make_copy_atom(self, call: Call) -> Atom:
        op, index = resolve.follow(call.scope, call.argument(0, "op"))
        if not isinstance(op, ast.Call) or index is not None:
            raise Unknown("an operation that is not written out")
        name = _OPS.get(resolve.last(self.module, op))
        if name is None or any(keyword.arg != "cache_mode" for keyword in op.keywords):
            raise Unknown(f"{resolve.last(self.module, op)} is not read")
        mode = op.args[0] if op.args else next((k.value for k in op.keywords), None)
        cache = "" if mode is None else resolve.last(self.module, mode).lower()
        bits = call.argument(None, "num_bits_per_copy")
        dtype = self._dtype(call.scope, call.argument(1, "copy_internal_type"))
        width = None if bits is None else self.value(call.scope, bits)
        return Atom(name, dtype, width, cache)

    _read_CopyAtom = _read_make_copy_atom  # noqa: N815

    def _read_make_tiled_copy_tv(self, call: Call) -> Tiled:
        atom = self.value(call.scope, call.argument(0))
        if not isinstance(atom, Atom):
            raise Unknown("an atom that is not written out")
        thr, val = (self.layout(call.scope, call.argument(i)) for i in (1, 2))
        return Tiled(atom, thr, val)

    def _read_get_slice(self, call: Call) -> Tiled:
        func = call.node.func
        value = self.value(call.scope, func.value) if isinstance(func, ast.Attribute) else None
        if not isinstance(value, Tiled):
            raise Unknown("a tiled copy that is not written out")
        return value

    def _partition(self, call: Call, side: str) -> Part:
        if not isinstance(call.node.func, ast.Attribute):
            raise Unknown("a partition of nothing")
        tiled = self.value(call.scope, call.node.func.value)
        if not isinstance(tiled, Tiled):
            raise Unknown("a tiled copy that is not written out")
        return Part(tiled, side, self.tensor(call.scope, call.argument(0)))

    def _read_partition_S(self, call: Call) -> Part:  # noqa: N802
        return self._partition(call, "src")

    def _read_partition_D(self, call: Call) -> Part:  # noqa: N802
        return self._partition(call, "dst")

    def _block(self, scope: Scope) -> dict[str, int]:
        """The threads launched, where all launches in the file have as many, written out."""
        sizes = set()
        for call in self.module.all_calls("launch"):
            block = call.argument(None, "block")
            try:
                value = self.value(call.scope, block)
            except (Unknown, InputError):
                return {}
            threads = 1
            for extent in value if isinstance(value, tuple) else (value,):
                if not isinstance(extent, int) or extent < 1:
                    return {}
                threads *= extent
            sizes.add(threads)
        return {"block": sizes.pop()} if len(sizes) == 1 else {}


def _operands(source: Tensor, target: Tensor, dtype: str | None) -> dict[str, str]:
    return {"src": _memref(source, dtype), "dst": _memref(target, dtype)}


def _memref(tensor: Tensor, dtype: str | None) -> str:
    """A tensor as the DSL prints its type."""
    pointer = tensor.pointer
    element = pointer.dtype or dtype
    if element is None:
        raise Unknown("an element type that is not written out")
    swizzle = f", {pointer.swizzle}" if pointer.swizzle else ""
    return (
        f'!cute.memref<{element}, {pointer.space}, align<{pointer.align_bytes}>{swizzle}, "{tensor.layout}">'
    )


def _atom(atom: Atom) -> dict[str, Any]:
    """The atom as `layoutcheck.check` takes it."""
    if atom.name == "cp.async":
        bits = atom.bits if atom.bits is not None else 0
        if not bits:
            raise Unknown("an atom of no stated width")
        cache = atom.cache or "always"
        return {"atom": f"!cute_nvgpu.atom.simt_async_copy<{atom.dtype}, cache = {cache}, {bits} b>"}
    width = {} if atom.bits is None else {"bits": atom.bits}
    return {"atom": "universal", "dtype": atom.dtype, **width}
