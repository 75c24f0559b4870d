"""The canonical layout nearest to one that is none, and the DSL code that makes it."""

from __future__ import annotations

import numpy as np

from layoutcheck.algebra.image import image
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
                return str(layout), str(other), name, _code(name, layout, element, unit, other)
    shape = (size_of(layout[0].shape), size_of(layout[1].shape))
    first = [swizzle] if swizzle in tried and swizzle.bits else []
    for other in (*first, *tried):
        tile = atom_tile(shape, element.bits, major, other)
        if tile is not None and _works(tile, element, major, other, unit):
            name = f"{major}_{MODES[other.bits, other.base, other.shift].name}"
            return str(tile), str(other), name, _code(name, tile, element, unit, other)
    return "", "", "", ""


def _works(layout: Layout, element: DType, major: str, swizzle: Swizzle, unit: str) -> bool:
    try:
        one = first_step(layout, element.bits)
        decision = decide(one, element, major, swizzle, unit)
        return decision.accepted and not first_wrong(layout, element.bits, major, swizzle, decision)
    except InputError:
        return False


def atom_tile(
    shape: tuple[int, int], bits: int, major: str, swizzle: Swizzle, order: tuple[int, int] = (0, 1)
) -> Layout | None:
    """The canonical atom of a swizzle repeated over (MN, K), as `cute.tile_to_shape` does in that order.

    None where it does not divide the shape.
    """
    run = MODES[swizzle.bits, swizzle.base, swizzle.shift].units * UNIT_BITS // bits
    atom, inner = ((8, run), (run, 1)) if major == "K" else ((run, 8), (1, run))
    if shape[0] % atom[0] or shape[1] % atom[1]:
        return None
    counts = shape[0] // atom[0], shape[1] // atom[1]
    steps = (1, counts[0]) if order == (0, 1) else (counts[1], 1)
    extents = tuple(zip(atom, counts, strict=True))
    return Layout(extents, tuple((d, 8 * run * step) for d, step in zip(inner, steps, strict=True)))


def _code(name: str, layout: Layout, element: DType, unit: str, swizzle: Swizzle) -> str:
    """The DSL source of the layout: by the atom's kind, where an order of its tiles gives it."""
    module = "cute.nvgpu.warpgroup" if unit == "wgmma" else "cute.nvgpu.tcgen05"
    made = f"{module}.make_smem_layout_atom({module}.SmemLayoutAtomKind.{name}, dtype)"
    shape = (size_of(layout[0].shape), size_of(layout[1].shape))
    for order in ((0, 1), (1, 0)):
        tile = atom_tile(shape, element.bits, name.partition("_")[0], swizzle, order)
        if tile is not None and np.array_equal(image(tile), image(layout)):
            return f"atom = {made}  # {element}\nlayout = cute.tile_to_shape(atom, {shape}, order={order})"
    given = ", ".join(map(str, (swizzle.bits, swizzle.base, swizzle.shift)))
    return (
        f"layout = cute.make_layout({layout.shape}, stride={layout.stride})\n"
        f"swizzle = cute.make_swizzle({given})  # allocate_tensor(dtype, layout, swizzle=swizzle)"
    )
