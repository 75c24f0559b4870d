"""`tensor[coord]` and `cute.local_tile` as the DSL types them, by the rule of `copies.alignment`."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from layoutcheck.algebra.divide import logical_divide
from layoutcheck.algebra.layout import Layout
from layoutcheck.algebra.modes import make_layout
from layoutcheck.copies.alignment import offset, shifted
from layoutcheck.copies.memref import Memref
from layoutcheck.errors import InputError


def slice_(memref: Memref, coord: Any) -> Memref:
    """`tensor[coord]`: the modes at None are kept. Raises InputError where none is or coord does not fit."""
    kept = _kept(coord, memref.layout.shape, memref.layout.stride)
    if not kept:
        raise InputError(f"coordinate {coord} keeps no mode of {memref.layout}")
    if coord is None:
        return memref
    return replace(shifted(memref, offset(memref.layout, coord)), layout=_layout(kept))


def local_tile(memref: Memref, tiler: tuple[Any, ...], coord: Any) -> Memref:
    """`cute.local_tile(tensor, tiler, coord)`: one tile; rest modes at None are kept behind the tile's.

    Raises InputError where the tiler does not divide the layout or coord does not fit.
    """
    if len(tiler) > len(memref.layout):
        raise InputError(f"a tiler of {len(tiler)} modes for {memref.layout}")
    divided = [logical_divide(memref.layout[i], t, strict=False) for i, t in enumerate(tiler)]
    rest = make_layout(*(d[1] for d in divided), *memref.layout.modes[len(tiler) :])
    kept = [(d[0].shape, d[0].stride) for d in divided] + _kept(coord, rest.shape, rest.stride)
    return replace(shifted(memref, offset(rest, coord)), layout=_layout(kept))


def _layout(kept: list[tuple[Any, Any]]) -> Layout:
    return Layout.trusted(tuple(s for s, _ in kept), tuple(d for _, d in kept))


def _kept(coord: Any, shape: Any, stride: Any) -> list[tuple[Any, Any]]:
    """(shape, stride) of the modes at None."""
    if coord is None:
        return [(shape, stride)]
    if type(coord) is not tuple:
        return []
    if type(shape) is not tuple or len(coord) != len(shape):
        raise InputError(f"coordinate {coord} does not fit shape {shape}")
    return [k for c, s, d in zip(coord, shape, stride, strict=True) for k in _kept(c, s, d)]
