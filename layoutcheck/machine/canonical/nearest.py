"""The canonical layout nearest to one that is none, and the DSL code that makes it."""

from __future__ import annotations

from layoutcheck.algebra.layout import Layout
from layoutcheck.algebra.swizzle import Swizzle
from layoutcheck.errors import InputError
from layoutcheck.machine.canonical.decide import decide, first_step
from layoutcheck.machine.canonical.described import first_wrong
from layoutcheck.machine.canonical.modes import MODES, UNIT_BITS, size_of
from layoutcheck.machine.dtypes import DType


def nearest(
    layout: Layout, element: DType, major: str, swizzle: Swizzle, unit: str
) -> tuple[str, str, str, str]:
    """(layout, pointer's swizzle, kind, code) of a canonical operand near this one; empty where none fits.

    The same layout under another swizzle, or with the other major, else the tile of the widest atom that
    divides its shape.
    """
    tried = [Swizzle(*key) for key in ((3, 4, 3), (2, 4, 3), (1, 4, 3), (0, 4, 3))]
    for kind in (major, "MN" if major == "K" else "K"):
        for other in tried:
            if (kind, other) != (major, swizzle) and _works(layout, element, kind, other, unit):
                name = f"{kind}_{MODES[other.bits, other.base, other.shift].name}"
                return str(layout), str(other), name, _code(name, layout, element, unit)
    shape = (size_of(layout[0].shape), size_of(layout[1].shape))
    first = [swizzle] if swizzle in tried and swizzle.bits else []
    for other in (*first, *tried):
        tile = atom_tile(shape, element.bits, major, other)
        if tile is not None and _works(tile, element, major, other, unit):
            name = f"{major}_{MODES[other.bits, other.base, other.shift].name}"
            return str(tile), str(other), name, _code(name, tile, element, unit)
    return "", "", "", ""


def _works(layout: Layout, element: DType, major: str, swizzle: Swizzle, unit: str) -> bool:
    try:
        one = first_step(layout, element.bits)
        decision = decide(one, element, major, swizzle, unit)
        return decision.accepted and not first_wrong(layout, element.bits, major, swizzle, decision)
    except InputError:
        return False


def atom_tile(shape: tuple[int, int], bits: int, major: str, swizzle: Swizzle) -> Layout | None:
    """The canonical atom of a swizzle repeated over (MN, K), MN first; None where it does not divide it."""
    run = MODES[swizzle.bits, swizzle.base, swizzle.shift].units * UNIT_BITS // bits
    mn, k = shape
    if major == "K":
        if mn % 8 or k % run:
            return None
        return Layout(((8, mn // 8), (run, k // run)), ((run, 8 * run), (1, mn * run)))
    if mn % run or k % 8:
        return None
    return Layout(((run, mn // run), (8, k // 8)), ((1, 8 * run), (run, 8 * mn)))


def _code(name: str, layout: Layout, element: DType, unit: str) -> str:
    """The DSL source of the layout, by the atom's kind."""
    module = "cute.nvgpu.warpgroup" if unit == "wgmma" else "cute.nvgpu.tcgen05"
    shape = (size_of(layout[0].shape), size_of(layout[1].shape))
    return (
        f"atom = {module}.make_smem_layout_atom({module}.SmemLayoutAtomKind.{name}, dtype)  # {element}\n"
        f"layout = cute.tile_to_shape(atom, {shape}, order=(0, 1))"
    )
