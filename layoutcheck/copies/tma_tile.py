"""`TmaTile`: what `make_tiled_tma_atom` and `make_im2col_tma_atom` know beside the two tensors."""

from __future__ import annotations

from dataclasses import dataclass

from layoutcheck.copies.memref import Memref
from layoutcheck.machine.dtypes import DType


@dataclass(frozen=True, slots=True)
class Im2col:
    """A convolution as `make_im2col_tma_atom` is told it, with its names; W first, then H, then D.

    `lower_corner` to `upper_corner` past the last element is where the filter's first tap goes in steps of
    `stride`; `dilation` and `lower_srt` (`stride_srt` and `lower_srt` there) place its taps. The paddings
    count the taps: 1 + (upper_padding - upper_corner) / dilation.
    """

    lower_corner: tuple[int, ...]
    upper_corner: tuple[int, ...]
    lower_padding: tuple[int, ...]
    upper_padding: tuple[int, ...]
    stride: tuple[int, ...]
    lower_srt: tuple[int, ...]
    dilation: tuple[int, ...]

    @property
    def spatial(self) -> int:
        """Spatial dimensions."""
        return len(self.lower_corner)

    @property
    def least_extent(self) -> int:
        """An extent that has a place for the filter along every spatial dimension."""
        corners = zip(self.lower_corner, self.upper_corner, strict=True)
        return max(1, *(lower - upper + 1 for lower, upper in corners))


@dataclass(frozen=True, slots=True)
class TmaTile:
    """The tile of a global tensor that one TMA copy moves, every mode a contiguous piece of the tensor's.

    `tiler` has the tile's extent along each top-level mode of the global tensor, `coord` says which tile it
    is. `described` is the shared tensor whose layout and swizzle the tensor map was made of, None where it is
    the one that the copy uses. `internal` is the `internal_type` that the map was made with, if any. With
    `im2col` the tile is one of the convolution's matrix (`atoms.tma.im2col`), by its rows and columns.
    """

    tiler: tuple[int, ...]
    coord: tuple[int, ...] = ()
    described: Memref | None = None
    internal: DType | None = None
    im2col: Im2col | None = None

    @property
    def origin(self) -> tuple[int, ...]:
        """The tile's first element along each mode."""
        coord = self.coord or (0,) * len(self.tiler)
        return tuple(c * n for c, n in zip(coord, self.tiler, strict=True))
