"""A copy as the JSON schema has it: every part under its printed form, the numbers beside it."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from layoutcheck.copies.copy import Copy, Tiling
from layoutcheck.copies.memref import Memref
from layoutcheck.copies.opaque import OtherOperand


def copy_to_dict(copy: Copy) -> dict[str, Any]:
    """The `copy` object of the JSON schema."""
    return {
        "op": copy.op,
        "arch": copy.arch,
        "atom": None if copy.atom is None else str(copy.atom),
        "src": memref_to_dict(copy.src),
        "dst": memref_to_dict(copy.dst),
        "pred": None if copy.pred is None else memref_to_dict(copy.pred),
        "index": None if copy.index is None else memref_to_dict(copy.index),
        "aux": None if copy.aux is None else memref_to_dict(copy.aux),
        "tma": _tma(copy),
        "tiled": None if copy.tiled is None else str(copy.tiled),
        "tiling": None if copy.tiling is None else tiling_to_dict(copy.tiling),
        "issue": None if copy.issue is None else asdict(copy.issue),
    }


def memref_to_dict(memref: Memref) -> dict[str, Any]:
    """The `memref` object of the JSON schema; an operand that is no memref has only its text."""
    if isinstance(memref, OtherOperand):
        return {"text": memref.text}
    return {
        "text": str(memref),
        "dtype": str(memref.dtype),
        "space": memref.space,
        "layout": str(memref.layout),
        "align_bytes": memref.proved_align_bytes,
        "swizzle": None if memref.swizzle is None else str(memref.swizzle),
    }


def _tma(copy: Copy) -> dict[str, Any] | None:
    if copy.tma is None:
        return None
    from layoutcheck.atoms.tma.summary import tile_to_dict  # other copies start without it

    return tile_to_dict(copy)


def tiling_to_dict(tiling: Tiling) -> dict[str, Any]:
    """The `tiling` object of the JSON schema: the whole tiles and the tiled copy that partitions them."""
    return {
        "tiled": str(tiling.tiled),
        "src": memref_to_dict(tiling.src),
        "dst": memref_to_dict(tiling.dst),
        "block_threads": tiling.block_threads,
    }
