"""Pointers as C++ CuTe prints them before a layout, and the layouts of tiles that may have one.

    smem_ptr[16b](0x7f0000000400) o (_64,_64):(_64,_1)          a tensor in shared memory
    Sw<3,4,3>_smem_ptr[16b](0x7f0000000400) o (_64,_64):(_64,_1)    of a swizzled pointer
    Sw<3,4,3> o smem_ptr[16b](unset) o (_64,_64):(_64,_1)       a layout for one: Layout_K_SW128_Atom<half_t>

The swizzle of a pointer acts on bytes (`swizzle_ptr`, cute/pointer_swizzle.hpp), that of a composed layout,
`Sw<3,3,3> o _0 o (_64,_64):(_64,_1)`, on elements.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from layoutcheck.algebra.layout import Layout
from layoutcheck.algebra.notation import Scanner, parse_swizzle, read_any_layout
from layoutcheck.algebra.swizzle import ComposedLayout, Swizzle
from layoutcheck.errors import InputError
from layoutcheck.machine.tiles import in_bytes

_POINTER = re.compile(
    r"(?:(Sw?(?:izzle)?\s*<[^<>]*>)(?:_|\s*o\s+))?(?:([a-z]+)_)?(?:sub)?ptr\[([0-9]{1,3})b\]\([^()]*\)\s*o\s*"
)


class Pointer(NamedTuple):
    """What is printed of a pointer: its space ("" if not), its elements' bits, its swizzle of bytes."""

    space: str
    bits: int
    swizzle: Swizzle | None

    def must_hold(self, element_bits: int) -> None:
        """Raises InputError for elements of another width than printed."""
        if element_bits != self.bits:
            what = f"the pointer has elements of {self.bits} bits, the type given has {element_bits}"
            raise InputError(what, expected=f"an element type of {self.bits} bits")


def read_pointer(scan: Scanner) -> Pointer | None:
    """The pointer, with the `o` after it, at the scanner's place; None where none is."""
    found = scan.match(_POINTER)
    if found is None:
        return None
    return Pointer(found[2] or "", int(found[3]), parse_swizzle(found[1]) if found[1] else None)


def parse_tile(text: str, element_bits: int) -> tuple[Layout | ComposedLayout, Swizzle | None]:
    """A tile's layout, and its pointer's swizzle if that is printed. Raises InputError."""
    scan = Scanner(text)
    pointer = read_pointer(scan)
    layout = read_any_layout(scan)
    scan.finish("the layout")
    if pointer is None:
        return layout, None
    pointer.must_hold(element_bits)
    if pointer.space not in ("", "smem"):
        raise InputError(
            f"the tile is in {pointer.space}", expected="one in shared memory, smem_ptr[...] o ..."
        )
    return layout, pointer.swizzle or Swizzle(0, 4, 3)


def how_read(tile: Layout | ComposedLayout, pointer: Swizzle | None, element_bits: int) -> str:
    """Which swizzle of a tile was read, and in which unit; "" where none was given."""
    if isinstance(tile, ComposedLayout) and isinstance(tile.inner, Swizzle):
        of_bytes = in_bytes(tile.inner, element_bits)
        return f"a composed layout: {tile.inner} counts elements, {of_bytes} on the pointer, in bytes"
    if pointer is None:
        return ""
    return f"{pointer} on the pointer, in bytes" if pointer.bits else "a pointer without a swizzle"
