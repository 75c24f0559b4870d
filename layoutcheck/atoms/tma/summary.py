"""What a report says of a TMA copy beside its tensors: the tile, and the tensor map that they imply."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from layoutcheck.atoms.tma.descriptor import Descriptor
from layoutcheck.atoms.tma.plan import plan, tile_of
from layoutcheck.copies.copy import Copy
from layoutcheck.errors import InputError


def tensor_map(copy: Copy) -> Descriptor | None:
    """The tensor map of a copy of whole tensors, every field as it is meant: the DSL drops what has no room.

    None where an extent or stride is known only at run time, and where the DSL makes none.
    """
    tile = tile_of(copy)
    layouts = [view.layout for view in (copy.src, copy.dst, tile.described) if view is not None]
    if not all(layout.is_static for layout in layouts):
        return None
    try:
        return plan(copy).written
    except InputError:
        return None


def tile_to_dict(copy: Copy) -> dict[str, Any]:
    """The `tma` object of the JSON schema; `tensor_map` by the names of cuTensorMapEncodeTiled."""
    tile, map_ = tile_of(copy), tensor_map(copy)
    return {
        "tiler": list(tile.tiler),
        "coord": list(tile.coord or (0,) * len(tile.tiler)),
        "described": None if tile.described is None else str(tile.described),
        "internal_type": None if tile.internal is None else str(tile.internal),
        "im2col": None if tile.im2col is None else asdict(tile.im2col),
        "tensor_map": None if map_ is None else map_.fields(),
    }


def lines(copy: Copy) -> list[tuple[str, str]]:
    """The same for eyes, as (name, text); what every map has alike is left out."""
    told = tile_to_dict(copy)
    found = [("tile", f"{_plain(told['tiler'])} at {_plain(told['coord'])}")]
    if told["im2col"] is not None:
        found.append(("conv", ", ".join(f"{name} {_plain(value)}" for name, value in told["im2col"].items())))
    fields = told["tensor_map"]
    if fields is not None:
        format_ = fields.pop("tensorDataType")
        del fields["tensorRank"]
        if set(fields["elementStrides"]) == {1}:
            del fields["elementStrides"]
        shown = [f"{name} {_plain(value)}" for name, value in fields.items() if value not in (0, [])]
        shown = [f"{one} B" if one.startswith("globalStrides") else one for one in shown]
        found.append(("map", ", ".join([format_, *shown])))
    return found


def _plain(value: Any) -> str:
    return f"({','.join(map(str, value))})" if isinstance(value, (list, tuple)) else str(value)
