"""`Plan`: the instructions of one thread before they have addresses; one family of atoms a file makes them.

A chunk is what the compiler moves at once: `bits` contiguous bits from `src_at[k]` to `dst_at[k]`, which are
offsets in elements from the thread's base. The pointer's swizzle is applied to the chunk's first byte only;
the rest of the chunk follows contiguously. `src_slip` and `dst_slip` are bytes by which the compiler then
misses the address (see `slip`). A chunk is loaded by accesses of `src_bytes` each and stored by accesses of
`dst_bytes` each. Of its bits the first `data_bits` come from the source, the others are zeros.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from layoutcheck.algebra.integers import Dynamic
from layoutcheck.algebra.inttuple import flatten, product, rank
from layoutcheck.algebra.layout import Layout, text
from layoutcheck.copies.alignment import storage_bits
from layoutcheck.copies.atom import ThreadAtom
from layoutcheck.copies.copy import Copy
from layoutcheck.copies.memref import Memref
from layoutcheck.copies.offsets import (
    CompilerFails,
    IntArray,
    has_inner_rest,
    limit,
    offsets,
    offsets_at,
    rest_modes,
    size,
    v_mode,
)
from layoutcheck.errors import InputError
from layoutcheck.machine.arch import parse_arch

# LLVM's vectors of 4-bit elements: 8 bytes at most, of the last of several slices even 2 (measured in PTX).
NIBBLES_MOST_BYTES = 8


class Plan(NamedTuple):
    """`pred` is the predicate's offset that guards each chunk; see the module's text for the rest."""

    src_at: IntArray
    dst_at: IntArray
    bits: int
    src_bytes: int
    dst_bytes: int
    src_op: str
    dst_op: str
    pred: IntArray | None = None
    data_bits: int = 0
    src_slip: IntArray | None = None
    dst_slip: IntArray | None = None
    align_bytes: int = 0  # what an access must be aligned to; 0: to its own width
    linear: bool = False  # places are in bits, and no swizzle acts on them
    threads: int | None = None  # that issue it without a tiling, where there may be several
    pieces: npt.NDArray[np.bool_] | None = None  # which accesses of each chunk there are; None: all


def kept(plan: Plan, registers: Memref, spare: int) -> Plan:
    """What is left of a plan into registers, `spare` of which are behind this destination and are not read.

    The compiler stores no byte of a vector that does not lie whole in them, and does not load it; of another
    one it leaves out the accesses all of whose elements a later one writes, or nobody reads
    (`dsl/lowered/removed.py`).
    """
    count = max(1, plan.bits // registers.dtype.bits)
    end = int(offsets(registers.layout).max(initial=-1)) + 1
    inside = (plan.dst_at >= 0) & (plan.dst_at <= end + spare - count)
    if not inside.all():
        pred, src_slip, dst_slip = (
            None if each is None else each[inside] for each in (plan.pred, plan.src_slip, plan.dst_slip)
        )
        plan = plan._replace(
            src_at=plan.src_at[inside],
            dst_at=plan.dst_at[inside],
            pred=pred,
            src_slip=src_slip,
            dst_slip=dst_slip,
        )
    each = plan.src_bytes * 8 // registers.dtype.bits  # elements of an access
    if plan.src_bytes != plan.dst_bytes or not 0 < each < count or plan.data_bits != plan.bits:
        return plan
    element = (plan.dst_at[:, None] + np.arange(count)).reshape(-1, each)
    turn = np.arange(element.shape[0])[:, None]
    last = np.zeros(end + spare, np.int64)
    np.maximum.at(last, element, turn if plan.pred is None else 0)
    read = (element < end) & (last[element] <= turn)
    return plan._replace(pieces=np.any(read, axis=1))


def surplus(copy: Copy) -> int:
    """Elements behind its registers that the last vector of a thread's copy has; 0 for none."""
    if not isinstance(copy.atom, ThreadAtom) or copy.dst.space != "rmem" or copy.dst.dtype.bits % 8:
        return 0
    try:
        return -size(v_mode(copy.dst.layout)) % max(1, copy.atom.instruction_bits // copy.dst.dtype.bits)
    except InputError:
        return 0


# How PTX names the window of each space in an instruction.
WINDOW = {"gmem": "global", "smem": "shared", "dsmem": "shared", "generic": "generic", "rmem": "local"}


def window(space: str) -> str:
    """The space's name in an instruction. Raises InputError for one that no load reaches."""
    if space not in WINDOW:
        raise InputError(f"no load or store reaches {space}")
    return WINDOW[space]


def vectors(
    copy: Copy,
    instance: Copy,
    starts: IntArray,
    bits: int,
    aligned_bytes: int,
    dst_starts: IntArray | None = None,
    data_bits: int | None = None,
) -> Plan:
    """Chunks of `bits` at V indices `starts`, at every rest coordinate, cut as `aligned_bytes` allow.

    A vector of booleans is a bit each, rounded up to bytes, although each is stored as a byte (measured in
    the DSL's PTX): of n booleans ceil(n / 8) are moved.
    """
    if copy.src.dtype.bits == 1:
        bits = -(-bits // 8) * 8
        aligned_bytes = min(aligned_bytes, bits // 8)
    if bits % 8 or bits == 0:
        raise InputError(f"no instruction moves {bits} bits: an access takes whole bytes")
    rest = rest_pairs(instance)
    limit(starts.size * rest * max(1, bits // 8))
    src_at, dst_at = (
        (offsets(rest_modes(layout))[:rest, None] + offsets_at(v_mode(layout), at)).reshape(-1)
        for layout, at in (
            (instance.src.layout, starts),
            (instance.dst.layout, starts if dst_starts is None else dst_starts),
        )
    )
    return Plan(
        src_at,
        dst_at,
        bits,
        *access_bytes(copy, aligned_bytes),
        f"ld.{window(copy.src.space)}",
        f"st.{window(copy.dst.space)}",
        pred_offsets(instance.pred.layout, _entries(copy, starts), rest) if instance.pred else None,
        data_bits=bits if data_bits is None else data_bits,
        src_slip=_per_chunk(copy.src, v_mode(copy.src.layout), starts, rest),
        dst_slip=_per_chunk(
            copy.dst, v_mode(copy.dst.layout), starts if dst_starts is None else dst_starts, rest
        ),
    )


def access_bytes(copy: Copy, aligned_bytes: int) -> tuple[int, int]:
    """How wide the accesses of source and destination are, for vectors whose address is a multiple of that.

    16 bytes at most, 32 in global memory from sm_100 on (PTX ISA, ld: .v8.b32). Registers are cut as the
    other side is.
    """
    widest = parse_arch(copy.arch).widest_access_bits // 8
    lowest = aligned_bytes & -aligned_bytes
    widths = [min(lowest, widest if m.space == "gmem" else 16) for m in (copy.src, copy.dst)]
    if copy.src.space == "rmem":
        widths[0] = widths[1]
    elif copy.dst.space == "rmem":
        widths[1] = widths[0]
    return widths[0], widths[1]


def _per_chunk(memref: Memref, layout: Layout, starts: IntArray, rest: int) -> IntArray | None:
    found = slip(memref, layout, starts)
    return None if found is None else np.tile(found, rest)


def slip(memref: Memref, layout: Layout, indices: IntArray) -> IntArray | None:
    """Bytes by which the DSL misses shared memory under a swizzle, for constant `indices` into `layout`.

    A constant offset o from a swizzled pointer is split into o mod 2P, added before the swizzle, and the
    rest, added after it (P is the swizzle's period, in bytes). The rest is computed in bits and divided as
    an unsigned 32-bit number, so a negative one comes out 2^29 too high (measured in PTX: miscompile h38).
    Offsets with a dynamic part, offsets of rest coordinates and multiples of 2P are not affected. Raises
    InputError for booleans: 8 of them count as a byte where it is decided whether the swizzle moves them.
    """
    if memref.swizzle is None or memref.swizzle.bits == 0:
        return None
    if memref.dtype.bits == 1 and indices.any():
        raise InputError(
            "where the compiler finds booleans behind a swizzled pointer is not modelled: they count as bits"
        )
    stride = flatten(layout.stride)
    if not any(isinstance(d, int) and d < 0 for d in stride):
        return None
    constant = offsets_at(_with_strides(layout, [d if isinstance(d, int) else 0 for d in stride]), indices)
    dynamic = offsets_at(_with_strides(layout, [0 if isinstance(d, int) else 1 for d in stride]), indices)
    offset = constant * storage_bits(memref.dtype) // 8
    bad = (offset < 0) & (offset % (2 * memref.swizzle.period) != 0) & (dynamic == 0)
    return bad.astype(np.int64) << 29 if bad.any() else None


def _with_strides(layout: Layout, strides: list[int]) -> Layout:
    return Layout.trusted(flatten(layout.shape), tuple(strides))


def _entries(copy: Copy, starts: IntArray) -> IntArray:
    """The entry of the predicate's mode 0 that guards each chunk: V[1]'s, or else chunk j reads entry j.

    So it is with as many entries as V has elements, and where V is flat on a side (measured in PTX).
    """
    v = v_mode(copy.src.layout)
    if copy.splits_v and copy.pred is not None and size(v_mode(copy.pred.layout)) != size(v):
        return starts // size(v[0])
    return np.arange(starts.size, dtype=np.int64)


def chunk_starts(copy: Copy, elements: int) -> IntArray:
    """0, n, 2n, ...: ceil(size(V) / n) chunks of n elements cover V, the last one perhaps more than V."""
    limit(size(v_mode(copy.src.layout)))
    return np.arange(0, size(v_mode(copy.src.layout)), elements, dtype=np.int64)


def iterated(shape: Any, stride: Any) -> list[int | Dynamic]:
    """The strides that a run-time index into `shape` may meet.

    An index into a mode of extent 1 is 0 where it comes from `index % 1`: for all modes but the last, which
    takes what is left and so keeps its stride in the proof, whatever its extent.
    """
    if type(shape) is not tuple:
        return [stride]
    found: list[int | Dynamic] = []
    for i, (s, d) in enumerate(zip(shape, stride, strict=True)):
        if i == len(shape) - 1 or product(s) != 1:
            found += iterated(s, d)
    return found


def refuse_inside_bytes(memref: Memref, indices: IntArray | None = None) -> None:
    """Raises CompilerFails for sub-byte slices, or chunks at V's `indices`, that may begin inside a byte."""
    bits = memref.dtype.bits
    if bits % 8 == 0 or bits == 1:
        return
    rest, v = rest_modes(memref.layout), v_mode(memref.layout)
    steps = [_divisor(d) for d in iterated(rest.shape, rest.stride)]
    starts = np.zeros(1, np.int64)
    if indices is not None:
        starts = offsets_at(_with_strides(v, [_divisor(d) for d in flatten(v.stride)]), indices)
    if memref.align_bytes is None or any(step * bits % 8 for step in steps) or (starts * bits % 8).any():
        raise CompilerFails(
            f"{memref.layout} has {bits}-bit slices that begin inside a byte: the compiler fails"
        )


def _divisor(step: int | Dynamic) -> int:
    return step.divisor if isinstance(step, Dynamic) else step


def refuse_chunks(copy: Copy, n: int) -> None:
    """Raises CompilerFails where a chunk of n elements of V is not proved to begin with a byte."""
    starts = chunk_starts(copy, n)
    for memref in (copy.src, copy.dst):
        refuse_inside_bytes(memref, starts)


def refuse_source_v(copy: Copy, what: str) -> None:
    """Raises where the compiler dies on the source's V: it has modes that are not (atom, rest) of both sides.

    Measured for cp.async, ldmatrix and stmatrix.
    """
    src, dst = v_mode(copy.src.layout), v_mode(copy.dst.layout)
    if rank(src.shape) > 1 and not copy.splits_v:
        raise CompilerFails(
            f"the compiler dies lowering {what} whose source's V is {text(src.shape)} "
            f"and whose destination's is {text(dst.shape)}"
        )


def element_pairs(src: Layout, dst: Layout) -> tuple[IntArray, IntArray, int]:
    """Indices into V of corresponding elements, and how many elements have no partner.

    Where both V modes are ((n, m)) with different n, element (i, j) pairs with (i, j).
    """
    a, b = size(v_mode(src)), size(v_mode(dst))
    if a != b and has_inner_rest(src) and has_inner_rest(dst):
        n, m = size(v_mode(src)[0]), size(v_mode(dst)[0])
        inner = min(size(v_mode(src)[1]), size(v_mode(dst)[1]))
        i = np.arange(min(n, m), dtype=np.int64)
        j = np.arange(inner, dtype=np.int64)[:, None]
        return (i + j * n).reshape(-1), (i + j * m).reshape(-1), abs(a - b)
    both = np.arange(min(a, b), dtype=np.int64)
    return both, both, abs(a - b)


def rest_pairs(copy: Copy) -> int:
    """How often a copy iterates: the smaller size of the two sides' rest modes."""
    return min(size(rest_modes(copy.src.layout)), size(rest_modes(copy.dst.layout)))


def pred_of_elements(copy: Copy) -> IntArray | None:
    """The offset of the predicate's entry that guards each element of a thread; None without a predicate."""
    if copy.pred is None:
        return None
    _, index, _ = element_pairs(copy.src.layout, copy.dst.layout)
    rest = rest_pairs(copy)
    if copy.op == "basic_copy_if":
        return offsets_at(copy.pred.layout, np.arange(index.size * rest, dtype=np.int64))
    if has_inner_rest(copy.src.layout):
        index = index // size(v_mode(copy.src.layout)[0])
    return pred_offsets(copy.pred.layout, index, rest)


def pred_offsets(layout: Layout, index: IntArray, rest: int) -> IntArray:
    """A predicate's offset for indices into its mode 0 at each of `rest` iterations: [rest * index].

    A predicate too small for them is read past its end.
    """
    iterations = offsets_at(rest_modes(layout), np.arange(rest, dtype=np.int64))
    return (iterations[:, None] + offsets_at(v_mode(layout), index)).reshape(-1)
