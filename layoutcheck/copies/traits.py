"""Which bits each lane of an atom touches: the (thread, value) -> bit layouts that CuTe calls Copy_Traits.

Both sides number the same data, so that (thread t, bit v) of the source and (thread t', bit v') of the
destination are one bit where the layouts give the same index. A single-thread atom maps value v to bit v
on both sides. For ldmatrix and stmatrix one side is shared memory, where lane t supplies the address of
one 128-bit row, and the other side the register fragment of each lane:

    ldmatrix x4      src (32,128):(128,1)                lane t brings row t
                     dst (32,(32,4)):(32,(1,1024))       lane t gets 32 bits of each of 4 matrices

Identical to what the DSL prints for `layout_src_tv` and `layout_dst_tv` of an atom
(tests/conformance/test_partition.py).
"""

from __future__ import annotations

from typing import Any, NamedTuple

from layoutcheck.algebra.integers import ceil_div
from layoutcheck.algebra.layout import Layout

WARP = 32


class AtomTraits(NamedTuple):
    """`threads` that execute the atom together, and (thread, value) -> bit on each side.

    `ref` is the side whose (thread, value) a TiledCopy's layout_tv speaks of: for matrices the fragment.
    """

    threads: int
    src: Layout
    dst: Layout
    ref: Layout

    def elements(self, bits: int) -> AtomTraits:
        """The same with values of `bits` bits: (thread, value) -> element."""
        src, dst = _upcast(self.src, bits), _upcast(self.dst, bits)
        return AtomTraits(self.threads, src, dst, dst if self.ref == self.dst else src)


def line(width_bits: int) -> AtomTraits:
    """Of one thread whose value v is bit v; of width 0 (auto) one value, 1:0."""
    layout = Layout((1, width_bits), (0, 1)) if width_bits > 0 else Layout((1, 1), (0, 0))
    return AtomTraits(1, layout, layout, layout)


def thread_values(lanes: Layout, values: list[tuple[int, int]]) -> Layout:
    """The layout of `lanes` and of the (extent, stride) of every mode of the values."""
    if len(values) == 1:
        return Layout((lanes.shape, values[0][0]), (lanes.stride, values[0][1]))
    return Layout((lanes.shape, tuple(n for n, _ in values)), (lanes.stride, tuple(d for _, d in values)))


def _upcast(layout: Layout, n: int) -> Layout:
    """Layout of units n times as large, leaf by leaf, as CuTe's `upcast` of a static layout."""

    def leaf(shape: Any, stride: Any) -> tuple[Any, Any]:
        if type(shape) is tuple:
            pairs = [leaf(s, d) for s, d in zip(shape, stride, strict=True)]
            return tuple(s for s, _ in pairs), tuple(d for _, d in pairs)
        if stride == 0:
            return shape, stride
        return ceil_div(shape, ceil_div(n, stride)), ceil_div(stride, n)

    return Layout(*leaf(layout.shape, layout.stride))
