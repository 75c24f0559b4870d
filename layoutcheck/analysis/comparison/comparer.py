"""What a comparison finds: counts of each kind of difference, and the first offender of each."""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from layoutcheck.analysis.comparison.kinds import Offender
from layoutcheck.copies.addresses import PRIVATE
from layoutcheck.copies.memref import Memref
from layoutcheck.copies.moves import NOTHING, Access, Execution, Intent
from layoutcheck.copies.offsets import IntArray, distinct, offsets

MOST_PLACES = 1 << 22


def in_table(*addresses: IntArray, grain: int = 1) -> tuple[tuple[IntArray, ...], int] | None:
    """The place of each address, one place every `grain` units, and the number of places.

    What is in a table is found without sorting. Memory lies in one piece, with gaps where a tile has a pitch;
    of a table over it only what is touched costs anything. Registers lie `PRIVATE` apart for each thread:
    their table has the threads side by side.

    None where the addresses lie too far apart, or there are none.
    """
    if not all(one.size for one in addresses):
        return None
    low = min(int(one.min()) for one in addresses)
    high = max(int(one.max()) for one in addresses)
    if (high - low) // grain < MOST_PLACES:
        return tuple((one - low) // grain for one in addresses), (high - low) // grain + 1
    if low < 0 or high < PRIVATE:
        return None
    threads = [one // PRIVATE for one in addresses]
    own = [one - t * PRIVATE for one, t in zip(addresses, threads, strict=True)]
    low = min(int(one.min()) for one in own)
    width = (max(int(one.max()) for one in own) - low) // grain + 1
    first = min(int(one.min()) for one in threads)
    count = (max(int(one.max()) for one in threads) - first + 1) * width
    if count > MOST_PLACES:
        return None
    return tuple(
        (t - first) * width + (one - low) // grain for t, one in zip(threads, own, strict=True)
    ), count


def occurs(values: IntArray, among: IntArray) -> npt.NDArray[np.bool_] | None:
    """Which `values` occur among addresses in any order; None where they lie too far apart for a table."""
    placed = in_table(values, among)
    if placed is None:
        return None
    (wanted, known), count = placed
    there = np.zeros(count, dtype=np.bool_)
    there[known] = True
    return there[wanted]


class Comparer:
    """The counts and first offenders, as they are found, one unit of every `grain` looked at."""

    def __init__(self, intent: Intent, execution: Execution, grain: int) -> None:
        self.intent = intent
        self.execution = execution
        self.grain = grain
        self.counts: dict[str, int] = {}
        self.first: dict[str, Offender] = {}

    @cached_property
    def asked_src(self) -> IntArray:
        """Where each `grain` of the asked moves comes from, [element, thread, part]."""
        return self.intent.source.every(self.grain)

    @cached_property
    def asked_dst(self) -> IntArray:
        """Where it goes."""
        return self.intent.target.every(self.grain)

    @cached_property
    def used_src(self) -> IntArray:
        """Where each `grain` of the moves that happen comes from, [instruction, thread, part]."""
        return self.execution.source.every(self.grain)

    @cached_property
    def used_dst(self) -> IntArray:
        """Where it goes."""
        return self.execution.target.every(self.grain)

    def add(self, kind: str, count: int, first: Offender) -> None:
        """Count a difference; the first one given is its offender."""
        self.counts[kind] = self.counts.get(kind, 0) + count
        self.first.setdefault(kind, first)

    def misaligned(self, kind: str, access: Access) -> None:
        """Addresses that are not a multiple of what the access asks for."""
        off = access.addresses % access.multiple_bytes
        if not off.any():
            return
        thread = int(np.argmax(off.any(axis=0)))
        instruction = int(np.argmax(off[:, thread] != 0))
        used = int(access.addresses[instruction, thread])
        first = Offender(thread, instruction, at=used, asked=access.multiple_bytes, used=used)
        self.add(kind, int(np.count_nonzero(off)), first)

    def predicate_range(self, pred: IntArray, memref: Memref) -> None:
        """Predicate entries that the predicate's tensor does not have."""
        inside = _is_in(pred, np.sort(offsets(memref.layout)))
        if not inside.all():
            at = int(np.argmin(inside))
            self.add("outside_pred", distinct(pred[~inside]), Offender(0, at, used=int(pred[at])))

    def outside(self, side: str, footprint: IntArray) -> None:
        """Units of the operand's space that are touched although the operand does not have them."""
        flat = (self.used_src if side == "src" else self.used_dst).reshape(-1)
        strange = ~_among(flat, footprint) & (flat != NOTHING)
        if strange.any():
            touched = np.flatnonzero(strange)
            at = int(touched[np.argmin(self.threads(touched))])
            thread, instruction = self.place(at)
            self.add(
                f"outside_{side}",
                distinct(flat[touched]) * self.grain,
                Offender(thread, instruction, at=int(flat[at]), used=int(flat[at])),
            )

    def memory(self, tails: bool) -> int:
        """Compare memory after the copy; the number of units written again with equal contents.

        With `tails` a predicate may choose among elements of one address (`chosen`).
        """
        asked_dst, asked_src = self.asked_dst.reshape(-1), self.asked_src.reshape(-1)
        index = np.flatnonzero((asked_src != NOTHING) | self.intent.zeros)
        index = index[np.argsort(asked_dst[index], kind="stable")]
        want_at, want = asked_dst[index], asked_src[index]
        again = _again(want_at)
        torn = again & (want[1:] != want[:-1])
        named = torn & ~self.chosen(index) if tails and torn.any() else torn
        if named.any():
            i = int(np.argmax(named))
            first = Offender(
                value=self.element(index[i + 1]),
                at=int(want_at[i]),
                asked=int(want[i]),
                used=int(want[i + 1]),
            )
            self.add("overlap", distinct(want_at[1:][named]) * self.grain, first)

        used_dst, used_src = self.used_dst.reshape(-1), self.used_src.reshape(-1)
        order = np.argsort(used_dst, kind="stable")  # of equal addresses the last is the last written
        order = order[np.searchsorted(used_dst[order], NOTHING, side="right") :]  # what was switched off
        got_at, got = used_dst[order], used_src[order]
        twice = _again(got_at)
        chosen = want_at[1:][torn & ~named]  # by the predicate, which writes no such address twice
        repeated = self.races(order, got_at, got, twice, chosen) if twice.any() else 0
        last = np.append(~twice, True) if got_at.size else twice
        final_at, final, writer = got_at[last], got[last], order[last]

        alone = np.append(True, ~again) if want_at.size else again
        written = _is_in(want_at, final_at)
        if not written.all():
            lost = np.flatnonzero(~written & alone)
            i = int(lost[np.argmin(index[lost])])
            first = Offender(value=self.element(index[i]), at=int(want_at[i]), asked=int(want[i]))
            self.add("missing", int(lost.size) * self.grain, first)
        at = np.searchsorted(final_at, want_at[written])
        split = want_at[1:][torn]
        self.contents(index[written], want_at[written], want[written], final[at], writer[at], split)
        keep = written & ~_is_in(want_at, split)
        kept = _is_in(got_at, want_at[keep])
        if self.intent.pred is not None and self.execution.pred is not None:
            asked, done = index[keep], order[kept]
            instructions = done // (self.used_dst.shape[1] * self.used_dst.shape[2])
            self.guards(
                Guarded(asked, want_at[keep], self.intent.pred[self.elements(asked)]),
                Guarded(done, got_at[kept], self.execution.pred[instructions]),
            )
        return repeated

    def chosen(self, index: IntArray) -> npt.NDArray[np.bool_]:
        """Which neighbours among these asked moves the predicate can keep apart: it may have one of them.

        A tile wider than the tensor's rows gives the address of a row's begin to elements past the row before
        it. A false predicate of cp.async writes zeros and keeps nothing apart.
        """
        if self.intent.pred is None or self.execution.pred is None or self.execution.zero_fills:
            return np.zeros(max(0, index.size - 1), dtype=np.bool_)
        _, threads, units = self.asked_dst.shape
        entry, thread = self.intent.pred[self.elements(index)], index // units % threads
        return (entry[1:] != entry[:-1]) | (thread[1:] != thread[:-1])

    def races(
        self, order: IntArray, got_at: IntArray, got: IntArray, twice: npt.NDArray[np.bool_], chosen: IntArray
    ) -> int:
        """Writes of several threads to one address; the number of harmless repetitions.

        Of addresses in `chosen`, which ascend, there is one write.
        """
        differ = got[1:] != got[:-1]
        race = twice & differ
        if chosen.size:
            race &= ~_is_in(got_at[1:], chosen)
        if not any(access.op.startswith("cp.async") for access in self.execution.dst_accesses):
            threads = self.threads(order)
            race &= threads[1:] != threads[:-1]
        if race.any():
            i = int(np.argmax(race))
            thread, instruction = self.place(int(order[i + 1]))
            first = Offender(thread, instruction, at=int(got_at[i]), asked=int(got[i]), used=int(got[i + 1]))
            self.add("race", distinct(got_at[1:][race]) * self.grain, first)
        return int(np.count_nonzero(twice & ~differ)) * self.grain

    def contents(
        self, index: IntArray, at: IntArray, want: IntArray, final: IntArray, writer: IntArray, torn: IntArray
    ) -> None:
        """Units that were written with something else than asked; of `torn` ones two things are asked."""
        wrong = final != want
        if torn.size:
            wrong &= ~_is_in(at, torn)
        if wrong.any():
            bad = np.flatnonzero(wrong)
            i = int(bad[np.lexsort((index[bad], self.threads(writer[bad])))[0]])
            thread, instruction = self.place(int(writer[i]))
            first = Offender(
                thread, instruction, self.element(index[i]), int(at[i]), int(want[i]), int(final[i])
            )
            self.add("wrong", distinct(at[bad]) * self.grain, first)

    def guards(self, asked: Guarded, done: Guarded) -> None:
        """Units that follow other entries of the predicate than asked: any true one of them writes it.

        Where false ones write zeros, entries that differ leave nothing certain: one in common is enough.
        """
        if np.array_equal(asked.at, done.at) and np.array_equal(asked.entry, done.entry):
            return
        pairs = Pairs(asked, done)
        asks, does = pairs.of_each
        common = _is_in(asks, does)
        lost, odd = asks[~common], does[~_is_in(does, asks)]
        if self.execution.zero_fills:
            odd = odd[~_is_in(pairs.units(odd), pairs.units(asks[common]))]
        else:
            odd = np.concatenate([lost, odd])
        if odd.size:
            at, entry = pairs.read(odd[0])
            i, j = np.searchsorted(asked.at, at), np.searchsorted(done.at, at, side="right") - 1
            which = (entry, int(done.entry[j])) if odd[0] in asks else (int(asked.entry[i]), entry)
            first = Offender(*self.place(int(done.move[j])), self.element(asked.move[i]), at, *which)
            self.add("guard", distinct(pairs.units(odd)) * self.grain, first)

    # Of flat indices into the moves, [instruction, thread, unit] or [element, thread, unit]:

    def threads(self, flat: IntArray) -> IntArray:
        """The threads of moves that happen."""
        _, threads, units = self.used_dst.shape
        return flat // units % threads

    def place(self, flat: int) -> tuple[int, int]:
        """Thread and instruction of a move that happens."""
        _, threads, units = self.used_dst.shape
        return flat // units % threads, flat // units // threads

    def elements(self, flat: IntArray) -> IntArray:
        """The elements of moves that are asked for."""
        _, threads, units = self.asked_dst.shape
        return flat // units // threads

    def element(self, flat: int | np.int64) -> int:
        """The element of a move that is asked for."""
        _, threads, units = self.asked_dst.shape
        return int(flat) // int(units) // int(threads)


class Guarded(NamedTuple):
    """Moves in the order of their addresses: flat index, unit of the destination, entry of the predicate."""

    move: IntArray
    at: IntArray
    entry: IntArray


class Pairs:
    """The pairs (unit, entry) of both sides, each as one number: of equal pairs it is the same."""

    def __init__(self, *sides: Guarded) -> None:
        self._units, unit = np.unique(np.concatenate([one.at for one in sides]), return_inverse=True)
        self._entries, entry = np.unique(np.concatenate([one.entry for one in sides]), return_inverse=True)
        every = unit * self._entries.size + entry
        self.of_each = [np.unique(one) for one in np.split(every, [sides[0].at.size])]

    def units(self, pairs: IntArray) -> IntArray:
        """Numbers for the units of pairs, in the same order."""
        return pairs // self._entries.size

    def read(self, pair: np.int64) -> tuple[int, int]:
        """Unit and entry."""
        unit, entry = divmod(int(pair), self._entries.size)
        return int(self._units[unit]), int(self._entries[entry])


def _again(ordered: IntArray) -> npt.NDArray[np.bool_]:
    """Where a sorted array repeats its predecessor."""
    return ordered[1:] == ordered[:-1]


def _among(values: IntArray, addresses: IntArray) -> npt.NDArray[np.bool_]:
    """Which `values` occur among addresses in any order: by a table where they lie close together."""
    found = occurs(values, addresses)
    return _is_in(values, np.sort(addresses, axis=None)) if found is None else found


def _is_in(values: IntArray, ordered: IntArray) -> npt.NDArray[np.bool_]:
    """Which `values` occur in `ordered`."""
    if not ordered.size:
        return np.zeros(values.shape, dtype=np.bool_)
    at = np.searchsorted(ordered, values)
    at[at == ordered.size] = 0
    return ordered[at] == values
