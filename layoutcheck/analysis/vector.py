"""The vector of one instruction on one side of a copy: which elements it should hold, and why it cannot."""

from __future__ import annotations

from typing import Any, NamedTuple

from layoutcheck.algebra import inttuple
from layoutcheck.algebra.integers import Dynamic
from layoutcheck.algebra.layout import Layout
from layoutcheck.algebra.modes import dotted, leaves
from layoutcheck.copies.alignment import storage_bits
from layoutcheck.copies.copy import Copy

SIDES = ("src", "dst")
NAMES = {"src": "source", "dst": "destination", "pred": "predicate", "atom": "atom"}


class Break(NamedTuple):
    """Where a run of adjacent elements ends: the stride at `path` of `layout` does not continue it.

    `element` is the first element of the vector that is not where the instruction takes it from, at that
    offset; `asked` is its offset by the layout (None where the stride is dynamic).
    """

    side: str
    layout: Layout
    path: tuple[int, ...]
    extent: int
    stride: Any
    element: int

    @property
    def is_dynamic(self) -> bool:
        """Whether the stride is known only at run time."""
        return isinstance(self.stride, Dynamic)

    @property
    def asked(self) -> int | None:
        """The offset of `element` by the layout, in elements."""
        return None if self.is_dynamic else int(self.stride)

    @property
    def mode_text(self) -> str:
        """`mode 0` or `mode 0.1`, as a path into the layout."""
        return f"mode {dotted(self.path)}"


def width_bits(copy: Copy) -> int:
    """Bits that one instruction of the copy's atom is asked to move; 0 where the compiler chooses."""
    return copy.atom.instruction_bits if copy.atom else 0


def elements(copy: Copy) -> int:
    """Elements of one instruction, at least 1."""
    return max(1, width_bits(copy) // max(1, copy.src.dtype.bits))


def vector_sides(copy: Copy) -> tuple[str, ...]:
    """The sides on which the instruction needs a run in memory; a matrix's registers have their own order."""
    return copy.atom.run_sides if copy.atom else SIDES


def find_break(copy: Copy, side: str, count: int | None = None) -> Break | None:
    """The first place where the vector's elements stop being adjacent on `side`; None if they never do."""
    memref = copy.side(side)
    n = elements(copy) if count is None else count
    run = 1
    for path, extent, stride in leaves(memref.layout):
        if run >= n:
            break
        if extent == 1:
            continue
        if stride != run:
            return _break(copy, side, memref.layout, path, extent, stride, run)
        run *= extent
    return None


def _break(
    copy: Copy, side: str, view: Layout, path: tuple[int, ...], extent: int, stride: Any, run: int
) -> Break:
    """The break in the user's own tensor where the view was partitioned from one, else in the view."""
    if copy.tiling is not None:
        whole = copy.tiling.side(side).layout
        for whole_path, whole_extent, whole_stride in leaves(whole):
            if whole_stride == stride and whole_extent != 1:
                return Break(side, whole, whole_path, whole_extent, stride, run)
    return Break(side, view, path, extent, stride, run)


def describe(found: Break, copy: Copy) -> str:
    """`mode 0 of the destination ... has stride 64: its neighbours are 128 B apart; one 16 B ...`."""
    memref = copy.side(found.side)
    n = elements(copy)
    where = f"{found.mode_text} of the {NAMES[found.side]} {found.layout}"
    need = f"one {width_bits(copy) // 8} B instruction takes {n} adjacent elements"
    if found.is_dynamic:
        return f"{where} has stride {found.stride}, known only at run time; {need}"
    distance = abs(found.stride) * storage_bits(memref.dtype)
    apart = f"{distance // 8} B" if distance % 8 == 0 else f"{distance} bits"
    if found.element > 1:
        return f"{where} has stride {found.stride} where {found.element} would continue the run; {need}"
    if found.stride == 0:
        return f"{where} has stride 0: its values are one and the same element; {need}"
    return f"{where} has stride {found.stride}: its neighbours are {apart} apart; {need}"


def atom_v(copy: Copy, side: str) -> int | None:
    """Elements that the atom takes of V: V[0] where V is (atom, rest), else V; None where dynamic.

    Universal and register copies walk all of V in vectors, whatever its nesting.
    """
    v = inttuple.mode(copy.side(side).layout.shape, 0)
    walks = copy.atom is not None and copy.atom.walks_v
    part = v[0] if copy.splits_v and not walks else v
    size = inttuple.product(part)
    return size if isinstance(size, int) else None
