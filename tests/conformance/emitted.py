"""Random copies, and the comparison of `execution` with the PTX that the DSL makes of them.

What is compared, for one thread at hostile addresses and one instance of the dynamic values:

- the memory instructions on the source and on the destination (not those on registers, which real kernels
  do not have): how many, how wide, at which byte addresses, as multisets, since LLVM reorders accesses.
  Where the copy itself reads one address twice or writes one twice, LLVM may drop the repetition: there the
  PTX's instructions must be among the model's. Of 4-bit elements only the bytes touched are compared: LLVM
  regroups such accesses;
- memory afterwards, bit by bit: which source bit stands in which destination bit. This includes the
  register side (the harness gives registers an address), zeros written by `cp.async`, and nothing else:
  no other address may have changed;
- for ldmatrix and stmatrix, of lane 0: the row addresses, and which register goes where.
"""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, replace

import numpy as np

from layoutcheck.algebra.integers import Dynamic
from layoutcheck.algebra.inttuple import flatten, product, unflatten
from layoutcheck.algebra.layout import Layout
from layoutcheck.algebra.swizzle import Swizzle
from layoutcheck.analysis import Analysis
from layoutcheck.analysis.instantiation import bases, instantiations
from layoutcheck.atoms.cp_async import CpAsync
from layoutcheck.atoms.execution import execution
from layoutcheck.atoms.matrix import LdMatrix, StMatrix
from layoutcheck.atoms.register import RegisterCopy
from layoutcheck.atoms.universal import UniversalCopy
from layoutcheck.copies.addresses import thread_offsets
from layoutcheck.copies.alignment import storage_bits
from layoutcheck.copies.atom import WarpAtom
from layoutcheck.copies.copy import Copy
from layoutcheck.copies.memref import Memref
from layoutcheck.copies.moves import NOTHING
from layoutcheck.copies.offsets import CompilerFails
from layoutcheck.copies.tiled import threads
from layoutcheck.dsl import ptx
from layoutcheck.dsl.lower import Lowered
from layoutcheck.machine.dtypes import dtype
from tests.packed import pack

PRED_BYTES = 1 << 29
WINDOW = (1 << 32) - 1  # shared addresses are 32 bits wide
ZEROS = "zeros"  # what stands in a unit of the destination, if no source unit


# Comparison.


@dataclass
class Seen:
    reads: Counter
    writes: Counter
    memory: dict  # destination unit -> source unit, ZEROS, or ("register", unit)
    repeats: bool = False  # whether an address is read or written more than once


def predicted(
    copy: Copy, instance: Copy, src_base: int, dst_base: int, truth: dict[int, int], thread: int = 0
) -> Seen:
    """What the model says that a thread does; `truth` holds the predicate's values by offset."""
    run = execution(copy, src_base, dst_base, instance)
    src, dst = run.src[:, thread, :], run.dst[:, thread, :]
    allowed = np.ones(src.shape[0], dtype=bool)
    if copy.pred is not None:
        values = np.array([truth[int(p)] for p in run.pred])
        allowed = values % 2 == 1 if run.zero_fills else values != 0
        if run.never:
            allowed[:] = False
    matrix = isinstance(copy.atom, (LdMatrix, StMatrix))
    memory: dict = {}
    for i in range(src.shape[0]):
        for k in range(src.shape[1]):
            at = _narrow(int(dst[i, k]), copy.dst, run.unit_bits)
            if not allowed[i]:
                if run.zero_fills:
                    memory[at] = ZEROS
                continue
            value = int(src[i, k])
            if matrix and isinstance(copy.atom, LdMatrix):
                row = _narrow(int(run.src_accesses[0].addresses[i, 0]), copy.src, 8)
                step = 8 // run.unit_bits
                memory[at] = ("register", 16 * row * step + _shuffled(copy.atom, k, step))
            elif matrix:
                row = _narrow(int(run.dst_accesses[0].addresses[i, 0]), copy.dst, 8)
                memory["register", 16 * row + k] = _narrow(value, copy.src, 8)
            else:
                memory[at] = ZEROS if value == NOTHING else _narrow(value, copy.src, run.unit_bits)
    reads = _accesses(run.src_accesses, copy.src, allowed, thread)
    writes = _accesses(run.dst_accesses, copy.dst, allowed | run.zero_fills, thread)
    at = dst[allowed]
    repeats = np.unique(at).size < at.size or max(reads.values(), default=0) > 1
    return Seen(reads, writes, memory, repeats)


def _shuffled(atom: LdMatrix, k: int, step: int) -> int:
    """The unit of the instruction's registers that is unit k of the fragment: m16n8 is made of m16n16."""
    return k ^ 6 * step if atom.mode == (16, 8) and k // step & 6 in (2, 4) else k


def _narrow(address: int, memref: Memref, unit: int) -> int:
    """Addresses as the PTX sees them: shared ones in their 32-bit window."""
    if memref.space not in ("smem", "dsmem"):
        return address
    return address & ((WINDOW + 1) * (8 // unit) - 1)


def _accesses(accesses, memref: Memref, allowed, thread: int) -> Counter:
    found: Counter = Counter()
    for access in accesses:
        if access.width_bytes == 0:  # of a bulk copy of 0 bytes
            continue
        moves = len(allowed) // max(1, access.addresses.shape[0])  # that one access takes part in
        for i, address in enumerate(access.addresses[:, thread]):
            if allowed[i * moves]:
                found[access.width_bytes, _narrow(int(address), memref, 8)] += 1
    return found


def emitted(
    text: str, copy: Copy, instance: Copy, src_base: int, dst_base: int, truth: dict[int, int]
) -> Seen:
    """What the PTX does, run for one thread."""
    names = ptx.parameters(text)
    operands = [(copy.src, instance.src, src_base), (copy.dst, instance.dst, dst_base)]
    if copy.pred is not None:
        operands.append((copy.pred, instance.pred, _pred_base(copy.pred)))
    params = {name: parameter(*operand) for name, operand in zip(names, operands, strict=False)}
    params |= dict.fromkeys(names[len(operands) :], bytes(8))  # a bulk copy's barrier, mask and rank

    width = storage_bits(copy.pred.dtype) if copy.pred is not None else 8

    def of_pred(at: int) -> bool:
        return copy.pred is not None and 0 <= at - _pred_base(copy.pred) < PRED_BYTES

    def read_bit(space: str, at: int) -> ptx.Bit:
        if of_pred(at // 8):
            offset, bit = divmod(at - 8 * _pred_base(copy.pred), width)
            return (truth[offset] >> bit) & 1
        return (space, at)

    trace = ptx.run(text, params, read_bit)
    reads: Counter = Counter()
    writes: Counter = Counter()
    for access in trace.accesses:
        side = copy.src if access.kind == "read" else copy.dst
        if of_pred(access.address) or side.space == "rmem" or access.width_bytes == 0:
            continue
        at = _narrow(access.address, side, 8)
        (reads if access.kind == "read" else writes)[access.width_bytes, at] += 1
    unit = {4: 4, 6: 2}.get(copy.src.dtype.bits, 8)
    memory: dict = {}
    for (_space, address), bits in trace.memory.items():
        for k in range(8 // unit):
            at = _narrow(address * (8 // unit) + k, copy.dst, unit)
            value = _unit(bits[k * unit : (k + 1) * unit])
            if isinstance(value, int):  # a negative stride may lead below address 0
                value = _narrow(value, copy.src, unit)
            memory[at] = value
    for row, registers in trace.matrix_stores:
        for n, register in enumerate(registers):
            for k in range(4):
                at = 16 * _narrow(row, copy.dst, 8) + 4 * n + k
                memory["register", at] = _unit(register[8 * k : 8 * k + 8])
    return Seen(reads, writes, memory)


def _pred_base(pred: Memref) -> int:
    """The predicate's address, in shared memory above all others."""
    return 3 << 30 if pred.space == "smem" else 1 << 44


def _unit(bits: ptx.Bits):
    """The source unit that these bits are; ZEROS for zeros. Of a boolean's byte one bit may be left."""
    if len(bits) == 8 and isinstance(bits[0], tuple) and bits[7] == 0:
        bits = [(bits[0][0], bits[0][1] + i) for i in range(8)]
    if all(bit == 0 for bit in bits):
        return ZEROS
    first = bits[0]
    assert isinstance(first, tuple), bits
    assert list(bits) == [(first[0], first[1] + i) for i in range(len(bits))], bits
    assert first[1] % len(bits) == 0
    return ("register", first[1] // len(bits)) if first[0] == "matrix" else first[1] // len(bits)


def parameter(memref: Memref, static: Memref, base: int) -> bytes:
    """The kernel parameter of an operand: its address, then the values of its dynamic leaves."""
    typed = (*flatten(memref.layout.shape), *flatten(memref.layout.stride))
    known = (*flatten(static.layout.shape), *flatten(static.layout.stride))
    fields = [(value, t.bits // 8) for t, value in zip(typed, known, strict=True) if isinstance(t, Dynamic)]
    pointer = pack((base & WINDOW, 4) if memref.space in ("smem", "dsmem") else (base, 8))
    layout = pack(*fields)  # a struct of its own, aligned to its widest field
    widest = max((width for _, width in fields), default=1)
    return pointer + b"\0" * (-len(pointer) % widest) + layout


def differences(text: str, copy: Copy, rng: random.Random) -> str | None:
    """How the PTX and the model differ on a copy, for one instance, pair of bases and thread of its tiles.

    None if they agree.
    """
    instance = rng.choice(instantiations(copy))
    src_base, dst_base = rng.choice(bases(instance))
    truth = Truth(rng)
    thread = _thread(copy, rng)
    ours = predicted(copy, instance, src_base, dst_base, truth, thread)
    own = (
        base
        + int(thread_offsets(instance, side, thread + 1)[thread]) * storage_bits(copy.side(side).dtype) // 8
        for side, base in (("src", src_base), ("dst", dst_base))
    )
    theirs = emitted(text, copy, instance, *own, truth)
    repeats = ours.repeats or theirs.repeats
    if copy.src.dtype.bits in (1, 4):
        for seen in (ours, theirs):
            seen.reads, seen.writes = (
                Counter(dict.fromkeys(_bytes(c), 1)) for c in (seen.reads, seen.writes)
            )
    for what in ("reads", "writes", "memory"):
        a, b = getattr(ours, what), getattr(theirs, what)
        if what != "memory" and repeats and not b - a:
            continue
        if a != b:
            only_ours = {k: v for k, v in a.items() if b.get(k) != v}
            only_theirs = {k: v for k, v in b.items() if a.get(k) != v}
            return f"{what}: model {_some(only_ours)}, PTX {_some(only_theirs)}"
    return None


def _thread(copy: Copy, rng: random.Random) -> int:
    """One of a tile's threads; of a warp's instruction the first lane."""
    if copy.tiling is None or isinstance(copy.atom, WarpAtom):
        return 0
    return rng.randrange(copy.tiling.block_threads or threads(copy.tiling.tiled))


def _bytes(accesses: Counter) -> set[int]:
    return {address + k for width, address in accesses for k in range(width)}


def _some(found: dict) -> str:
    return f"{len(found)} such as {list(found.items())[:4]}"


class Truth(dict):
    """Predicate values, drawn when first asked for."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng

    def __missing__(self, key: int) -> int:
        self[key] = self.rng.randrange(2)
        return self[key]


def answer(copy: Copy, lowered: Lowered, rng: random.Random) -> tuple[str, str]:
    """What the model and the compiler make of an accepted copy, and how they differ.

    "agrees", "fails" (as the model says), "unknown" (to the model, which says so) or "differs".
    """
    fails = not lowered.ptx or bool(lowered.error)
    obstacle = Analysis(copy).obstacle
    if isinstance(obstacle, CompilerFails):
        return ("fails", "") if fails else ("differs", f"the compiler does not fail: {obstacle.message}")
    if obstacle is not None:
        return "unknown", obstacle.message
    if fails:
        return "differs", f"the compiler fails: {lowered.error}"
    found = differences(lowered.ptx or "", copy, rng)
    return ("agrees", "") if found is None else ("differs", found)


# Random copies, most of them accepted.

TYPES = ("bf16", "bf16", "bf16", "f16", "f32", "i8", "f64", "i32")
SWIZZLES = (
    Swizzle(3, 4, 3),
    Swizzle(2, 4, 3),
    Swizzle(1, 4, 3),
    Swizzle(3, 3, 3),
    Swizzle(3, 2, 3),
    Swizzle(2, 5, 2),
)


def random_copy(rng: random.Random) -> Copy:
    """A copy of any family."""
    families = (_universal, _cp_async, _register, _matrix, sub_byte_copy)
    return rng.choices(families, (8, 4, 4, 4, 1))[0](rng)


def _stride(rng: random.Random, compact: int, dynamic: float = 0.25):
    if rng.random() < dynamic:
        return Dynamic(rng.choice((1, 2, 4, 8, 8, 16, 24)), rng.choice((32, 32, 64)))
    return rng.choice(
        (compact, compact, compact, compact + 1, compact + 4, compact + 8, 2 * compact, 64, 0, -compact)
    )


def _rest(rng: random.Random, start: int, dynamic: float) -> list[tuple[int, object]]:
    modes = []
    for _ in range(rng.choice((0, 1, 1, 2))):
        n = rng.choice((1, 2, 2, 3, 4))
        modes.append((n, _stride(rng, start, dynamic)))
        start *= n
    return modes


def _layout(v: list[tuple[int, object]], rest: list[tuple[int, object]], nested: bool) -> Layout:
    if nested or len(v) > 1:
        shape, stride = (tuple(n for n, _ in v),), (tuple(d for _, d in v),)
    else:
        shape, stride = (v[0][0],), (v[0][1],)
    return Layout(shape + tuple(n for n, _ in rest), stride + tuple(d for _, d in rest))


def _sides(rng: random.Random, n: int, loose: bool) -> tuple[Layout, Layout]:
    """Two layouts of the same shape whose V begins with a contiguous run of (mostly) n elements."""
    inner = rng.choice((1, 1, 2, 2, 4))
    form = rng.choice(("flat", "canonical", "nested", "nested3"))
    dynamic = rng.choice((0, 0, 0.3))
    v_step = (lambda: rng.choice((1, 1, 1, 2, Dynamic(2)))) if loose and rng.random() < 0.2 else (lambda: 1)
    shapes = {
        "flat": [n * rng.choice((1, 1, 2))],
        "canonical": [n, inner],
        "nested": [n, rng.choice((1, 2, 4))],
        "nested3": [n, 2, 2],
    }[form]
    sides = []
    rest_shape = [m for m, _ in _rest(rng, n, 0)]
    for _ in range(2):
        v, start = [], 1
        for i, extent in enumerate(shapes):
            v.append((extent, v_step() if i == 0 else _stride(rng, start, dynamic)))
            start *= extent
        rest = []
        for extent in rest_shape:
            rest.append((extent, _stride(rng, start, dynamic)))
            start *= extent
        sides.append(_layout(v, rest, form != "flat"))
    return sides[0], sides[1]


def _memref(rng, name: str, space: str, layout: Layout, align: int) -> Memref:
    swizzle = rng.choice(SWIZZLES) if space == "smem" and rng.random() < 0.35 else None
    return Memref(dtype(name), space, layout, align, swizzle)


def _pred(rng: random.Random, copy: Copy) -> Copy:
    layout = copy.src.layout
    v = layout.shape[0]
    entries = v[1] if isinstance(v, tuple) and len(v) == 2 else (v if isinstance(v, int) else None)
    if entries is None:
        return copy
    shape = (entries, *layout.shape[1:])
    pred = Memref(dtype(rng.choice(("i8", "i8", "i32", "bf16"))), rng.choice(("gmem", "rmem")), Layout(shape))
    return replace(copy, pred=pred)


def _universal(rng: random.Random) -> Copy:
    name = rng.choice(TYPES)
    bits = dtype(name).bits
    width = rng.choice((0, 0, 128, 128, 64, 32, 256, bits))
    n = max(1, (width or rng.choice((32, 64, 128))) // bits)
    src, dst = _sides(rng, n, loose=True)
    spaces = rng.choice(
        (
            ("gmem", "smem"),
            ("smem", "gmem"),
            ("gmem", "rmem"),
            ("rmem", "smem"),
            ("gmem", "gmem"),
            ("smem", "rmem"),
            ("smem", "smem"),
            ("generic", "smem"),
        )
    )
    whole = max(width, bits) // 8
    aligns = [whole * rng.choice((1, 1, 2, 8)), whole * rng.choice((1, 1, 2, 8))]
    if rng.random() < 0.3:
        aligns[rng.randrange(2)] = rng.choice((1, 2, 4, 8, 12 if width else 32, 16))
    copy = Copy(
        UniversalCopy(dtype(name), width),
        _memref(rng, name, spaces[0], src, aligns[0]),
        _memref(rng, name, spaces[1], dst, aligns[1]),
    )
    op = rng.random()
    if op < 0.15:
        return _pred(rng, copy)
    if op < 0.2:
        return replace(copy, atom=None, op="basic_copy")
    if op < 0.24:
        if 12 in aligns:
            return copy
        count = int(product(copy.dst.layout.shape))
        pred = Memref(dtype("i8"), rng.choice(("gmem", "rmem")), Layout((count,)))
        return replace(copy, atom=None, op="basic_copy_if", pred=pred)
    if op < 0.4:
        evict = {spaces[0], spaces[1]} == {"gmem", "rmem"} and rng.random() < 0.5
        return replace(copy, atom=None, op="autovec_copy", evict_priority=evict)
    if op < 0.45:
        return replace(copy, op="copy_atom_call")
    return copy


def sub_byte_copy(rng: random.Random) -> Copy:
    """4-bit elements and booleans, near the border of what code generation takes: strides that are odd or
    unknown, in V and in rest modes, and rest modes of extent 1, whose stride may or may not count.
    """
    element = dtype(rng.choice(("f4E2M1FN", "i4", "i1")))
    width = rng.choice((32, 64, 128))
    n = width // element.bits
    inner = rng.choice((1, 1, 2, 3))
    form = rng.choice(("flat", "canonical", "canonical", "nested"))
    rest = [rng.choice((1, 1, 2, 3, (1, 2), (2, 1), (1, 1))) for _ in range(rng.choice((0, 1, 1, 2)))]

    def stride(shape, compact: int):
        if isinstance(shape, tuple):
            return tuple(stride(s, compact) for s in shape)
        if rng.random() < 0.25:
            return Dynamic(rng.choice((1, 1, 2, 4, 8, n)))
        steps = (compact, compact, compact, compact + 1, compact + 2, 2 * compact, n, 33, 0, -compact - 1)
        return rng.choice(steps)

    def side() -> Layout:
        v, steps = {
            "flat": (n, rng.choice((1, 1, 1, 1, 2))),
            "canonical": ((n, inner), (1, stride(inner, n))),
            "nested": (((n, inner), 2), ((1, stride(inner, n)), stride(2, n * inner))),
        }[form]
        return Layout((v, *rest), (steps, *(stride(mode, 2 * n * inner) for mode in rest)))

    family = rng.choice(("universal", "universal", "cp.async", "g2r"))
    anywhere = (("gmem", "smem"), ("gmem", "gmem"), ("smem", "gmem"), ("gmem", "rmem"), ("rmem", "smem"))
    spaces = {"universal": rng.choice(anywhere), "cp.async": ("gmem", "smem"), "g2r": ("gmem", "rmem")}[
        family
    ]
    atom = {
        "universal": UniversalCopy(element, rng.choice((0, 0, width, 8 * element.bits))),
        "cp.async": CpAsync(element, width, "always"),
        "g2r": RegisterCopy("g2r", element, width),
    }[family]
    aligns = (16, 16, 16, 32, 8, 4)
    src, dst = (Memref(element, space, side(), rng.choice(aligns)) for space in spaces)
    if family == "universal" and rng.random() < 0.15:
        return Copy(None, src, dst, op=rng.choice(("autovec_copy", "basic_copy")))
    return Copy(atom, src, dst)


def _cp_async(rng: random.Random) -> Copy:
    name = rng.choice(TYPES)
    bits = dtype(name).bits
    width = rng.choice((32, 64, 128, 128))
    src, dst = _sides(rng, max(1, width // bits), loose=True)
    if rng.random() < 0.2:
        src, dst = _sides(rng, rng.choice((2, 4, 16)), loose=True)
    cache = rng.choice(("always", "global", "streaming", "last_use", "none"))
    if cache == "global":
        width = 128
    align = width // 8
    copy = Copy(
        CpAsync(dtype(name), width, cache),
        _memref(rng, name, "gmem", src, align * rng.choice((1, 1, 2, 4))),
        _memref(rng, name, "smem", dst, align * rng.choice((1, 1, 8, 64))),
    )
    return _pred(rng, copy) if rng.random() < 0.3 else copy


def _register(rng: random.Random) -> Copy:
    name = rng.choice(TYPES)
    bits = dtype(name).bits
    width = max(bits, rng.choice((16, 32, 64, 128, 128, 256)))
    src, dst = _sides(rng, max(1, width // bits), loose=False)
    kind = rng.choice(("g2r", "r2g", "s2r", "r2s"))
    space = {"g": "gmem", "s": "smem", "r": "rmem"}
    align = width // 8
    copy = Copy(
        RegisterCopy(kind, dtype(name), width),
        _memref(rng, name, space[kind[0]], src, align * rng.choice((1, 2, 8))),
        _memref(rng, name, space[kind[2]], dst, align * rng.choice((1, 2))),
    )
    return _pred(rng, copy) if rng.random() < 0.15 else copy


def _matrix(rng: random.Random) -> Copy:
    name = rng.choice(("bf16", "f16", "f32", "i8", "i64", "f64", "i128"))
    per_row = 128 // dtype(name).bits
    count = rng.choice((1, 2, 4))
    transpose = rng.random() < 0.5
    fragment = rng.choice((1, 1, 1, 2)) * count * 32 // dtype(name).bits
    inner = rng.choice((1, 1, 2))
    rest = rng.choice(((), (1,), (2,), (2, 2)))

    def side(n: int, loose: bool) -> Layout:
        atom = (n, inner)
        strides: list = [rng.choice((1, 1, 1, 2, 64)) if loose and rng.random() < 0.2 else 1]
        if not loose and n >= 4 and rng.random() < 0.4:
            atom = ((2, n // 2), inner)
            strides = [(1, rng.choice((2, 4, 8, 3)))]
        strides += [_stride(rng, n, 0.2 if loose else 0) for _ in (inner, *rest)]
        return Layout((atom, *rest), ((strides[0], strides[1]), *strides[2:]))

    memory = _memref(rng, name, "smem", side(per_row, True), rng.choice((16, 16, 32, 128)))
    registers = Memref(dtype(name), "rmem", side(max(1, fragment), False), 16)
    if rng.random() < 0.6:
        return Copy(LdMatrix(dtype(name), count, transpose), memory, registers)
    return Copy(StMatrix(dtype(name), count, transpose), registers, memory)


def narrow_vectors(rng: random.Random) -> Copy:
    """autovec_copy of a few runs of 4-bit elements, the second of which may begin inside a byte."""
    element = dtype(rng.choice(("f4E2M1FN", "i4")))
    run, more, rest = rng.choice((2, 4, 8, 16)), rng.choice((1, 2, 3)), rng.choice((1, 2))
    shape = rng.choice((((run, more),), (run, more), ((run, more), rest)))

    def stride() -> object:
        return rng.choice((8, 16, 17, 24, 3, 4, 2, 32, 0, -16, -2, *(Dynamic(n, 32) for n in (1, 2, 8, 16))))

    def side() -> Layout:
        flat = (1, stride(), stride())[: len(flatten(shape))]
        return Layout(shape, unflatten(iter(flat), shape))

    spaces = rng.choice((("gmem", "rmem"), ("rmem", "gmem"), ("smem", "rmem"), ("gmem", "smem")))
    src, dst = (Memref(element, space, side(), rng.choice((None, 1, 2, 16))) for space in spaces)
    return Copy(None, src, dst, op="autovec_copy")
