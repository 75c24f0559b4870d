"""`Memref`: a tensor as the compiler types it: element type, memory space, proved alignment, layout."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from types import NoneType
from typing import Any

from layoutcheck.algebra.inttuple import index_of, must_be
from layoutcheck.algebra.layout import Layout
from layoutcheck.algebra.swizzle import Swizzle
from layoutcheck.errors import InputError
from layoutcheck.machine.dtypes import DType

SPACES = ("gmem", "smem", "rmem", "tmem", "dsmem", "generic")


@dataclass(frozen=True, slots=True)
class Memref:
    """One operand of a copy: element type, memory space, layout in elements, what is known of its pointer.

    `space` is one of "gmem", "smem", "rmem", "tmem", "dsmem", "generic". `align_bytes` is what the compiler
    has proved of the base address (before any swizzle); None is the DSL's own default, the element's size.
    `swizzle` belongs to the pointer and acts on byte addresses. `recast_from` is the tensor this one was
    recast from, where that is known. `spare` says of registers how many elements their allocation has behind
    the layout's last one, none of which is read before it is written again; None where that is not known.
    Raises InputError for another space and for an alignment below 1.
    """

    dtype: DType
    space: str
    layout: Layout
    align_bytes: int | None = None
    swizzle: Swizzle | None = None
    recast_from: Memref | None = None
    spare: int | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        must_be(DType, "a DType: dtype('bf16')", dtype=self.dtype)
        if not isinstance(self.space, str) or self.space not in SPACES:
            raise InputError(f"unknown memory space '{str(self.space)[:40]}'", expected=" or ".join(SPACES))
        must_be(Layout, "a Layout", layout=self.layout)
        must_be((Swizzle, NoneType), "a Swizzle or None", swizzle=self.swizzle)
        if self.align_bytes is not None and type(self.align_bytes) is not int:
            object.__setattr__(self, "align_bytes", index_of("align_bytes", self.align_bytes))
        if self.align_bytes is not None and self.align_bytes < 1:
            raise InputError(f"alignment is at least 1 byte, not {self.align_bytes}")

    @property
    def shape(self) -> Any:
        """The layout's extents."""
        return self.layout.shape

    @property
    def element_bytes(self) -> int:
        """Bytes of an element, of whole bytes."""
        return self.dtype.bits // 8

    def __str__(self) -> str:
        facts = [str(self.dtype), self.space]
        if self.align_bytes is not None:
            facts.append(f"align<{self.align_bytes}>")
        if self.swizzle is not None:
            facts.append(str(self.swizzle))
        return f'!cute.memref<{", ".join(facts)}, "{self.layout}">'

    @property
    def proved_align_bytes(self) -> int:
        """Bytes that the base address is proved a multiple of; without `align<>` the size of an element."""
        return self.align_bytes if self.align_bytes is not None else max(1, self.dtype.bits // 8)

    @property
    def access_align_bytes(self) -> int:
        """The alignment that survives the pointer swizzle: min(align, 2^base); what an access really has."""
        align = self.proved_align_bytes
        if self.swizzle is None or self.swizzle.bits == 0:
            return align
        return min(align & -align, self.swizzle.granule)

    def with_layout(self, layout: Layout, align_bytes: int | None = None) -> Memref:
        """The same tensor under another view; `align_bytes` replaces the alignment when given."""
        return replace(self, layout=layout, align_bytes=align_bytes or self.align_bytes)
