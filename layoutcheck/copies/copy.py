"""`Copy`: one `cute.copy` (or one of its relatives) with everything that is known about it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from layoutcheck.algebra.inttuple import mode, product, rank
from layoutcheck.algebra.swizzle import Swizzle
from layoutcheck.copies.atom import Atom
from layoutcheck.copies.cluster import Cluster
from layoutcheck.copies.memref import Memref
from layoutcheck.copies.tiled import TiledCopy
from layoutcheck.errors import InputError
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


# How the copy was written. `copy_atom_call` is also what `cute.copy(..., unroll_factor=N)` becomes.
OPS = ("copy", "autovec_copy", "basic_copy", "basic_copy_if", "copy_atom_call")


@dataclass(frozen=True, slots=True)
class Tiling:
    """Where a thread's views came from: `tiled.partition_S(src)` and `partition_D(dst)` of whole tiles.

    `block_threads` is the number of threads launched, where known.
    """

    tiled: TiledCopy
    src: Memref
    dst: Memref
    block_threads: int | None = None

    def side(self, side: str) -> Memref:
        """The whole tile of "src" or "dst"."""
        return self.src if side == "src" else self.dst

    def with_side(self, side: str, memref: Memref) -> Tiling:
        """The same tiling of another source or destination tile."""
        return replace(self, src=memref) if side == "src" else replace(self, dst=memref)

    def reaches_past(self, side: str) -> bool:
        """Whether a tile in memory is no whole number of the tiled copy's, or is not known to be one."""
        whole = self.side(side)
        pairs = zip(whole.layout.modes, self.tiled.tiler, strict=False)
        sizes = ((product(extent.shape), product(step.shape)) for extent, step in pairs)
        return whole.space != "rmem" and any(
            not (isinstance(extent, int) and isinstance(step, int)) or extent % step != 0
            for extent, step in sizes
        )


@dataclass(frozen=True, slots=True)
class Issue:
    """How a bulk copy, TMA copy or st.async is issued.

    `threads` threads issue a bulk copy (the compiler elects none), against a barrier told to expect
    `expect_bytes`; None: as many as the layouts ask for. `cluster` is known for a copy between its blocks.
    """

    threads: int = 1
    expect_bytes: int | None = None
    cluster: Cluster | None = None


@dataclass(frozen=True, slots=True)
class Copy:
    """A copy as one thread executes it, and how all threads share it.

    `src` and `dst` are the views `cute.copy` sees: mode 0 is the V mode, the rest is iterated. With a
    `tiling` they are thread `tid`'s partitions of its whole tiles, and thread `t` adds the partition's
    offset of `t`. `tiled` is the tiled copy passed as first operand, when only that is known (operand
    types printed by the compiler). `atom` is None for the ops that choose their own.
    """

    atom: Atom | None
    src: Memref
    dst: Memref
    pred: Memref | None = None
    tiled: TiledCopy | None = None
    tiling: Tiling | None = None
    op: str = "copy"
    arch: str = "sm_90a"
    evict_priority: bool = False  # autovec_copy(l1c_evict_priority=...), which picks other atoms
    issue: Issue | None = None  # of copies with a barrier, where it is known
    tma: TmaTile | None = None  # of a TMA copy between whole tensors: its tile
    index: Memref | None = None  # of gather4 and scatter4: the tensor of row numbers
    aux: Memref | None = None  # of an atom with two destinations: the second

    mapped: Memref | None = None  # of a TMA copy of coordinates: the tensor that its map was made of
    # and the bytes from a multiple of 16 to its base, where they are known
    map_past: int = field(default=0, repr=False)
    # and its map's swizzle, where that is not the one through which the others see the shared memory
    map_swizzle: Swizzle | None = field(default=None, repr=False)

    @property
    def needed_atom(self) -> Atom:
        """The atom it is made with: a tiled copy is judged as its atom. Raises InputError for none."""
        atom = self.tiled.atom if self.tiled is not None else self.atom
        if atom is None:
            raise InputError("a copy needs an atom")
        return atom

    @property
    def needs_map(self) -> bool:
        """Whether a tensor map moves it: it is predicted and run whole."""
        return self.atom is not None and self.atom.whole_copy

    @property
    def block_threads(self) -> int | None:
        """The threads launched, where the tiling says."""
        return self.tiling.block_threads if self.tiling else None

    @property
    def splits_v(self) -> bool:
        """Whether the compiler reads V as (atom, rest): where it has two modes on both sides.

        Measured: against a source whose V is flat, all of V is the atom, whatever the destination's is.
        """
        return all(rank(mode(each.layout.shape, 0)) == 2 for each in (self.src, self.dst))

    @property
    def cluster(self) -> Cluster | None:
        """The cluster that it is launched in, where that is known."""
        return self.issue.cluster if self.issue else None

    def side(self, side: str) -> Memref:
        """The operand "src" or "dst", as `cute.copy` sees it."""
        return self.src if side == "src" else self.dst

    def whole(self, side: str) -> Memref:
        """The tensor that the view "src" or "dst" was partitioned from; the view itself where it was not."""
        return self.side(side) if self.tiling is None else self.tiling.side(side)

    def with_side(self, side: str, memref: Memref) -> Copy:
        """The same copy with another source or destination view."""
        return replace(self, src=memref) if side == "src" else replace(self, dst=memref)

    def on_side(self, side: str, change: Callable[[Memref], Memref]) -> Copy:
        """The same copy with the view of a side changed, and the tile that it comes from likewise."""
        made = self.with_side(side, change(self.side(side)))
        if made.tiling is None:
            return made
        return replace(made, tiling=made.tiling.with_side(side, change(made.tiling.side(side))))
