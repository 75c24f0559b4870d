"""Steps of operations that reach memory: loads, stores, matrices, asynchronous and bulk copies, TMA.

Each function is given the tracker and the operation, and returns what runs in its place.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from layoutcheck.dsl.lowered import spaces
from layoutcheck.dsl.lowered.evaluate import KERNELS
from layoutcheck.dsl.lowered.instructions import BULK, TENSOR_LOAD
from layoutcheck.dsl.lowered.machine import Step
from layoutcheck.dsl.lowered.types import Type, parse_type
from layoutcheck.dsl.lowered.values import number
from layoutcheck.provenance.carry import carry, multiplies
from layoutcheck.provenance.refs import FLAGS, PRODUCT, UNKNOWN, Array, Refs, met_places, refs_of
from layoutcheck.provenance.tracker import FLOAT, KIND, Tracker
from layoutcheck.sources.mlir import Block, Operation, Value, integer, integers


def load(on: Tracker, op: Operation) -> Step:
    """Loads from registers in memory, global and shared memory."""
    machine, values = on.machine, on.machine.values
    pointer, out = on.slots[op.operands[0]], on.slots[op.results[0]]
    space, width = parse_type(op.operands[0].type).space, parse_type(op.results[0].type).size_bytes
    below = _below(parse_type(op.results[0].type))

    def run() -> None:
        address = number(values[pointer])
        where = spaces.space_of(space, address)
        lost = on.unknown_source(pointer)
        if where == "rmem":
            values[out] = Refs(on.register_load(address, width))
        elif lost or below or where not in ("gmem", "smem", "dsmem"):
            values[out] = Refs(np.full((1, width), UNKNOWN, np.int64))
        elif where == "gmem":
            on.touched.add(int(np.asarray(address).flat[0]) // spaces.GLOBAL_STEP)
            values[out] = Refs(np.asarray(address, np.int64).reshape(-1, 1) + np.arange(width))
        else:
            base, refs = on.fresh(width)
            values[out] = refs
            on.note("load", op, address, width=width, base=base)
        machine.provenance[out] = on.unsaid

    return run


def load_number(on: Tracker, op: Operation) -> Step:
    """A load that an address may rest on: of registers that hold elements, it is these."""
    machine, values, inner = on.machine, on.machine.values, on.inner(op)
    pointer, out = on.slots[op.operands[0]], on.slots[op.results[0]]
    space, width = parse_type(op.operands[0].type).space, parse_type(op.results[0].type).size_bytes

    def run() -> None:
        inner()
        address = number(values[pointer])
        where = spaces.space_of(space, address)
        if where == "gmem":
            on.touched.add(int(np.asarray(address).flat[0]) // spaces.GLOBAL_STEP)
        if where == "rmem":
            at = on.register_load(address, width)
            if at.any():
                values[out], machine.provenance[out] = Refs(at), on.unsaid

    return run


def store(on: Tracker, op: Operation) -> Step:
    """Stores to registers in memory, global and shared memory."""
    values = on.machine.values
    value, pointer = on.slots[op.operands[0]], on.slots[op.operands[1]]
    kind = parse_type(op.operands[0].type)
    space, width, inner = parse_type(op.operands[1].type).space, kind.size_bytes, on.inner(op)
    numeric = on.numeric(op.operands[0])
    below = _below(kind)

    def run() -> None:
        address = number(values[pointer])
        where = spaces.space_of(space, address)
        if numeric:
            inner()
        at = refs_of(values[value], width)
        if below:
            at = np.full_like(at, UNKNOWN) if at.any() else at
        why = on.unknown_why(pointer)
        if where == "rmem":
            on.register_store(address, at, width)
        else:
            on.note("store", op, address, width=width, refs=(at,), lost=why)

    return run


def atomic(on: Tracker, op: Operation) -> Step:
    """An atomic in shared memory: what is there is then computed from several values."""
    follows, values = lost(on, op), on.machine.values
    pointer, value = on.slots[op.operands[0]], on.slots[op.operands[1]]
    space, width = parse_type(op.operands[0].type).space, parse_type(op.operands[1].type).size_bytes

    def run() -> None:
        address, at = number(values[pointer]), refs_of(values[value], width)
        follows()
        if spaces.space_of(space, address) in ("smem", "dsmem"):
            why = on.unknown_why(pointer, guarded=False)
            on.note("atomic", op, address, width=width, refs=(at,), lost=why)

    return run


def ldmatrix(on: Tracker, op: Operation) -> Step:
    """`ldmatrix`, transposed or not."""
    machine, values = on.machine, on.machine.values
    pointer, out = on.slots[op.operands[0]], on.slots[op.results[0]]
    count = integer(op.attributes.get("num", "1")) or 1
    shape, transposed = op.attributes.get("shape", "m8n8"), "col" in op.attributes.get("layout", "")
    wide = "m16n16" in shape and transposed and "<b8>" in op.attributes.get("srcFormat", "")
    plain = (wide or "m8n8" in shape) and parse_type(op.results[0].type).size_bytes == 4 * count

    def run() -> None:
        lost = on.unknown_source(pointer) or ("" if plain else "a matrix load of another shape")
        base, refs = on.fresh(4 * count)
        values[out], machine.provenance[out] = refs, on.unsaid
        facts = {"count": count, "transposed": transposed, "wide": wide}
        on.note("ldmatrix", op, number(values[pointer]), width=4 * count, base=base, facts=facts, lost=lost)

    return run


def stmatrix(on: Tracker, op: Operation) -> Step:
    """`stmatrix`, transposed or not."""
    values = on.machine.values
    pointer, sources = on.slots[op.operands[0]], [on.slots[v] for v in op.operands[1:]]
    plain = "m8n8" in op.attributes.get("shape", "m8n8")

    def run() -> None:
        at = tuple(refs_of(values[slot], 4) for slot in sources)
        facts = {"count": len(sources), "transposed": "col" in op.attributes.get("layout", "")}
        lost = on.unknown_why(pointer) or ("" if plain else "a matrix store of another shape")
        on.note("stmatrix", op, number(values[pointer]), width=16, refs=at, facts=facts, lost=lost)

    return run


def cp_async(on: Tracker, op: Operation) -> Step:
    """`cp.async` of one thread, with the count of its bytes that are read."""
    values = on.machine.values
    slots = [on.slots[v] for v in op.operands]
    size = integer(op.attributes.get("size", "")) or 0

    def run() -> None:
        to, source = number(values[slots[0]]), number(values[slots[1]])
        given = (number(values[slots[2]]),) if len(slots) > 2 else ()
        lost = on.unknown_source(*slots)
        on.note("copy", op, to, second=source, width=size, numbers=given, lost=lost)

    return run


def tma(on: Tracker, op: Operation) -> Step:
    """TMA copies of tiles, in both directions."""
    values = on.machine.values
    load = op.name == TENSOR_LOAD
    kind = "tma_load" if load else "tma_store"
    sizes = integers(op.attributes.get("operandSegmentSizes", "")) or (1, 1, len(op.operands) - 2)
    shared, map_ = (0, 1) if load else (1, 0)
    slots = [on.slots[op.operands[shared]], on.slots[op.operands[map_]]]
    at = [on.slots[v] for v in op.operands[2 : 2 + sizes[2]]]
    masks = []
    if load and len(sizes) > 5 and sizes[5]:
        n = 2 + sizes[2] + 1 + sizes[4]
        masks = [on.slots[v] for v in op.operands[n : n + 1]]
    mode = KIND.search(op.attributes.get("mode", ""))
    other = "" if mode is None or mode[1] == "tile" else "a TMA copy that is not of tiles"
    if "reduce" in op.name:
        other = ""
    chosen = slots[: 1 if _of_argument(op.operands[map_]) else 2] if load else []

    def run() -> None:
        facts = {"multicast": number(values[masks[0]]) if masks else None}
        to, map_at = (number(values[slot]) for slot in slots)
        place, why = tuple(number(values[slot]) for slot in at), other or on.unknown_why(*slots, *at)
        if load:
            on.unknown_source(*chosen, *at)
        on.note(kind, op, to, second=map_at, numbers=place, facts=facts, lost=why)

    return run


def _of_argument(value: Value) -> bool:
    """Whether an address is one of an argument of the kernel, which no number chooses."""
    while value.definition is not None and len(value.definition.operands) == 1:
        value = value.definition.operands[0]
    block = value.owner
    return isinstance(block, Block) and block.parent.parent.name in KERNELS


def bulk(on: Tracker, op: Operation) -> Step:
    """Bulk copies without a tensor map."""
    values = on.machine.values
    to, source, size = (on.slots[op.operands[i]] for i in (0, 1, BULK[op.name]))
    kinds = [parse_type(v.type).space for v in op.operands[:2]]

    def run() -> None:
        a, b, n = (number(values[slot]) for slot in (to, source, size))
        facts = {"to": spaces.space_of(kinds[0], a), "from": spaces.space_of(kinds[1], b)}
        on.note("bulk", op, a, second=b, numbers=(n,), facts=facts, lost=on.unknown_source(to, source, size))

    return run


def _below(kind: Type) -> bool:
    return kind.kind == "vector" and 0 < kind.parts[0].bits < 8


def lost(on: Tracker, op: Operation) -> Step:
    """What reaches memory in a way that is not followed; its results are unknown."""
    inner, values = on.inner(op), on.machine.values
    outs = [(on.slots[v], parse_type(v.type)) for v in op.results if v not in on.addresses]

    def run() -> None:
        inner()
        for slot, kind in outs:
            if kind.size_bytes and kind.kind != "pointer":
                values[slot] = Refs(np.full((1, kind.size_bytes), UNKNOWN, np.int64))

    return run


def carried(on: Tracker, op: Operation) -> Step:
    """An operation that reaches no memory: what `carry` does to references."""
    function, values, provenance = (
        carry(op, partial(on.combined, times=multiplies(op)), on.every),
        on.machine.values,
        on.machine.provenance,
    )
    sources = [(on.slots[v], parse_type(v.type)) for v in op.operands]
    outs = [on.slots[v] for v in op.results]
    given = [(slot, max(1, kind.size_bytes)) for slot, kind in sources]
    times = multiplies(op) and len(given) > 1 and given[0][1] == given[1][1]
    kind = parse_type(op.results[0].type)
    alike = {i for i, v in enumerate(op.operands) if v.type == op.results[0].type and FLOAT.search(v.type)}
    each = max(1, kind.size_bytes // max(1, kind.count if kind.kind == "vector" else 1))
    mates = [] if on.every else [(i, j) for i in alike for j in alike if i != j]

    def run() -> None:
        taken = [refs_of(values[s], n) for s, n in given]
        if times:
            meet(on, *np.broadcast_arrays(taken[0], taken[1]))
        for i, j in mates:
            combine(on, taken[i][:, ::each], taken[j][:, ::each])
        for slot, at in zip(outs, function(taken), strict=True):
            values[slot], provenance[slot] = Refs(at), on.unsaid

    return run


def counted(on: Tracker, op: Operation) -> Step:
    """Arithmetic of floats that an address may rest on: a number as long as no element comes into it."""
    inner, follows, values = on.inner(op), carried(on, op), on.machine.values
    slots = [on.slots[v] for v in op.operands]

    def run() -> None:
        if any(isinstance(values[slot], Refs) for slot in slots):
            follows()
        else:
            inner()

    return run


def taking(on: Tracker, op: Operation, step: Step) -> Step:
    """The step, noting what threads that run take: the first byte of each operand."""
    machine, slots = on.machine, [on.slots[v] for v in op.operands if v in on.slots]

    def run() -> None:
        if machine.reached:
            for value in (machine.values[slot] for slot in slots):
                if isinstance(value, Refs):
                    at = value.at[:, 0]
                    on.taken.append(at if machine.mask is None or len(at) == 1 else at[machine.mask])
        step()

    return run if slots else step


def meet(on: Tracker, a: Array, b: Array) -> None:
    """Note which elements are multiplied by one another."""
    which = met_places(a, b)
    if which.any():
        on.met.append(np.unique(np.stack([a[which], b[which]]), axis=1))


def combine(on: Tracker, results: Array, others: Array) -> None:
    """Note which elements of memory come to elements of products."""
    if results.any() and others.any() and on.combined_most > 0:
        a, b = np.broadcast_arrays(results, others)
        which = (a & PRODUCT != 0) & (a & FLAGS == 0) & (b > UNKNOWN) & (b < PRODUCT)
        if which.any():
            on.beside.append(np.stack([a[which], b[which]]))
            on.combined_most -= int(which.sum())


def shuffle(on: Tracker, op: Operation) -> Step:
    """`shfl.sync`: the lanes' own numbers go through the evaluator's step, and say whose value comes."""
    values, a, out = on.machine.values, on.slots[op.operands[1]], on.slots[op.results[0]]
    inner, width = on.inner(op), parse_type(op.results[0].type).size_bytes
    own = np.arange(on.threads, dtype=np.int64)

    def run() -> None:
        at, kept = refs_of(values[a], width), values[a]
        values[a] = own
        inner()
        source = np.broadcast_to(np.asarray(number(values[out])), own.shape)
        values[a] = kept
        values[out] = Refs(np.broadcast_to(at, (on.threads, width))[source])

    return run
