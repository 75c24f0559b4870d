"""What a matrix descriptor describes, element by element, beside what a layout says.

Of a layout that is not canonical: the nearest one that is, and the DSL code that makes it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from layoutcheck.algebra.image import image
from layoutcheck.algebra.layout import Layout
from layoutcheck.algebra.swizzle import Swizzle
from layoutcheck.errors import InputError
from layoutcheck.machine.canonical.decide import Decision, decide, first_step
from layoutcheck.machine.canonical.modes import K_BITS, MODES, UNIT_BITS, size_of
from layoutcheck.machine.dtypes import DType

_MAX_ELEMENTS = 1 << 20


def described(shape: tuple[int, int], bits: int, major: str, swizzle: Swizzle, decision: Decision) -> Any:
    """Bit offsets [mn, k] of the elements of one instruction, before the swizzle, as the descriptor says."""
    _, w, rows, _ = MODES[swizzle.bits, swizzle.base, swizzle.shift]
    mn, k = (np.arange(n, dtype=np.int64) for n in shape)
    leading, stride = decision.leading_bytes * 8, decision.stride_bytes * 8
    per = UNIT_BITS // bits
    if major == "K":
        row = mn % rows * (w * UNIT_BITS) + mn // rows * stride
        column = k // per * (leading if w == 1 else UNIT_BITS) + k % per * bits
        return row[:, None] + column
    across, along = (stride, leading) if w == 1 else (leading, stride)
    unit = mn // per
    row = unit % w * UNIT_BITS + unit // w * across + mn % per * bits
    return row[:, None] + (k % rows * (w * UNIT_BITS) + k // rows * along)


def first_wrong(
    layout: Layout, bits: int, major: str, swizzle: Swizzle, decision: Decision
) -> tuple[str, dict[str, Any]] | None:
    """Why the descriptor of each K step does not describe the layout; None where it does."""
    size = (size_of(layout[0].shape), size_of(layout[1].shape))
    step = min(size[1], K_BITS // bits)
    if size[0] * size[1] > _MAX_ELEMENTS:
        raise InputError(f"an operand of {size[0] * size[1]} elements is too large to compare")
    said = image(layout[0])[:, None] * bits + image(layout[1]) * bits
    want = described((size[0], step), bits, major, swizzle, decision)
    for start in range(0, size[1] - step + 1, step):
        base = int(said[0, start])
        if base % UNIT_BITS:
            return (
                f"K step {start // step} begins at bit {base}, and a descriptor's address counts 16 bytes",
                {"k": start, "offset_bits": base},
            )
        off = said[:, start : start + step] - base != want
        if off.any():
            mn, k = (int(i) for i in np.argwhere(off)[0])
            asked, used = int(said[mn, start + k]), base + int(want[mn, k])
            return (
                f"element ({mn},{start + k}) is {asked // bits} elements from the base, in the descriptor"
                f" {used / bits:g}: strides that are not multiples of 16 bytes are rounded up",
                {"mn": mn, "k": start + k, "asked_bits": asked, "used_bits": used},
            )
    return None


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
