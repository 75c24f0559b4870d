"""Operands and tiled copies from text: everything the DSL prints for a tensor, and bare layouts.

    !cute.memref<bf16, smem, align<16>, S<2,4,3>, "((8,1),(4)):((1,0),(1024))">     MLIR type
    tensor<ptr<bf16, gmem, align<16>> o (128,64):(1,128)>                           print(tensor)
    raw_ptr(0x00007f1c2be00000: bf16, gmem, align<16>) o (128,64):(1,128)           cute.print_tensor
    FakeTensor<BFloat16, (128, 64), (1, 128)>                                       print of a fake tensor
    (128,64):(1,128)                                                                a layout alone
    bf16 gmem align 16 (128,64):(1,128)                                             as reports print it
    Sw<3,4,3>_smem_ptr[16b](0x7f1c2be00000) o (_64,_64):(_64,_1)                    C++ CuTe's print
    recast<f32>(TENSOR)                                                             cute.recast_tensor

What a text leaves open (type, space, alignment) is taken from a `Defaults`. Types that are not tensors in
memory become an `OtherOperand` with their text. All functions raise InputError with the place in the text.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from layoutcheck.algebra.layout import Layout
from layoutcheck.algebra.notation import Scanner, read_any_layout, read_layout, read_tiler
from layoutcheck.algebra.swizzle import ComposedLayout, Swizzle
from layoutcheck.atoms.reading import read_dtype
from layoutcheck.brackets import MAX_TYPE, type_end
from layoutcheck.copies.alignment import recast as recast_tensor
from layoutcheck.copies.memref import SPACES, Memref
from layoutcheck.copies.opaque import OtherOperand, coord_tensor, descriptor_view, other_operand
from layoutcheck.copies.tiled import TiledCopy
from layoutcheck.digits import is_number
from layoutcheck.errors import InputError
from layoutcheck.machine.dtypes import DType, dtype
from layoutcheck.machine.pointers import Pointer, read_pointer
from layoutcheck.machine.tiles import in_bytes
from layoutcheck.sources.atoms import read_atom
from layoutcheck.sources.pointers import (
    OPERAND,
    Defaults,
    has_basis,
    memref_of,
    plain_layout,
    pointer_facts,
    read_facts,
    with_defaults,
)
from layoutcheck.sources.printed_tensors import READERS

_T = TypeVar("_T")

_TYPE_NAME = re.compile(r"!?\w+(?:\.\w+)*")
_COORD_TENSOR = re.compile(r'<\s*"(\([^"]*\))"\s*,\s*"([^"]*)"\s*>\Z')
_FRACTION = re.compile(r"([0-9]+)/[0-9]+@")
_LEAF = re.compile(r"\?(?:\{[^}]*\})?|[0-9]+(?:/([0-9]+))?")  # of a stride, its modes being what follows an @
_MODES = re.compile(r"(?:@[0-9]+)+")


def parse_memref(text: str, defaults: Defaults | None = None) -> Memref:
    """A tensor in memory; an `OtherOperand` for a printed type that is none."""
    _bounded(text)
    scan = Scanner(text)
    memref = read_operand(scan, defaults or Defaults())
    scan.finish("the tensor")
    return memref


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
    if scan.accept("recast<"):
        return _read_recast(scan, defaults)
    for token, reader in READERS.items():
        if scan.accept(token):
            return reader(scan, defaults)
    if scan.peek("ptr<"):
        raise scan.error("a pointer without a layout", OPERAND)
    pointer = read_pointer(scan)
    if pointer is not None:
        return _of_pointer(plain_layout(scan), pointer, defaults)
    defaults = read_facts(scan, defaults)
    start = scan.pos
    if not (any(map(scan.peek, "(?S_")) or is_number(scan.text[start : start + 1])):
        raise scan.error("not a tensor" if not scan.at_end() else "nothing to read", OPERAND)
    if scan.peek("S") and defaults.space == "smem":
        layout, swizzle = _composed(scan, defaults.dtype)
        return with_defaults(layout, defaults._replace(swizzle=swizzle))
    return with_defaults(plain_layout(scan), defaults)


def _of_pointer(layout: Layout, pointer: Pointer, defaults: Defaults) -> Memref:
    """The tensor of a pointer that C++ printed: of its element type it says the width alone."""
    element = defaults.dtype or dtype(f"i{pointer.bits}")
    pointer.must_hold(element.bits)
    space = pointer.space if pointer.space in SPACES else defaults.space
    align = defaults.align_bytes if space == defaults.space else None
    return Memref(element, space, layout, align, pointer.swizzle)


def _composed(scan: Scanner, element: DType | None) -> tuple[Layout, Swizzle]:
    """The layout of `S<3,3,3> o 0 o LAYOUT`, whose swizzle counts elements, and that swizzle in bytes."""
    start = scan.pos
    found = read_any_layout(scan)
    if not isinstance(found, ComposedLayout) or not isinstance(found.inner, Swizzle) or found.offset != 0:
        raise scan.error("not a swizzled tile", "S<3,3,3> o 0 o (64,64):(64,1)", start=start)
    if not isinstance(found.outer, Layout) or has_basis(found.outer):
        raise scan.error("this layout maps to coordinates, not to memory", OPERAND, start=start)
    return found.outer, in_bytes(found.inner, 8 if element is None else element.bits)


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
    end = type_end(scan.text, scan.pos)
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
    space, align, swizzle = pointer_facts(inner, memref=True)
    quoted = inner.accept('"')
    layout = read_any_layout(inner)
    if quoted:
        inner.expect('"')
    inner.expect(">")
    if isinstance(layout, ComposedLayout) or has_basis(layout):
        return other_operand("cute.memref", whole)
    return memref_of(scan, start, element, space or "generic", layout, align, swizzle)


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
    """`!cute.coord_tensor<"(0,?)", "LAYOUT">`; one whose layout is not a plain one keeps its text only.

    Of im2col it is `COORDINATES o OFFSET o PLACES`, of which the last stands for all.
    """
    found = _COORD_TENSOR.search(whole)
    if found is None:
        return other_operand("cute.coord_tensor", whole)
    printed = found[2].rpartition(" o ")[2]
    plain = _FRACTION.sub(r"\1@", printed)
    try:
        scan = Scanner(plain)
        layout = read_layout(scan)
        scan.finish("the layout")
    except InputError:
        return other_operand("cute.coord_tensor", whole)
    leaves = _LEAF.finditer(_MODES.sub("", printed.partition(":")[2]))
    return coord_tensor(whole, found[1], layout, tuple(int(leaf[1] or 1) for leaf in leaves))


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


_COMPOSED = re.compile(r'(!cute\.memref<[^"]*)"S<([0-9]+),([0-9]+),([0-9]+)> o 0 o ([^"]+)">\Z')


def unswizzled(text: str) -> Memref | None:
    """A tensor with a composed layout `S o 0 o L` as one of layout L under a pointer that swizzles bytes.

    The swizzle is of offsets from the base. That is what the pointer's swizzle does of a base that is a
    multiple of its period, which is taken for granted: another base moves all addresses alike.
    None for any other tensor.
    """
    match = _COMPOSED.match(text)
    if match is None:
        return None
    memref = parse_memref(f'{match[1]}"{match[5]}">')
    bits, base, shift = (int(match[i]) for i in (2, 3, 4))
    element_bytes = memref.dtype.bits // 8
    if isinstance(memref, OtherOperand) or memref.swizzle or element_bytes & (element_bytes - 1):
        return None
    swizzle = Swizzle(bits, base + element_bytes.bit_length() - 1, shift)
    align = max(memref.proved_align_bytes, swizzle.period)
    return replace(memref, swizzle=swizzle, align_bytes=align) if element_bytes else None
