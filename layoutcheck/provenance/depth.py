"""The k of A against the k of B, in every instruction and along every sum.

The mode of a tensor that varies along k within the instructions of a sum is its K. Where both operands have
one, their coordinates must have one distance in the whole sum. Then no row may have a k of its own: a tile
that is written through one swizzle and read through another brings other k for some rows.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from layoutcheck.provenance.judged import Breach, Judged, Names
from layoutcheck.provenance.products import Execution
from layoutcheck.provenance.refs import Array
from layoutcheck.provenance.sides import Side
from layoutcheck.provenance.tensors import Tensor
from layoutcheck.sources.mlir import Operation

SEVERAL = "coordinates that several modes of a tensor share"
NO_TENSOR = "elements of no tensor that the kernel's arguments tell"
_DIFFER = "the k of A and of B differ"


def coordinate(tensor: Tensor, at: int) -> Array:
    """The coordinates of one address in a tensor."""
    found = tensor.coordinates(np.array([at]))
    assert found is not None
    one: Array = found[0]
    return one


@dataclass(slots=True)
class Along:
    """The k of one operand in executions of an instruction, (groups, k): coordinates along `mode`."""

    at: Array
    values: Array
    there: Array
    tensor: Tensor
    mode: int


@dataclass(slots=True)
class _Link:
    """An instruction in sums: one number a group for the sum, both operands' k."""

    op: Operation
    sums: Array
    a: Along
    b: Along
    raw: bool


@dataclass(slots=True)
class Depths:
    """Takes the instructions one by one, and compares them along their sums at the end."""

    names: Names
    found: Judged
    links: dict[tuple[Tensor, int, Tensor, int], list[_Link]] = field(default_factory=dict)

    def take(self, op: Operation, executions: list[Execution]) -> str:
        """Compare the k of A with that of B; why that cannot be done, or what is wrong, else ""."""
        sums = np.concatenate([one.sums[:, 0, 0] + (one.block << 48) for one in executions])
        a = _along([one.a for one in executions], sums, self.names)
        b = _along([one.b for one in executions], sums, self.names)
        if isinstance(a, str) or isinstance(b, str):
            return self._crossed(op, executions, a, b) or (a if isinstance(a, str) else str(b))
        both = a.there & b.there
        if not both.any():
            return "no k that both operands have"
        apart = a.values - b.values
        reference = np.take_along_axis(apart, both.argmax(1)[:, None], 1)
        off = (apart != reference) & both
        if off.any():
            self._tell(op, a, b, off, both, True)
            return _DIFFER
        why = self._rows(op, executions, a, b)
        if why:
            return why
        raw = all(8 * x.tensor.bytes == executions[0].bits for x in (a, b))
        raw &= not any(one.a.computed or one.b.computed for one in executions)
        key = a.tensor, a.mode, b.tensor, b.mode
        self.links.setdefault(key, []).append(_Link(op, sums, a, b, raw))
        return ""

    def finish(self, repeats: bool) -> None:
        """Compare the instructions of each sum; with `repeats` also look for k that come twice."""
        for links in self.links.values():
            self._apart(links)
            if repeats and all(link.raw for link in links):
                self._twice(links)

    def _tell(self, op: Operation, a: Along, b: Along, off: Array, both: Array, within: bool) -> None:
        g, k = (int(i) for i in np.argwhere(off)[0])
        first = int(both[g].argmax())
        facts = (
            ("k", k), ("a", int(a.values[g, k])), ("b", int(b.values[g, k])),
            ("first", (int(a.values[g, first]), int(b.values[g, first]))), ("within", within),
            ("twice", False),
        )  # fmt: skip
        self.found.breaches.append(Breach("depth", op, "", facts))

    def _apart(self, links: list[_Link]) -> None:
        """One distance along each sum."""
        known: dict[int, tuple[int, int]] = {}  # sum -> k of A and of B where it was met first
        for link in links:
            both = link.a.there & link.b.there
            at = both.argmax(1)
            for g in np.flatnonzero(both.any(1)).tolist():
                pair = int(link.a.values[g, at[g]]), int(link.b.values[g, at[g]])
                first = known.setdefault(int(link.sums[g]), pair)
                if pair[0] - pair[1] != first[0] - first[1]:
                    facts = (("k", int(at[g])), ("a", pair[0]), ("b", pair[1]), ("first", first),
                             ("within", False), ("twice", False))  # fmt: skip
                    self._broken(link.op, facts)
                    return

    def _twice(self, links: list[_Link]) -> None:
        """No element of A, by the same element of B, twice in a sum."""
        sums, a, b, which = [], [], [], []
        for i, link in enumerate(links):
            both = link.a.there & link.b.there
            sums.append(np.broadcast_to(link.sums[:, None], both.shape)[both])
            a.append(link.a.at[both])
            b.append(link.b.at[both])
            which.append(np.full(int(both.sum()), i))
        rows = np.stack([np.concatenate(x) for x in (sums, a, b)], 1)
        order = np.lexsort(rows.T[::-1])
        same = (rows[order][1:] == rows[order][:-1]).all(1)
        if same.any():
            link = links[int(np.concatenate(which)[order][1:][same][0])]
            at = rows[order][1:][same][0]
            values = [
                int(coordinate(x.tensor, int(n))[x.mode]) for x, n in ((link.a, at[1]), (link.b, at[2]))
            ]
            facts = (
                ("k", 0),
                ("a", values[0]),
                ("b", values[1]),
                ("first", (0, 0)),
                ("within", False),
                ("twice", True),
            )
            self._broken(link.op, facts)

    def _broken(self, op: Operation, facts: tuple[tuple[str, object], ...]) -> None:
        self.found.breaches.append(Breach("depth", op, "", facts))
        self.found.followed.pop(op, None)
        self.found.reasons.setdefault(op, _DIFFER)

    def _rows(self, op: Operation, executions: list[Execution], a: Along, b: Along) -> str:
        """Whether rows of an operand have a k of their own."""
        for letter, along in (("A", a), ("B", b)):
            for one in executions:
                side = one.a if letter == "A" else one.b
                there = side.rows != 0
                if not there.any() or side.computed:
                    continue
                filled = np.where(there, side.rows, side.rows[there][0])
                coordinates = along.tensor.coordinates(filled)
                if coordinates is None:
                    return NO_TENSOR
                k = coordinates[:, :, along.mode]
                first = np.take_along_axis(k, there.argmax(1)[:, None], 1)
                off = (k != first) & there
                if not off.any():
                    continue
                if not _distinct(side.labels):
                    return SEVERAL
                g, m = (int(i) for i in np.argwhere(off)[0])
                self.found.breaches.append(_own_k(op, letter, one, along, g, m, int(first[g, 0])))
                return f"the elements of {letter} are scrambled"
        return ""

    def _crossed(self, op: Operation, executions: list[Execution], a: Along | str, b: Along | str) -> str:
        """Where k of one operand runs along both modes of a matrix, back and forth: its tile is scrambled."""
        for letter, along, other in (("A", a, b), ("B", b, a)):
            if along != SEVERAL or isinstance(other, str):
                continue
            for one in executions:
                side = one.a if letter == "A" else one.b
                tensor = self.names.tensor(side.labels[side.labels != 0])
                if side.computed or tensor is None or not side.labels.all() or not _distinct(side.labels):
                    continue
                coordinates = tensor.coordinates(side.labels)
                if coordinates is None:
                    continue
                varying = [
                    (coordinates != part).any((0, 1, 2))
                    for part in (coordinates[:, :1, :1], coordinates[:, :, :1])
                ]
                steps = np.diff(side.labels, axis=2)
                if (
                    varying[0].sum() == 2
                    and varying[1].sum() == 2
                    and (steps > 0).any()
                    and (steps < 0).any()
                ):
                    g, m, k = (int(i) for i in np.argwhere(np.diff(np.sign(steps), axis=2))[0])
                    held = tuple(map(int, coordinates[g, m, k + 2]))
                    facts = (("row", m), ("k", k + 2), ("held", held), ("taken", ()),
                             ("group", int(one.groups[g])), ("bits", one.bits))  # fmt: skip
                    self.found.breaches.append(Breach("scrambled", op, letter, facts))
                    return f"the elements of {letter} are scrambled"
        return ""


def _distinct(labels: Array) -> bool:
    """Whether no element of an operand comes twice in one instruction."""
    for group in labels:
        kept = group[group != 0]
        if np.unique(kept).size != kept.size:
            return False
    return True


def _own_k(op: Operation, letter: str, one: Execution, along: Along, g: int, m: int, first: int) -> Breach:
    side = one.a if letter == "A" else one.b
    k = int((side.labels[g, m] != 0).argmax())
    held = coordinate(along.tensor, int(side.labels[g, m, k]))
    taken = held.copy()
    taken[along.mode] = first
    facts = (
        ("row", m), ("k", k), ("held", tuple(map(int, held))), ("taken", tuple(map(int, taken))),
        ("group", int(one.groups[g])), ("bits", one.bits),
    )  # fmt: skip
    return Breach("scrambled", op, letter, facts)


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
    if len(modes) > 1:
        return SEVERAL
    if not len(modes):
        return "one k alone"
    mode = int(modes[0])
    return Along(at, coordinates[:, :, mode], there, tensor, mode)
