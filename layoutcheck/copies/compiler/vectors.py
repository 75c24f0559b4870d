"""The strides a vector of n elements meets, as the verifier computes them: `composition(flatten(L), n:1)`.

It looks at the whole layout, rest modes included, not at the V mode alone:

    ((4),(2)):((1),(4))     n = 8 meets (8):(1)        one run, although V has four elements
    ((4),(2)):((1),(64))    n = 8 meets (4,2):(1,64)
    ((8),(4)):((1),(?))     n = 8 meets (8):(1)        the run-time pitch is not reached

The composition is CuTe C++'s: modes are coalesced from the right, a last mode of extent 1 counts as
extent 2, the last mode goes on forever, and an extent that neither divides what is left of n nor is as
long as it has no answer, which kills the process (SIGABRT). Measured.
"""

from __future__ import annotations

from typing import NamedTuple

from layoutcheck.algebra.integers import Int
from layoutcheck.algebra.inttuple import flatten, is_static, product
from layoutcheck.algebra.layout import Layout
from layoutcheck.algebra.layout import text as layout_text
from layoutcheck.algebra.simplify import joined

Strides = tuple[Int, ...]


class Inadmissible(NamedTuple):
    """No answer: a mode's `extent` does not divide the `left` of n. The verifier prints it as x."""

    extent: int
    left: int

    def __str__(self) -> str:
        return "x"


def vector_strides(layout: Layout, n: int) -> Strides | Inadmissible:
    """The strides of the first `n` elements of a layout of static shape."""
    shape, stride = flatten(layout.shape), flatten(layout.stride)
    if shape[-1] == 1:
        shape = (*shape[:-1], 2)
    modes = list(zip(*joined(shape, stride), strict=True))
    taken: list[tuple[int, Int]] = []
    left = n
    for extent, stride in modes[:-1]:
        if left == 1:
            break
        if left % min(extent, left):
            return Inadmissible(extent, left)
        taken.append((min(extent, left), stride))
        left //= min(extent, left)
    if left > 1 or not taken:
        taken.append((left, modes[-1][1]))
    return tuple(joined(*map(tuple, zip(*taken, strict=True)))[1])


class Vectors(NamedTuple):
    """What the verifier makes of n elements on both sides.

    `verdict` is "one" (strides of product 1 on both sides), "not_one", "dynamic" or "aborts"; `operand`
    the side that decides it. A dynamic stride on either side decides first; then the source is looked at
    before the destination, so that an inadmissible destination is not reached where the source is not one.
    """

    verdict: str
    operand: str
    src: Strides | Inadmissible
    dst: Strides | Inadmissible

    @property
    def evidence(self) -> dict[str, str]:
        """The strides, as the verifier prints them."""
        return {"src_strides": text(self.src), "dst_strides": text(self.dst)}


def vectors(src: Layout, dst: Layout, n: int) -> Vectors:
    """n elements of each of two layouts of static shape."""
    both = vector_strides(src, n), vector_strides(dst, n)
    sides = list(zip(("src", "dst"), both, strict=True))
    for operand, strides in sides:
        if not isinstance(strides, Inadmissible) and not is_static(strides):
            return Vectors("dynamic", operand, *both)
    for operand, strides in sides:
        if isinstance(strides, Inadmissible):
            return Vectors("aborts", operand, *both)
        if product(strides) != 1:
            return Vectors("not_one", operand, *both)
    return Vectors("one", "src", *both)


def contiguous_run(layout: Layout) -> int:
    """The elements, over the whole layout, that follow the first one at stride 1; at least 1."""
    shapes, strides = joined(flatten(layout.shape), flatten(layout.stride))
    return shapes[0] if strides[0] == 1 else 1


def text(strides: Strides | Inadmissible) -> str:
    """As the verifier prints them: 1, (1,8) or x."""
    if isinstance(strides, Inadmissible) or len(strides) > 1:
        return layout_text(strides)
    return str(strides[0])
