"""LC606 blocks-transposed: a kernel transposes the blocks of a tile, and not the elements inside them."""

from __future__ import annotations

from typing import Any

from layoutcheck.markdown import Page, heading


def tell(facts: dict[str, Any]) -> tuple[str, str]:
    """The first element of a block that changes places."""
    message = (
        f"{list(facts['at'])} of the tensor that is stored gets {list(facts['held'])} of the one that is loaded, but "
        f"elements inside a block keep their rows; {facts['differ']:,} of {facts['of']:,} elements change places. If "
        f"this is not meant, the tile is written and read with different strides, or ldmatrix should transpose."
    )
    return "blocks of a tile are transposed, the elements inside them are not", message


rule = Page(*heading(__doc__, "note"))
