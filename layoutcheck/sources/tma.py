"""What a user says of a TMA copy beside its two tensors: tiler, tile, convolution, indices, descriptions."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from layoutcheck.algebra.inttuple import flatten, product, wrap
from layoutcheck.algebra.layout import Layout
from layoutcheck.algebra.notation import parse_any_layout, parse_tree
from layoutcheck.algebra.swizzle import ComposedLayout, Swizzle
from layoutcheck.atoms.tma import TmaCopy
from layoutcheck.atoms.tma.landing import SMEM_ALIGN_BYTES
from layoutcheck.copies.atom import Atom
from layoutcheck.copies.copy import TmaTile
from layoutcheck.copies.memref import Memref
from layoutcheck.copies.opaque import OtherOperand, is_composed
from layoutcheck.digits import many
from layoutcheck.errors import InputError, option_of, said_of
from layoutcheck.machine.dtypes import dtype
from layoutcheck.sources.im2col import read_im2col
from layoutcheck.sources.live import to_memref
from layoutcheck.sources.pointers import Defaults
from layoutcheck.sources.types import parse_memref, unswizzled

_MOST = 1 << 40
_COMPOSED = re.compile(r'"(S<[0-9]+,[0-9]+,[0-9]+> o 0 o [^"]+)"')
_PLAIN = re.compile(r"S<[0-9]+,[0-9]+,[0-9]+> o 0 o ")


def tma_tile(
    atom: Atom | None, src: Memref, dst: Memref, given: dict[str, Any], assumed: list[str]
) -> TmaTile | None:
    """The tile of a TMA copy between whole tensors; None for other copies. Raises InputError.

    `given` has `tiler`, `coord`, `described`, `internal_type` and `im2col`, each None where it is not given.
    Without a tiler the tile has the shared tensor's shape, without a coordinate it is the first.
    """
    named = next((name for name, value in given.items() if value is not None), "")
    if not isinstance(atom, TmaCopy):
        if named:
            atoms = "im2col_tma_load" if named == "im2col" else "tma_load, tma_store, ..."
            raise InputError(f"{option_of(named)} is for TMA copies only", expected=f"--atom {atoms}")
        return None
    gmem, smem = (src, dst) if atom.kind == "load" else (dst, src)
    if isinstance(gmem, OtherOperand) or isinstance(smem, OtherOperand):
        if named:
            raise InputError(f"{option_of(named)} needs a global tensor, not coordinates")
        return None
    if atom.gbasis is not None:
        raise InputError(
            "a TMA atom with a box takes coordinates",
            expected="'!cute.coord_tensor<...>', or --atom tma_load",
        )
    convolution = read_im2col(given["im2col"], gmem.layout, atom)
    extents = _tile_extents(given["tiler"], gmem, smem)
    at = _tile_coordinate(given["coord"], len(extents))
    internal = dtype(given["internal_type"]) if given["internal_type"] is not None else None
    if convolution is not None and given["im2col"] is None and atom.kind == "load":
        assumed.append("no convolution given: a filter of one tap, no padding, stride 1")
    tile = TmaTile(extents, at, _described(given["described"], smem), internal, convolution)
    if atom.kind == "load" and internal is not None and str(internal) == "tf32" != str(gmem.dtype):
        assumed.append("elements rounded to tf32 are meant: a tensor map of internal_type tf32 rounds them")
    if convolution is None and _is_outside(tile, gmem):
        does = "the load brings zeros" if atom.kind == "load" else "the store writes nothing"
        assumed.append(f"tile {at} is meant, which is wholly outside of the tensor: {does}")
    return tile


def _is_outside(tile: TmaTile, gmem: Memref) -> bool:
    """Whether no element of the tile is one of the tensor's; not so where only the run knows."""
    shape = map(product, wrap(gmem.layout.shape))
    return any(
        isinstance(extent, int) and at >= extent for at, extent in zip(tile.origin, shape, strict=False)
    )


def _tile_extents(tiler: Any, gmem: Memref, smem: Memref) -> tuple[Any, ...]:
    if tiler is None:
        extents: tuple[Any, ...] = tuple(product(mode) for mode in wrap(smem.layout.shape))
    else:
        extents = _extents("tiler", tiler)
    if not all(type(n) is int and 1 <= n <= _MOST for n in extents):
        raise InputError(
            f"a tile's extents are whole numbers of at least 1, not {extents}", expected="--tiler '(64,64)'"
        )
    if tiler is not None and len(extents) != len(wrap(gmem.layout.shape)):
        raise InputError(
            f"a tiler of {many(len(extents), 'mode')} for a tensor of {len(wrap(gmem.layout.shape))}",
            expected="an extent for each mode of the global tensor, or for its first and each of the tile's",
        )
    return extents


def _tile_coordinate(coord: Any, modes: int) -> tuple[Any, ...]:
    at = _extents("coord", coord) if coord is not None else ()
    if at and (len(at) != modes or min(at) < 0 or max(at) > _MOST):
        raise InputError(
            f"tile {at} of a tiler of {many(modes, 'mode')}", expected=f"{many(modes, 'number')} from 0"
        )
    return at


def plain_smem(
    atom: Atom | None, src: Any, dst: Any, described: Any, assumed: list[str]
) -> tuple[Any, Any, Any]:
    """`(src, dst, described)`, a shared tensor `S o 0 o L` as one of layout L whose pointer is swizzled.

    Its swizzle counts elements from the tensor's base, that of `make_tiled_tma_atom` bytes (measured): the
    same composed layout means another one there.
    """
    if not isinstance(atom, TmaCopy) or atom.gbasis is not None:
        return src, dst, described
    smem = dst if atom.kind == "load" else src
    made = unswizzled(str(smem)) if isinstance(smem, OtherOperand) and is_composed(smem) else None
    swizzle = made.swizzle if made is not None else None
    if made is None or swizzle is None or made.space != "smem":
        return src, dst, described
    align = parse_memref(_PLAIN.sub("", str(smem))).proved_align_bytes
    if align % SMEM_ALIGN_BYTES:
        made = replace(made, align_bytes=align)  # that is the first trouble
    elif align % swizzle.period:
        assumed.append(
            f"the shared tensor begins at a multiple of {swizzle.period} bytes, its swizzle's repeat"
        )
    if described is None and not isinstance(src if smem is dst else dst, OtherOperand):
        found = _COMPOSED.search(str(smem))
        assert found is not None
        described = found[1]
        assumed.append(f"the tensor map was made of {described}, whose swizzle counts bytes there")
    return (src, made, described) if atom.kind == "load" else (made, dst, described)


def every_mode(
    atom: Atom | None, src: Any, dst: Any, tiler: Any, coord: Any, described: Any, assumed: list[str]
) -> tuple[Any, Any, Any, Any, Any]:
    """`(src, dst, tiler, coord, described)` of a tile with an extent along every mode of the global tensor.

    `make_tiled_tma_atom` takes a tiler of the first modes, as in `(64,64)` of an `(M,K,L)` tensor: the box
    has the extent 1 along the others (measured; the words of the tensor map and the PTX are the same).
    """
    given = src, dst, tiler, coord, described
    if not isinstance(atom, TmaCopy) or atom.gbasis is not None or atom.mode != "tiled":
        return given
    gmem, smem = (src, dst) if atom.kind == "load" else (dst, src)
    if isinstance(gmem, OtherOperand) or isinstance(smem, OtherOperand):
        return given
    told = _extents("tiler", tiler) if tiler is not None else None
    named = len(wrap(smem.layout.shape)) if told is None else len(told)
    more = len(wrap(gmem.layout.shape)) - named
    if more <= 0 or len(wrap(smem.layout.shape)) != named:
        return given
    at = _extents("coord", coord) if coord is not None else None
    if at is not None and len(at) == named:
        at = (*at, *(0,) * more)
    made = _described(described, smem)
    smem = _with_ones(smem, more)
    assumed.append(f"the tile has the extent 1 along the last {'mode' if more == 1 else f'{more} modes'}")
    src, dst = (gmem, smem) if atom.kind == "load" else (smem, gmem)
    return (
        src,
        dst,
        None if told is None else (*told, *(1,) * more),
        at,
        None if made is None else _with_ones(made, more),
    )


def _with_ones(memref: Memref, more: int) -> Memref:
    """The tensor with `more` modes of extent 1."""
    layout = memref.layout
    shape, stride = wrap(layout.shape), wrap(layout.stride)
    return memref.with_layout(Layout.trusted((*shape, *(1,) * more), (*stride, *(0,) * more)))


def tma_index(atom: Atom | None, src: Memref, dst: Memref, index: Any, assumed: list[str]) -> Memref | None:
    """The tensor of row numbers of a gather4 or scatter4; None for other copies. Raises InputError.

    Without one it is a run of i32, one for each row of a global tensor.
    """
    if not isinstance(atom, TmaCopy) or not atom.indexed:
        if index is not None:
            raise InputError(
                "--index is for TMA copies of four rows only", expected="--atom tma_gather4 or tma_scatter4"
            )
        return None
    gmem = src if atom.kind == "load" else dst
    if index is not None:
        return to_memref(index, Defaults(dtype("i32"), "gmem", 4, None, "index"))
    strides = wrap(gmem.layout.stride)
    if isinstance(gmem, OtherOperand) or len(strides) != 2 or 1 not in strides:
        return None
    along = 1 if strides[1] == 1 else 0
    layout = Layout(gmem.layout.shape, (0, 1) if along == 0 else (1, 0))
    made = Memref(dtype("i32"), "gmem", layout, 4)
    assumed.append(f"the index tensor is {made}")
    return made


def _extents(name: str, value: Any) -> tuple[Any, ...]:
    """A flat tuple of integers, as text or as one."""
    with said_of(option_of(name)):
        tree = parse_tree(value) if isinstance(value, str) else value
    flat = flatten(wrap(tuple(tree) if isinstance(tree, list) else tree))
    if not all(type(n) is int for n in flat):
        raise InputError(
            f"{option_of(name)} {value} is not a tuple of integers", expected="such as '(64,64)'"
        )
    return flat


def _described(value: Any, smem: Memref) -> Memref | None:
    """The layout that the tensor map was made of; its swizzle counts bytes, as in the DSL."""
    if value is None or isinstance(value, Memref):
        return value
    with said_of("--described"):
        layout = parse_any_layout(value) if isinstance(value, str) else value
    if not isinstance(layout, (Layout, ComposedLayout)):
        raise InputError(
            f"an object of type {type(value).__name__} is not a layout", expected="a layout for --described"
        )
    if isinstance(layout, ComposedLayout):
        if not isinstance(layout.inner, Swizzle) or layout.offset != 0:
            raise InputError(f"{layout} is not a swizzled layout", expected="'S<3,4,3> o 0 o (64,64):(64,1)'")
        return replace(smem, layout=layout.outer, swizzle=layout.inner)
    return replace(smem, layout=layout, swizzle=None)
