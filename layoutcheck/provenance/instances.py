"""`Instance`: numbers for what only a run knows of a kernel's launch, and the blocks that are followed.

A product may stand in a loop that runs only where two extents differ: a causal mask is applied to whole
tiles only if there are more keys than queries. So arguments are given extents of their own in turn.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from layoutcheck.dsl.lowered import argument_types
from layoutcheck.dsl.lowered.arguments import Unequal, dynamic_layout
from layoutcheck.order.events import WatchedKernel
from layoutcheck.order.recorder import MOST_TILES
from layoutcheck.order.trips import on_grid
from layoutcheck.sources.mlir import Operation, each_once

EXTENT = 256  # of every dynamic mode
_MORE = 128 - 8  # a whole tile but for 16 bytes: a masked tile then has some of all its columns left
_NEXT = 2  # clusters along an axis that are followed to see how tiles lie beside one another
_MOST_UNEQUAL = 2  # arguments that are given extents of their own


class Instance(NamedTuple):
    """Every dynamic extent and integer is `extent`; where the host's `argument` is named, it alone has these.

    All other tensors then have extents that are `_MORE` more. `share` says which cluster is followed, `first`
    its first block. `clusters`, if not 0, is the grid's longest axis: loops over tiles are then followed.
    `rows`, if not 0, are the extents of the first mode of all tensors.
    """

    extent: int = EXTENT
    share: float = 0.0
    argument: int = -1
    clusters: int = 0
    first: tuple[int, int, int] | None = None
    rows: int = 0

    @property
    def tiles(self) -> int:
        """The turns for which loops over tiles are followed."""
        return MOST_TILES if self.clusters else 1

    @property
    def guesses(self) -> frozenset[int]:
        """The extents of dynamic modes."""
        return frozenset((self.extent, self._others, self.rows or self.extent))

    @property
    def _others(self) -> int:
        return self.extent if self.argument < 0 else self.extent + _MORE

    def larger(self) -> Instance:
        """One of half as much again, in which what is one flat region has other coordinates."""
        return self._replace(extent=self.extent * 3 // 2)

    def of(self, kernel: WatchedKernel) -> WatchedKernel:
        """The kernel launched so; as it is, where no host function does."""
        every = (self.rows, self.extent) if self.rows else self.extent
        extents = every if self.argument < 0 else Unequal(self.argument, self.extent, self._others)
        found = kernel.with_numbers(extents, self.extent) or kernel
        return on_grid(found, self.clusters) if self.clusters else found

    def cluster(self, kernel: WatchedKernel) -> list[tuple[int, int, int]]:
        """The blocks of a cluster: along x at `share` of the grid; along y and z the first, or the second."""
        size, share = kernel.launch.cluster, self.share
        x, y, z = self.first or (
            int(n * part) // c * c if part < 1 else min(c, n - c)
            for n, c, part in zip(kernel.launch.grid, size, (share, *([share and 1.0] * 2)), strict=True)
        )
        steps = [(i, j, k) for k in range(size[2]) for j in range(size[1]) for i in range(size[0])]
        return [(x + i, y + j, z + k) for i, j, k in steps]

    def last(self, kernel: WatchedKernel) -> Instance:
        """One for the last cluster of the grid."""
        x, y, z = (n - c for n, c in zip(kernel.launch.grid, kernel.launch.cluster, strict=True))
        return self._replace(first=(x, y, z))

    def several(self, kernel: WatchedKernel) -> Iterator[Instance]:
        """One for each of the first clusters along the axes and between, off the diagonal first."""
        size, grid = kernel.launch.cluster, kernel.launch.grid
        axes = [range(0, n, c)[:_NEXT] for n, c in zip(grid, size, strict=True)]
        every = [(x, y, z) for z in axes[2] for y in axes[1] for x in axes[0]]
        yield from (self._replace(first=one) for one in sorted(every, key=lambda one: one.count(0) != 2))

    def neighbours(self, kernel: WatchedKernel) -> Iterator[Instance]:
        """One for the first cluster of the grid, and for the next one along x and along y."""
        yield self._replace(first=(0, 0, 0))
        (x, y, _), (n, m, _) = kernel.launch.cluster, kernel.launch.grid
        if n > x:
            yield self._replace(first=(x, 0, 0))
        if m > y:
            yield self._replace(first=(0, y, 0))


USUAL = Instance()
# For products that the first does not execute, or brings nothing to.
OTHERS = (Instance(2 * EXTENT), Instance(4 * EXTENT, 0.75), Instance(4 * EXTENT))


def unequal(kernel: WatchedKernel, text: str) -> Iterator[Instance]:
    """Instances in which one tensor of the host of the traced module `text` has extents of its own."""
    types = argument_types(text)
    hosts = [kinds for name, kinds in types.items() if name != kernel.name]
    dynamic = {i for kinds in hosts for i, one in enumerate(kinds) if dynamic_layout(one) is not None}
    yield from (Instance(4 * EXTENT, argument=i) for i in sorted(dynamic)[:_MOST_UNEQUAL])


def by_block(product: Operation) -> bool:
    """Whether the block's index decides how often, or from where on, a loop around a product turns."""
    queue = [one for around in product.around() if around.name == "scf.for" for one in around.operands[:2]]
    for value in each_once(queue):
        made = value.definition
        if made is not None and "ctaid" in made.name:
            return True
        queue += [] if made is None else made.operands
    return False
