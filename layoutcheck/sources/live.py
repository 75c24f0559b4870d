"""Live objects as operands: DSL tensors, layouts and atoms, torch tensors, numpy arrays, and our own values.

Objects are known by what they offer, never by their class: neither the DSL nor torch is imported. A DSL
object is read through its printed MLIR type, an array through its shape, strides, element type and address.
"""

from __future__ import annotations

from typing import Any

from layoutcheck.algebra.layout import Layout
from layoutcheck.algebra.notation import parse_layout
from layoutcheck.algebra.swizzle import ComposedLayout
from layoutcheck.copies.atom import Atom
from layoutcheck.copies.memref import SPACES, Memref
from layoutcheck.copies.tiled import TiledCopy
from layoutcheck.errors import InputError, option_of, said_of
from layoutcheck.machine.dtypes import DType, dtype
from layoutcheck.sources.atoms import parse_atom
from layoutcheck.sources.pointers import Defaults
from layoutcheck.sources.types import parse_memref, parse_tiled_copy

_MOST_ALIGN_BYTES = 16  # of an array's address: what the widest instruction needs, and what users promise


def to_memref(value: Any, defaults: Defaults) -> Memref:
    """The tensor that `value` is or describes. Raises InputError."""
    if isinstance(value, Memref):
        return value
    if isinstance(value, str):
        return parse_memref(value, defaults)
    if isinstance(value, ComposedLayout):
        return parse_memref(str(value), defaults)  # refused there, with the reason
    if isinstance(value, Layout):
        return parse_memref(str(value), defaults)
    printed = _mlir_type(value)
    if printed is not None:
        layout = _layout_type(printed)
        return parse_memref(printed if layout is None else layout, defaults)
    if callable(getattr(value, "stride", None)) and hasattr(value, "data_ptr"):
        return _from_torch(value)
    if hasattr(value, "__array_interface__"):
        return _from_numpy(value)
    if hasattr(value, "shape") and hasattr(value, "stride") and hasattr(value, "dtype"):
        return _from_fake_tensor(value, defaults)
    raise InputError(
        f"{_named(value)} is neither a tensor nor a layout", expected="text, a tensor or a layout"
    )


def to_atom(value: Any, element: DType | None, bits: int | None) -> Atom | TiledCopy:
    """The atom or tiled copy that `value` is or describes. Raises InputError."""
    if isinstance(value, (TiledCopy, Atom)):
        return value
    text = value if isinstance(value, str) else _mlir_type(value)
    if text is None:
        raise InputError(f"{_named(value)} is not a copy atom", expected="text, an atom or a tiled copy")
    if text.lstrip().startswith("!cute.tiled_copy"):
        return parse_tiled_copy(text)
    return parse_atom(text, element, bits)


def to_layout(value: Any, name: str) -> Layout:
    """The layout that `value`, the argument `name`, is or describes. Raises InputError."""
    if isinstance(value, Layout):
        return value
    with said_of(option_of(name)):
        if isinstance(value, str):
            return parse_layout(value)
        printed = _mlir_type(value)
        layout = _layout_type(printed) if printed is not None else None
        if layout is None:
            raise InputError(f"{_named(value)} is not a layout", expected="a layout")
        return parse_layout(layout)


def _named(value: Any) -> str:
    return f"an object of type {type(value).__name__}"


def _mlir_type(value: Any) -> str | None:
    """The `!cute...` type of a DSL object; outside of a traced function some have none."""
    for attribute in ("type", "mlir_type"):
        try:
            printed = str(getattr(value, attribute))
        except Exception:  # the DSL raises all sorts where no MLIR context is active
            continue
        if printed.startswith("!cute"):
            return printed
    return None


def _layout_type(printed: str) -> str | None:
    """The layout in a `!cute.layout<"...">` or `!cute.composed_layout<"...">`."""
    for name in ("!cute.layout<", "!cute.composed_layout<"):
        if printed.startswith(name):
            return printed[len(name) : -1].strip().strip('"')
    return None


def _from_torch(tensor: Any) -> Memref:
    shape = tuple(int(extent) for extent in tensor.shape)
    stride = tuple(int(step) for step in tensor.stride())
    element = dtype(tensor.dtype)
    return Memref(element, "gmem", _layout(shape, stride), _address_align(int(tensor.data_ptr())))


def _from_numpy(array: Any) -> Memref:
    interface = array.__array_interface__
    shape = tuple(int(extent) for extent in array.shape)
    item = int(array.dtype.itemsize)
    if any(int(step) % item for step in array.strides):
        raise InputError(f"strides of {tuple(array.strides)} bytes are not whole elements of {item} bytes")
    stride = tuple(int(step) // item for step in array.strides)
    return Memref(dtype(array.dtype), "gmem", _layout(shape, stride), _address_align(interface["data"][0]))


def _from_fake_tensor(tensor: Any, defaults: Defaults) -> Memref:
    """The DSL's tensors made for compilation only: shape, stride, element type and a promised alignment."""
    element = dtype(getattr(tensor.dtype, "__name__", str(tensor.dtype)))
    space = str(getattr(getattr(tensor, "memspace", None), "name", defaults.space))
    align = getattr(tensor, "_assumed_align", None)
    layout = parse_layout(f"{_tree(tensor.shape)}:{_tree(tensor.stride)}")
    return Memref(
        element,
        space if space in SPACES else "generic",
        layout,
        align if isinstance(align, int) else defaults.align_bytes,
    )


def _tree(value: Any) -> str:
    if isinstance(value, (tuple, list)):
        return f"({','.join(map(_tree, value))})"
    return str(value)


def _layout(shape: tuple[int, ...], stride: tuple[int, ...]) -> Layout:
    return Layout(shape, stride) if shape else Layout(1, 0)


def _address_align(address: int) -> int:
    """The largest power of two that divides the address, up to what any instruction needs."""
    return min(address & -address, _MOST_ALIGN_BYTES) if address else _MOST_ALIGN_BYTES
