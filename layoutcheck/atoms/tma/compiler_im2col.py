"""What `make_im2col_tma_atom`, `local_tile` and `tma_partition` refuse of im2col. Measured."""

from __future__ import annotations

from layoutcheck.algebra.integers import Dynamic
from layoutcheck.algebra.inttuple import is_static, product, wrap
from layoutcheck.atoms.tma.im2col import NoDivision, NoMatrix, NoPixelBox, divides, matrix, pixel_box, taken
from layoutcheck.atoms.tma.plan import gmem_side, smem_side, tile_of
from layoutcheck.copies.compiler.prediction import Prediction, aborts, rejected
from layoutcheck.copies.copy import Copy
from layoutcheck.errors import InputError


def predict_im2col(copy: Copy) -> Prediction | None:
    """The first error behind that of the shared layout against the tiler, None for none."""
    tile = tile_of(copy)
    assert tile.im2col is not None
    gmem, smem = copy.side(gmem_side(copy)).layout, copy.side(smem_side(copy))
    described = tile.described or smem
    side = smem_side(copy)
    if not is_static(described.layout) or not is_static(smem.layout):
        return Prediction("unknown", "a shared layout known at run time is not modelled", "tma_smem", side)
    if copy.side(gmem_side(copy)).dtype.bits < 8 or tile.internal is not None:
        text = "im2col of elements narrower than a byte, or of an internal type, is not modelled"
        return Prediction("unknown", text, "tma_im2col", gmem_side(copy))
    try:
        channel, channels, _ = pixel_box(described.layout, tile.tiler)
    except NoPixelBox as error:
        text = "failed to compute a non-empty im2col TMA G-basis"
        return rejected("tma_pixel_box", text, side, box=error.message, wanted=error.expected)
    try:
        found = matrix(gmem, tile.im2col, channel)
    except NoMatrix as error:
        text = "expects positive shape mode"
        return rejected("tma_filter", text, gmem_side(copy), why=error.message)
    except InputError as error:
        return Prediction("unknown", error.message, "tma_im2col", gmem_side(copy))
    if tile.described is not None and tile.described.swizzle is None:  # not even S<0,4,3>
        text = (
            f"'cute_nvgpu.atom.make_non_exec_im2col_tma_{_kind(copy)}' op operand #1 must be CuTe composed "
            f"layout type, but got '!cute.layout<\"{described.layout}\">'"
        )
        return rejected("tma_plain_layout", text, side)
    if _kind(copy) == "store" and channel == 0 and type(wrap(gmem.shape)[0]) is not tuple:
        text = "writing the tensor map of a store whose channels are the first mode"
        return aborts("tma_store_channels", text, gmem_side(copy), "SIGSEGV")
    try:
        take = taken(found.columns, tile.tiler[channel])
    except NoDivision as error:
        if any(isinstance(n, Dynamic) for n in found.columns):
            text = "expects static shape in the first mode for both smem and gmem"
        else:
            text = "failed to perform a valid division"
        return rejected("tma_taps", text, gmem_side(copy), why=error.message)
    width = product(found.columns)
    if isinstance(width, int) and tile.tiler[channel] > width:
        text = f"a tile of {tile.tiler[channel]} columns is wider than the matrix, {found.columns}"
        return Prediction("unknown", text, "tma_im2col", gmem_side(copy))
    if not divides(take, channels):
        why = f"boxes of {channels} channels over tiles of {take[0]} channels under {take[1:]} taps"
        return rejected("tma_taps", "unable to partition input tensors for TMA", side, why=why)
    if product(smem.layout.shape) != product(tile.tiler):
        return rejected(
            "tma_size",
            "expects smem and gmem have the same size in the first rank",
            side,
            smem_size=product(smem.layout.shape),
            tile_size=product(tile.tiler),
        )
    return None


def _kind(copy: Copy) -> str:
    return "load" if gmem_side(copy) == "src" else "store"
