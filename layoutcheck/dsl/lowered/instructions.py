"""Which operations reach memory, and what of them matters: their addresses, and what they store."""

from __future__ import annotations

import re
from collections import Counter
from functools import lru_cache

from layoutcheck.dsl.lowered.inline_ptx import PtxAccess, accesses_of, reaches_shared, unescaped
from layoutcheck.dsl.lowered.types import parse_type
from layoutcheck.sources.mlir import Operation
from layoutcheck.sources.mlir import Value as SsaValue

_COPY = re.compile(r'^\s*(?:%[\w:]+ = )?"(cute\.copy(?:_atom_call)?)"\(.*$', re.MULTILINE)
_BITS = re.compile(r"copy_bits = ([0-9]+)")
_LEAST_BOX_BYTES = 16  # PTX: the innermost extent of a box is a multiple of 16 bytes
_MADE = re.compile(
    r"make_non_exec_tiled_tma_load.*?num_multicast = ([0-9]+).*-> \((!cute_nvgpu.*?>), !cute\."
)
_EXECUTABLE = re.compile(
    r"make_exec_tma.*\((!cute_nvgpu\.atom\.non_exec.*>)\) -> (!cute_nvgpu\.atom\.tma_load<.*>)"
)
TENSOR_LOAD = "nvvm.cp.async.bulk.tensor.shared.cluster.global"
TENSOR_STORES = (
    "nvvm.cp.async.bulk.tensor.global.shared.cta",
    "nvvm.cp.async.bulk.tensor.reduce",
    "nvvm.cp.async.bulk.tensor.global.shared.cta.ext",
)
# Bulk copies, and which operand is their size.
BULK = {
    "nvvm.cp.async.bulk.shared.cluster.global": 3,
    "nvvm.cp.async.bulk.shared.cluster.shared.cta": 3,
    "nvvm.cp.async.bulk.global.shared.cta": 2,
    "nvvm.cp.async.bulk.reduce": 2,
    "nvvm.cp.reduce.async.bulk.global.shared.cta": 2,
}
WRITERS = ("llvm.store", "nvvm.stmatrix")  # what writes registers
_OF_OLD = re.compile(r"\b(?:f?add|f?sub|[fu]?min|[fu]?max)\b")  # kinds of atomics
_ADDRESSES_ONLY = frozenset(
    ("llvm.getelementptr", "llvm.ptrtoint", "llvm.addrspacecast", "llvm.bitcast", "llvm.insertvalue",
     "llvm.select", "llvm.icmp", "llvm.intr.assume", "nvvm.mapa", "llvm.freeze", "llvm.extractvalue",
     "llvm.call",
     "llvm.intr.lifetime.start", "llvm.intr.lifetime.end", "nvvm.tensormap.replace", "llvm.inline_asm")
)  # fmt: skip


def is_memory(op: Operation) -> bool:
    """Whether an operation reaches memory through a pointer among its operands."""
    if not op.name.startswith(("nvvm.", "llvm.")) or op.regions:
        return False
    if op.name in _ADDRESSES_ONLY or "mbarrier" in op.name or "fence" in op.name or "prefetch" in op.name:
        return False
    return any(v.type.startswith("!llvm.ptr") for v in op.operands)


def makes_of_old(op: Operation) -> bool:
    """Whether it is an atomic operation that makes what it leaves of what is there: a sum, a maximum."""
    atomic = op.name in ("nvvm.atomicrmw", "nvvm.red")
    return atomic and _OF_OLD.search(op.attributes.get("op", "")) is not None


def written_in_ptx(op: Operation) -> tuple[PtxAccess, ...] | str:
    """The accesses to global memory of inline PTX, or why they are not known; none of other operations."""
    if op.name != "llvm.inline_asm":
        return ()
    text = unescaped(op.attributes.get("asm_string", ""))
    return accesses_of(text, op.attributes.get("constraints", "").count("="))


def in_shared_by_ptx(op: Operation) -> bool:
    """Whether inline PTX loads from shared memory or stores there."""
    return op.name == "llvm.inline_asm" and reaches_shared(unescaped(op.attributes.get("asm_string", "")))


def is_access(op: Operation) -> bool:
    """Whether the places that an operation reaches can be known: `is_memory`, or PTX that is read."""
    return is_memory(op) or (isinstance(found := written_in_ptx(op), tuple) and len(found) > 0)


def is_address(op: Operation, value: SsaValue) -> bool:
    """Whether an operand is an address: a pointer, or the number that inline PTX takes for one."""
    if parse_type(value.type).kind == "pointer":
        return True
    found = written_in_ptx(op)
    return isinstance(found, tuple) and any(op.operands[one.operand] is value for one in found)


def is_mbarrier(op: Operation) -> bool:
    """Whether an operation works on the mbarrier that its first operand points to."""
    return op.name.startswith("nvvm.mbarrier") and any(v.type.startswith("!llvm.ptr") for v in op.operands)


def numbers_and_data(op: Operation) -> tuple[list[SsaValue], list[SsaValue]]:
    """The operands of a memory instruction that its addresses rest on, and those that it stores."""
    if op.name == "llvm.store":
        return [op.operands[1]], [op.operands[0]]
    if op.name == "nvvm.stmatrix":
        return [op.operands[0]], op.operands[1:]
    if op.name == "nvvm.ldmatrix" or op.name == "llvm.load":
        return [op.operands[0]], []
    if isinstance(found := written_in_ptx(op), tuple) and found:
        return [op.operands[i] for one in found for i in (one.operand, one.guard) if i >= 0], []
    known = (TENSOR_LOAD, *TENSOR_STORES, *BULK, "nvvm.cp.async.shared.global")
    if op.name in known:
        return list(op.operands), []
    return [v for v in op.operands if v.type.startswith("!llvm.ptr")], []


def transfers(text: str) -> dict[str, int]:
    """Bytes that each instruction of a TMA copy moves, by the copy's tag.

    The box of a multicast load is the part of the tile that one of `num_multicast` blocks brings; where atoms
    of one type differ in how many do, it is the smallest; where no atom tells it, the least that a box is.
    """
    return {
        tag: _LEAST_BOX_BYTES if several and not parts else tile // max(parts, default=1)
        for tag, (tile, parts, several) in _tiles(text).items()
    }


def tma_transfers(text: str) -> dict[str, tuple[int, int]]:
    """Of each TMA copy, by its tag: (bytes of the tile, how many blocks bring a part of it each).

    The second is `num_multicast` of `make_tiled_tma_atom`; 0 where atoms of one type differ in it, or none is
    made.
    """
    every = _tiles(text).items()
    return {tag: (tile, next(iter(parts)) if len(parts) == 1 else 0) for tag, (tile, parts, _) in every}


@lru_cache(maxsize=1)  # of one module after the other
def _tiles(text: str) -> dict[str, tuple[int, set[int], bool]]:
    """Of each TMA copy: the bytes of its tile, each `num_multicast` of its type, if it is multicast."""
    made: dict[str, set[int]] = {}
    for match in _MADE.finditer(text):
        made.setdefault(match[2], set()).add(int(match[1]))
    parts: dict[str, set[int]] = {}
    for match in _EXECUTABLE.finditer(text):
        parts.setdefault(match[2].split(" loc(")[0].strip(), set()).update(made.get(match[1], ()))
    found: dict[str, tuple[int, set[int], bool]] = {}
    seen: Counter[str] = Counter()
    for match in _COPY.finditer(text):
        tag = f"{match[1]}#{seen[match[1]]}"
        seen[match[1]] += 1
        if bits := _BITS.search(match[0]):
            known = {n for atom, every in parts.items() if atom in match[0] for n in every}
            found[tag] = int(bits[1]) // 8, known, "mcast = true" in match[0]
    return found
