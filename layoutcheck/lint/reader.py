"""A copy in the source as the arguments of `layoutcheck.check`."""

from __future__ import annotations

from typing import Any

from layoutcheck.errors import InputError
from layoutcheck.lint.expressions import Expressions
from layoutcheck.lint.functions import FUNCTIONS
from layoutcheck.lint.scopes import Call, Scope
from layoutcheck.lint.source import Module
from layoutcheck.lint.values import Atom, Part, Tensor, Tiled, Unknown


class Reader(Expressions):
    """Reads copies and layouts of a module; raises Unknown for what is not written out."""

    def __init__(self, module: Module) -> None:
        super().__init__(module, FUNCTIONS)

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
            return {**views, **_atom(atom), **threads, **_block(self, scope)}
        atom = self.value(scope, call.argument(0))
        if not (isinstance(source, Tensor) and isinstance(target, Tensor) and isinstance(atom, Atom)):
            raise Unknown("operands that are not written out")
        op = "copy_atom_call" if call.name.endswith("copy_atom_call") else "copy"
        return {"op": op, **_operands(source, target, atom.dtype), **_atom(atom)}


def _block(read: Reader, scope: Scope) -> dict[str, int]:
    """The threads launched, where all launches in the file have as many, written out."""
    sizes = set()
    for call in read.module.all_calls("launch"):
        block = call.argument(None, "block")
        try:
            value = read.value(call.scope, block)
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
