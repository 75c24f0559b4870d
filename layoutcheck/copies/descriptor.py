"""`DescriptorView`: shared memory named by matrix descriptors, which tcgen05.cp takes as its source."""

from __future__ import annotations

from dataclasses import dataclass

from layoutcheck.algebra.layout import Layout
from layoutcheck.copies.memref import Memref
from layoutcheck.machine.dtypes import DType


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
