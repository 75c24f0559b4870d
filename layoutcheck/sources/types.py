"""Operands and tiled copies from text: everything the DSL prints for a tensor, and bare layouts.

    !cute.memref<bf16, smem, align<16>, S<2,4,3>, "((8,1),(4)):((1,0),(1024))">     MLIR type
    tensor<ptr<bf16, gmem, align<16>> o (128,64):(1,128)>                           print(tensor)
    raw_ptr(0x00007f1c2be00000: bf16, gmem, align<16>) o (128,64):(1,128)           cute.print_tensor
    FakeTensor<BFloat16, (128, 64), (1, 128)>                                       print of a fake tensor
    (128,64):(1,128)                                                                a layout alone
    recast<f32>(TENSOR)                                                             cute.recast_tensor

What a text leaves open (type, space, alignment) is taken from a `Defaults`. Types that are not tensors in
memory become an `OtherOperand` with their text. All functions raise InputError with the place in the text.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple, TypeAlias, TypeVar

from layoutcheck.algebra.basis import Basis
from layoutcheck.algebra.inttuple import flatten
from layoutcheck.algebra.layout import Layout
from layoutcheck.algebra.notation import (
    Scanner,
    read_any_layout,
    read_layout,
    read_swizzle,
    read_tiler,
    read_tree,
)
from layoutcheck.algebra.swizzle import ComposedLayout, Swizzle
from layoutcheck.copies.alignment import recast as recast_tensor
from layoutcheck.copies.descriptor import descriptor_view
from layoutcheck.copies.memref import SPACES, Memref
from layoutcheck.copies.opaque import OtherOperand, coord_tensor, other_operand
from layoutcheck.copies.tiled import TiledCopy
from layoutcheck.errors import InputError
from layoutcheck.machine.dtypes import KNOWN, DType
from layoutcheck.sources.atoms import parse_atom, read_atom, read_dtype
from layoutcheck.sources.balanced import MAX_TYPE, span_end

_T = TypeVar("_T")
_Facts: TypeAlias = "tuple[str | None, int | None, Swizzle | None]"

__all__ = ["Defaults", "parse_atom", "parse_memref", "parse_operand", "parse_tiled_copy", "recast"]

OPERAND = "a layout '(128,64):(1,128)', a '!cute.memref<...>' or a 'tensor<ptr<...> o ...>'"

_ALIGN = re.compile(r"align\s*<\s*(\d{1,12})\s*>")
_ADDRESS = re.compile(r"(0x[0-9a-fA-F]{1,16})")
_LAYOUT_START = re.compile(r'["(?\dS]')
_TYPE_NAME = re.compile(r"!?\w+(?:\.\w+)*")
_SPACE_NAME = re.compile(rf"(?:{'|'.join(SPACES)})\b")
_COORD_TENSOR = re.compile(r'<\s*"(\([^"]*\))"\s*,\s*"([^"]*)"\s*>\Z')
_FRACTION = re.compile(r"\d+/\d+@")
_COMPOSED = (
    "the layout alone and --swizzle with the pointer's swizzle, of bytes; or a tensor<ptr<...>> or memref, "
    "such as tensor<ptr<bf16, smem, align<128>, S<3,4,3>> o (64,64):(64,1)>"
)


class Defaults(NamedTuple):
    """What to take for granted of a tensor whose text does not say it; `name` is how errors call it."""

    dtype: DType | None = None
    space: str = "gmem"
    align_bytes: int | None = None
    swizzle: Swizzle | None = None
    name: str = "the operand"


def parse_memref(text: str, defaults: Defaults | None = None) -> Memref:
    """A tensor in memory; an `OtherOperand` for a printed type that is none."""
    _bounded(text)
    scan = Scanner(text)
    memref = read_operand(scan, defaults or Defaults())
    scan.finish("the tensor")
    return memref


def parse_operand(text: str, defaults: Defaults | None = None) -> Memref | TiledCopy:
    """A tensor in memory or a tiled copy."""
    return (
        parse_tiled_copy(text)
        if text.lstrip().startswith("!cute.tiled_copy")
        else parse_memref(text, defaults)
    )


def parse_tiled_copy(text: str) -> TiledCopy:
    """`!cute.tiled_copy<ATOM, layout_copy_tv = <"...">, tiler_mn = <"[...]">>`."""
    _bounded(text)
    scan = Scanner(text)
    scan.expect("!cute.tiled_copy<", "a tiled copy, '!cute.tiled_copy<...>'")
    atom = read_atom(scan)
    scan.expect(",")
    scan.expect("layout_copy_tv", "'layout_copy_tv = <\"...\">'")
    layout = _quoted_field(scan, read_layout)
    scan.expect(",")
    scan.expect("tiler_mn", "'tiler_mn = <\"[...]\">'")
    tiler = _quoted_field(scan, read_tiler)
    scan.expect(">")
    scan.finish("the tiled copy")
    return TiledCopy(atom, layout, tiler)


def read_operand(scan: Scanner, defaults: Defaults) -> Memref:
    """The tensor at the scanner's place."""
    scan.skip()
    if scan.peek("!"):
        return _read_mlir(scan)
    for token, reader in _PRINTED.items():
        if scan.accept(token):
            return reader(scan, defaults)
    if scan.peek("ptr<"):
        raise scan.error("a pointer without a layout", OPERAND)
    start = scan.pos
    if not (scan.peek("(") or scan.peek("?") or scan.peek("S") or scan.text[start : start + 1].isdigit()):
        raise scan.error("not a tensor" if not scan.at_end() else "nothing to read", OPERAND)
    return _with_defaults(_plain_layout(scan), defaults)


def _bounded(text: str) -> None:
    if len(text) > MAX_TYPE:
        raise InputError(
            f"{len(text)} characters are too many for one operand", expected=f"at most {MAX_TYPE}"
        )


def _read_mlir(scan: Scanner) -> Memref:
    start = scan.pos
    name = scan.match(_TYPE_NAME)
    if name is None or not scan.text.startswith("<", scan.pos):
        raise scan.error("not a type of the compiler", "'!cute.memref<...>'", start=start)
    end = span_end(scan.text, scan.pos)
    inner = Scanner(scan.text, scan.pos + 1)
    scan.pos = end
    whole = " ".join(scan.text[start:end].split())
    if name[0] == "!cute.layout":
        raise InputError(
            "a layout type says neither element type nor space", text=scan.text, start=start, expected=OPERAND
        )
    if name[0] == "!cute.ptr":
        raise InputError("a pointer without a layout", text=scan.text, start=start, expected=OPERAND)
    if name[0] == "!cute_nvgpu.smem_desc_view":
        return _read_descriptors(inner)
    if name[0] == "!cute.coord_tensor":
        return _coord_tensor(whole)
    if name[0] != "!cute.memref" or inner.peek("!"):  # a memref of pointers is no tensor that we model
        return other_operand(name[0].lstrip("!"), whole)
    element = read_dtype(inner)
    space, align, swizzle = _pointer_facts(inner, memref=True)
    quoted = inner.accept('"')
    layout = read_any_layout(inner)
    if quoted:
        inner.expect('"')
    inner.expect(">")
    if isinstance(layout, ComposedLayout) or _has_basis(layout):
        return other_operand("cute.memref", whole)
    return _memref(scan, start, element, space or "generic", layout, align, swizzle)


def _read_descriptors(inner: Scanner) -> Memref:
    """The inside of `!cute_nvgpu.smem_desc_view<!cute_nvgpu.smem_desc, "LAYOUT">`."""
    inner.expect("!cute_nvgpu.smem_desc", "'!cute_nvgpu.smem_desc'")
    inner.expect(",")
    inner.expect('"', "a layout in quotes")
    layout = read_layout(inner)
    inner.expect('"')
    inner.expect(">")
    return descriptor_view(layout)


def _coord_tensor(whole: str) -> Memref:
    """`!cute.coord_tensor<"(0,?)", "LAYOUT">`; one whose layout is not a plain one keeps its text only."""
    found = _COORD_TENSOR.search(whole)
    if found is None:
        return other_operand("cute.coord_tensor", whole)
    plain = _FRACTION.sub("1@", found[2])
    try:
        scan = Scanner(plain)
        layout = read_layout(scan)
        scan.finish("the layout")
    except InputError:
        return other_operand("cute.coord_tensor", whole)
    return coord_tensor(whole, found[1], layout, plain == found[2])


def _pointer_facts(scan: Scanner, *, memref: bool = False) -> _Facts:
    """What follows a pointer's element type: `, SPACE`, `, align<N>` and `, S<b,m,s>`, each optional.

    In a memref the layout comes next, and the comma before it is read.
    """
    space: str | None = None
    align: int | None = None
    swizzle: Swizzle | None = None
    while scan.accept(","):
        scan.skip()
        at = scan.pos
        if found := scan.match(_SPACE_NAME):
            space = found[0]
        elif found := scan.match(_ALIGN):
            align = int(found[1])
            if align < 1:
                raise scan.error("an alignment of 0 bytes", "align<N> with N at least 1", start=at)
        elif scan.peek("S<") and not _is_composed(scan):
            swizzle = read_swizzle(scan)
        elif memref and scan.peek('"S<') and not _is_composed(scan):
            scan.accept('"')
            swizzle = read_swizzle(scan)
            scan.expect('"')
        elif memref and _LAYOUT_START.match(scan.text, at):
            break
        else:
            expected = f"a space ({', '.join(SPACES)}), align<N> or S<b,m,s>"
            raise scan.error("unknown fact about a pointer", expected, start=at)
    return space, align, swizzle


def _is_composed(scan: Scanner) -> bool:
    closing = scan.text.find(">", scan.pos)
    return closing >= 0 and scan.text[closing + 1 : closing + 16].lstrip().startswith("o")


def _read_tensor(scan: Scanner, defaults: Defaults) -> Memref:
    """`tensor<ptr<...> o LAYOUT>`, `tensor<0x...@SPACE o ...>` or a coordinate tensor; `tensor<` is read."""
    opening = scan.pos - 1
    if scan.accept("ptr<"):
        element = read_dtype(scan)
        space, align, swizzle = _pointer_facts(scan)
        scan.expect(">", "',' or the '>' of the pointer")
        layout = _layout_after_o(scan)
        scan.expect(">", "the '>' of the tensor")
        return _memref(scan, opening, element, space or "generic", layout, align, swizzle)
    if scan.match(_ADDRESS):
        scan.expect("@", "'@' and a memory space")
        found = scan.match(_SPACE_NAME)
        if found is None:
            raise scan.error("unknown memory space", " or ".join(SPACES))
        layout = _layout_after_o(scan)
        scan.expect(">", "the '>' of the tensor")
        return _with_defaults(layout, defaults, space=found[0])
    if scan.peek("("):
        end = span_end(scan.text, opening)
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
    space, align, swizzle = _pointer_facts(scan)
    scan.expect(")", "',' or the ')' of the pointer")
    layout = _layout_after_o(scan)
    return _memref(scan, start, element, space or defaults.space, layout, align, swizzle)


def _read_printed_tensor(scan: Scanner, defaults: Defaults) -> Memref:
    """`tensor(raw_ptr(...) o LAYOUT, data=...)`; `tensor(` is read."""
    end = span_end(scan.text, scan.pos - 1)
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
    return _memref(scan, start, element, defaults.space, layout, defaults.align_bytes, defaults.swizzle)


def _read_recast(scan: Scanner, defaults: Defaults) -> Memref:
    """`recast<DT>(OPERAND)`; `recast<` is read."""
    element = read_dtype(scan)
    scan.expect(">")
    scan.expect("(")
    start = scan.pos
    inner = read_operand(scan, defaults)
    scan.expect(")")
    try:
        return recast(inner, element)
    except InputError as error:
        raise scan.error(error.message, error.expected, start=start) from None


def recast(memref: Memref, element: DType) -> Memref:
    """The tensor as `cute.recast_tensor` makes it: other elements, strides rounded up, the swizzle forgotten.

    Raises InputError for an operand without a layout in memory.
    """
    if isinstance(memref, OtherOperand):
        raise InputError(f"{memref.name} cannot be recast")
    return recast_tensor(memref, element)


def _layout_after_o(scan: Scanner) -> Layout:
    scan.expect("o", "'o' and the layout")
    return _plain_layout(scan)


def _plain_layout(scan: Scanner) -> Layout:
    """A layout into memory; composed layouts and layouts into coordinates are refused."""
    start = scan.pos
    layout = read_any_layout(scan)
    if isinstance(layout, ComposedLayout):
        raise scan.error("cute.copy takes no composed layout", _COMPOSED, start=start)
    if _has_basis(layout):
        raise scan.error("this layout maps to coordinates, not to memory", OPERAND, start=start)
    return layout


def _has_basis(layout: Layout) -> bool:
    return any(isinstance(leaf, Basis) for leaf in flatten(layout.stride))


def _with_defaults(layout: Layout, defaults: Defaults, space: str | None = None) -> Memref:
    if defaults.dtype is None:
        raise InputError(f"the element type of {defaults.name} is not given", expected=f"--dtype, {KNOWN}")
    return Memref(defaults.dtype, space or defaults.space, layout, defaults.align_bytes, defaults.swizzle)


def _memref(
    scan: Scanner,
    start: int,
    element: DType,
    space: str,
    layout: Layout,
    align: int | None,
    swizzle: Swizzle | None,
) -> Memref:
    try:
        return Memref(element, space, layout, align, swizzle)
    except InputError as error:
        raise scan.error(error.message, error.expected, start=start) from None


def _quoted_field(scan: Scanner, read: Callable[[Scanner], _T]) -> _T:
    """`= <"VALUE">` with VALUE read by `read`."""
    scan.expect("=")
    scan.expect("<")
    quoted = scan.accept('"')
    value = read(scan)
    if quoted:
        scan.expect('"')
    scan.expect(">")
    return value


_PRINTED = {
    "tensor<": _read_tensor,
    "Tensor<": _read_tensor,
    "tensor(": _read_printed_tensor,
    "raw_ptr(": _read_raw_pointer,
    "FakeTensor<": _read_fake,
    "recast<": _read_recast,
}
