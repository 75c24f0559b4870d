"""One operation as a step on the machine's values: pointers, aggregates, casts, lanes, special registers.

What is not known here gives 0, and says so in the trust of its results.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np

from layoutcheck.dsl.lowered import spaces
from layoutcheck.dsl.lowered.integers import BINARY, compare, high_signed, high_unsigned
from layoutcheck.dsl.lowered.machine import Machine, Step
from layoutcheck.dsl.lowered.types import SHARED, Type, parse_type
from layoutcheck.dsl.lowered.values import Data, Value, number, select, unsigned, wrap
from layoutcheck.sources.mlir import Operation, integer, integers
from layoutcheck.sources.mlir import Value as SsaValue

_FLOAT = re.compile(
    r"arith\.\w*f\Z|arith\.(?:extf|truncf|fptosi|fptoui|sitofp|uitofp)|math\.|llvm\.f|nvvm\.f"
)
_DENSE = re.compile(r"dense<(-?\d+|true|false)>")
_KIND = re.compile(r"<(?:\w+\s+)?(\w+)>")
_ICMP = {
    name: i for i, name in enumerate(("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge"))
}
_DYNAMIC = -(1 << 31)  # how rawConstantIndices marks an index that is an operand


class Operations:
    """`step(op)` makes the step of an operation; `slots` are the places of SSA values."""

    def __init__(self, machine: Machine, slots: dict[SsaValue, int]) -> None:
        self.machine, self.slots = machine, slots
        self.special = _special_registers(machine)

    def step(self, op: Operation) -> Step:
        """The step of an operation that touches no memory."""
        name = op.name
        if name in BINARY and len(op.operands) == 2:
            return self._binary(op, BINARY[name])
        if name in ("arith.constant", "llvm.mlir.constant", "index.constant"):
            return self._constant(op, _constant(op.attributes.get("value", "")))
        if name in ("llvm.mlir.zero", "llvm.mlir.undef", "llvm.mlir.poison", "ub.poison"):
            return self._constant(op, _zero(parse_type(op.results[0].type)))
        if name in self.special:
            return self._constant(op, self.special[name])
        maker = _MAKERS.get(name)
        if maker is not None:
            step: Step = maker(self, op)
            return step
        if name.startswith("nvvm.clusterlaunchcontrol.query"):
            return self._assume(op, "uniform", "the tile that the hardware hands out next is taken for none")
        if name.startswith("nvvm.read.ptx.sreg."):
            kind = "uniform" if "clock" not in name and "timer" not in name else "blocked"
            return self._assume(op, kind, f"{name.removeprefix('nvvm.read.ptx.sreg.')} is taken for 0")
        reason = "floating-point arithmetic" if _FLOAT.match(name) else f"{name} is not evaluated"
        return self._assume(op, "blocked", reason)

    def _assume(self, op: Operation, kind: str, sentence: str, value: int = 0) -> Step:
        values, trust = self.machine.values, self.machine.trust
        targets = [self.slots[v] for v in op.results]
        sources = [self.slots[v] for v in op.operands]
        bit = self.machine.reasons.bit(kind, sentence)

        def run() -> None:
            bits = bit
            for slot in sources:
                bits |= trust[slot]
            for slot in targets:
                values[slot], trust[slot] = value, bits

        return run

    def _constant(self, op: Operation, value: Value) -> Step:
        values, trust = self.machine.values, self.machine.trust
        targets = [self.slots[v] for v in op.results]

        def run() -> None:
            for slot in targets:
                values[slot], trust[slot] = value, 0

        return run

    def _binary(self, op: Operation, function: Callable[[Any, Any, int], Any]) -> Step:
        values, trust = self.machine.values, self.machine.trust
        a, b, out = self.slots[op.operands[0]], self.slots[op.operands[1]], self.slots[op.results[0]]
        kind = parse_type(op.results[0].type)
        bits = kind.parts[0].bits if kind.kind == "vector" else kind.bits

        def run() -> None:
            x, y = values[a], values[b]
            trust[out] = trust[a] | trust[b]
            if x.__class__ is int and y.__class__ is int:
                values[out] = function(x, y, bits)
            elif isinstance(x, tuple) or isinstance(y, tuple):
                values[out] = _each(function, x, y, bits)
            else:
                values[out] = function(number(x), number(y), bits)

        return run

    def unary(self, op: Operation, function: Callable[[Value], Value]) -> Step:
        """A step of one operand and one result that cannot be parts."""
        values, trust = self.machine.values, self.machine.trust
        a, out = self.slots[op.operands[0]], self.slots[op.results[0]]

        def run() -> None:
            values[out], trust[out] = function(values[a]), trust[a]

        return run


def _each(function: Any, x: Value, y: Value, bits: int) -> Value:
    count = len(x) if isinstance(x, tuple) else len(y)
    xs = x if isinstance(x, tuple) else (x,) * count
    ys = y if isinstance(y, tuple) else (y,) * count
    return tuple(function(number(p), number(q), bits) for p, q in zip(xs, ys, strict=False))


def _constant(text: str) -> Value:
    found = integer(text)
    if found is not None:
        return wrap(found, 64) if not text.startswith("true") else 1
    if match := _DENSE.match(text):
        return {"true": 1, "false": 0}.get(match[1]) if not match[1].lstrip("-").isdigit() else int(match[1])
    if text.startswith("dense<["):
        return integers(text) or 0
    return 0


def _zero(kind: Type) -> Value:
    if kind.kind == "struct":
        return tuple(_zero(part) for part in kind.parts)
    return 0


def _special_registers(machine: Machine) -> dict[str, Value]:
    launch = machine.launch
    cluster = launch.cluster[0] * launch.cluster[1] * launch.cluster[2]
    found: dict[str, Value] = {
        "laneid": machine.lane if launch.threads > 1 else 0,
        "warpsize": 32,
        "warpid": np.arange(launch.threads, dtype=np.int64) // 32,
        "nwarpid": -(-launch.threads // 32),
        "cluster.ctarank": 0,
        "cluster.nctarank": cluster,
        "is.explicit.cluster": int(cluster > 1),
    }
    for i, axis in enumerate("xyz"):
        found[f"tid.{axis}"] = machine.tid[i] if launch.block[i] > 1 else 0
        found[f"ntid.{axis}"] = launch.block[i]
        found[f"nctaid.{axis}"] = launch.grid[i]
        found[f"ctaid.{axis}"] = found[f"clusterid.{axis}"] = found[f"cluster.ctaid.{axis}"] = 0
        found[f"nclusterid.{axis}"] = -(-launch.grid[i] // launch.cluster[i])
        found[f"cluster.nctaid.{axis}"] = launch.cluster[i]
    return {f"nvvm.read.ptx.sreg.{name}": value for name, value in found.items()}


def _cast(self: Operations, op: Operation) -> Step:
    source, target = parse_type(op.operands[0].type), parse_type(op.results[0].type)
    before = source.parts[0].bits if source.kind == "vector" else source.bits
    after = target.parts[0].bits if target.kind == "vector" else target.bits
    if op.name in ("arith.extui", "llvm.zext", "arith.index_castui"):
        if before < 64:
            return self.unary(op, lambda v: _map(v, lambda n: wrap(unsigned(n, before), after)))
    elif before == 1 and after > 1:
        return self.unary(op, lambda v: _map(v, lambda n: -(n & 1)))
    return self.unary(op, lambda v: _map(v, lambda n: wrap(n, after)))


def _map(value: Value, function: Callable[[Any], Any]) -> Value:
    return tuple(function(number(v)) for v in value) if isinstance(value, tuple) else function(number(value))


def _compare(self: Operations, op: Operation) -> Step:
    text = op.attributes.get("predicate", "0")
    predicate = integer(text)
    if predicate is None:
        predicate = next((i for name, i in _ICMP.items() if name in text), 0)
    kind = parse_type(op.operands[0].type)
    bits = kind.parts[0].bits if kind.kind == "vector" else kind.bits
    return self._binary(op, lambda a, b, _: compare(predicate, a, b, bits))


def _select(self: Operations, op: Operation) -> Step:
    values, trust = self.machine.values, self.machine.trust
    c, a, b = (self.slots[v] for v in op.operands)
    out = self.slots[op.results[0]]

    def run() -> None:
        chosen = number(values[c])
        if isinstance(chosen, int):
            picked = a if chosen & 1 else b
            values[out], trust[out] = values[picked], trust[picked] | trust[c]
        else:
            values[out] = select(chosen.astype(bool), values[a], values[b])
            trust[out] = trust[a] | trust[b] | trust[c]

    return run


def _element_pointer(self: Operations, op: Operation) -> Step:
    """`llvm.getelementptr`: the first index counts whole elements, the others step into them."""
    values, trust = self.machine.values, self.machine.trust
    base, out = self.slots[op.operands[0]], self.slots[op.results[0]]
    indices = integers(op.attributes.get("rawConstantIndices", "")) or ()
    kind = parse_type(op.attributes.get("elem_type", "i8"))
    constant = 0
    dynamic: list[tuple[int, int]] = []  # (slot, bytes a step)
    operands = iter(op.operands[1:])
    for position, index in enumerate(indices):
        step = kind.size_bytes if position == 0 else 0
        if position and kind.kind == "struct":
            constant += kind.offset(index)
            kind = kind.part(index)
            continue
        if position:
            kind = kind.part(0) if kind.parts else kind
            step = kind.size_bytes
        if index == _DYNAMIC:
            dynamic.append((self.slots[next(operands)], step))
        else:
            constant += index * step
    if not dynamic:
        return self.unary(op, lambda v: number(v) + constant)
    if len(dynamic) == 1:
        ((slot, step),) = dynamic

        def run() -> None:
            values[out] = number(values[base]) + number(values[slot]) * step + constant
            trust[out] = trust[base] | trust[slot]

        return run

    def run_many() -> None:
        at, bits = number(values[base]) + constant, trust[base]
        for slot, step in dynamic:
            at, bits = at + number(values[slot]) * step, bits | trust[slot]
        values[out], trust[out] = at, bits

    return run_many


def _space_cast(self: Operations, op: Operation) -> Step:
    source, target = parse_type(op.operands[0].type).space, parse_type(op.results[0].type).space
    return self.unary(op, lambda v: spaces.cast(number(v), source, target))


def _pass(self: Operations, op: Operation) -> Step:
    return self.unary(op, lambda v: v)


def _bitcast(self: Operations, op: Operation) -> Step:
    """The same bytes as another type; of numbers, cut or joined, little end first."""
    source, target = parse_type(op.operands[0].type), parse_type(op.results[0].type)
    before = source.parts[0].bits if source.kind == "vector" else source.bits
    after = target.parts[0].bits if target.kind == "vector" else target.bits
    count = target.count if target.kind == "vector" else 1

    def convert(value: Value) -> Value:
        if before == after or isinstance(value, Data) or (value.__class__ is int and value == 0):
            return value
        if isinstance(value, tuple) and any(isinstance(v, Data) for v in value):
            return value
        parts = value if isinstance(value, tuple) else (value,)
        if before > after:
            cut = [wrap(number(v) >> (after * i), after) for v in parts for i in range(before // after)]
            return tuple(cut) if count > 1 else cut[0]
        each = after // before
        joined = [
            wrap(
                sum(
                    (unsigned(number(v), before) << (before * i) for i, v in enumerate(parts[k : k + each])),
                    0,
                ),
                after,
            )
            for k in range(0, len(parts), each)
        ]
        return tuple(joined) if count > 1 else joined[0]

    return self.unary(op, convert)


def _extract(self: Operations, op: Operation) -> Step:
    """A part of an aggregate by constant position."""
    path = integers(op.attributes.get("position", op.attributes.get("static_position", ""))) or ()
    kind = parse_type(op.operands[0].type)
    offset, part = 0, kind
    for index in path:
        if index < 0:
            return self._assume(op, "blocked", "a vector's element at a dynamic position")
        offset, part = offset + part.offset(index), part.part(index)
    size = part.size_bytes

    def take(value: Value) -> Value:
        if isinstance(value, Data):
            return value.part(offset, size)
        for index in path:
            if not isinstance(value, tuple) or index >= len(value):
                return value if not isinstance(value, tuple) else 0
            value = value[index]
        return value

    return self.unary(op, take)


def _insert(self: Operations, op: Operation) -> Step:
    values, trust = self.machine.values, self.machine.trust
    whole, part = op.operands[:2] if op.name.startswith("llvm.") else op.operands[1::-1]
    a, b, out = self.slots[whole], self.slots[part], self.slots[op.results[0]]
    path = integers(op.attributes.get("position", op.attributes.get("static_position", ""))) or ()
    kind = parse_type(op.results[0].type)

    def put(value: Value, inside: Type, where: tuple[int, ...], new: Value) -> Value:
        if not where:
            return new
        count = inside.count or len(inside.parts)
        parts = list(_parts(value, count, inside))
        if not 0 <= where[0] < len(parts):
            return value
        parts[where[0]] = put(parts[where[0]], inside.part(where[0]), where[1:], new)
        return tuple(parts)

    def run() -> None:
        values[out] = put(values[a], kind, path, values[b])
        trust[out] = trust[a] | trust[b]

    return run


def _parts(value: Value, count: int, kind: Type) -> tuple[Value, ...]:
    """The elements of a vector, array or struct."""
    if isinstance(value, tuple) and len(value) == count:
        return value
    if isinstance(value, Data):
        return tuple(value.part(kind.offset(i), kind.part(i).size_bytes) for i in range(count))
    return (value if not isinstance(value, tuple) else 0,) * count


def _to_elements(self: Operations, op: Operation) -> Step:
    values, trust = self.machine.values, self.machine.trust
    a, outs = self.slots[op.operands[0]], [self.slots[v] for v in op.results]
    kind = parse_type(op.operands[0].type)

    def run() -> None:
        for slot, value in zip(outs, _parts(values[a], len(outs), kind), strict=True):
            values[slot], trust[slot] = value, trust[a]

    return run


def _from_elements(self: Operations, op: Operation) -> Step:
    values, trust = self.machine.values, self.machine.trust
    sources, out = [self.slots[v] for v in op.operands], self.slots[op.results[0]]

    def run() -> None:
        parts = [values[slot] for slot in sources]
        bits = 0
        for slot in sources:
            bits |= trust[slot]
        values[out], trust[out] = parts[0] if len(parts) == 1 else tuple(parts), bits

    return run


def _shuffle(self: Operations, op: Operation) -> Step:
    """`nvvm.shfl.sync`: PTX ISA, shfl.sync."""
    values, trust = self.machine.values, self.machine.trust
    _, a, b, c = (self.slots[v] for v in op.operands[:4])
    out = self.slots[op.results[0]]
    match = _KIND.search(op.attributes.get("kind", ""))
    shared = self.machine.shared_by_warp
    kind, lane = match[1] if match else "idx", self.machine.lane

    def run() -> None:
        value, by, clamp = values[a], number(values[b]), number(values[c])
        trust[out] = (
            (shared(trust[a]) if kind == "idx" and isinstance(by, int) else trust[a]) | trust[b] | trust[c]
        )
        if value.__class__ is int or not isinstance(value, np.ndarray):
            values[out] = value
            return
        segment, limit = (clamp >> 8) & 31, clamp & 31
        low = lane & segment
        high = low | (limit & ~segment)
        if kind == "idx":
            source = low | (by & ~segment & 31)
        else:
            source = {"bfly": lane ^ by, "down": lane + by, "up": lane - by}[kind]
        inside = source >= high if kind == "up" else source <= high
        source = np.where(inside, source, lane)
        thread = np.arange(lane.size)
        values[out] = value[np.minimum(thread - lane + source, lane.size - 1)]

    return run


def _elect(self: Operations, op: Operation) -> Step:
    """`nvvm.elect.sync`: one lane of each warp, the lowest active one."""
    machine = self.machine
    outs = [self.slots[v] for v in op.results]

    def run() -> None:
        active = machine.mask
        leader = machine.lane == 0
        if active is not None:
            leader = np.zeros(active.size, bool)
            for warp in range(0, active.size, 32):
                lanes = np.flatnonzero(active[warp : warp + 32])
                if lanes.size:
                    leader[warp + lanes[0]] = True
        for slot in outs:
            machine.values[slot], machine.trust[slot] = leader.astype(np.int64), 0

    return run


def _vote(self: Operations, op: Operation) -> Step:
    values, trust, machine = self.machine.values, self.machine.trust, self.machine
    a, out = self.slots[op.operands[-1]], self.slots[op.results[0]]
    kind = op.attributes.get("kind", "")

    def run() -> None:
        votes = np.broadcast_to(np.asarray(number(values[a])) & 1, machine.lane.shape).astype(bool)
        active = np.ones(votes.size, bool) if machine.mask is None else machine.mask
        result = np.zeros(votes.size, np.int64)
        for warp in range(0, votes.size, 32):
            part, on = votes[warp : warp + 32], active[warp : warp + 32]
            if "ballot" in kind:
                found = wrap(sum(1 << i for i in np.flatnonzero(part & on).tolist()), 32)
            elif "any" in kind:
                found = int((part & on).any())
            else:
                found = int((part | ~on).all())
            result[warp : warp + 32] = found
        values[out] = int(result[0]) if bool((result == result[0]).all()) else result
        trust[out] = machine.shared_by_warp(trust[a])

    return run


def _count_bits(self: Operations, op: Operation) -> Step:
    bits = parse_type(op.results[0].type).bits
    operation = op.name.rsplit(".", 1)[1]

    def one(value: int) -> int:
        whole = value & ((1 << bits) - 1)
        if operation == "ctpop":
            return whole.bit_count()
        if operation == "ctlz":
            return bits - whole.bit_length()
        return (whole & -whole).bit_length() - 1 if whole else bits

    def run(value: Value) -> Value:
        found = number(value)
        return one(found) if isinstance(found, int) else np.array([one(int(v)) for v in found], np.int64)

    return self.unary(op, run)


def _extended(self: Operations, op: Operation) -> Step:
    """The two halves of a product."""
    values, trust = self.machine.values, self.machine.trust
    a, b = (self.slots[v] for v in op.operands)
    low, high = (self.slots[v] for v in op.results)
    bits = parse_type(op.results[0].type).bits
    upper = high_unsigned if "mului" in op.name else high_signed

    def run() -> None:
        x, y = number(values[a]), number(values[b])
        values[low], values[high] = wrap(x * y, bits), upper(x, y, bits)
        trust[low] = trust[high] = trust[a] | trust[b]

    return run


def _funnel(self: Operations, op: Operation) -> Step:
    """`llvm.intr.fshl` and `fshr`: a window of two words put together, shifted."""
    values, trust = self.machine.values, self.machine.trust
    a, b, c = (self.slots[v] for v in op.operands)
    out = self.slots[op.results[0]]
    bits = parse_type(op.results[0].type).bits
    right = op.name.endswith("fshr")

    def one(high: int, low: int, by: int) -> int:
        whole = ((high & ((1 << bits) - 1)) << bits) | (low & ((1 << bits) - 1))
        by %= bits
        return int(wrap(whole >> (by if right else bits - by), bits))

    def run() -> None:
        given = [number(values[slot]) for slot in (a, b, c)]
        trust[out] = trust[a] | trust[b] | trust[c]
        if all(isinstance(n, int) for n in given):
            values[out] = one(*given)  # type: ignore[arg-type]
            return
        columns = np.broadcast_arrays(*given)
        rows = zip(*(column.tolist() for column in columns), strict=True)
        values[out] = np.array([one(*row) for row in rows], np.int64)

    return run


def _rank(self: Operations, op: Operation) -> Step:
    """`nvvm.mapa`: the same place in the shared memory of another block of the cluster."""
    values, trust = self.machine.values, self.machine.trust
    a, b = (self.slots[v] for v in op.operands[:2])
    out = self.slots[op.results[0]]
    target = parse_type(op.results[0].type)
    source = parse_type(op.operands[0].type)

    def run() -> None:
        at = spaces.cast(number(values[a]), source.space, SHARED)
        at = at + (number(values[b]) << 24)
        values[out] = at + (
            spaces.CLUSTER_SHARED if target.kind == "pointer" and target.space != SHARED else 0
        )
        trust[out] = trust[a] | trust[b]

    return run


def _allocate(self: Operations, op: Operation) -> Step:
    """`llvm.alloca` of shared memory (one after the other, as aligned) or of registers."""
    machine = self.machine
    count, out = self.slots[op.operands[0]], self.slots[op.results[0]]
    each = parse_type(op.attributes.get("elem_type", "i8")).size_bytes
    align = integer(op.attributes.get("alignment", "1")) or 1
    shared = parse_type(op.results[0].type).space == SHARED
    place: list[int] = []

    def run() -> None:
        if not place:
            size = each * int(np.max(number(machine.values[count])))
            if shared:
                start = -(-machine.shared_bytes // align) * align
                machine.shared_bytes = start + size
            else:
                start = machine.registers.allocate(size)
            place.append(start)
        machine.values[out], machine.trust[out] = place[0], 0

    return run


def _address_of(self: Operations, op: Operation) -> Step:
    """A global symbol: of shared memory its own place, else somewhere in global memory."""
    machine, out = self.machine, self.slots[op.results[0]]
    shared = parse_type(op.results[0].type).space == SHARED
    bit = 0 if not shared else machine.reasons.bit("uniform", "a global shared array begins at 0")

    def run() -> None:
        machine.values[out], machine.trust[out] = 0 if shared else spaces.object_at(1 << 10), bit

    return run


def _wait(self: Operations, op: Operation) -> Step:
    """A barrier's `try_wait` succeeds: what waits goes on."""
    return self._constant(op, 1)


_MAKERS: dict[str, Callable[[Operations, Operation], Step]] = {
    **dict.fromkeys(
        ("arith.extsi", "arith.extui", "arith.trunci", "arith.index_cast", "arith.index_castui", "llvm.sext",
         "llvm.zext", "llvm.trunc"), _cast),
    **dict.fromkeys(("arith.cmpi", "llvm.icmp", "index.cmp"), _compare),
    **dict.fromkeys(("arith.select", "llvm.select"), _select),
    "llvm.getelementptr": _element_pointer,
    "llvm.addrspacecast": _space_cast,
    **dict.fromkeys(
        ("llvm.ptrtoint", "llvm.inttoptr", "vector.shape_cast", "builtin.unrealized_conversion_cast",
         "vector.broadcast", "vector.splat", "llvm.freeze", "nvvm.readfirstlane",), _pass),
    **dict.fromkeys(("llvm.bitcast", "vector.bitcast", "arith.bitcast"), _bitcast),
    **dict.fromkeys(("llvm.extractvalue", "vector.extract"), _extract),
    **dict.fromkeys(("llvm.insertvalue", "vector.insert"), _insert),
    "vector.to_elements": _to_elements,
    "vector.from_elements": _from_elements,
    "nvvm.shfl.sync": _shuffle,
    "nvvm.elect.sync": _elect,
    "nvvm.vote.sync": _vote,
    **dict.fromkeys(("math.ctpop", "math.ctlz", "math.cttz", "llvm.intr.ctpop"), _count_bits),
    **dict.fromkeys(("arith.mului_extended", "arith.mulsi_extended"), _extended),
    "nvvm.mapa": _rank,
    **dict.fromkeys(("llvm.intr.fshl", "llvm.intr.fshr"), _funnel),
    "llvm.alloca": _allocate,
    "llvm.mlir.addressof": _address_of,
    **dict.fromkeys(
        ("nvvm.mbarrier.try_wait.parity.timelimit", "nvvm.mbarrier.wait.parity", "nvvm.mbarrier.test.wait",
         "nvvm.mbarrier.try_wait", "nvvm.mbarrier.try_wait.parity", "nvvm.mbarrier.test.wait.parity"), _wait),
}  # fmt: skip
