"""Tiles that a kernel without products takes by the index of another mode.

What is stored is led back to the elements that it was made of, of each tensor by itself (`_origins`), for
several blocks. Where source and target have one shape, an element goes some distance. If that is another
one from tile to tile, by whole tiles along two modes, an index of one of them may be that of the other:
`(bx, bx)` or `(by, bx)` for `(bx, by)`. Tables that blocks share, tiles before, halves and other orders are
meant.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np

from layoutcheck.dsl.lowered.spaces import GLOBAL_STEP
from layoutcheck.provenance.judged import Breach, Names
from layoutcheck.provenance.moved import SHIFT, Moves, linear
from layoutcheck.provenance.pairs import Pairs
from layoutcheck.provenance.refs import FLAGS, GLOBAL, PAIR, PRODUCT, Array
from layoutcheck.provenance.replay import Replay
from layoutcheck.provenance.tensors import Tensor
from layoutcheck.sources.mlir import Operation

_LEAST = 8  # elements of a tile along a mode: less may be meant by the element
_MOST_STEPS = 16  # operations one after the other in which elements meet
_BITS = 24  # of a coordinate, in a number that holds two
_MANY = -1  # of several elements, or not known


class Arrived(NamedTuple):
    """What a block stores: for each byte its address, its operation, and what it is made of.

    `through` says whether it is a copy of shared memory.
    """

    ops: list[Operation]
    at: Array
    which: Array
    through: Array
    origins: dict[int, Array]


class Compared(NamedTuple):
    """Elements of two tensors of one shape: coordinates, and those of what each is made of.

    With the number of the block and the operation that stores it. `told` says that the elements of another
    tensor are in them, too, or that they went through shared memory.
    """

    places: Array
    given: Array
    block: Array
    ops: list[Operation]
    tensors: tuple[int, int]
    told: bool

    @property
    def moves(self) -> bool:
        """Whether any element is at another place."""
        return bool((self.places != self.given).any())


def alike(names: Names) -> bool:
    """Whether two tensors have one shape, of tiles along two modes."""
    large = ((n, one) for n, every in names.known.items() for one in every if len(one.modes) > 1)
    return any(n != m and _one_shape(one, other) for (n, one), (m, other) in combinations(large, 2))


def arrived(moves: Moves, pairs: Pairs, most: int = 1 << 22) -> Arrived | None:
    """The bytes that a replay stored; None where there are too many, or none."""
    kept = moves.all
    if not kept or sum(one.at.size for one in kept) > most:
        return None
    at, labels, through = (
        np.concatenate([getattr(one, key).ravel() for one in kept]) for key in ("at", "labels", "through")
    )
    which = np.concatenate([np.full(one.at.size, i) for i, one in enumerate(kept)])
    memory = [one[(one >= GLOBAL) & (one < PAIR)] for one in (labels, pairs.parts)]
    sources = np.unique(np.concatenate(memory) // GLOBAL_STEP).tolist()
    origins = {n: _origins(labels, pairs, n) for n in sources}
    return Arrived([one.op for one in kept], at, which, through >> SHIFT, origins)


def _origins(labels: Array, pairs: Pairs, source: int) -> Array:
    """The one element of a tensor that went into each byte; 0 for none, `_MANY` for several."""
    met = np.zeros(pairs.parts.shape[1], np.int64)
    for _ in range(_MOST_STEPS):
        one, other = (_one(part, met, source) for part in pairs.parts)
        found = np.where((one == other) | (other == 0), one, np.where(one == 0, other, _MANY))
        if (found == met).all():
            return _one(labels, met, source)
        met = found
    return np.full_like(labels, _MANY)


def _one(labels: Array, met: Array, source: int) -> Array:
    plain = (labels >= GLOBAL) & (labels < PAIR)
    paired = (labels & PAIR != 0) & (labels & (PRODUCT | FLAGS) == 0)
    found = np.where(plain & (labels // GLOBAL_STEP == source), labels, 0)
    found = np.where(paired, met[np.where(paired, labels & (PAIR - 1), 0)] if met.size else 0, found)
    return np.where(plain | paired | (labels == 0), found, _MANY)


def brought_twice(replay: Replay, stored: Arrived, names: Names) -> Iterator[Breach]:
    """Two copies that bring the same elements to places that are read, beside a tensor that is not used."""
    used = stored.origins.keys() | {number for one in replay.blocks for number in one.touched}
    kept = np.flatnonzero(replay.writers[0])
    labels, writers = replay.shared[0][kept], replay.writers[0][kept]
    used |= {*np.unique(np.concatenate([labels, stored.at]) // GLOBAL_STEP).tolist()}
    spare = {n: {one.modes for one in every} for n, every in names.known.items() if n not in used}
    read = (
        {*np.unique(replay.through[0] >> SHIFT).tolist(), *np.unique(stored.through).tolist()}
        if spare
        else ()
    )
    brought = {n: np.unique(labels[writers == n]) for n in np.unique(writers).tolist() if n in read}
    ops = list(replay.moves.numbers) if replay.moves is not None else []
    for (one, mine), (other, theirs) in combinations(brought.items(), 2):
        source = int(mine[0]) // GLOBAL_STEP
        if (
            int(mine[0]) < GLOBAL
            or int(mine[-1]) // GLOBAL_STEP != source
            or not np.array_equal(mine, theirs)
        ):
            continue
        modes = {tensor.modes for tensor in names.known.get(source, ())}
        unused = next((n for n, known in spare.items() if n != source and known & modes), 0)
        if unused:
            facts = (("tensors", (source, unused)), ("of", mine.size))
            yield Breach("tile of one", ops[other - 1], "", facts, ops[one - 1])
            return


def displaced(every: Sequence[Arrived], names: Names) -> list[Breach]:
    """The tiles of several blocks that are put elsewhere, one for each tensor that they come from."""
    return [one for pair in compared(every, names) for one in _breach(pair)]


def compared(every: Sequence[Arrived], names: Names) -> Iterator[Compared]:
    """What is stored beside what it is made of, for each two tensors of one shape."""
    ops = [op for one in every for op in one.ops]
    starts = np.cumsum([0, *(len(one.ops) for one in every)])
    at, through = (np.concatenate([getattr(one, key) for one in every]) for key in ("at", "through"))
    which = np.concatenate([one.which + start for one, start in zip(every, starts, strict=False)])
    block = np.repeat(np.arange(len(every)), [one.at.size for one in every])
    none = [np.zeros_like(one.at) for one in every]
    sources = sorted({source for one in every for source in one.origins})
    for source in sources:
        origins = np.concatenate([one.origins.get(source, z) for one, z in zip(every, none, strict=True)])
        for target in np.unique(at // GLOBAL_STEP).tolist():
            mine = (at // GLOBAL_STEP == target) & (origins != 0)
            if source == target or not mine.any() or (origins[mine] == _MANY).any():
                continue
            found = _coordinates(at[mine], origins[mine], names)
            if found is not None:
                places, given, kept = found
                of = [ops[i] for i in which[mine][kept].tolist()]
                told = len(sources) > 1 or bool(through[mine].all())
                yield Compared(places, given, block[mine][kept], of, (source, target), told)


def _coordinates(at: Array, origins: Array, names: Names) -> tuple[Array, Array, Array] | None:
    """The coordinates of elements and of their origins, by modes, and which bytes are their first."""
    target, source = names.tensor(at), names.tensor(origins)
    if target is None or source is None or target.guessed or not _one_shape(target, source):
        return None
    kept = np.unique(at, return_index=True)[1]
    kept = kept[(at[kept] - target.base) % target.bytes == 0]
    if ((origins[kept] - source.base) % source.bytes).any():
        return None
    places, given = target.coordinates(at[kept]), source.coordinates(origins[kept])
    if places is None or given is None:
        return None
    places, given = (
        one[:, [mode.place for mode in tensor.modes]] for one, tensor in ((places, target), (given, source))
    )
    return places, given, kept


def _one_shape(target: Tensor, source: Tensor) -> bool:
    """Whether both have the same modes, in one order of memory."""
    shapes = [[mode.extent for mode in one.modes] for one in (target, source)]
    orders = [[mode.place for mode in one.modes] for one in (target, source)]
    aligned = orders[0] in (orders[1], [target.rank - 1 - place for place in orders[1]])
    return target.bytes == source.bytes and shapes[0] == shapes[1] and len(shapes[0]) > 0 and aligned


def _breach(one: Compared) -> Iterator[Breach]:
    """How tiles are put elsewhere, with two elements that show it."""
    places, given = one.places, one.given
    kind = _kind(one) if one.moves else ""
    if kind:
        off = (places != given).any(1)
        first = int(np.flatnonzero(off)[0])
        same = np.flatnonzero((given == given[first]).all(1))
        other = int(same[same != first][0]) if kind == "tile twice" else first
        facts = (
            ("at", _numbers(places[first])), ("held", _numbers(given[first])),
            ("other", _numbers(places[other])), ("differ", int(off.sum())), ("of", len(places)),
            ("tensors", one.tensors),
        )  # fmt: skip
        yield Breach(kind, one.ops[first], "", facts, one.ops[first])


def _kind(one: Compared) -> str:
    """How tiles are put elsewhere, "" for not, or in a way that may be meant."""
    places, given = one.places, one.given
    apart = given - places
    tiles = np.array([_tile(places, apart, mode) for mode in range(places.shape[1])])
    if ((tiles > 0) & (tiles < _LEAST)).any():
        return _turned(one, np.flatnonzero((apart != apart[0]).any(0)))
    two = np.flatnonzero(tiles)
    if len(two) != 2 or np.delete(apart, two, 1).any():
        return ""
    index, inside = np.divmod(places[:, two], tiles[two])
    if len(np.unique(index, axis=0)) < 4:
        return ""
    for taken in ((0, 0), (1, 1)):
        if (index[:, taken] * tiles[two] + inside == given[:, two]).all():
            return "tile twice"
    exchanged = one.told and (index[:, ::-1] * tiles[two] + inside == given[:, two]).all()
    return "tiles exchanged" if exchanged else ""


def _turned(one: Compared, moves: Array) -> str:
    """Tiles of blocks whose elements are transposed, while the tiles are not, along both modes."""
    if len(moves) != 2:
        return ""
    two = [each[:, moves[0]] | each[:, moves[1]] << _BITS for each in (one.places, one.given)]
    images = linear(*two) or {}
    high = [max((bit for bit in images if bit // _BITS == mode), default=0) for mode in (0, 1)]
    crossed = {bit for bit, image in images.items() if bit // _BITS != (image.bit_length() - 1) // _BITS}
    single = all(image and not image & (image - 1) for image in images.values())
    size = len(crossed) // 2
    inner = {mode * _BITS + bit for mode in (0, 1) for bit in range(size)}
    if not single or size < _LEAST.bit_length() - 1 or crossed != inner or crossed & {*high}:
        return ""
    own = one.places[one.block == one.block[0]][:, moves] >> size
    return "" if (own != own[0]).any(0).all() else "tile turned"


def _tile(places: Array, apart: Array, mode: int) -> int:
    """The extent of tiles along a mode: what all places where a distance changes are multiples of."""
    others = [m for m in range(places.shape[1]) if m != mode]
    order = np.lexsort((places[:, mode], *(places[:, m] for m in others)))
    at, far = places[order], apart[order]
    line = (at[1:, others] == at[:-1, others]).all(1)
    turns = line & (far[1:] != far[:-1]).any(1)
    gaps = line & (at[1:, mode] - at[:-1, mode] != 1)
    bounds = [at[1:, mode][turns | gaps], at[:-1, mode][turns | gaps] + 1]
    return int(np.gcd.reduce(np.concatenate([*bounds, [0]]))) if turns.any() else 0


def _numbers(coordinates: Array) -> tuple[int, ...]:
    return tuple(int(c) for c in coordinates)
