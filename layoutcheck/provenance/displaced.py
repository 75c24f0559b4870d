"""Tiles that a kernel without products puts elsewhere: fetched twice in the place of others, or exchanged.

What is stored is led back to the elements that it was made of, of each tensor by itself (`_origins`), for
several blocks. Where source and target have one shape, an element goes some distance. One distance for all,
and distances that follow elements (transposes, paddings, shifts) are meant. A distance that is another one
from tile to tile, by whole tiles, tells of an index: of the wrong mode, block or turn. It is told if tiles
are fetched twice, so that others are not, or if two modes are exchanged while the elements inside are not.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np

from layoutcheck.dsl.lowered.spaces import GLOBAL_STEP
from layoutcheck.provenance.judged import Breach, Names
from layoutcheck.provenance.moved import Moves, linear
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
    """What a block stores: for each byte its address, its operation, and what it is made of."""

    ops: list[Operation]
    at: Array
    which: Array
    origins: dict[int, Array]


def arrived(moves: Moves, pairs: Pairs, most: int = 1 << 22) -> Arrived | None:
    """The bytes that a replay stored; None where there are too many, or none."""
    kept = moves.all
    if not kept or sum(one.at.size for one in kept) > most:
        return None
    at, labels = (np.concatenate([getattr(one, key).ravel() for one in kept]) for key in ("at", "labels"))
    which = np.concatenate([np.full(one.at.size, i) for i, one in enumerate(kept)])
    memory = [one[(one >= GLOBAL) & (one < PAIR)] for one in (labels, pairs.parts)]
    sources = np.unique(np.concatenate(memory) // GLOBAL_STEP).tolist()
    return Arrived([one.op for one in kept], at, which, {n: _origins(labels, pairs, n) for n in sources})


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
    """Two copies that bring the same elements to two places, beside a tensor that is not used."""
    labels, writers = replay.shared[0], replay.writers[0]
    there = (labels >= GLOBAL) & (labels < PAIR)
    brought = {int(n): np.unique(labels[there & (writers == n)]) for n in np.unique(writers[there]) if n}
    ops = list(replay.moves.numbers) if replay.moves is not None else []
    used = {int(n) for n in np.unique(np.concatenate([labels[there], stored.at]) // GLOBAL_STEP)}
    used |= stored.origins.keys() | {number for one in replay.blocks for number in one.touched}
    for (one, mine), (other, theirs) in combinations(brought.items(), 2):
        if not np.array_equal(mine, theirs) or len(np.unique(mine // GLOBAL_STEP)) > 1:
            continue
        source = int(mine[0]) // GLOBAL_STEP
        modes = [tensor.modes for tensor in names.known.get(source, ())]
        alike = (
            n for n, every in names.known.items() if n not in used and any(t.modes in modes for t in every)
        )
        for unused in alike:
            facts = (("tensors", (source, unused)), ("of", mine.size))
            yield Breach("tile of one", ops[other - 1], "", facts, ops[one - 1])
            return


def displaced(every: Sequence[Arrived], names: Names) -> list[Breach]:
    """The tiles of several blocks that are put elsewhere, one for each tensor that they come from."""
    ops = [op for one in every for op in one.ops]
    starts = np.cumsum([0, *(len(one.ops) for one in every)])
    at = np.concatenate([one.at for one in every])
    which = np.concatenate([one.which + start for one, start in zip(every, starts, strict=False)])
    found: list[Breach] = []
    for source in sorted({source for one in every for source in one.origins}):
        none = [np.zeros_like(one.at) for one in every]
        origins = np.concatenate([one.origins.get(source, z) for one, z in zip(every, none, strict=True)])
        for target in np.unique(at // GLOBAL_STEP).tolist():
            mine = at // GLOBAL_STEP == target
            found += _of_pair(at[mine], origins[mine], which[mine], ops, names)
    return found


def _of_pair(at: Array, origins: Array, which: Array, ops: list[Operation], names: Names) -> Iterator[Breach]:
    """What is put elsewhere between two tensors."""
    taken = origins != 0
    if (
        (origins == _MANY).any()
        or not taken.any()
        or int(at[0]) // GLOBAL_STEP == int(origins.max()) // GLOBAL_STEP
    ):
        return
    at, origins, which = at[taken], origins[taken], which[taken]
    target, source = names.tensor(at), names.tensor(origins)
    if target is None or source is None or target.guessed or not _one_shape(target, source):
        return
    whole = (at - target.base) % target.bytes == 0
    at, index = np.unique(at[whole], return_index=True)
    origins, which = origins[whole][index], which[whole][index]
    places, given = target.coordinates(at), source.coordinates(origins)
    if places is None or given is None or ((origins - source.base) % source.bytes).any():
        return
    places, given = (
        one[:, [mode.place for mode in tensor.modes]] for one, tensor in ((places, target), (given, source))
    )
    told = _told(places, given)
    if told is not None:
        kind, first, second = told
        facts = (
            ("at", _numbers(places[first])), ("held", _numbers(given[first])),
            ("other", _numbers(places[second])), ("differ", int((places != given).any(1).sum())),
            ("of", len(places)), ("tensors", (int(origins[0]) // GLOBAL_STEP, int(at[0]) // GLOBAL_STEP)),
        )  # fmt: skip
        yield Breach(kind, ops[int(which[first])], "", facts, ops[int(which[first])])


def _one_shape(target: Tensor, source: Tensor) -> bool:
    """Whether both have the same modes, in one order of memory."""
    shapes = [[mode.extent for mode in one.modes] for one in (target, source)]
    orders = [[mode.place for mode in one.modes] for one in (target, source)]
    aligned = orders[0] in (orders[1], [target.rank - 1 - place for place in orders[1]])
    return target.bytes == source.bytes and shapes[0] == shapes[1] and len(shapes[0]) > 0 and aligned


def _told(places: Array, given: Array) -> tuple[str, int, int] | None:
    """How tiles are put elsewhere, by the numbers of two elements that show it; None where they are not."""
    apart = given - places
    moves = [int(m) for m in np.flatnonzero((apart != apart[0]).any(0))]
    if not moves:
        return None
    tiles = [_tile(places, apart, mode) for mode in range(places.shape[1])]
    if any(0 < tile < _LEAST for tile in tiles):
        return _turned(places, given, moves)
    if any(not tiles[m] or (apart[:, m] % tiles[m]).any() for m in moves):
        return None
    off = (apart != 0).any(1)
    if off.all() and len(np.unique(apart, axis=0)) == 1:
        return None
    _, _first, back, counts = np.unique(
        given, axis=0, return_index=True, return_inverse=True, return_counts=True
    )
    back = back.reshape(-1)
    twice = np.flatnonzero((counts[back] > 1) & off)
    if twice.size:
        one = int(twice[0])
        same = np.flatnonzero(back == back[one])
        return "tile twice", one, int(same[same != one][0])
    if len(moves) == 2:
        tile = np.array([tiles[m] for m in moves])
        exchanged = (places[:, moves] // tile)[:, ::-1] * tile + places[:, moves] % tile
        if (exchanged == given[:, moves]).all():
            one = int(np.flatnonzero(off)[0])
            return "tiles exchanged", one, one
    return None


def _turned(places: Array, given: Array, moves: list[int]) -> tuple[str, int, int] | None:
    """Tiles whose elements are transposed, while the tiles are not, along both modes."""
    if len(moves) != 2:
        return None
    two = [one[:, moves[0]] | one[:, moves[1]] << _BITS for one in (places, given)]
    images = linear(*two) or {}
    high = [max((bit for bit in images if bit // _BITS == mode), default=0) for mode in (0, 1)]
    crossed = {bit for bit, image in images.items() if bit // _BITS != (image.bit_length() - 1) // _BITS}
    single = all(image and not image & (image - 1) for image in images.values())
    inner = {mode * _BITS + bit for mode in (0, 1) for bit in range(len(crossed) // 2)}
    if single and len(crossed) // 2 >= _LEAST.bit_length() - 1 and crossed == inner and not crossed & {*high}:
        one = int(np.flatnonzero((places != given).any(1))[0])
        return "tile turned", one, one
    return None


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
