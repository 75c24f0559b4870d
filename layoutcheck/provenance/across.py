"""Instructions of sums, and an operand whose rows run along what the others of its sum have as k.

ldmatrix with the wrong `transpose` brings such an operand in one of many instructions: its k then runs along
several modes of its tensor, which alone may be meant. Patches of an image, whose k may cross a boundary, have
rows along other modes than k.

A sum over k takes all k that both tensors have. What it leaves of both alike is left of every sum.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from layoutcheck.dsl.lowered.spaces import GLOBAL_STEP
from layoutcheck.provenance.judged import Breach, Names
from layoutcheck.provenance.products import Execution
from layoutcheck.provenance.refs import Array
from layoutcheck.provenance.sides import Side
from layoutcheck.provenance.tensors import Tensor
from layoutcheck.sources.mlir import Operation


@dataclass(slots=True)
class Along:
    """The k of one operand in executions of an instruction, (groups, k): coordinates along `mode`."""

    at: Array
    values: Array
    there: Array
    tensor: Tensor
    mode: int


class Suspect(NamedTuple):
    """A row of an operand whose k is not that of the others: the address of its element, where it stands."""

    letter: str
    k: int
    expected: int
    at: int
    row: int
    column: int
    group: int
    bits: int


@dataclass(slots=True)
class Link:
    """An instruction in sums: one number a group for the sum, both operands' k and their steps."""

    op: Operation
    sums: Array
    a: Along
    b: Along
    steps: tuple[int, int]
    suspects: list[Suspect]
    executions: list[Execution]


@dataclass(slots=True)
class Several:
    """An instruction in sums of which `a` or `b` says that the operand's k runs along several modes."""

    op: Operation
    sums: Array
    executions: list[Execution]
    a: bool
    b: bool


def rows_along_depth(one: Several, links: list[Link]) -> tuple[str, tuple[tuple[str, object], ...]] | None:
    """The letter of an operand whose rows run along k, and the facts of the first such row.

    Another instruction of the same sum says what k is, if its own rows do not run along it.
    """
    for letter, several in (("A", one.a), ("B", one.b)):
        for link in links if several else ():
            along = link.a if letter == "A" else link.b
            if not np.isin(one.sums, link.sums).any():
                continue
            if any(_first_row(_side(x, letter), along) for x in link.executions):
                continue
            for each in one.executions:
                at = _first_row(_side(each, letter), along)
                if at is not None:
                    g, m, held = at
                    return letter, (("row", m), ("k", 0), ("held", held), ("taken", ()),
                                    ("group", int(each.groups[g])), ("bits", each.bits))  # fmt: skip
    return None


def _side(one: Execution, letter: str) -> Side:
    return one.a if letter == "A" else one.b


def _first_row(side: Side, along: Along) -> tuple[int, int, tuple[int, ...]] | None:
    """(group, row, coordinates) of the first row that has another coordinate along a mode than row 0."""
    if side.computed or not side.labels.all():
        return None
    found = along.tensor.coordinates(side.labels[:, :, 0])
    if found is None:
        return None
    off = np.argwhere(found[..., along.mode] != found[:, :1, along.mode])
    if not len(off):
        return None
    g, m = (int(i) for i in off[0])
    return g, m, tuple(map(int, found[g, m]))


def untaken(links: list[Link], names: Names, brought: list[Array], used: list[Array]) -> Iterator[Breach]:
    """The k of both tensors of a product that no sum of these takes, and those that one takes twice instead.

    Extents that only a run knows may be larger than what a kernel takes; they count only where k come twice,
    where copies have `brought` k of both that are left, and not for another product (`used` has the rows and
    the k of all operands), or where no product uses the first or the last k (`guessed`: others confirm it).
    """
    a, b = ([link.a for link in links], [link.b for link in links])
    taken = _taken(a)
    if not np.array_equal(taken, _taken(b)) or taken.all():
        return
    left, (twice, ops, evenly) = np.flatnonzero(~taken), _twice(links, taken.size)
    unread = not twice and bool((_unread(a[0], brought, used) & _unread(b[0], brought, used) & ~taken).any())
    guessed = not twice and not unread and taken.size in names.guesses
    ends = left[-1] - left[0] + 1 == left.size and (not left[0] or left[-1] == taken.size - 1)
    if not guessed or (
        ends and not any(_marked(one[0], _coordinates(one[0], used))[left].any() for one in (a, b))
    ):
        facts = {"left": (int(left[0]), int(left[-1])), "count": left.size, "of": taken.size, "twice": twice,
                 "evenly": evenly, "unread": unread, "guessed": guessed}  # fmt: skip
        yield Breach("short", ops[0] if ops else links[-1].op, "", tuple(facts.items()), *ops[1:])


def _twice(links: list[Link], extent: int) -> tuple[tuple[int, ...], list[Operation], bool]:
    """The first and the last k that a sum takes again in the place of others; who takes it; if all are.

    Such a sum takes as many as there are. Other rows with the same k are meant, and so are more turns: a
    tile that counts nothing, or is multiplied to take the time.
    """
    which = np.repeat(np.arange(len(links)), [one.a.there.sum() for one in links])
    sums = np.concatenate([np.repeat(one.sums, one.a.there.sum(1)) for one in links])
    k, *pair = (
        np.concatenate([part[one.a.there] for one, part in zip(links, parts, strict=True)])
        for parts in zip(*((one.a.values, one.a.at, one.b.at) for one in links), strict=True)
    )
    a, b = (np.unique(one, return_inverse=True)[1] for one in pair)
    pairs = a * (int(b.max()) + 1) + b
    for total in np.unique(sums):
        mine = np.flatnonzero(sums == total)
        taken, number, counts = np.unique(pairs[mine], return_inverse=True, return_counts=True)
        if mine.size == extent > taken.size:
            again = mine[counts[number] > 1]
            first = again[pairs[again] == pairs[again[0]]]
            ops = [links[which[i]].op for i in first[:2]]
            return (int(k[again].min()), int(k[again].max())), ops, not np.ptp(counts)
    return (), [], False


def _taken(along: list[Along]) -> Array:
    """Which k of a tensor are taken."""
    return _marked(along[0], [one.values[one.there] for one in along])


def _unread(along: Along, brought: list[Array], used: list[Array]) -> Array:
    """Which k of a tensor copies have brought, while no product takes any of their elements."""
    there, taken = (_coordinates(along, labels) for labels in (brought, used))
    return _marked(along, there if taken else []) & ~_marked(along, taken)


def _coordinates(along: Along, labels: list[Array]) -> list[Array]:
    """The k of those labels that are of a tensor."""
    every = np.concatenate([np.zeros(0, np.int64), *labels])
    found = along.tensor.coordinates(every[every // GLOBAL_STEP == along.tensor.base // GLOBAL_STEP])
    return [] if found is None else [found[:, along.mode]]


def _marked(along: Along, values: list[Array]) -> Array:
    """Which k of a tensor are among these."""
    marked = np.zeros(next(one.extent for one in along.tensor.modes if one.place == along.mode), bool)
    for one in values:
        marked[one[one < marked.size]] = True
    return marked
