"""`OtherOperand`: an operand that is recognised but is not a tensor in memory with a plain layout.

It is kept as the compiler printed it, so that a report can show it. What more is known of coordinate tensors,
which TMA copies take, is in `CoordTensor`. `DescriptorView` is the source of tcgen05.cp: shared memory
named by matrix descriptors.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from layoutcheck.algebra.layout import Layout
from layoutcheck.copies.memref import Memref
from layoutcheck.machine.dtypes import DType


@dataclass(frozen=True, slots=True)
class OtherOperand(Memref):
    """`name` is the type (`cute.coord_tensor`, ...), `text` all of it; Memref's fields mean nothing."""

    name: str = ""
    text: str = ""

    def __str__(self) -> str:
        return self.text


def other_operand(name: str, text: str) -> OtherOperand:
    """The operand printed as `text`."""
    return OtherOperand(DType("index", 64, "index"), "generic", Layout.trusted(1, 0), name=name, text=text)


_RUN_TIME_SWIZZLE = re.compile(r'"(S<[0-9]+,[0-9]+,-?[0-9]+>) o \?')


def run_time_swizzle(view: Memref) -> str | None:
    """The swizzle of a view whose layout is composed with it at a run-time offset; None for others."""
    found = _RUN_TIME_SWIZZLE.search(view.text) if isinstance(view, OtherOperand) else None
    return found[1] if found else None


def is_composed(view: Memref) -> bool:
    """Whether the view is in memory and its layout composed with a swizzle."""
    return isinstance(view, OtherOperand) and view.name == "cute.memref" and '"S<' in view.text


@dataclass(frozen=True, slots=True)
class CoordTensor(OtherOperand):
    """A tensor of coordinates, the global side of a TMA copy: `layout` has basis strides (`1@0`).

    `origin` is the coordinate of its first element as printed. A stride may be a fraction (`1/2@0`, elements
    narrower than the tensor map's): `layout` has its numerator, `denominators` the rest of it, one for each
    leaf of the layout. `exact` is False where there are fractions, and for im2col, where `layout` is of
    places in the convolution's matrix, which are coordinates by another layout.
    """

    origin: str = ""
    denominators: tuple[int, ...] = ()

    @property
    def exact(self) -> bool:
        """Whether `layout` is the coordinates' own."""
        return not self.composed and max(self.denominators, default=1) == 1

    @property
    def composed(self) -> bool:
        """Whether it is one of im2col, its layout composed with that of the coordinates."""
        return " o " in self.text

    @property
    def place_is_static(self) -> bool:
        """Whether it is, and everything of it is known when it is compiled."""
        return self.composed and "?" not in self.text


def coord_tensor(text: str, origin: str, layout: Layout, denominators: tuple[int, ...]) -> CoordTensor:
    """The coordinate tensor printed as `text`."""
    none = DType("index", 64, "index")
    name = "cute.coord_tensor"
    return CoordTensor(
        none, "generic", layout, name=name, text=text, origin=origin, denominators=denominators
    )


@dataclass(frozen=True, slots=True)
class DescriptorView(Memref):
    """`layout` is in the descriptor's unit, 16 bytes: what is added to the start address of the first.

    Where the rows of a matrix lie is in the descriptor's own run-time bits, not in this type.
    """

    def __str__(self) -> str:
        return f'!cute_nvgpu.smem_desc_view<!cute_nvgpu.smem_desc, "{self.layout}">'


def descriptor_view(layout: Layout) -> DescriptorView:
    """The view printed as `!cute_nvgpu.smem_desc_view<!cute_nvgpu.smem_desc, "layout">`."""
    return DescriptorView(DType("i128", 128, "int"), "smem", layout, 16)
