"""LC614 tile-elsewhere: whole tiles of a tensor are taken twice in the place of others, or exchanged."""

from __future__ import annotations

from typing import Any

from layoutcheck.markdown import Page, heading


def tell(kind: str, facts: dict[str, Any]) -> tuple[str, str]:
    """The first element that comes from elsewhere."""
    source, target = facts["tensors"]
    if kind == "tile of one":
        return "two copies bring one tile of a tensor, and another tensor is not used", (
            f"Both bring the same {facts['of']:,} B of argument {source} to two places of shared memory. The kernel is given "
            f"argument {target} of the same shape, and uses none of it: one of the copies has the wrong tensor map or tensor."
        )
    if kind == "tile beside":
        return "results are combined with elements of another tile", (
            f"{list(facts['at'])} of argument {target} is combined with {list(facts['held'])} of argument {source}, and "
            f"{list(facts['other'])} with {list(facts['again'])}, by another block or statement. Mode {facts['mode']} of argument "
            f"{source} has the extent of a mode of argument {target}: the index of another tile stands in its place."
        )
    rest = f"{facts['differ']:,} of {facts['of']:,} elements that were followed come from another place than theirs."
    if kind == "tile twice":
        return "whole tiles of a tensor are taken twice, and others never", (
            f"{list(facts['at'])} and {list(facts['other'])} of argument {target} are both made of {list(facts['held'])} "
            f"of argument {source}. The tensors have one shape, so that another tile is never taken. {rest} The tile's "
            "index along one mode stands in the place of the other: compare the coordinates of load and store."
        )
    if kind == "tile turned":
        return "the elements inside tiles are transposed, the tiles are not", (
            f"{list(facts['at'])} of argument {target} is made of {list(facts['held'])} of argument {source}, but tiles "
            f"keep their places. {rest} If the transpose is meant, exchange the coordinates of the tiles, too."
        )
    return "tiles change places along two modes, the elements inside them do not", (
        f"{list(facts['at'])} of argument {target} is made of {list(facts['held'])} of argument {source}, but inside a "
        f"tile rows stay rows. {rest} Take the coordinates of the tile in the order of the tensor's modes."
    )


rule = Page(*heading(__doc__, "note"))
