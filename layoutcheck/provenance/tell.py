"""Breaches of a product's contract as findings, with their places in the user's source."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from layoutcheck.atoms.tmem import WARP_LANES
from layoutcheck.dsl.lowered.evaluate import KERNELS, tag
from layoutcheck.dsl.lowered.instructions import makes_of_old
from layoutcheck.operands import rules
from layoutcheck.operands.rules import OperandRule
from layoutcheck.provenance.bare import Beyond
from layoutcheck.provenance.fragments import operand_registers
from layoutcheck.provenance.judged import Breach
from layoutcheck.provenance.matrix import TENSOR_MEMORY, instruction_of
from layoutcheck.provenance.unset import LOST, Found
from layoutcheck.sources.mlir import Operation
from layoutcheck.sources.traced import KernelFinding, KernelPlace
from layoutcheck.sources.traced_module import TracedModule

SHARED = "!llvm.ptr<3>"
BEYOND = "a load reads registers that its fragment does not have"


def meant(breach: Breach, module: TracedModule) -> bool:
    """Whether two statements take the same k: the parts of a number have one each."""
    again = breach.store if breach.kind == "short" else None
    return again is not None and module.frames(tag(breach.op)) != module.frames(tag(again))


def told(breach: Breach, module: TracedModule) -> KernelFinding:
    """The finding of a breach."""
    facts: dict[str, Any] = dict(breach.facts)
    if breach.writer is not None:
        return _moved(breach, facts, module)
    if breach.kind.startswith("tile"):
        places = [_place(module, breach.op, "it is brought again" if "held" not in facts else "it is stored")]
        if breach.store is not None and breach.store is not breach.op:
            places.append(_place(module, breach.store, "the tile is brought"))
        return _found(rules.lc614, module, _different(places), facts, breach.kind, facts)
    if breach.kind in ("bare", "lanes"):
        return _of_tensor_memory(breach, facts, module)
    thread = facts.get("thread", 0)
    if breach.kind == "scrambled":
        facts["where"], thread = _where(breach)
    places = [_place(module, breach.op, "the product", thread)]
    if breach.kind == "place" and breach.store is not None:
        places.append(_place(module, breach.store, "the store of its result"))
    of_letter, product = (breach.letter, facts), instruction_of(breach.op)
    ways: dict[str, tuple[OperandRule, tuple[Any, ...]]] = {
        "scrambled": (rules.lc602, of_letter), "tensor": (rules.lc608, of_letter),
        "place": (rules.lc604, of_letter), "unset": (rules.lc609, (breach.letter, product)),
        "dropped": (rules.lc612, (facts, product)), "short": (rules.lc613, (facts,)),
        "depth": (rules.lc603, (facts,)),
    }  # fmt: skip
    rule, given = ways[breach.kind]
    evidence: dict[str, Any] = {"operand": breach.letter}
    evidence |= {key: list(value) if isinstance(value, tuple) else value for key, value in facts.items()}
    note = not (facts["twice"] or facts["unread"]) if breach.kind == "short" else facts.get("lost") == ()
    return _found(rule, module, places, evidence, *given, note=note)


def _found(
    rule: OperandRule, module: TracedModule, places: Sequence[KernelPlace], evidence: dict[str, Any],
    *given: Any, note: bool = False,
) -> KernelFinding:  # fmt: skip
    """The finding of a rule that tells of what is `given`."""
    severity = "note" if note else rule.page.severity
    evidence = {"kernel": module.kernel, "arch": module.arch, **evidence}
    return KernelFinding(rule.page.code, severity, *rule.tell(*given), tuple(places), evidence)


def _different(places: Sequence[KernelPlace]) -> Sequence[KernelPlace]:
    """The first, and those of other lines."""
    return tuple({(one.where.file, one.where.line): one for one in reversed(places)}.values())[::-1]


def told_unset(every: Sequence[Found], module: TracedModule) -> list[KernelFinding]:
    """The findings of registers that nothing has written, one for each line that uses them."""
    found: dict[object, KernelFinding] = {}
    for one in every:
        evidence: dict[str, Any]
        if one.letter:
            fill = one.fill * (one.letter == "C")
            evidence = {"operand": one.letter, "thread": one.threads[0], "fill": fill}
            places = [_place(module, one.op, "the product", one.threads[0])]
            rule, given = rules.lc609, (one.letter, instruction_of(one.op))
        else:
            written = [_place(module, op, "they are written") for op in one.writers]
            evidence = {"threads": list(one.threads), "block": list(one.block), "bytes": one.bytes,
                         "written": bool(written), "called": one.called, "extent": one.extent,
                         "multiple": one.multiple, "fill": one.fill,
                         "shared": one.load is not None and one.load.operands[0].type == SHARED}  # fmt: skip
            evidence["adds"] = evidence["shared"] and any(map(makes_of_old, one.op.outer(*KERNELS).walk()))
            places = [_place(module, one.op, "they are stored", one.threads[0])]
            what = "shared memory is read" if evidence["shared"] else "the registers are read"
            places += [_place(module, one.load, what)] if one.load is not None else []
            places += written[:1]
            rule, given = rules.lc610, (evidence,)
        told = _found(rule, module, _different(places), evidence, *given, note=one.extent > 0)
        found.setdefault((told.code, one.letter, places[0].where), told)
    return list(found.values())


def told_sums(every: Sequence[Found], module: TracedModule) -> list[KernelFinding]:
    """The findings of sums in which fills count, or that leave lanes out: one for each line of them."""
    found: dict[object, KernelFinding] = {}
    for one in every:
        if one.letter == LOST:
            if not one.extent:  # of those of some extents nothing is said
                place = _place(
                    module, one.op, "it is stored" if one.multiple else "it is loaded", one.threads[0]
                )
                facts = {"threads": list(one.threads), "count": one.bytes, "step": one.multiple}
                found.setdefault(place.where, _found(rules.lc615, module, [place], facts, facts))
            continue
        evidence = {"threads": list(one.threads), "block": list(one.block), "called": one.called,
                    "extent": one.extent, "multiple": one.multiple}  # fmt: skip
        assert one.load is not None
        made = (one.load, *(value.definition for value in one.load.operands))
        where = next((op for op in made if op is not None and tag(op)), one.load)
        places = [_place(module, one.op, "it is stored", one.threads[0])]
        places += [_place(module, where, "the lanes are added up")] if tag(where) else []
        places += [_place(module, op, "lanes beyond the end load nothing") for op in one.writers]
        told = _found(rules.lc611, module, _different(places), evidence, evidence, note=one.extent > 0)
        found.setdefault(places[0].where, told)
    return list(found.values())


def told_beyond(one: Beyond, module: TracedModule) -> KernelFinding:
    """The note on a load that leaves its registers (LC204)."""
    at, count = sorted(one.at), len(one.at)
    where = f"offset {at[0]} B" if count == 1 else f"{count} offsets from {at[0]} to {at[-1]} B"
    message = (
        f"It reads {one.width} B at {where} of a fragment that has {one.size} B. What lies there is "
        "undefined (LLVM): the compiler drops the stores of it, or takes any register. Count the "
        "fragment's own mode."
    )
    evidence: dict[str, Any] = {"kernel": module.kernel, "arch": module.arch, "offsets": at}
    places = (_place(module, one.op, "the registers are read"),)
    return KernelFinding("LC204", "note", BEYOND, message, places, evidence)


def _of_tensor_memory(breach: Breach, facts: dict[str, Any], module: TracedModule) -> KernelFinding:
    """The finding of a load that reads what nothing wrote, or of a warp that does not reach its lanes."""
    loads = breach.op.name == TENSOR_MEMORY[0]
    thread, lane = facts["thread"], facts.get("lane", 0)
    places = [_place(module, breach.op, f"tensor memory is {'read' if loads else 'written'}", thread)]
    if breach.kind == "lanes":
        warp, first = thread // WARP_LANES, thread // WARP_LANES % 4 * WARP_LANES
        message = (
            f"Warp {warp} reaches lanes {first} to {first + WARP_LANES - 1} of tensor memory (PTX ISA, "
            f"Tensor Memory Access Restrictions), and gives the address of lane {lane}. Take the slice of "
            "the thread's index in its warpgroup: `get_slice(tidx % 128)`."
        )
        title = "a warp accesses tensor-memory lanes that it does not own"
        evidence = {"kernel": module.kernel, "arch": module.arch, **facts}
        return KernelFinding("LC250", "wrong", title, message, tuple(places), evidence)
    assert breach.store is not None
    evidence = facts | {
        "threads": [thread], "block": list(facts["block"]), "written": False, "called": "", "extent": 0,
        "multiple": 0, "fill": "", "shared": False, "tensor": True,
    }  # fmt: skip
    places.insert(0, _place(module, breach.store, "they are stored", thread))
    return _found(
        rules.lc610, module, _different(places), evidence, {**evidence, "threads": (thread, thread)}
    )


def _moved(breach: Breach, facts: dict[str, Any], module: TracedModule) -> KernelFinding:
    """The finding of a tile that is written and read through different views."""
    assert breach.writer is not None and breach.store is not None
    rule = rules.lc605 if breach.kind == "swizzle" else rules.lc606
    places = [_place(module, breach.op, "it is read"), _place(module, breach.writer, "the tile is written")]
    if breach.store is not breach.op:
        places.append(_place(module, breach.store, "its elements are stored"))
    return _found(rule, module, places, facts, facts)


def _where(breach: Breach) -> tuple[str, int]:
    """The register that holds the element of that row and k, or its place in shared memory; the thread."""
    row, k, group, bits = (int(str(breach[key])) for key in ("row", "k", "group", "bits"))
    if breach.op.name != "nvvm.mma.sync":
        return f"shared memory at row {row}, k = {k} of the descriptor", 128 * group
    least = (1 if breach.letter == "B" else 2) * max(1, 32 // bits)
    for count in (least, 2 * least, 4 * least):
        rows, depths = operand_registers(breach.letter, count, bits)
        found: Any = np.argwhere((rows == row) & (depths == k))
        if len(found):
            lane, value = (int(x) for x in found[0])
            return f"{breach.letter.lower()}{value} of thread {32 * group + lane}", 32 * group + lane
    return f"row {row}, k = {k} of warp {group}", 32 * group


def _place(module: TracedModule, op: Operation, what: str, thread: int = 0) -> KernelPlace:
    return module.place(tag(op), what, thread)
