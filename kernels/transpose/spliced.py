"""The transpose of a few rows or columns of 1- or 2-byte elements at any pitch and base: words, spliced.

A thread turns a word of each row or column in its registers. Where a run starts within a word of memory, a
word that is loaded is spliced from two of memory, and a word that is stored from two of what the block has
turned: those pass through shared memory, so that lanes side by side store side by side. So the first thread
of a block only lends its words to the second. A block that starts early has what it loads brought to the L2.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import cutlass
from cutlass import cute

from kernels.transpose.chunks import carveout, suffices
from kernels.transpose.common import (
    LINE,
    TYPES,
    Kernel,
    fake_args,
    fetch_lines,
    let_others_start,
    wait_at,
)
from kernels.transpose.few_rows import REGISTERS
from kernels.transpose.fitting import thin_sides

WORD = 4
"""Bytes of a word."""


class Spliced(NamedTuple):
    """`few`: "rows" or "columns", which of `x` are `count`; `each`: words of a thread and row.

    `size`: bytes of an element, 1 or 2; `threads` of a block.
    """

    few: str
    count: int
    each: int = 1
    size: int = 1
    threads: int = 256

    @property
    def vector(self) -> int:
        """Elements of a word."""
        return WORD // self.size

    @property
    def long(self) -> int:
        """Words of a row that a block turns, of which it stores all but the first."""
        return self.threads * self.each

    @property
    def smem_bytes(self) -> int:
        """As for `Chunks`."""
        return WORD * self.long * self.count + 1024

    @property
    def residents(self) -> int:
        """Blocks that a multiprocessor has shared memory and registers for.

        A thread holds two words of memory for each that it turns, and where they lie. Where a launch asks for
        no number, the compiler has as many threads in mind as fit: it leaves each 32 registers, and waits
        for some words before it asks for others.
        """
        needed = -(-(2 * self.count * self.each + 20) // 8) * 8
        return suffices(self, REGISTERS // (self.threads * needed))

    def fits(self, x: Any, y: Any) -> bool:
        """Whether the kernel takes these two."""
        return bool(thin_sides(x, y, self))


@cute.kernel
def splice_few(
    flat: cute.Tensor,
    pitched: cute.Tensor,
    long: cutlass.Int32,
    pitch: cutlass.Int64,
    plan: cutlass.Constexpr,
    early: cutlass.Constexpr,
):
    """`pitched`: rows of `long` elements, `pitch` apart; `flat`: the first element of each, then the next.

    Both are tensors of all that follows their first element.
    """
    let_others_start(early)
    tid, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    vector, count = plan.vector, plan.count
    first = block * (plan.long - 1) - 1  # the first of the block's words of a row
    smem = cutlass.memory.SmemAllocator().allocate_tensor(
        cutlass.Int32, cute.make_layout(plan.long * count), byte_alignment=16
    )
    mixed = cute.make_rmem_tensor((vector * count, plan.each), flat.element_type)
    rows = cute.make_rmem_tensor((vector, count, plan.each), flat.element_type)
    low = max(vector * first, 0)
    wide = min(long - low, plan.long * vector)
    if cutlass.const_expr(plan.few == "columns"):
        most = (1, WORD * plan.long * count // LINE + 2)
        fetch_lines(early, plan.residents, flat, count * low, 0, 1, count * wide, most)
    else:
        most = (count, WORD * plan.long // LINE + 2)
        fetch_lines(early, plan.residents, pitched, low, pitch, count, wide, most)
    wait_at(early, first + tid)
    begin, step = vector * (first + tid), vector * plan.threads
    if cutlass.const_expr(plan.few == "columns"):
        load_runs(flat, count * begin, (0, count * step), count * long, mixed, (1, plan.each), vector)
    else:
        load_runs(pitched, begin, (pitch, step), long, rows, (count, plan.each), vector)
    # Words that follow one another in memory do so in shared memory.
    for e in cutlass.range_constexpr(plan.each):
        turn(mixed[None, e], rows[None, None, e], plan)
        turned = rows[None, None, e] if cutlass.const_expr(plan.few == "columns") else mixed[None, e]
        own, mine = cute.recast_tensor(turned, cutlass.Int32), tid + e * plan.threads
        for c in cutlass.range_constexpr(count):
            slot = c * plan.long + mine if cutlass.const_expr(plan.few == "columns") else mine * count + c
            smem[slot] = own[c]
    cute.arch.sync_threads()
    for i in cutlass.range_constexpr(count * plan.each):
        slot = tid + i * plan.threads
        if cutlass.const_expr(plan.few == "columns"):
            c, word = i // plan.each, tid + i % plan.each * plan.threads
            row = cute.make_tensor(pitched.iterator + c * pitch, pitched.layout)
            if word > 0:
                store_word(row, vector * (first + word), long, smem[slot - 1], smem[slot], vector)
        elif slot >= count:
            begin = vector * (count * first + slot)
            store_word(flat, begin, count * long, smem[slot - 1], smem[slot], vector)


@cute.jit
def turn(mixed: cute.Tensor, rows: cute.Tensor, plan: cutlass.Constexpr):
    """A thread's run, in registers, to its words of each row or the other way."""
    for i in cutlass.range_constexpr(plan.vector):
        for j in cutlass.range_constexpr(plan.count):
            if cutlass.const_expr(plan.few == "columns"):
                rows[i, j] = mixed[i * plan.count + j]
            else:
                mixed[i * plan.count + j] = rows[i, j]


def in_words(t, first, bytes_each: int):
    """Aligned words from the one that element `first` of `t` starts in; its bytes before the element."""
    at = t.iterator.toint() + cutlass.Int64(first) * bytes_each
    base = cute.make_ptr(cutlass.Int32, at & ~(WORD - 1), cute.AddressSpace.gmem, assumed_align=WORD)
    return cute.make_tensor(base, cute.make_layout(1 << 20)), cutlass.Int32(at & (WORD - 1))


@cute.jit
def load_runs(
    t: cute.Tensor,
    first: cutlass.Int32,
    apart: tuple[cutlass.Int64, cutlass.Int32],
    total: cutlass.Int32,
    held: cute.Tensor,
    runs: cutlass.Constexpr,
    vector: cutlass.Constexpr,
):
    """Load runs of elements of `t`, whole words each, into `held`: all loads, then what splices them.

    `runs`: rows, and runs of each row. The first run of a row begins at its element `first`, the next one
    `apart[1]` further. A row has `total` elements and starts `apart[0]` from the one before; what is none of
    its elements is not loaded.
    """
    elements = cutlass.const_expr(cute.size(held) // (runs[0] * runs[1]))
    words = cutlass.const_expr(elements // vector)
    if first > 0 and first <= total - ((runs[1] - 1) * apart[1] + elements + vector):
        own = cute.make_tensor(
            cute.recast_ptr(held.iterator, dtype=cutlass.Int32), cute.make_layout((words, *runs))
        )
        found = cute.make_rmem_tensor((words + 1, *runs), cutlass.Int32)
        late = cute.make_rmem_tensor(runs, cutlass.Int32)
        for i in cutlass.range_constexpr(runs[0] * runs[1]):
            c, e = i % runs[0], i // runs[0]
            memory, late[c, e] = in_words(t, c * apart[0] + first + e * apart[1], WORD // vector)
            for j in cutlass.range_constexpr(words + 1):
                found[j, c, e] = memory[j]
        for i in cutlass.range_constexpr(runs[0] * runs[1]):
            c, e = i % runs[0], i // runs[0]
            for j in cutlass.range_constexpr(words):
                own[j, c, e] = spliced("r", found[j, c, e], found[j + 1, c, e], 8 * late[c, e])
    else:
        singly = cute.make_tensor(held.iterator, cute.make_layout((elements, *runs)))
        for i in cutlass.range_constexpr(runs[0] * runs[1]):
            c, e = i % runs[0], i // runs[0]
            for k in cutlass.range_constexpr(elements):
                place = first + e * apart[1] + k
                if place >= 0 and place < total:
                    singly[k, c, e] = t[c * apart[0] + place]


@cute.jit
def store_word(
    t: cute.Tensor,
    first: cutlass.Int32,
    total: cutlass.Int32,
    before: cutlass.Int32,
    own: cutlass.Int32,
    vector: cutlass.Constexpr,
):
    """The word in which element `first` of `t` starts: `own` has it, and `before` the bytes ahead of it."""
    words, late = in_words(t, first, WORD // vector)
    taken = cute.make_rmem_tensor((vector,), t.element_type)
    word = cute.recast_tensor(taken, cutlass.Int32)
    word[0] = spliced("l", before, own, 8 * late)
    begin = first - late // (WORD // vector)
    if begin >= 0 and begin <= total - vector:
        words[0] = word[0]
    else:
        for k in cutlass.range_constexpr(vector):
            if begin + k >= 0 and begin + k < total:
                t[begin + k] = taken[k]


def spliced(way: str, low: cutlass.Int32, high: cutlass.Int32, bits: cutlass.Int32) -> cutlass.Int32:
    """PTX's shf: the low word of `high:low >> bits` ("r"), or the high word of `high:low << bits` ("l")."""
    return cute.arch.inline_ptx(
        f"shf.{way}.wrap.b32 {{$w0}}, {{$r0}}, {{$r1}}, {{$r2}};",
        write_only_types=[cutlass.Int32],
        read_only_args=[low, high, bits],
    )


def build_spliced(plan: Spliced, early: int = 0) -> Kernel:
    """`plan.count` rows and a `y` without gaps, or columns and an `x`, of less than 2**31 elements."""

    @cute.jit
    def host(x: cute.Tensor, y: cute.Tensor, stream):
        whole, other = (y, x) if cutlass.const_expr(plan.few == "rows") else (x, y)
        long = cutlass.Int32(other.shape[1])
        # Two more: the last may be no whole one, and where a run starts within a word it ends in another.
        words = long // plan.vector + 2
        flat, pitched = (cute.make_tensor(t.iterator, cute.make_layout(1 << 30)) for t in (whole, other))
        splice_few(flat, pitched, long, cutlass.Int64(other.stride[0]), plan, early).launch(
            grid=((words + plan.long - 2) // (plan.long - 1), 1, 1),
            block=(plan.threads, 1, 1),
            stream=stream,
            use_pdl=early > 0,
            min_blocks_per_mp=plan.residents,
            **carveout(plan),
        )

    return Kernel(host, fake_args(TYPES[plan.size], plan.size))
