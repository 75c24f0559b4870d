"""Where execution and intent part: corruption, faults, bytes not copied, bytes nobody asked for, races.

Memory is compared as it is *after* the copy. Every address of the destination that the layouts name must
hold the contents of the address of the source that they name, whoever brought it there and however often.
Contents are told apart by address: two elements of the source are never assumed to hold the same value.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from layoutcheck.copies.addresses import addresses, recast_offsets, swizzled, thread_offsets
from layoutcheck.copies.copy import Copy
from layoutcheck.copies.descriptor import DescriptorView
from layoutcheck.copies.lanes import lane_offsets
from layoutcheck.copies.memref import Memref
from layoutcheck.copies.moves import NOTHING, Access, Execution, Intent
from layoutcheck.copies.offsets import IntArray, offsets
from layoutcheck.machine.atoms import LdMatrix, S2TCopy, StMatrix, TmaCopy, TmemLoad, TmemStore

KINDS = (
    "misaligned_src",
    "misaligned_dst",
    "fault",
    "outside_src",
    "outside_dst",
    "wrong",
    "race",
    "missing",
    "overlap",
    "unmatched",
    "guard",
    "outside_pred",
    "never",
)


@dataclass(frozen=True, slots=True)
class Offender:
    """The first place where a kind of difference shows.

    `thread` and `instruction` name the access, `value` the element of the thread's view (or of the tile)
    that it concerns. `asked` and `used` are addresses in units of the comparison: of the source, for
    "wrong" and "race"; of the access itself otherwise. `at` is the destination address.
    """

    thread: int | None = None
    instruction: int | None = None
    value: int | None = None
    at: int | None = None
    asked: int | None = None
    used: int | None = None


@dataclass(frozen=True, slots=True)
class Difference:
    """How many units (bytes; nibbles for 4-bit types) or accesses differ, by kind, and the first of each.

    misaligned_src, misaligned_dst   accesses whose address is no multiple of their width: a fault
    fault                            instructions that fault for what they are asked (TMA)
    outside_src                      units read that no element of the source (of the whole tile) has
    outside_dst                      units written that no element of the destination is asked to have
    wrong                            units of the destination that end up with other contents
    race                             units written by several threads, or by several cp.async (which are not
                                     ordered even within one thread: measured on an H200), with different
                                     contents
    missing                          units of the destination that were to be written and are not
    overlap                          units of the destination that the layouts themselves fill twice
    unmatched                        elements of one side that the other has no partner for
    guard                            units whose predicate is not the one their element asks for
    outside_pred                     predicate entries read past the predicate's end
    never                            instructions that a predicate folded to false switches off

    `asked` units are to be moved; `moved` are. `repeated` counts units written again with equal contents.
    """

    counts: dict[str, int]
    first: dict[str, Offender] = field(default_factory=dict)
    asked: int = 0
    moved: int = 0
    repeated: int = 0
    unit_bits: int = 8

    def __getitem__(self, kind: str) -> int:
        return self.counts.get(kind, 0)

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds that occur, in the order of `KINDS`."""
        return tuple(kind for kind in KINDS if self.counts.get(kind))

    @property
    def clean(self) -> bool:
        """Whether the machine does exactly what the layouts say."""
        return not self.kinds


def compare(intent: Intent, execution: Execution, copy: Copy, src_base: int, dst_base: int) -> Difference:
    """What differs, for the static `copy` (the witness) that both were made of, at the same bases."""
    grain = _grain(intent, execution)
    found = _Found(intent, execution, grain)
    for side, accesses in (("src", execution.src_accesses), ("dst", execution.dst_accesses)):
        for access in accesses:
            if access.space != "tmem":  # whose addresses count columns
                found.misaligned(f"misaligned_{side}", access)
    if execution.fault:
        found.add("fault", 1, Offender(0, 0))
    if intent.unmatched:
        found.add("unmatched", intent.unmatched, Offender())
    if execution.never:
        found.add("never", execution.src.shape[0], Offender(0, 0))
    if execution.pred is not None and copy.pred is not None:
        found.predicate_range(execution.pred, copy.pred)
    repeated = _harmless(intent, execution, grain)
    settled = repeated is not None
    if repeated is None:
        repeated = found.memory()
    # A thread's own intent names what its views name, past the edge of the tile as well.
    if not settled or (copy.tiling is not None and not intent.whole):
        for side, base in (("src", src_base), ("dst", dst_base)):
            found.outside(side, _footprint(intent, copy, side, base, execution.unit_bits))
    return Difference(
        found.counts, found.first, intent.dst.size, execution.dst.size, repeated, execution.unit_bits
    )


def _harmless(intent: Intent, execution: Execution, grain: int) -> int | None:
    """Whether memory ends up exactly as asked, found without sorting: the number of harmless repetitions.

    None where it does not, or where this quick way cannot tell: with predicates, and where the addresses of
    the destination are too far apart for a table of them.
    """
    if intent.pred is not None or execution.pred is not None or not intent.dst.size or not execution.dst.size:
        return None
    asked_dst, asked_src, used_dst, used_src = (
        a[:, :, ::grain].reshape(-1) for a in (intent.dst, intent.src, execution.dst, execution.src)
    )
    low, high = int(asked_dst.min()), int(asked_dst.max())
    if (high - low) // grain > 4 * asked_dst.size + 4096:
        return None
    if int(used_dst.min()) < low or int(used_dst.max()) > high:
        return None
    asked_dst, used_dst = (asked_dst - low) // grain, (used_dst - low) // grain
    unwritten = NOTHING - 1
    want = np.full((high - low) // grain + 1, unwritten, dtype=np.int64)
    got = want.copy()
    want[asked_dst] = asked_src
    got[used_dst] = used_src
    if not np.array_equal(want, got):
        return None
    if not np.array_equal(want[asked_dst], asked_src) or not np.array_equal(got[used_dst], used_src):
        return None  # an address with two sources
    return int(used_dst.size - np.count_nonzero(got != unwritten)) * grain


def _grain(intent: Intent, execution: Execution) -> int:
    """Units that every element and every move keep together, on one grid: what may be compared at once."""
    grain = math.gcd(intent.dst.shape[2], execution.dst.shape[2])
    if grain == 1 or grain & (grain - 1) or not execution.dst.size:
        return 1
    mask = grain - 1
    for asked, used in ((intent.dst, execution.dst), (intent.src, execution.src)):
        if int(asked[0, 0, 0]) & mask or (asked[:, :, 0] & mask).any() or (used[:, :, 0] & mask).any():
            return 1
        if (asked[:, :, -1] - asked[:, :, 0] != asked.shape[2] - 1).any():
            return 1
        if (used[:, :, -1] - used[:, :, 0] != used.shape[2] - 1).any():
            return 1
    return grain


def _footprint(intent: Intent, copy: Copy, side: str, base: int, unit: int) -> IntArray:
    """Every address of the operand, sorted: of the whole tile where it lies in memory, else of all views."""
    memref = copy.src if side == "src" else copy.dst
    if isinstance(copy.atom, TmaCopy) and memref.space != "smem":
        return np.unique(intent.src if side == "src" else intent.dst)  # the tensor may be of any size
    if copy.tiling and memref.space != "rmem":
        memref = copy.tiling.src if side == "src" else copy.tiling.dst
        return np.sort(addresses(memref, base, offsets(memref.layout), unit), axis=None)
    if isinstance(copy.atom, (TmemLoad, TmemStore, S2TCopy)) and memref.space != "rmem":
        return _named(intent, copy, side, base, unit)
    if isinstance(copy.atom, (LdMatrix, StMatrix, TmemLoad, TmemStore)):
        threads = lane_offsets(copy, side).reshape(-1)
    else:
        threads = thread_offsets(copy, side)
    original = recast_offsets(memref)
    if original is not None and unit == 8:
        return np.sort(swizzled(memref, original + base, unit), axis=None)
    return np.sort(addresses(memref, base, offsets(memref.layout)[:, None] + threads, unit), axis=None)


def _named(intent: Intent, copy: Copy, side: str, base: int, unit: int) -> IntArray:
    """What a view of tensor memory or a descriptor names: all threads together, once."""
    asked = intent.src if side == "src" else intent.dst
    memref = copy.side(side)
    if isinstance(memref, DescriptorView):
        return np.sort(asked, axis=None)
    return np.union1d(asked, addresses(memref, base, offsets(memref.layout), unit))


def _is_in(values: IntArray, ordered: IntArray) -> npt.NDArray[np.bool_]:
    """Which `values` occur in `ordered`."""
    if not ordered.size:
        return np.zeros(values.shape, dtype=np.bool_)
    at = np.searchsorted(ordered, values)
    at[at == ordered.size] = 0
    inside: npt.NDArray[np.bool_] = ordered[at] == values
    return inside


class _Found:
    """The counts and first offenders, as they are found, one unit of every `grain` looked at."""

    def __init__(self, intent: Intent, execution: Execution, grain: int) -> None:
        self.intent = intent
        self.execution = execution
        self.grain = grain
        self.asked_src, self.asked_dst = intent.src[:, :, ::grain], intent.dst[:, :, ::grain]
        self.used_src, self.used_dst = execution.src[:, :, ::grain], execution.dst[:, :, ::grain]
        self.counts: dict[str, int] = {}
        self.first: dict[str, Offender] = {}

    def add(self, kind: str, count: int, first: Offender) -> None:
        self.counts[kind] = self.counts.get(kind, 0) + count
        self.first.setdefault(kind, first)

    def misaligned(self, kind: str, access: Access) -> None:
        off = access.addresses % access.multiple_bytes
        if not off.any():
            return
        thread = int(np.argmax(off.any(axis=0)))
        instruction = int(np.argmax(off[:, thread] != 0))
        used = int(access.addresses[instruction, thread])
        first = Offender(thread, instruction, at=used, asked=access.multiple_bytes, used=used)
        self.add(kind, int(np.count_nonzero(off)), first)

    def predicate_range(self, pred: IntArray, memref: Memref) -> None:
        inside = _is_in(pred, np.sort(offsets(memref.layout)))
        if not inside.all():
            at = int(np.argmin(inside))
            self.add("outside_pred", int(np.unique(pred[~inside]).size), Offender(0, at, used=int(pred[at])))

    def outside(self, side: str, footprint: IntArray) -> None:
        """Units of the operand's space that are touched although the operand does not have them."""
        flat = (self.used_src if side == "src" else self.used_dst).reshape(-1)
        strange = ~_is_in(flat, footprint) & (flat != NOTHING)
        if strange.any():
            touched = np.flatnonzero(strange)
            at = int(touched[np.argmin(self.threads(touched))])
            thread, instruction = self.place(at)
            self.add(
                f"outside_{side}",
                int(np.unique(flat[touched]).size) * self.grain,
                Offender(thread, instruction, at=int(flat[at]), used=int(flat[at])),
            )

    def memory(self) -> int:
        """Compare memory after the copy; the number of units written again with equal contents."""
        asked_dst, asked_src = self.asked_dst.reshape(-1), self.asked_src.reshape(-1)
        index = np.flatnonzero((asked_src != NOTHING) | self.intent.zeros)
        index = index[np.argsort(asked_dst[index], kind="stable")]
        want_at, want = asked_dst[index], asked_src[index]
        again = _again(want_at)
        torn = again & (want[1:] != want[:-1])
        if torn.any():
            i = int(np.argmax(torn))
            first = Offender(
                value=self.element(index[i + 1]),
                at=int(want_at[i]),
                asked=int(want[i]),
                used=int(want[i + 1]),
            )
            self.add("overlap", int(np.unique(want_at[1:][torn]).size) * self.grain, first)

        used_dst, used_src = self.used_dst.reshape(-1), self.used_src.reshape(-1)
        order = np.argsort(used_dst, kind="stable")  # of equal addresses the last is the last written
        order = order[np.searchsorted(used_dst[order], NOTHING, side="right") :]  # what was switched off
        got_at, got = used_dst[order], used_src[order]
        twice = _again(got_at)
        repeated = self.races(order, got_at, got, twice) if twice.any() else 0
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
        self.contents(
            index[written], want_at[written], want[written], final[at], writer[at], want_at[1:][torn]
        )
        return repeated

    def races(self, order: IntArray, got_at: IntArray, got: IntArray, twice: npt.NDArray[np.bool_]) -> int:
        """Writes of several threads to one address; the number of harmless repetitions."""
        differ = got[1:] != got[:-1]
        race = twice & differ
        if not any(access.op.startswith("cp.async") for access in self.execution.dst_accesses):
            threads = self.threads(order)
            race &= threads[1:] != threads[:-1]
        if race.any():
            i = int(np.argmax(race))
            thread, instruction = self.place(int(order[i + 1]))
            first = Offender(thread, instruction, at=int(got_at[i]), asked=int(got[i]), used=int(got[i + 1]))
            self.add("race", int(np.unique(got_at[1:][race]).size) * self.grain, first)
        return int(np.count_nonzero(twice & ~differ)) * self.grain

    def contents(
        self,
        index: IntArray,
        at: IntArray,
        want: IntArray,
        final: IntArray,
        writer: IntArray,
        torn: IntArray,
    ) -> None:
        """Units that were written: with what, and under which predicate."""
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
            self.add("wrong", int(np.unique(at[bad]).size) * self.grain, first)
        pred = self.execution.pred
        if pred is None or self.intent.pred is None:
            return
        asked = self.intent.pred[self.elements(index)]
        used = pred[writer // (self.used_dst.shape[1] * self.used_dst.shape[2])]
        # A unit that several elements name is written as soon as the entry of one of them is true.
        _, which, named = np.unique(at, return_inverse=True, return_counts=True)
        strange = (asked != used) & (named[which] == 1)
        if strange.any():
            i = int(np.argmax(strange))
            thread, instruction = self.place(int(writer[i]))
            first = Offender(
                thread, instruction, self.element(index[i]), int(at[i]), int(asked[i]), int(used[i])
            )
            self.add("guard", int(np.count_nonzero(strange)) * self.grain, first)

    # Flat indices into the moves: [instruction, thread, unit] and [element, thread, unit].

    def threads(self, flat: IntArray) -> IntArray:
        _, threads, units = self.used_dst.shape
        out: IntArray = flat // units % threads
        return out

    def place(self, flat: int) -> tuple[int, int]:
        """Thread and instruction."""
        _, threads, units = self.used_dst.shape
        return flat // units % threads, flat // units // threads

    def elements(self, flat: IntArray) -> IntArray:
        _, threads, units = self.asked_dst.shape
        out: IntArray = flat // units // threads
        return out

    def element(self, flat: int | np.int64) -> int:
        _, threads, units = self.asked_dst.shape
        return int(flat) // int(units) // int(threads)


def _again(ordered: IntArray) -> npt.NDArray[np.bool_]:
    """Where a sorted array repeats its predecessor."""
    repeats: npt.NDArray[np.bool_] = ordered[1:] == ordered[:-1]
    return repeats
