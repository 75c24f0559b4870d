"""What tensors are made of in text: a pointer's facts, and the layout that it goes with."""

from __future__ import annotations

import re
from typing import NamedTuple, TypeAlias

from layoutcheck.algebra.basis import Basis
from layoutcheck.algebra.inttuple import flatten
from layoutcheck.algebra.layout import Layout
from layoutcheck.algebra.notation import Scanner, read_any_layout, read_swizzle
from layoutcheck.algebra.swizzle import ComposedLayout, Swizzle
from layoutcheck.copies.memref import SPACES, Memref
from layoutcheck.errors import InputError
from layoutcheck.machine.dtypes import KNOWN, DType, dtype

_Facts: TypeAlias = "tuple[str | None, int | None, Swizzle | None]"  # space, alignment in bytes, swizzle

OPERAND = "a layout '(128,64):(1,128)', a '!cute.memref<...>' or a 'tensor<ptr<...> o ...>'"
_ALIGN = re.compile(r"align(?:\s*<\s*([0-9]{1,12})\s*>|\s+([0-9]{1,12})\b)")
_TYPE = re.compile(r"[A-RT-Za-z]\w*")
_LAYOUT_START = re.compile(r'["(?0-9S]')
SPACE_NAME = re.compile(rf"(?:{'|'.join(SPACES)})\b")
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


def pointer_facts(scan: Scanner, *, memref: bool = False) -> _Facts:
    """What follows a pointer's element type: `, SPACE`, `, align<N>` and `, S<b,m,s>`, each optional.

    In a memref the layout comes next, and the comma before it is read.
    """
    space: str | None = None
    align: int | None = None
    swizzle: Swizzle | None = None
    while scan.accept(","):
        scan.skip()
        at = scan.pos
        if found := scan.match(SPACE_NAME):
            space = found[0]
        elif found := scan.match(_ALIGN):
            align = int(found[1] or found[2])
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


def read_facts(scan: Scanner, defaults: Defaults) -> Defaults:
    """`defaults` with what stands before a layout as reports print it: `bf16 gmem align 16 S<3,4,3>`."""
    while True:
        scan.skip()
        at = scan.pos
        if found := scan.match(SPACE_NAME):
            swizzle = defaults.swizzle if found[0] == defaults.space else None
            defaults = defaults._replace(space=found[0], swizzle=swizzle)
        elif found := scan.match(_ALIGN):
            defaults = defaults._replace(align_bytes=int(found[1] or found[2]))
        elif scan.peek("S") and not _is_composed(scan):
            defaults = defaults._replace(swizzle=read_swizzle(scan))
        elif found := scan.match(_TYPE):
            try:
                defaults = defaults._replace(dtype=dtype(found[0]))
            except InputError:
                scan.pos = at
                return defaults
        else:
            return defaults


def _is_composed(scan: Scanner) -> bool:
    closing = scan.text.find(">", scan.pos)
    return closing >= 0 and scan.text[closing + 1 : closing + 16].lstrip().startswith("o")


def layout_after_o(scan: Scanner) -> Layout:
    """The layout of `POINTER o LAYOUT`, from the o on."""
    scan.expect("o", "'o' and the layout")
    return plain_layout(scan)


def plain_layout(scan: Scanner) -> Layout:
    """A layout into memory; composed layouts and layouts into coordinates are refused."""
    start = scan.pos
    layout = read_any_layout(scan)
    if isinstance(layout, ComposedLayout):
        raise scan.error("cute.copy takes no composed layout", _COMPOSED, start=start)
    if has_basis(layout):
        raise scan.error("this layout maps to coordinates, not to memory", OPERAND, start=start)
    return layout


def has_basis(layout: Layout) -> bool:
    """Whether the layout maps to coordinates."""
    return any(isinstance(leaf, Basis) for leaf in flatten(layout.stride))


def with_defaults(layout: Layout, defaults: Defaults, space: str | None = None) -> Memref:
    """The tensor of a layout alone. Raises InputError where nobody gave an element type."""
    if defaults.dtype is None:
        raise InputError(f"the element type of {defaults.name} is not given", expected=f"--dtype, {KNOWN}")
    return Memref(defaults.dtype, space or defaults.space, layout, defaults.align_bytes, defaults.swizzle)


def memref_of(
    scan: Scanner,
    start: int,
    element: DType,
    space: str,
    layout: Layout,
    align: int | None,
    swizzle: Swizzle | None,
) -> Memref:
    """The tensor; what its parts have against each other is an error at `start` in the text."""
    try:
        return Memref(element, space, layout, align, swizzle)
    except InputError as error:
        raise scan.error(error.message, error.expected, start=start) from None
