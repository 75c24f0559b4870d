"""The `Meaning` of each operation of a lowered module, by its name and, of inline PTX, by its text.

Names and operands are those of the DSL's `nvvm` dialect; what each does: PTX ISA 9.x, section "Instruction
Set", under the instruction's own name.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from layoutcheck.dsl.lowered.inline_ptx import unescaped
from layoutcheck.dsl.lowered.instructions import BULK, TENSOR_LOAD, TENSOR_STORES
from layoutcheck.dsl.lowered.types import parse_type
from layoutcheck.order.inline import read_inline
from layoutcheck.order.inline_mma import multiplications
from layoutcheck.order.linear import Inline, Linear
from layoutcheck.order.linear import operand as of_operand
from layoutcheck.order.meaning import Meaning, space_of
from layoutcheck.sources.mlir import Operation, Value, integer, integers

_WORD = re.compile(r"<(?:\w+\s+)?([\w.]+)>")
# Operations that take a pointer to shared memory and reach nothing through it.
_NO_ACCESS = re.compile(
    r"nvvm\.(?:mapa|prefetch|tensormap|read\.|clusterlaunchcontrol\.query|griddepcontrol)"
)
WGMMA = re.compile(
    r"wgmma\.mma_async(?:\.sp)?\.sync\.aligned\.m([0-9]+)n([0-9]+)k([0-9]+)"
    r"(?:\.satfinite)?\.(\w+)\.(\w+)\.(\w+)"
)
_COUNTED = ("cp_commit", "cp_wait", "bulk_commit", "bulk_wait", "tmem_wait", "registers")
_COPIED_ROWS = {"shape_32x128b": "32", "shape_64x128b": "64", "shape_128x128b": "128"}  # of 16 bytes
_WAIT_NAMES = {
    "nvvm.mbarrier.try_wait.parity", "nvvm.mbarrier.try_wait.parity.timelimit", "nvvm.mbarrier.wait.parity",
    "nvvm.mbarrier.test.wait.parity", "nvvm.mbarrier.test_wait.parity",
}  # fmt: skip


def describe(op: Operation) -> Meaning | None:
    """The meaning of an operation; None where it orders nothing and reaches no memory."""
    found = _describe(op)
    if found is not None:
        found.op = op
    return found


def _describe(op: Operation) -> Meaning | None:
    name = op.name
    if name in ("llvm.load", "llvm.store"):
        return _plain(op)
    if not name.startswith(("nvvm.", "llvm.")):
        return None
    if name in SIMPLE:
        return Meaning(SIMPLE[name])
    if name in ("llvm.inline_asm", "nvvm.inline_ptx"):
        return _inline(op)
    if name in _WAIT_NAMES:
        # The wait with a time limit stands in a loop that the DSL makes: it waits until it succeeds.
        token = bool(op.results) and not name.endswith("timelimit")
        return Meaning("mbar_token" if token else "mbar_wait", op.operands[:2], space_of(op.operands[0]))
    if name in _MAKERS:
        return _MAKERS[name](op)
    if name == "nvvm.setmaxregister":
        limit = "increase" if "increase" in op.attributes.get("action", "") else "decrease"
        return Meaning("registers", count=integer(op.attributes["regCount"]) or 0, facts={"limit": limit})
    if name.startswith("nvvm.mbarrier."):
        return _mbarrier(op)
    if name.startswith("nvvm.cp.async.bulk") or name in BULK:
        return _bulk(op)
    if name.startswith("nvvm.tcgen05."):
        return _tcgen05(op)
    if name.startswith("nvvm.fence") or name in ("llvm.fence", "nvvm.memory.barrier", "nvvm.membar"):
        return Meaning("fence", facts={"name": name})
    if "atomic" in name or "cmpxchg" in name or name in ("nvvm.red", "nvvm.load.ext", "nvvm.store.ext"):
        return _atomic(op)
    pointers = [v for v in op.operands if v.type.startswith("!llvm.ptr")]
    known = not name.startswith("nvvm.") or _NO_ACCESS.match(name)
    if not known and any(space_of(v) in ("smem", "dsmem") for v in pointers):
        return Meaning("unknown", facts={"name": name})
    return None


def _plain(op: Operation) -> Meaning | None:
    write = op.name == "llvm.store"
    pointer, data = (op.operands[1], op.operands[0]) if write else (op.operands[0], op.results[0])
    space = space_of(pointer)
    if space == "other" or space == "tmem":
        return None
    size = parse_type(data.type).size_bytes
    facts: dict[str, str] = {}
    if write and data.definition is not None and data.definition.name.endswith("constant"):
        facts["constant"] = data.definition.attributes.get("value", "")
    return Meaning("write" if write else "read", [pointer], space, size, facts=facts)


def _inline(op: Operation) -> Meaning | None:
    text = unescaped(op.attributes.get("asm_string", "") or op.attributes.get("ptxCode", ""))
    if match := WGMMA.search(text):
        return _wgmma(op, match)
    results = op.attributes.get("constraints", "").count("=")  # they are numbered first
    found = [_of_ptx(op, text, one) for one in read_inline(text, results)]
    for one in found[1:]:
        one.op = op
        found[0].more.append(one)
    return found[0] if found else None


def _of_ptx(op: Operation, text: str, found: Inline) -> Meaning:
    """The meaning of one instruction of inline PTX."""
    if found.kind == "tc_mma":
        plain = op.name == "llvm.inline_asm" and not op.results
        made = tuple(multiplications(text) or ()) if plain else ()
        return Meaning("tc_mma", op.operands if plain else [], "smem", facts=dict(found.facts), made=made)
    facts, terms = dict(found.facts), [term for one in found.operands for term, _ in (*one.terms, *one.rank)]
    if max([found.guard, *terms], default=0) >= len(op.operands) and (terms or found.guard >= 0):
        return Meaning("unknown", facts={"name": text[:40]})
    numbers, box = list(found.operands), list[Value]()
    if facts.pop("map", ""):  # the tensor map comes last
        box = [op.operands[term] for term, _ in numbers.pop().terms]
    if found.kind in _COUNTED:
        return Meaning(found.kind, count=found.size, facts=facts)
    operands = [
        op.operands[one.terms[0][0]] if one.terms else op.operands[0] for one in numbers if op.operands
    ]
    sums: tuple[Linear, ...] = ()
    if any(one != of_operand(one.terms[0][0] if one.terms else -1) for one in numbers):
        places = {term: len(operands) + i for i, term in enumerate(dict.fromkeys(terms))}
        operands += [op.operands[term] for term in places]
        sums = tuple(one.over(places) for one in numbers)
    guard = len(operands) if found.guard >= 0 else -1
    operands += [op.operands[found.guard]] if guard >= 0 else []
    space, rows = facts.pop("space", "smem"), int(facts.pop("rows", "0"))
    return Meaning(
        found.kind, operands, space, found.size, rows, facts, sums=sums, guard=guard, box=box
    )  # fmt: skip


def _wgmma(op: Operation, match: re.Match[str]) -> Meaning:
    """Descriptors of A (unless its values are in registers) and B are the operands of 64 bits."""
    wide = [value for value in op.operands if value.type == "i64"]
    m, n, k, _, a, b = match.groups()
    words = [value for value in op.operands if value.type == "i32"]
    majors = "kk"
    if a in ("f16", "bf16") and b in ("f16", "bf16"):  # the last immediates: whether A and B are transposed
        majors = "".join("m" if _constant(v) else "k" for v in words[-len(wide) :])
    return Meaning("wgmma", wide, "smem", facts={"m": m, "n": n, "k": k, "majors": majors[-len(wide) :]})


def _constant(value: Value) -> int:
    made = value.definition
    return (integer(made.attributes.get("value", "0")) or 0) if made is not None else 0


def _mbarrier(op: Operation) -> Meaning | None:
    name = op.name.removeprefix("nvvm.mbarrier.").removesuffix(".shared")
    if name == "init":
        return Meaning("mbar_init", op.operands[:2], space_of(op.operands[0]))
    if name == "inval":
        return Meaning("mbar_invalid", op.operands[:1], space_of(op.operands[0]))
    if name.startswith("arrive"):
        kind = "tx" if "expect_tx" in name else "drop" if "drop" in name else ""
        scope = "block" if "<cta>" in op.attributes.get("scope", "") else ""
        facts = {"form": kind, "scope": scope}
        return Meaning("mbar_arrive", op.operands[:2], space_of(op.operands[0]), facts=facts)
    if name in ("expect_tx", "complete_tx"):
        return Meaning("mbar_expect", op.operands[:2], space_of(op.operands[0]), facts={"form": name})
    if name.startswith(("try_wait", "test", "wait")):  # by state: the state of the arrival is not followed
        return Meaning("unknown", facts={"name": op.name})
    return None


def _barrier(op: Operation) -> Meaning:
    sizes = integers(op.attributes.get("operandSegmentSizes", "")) or (0, 0, 0)
    arrive = "arrive" in op.name
    given = op.operands
    if op.name.startswith("nvvm.barrier.cta."):  # the predicate of a reduction, the barrier, its threads
        given = given[op.name.endswith(".red") :]
        sizes = (int(len(given) > 0), int(len(given) > 1))
    elif "operandSegmentSizes" not in op.attributes:
        sizes = (int(len(given) > 1), int(len(given) > 0))
    operands = given[: sizes[0] + sizes[1]]
    facts = {"id": "yes" if sizes[0] else "", "threads": "yes" if sizes[1] else ""}
    facts["aligned"] = op.attributes.get("aligned", "")
    return Meaning("barrier_arrive" if arrive else "barrier", list(operands), facts=facts)


def _cp_async(op: Operation) -> Meaning:
    size = integer(op.attributes.get("size", "")) or 0
    return Meaning("cp_async", op.operands[:3], space_of(op.operands[0]), size)


def _st_async(op: Operation) -> Meaning:
    to, value, mbarrier = op.operands[:3]
    return Meaning("st_async", [to, mbarrier], space_of(to), parse_type(value.type).size_bytes)


def _cp_arrive(op: Operation) -> Meaning:
    facts = {"noinc": op.attributes.get("noinc", "")}
    return Meaning("cp_arrive", op.operands[:1], space_of(op.operands[0]), facts=facts)


def _bulk(op: Operation) -> Meaning | None:
    name = op.name
    if name == "nvvm.cp.async.bulk.commit.group":
        return Meaning("bulk_commit")
    if name == "nvvm.cp.async.bulk.wait_group":
        read = {"read": "yes"} if "read" in op.attributes else {}
        return Meaning("bulk_wait", count=integer(op.attributes.get("group", "0")) or 0, facts=read)
    if "prefetch" in name:
        return None
    sizes = integers(op.attributes.get("operandSegmentSizes", "")) or ()
    if name == TENSOR_LOAD:  # shared, descriptor, coordinates, mbarrier, offsets, multicast, ...
        n = 2 + sizes[2]
        masks = list(op.operands[n + 1 + sizes[4] : n + 1 + sizes[4] + sizes[5]])
        facts = {"tensor": "yes", "multicast": "yes" if masks else ""}
        facts["pair"] = "yes" if "cta_2" in op.attributes.get("group", "") else ""
        return Meaning(
            "bulk_load", [op.operands[0], op.operands[n], *masks], space_of(op.operands[0]), facts=facts,
            box=list(op.operands[1:n]),
        )  # fmt: skip
    if name in TENSOR_STORES:
        reduce = {"tensor": "yes"}
        return Meaning(
            "bulk_store", [op.operands[1]], space_of(op.operands[1]), facts=reduce, box=list(op.operands[:1])
        )
    if name == "nvvm.cp.async.bulk.shared.cluster.global":  # to, from, mbarrier, bytes, multicast, hint
        masks = list(op.operands[4 : 4 + sizes[4]]) if len(sizes) > 4 else []
        facts = {"multicast": "yes" if masks else ""}
        operands = [op.operands[0], op.operands[2], *masks]
        return Meaning(
            "bulk_load", [*operands, op.operands[3], op.operands[1]], space_of(op.operands[0]), facts=facts
        )
    if name == "nvvm.cp.async.bulk.shared.cluster.shared.cta":
        to, source, mbarrier, size = op.operands[:4]
        return Meaning("bulk_peer", [to, mbarrier, size, source], space_of(to))
    if name in BULK:  # to global memory, also with a reduction
        to, source, size = op.operands[0], op.operands[1], op.operands[BULK[name]]
        return Meaning("bulk_store", [source, size, to], space_of(source))
    return Meaning("unknown", facts={"name": name})


def _tcgen05(op: Operation) -> Meaning | None:
    name = op.name.removeprefix("nvvm.tcgen05.")
    if name.startswith("commit"):
        pointer = [v for v in op.operands if v.type.startswith("!llvm.ptr")][:1]
        rest = [v for v in op.operands if v.type in ("i16", "i32")][:1]
        return Meaning(
            "tc_commit", [*pointer, *rest], space_of(pointer[0]), facts={"multicast": "yes" if rest else ""}
        )
    words = {key: match[1] for key, value in op.attributes.items() if (match := _WORD.search(value))}
    pair = "yes" if "cta_2" in (words.get("ctaGroup", ""), words.get("group", "")) else ""
    if name in (
        "mma",
        "mma.block_scale",
    ):  # D, A (a descriptor, or in tensor memory), B, the instruction's words
        facts = {"d": "yes", "a": "yes" if op.operands[1].type != "i64" else "", "pair": pair}
        return Meaning("tc_mma", op.operands[:4], "smem", facts={**facts, "kind": words.get("kind", "")})
    if name.startswith("mma") and "smem_desc" not in name:
        return Meaning("tc_mma", space="smem")
    if name.startswith("cp"):
        rows = _COPIED_ROWS.get(words.get("shape", ""), "")
        source = [v for v in op.operands if v.type == "i64"][:1]
        return Meaning("tc_copy", source, "smem", facts={"rows": rows, "pair": pair})
    if name in ("ld", "st"):
        lanes = 32 if "32x32b" in words.get("shape", "") else 16
        kind = parse_type((op.results[0] if name == "ld" else op.operands[1]).type)
        registers = kind.count if kind.kind == "vector" else 1
        kind_of = "tmem_read" if name == "ld" else "tmem_write"
        return Meaning(kind_of, op.operands[:1], "tmem", lanes, registers * 32 // lanes)
    if name == "wait":
        return Meaning("tmem_wait", count=int(words.get("kind") == "load"))
    if name == "dealloc":  # of all columns that the block has
        return Meaning("tmem_free", space="tmem", facts={"pair": pair})
    if name.startswith("alloc"):  # writes the address of tensor memory to shared memory, for all 32 lanes
        pointer = [v for v in op.operands if v.type.startswith("!llvm.ptr")][:1]
        if not pointer:
            return None
        return Meaning("write", pointer, space_of(pointer[0]), 4, facts={"constant": "tmem"})
    return None


def _atomic(op: Operation) -> Meaning | None:
    pointers = [v for v in op.operands if v.type.startswith("!llvm.ptr")][:1]
    if not pointers or space_of(pointers[0]) in ("other", "tmem"):
        return None
    types = [v.type for v in (*op.results, *op.operands) if v not in pointers]
    size = max((parse_type(t).size_bytes for t in types), default=4)
    kind = "atomic"
    facts = {k: v for k, v in op.attributes.items() if len(v) < 80}
    if op.name in ("nvvm.load.ext", "nvvm.store.ext") and "weak" in str(
        facts.get("sem", facts.get("order", ""))
    ):
        kind = "read" if "load" in op.name else "write"
    return Meaning(kind, pointers, space_of(pointers[0]), size, facts=facts)


def _matrix(op: Operation) -> Meaning:
    if op.name == "nvvm.ldmatrix":
        num = integer(op.attributes.get("num", "1")) or 1
        return Meaning("matrix_read", op.operands[:1], space_of(op.operands[0]), 16, 8 * num)
    return Meaning("matrix_write", op.operands[:1], space_of(op.operands[0]), 16, 8 * (len(op.operands) - 1))


def _fence_proxy(op: Operation) -> Meaning:
    match = _WORD.search(op.attributes.get("kind", ""))
    return Meaning("fence_proxy", facts={"proxy": match[1] if match else "async"})


def _counted(kind: str, key: str) -> Callable[[Operation], Meaning]:
    return lambda op: Meaning(kind, count=integer(op.attributes.get(key, "0")) or 0)


SIMPLE = {
    "nvvm.cp.async.commit.group": "cp_commit",
    "nvvm.fence.mbarrier.init": "fence_init",
    "nvvm.cluster.wait": "cluster_wait",
    "nvvm.cluster.arrive": "cluster_arrive",
    "nvvm.cluster.arrive.relaxed": "cluster_arrive",
    "nvvm.elect.sync": "elect",
    "nvvm.wgmma.fence.aligned": "wgmma_fence",
    "nvvm.wgmma.commit.group.sync.aligned": "wgmma_commit",
}


def _try_cancel(op: Operation) -> Meaning:
    """clusterlaunchcontrol.try_cancel: 16 bytes come to shared memory and complete on an mbarrier."""
    facts = {"everywhere": "yes"} if "multicast" in op.attributes else {}
    return Meaning("bulk_load", op.operands[:2], space_of(op.operands[0]), 16, facts=facts)


_MAKERS: dict[str, Callable[[Operation], Meaning | None]] = {
    "nvvm.cp.async.shared.global": _cp_async,
    "nvvm.store.async": _st_async,
    "nvvm.cp.async.wait.group": _counted("cp_wait", "n"),
    "nvvm.cp.async.wait.all": lambda _op: Meaning("cp_wait", facts={"all": "yes"}),
    "nvvm.wgmma.wait.group.sync.aligned": _counted("wgmma_wait", "group"),
    "nvvm.cp.async.mbarrier.arrive": _cp_arrive,
    "nvvm.cp.async.mbarrier.arrive.shared": _cp_arrive,
    "nvvm.barrier0": _barrier,
    "nvvm.barrier": _barrier,
    "nvvm.barrier.arrive": _barrier,
    "nvvm.barrier.cta.arrive": _barrier,
    "nvvm.barrier.cta.sync": _barrier,
    "nvvm.barrier.cta.red": _barrier,
    "nvvm.bar.warp.sync": lambda op: Meaning("warp_sync", op.operands[:1]),
    "nvvm.ldmatrix": _matrix,
    "nvvm.stmatrix": _matrix,
    "nvvm.fence.proxy": _fence_proxy,
    "nvvm.clusterlaunchcontrol.try.cancel": _try_cancel,
}
