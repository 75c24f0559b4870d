"""`TiledCopy`: an atom repeated over a tile by threads and values, and the partition it makes of a tensor."""

from __future__ import annotations

from dataclasses import dataclass

from layoutcheck.algebra.layout import Layout
from layoutcheck.algebra.notation import print_tiler
from layoutcheck.machine.atoms import Atom


@dataclass(frozen=True, slots=True)
class TiledCopy:
    """`layout_tv`: (thread, value) -> index into the tile; `tiler`: one layout a mode of the tensor."""

    atom: Atom
    layout_tv: Layout
    tiler: tuple[Layout, ...]

    def __str__(self) -> str:
        return (
            f'!cute.tiled_copy<{self.atom}, layout_copy_tv = <"{self.layout_tv}">, '
            f'tiler_mn = <"{print_tiler(self.tiler)}">>'
        )
