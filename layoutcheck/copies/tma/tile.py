"""`TmaTile`: what `make_tiled_tma_atom` knows beside the two tensors."""

from __future__ import annotations

from dataclasses import dataclass

from layoutcheck.copies.memref import Memref
from layoutcheck.machine.dtypes import DType


@dataclass(frozen=True, slots=True)
class TmaTile:
    """The tile of a global tensor that one TMA copy moves, every mode a contiguous piece of the tensor's.

    `tiler` has the tile's extent along each top-level mode of the global tensor, `coord` says which tile it
    is. `described` is the shared tensor whose layout and swizzle the tensor map was made of, None where it is
    the one that the copy uses. `internal` is the `internal_type` that the map was made with, if any.
    """

    tiler: tuple[int, ...]
    coord: tuple[int, ...] = ()
    described: Memref | None = None
    internal: DType | None = None

    @property
    def origin(self) -> tuple[int, ...]:
        """The tile's first element along each mode."""
        coord = self.coord or (0,) * len(self.tiler)
        return tuple(c * n for c, n in zip(coord, self.tiler, strict=True))
