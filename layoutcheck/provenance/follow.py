"""`follow(kernel, block)`: one block of a lowered kernel, evaluated with references in its registers.

The evaluator gives the addresses, `carry` the references. What reads or writes memory, and every product, is
written down as a `Deed` beside the event of `order.events` that it is, to be replayed in an order in which
the block's warps can run.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from layoutcheck.dsl.lowered import spaces
from layoutcheck.dsl.lowered.evaluate import prepare, run_kernel
from layoutcheck.dsl.lowered.instructions import BULK, TENSOR_LOAD, TENSOR_STORES, is_memory
from layoutcheck.dsl.lowered.machine import Machine, Step
from layoutcheck.dsl.lowered.needed import NUMBER, Needed
from layoutcheck.dsl.lowered.record import Number
from layoutcheck.dsl.lowered.types import Type, parse_type
from layoutcheck.dsl.lowered.values import number
from layoutcheck.order.budget import Budget
from layoutcheck.order.events import Recorder, Watched, WatchedKernel
from layoutcheck.order.meaning import WGMMA, Meaning
from layoutcheck.provenance.carry import carry, multiplies
from layoutcheck.provenance.deeds import Deed, Followed
from layoutcheck.provenance.refs import FIRST, PRODUCT, UNKNOWN, Array, Refs, met_places, refs_of
from layoutcheck.sources.mlir import Operation, integer, integers
from layoutcheck.sources.mlir import Value as SsaValue

MMA = "mma_sync"
TENSOR_MEMORY = ("nvvm.tcgen05.ld", "nvvm.tcgen05.st")
_MOST_REFS = 1 << 26  # of one block: half a gigabyte
_KIND = re.compile(r"<(?:\w+\s+)?(\w+)>")
_SHAPE = re.compile(r"m = ([0-9]+), n = ([0-9]+), k = ([0-9]+)")
_FLOAT = re.compile(r"(?:^|[<x(, ])(?:b?f|tf)[0-9]+")
_TCGEN05 = re.compile(r"nvvm\.tcgen05\.mma(?![.\w]*smem_desc)")
MOST_SUMS = 128 * 256  # accumulators of one tcgen05.mma in one block
_DATA = frozenset(("llvm.alloca", "nvvm.load.ext", "nvvm.ldmatrix", "nvvm.mma.sync"))
_WORST = ("data", "blocked")


def products_of(kernel: WatchedKernel) -> WatchedKernel:
    """The kernel with its warp-level products as events."""
    found = dict(kernel.meanings)
    for op in kernel.operation.walk():
        if op.name == "nvvm.mma.sync" or op.name in TENSOR_MEMORY:
            found[op] = Meaning(MMA, op=op)
    return replace(kernel, meanings=found)


def follow(kernel: WatchedKernel, block: tuple[int, int, int], budget: Budget) -> Followed:
    """Evaluate one block. Raises OutOfTime."""
    launch = replace(kernel.launch, index=block)
    addresses = _addresses(kernel)
    roots: Any = [(op, op.operands, []) for op in kernel.operation.walk() if _matters(op)]
    roots += [(op, m.operands, []) for op, m in kernel.meanings.items()]
    machine, run = prepare(kernel.operation, launch, roots, recorded=lambda _op: "")
    watched = Watched(launch)
    run.consecutive, run.tick = True, budget.check
    run.most_turns = dict.fromkeys(kernel.tiles(), 1)
    follower = _Follower(machine, run.slots, run.translate, addresses, watched, kernel.meanings)
    run.translate = follower.step
    run.translate = Recorder(machine, run, kernel.meanings, watched, 1).step
    problem = ""
    try:
        run_kernel(kernel.operation, machine, run, kernel.given, kernel.types)
    except _TooMuch:
        problem = "the kernel has more data than is followed"
    watched.shared_bytes = machine.all_shared_bytes
    watched.cut, watched.reasons = frozenset(run.cut), machine.reasons
    watched.complete = not any("cut short" in note for note in machine.notes)
    met = np.concatenate([np.zeros((2, 0), np.int64), *follower.met], 1)
    return Followed(watched, follower.deeds, follower.next, met, problem)


class _TooMuch(Exception):
    pass


def _matters(op: Operation) -> bool:
    return bool(op.operands) and (is_memory(op) or op.name == "nvvm.mma.sync" or _is_wgmma(op))


def _is_wgmma(op: Operation) -> bool:
    return op.name == "llvm.inline_asm" and "wgmma.mma_async" in op.attributes.get("asm_string", "")


def _addresses(kernel: WatchedKernel) -> set[SsaValue]:
    """The values that addresses, conditions and descriptors rest on: they stay numbers."""
    roots: list[Any] = [(op, m.operands, []) for op, m in kernel.meanings.items()]
    for op in kernel.operation.walk():
        if _is_wgmma(op):
            rest = op.operands[_accumulators(op) :]
            roots.append((op, [v for v in rest if v.type == "i64" or v.type == "i1"] + _scale(op), []))
        elif op.name in (TENSOR_LOAD, *TENSOR_STORES, *BULK) or _TCGEN05.match(op.name):
            roots.append((op, op.operands, []))
        elif is_memory(op):
            roots.append((op, [v for v in op.operands if parse_type(v.type).kind == "pointer"], []))
            if op.name == "nvvm.cp.async.shared.global":
                roots.append((op, op.operands, []))
    levels = Needed(kernel.operation, roots).levels
    return {value for value, level in levels.items() if level == NUMBER}


def is_product(op: Operation) -> bool:
    """Whether an operation is an instruction of the tensor cores."""
    return op.name == "nvvm.mma.sync" or _is_wgmma(op) or _TCGEN05.match(op.name) is not None


def _accumulators(op: Operation) -> int:
    """How many registers of accumulators a wgmma has: these operands come first."""
    kind = parse_type(op.results[0].type)
    return len(kind.parts) if kind.kind == "struct" else 1


def _scale(op: Operation) -> list[SsaValue]:
    """The operand that says whether the accumulators count: the first word behind the descriptor of B."""
    wide = [i for i, v in enumerate(op.operands) if v.type == "i64"]
    return op.operands[wide[-1] + 1 : wide[-1] + 2] if wide else []


class _Follower:
    """Makes the steps; those on `addresses` are the evaluator's own."""

    def __init__(
        self, machine: Machine, slots: dict[SsaValue, int], inner: Callable[[Operation], Step],
        addresses: set[SsaValue], watched: Watched, meanings: dict[Operation, Meaning],
    ) -> None:  # fmt: skip
        self.meanings = meanings
        self.machine, self.slots, self.inner = machine, slots, inner
        self.addresses, self.events = addresses, watched.events
        self.threads = machine.launch.threads
        self.arrays: dict[int, Array] = {}
        self.deeds: dict[int, Deed] = {}
        self.met: list[Array] = []
        self.next = FIRST
        self.unsaid = machine.reasons.bit("data", "values that are followed as elements, not as numbers")

    def step(self, op: Operation) -> Step:
        """The step of an operation."""
        name = op.name
        if name not in _DATA and any(self._numeric(v) for v in op.results):
            if name == "llvm.load":
                return self._number(op)
            if not any(_FLOAT.search(v.type) for v in op.operands):
                return self.inner(op)
        made = {
            "llvm.load": self._load, "llvm.store": self._store, "nvvm.ldmatrix": self._ldmatrix,
            "nvvm.stmatrix": self._stmatrix, "nvvm.cp.async.shared.global": self._cp_async,
            "nvvm.mma.sync": self._mma, "nvvm.shfl.sync": self._shuffle, TENSOR_LOAD: self._tensor,
            **dict.fromkeys(TENSOR_STORES, self._tensor), **dict.fromkeys(BULK, self._bulk),
        }.get(name)  # fmt: skip
        if made is not None:
            return made(op)
        if _is_wgmma(op):
            return self._wgmma(op)
        if name in TENSOR_MEMORY:
            return self._tensor_memory(op)
        if is_product(op):
            return self._tcgen05(op)
        if not op.results or is_memory(op) or name.startswith("llvm.alloca"):
            return self._lost(op)
        if any(parse_type(v.type).kind in ("pointer", "other") for v in op.results):
            return self.inner(op)
        return self._carry(op)

    def _numeric(self, value: SsaValue) -> bool:
        """Whether a value is followed as a number: an address rests on it, and it is an integer."""
        return value in self.addresses and _FLOAT.search(value.type) is None

    def _lost(self, op: Operation) -> Step:
        """What reaches memory in a way that is not followed; its results are unknown."""
        inner, values = self.inner(op), self.machine.values
        outs = [(self.slots[v], parse_type(v.type)) for v in op.results if v not in self.addresses]

        def run() -> None:
            inner()
            for slot, kind in outs:
                if kind.size_bytes and kind.kind != "pointer":
                    values[slot] = Refs(np.full((1, kind.size_bytes), UNKNOWN, np.int64))

        return run

    def _carry(self, op: Operation) -> Step:
        function, values, provenance = carry(op), self.machine.values, self.machine.provenance
        sources = [(self.slots[v], parse_type(v.type)) for v in op.operands]
        outs = [self.slots[v] for v in op.results]
        given = [(slot, max(1, kind.size_bytes)) for slot, kind in sources]
        times = multiplies(op) and len(given) > 1 and given[0][1] == given[1][1]

        def run() -> None:
            taken = [refs_of(values[s], n) for s, n in given]
            if times:
                self._meet(*np.broadcast_arrays(taken[0], taken[1]))
            for slot, at in zip(outs, function(taken), strict=True):
                values[slot], provenance[slot] = Refs(at), self.unsaid

        return run

    def _meet(self, a: Array, b: Array) -> None:
        """Note which elements are multiplied by one another."""
        which = met_places(a, b)
        if which.any():
            self.met.append(np.unique(np.stack([a[which], b[which]]), axis=1))

    def _shuffle(self, op: Operation) -> Step:
        """`shfl.sync`: the lanes' own numbers go through the evaluator's step, and say whose value comes."""
        values, a, out = self.machine.values, self.slots[op.operands[1]], self.slots[op.results[0]]
        inner, width = self.inner(op), parse_type(op.results[0].type).size_bytes
        own = np.arange(self.threads, dtype=np.int64)

        def run() -> None:
            at, kept = refs_of(values[a], width), values[a]
            values[a] = own
            inner()
            source = np.broadcast_to(np.asarray(number(values[out])), own.shape)
            values[a] = kept
            values[out] = Refs(np.broadcast_to(at, (self.threads, width))[source])

        return run

    def _note(self, deed: Deed) -> Deed:
        """Keep a deed beside the event that was written down just before."""
        active = self.machine.mask is None or self.machine.mask.any()
        if active and self.machine.reached and self.events:
            self.deeds[len(self.events) - 1] = deed
        if self.next > _MOST_REFS:
            raise _TooMuch
        return deed

    def _known(self, *slots: int) -> str:
        """Why numbers cannot be relied on; "" where they can."""
        bits = self.machine.guard
        for slot in slots:
            bits |= self.machine.provenance[slot]
        if bits and self.machine.reasons.worst(bits) in _WORST:
            return "addresses, or conditions, that only a run knows"
        return ""

    def _fresh(self, width: int) -> tuple[int, Refs]:
        base = self.next
        self.next += self.threads * width
        return base, Refs(base + np.arange(self.threads * width, dtype=np.int64).reshape(self.threads, width))

    def _load(self, op: Operation) -> Step:
        machine, values = self.machine, self.machine.values
        pointer, out = self.slots[op.operands[0]], self.slots[op.results[0]]
        space, width = parse_type(op.operands[0].type).space, parse_type(op.results[0].type).size_bytes
        below = _below(parse_type(op.results[0].type))

        def run() -> None:
            address = number(values[pointer])
            where = spaces.space_of(space, address)
            lost = self._known(pointer)
            if where == "rmem":
                values[out] = Refs(self._register_load(address, width))
            elif lost or below or where not in ("gmem", "smem", "dsmem"):
                values[out] = Refs(np.full((1, width), UNKNOWN, np.int64))
            elif where == "gmem":
                values[out] = Refs(np.asarray(address, np.int64).reshape(-1, 1) + np.arange(width))
            else:
                base, refs = self._fresh(width)
                values[out] = refs
                self._note(Deed("load", op, machine.mask, address, 0, width, base))
            machine.provenance[out] = self.unsaid

        return run

    def _number(self, op: Operation) -> Step:
        """A load that an address may rest on: of registers that hold elements, it is these."""
        machine, values, inner = self.machine, self.machine.values, self.inner(op)
        pointer, out = self.slots[op.operands[0]], self.slots[op.results[0]]
        space, width = parse_type(op.operands[0].type).space, parse_type(op.results[0].type).size_bytes

        def run() -> None:
            inner()
            address = number(values[pointer])
            if spaces.space_of(space, address) == "rmem":
                at = self._register_load(address, width)
                if at.any():
                    values[out], machine.provenance[out] = Refs(at), self.unsaid

        return run

    def _store(self, op: Operation) -> Step:
        machine, values = self.machine, self.machine.values
        value, pointer = self.slots[op.operands[0]], self.slots[op.operands[1]]
        kind = parse_type(op.operands[0].type)
        space, width, inner = parse_type(op.operands[1].type).space, kind.size_bytes, self.inner(op)
        numeric = self._numeric(op.operands[0])
        below = _below(kind)

        def run() -> None:
            address = number(values[pointer])
            where = spaces.space_of(space, address)
            if numeric:
                inner()
            at = refs_of(values[value], width)
            if below:
                at = np.full_like(at, UNKNOWN) if at.any() else at
            if where == "rmem":
                self._register_store(address, at, width)
            else:
                self._note(
                    Deed("store", op, machine.mask, address, 0, width, 0, (at,), lost=self._known(pointer))
                )

        return run

    def _array(self, address: Number) -> tuple[Array, Number]:
        first = int(np.asarray(address).flat[0])
        index = (first - spaces.LOCAL) // spaces.LOCAL_STEP
        known = self.machine.registers.arrays
        if index not in self.arrays:
            self.arrays[index] = np.zeros((self.threads, known[index].size), np.int64)
        return self.arrays[index], address - spaces.LOCAL - index * spaces.LOCAL_STEP

    def _register_load(self, address: Number, width: int) -> Array:
        array, offset = self._array(address)
        if isinstance(offset, int) or bool((offset == offset[0]).all()):
            start = int(np.asarray(offset).flat[0])
            return array[:, start : start + width].copy()
        columns = np.clip(offset[:, None] + np.arange(width), 0, array.shape[1] - 1)
        found: Array = array[np.arange(self.threads)[:, None], columns]
        return found

    def _register_store(self, address: Number, at: Array, width: int) -> None:
        array, offset = self._array(address)
        mask = self.machine.mask
        if isinstance(offset, int) or bool((offset == offset[0]).all()):
            start = int(np.asarray(offset).flat[0])
            if mask is None:
                array[:, start : start + width] = at
            else:
                array[mask, start : start + width] = np.broadcast_to(at, (self.threads, width))[mask]
            return
        rows = np.arange(self.threads) if mask is None else np.flatnonzero(mask)
        columns = np.clip(offset[:, None] + np.arange(width), 0, array.shape[1] - 1)
        array[rows[:, None], columns[rows]] = np.broadcast_to(at, (self.threads, width))[rows]

    def _ldmatrix(self, op: Operation) -> Step:
        machine, values = self.machine, self.machine.values
        pointer, out = self.slots[op.operands[0]], self.slots[op.results[0]]
        count = integer(op.attributes.get("num", "1")) or 1
        plain = (
            "m8n8" in op.attributes.get("shape", "m8n8")
            and parse_type(op.results[0].type).size_bytes == 4 * count
        )

        def run() -> None:
            lost = self._known(pointer) or ("" if plain else "a matrix load of another shape")
            base, refs = self._fresh(4 * count)
            values[out], machine.provenance[out] = refs, self.unsaid
            facts = {"count": count, "transposed": "col" in op.attributes.get("layout", "")}
            self._note(
                Deed(
                    "ldmatrix",
                    op,
                    machine.mask,
                    number(values[pointer]),
                    0,
                    4 * count,
                    base,
                    facts=facts,
                    lost=lost,
                )
            )

        return run

    def _stmatrix(self, op: Operation) -> Step:
        machine, values = self.machine, self.machine.values
        pointer, sources = self.slots[op.operands[0]], [self.slots[v] for v in op.operands[1:]]
        plain = "m8n8" in op.attributes.get("shape", "m8n8")

        def run() -> None:
            at = tuple(refs_of(values[slot], 4) for slot in sources)
            facts = {"count": len(sources), "transposed": "col" in op.attributes.get("layout", "")}
            lost = self._known(pointer) or ("" if plain else "a matrix store of another shape")
            self._note(
                Deed(
                    "stmatrix",
                    op,
                    machine.mask,
                    number(values[pointer]),
                    0,
                    16,
                    0,
                    at,
                    facts=facts,
                    lost=lost,
                )
            )

        return run

    def _cp_async(self, op: Operation) -> Step:
        machine, values = self.machine, self.machine.values
        slots = [self.slots[v] for v in op.operands]
        size = integer(op.attributes.get("size", "")) or 0

        def run() -> None:
            to, source = number(values[slots[0]]), number(values[slots[1]])
            given = (number(values[slots[2]]),) if len(slots) > 2 else ()
            lost = self._known(*slots)
            self._note(Deed("copy", op, machine.mask, to, source, size, numbers=given, lost=lost))

        return run

    def _tensor(self, op: Operation) -> Step:
        machine, values = self.machine, self.machine.values
        load = op.name == TENSOR_LOAD
        sizes = integers(op.attributes.get("operandSegmentSizes", "")) or (1, 1, len(op.operands) - 2)
        shared, map_ = (0, 1) if load else (1, 0)
        slots = [self.slots[op.operands[shared]], self.slots[op.operands[map_]]]
        at = [self.slots[v] for v in op.operands[2 : 2 + sizes[2]]]
        masks = []
        if load and len(sizes) > 5 and sizes[5]:
            n = 2 + sizes[2] + 1 + sizes[4]
            masks = [self.slots[v] for v in op.operands[n : n + 1]]
        mode = _KIND.search(op.attributes.get("mode", ""))
        other = "" if mode is None or mode[1] == "tile" else "a TMA copy that is not of tiles"
        if "reduce" in op.name:
            other = ""

        def run() -> None:
            facts = {"multicast": number(values[masks[0]]) if masks else None}
            self._note(
                Deed(
                    "tma_load" if load else "tma_store", op, machine.mask, number(values[slots[0]]),
                    number(values[slots[1]]), numbers=tuple(number(values[slot]) for slot in at), facts=facts,
                    lost=other or self._known(*slots, *at),
                )
            )  # fmt: skip

        return run

    def _bulk(self, op: Operation) -> Step:
        machine, values = self.machine, self.machine.values
        to, source, size = (self.slots[op.operands[i]] for i in (0, 1, BULK[op.name]))
        kinds = [parse_type(v.type).space for v in op.operands[:2]]

        def run() -> None:
            a, b, n = (number(values[slot]) for slot in (to, source, size))
            facts = {"to": spaces.space_of(kinds[0], a), "from": spaces.space_of(kinds[1], b)}
            self._note(
                Deed(
                    "bulk",
                    op,
                    machine.mask,
                    a,
                    b,
                    numbers=(n,),
                    facts=facts,
                    lost=self._known(to, source, size),
                )
            )

        return run

    def _mma(self, op: Operation) -> Step:
        machine, values = self.machine, self.machine.values
        sizes = integers(op.attributes.get("operandSegmentSizes", "")) or (0, 0, 0)
        slots = [(self.slots[v], parse_type(v.type).size_bytes) for v in op.operands]
        cuts = (sizes[0], sizes[0] + sizes[1], sum(sizes[:3]))
        out, kind = self.slots[op.results[0]], parse_type(op.results[0].type)
        shape = _SHAPE.search(op.attributes.get("shape", ""))
        types = tuple(
            _KIND.search(op.attributes.get(k, "")) for k in ("multiplicandAPtxType", "multiplicandBPtxType")
        )
        names = tuple(t[1] if t else "" for t in types)
        facts = {"shape": tuple(map(int, shape.groups())) if shape else (), "types": names}
        sparse = "sp" in op.name.split(".")[-1:]

        def run() -> None:
            given = [refs_of(values[slot], n) for slot, n in slots]
            a, b, c = (
                np.concatenate([np.broadcast_to(x, (self.threads, x.shape[1])) for x in part], 1)
                for part in (given[: cuts[0]], given[cuts[0] : cuts[1]], given[cuts[1] : cuts[2]])
            )
            result = self._accumulated(c, kind, np.ones(self.threads, bool))
            values[out], machine.provenance[out] = Refs(result), self.unsaid
            self._note(
                Deed(
                    "mma", op, machine.mask, refs=(a, b, result), facts=facts, lost="sparse" if sparse else ""
                )
            )

        return run

    def _tcgen05(self, op: Operation) -> Step:
        """tcgen05.mma: accumulators, A, B, the instruction's descriptor, whether the accumulators count."""
        machine, values = self.machine, self.machine.values
        slots = [self.slots[v] for v in op.operands[:5]]
        plain = op.name == "nvvm.tcgen05.mma" and len(slots) == 5 and op.operands[4].type == "i1"
        kind = _KIND.search(op.attributes.get("kind", ""))
        facts = {
            "kind": kind[1] if kind else "", "pair": "cta_2" in op.attributes.get("ctaGroup", ""),
            "in_tensor_memory": parse_type(op.operands[1].type).kind == "pointer",
        }  # fmt: skip

        def run() -> None:
            lost = self._known(*slots) if plain else "tcgen05.mma with block scales, or sparse"
            base = self.next
            self.next += MOST_SUMS
            numbers = tuple(number(values[slot]) for slot in slots)
            self._note(
                Deed("tcgen05", op, machine.mask, 0, base=base, numbers=numbers, facts=facts, lost=lost)
            )

        return run

    def _tensor_memory(self, op: Operation) -> Step:
        """tcgen05.ld and tcgen05.st of 32 lanes by 32 bits: a register a column."""
        machine, values = self.machine, self.machine.values
        load = op.name == TENSOR_MEMORY[0]
        pointer = next(v for v in op.operands if parse_type(v.type).kind == "pointer")
        data = (
            op.results[0]
            if load
            else next(v for v in op.operands[::-1] if v.type != "i1" and v is not pointer)
        )
        at, slot, width = self.slots[pointer], self.slots[data], parse_type(data.type).size_bytes
        plain = "32x32b" in op.attributes.get("shape", "") and "pack" not in op.attributes

        def run() -> None:
            lost = self._known(at) or ("" if plain else "tensor memory in another shape than 32x32b")
            address = number(values[at])
            if load:
                base, refs = self._fresh(width)
                values[slot], machine.provenance[slot] = refs, self.unsaid
                self._note(Deed("tensor_load", op, machine.mask, address, 0, width, base, lost=lost))
            else:
                given = (refs_of(values[slot], width),)
                self._note(Deed("tensor_store", op, machine.mask, address, 0, width, 0, given, lost=lost))

        return run

    def _accumulated(self, before: Array, kind: Type, keeps: Any) -> Array:
        """References of accumulators: those before where they are of a product, else new ones."""
        part = kind.parts[0] if kind.parts else kind
        each = part.parts[0].size_bytes if part.kind == "vector" else part.size_bytes
        count = kind.size_bytes // each
        base = self.next
        self.next += self.threads * count
        new = PRODUCT | (base + np.arange(self.threads * count, dtype=np.int64).reshape(self.threads, count))
        old = before[:, ::each]
        return np.repeat(np.where(((old & PRODUCT) != 0) & keeps[:, None], old, new), each, 1)

    def _wgmma(self, op: Operation) -> Step:
        machine, values = self.machine, self.machine.values
        match = WGMMA.search(op.attributes.get("asm_string", ""))
        count, kind, out = _accumulators(op), parse_type(op.results[0].type), self.slots[op.results[0]]
        rest = op.operands[count:]
        wide = [self.slots[v] for v in rest if v.type == "i64"]
        first = next((i for i, v in enumerate(rest) if v.type == "i64"), 0)
        registers = [self.slots[v] for v in rest[:first]]
        accumulators = [(self.slots[v], parse_type(v.type).size_bytes) for v in op.operands[:count]]
        scale = [self.slots[v] for v in _scale(op)]

        def run() -> None:
            before = [refs_of(values[slot], n) for slot, n in accumulators]
            c = np.concatenate([np.broadcast_to(x, (self.threads, x.shape[1])) for x in before], 1)
            keeps = np.broadcast_to(
                np.asarray(number(values[scale[0]]) if scale else 1) != 0, (self.threads,)
            )
            result = self._accumulated(c, kind, keeps)
            values[out], machine.provenance[out] = Refs(result), self.unsaid
            a = tuple(refs_of(values[slot], 4) for slot in registers)
            facts = {"match": match, "majors": self.meanings[op].facts["majors"]}
            self._note(
                Deed(
                    "wgmma", op, machine.mask, refs=(*a, result), facts=facts,
                    numbers=tuple(number(values[slot]) for slot in wide), lost=self._known(*wide, *scale),
                )
            )  # fmt: skip

        return run


def _below(kind: Type) -> bool:
    return kind.kind == "vector" and 0 < kind.parts[0].bits < 8
