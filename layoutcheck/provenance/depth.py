"""The k of A against the k of B, in every instruction and along every sum.

The mode of a tensor that varies along k within the instructions of a sum is its K. Where both operands have
one, their coordinates must have one distance in the whole sum. Then no row may have a k of its own: a tile
that is written through one swizzle and read through another brings other k for some rows.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from layoutcheck.provenance.across import Along, Link, Several, Suspect, rows_along_depth, untaken
from layoutcheck.provenance.judged import Breach, Judged, Names
from layoutcheck.provenance.products import Execution
from layoutcheck.provenance.refs import Array
from layoutcheck.provenance.sides import NO_COMMON, Side
from layoutcheck.provenance.tensors import Tensor
from layoutcheck.sources.mlir import Operation

SEVERAL = "coordinates that several modes of a tensor share"
NO_TENSOR = "elements of no tensor that the kernel's arguments tell"
_DIFFER = "the k of A and of B differ"


def coordinate(tensor: Tensor, at: int) -> Array:
    """The coordinates of one address in a tensor."""
    found = tensor.coordinates(np.array([at]))
    assert found is not None
    return found[0]


@dataclass(slots=True)
class Depths:
    """Takes the instructions one by one, and compares them along their sums at the end."""

    names: Names
    found: Judged
    brought: list[Array] = field(default_factory=list)
    used: list[Array] = field(default_factory=list)
    links: dict[tuple[Tensor, int, Tensor, int], list[Link]] = field(default_factory=dict)
    several: list[Several] = field(default_factory=list)

    def take(self, op: Operation, executions: list[Execution]) -> str:
        """Compare the k of A with that of B; why that cannot be done, or what is wrong, else ""."""
        sums = np.concatenate([one.names for one in executions])
        sides = [side for one in executions for side in (one.a, one.b)]
        self.used += [part.reshape(-1) for side in sides for part in (side.rows, side.depth)]
        a = _along([one.a for one in executions], sums, self.names)
        b = _along([one.b for one in executions], sums, self.names)
        if isinstance(a, str) or isinstance(b, str):
            told = self._turned(op, executions, sums, a, b) or self._crossed(op, executions, a, b)
            if not told and SEVERAL in (a, b):
                self.several.append(Several(op, sums, executions, a == SEVERAL, b == SEVERAL))
            return told or (a if isinstance(a, str) else str(b))
        both = a.there & b.there
        if not both.any():
            return NO_COMMON
        suspects: list[Suspect] = []
        for letter, along in (("A", a), ("B", b)):
            own = _own_k(letter, along, executions)
            if isinstance(own, str):
                return own
            suspects += own
        apart = a.values - b.values
        reference = np.take_along_axis(apart, both.argmax(1)[:, None], 1)
        off = (apart != reference) & both
        steps = (1, 1)
        if off.any():
            found = _steps(a), _steps(b)
            if not both.all() or 0 in found:
                self._tell(op, a, b, off, both)
                return _DIFFER
            steps = found
        key = a.tensor, a.mode, b.tensor, b.mode
        self.links.setdefault(key, []).append(Link(op, sums, a, b, steps, suspects, executions))
        return ""

    def finish(self) -> None:
        """Compare the instructions of each sum with one another, and rows with the k of their sums."""
        self._across()
        for links in self.links.values():
            before = len(self.found.breaches)
            for letter in "AB":
                all_k = np.concatenate([(x.a if letter == "A" else x.b).values.reshape(-1) for x in links])
                for link in links:
                    self._rows(link, letter, int(all_k.min()), int(all_k.max()))
            if len(self.found.breaches) == before:
                self._apart(links)
            self.found.short += untaken(links, self.names, self.brought, self.used)

    def _across(self) -> None:
        """Tell operands whose rows run along what other instructions of the same sum have as k."""
        every = [link for links in self.links.values() for link in links]
        for one in self.several:
            found = rows_along_depth(one, every)
            if found is not None:
                letter, facts = found
                self.found.reasons.pop(one.op, None)
                why = f"the elements of {letter} are scrambled"
                self._broken(one.op, Breach("scrambled", one.op, letter, facts), why)

    def _tell(self, op: Operation, a: Along, b: Along, off: Array, both: Array) -> None:
        g, k = (int(i) for i in np.argwhere(off)[0])
        first = int(both[g].argmax())
        facts = (
            ("k", k), ("a", int(a.values[g, k])), ("b", int(b.values[g, k])),
            ("first", (int(a.values[g, first]), int(b.values[g, first]))), ("within", True),
        )  # fmt: skip
        self.found.breaches.append(Breach("depth", op, "", facts))

    def _apart(self, links: list[Link]) -> None:
        """One distance along each sum."""
        known: dict[tuple[int, tuple[int, int]], tuple[int, int]] = {}  # k of A and of B that were met first
        for link in links:
            both = link.a.there & link.b.there
            at = both.argmax(1)
            for g in np.flatnonzero(both.any(1)).tolist():
                pair = int(link.a.values[g, at[g]]), int(link.b.values[g, at[g]])
                first = known.setdefault((int(link.sums[g]), link.steps), pair)
                more = (pair[0] - first[0]) * link.steps[1] - (pair[1] - first[1]) * link.steps[0]
                if more and not _again(links, link, int(link.sums[g]), more):
                    facts = (("k", int(at[g])), ("a", pair[0]), ("b", pair[1]), ("first", first),
                             ("within", False))  # fmt: skip
                    self._broken(link.op, Breach("depth", link.op, "", facts), _DIFFER)
                    return

    def _broken(self, op: Operation, breach: Breach, why: str) -> None:
        self.found.breaches.append(breach)
        self.found.followed.pop(op, None)
        self.found.reasons.setdefault(op, why)

    def _rows(self, link: Link, letter: str, low: int, high: int) -> None:
        """Tell the first row that brings another k of the same sum than the other rows do."""
        along = link.a if letter == "A" else link.b
        for one in link.suspects:
            if one.letter != letter or not low <= one.k <= high:
                continue
            taken = coordinate(along.tensor, one.at)
            held = tuple(map(int, taken))
            taken[along.mode] = one.expected
            facts = (
                ("row", one.row), ("k", one.column), ("held", held), ("taken", tuple(map(int, taken))),
                ("group", one.group), ("bits", one.bits),
            )  # fmt: skip
            why = f"the elements of {letter} are scrambled"
            self._broken(link.op, Breach("scrambled", link.op, letter, facts), why)
            return

    def _turned(
        self, op: Operation, executions: list[Execution], sums: Array, a: Along | str, b: Along | str
    ) -> str:
        """Where the k of one operand runs along its rows' mode as that of the other runs along its own."""
        for sides, along, other in (([x.a for x in executions], a, b), ([x.b for x in executions], b, a)):
            if along != SEVERAL or isinstance(other, str):
                continue
            turned = _turned(sides, sums, other, self.names)
            if turned is None:
                continue
            first, last, k = turned
            own, theirs = (int(k[g]) for g in (first, last)), (int(other.values[g, 0]) for g in (first, last))
            pairs = [
                pair if sides[0] is executions[0].a else pair[::-1] for pair in zip(own, theirs, strict=True)
            ]
            facts = (("k", 0), ("a", pairs[1][0]), ("b", pairs[1][1]), ("first", pairs[0]), ("within", False))
            self.found.breaches.append(Breach("depth", op, "", facts))
            return _DIFFER
        return ""

    def _crossed(self, op: Operation, executions: list[Execution], a: Along | str, b: Along | str) -> str:
        """Where k of one operand runs along both modes of a matrix, back and forth or across: scrambled."""
        for letter, along, other in (("A", a, b), ("B", b, a)):
            if along != SEVERAL or isinstance(other, str):
                continue
            for one in executions:
                side = one.a if letter == "A" else one.b
                tensor = self.names.tensor(side.labels[side.labels != 0])
                if side.computed or tensor is None or not side.labels.all() or not distinct(side.labels):
                    continue
                coordinates = tensor.coordinates(side.labels)
                if coordinates is None:
                    continue
                varying = [
                    (coordinates != part).any((0, 1, 2))
                    for part in (coordinates[:, :1, :1], coordinates[:, :, :1])
                ]
                steps = np.diff(side.labels, axis=2)
                across = (np.diff(coordinates, axis=2) > 0).sum(3) > 1
                turns = np.diff(np.sign(steps), axis=2) != 0
                back = bool(turns.any())
                if varying[0].sum() != 2 or varying[1].sum() != 2:
                    continue
                own, every = self._extents(letter, one, executions, tensor)
                crossed = exchanged(coordinates, np.flatnonzero(varying[0]), own, every)
                if crossed is not None or back or across.any():
                    places = np.argwhere(turns if back else across)
                    g, m, k = crossed or (int(i) for i in places[0])
                    k += 0 if crossed else 2 if back else 1
                    held = tuple(map(int, coordinates[g, m, k]))
                    facts = (("row", m), ("k", k), ("held", held), ("taken", ()),
                             ("group", int(one.groups[g])), ("bits", one.bits))  # fmt: skip
                    self.found.breaches.append(Breach("scrambled", op, letter, facts))
                    return f"the elements of {letter} are scrambled"
        return ""

    @staticmethod
    def _extents(
        letter: str, like: Execution, executions: list[Execution], tensor: Tensor
    ) -> tuple[Array, Array]:
        """How far the sums of one execution go along k, (groups, modes), and all of its op (modes)."""
        alike = [x for x in executions if x.block == like.block and x.sums.shape == like.sums.shape]
        at = np.stack([(x.a if letter == "A" else x.b).depth for x in alike])
        same = np.array([np.array_equal(x.sums, like.sums) for x in alike])
        coordinates = tensor.coordinates(at)
        if coordinates is None:
            return np.zeros((at.shape[1], tensor.rank), np.int64), np.zeros(tensor.rank, np.int64)
        return np.ptp(coordinates[same], (0, 2)) + 1, np.ptp(coordinates, (0, 1, 2)) + 1


def _again(links: list[Link], link: Link, total: int, more: int) -> bool:
    """Whether a sum takes all k of one operand again and again, and the other goes on by as many.

    `more` is how far a pair of `link` is off the first one, in steps of the other operand. The other has more
    k: where it has as many, pairs are out of step by a whole turn (tiles of another stage).
    """

    def taken(letter: str) -> int:
        along = [one.a if letter == "A" else one.b for one in links]
        mine = [side.values[one.sums == total].reshape(-1) for side, one in zip(along, links, strict=True)]
        return len(np.unique(np.concatenate(mine)))

    for letter, other, step in (("A", "B", link.steps[1]), ("B", "A", link.steps[0])):
        along = link.a if letter == "A" else link.b
        extent = next(mode.extent for mode in along.tensor.modes if mode.place == along.mode)
        if more % (extent * step) == 0 and taken(letter) == extent < taken(other):
            return True
    return False


def _turned(sides: list[Side], sums: Array, other: Along, names: Names) -> tuple[int, int, Array] | None:
    """Two executions of a sum with the same k of this operand, and with two of the other; the k of all.

    From the one to the other this operand goes along the mode of its rows, as far as the other goes along k.
    Of its own k there are more, as many as the other takes: a convolution has taken them all by then. Groups
    whose first rows lie beyond the tensor's end are left out.
    """
    at, rows = (np.concatenate([getattr(one, key) for one in sides]) for key in ("depth", "rows"))
    there = (at[:, 0] != 0) & (rows[:, 0] != 0) & (rows[:, 1] != 0) & other.there[:, 0]
    if not there.any():
        return None
    at, rows = (
        np.where(one != 0, one, np.where(there[:, None], one[:, :1], one[there][0, 0])) for one in (at, rows)
    )
    tensor = names.tensor(np.concatenate([at, rows], 1).reshape(-1))
    if tensor is None:
        return None
    k, m = tensor.coordinates(at), tensor.coordinates(rows)
    assert k is not None and m is not None
    within = np.flatnonzero((k != k[:, :1]).any((0, 1)))
    across = np.flatnonzero((m[:, 1:2] != m[:, :1]).any((0, 1)))  # neighbours: a pair of blocks has two parts
    if len(within) != 1 or len(across) != 1 or within[0] == across[0]:
        return None
    deep, high = int(within[0]), int(across[0])
    extent = next(mode.extent for mode in tensor.modes if mode.place == deep)
    for one in np.unique(sums):
        mine = np.flatnonzero((sums == one) & there)
        if not mine.size:
            continue
        first, own, goes = mine[0], k[mine, 0, deep], k[mine, 0, high]
        alike = not np.ptp(other.values[mine, 0] - own - goes)
        taken = len(np.unique(k[mine][:, :, deep])), len(np.unique(other.values[mine]))
        if alike and np.ptp(goes) and taken[0] < taken[1] <= extent:
            return int(first), int(mine[goes != goes[0]][0]), k[:, 0, deep]
    return None


def _steps(along: Along) -> int:
    """The step of k where it is one for all, else 0: a tensor of which every second element is taken."""
    steps = np.unique(np.diff(along.values, axis=1))
    return int(steps[0]) if len(steps) == 1 else 0


def _own_k(letter: str, along: Along, executions: list[Execution]) -> list[Suspect] | str:
    """Rows whose first k is not that of the others; why k has no mode of its own, where it has none.

    A row must vary along another mode too: in a flat tensor rows and k share the one that there is.
    """
    found = []
    for one in executions:
        side = one.a if letter == "A" else one.b
        there = side.rows != 0
        if not there.any() or side.computed:
            continue
        coordinates = along.tensor.coordinates(np.where(there, side.rows, side.rows[there][0]))
        if coordinates is None:
            return NO_TENSOR
        first = np.take_along_axis(coordinates, there.argmax(1)[:, None, None], 1)
        off = (coordinates != first) & there[:, :, None]
        if not off[:, :, along.mode].any():
            continue
        varying = np.flatnonzero(off.any((0, 1)))
        if len(varying) < 2 or not distinct(side.labels):
            return SEVERAL
        for g, m in np.argwhere(off[:, :, along.mode]).tolist():
            column = int((side.labels[g, m] != 0).argmax())
            found.append(
                Suspect(
                    letter, int(coordinates[g, m, along.mode]), int(first[g, 0, along.mode]),
                    int(side.labels[g, m, column]), m, column, int(one.groups[g]), one.bits,
                )
            )  # fmt: skip
    return found


def _along(sides: list[Side], sums: Array, names: Names) -> Along | str:
    at = np.concatenate([one.depth for one in sides])
    there = at != 0
    tensor = names.tensor(at[there])
    if tensor is None:
        return NO_TENSOR
    coordinates = tensor.coordinates(np.where(there, at, at[there][0]))
    assert coordinates is not None
    varying = (coordinates != coordinates[:, :1])[there].any(0)
    _, first, which = np.unique(sums, return_index=True, return_inverse=True)
    within = there & there[first][which]
    varying |= (
        ((coordinates != coordinates[first][which]) & within[:, :, None]).reshape(-1, tensor.rank).any(0)
    )
    modes = np.flatnonzero(varying)
    if len(modes) != 1:
        return SEVERAL if len(modes) else "one k alone"
    mode = int(modes[0])
    return Along(at, coordinates[:, :, mode], there, tensor, mode)


def exchanged(coordinates: Array, modes: Array, own: Array, every: Array) -> tuple[int, int, int] | None:
    """(group, row, k) of the first element beyond a block, where the blocks of a tile are exchanged.

    Along one mode k runs within blocks that rows step over, along the other rows run within blocks that k
    steps over: a transpose of all elements in place of that within each block, or the other way round.
    Where all rows are in one block, the first mode is that of the rows of other sums, the other that of k:
    `own` (by group and mode) and `every` (by mode) are the extents of this sum along k, and of all. Patches
    of an image, which k steps through along both of its modes, are another thing, as are windows.
    """
    for g, tile in enumerate(coordinates[..., modes]):
        depth, rows = tile[0] - tile[0, 0], tile[:, 0] - tile[0, 0]
        for one in (0, 1):
            within, beyond = depth[:, one], depth[:, 1 - one]
            if not _steps_over(rows[:, 1 - one], beyond):
                continue
            block, next_ = int(within.max()) + 1, int(rows[:, 1 - one].max()) + 1
            restarts = (within == np.arange(len(within)) % block).all()
            adjacent = set(np.unique(beyond).tolist()) == {0, next_} and len(rows) == next_
            across = own[g, modes[one]] == block < every[modes[one]]
            more = not rows[:, one].any() and across and own[g, modes[1 - one]] >= 2 * next_
            if _steps_over(within, rows[:, one]) or (restarts and block > 1 and adjacent and more):
                return g, 0, int(np.argmax(beyond > 0))
    return None


def _steps_over(inner: Array, outer: Array) -> bool:
    """Whether both vary, and the steps of `outer` go beyond all of `inner`."""
    both = np.concatenate([inner, outer])
    return bool((both >= 0).all() and inner.any() and outer.any() and inner.max() < outer[outer > 0].min())


def distinct(labels: Array) -> bool:
    """Whether no element of an operand comes twice in one instruction."""
    return all(len(np.unique(one[one != 0])) == np.count_nonzero(one) for one in labels)
