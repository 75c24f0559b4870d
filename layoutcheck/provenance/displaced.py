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
    """What a block stores: bytes with address, operation, who wrote them to shared memory, origins."""

    ops: list[Operation]
    at: Array
    which: Array
    through: Array
    origins: dict[int, Array]

    def moves(self, twins: frozenset[int]) -> bool:
        """Whether elements of one of some tensors go to another place than theirs in another of these."""
        there = np.isin(self.at // GLOBAL_STEP, list(twins))
        known = (self.origins[n][there] for n in self.origins.keys() & twins)
        return any(
            ((one - self.at[there])[one != 0] % GLOBAL_STEP).any() for one in known if _MANY not in one
        )


def alike(names: Names) -> frozenset[int]:
    """The tensors of which another one has the shape, of tiles along two modes."""
    large = ((n, one) for n, every in names.known.items() for one in every if len(one.modes) > 1)
    pairs = [(n, m) for (n, one), (m, other) in combinations(large, 2) if n != m and _one_shape(one, other)]
    return frozenset(n for pair in pairs for n in pair)


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
    if not spare:
        return
    read = {*np.unique(replay.through[0] >> SHIFT).tolist(), *np.unique(stored.through).tolist()}
    brought = {n: np.unique(labels[writers == n]) for n in np.unique(writers).tolist() if n in read}
    ops = list(replay.moves.numbers) if replay.moves is not None else []
    for (one, mine), (other, theirs) in combinations(brought.items(), 2):
        source = int(mine[0]) // GLOBAL_STEP
        of_one = int(mine[0]) >= GLOBAL and int(mine[-1]) // GLOBAL_STEP == source
        if not of_one or not np.array_equal(mine, theirs):
            continue
        modes = {tensor.modes for tensor in names.known.get(source, ())}
        unused = next((n for n, known in spare.items() if n != source and known & modes), 0)
        if unused:
            facts = (("tensors", (source, unused)), ("of", mine.size))
            yield Breach("tile of one", ops[other - 1], "", facts, ops[one - 1])
            return


def displaced(every: Sequence[Arrived], names: Names) -> list[Breach]:
    """The tiles of several blocks that are put elsewhere, one for each tensor that they come from."""
    ops = [op for one in every for op in one.ops]
    starts = np.cumsum([0, *(len(one.ops) for one in every)])
    at, through = (np.concatenate([getattr(one, key) for one in every]) for key in ("at", "through"))
    which = np.concatenate([one.which + start for one, start in zip(every, starts, strict=False)])
    sources = sorted({source for one in every for source in one.origins})
    found: list[Breach] = []
    for source in sources:
        origins = np.concatenate([one.origins.get(source, np.zeros_like(one.at)) for one in every])
        for target in np.unique(at // GLOBAL_STEP).tolist():
            mine = np.flatnonzero((at // GLOBAL_STEP == target) & (origins != 0))
            if source == target or not mine.size or (origins[mine] == _MANY).any():
                continue
            mine = mine[np.unique(at[mine], return_index=True)[1]]
            meant = len(sources) == 1 and not through[mine].all()
            block = np.searchsorted(np.cumsum([one.at.size for one in every]), mine, "right")
            found += _breach(at[mine], origins[mine], [ops[i] for i in which[mine]], block, names, meant)
    return found


def _breach(
    at: Array, origins: Array, ops: list[Operation], block: Array, names: Names, meant: bool
) -> Iterator[Breach]:
    """How tiles are put elsewhere between two tensors; exchanged ones may be `meant`."""
    target, source = names.tensor(at), names.tensor(origins)
    if target is None or source is None or target.guessed or not _one_shape(target, source):
        return
    first = (at - target.base) % target.bytes == 0
    places, given = target.coordinates(at[first]), source.coordinates(origins[first])
    if places is None or given is None or ((origins[first] - source.base) % source.bytes).any():
        return
    places, given = (
        one[:, [mode.place for mode in tensor.modes]] for one, tensor in ((places, target), (given, source))
    )
    kind = _kind(places, given, block[first], meant)
    if kind:
        off = (places != given).any(1)
        one = int(np.flatnonzero(off)[0])
        same = np.flatnonzero((given == given[one]).all(1))
        other = int(same[same != one][0]) if kind == "tile twice" else one
        op = [op for op, kept in zip(ops, first, strict=True) if kept][one]
        facts = (
            ("at", (*places[one].tolist(),)), ("held", (*given[one].tolist(),)),
            ("other", (*places[other].tolist(),)), ("differ", int(off.sum())), ("of", len(places)),
            ("tensors", (int(origins[0]) // GLOBAL_STEP, int(at[0]) // GLOBAL_STEP)),
        )  # fmt: skip
        yield Breach(kind, op, "", facts, op)


def _one_shape(target: Tensor, source: Tensor) -> bool:
    """Whether both have the same modes, in one order of memory."""
    mine, theirs = ([(mode.extent, mode.place) for mode in one.modes] for one in (target, source))
    turned = [(extent, target.rank - 1 - place) for extent, place in theirs]
    return target.bytes == source.bytes and bool(mine) and mine in (theirs, turned)


def _kind(places: Array, given: Array, block: Array, meant: bool) -> str:
    """How tiles are put elsewhere, "" for not, or in a way that may be meant."""
    apart = given - places
    tiles = np.array([_tile(places, apart, mode) for mode in range(places.shape[1])])
    if ((tiles > 0) & (tiles < _LEAST)).any():
        return _turned(places, given, block, np.flatnonzero((apart != apart[0]).any(0)))
    two = np.flatnonzero(tiles)
    if len(two) != 2 or np.delete(apart, two, 1).any():
        return ""
    index, inside = np.divmod(places[:, two], tiles[two])
    taken = [
        (index[:, which] * tiles[two] + inside == given[:, two]).all() for which in ((0, 0), (1, 1), (1, 0))
    ]
    if len(np.unique(index, axis=0)) < 4 or not any(taken):
        return ""
    return "tile twice" if any(taken[:2]) else "" if meant else "tiles exchanged"


def _turned(places: Array, given: Array, block: Array, modes: Array) -> str:
    """Tiles of blocks whose elements are transposed, while the tiles are not, along both modes."""
    if len(modes) != 2:
        return ""
    two = [one[:, modes[0]] | one[:, modes[1]] << _BITS for one in (places, given)]
    images = linear(*two) or {}
    high = [max((bit for bit in images if bit // _BITS == mode), default=0) for mode in (0, 1)]
    crossed = {bit for bit, image in images.items() if bit // _BITS != (image.bit_length() - 1) // _BITS}
    single = all(image and not image & (image - 1) for image in images.values())
    size = len(crossed) // 2
    inner = {mode * _BITS + bit for mode in (0, 1) for bit in range(size)}
    if not single or size < _LEAST.bit_length() - 1 or crossed != inner or crossed & {*high}:
        return ""
    own = places[block == block[0]][:, modes] >> size
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
