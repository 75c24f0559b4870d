"""The standing question, whether our model of a copy does what the compiler's own lowering does.

`disagreement(copy, op)` takes a copy as its types (and, with a tiling, the definitions behind them) say
it is, and the instructions that NVIDIA's passes made of it. Both sides of the copy that lie in memory are
compared: number, kind and width of the instructions, and the address of every one for every thread.

What a type does not say is read off the lowering first: where the view begins (of one thread where the copy
has a tiling, of each where it has none), undone through the pointer's swizzle, and the numbers that dynamic
strides were given, by solving for them; everything else has to follow.

The lowering stops where arithmetic begins, before LLVM. One thing happens after it: a constant negative
offset from a swizzled pointer comes out 2^29 bytes too high (miscompile h38; `copies.plan.slip`,
measured in PTX). Under a swizzle addresses are therefore compared modulo 2^29.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from layoutcheck.algebra.integers import Dynamic
from layoutcheck.algebra.inttuple import flatten, unflatten
from layoutcheck.algebra.layout import Layout
from layoutcheck.algebra.swizzle import Swizzle
from layoutcheck.analysis.instantiation import static_layout
from layoutcheck.atoms.execution import execution
from layoutcheck.copies.copy import Copy
from layoutcheck.copies.lanes import LANE_APART_BYTES
from layoutcheck.copies.memref import Memref
from layoutcheck.copies.moves import Access
from layoutcheck.copies.offsets import IntArray
from layoutcheck.copies.opaque import OtherOperand
from layoutcheck.copies.tiled import partition
from layoutcheck.dsl.lowered.lowered_op import LoweredOp, active, memory_accesses
from layoutcheck.errors import InputError
from layoutcheck.machine.arch import parse_arch
from layoutcheck.sources.threads import WARP

SIDES = ("src", "dst")
_LANE_MASK = LANE_APART_BYTES - 1
_SLIP = 1 << 29
_ROOM = 1 << 20
_IN_MEMORY = ("gmem", "smem", "dsmem", "generic")


@dataclass(frozen=True, slots=True)
class Silent:
    """One of the two does not speak: why there is nothing to compare."""

    reason: str


def disagreement(copy: Copy, op: LoweredOp, warps: Sequence[int] = ()) -> str | Silent:
    """What the model and the lowering disagree on, "" where they agree; `Silent` where one has no answer.

    `warps` says as which threads of the tiled copy each warp of the block works (`TracedCopy.warps`); without
    it they work in turn, from the first that is active.
    """
    if isinstance(copy.src, OtherOperand) or isinstance(copy.dst, OtherOperand):
        return Silent("an operand is not a tensor in memory")
    if op.kind == "blocked":
        return Silent("the lowering's addresses are not known")
    try:
        return _compare(copy, op, warps, parse_arch(copy.arch).widest_access_bits // 8)
    except InputError as error:  # code generation, which may fail, comes after the lowering
        return Silent(error.message)


def _compare(copy: Copy, op: LoweredOp, warps: Sequence[int], widest: int) -> str | Silent:
    lowered = memory_accesses(op.once, op.threads, widest, masked=False)
    threads = np.flatnonzero(active(op.once, op.threads))
    spoken = False
    for side, found in zip(SIDES, lowered, strict=True):
        if copy.side(side).space not in _IN_MEMORY:
            continue
        if not found:
            return Silent(f"nothing of the {side} side is left")
        answer = _side(copy, side, found, threads, warps)
        if isinstance(answer, Silent) or answer:
            return answer
        spoken = True
    return "" if spoken else Silent("registers to registers")


def _side(
    copy: Copy, side: str, found: tuple[Access, ...], threads: IntArray, warps: Sequence[int]
) -> str | Silent:
    unknown = _Unknown(copy, side)
    model = unknown.accesses(unknown.first, 0)
    if len(model) != 1 or len(found) != 1:
        both = [[(a.op, a.width_bytes) for a in accesses] for accesses in (model, found)]
        return f"{side}: the model has {both[0]}, the lowering {both[1]}"
    have, seen = model[0], found[0]
    if (_op(have), have.width_bytes) != (_op(seen), seen.width_bytes):
        return (
            f"{side}: the model has {have.op} of {have.width_bytes} bytes, "
            f"the lowering {seen.op} of {seen.width_bytes}"
        )
    count, times = have.addresses.shape[0], seen.addresses.shape[0]
    if times % count:
        return f"{side}: the model has {count} instructions a thread, the lowering {times}"
    made_for = have.addresses.shape[1]
    if copy.tiling is None:
        columns, group = threads % made_for, np.zeros_like(threads)
    else:
        whole = made_for == seen.addresses.shape[1]
        columns, group = _shares(threads, warps, 0 if whole else int(threads[0]), made_for)
    if columns.min(initial=0) < 0:
        return f"{side}: thread {int(threads[columns.argmin()])} works, by its index it does not"
    for number in np.unique(group):
        mine = group == number
        answer = _addresses(unknown, have, seen.addresses[:count][:, threads[mine]], columns[mine])
        if answer:
            return answer
    return ""


def _shares(threads: IntArray, warps: Sequence[int], first: int, made_for: int) -> tuple[IntArray, IntArray]:
    """As which thread of the tiled copy, made for so many, each of `threads` works; and on which tile.

    Warps that work as threads which others before them are already have a tile of their own.
    """
    if not warps:
        return (threads - first) % made_for, (threads - first) // made_for
    start = np.asarray(warps, np.int64)
    working = start >= 0
    again = np.zeros_like(start)
    again[working] = np.cumsum(np.diff(start[working], prepend=-1) <= 0)
    index = np.where(working[threads // WARP], start[threads // WARP] + threads % WARP, -1)
    return np.where(index < 0, -1, index % made_for), again[threads // WARP] * made_for + index // made_for


def _addresses(unknown: _Unknown, have: Access, target: IntArray, columns: IntArray) -> str | Silent:
    """Compare the addresses of threads whose tensor begins at one place, or (without a tiling) of any."""
    copy, side = unknown.copy, unknown.side
    memref = copy.whole(side)
    swizzle = memref.swizzle if memref.swizzle is not None and memref.swizzle.bits else None
    if unknown.leaves and swizzle is not None:
        return Silent("dynamic strides under a swizzle")
    if unknown.leaves:
        return _first_difference(side, unknown.solve(target, columns, copy.tiling is not None), target)
    if copy.tiling is not None:
        begin = target[0, 0] if swizzle is None else int(swizzle(target[:1, 0])[0])  # its own inverse
        bare = unknown.accesses(unknown.first, 0, swizzled=False)[0].addresses[0, columns[0]]
        ours = unknown.accesses(unknown.first, int(begin - bare))[0].addresses[:, columns]
    elif swizzle is None:
        ours = target[0] + (have.addresses - have.addresses[0])[:, columns]
    else:
        ours = _by_residue(unknown, swizzle, have, target, columns)
    if swizzle is not None and memref.space == "smem":  # see the module's text
        ours, target = ours % _SLIP, target % _SLIP
    return _first_difference(side, ours, target)


def _by_residue(
    unknown: _Unknown, swizzle: Swizzle, have: Access, target: IntArray, columns: IntArray
) -> IntArray:
    """The model's addresses of threads whose views begin anywhere under a swizzle, one period at a time."""
    ours = np.empty_like(target)
    begin = swizzle(target[0])
    period = 1 << (swizzle.base + max(swizzle.shift, 0) + swizzle.bits)
    mask = _LANE_MASK if "matrix" in have.op else -1
    for residue in np.unique(begin % period):
        here = begin % period == residue
        base = int(residue) + _ROOM  # above 0 also where offsets are negative
        at = unknown.accesses(unknown.first, base)[0].addresses[:, columns[here]] & mask
        ours[:, here] = at + (begin[here] - base)
    return ours


def _op(access: Access) -> str:
    """A generic access is one to global memory where its pointer turns out to point there."""
    return access.op.replace(".generic", ".global")


class _Unknown:
    """One side's dynamic strides, as numbers to be found: `accesses` takes a choice of them."""

    def __init__(self, copy: Copy, side: str) -> None:
        self.copy, self.side = copy, side
        memref = copy.whole(side)
        self.leaves = [leaf for leaf in flatten(memref.layout.stride) if isinstance(leaf, Dynamic)]
        self.first = [leaf.divisor for leaf in self.leaves]

    def accesses(self, strides: list[int], base: int, *, swizzled: bool = True) -> tuple[Access, ...]:
        """The model's accesses on this side, whose tensor lies at `base`."""
        instance = self._instance(strides, swizzled)
        at = (base, 0) if self.side == "src" else (0, base)
        found = execution(self.copy, *at, instance)
        return found.src_accesses if self.side == "src" else found.dst_accesses

    def solve(self, target: IntArray, columns: IntArray, tiled: bool) -> IntArray:
        """The model's addresses with the strides that fit the target best.

        Without a tiling each thread may have its own: a view whose swizzle was turned into strides has.
        """

        def relative(strides: list[int]) -> IntArray:
            at = self.accesses(strides, 0)[0].addresses[:, columns]
            begin: IntArray = at[:1, :1] if tiled else at[:1]
            return at - begin

        base = relative(self.first)
        slopes = []
        for j, leaf in enumerate(self.leaves):
            stepped = [n + leaf.divisor * (k == j) for k, n in enumerate(self.first)]
            slopes.append((relative(stepped) - base) / leaf.divisor)
        wanted = target - (target[0, 0] if tiled else target[0])
        shape = (-1, 1) if tiled else (base.shape[0], -1)
        left = (wanted - base).reshape(shape).astype(float)
        every = [slope.reshape(shape) for slope in slopes]
        same = all(bool((slope == slope[:, :1]).all()) for slope in every)
        moved = np.zeros_like(left)
        for t in [slice(None)] if same else [slice(t, t + 1) for t in range(left.shape[1])]:
            matrix = np.stack([slope[:, t][:, 0] for slope in every], axis=1)
            fitted, *_ = np.linalg.lstsq(matrix, left[:, t], rcond=None)
            moved[:, t] = matrix @ np.round(fitted)
        begin: IntArray = target[:1, :1] if tiled else target[:1]
        found: IntArray = begin + base + moved.astype(np.int64).reshape(base.shape)
        return found

    def _instance(self, strides: list[int], swizzled: bool) -> Copy:
        copy = self.copy
        numbers = iter(strides)
        if copy.tiling is None:
            return self._with(copy, _numbered(copy.side(self.side), numbers, swizzled))
        tiling = copy.tiling
        whole = _numbered(tiling.side(self.side), numbers, swizzled)
        if not strides and swizzled:
            return self._with(copy, copy.side(self.side))
        view = copy.side(self.side)
        if strides:
            view = replace(view, layout=partition(tiling.tiled, self.side, whole).view.layout)
        if not swizzled:
            view = replace(view, swizzle=None)
        return self._with(replace(copy, tiling=tiling.with_side(self.side, whole)), view)

    def _with(self, copy: Copy, view: Memref) -> Copy:
        """The copy with this side as given, and the other without anything dynamic."""
        other = "dst" if self.side == "src" else "src"
        copy = copy.with_side(self.side, view)
        copy = copy.on_side(other, _any_numbers)
        return replace(copy, pred=copy.pred and _any_numbers(copy.pred))


def _numbered(memref: Memref, numbers: Iterator[int], swizzled: bool) -> Memref:
    layout = memref.layout
    stride = [next(numbers, 1) if isinstance(leaf, Dynamic) else leaf for leaf in flatten(layout.stride)]
    shape = [leaf.divisor if isinstance(leaf, Dynamic) else leaf for leaf in flatten(layout.shape)]
    chosen = Layout(unflatten(iter(shape), layout.shape), unflatten(iter(stride), layout.stride))
    return replace(memref, layout=chosen, swizzle=memref.swizzle if swizzled else None)


def _any_numbers(memref: Memref) -> Memref:
    return memref if memref.layout.is_static else replace(memref, layout=static_layout(memref.layout, True))


def _first_difference(side: str, ours: IntArray, theirs: IntArray) -> str:
    wrong = np.argwhere(ours != theirs)
    if not wrong.size:
        return ""
    k, t = (int(n) for n in wrong[0])
    return (
        f"{side}: instruction {k} of thread {t}: the model says {int(ours[k, t])}, "
        f"the lowering {int(theirs[k, t])} ({len(wrong)} of {ours.size} addresses differ)"
    )
