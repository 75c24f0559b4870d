"""A program's verdicts place by place, and what an edit changes of them.

A place is a file and a line. An edit moves lines: `Edited` says where a place of the program is afterwards.

A trace shows every copy by itself. A fragment that is filled by one thread-value layout and emptied by
another moves its elements to other places, though each copy is legal. So an edit that changes which elements
a thread holds must change it alike for a copy on the other side of the registers (`held`, `torn`).
"""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

from layoutcheck.algebra.simplify import coalesce
from layoutcheck.check import Report
from layoutcheck.copies.copy import Copy
from layoutcheck.fixes import cycles
from layoutcheck.judge import judge_traced
from layoutcheck.patching.repaired import lines
from layoutcheck.sources.evaluated import NOTHING, Evaluated, Inside
from layoutcheck.sources.traced import Distinct, KernelFinding, OperandReport, OrderReport, Trace, distinct

Place: TypeAlias = tuple[str, int]

RANKS = {"legal": 0, "slow": 1, "unknown": 2, "wrong": 3, "rejected": 4}
BAD = ("rejected", "wrong")
_HALF_MORE = 1.5  # a copy that takes so many times the cycles is worse


def place_of(one: Distinct) -> Place:
    """File and line."""
    return one.first.where.file, one.first.where.line


def instead(before: Iterable[KernelFinding], after: Iterable[KernelFinding]) -> str:
    """Which code is found more often after an edit, in words; "" for none."""
    old, new = (Counter(one.code for one in some) for some in (before, after))
    return f"{min(new - old)} is found instead" if new - old else ""


class State:
    """A trace and the verdicts of its places."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.reports = [(one, judge_traced(one.first)) for one in distinct(trace)]

    def bad(self) -> list[tuple[Distinct, Report]]:
        """The copies that are rejected, then those that are wrong, each in the program's order."""
        found = [(one, r) for one, r in self.reports if r is not None and r.verdict in BAD]
        return sorted(found, key=lambda pair: -RANKS[pair[1].verdict])

    def open(self) -> list[tuple[Distinct, Report]]:
        """The copies that leave their tensors for extents that the caller may give."""
        return [(one, r) for one, r in self.reports if r is not None and one.first.has_tail]

    def inside(self, places: Container[Place] | None = None) -> dict[Evaluated, Inside]:
        """What some places, or all, move inside of their tensors, as `TracedCopy.inside` has it."""
        copies = (((one.where.file, one.where.line), one.inside) for one in self.trace.copies)
        accesses = (((file, line), (move,)) for one in self.trace.elements for file, line, move in one.inside)
        found: dict[Evaluated, Inside] = {}
        for place, moves in (*copies, *accesses):
            for run, counts in moves if places is None or place in places else ():
                found[run] = found.get(run, NOTHING).and_of(counts)
        return found

    def unwritten(self, places: Container[Place]) -> str:
        """What shows that conditions hide wrong coordinates: a tensor is not written whole; "" for nothing.

        That is known of a launch of which all blocks were evaluated.
        """
        every = self.inside()
        for run in self.inside(places):
            if run.whole and not run.extent and [side for side, *_ in run.objects] == [1]:
                written = sum(n.most for other, n in every.items() if other.objects[-1:] == run.objects)
                if written < (size := run.objects[0][-1]):
                    return f"only {written:,} of {size:,} B would be written: coordinates may be wrong"
        return ""

    @cached_property
    def ranks(self) -> dict[Place, int]:
        """The worst rank at every place."""
        found: dict[Place, int] = {}
        for one, report in self.reports:
            at = place_of(one)
            rank = RANKS["unknown" if report is None else report.verdict]
            found[at] = max(found.get(at, 0), rank)
        return found

    @cached_property
    def cycles(self) -> dict[Place, float]:
        """Predicted cycles of a block at every place, each copy of the kernel's text once."""
        found: dict[Place, float] = {}
        for one, report in self.reports:
            if report is not None and report.execution:
                at = place_of(one)
                found[at] = found.get(at, 0) + cycles(report.execution) * one.count
        return found


@dataclass(frozen=True)
class Edited:
    """A program before and after an edit: texts by path, and what the trace says of each."""

    texts: dict[str, str]
    before: State
    changed: dict[str, str]
    after: State

    def lines(self, file: str, line: int) -> list[int]:
        """Where a line is after the edit, then the other lines that it may have become."""
        return moved(self.texts, self.changed, file, line)

    def places(self, place: Place) -> list[Place]:
        """Where a place is after the edit, then the others that it may have become."""
        return [(place[0], at) for at in self.lines(*place)]

    def line(self, place: Place) -> Place:
        """Where a place is after the edit."""
        return self.places(place)[0]

    def there(self, place: Place) -> list[Place]:
        """Where the copies of a place are after the edit: where it is, else in the lines that it became."""
        found = [at for at in self.places(place) if at in self.after.ranks]
        return [self.line(place)] if self.line(place) in found else found

    def rank(self, place: Place) -> int | None:
        """The rank of the copies that were at a place; None where there are none now."""
        return max((self.after.ranks[there] for there in self.there(place)), default=None)

    def unbounded(self, place: Place) -> str:
        """Why it is not checked that what left its tensor at a place stays inside now; "" where it is."""
        left = any(one.first.leaves_tensor for one, _ in self.before.reports if place_of(one) == place)
        there = (one.first.unbounded for one, _ in self.after.reports if place_of(one) in self.there(place))
        return next(filter(None, there), "") if left else ""

    def repaired(self) -> tuple[Place, ...]:
        """The places, before the edit, whose copies were wrong or rejected and are no more."""
        wrong = [place for place, rank in self.before.ranks.items() if rank >= RANKS["wrong"]]
        return tuple(
            place for place in wrong if (now := self.rank(place)) is not None and now < RANKS["wrong"]
        )

    def harmed(self, slow_too: bool = True) -> list[Place]:
        """The places, after the edit, whose copies have a worse verdict than they had.

        Without `slow_too` one that is slow and was legal is not harmed.
        """
        found = []
        for place, rank in self.before.ranks.items():
            at = self.line(place)
            now = self.after.ranks.get(at, rank)
            if now > rank and (slow_too or now > RANKS["slow"]):
                found.append(at)
        return found

    def slowed(self) -> Iterator[Place]:
        """The places, before the edit, whose copies work as they did, and take longer."""
        repaired = set(self.repaired())
        for place, before in self.before.cycles.items():
            if place not in repaired and self.cycles(place, before) > _HALF_MORE * before:
                yield place

    def cycles(self, place: Place, default: float = 0) -> float:
        """The cycles, after the edit, of the copies that were at a place; `default` where none are known."""
        known = [self.after.cycles[there] for there in self.there(place) if there in self.after.cycles]
        return sum(known) if known else default

    def keeps(self, places: Iterable[Place], there: Iterable[Place], bare: State) -> str:
        """Why it is not shown that what places move inside of their tensors stays; "" where it is.

        `there` is where they are after the edit, `bare` the program without any predicate at them. A
        predicate only takes accesses away: as many bytes are the same bytes. Behind a row's end the next
        row begins, so that those within the modes count, where they are known. With run-time extents whole
        tiles must move as before, and tails where that is known.
        """
        before, after = bare.inside(set(places)), self.after.inside(set(there))
        runs = [run for run in before if run in after]
        if not runs:
            return "which elements it moves is not known"
        for run in runs:
            old, new = before[run], after[run]
            known, whole = -1 not in (old.within, new.within), run.extent == runs[0].extent
            if old.within != new.within if known else whole and old.bytes != new.bytes:
                return "elements inside of the tensor would not be moved"
        return ""

    def costs_nothing(self) -> bool:
        """Whether what is repaired wastes nothing, and nothing else takes longer."""
        return all(self.rank(place) == 0 for place in self.repaired()) and next(self.slowed(), None) is None

    def failed(self) -> str:
        """How the program fails now and did not before; "" where it does not."""
        if len(self.after.trace.failures) <= len(self.before.trace.failures):
            return ""
        return f"the program fails: {self.after.trace.failures[-1].message.splitlines()[0][:120]}"

    def objection(self, registers: bool = True) -> str:
        """What is worse than before beside the verdicts on copies; "" where nothing is.

        Without `registers` threads may hand on other elements in them, as operands of a product do.
        """
        if failed := self.failed():
            return failed
        if registers and torn(
            held(one for one, _ in self.before.reports), held(one for one, _ in self.after.reports), self.line
        ):
            return "threads would hand on other elements in their registers"
        disorder = self.disorder()
        if disorder and _replayed(self.before.trace.orders):
            return f"accesses would be out of order ({', '.join(disorder)})"
        products = sorted(_disorder(self.after.trace.operands) - _disorder(self.before.trace.operands))
        if products and _followed(self.before.trace) >= _followed(self.after.trace):
            return f"products would take other elements ({', '.join(products)})"
        return ""

    def disorder(self) -> list[str]:
        """The codes of accesses that are out of order now and were not seen to be before."""
        new, old = (_disorder(state.trace.orders) for state in (self.after, self.before))
        return sorted(new - old)


def _replayed(orders: tuple[OrderReport, ...]) -> bool:
    """A kernel that does not compile is not replayed: what is found later may be older than the edit."""
    return bool(orders) and not any(one.problem for one in orders)


def _followed(trace: Trace) -> int:
    """How many products were followed: of others a fault may be older than the edit."""
    return sum(one.followed for one in trace.operands)


def _disorder(reports: Iterable[OrderReport | OperandReport]) -> Counter[str]:
    return Counter(one.code for report in reports for one in report.findings if one.severity in BAD)


def moved(before: dict[str, str], after: dict[str, str], file: str, line: int) -> list[int]:
    """Where a line is after the edits, then the other lines that it may have become."""
    if before.get(file) == after.get(file):
        return [line]
    old, new = lines(before[file]), lines(after[file])
    for kind, a, b, c, d in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if a <= line - 1 < b:
            at = c + min(line - 1 - a, max(0, d - c - 1)) + 1
            return [at] if kind == "equal" else [at, *(n for n in range(c + 1, d + 1) if n != at)]
    return [line]


Held: TypeAlias = tuple[str, frozenset[object]]
"""Which side of a place's copies is registers ("src", "dst"), and which elements their threads hold."""


def held(copies: Iterable[Distinct]) -> dict[Place, Held]:
    """What threads hold at every place whose copies have one side in registers and a known tiled copy."""
    found: dict[Place, tuple[str, set[object]]] = {}
    for one in copies:
        copy = one.first.copy
        sides = [] if copy is None else [side for side in ("src", "dst") if copy.side(side).space == "rmem"]
        if copy is not None and copy.tiling is not None and len(sides) == 1:
            place = one.first.where.file, one.first.where.line
            found.setdefault(place, (sides[0], set()))[1].add(_elements(copy))
    return {place: (side, frozenset(maps)) for place, (side, maps) in found.items()}


def _elements(copy: Copy) -> object:
    assert copy.tiling is not None
    tiled = copy.tiling.tiled
    return (*(str(coalesce(mode)) for mode in tiled.layout_tv.modes), str(tiled.tiler))


def torn(before: dict[Place, Held], after: dict[Place, Held], moved: Callable[[Place], Place]) -> bool:
    """Whether a place's threads hold other elements than they did, and no place opposite does so with it.

    `moved` says where a place is after the edit.
    """
    for place, (side, maps) in before.items():
        now = after.get(moved(place))
        if now is None or now[1] == maps:
            continue
        opposite = [at for at, (other, theirs) in before.items() if other != side and theirs == maps]
        if not opposite or any(after.get(moved(at), ("", None))[1] != now[1] for at in opposite):
            return True
    return False
