"""Tensors as Python prints them: `tensor<...>`, `raw_ptr(...)`, `tensor(...)`, `FakeTensor<...>`."""

from __future__ import annotations

import re

from layoutcheck.algebra.layout import Layout
from layoutcheck.algebra.notation import Scanner, read_any_layout, read_tree
from layoutcheck.algebra.swizzle import ComposedLayout
from layoutcheck.atoms.reading import read_dtype
from layoutcheck.brackets import type_end
from layoutcheck.copies.memref import SPACES, Memref
from layoutcheck.copies.opaque import other_operand
from layoutcheck.errors import InputError
from layoutcheck.sources.pointers import (
    OPERAND,
    SPACE_NAME,
    Defaults,
    has_basis,
    layout_after_o,
    memref_of,
    pointer_facts,
    with_defaults,
)

_ADDRESS = re.compile(r"(0x[0-9a-fA-F]{1,16})")


def _read_tensor(scan: Scanner, defaults: Defaults) -> Memref:
    """`tensor<ptr<...> o LAYOUT>`, `tensor<0x...@SPACE o ...>` or a coordinate tensor; `tensor<` is read."""
    opening = scan.pos - 1
    if scan.accept("ptr<"):
        element = read_dtype(scan)
        space, align, swizzle = pointer_facts(scan)
        scan.expect(">", "',' or the '>' of the pointer")
        scan.expect("o", "'o' and the layout")
        start = scan.pos
        layout = read_any_layout(scan)
        scan.expect(">", "the '>' of the tensor")
        if isinstance(layout, ComposedLayout):  # as the compiler's type of it
            facts = [element.name, space or "generic", *([f"align<{align}>"] if align else [])]
            return other_operand("cute.memref", f'!cute.memref<{", ".join(facts)}, "{layout}">')
        if has_basis(layout):
            raise scan.error("this layout maps to coordinates, not to memory", OPERAND, start=start)
        return memref_of(scan, opening, element, space or "generic", layout, align, swizzle)
    if scan.match(_ADDRESS):
        scan.expect("@", "'@' and a memory space")
        found = scan.need("unknown memory space", " or ".join(SPACES), SPACE_NAME)
        layout = layout_after_o(scan)
        scan.expect(">", "the '>' of the tensor")
        return with_defaults(layout, defaults, space=found[0])
    if scan.peek("("):
        end = type_end(scan.text, opening)
        scan.pos = end
        return other_operand("coord_tensor", " ".join(scan.text[opening - len("tensor") : end].split()))
    raise scan.error("unexpected text in the tensor", "'ptr<', an address or a coordinate")


def _read_raw_pointer(scan: Scanner, defaults: Defaults) -> Memref:
    """`raw_ptr(0xADDRESS: DT, SPACE, align<N>) o LAYOUT`; `raw_ptr(` is read."""
    start = scan.pos
    if scan.match(_ADDRESS) is None:
        raise scan.error("not an address", "0x...")
    scan.expect(":", "':' and the element type")
    element = read_dtype(scan)
    space, align, swizzle = pointer_facts(scan)
    scan.expect(")", "',' or the ')' of the pointer")
    layout = layout_after_o(scan)
    return memref_of(scan, start, element, space or defaults.space, layout, align, swizzle)


def _read_printed_tensor(scan: Scanner, defaults: Defaults) -> Memref:
    """`tensor(raw_ptr(...) o LAYOUT, data=...)`; `tensor(` is read."""
    end = type_end(scan.text, scan.pos - 1)
    scan.expect("raw_ptr(", "'raw_ptr('")
    memref = _read_raw_pointer(scan, defaults)
    if not (scan.peek(")") or scan.peek(",")):
        raise scan.error("unexpected text in the tensor", "', data=...' or ')'")
    scan.pos = end
    return memref


def _read_fake(scan: Scanner, defaults: Defaults) -> Memref:
    """`FakeTensor<BFloat16, (128, 64), (1, 128)>`; `FakeTensor<` is read."""
    element = read_dtype(scan)
    scan.expect(",")
    start = scan.pos
    shape = read_tree(scan, "a shape", strides=False)
    scan.expect(",")
    stride = read_tree(scan, "a stride")
    scan.expect(">")
    try:
        layout = Layout(shape, stride)
    except InputError as error:
        raise scan.error(error.message, error.expected, start=start) from None
    return memref_of(scan, start, element, defaults.space, layout, defaults.align_bytes, defaults.swizzle)


# By what the text begins with, which has been read when they are called.
READERS = {
    "tensor<": _read_tensor,
    "Tensor<": _read_tensor,
    "tensor(": _read_printed_tensor,
    "raw_ptr(": _read_raw_pointer,
    "FakeTensor<": _read_fake,
}
