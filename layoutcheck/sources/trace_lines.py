"""A `Trace` as JSON Lines: a head, then one line for each copy that differs."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import asdict, replace
from typing import Any

from layoutcheck.algebra.notation import parse_swizzle
from layoutcheck.atoms.as_dict import copy_to_dict
from layoutcheck.copies.copy import Copy, Tiling
from layoutcheck.copies.memref import Memref
from layoutcheck.errors import InputError
from layoutcheck.sources.atoms import parse_atom
from layoutcheck.sources.traced import (
    Addresses,
    ElementReport,
    Frame,
    Kernel,
    KernelFinding,
    KernelPlace,
    LoweredFault,
    LoweredSide,
    OperandReport,
    OrderReport,
    Trace,
    TracedCopy,
    TraceFailure,
)
from layoutcheck.sources.types import parse_memref, parse_tiled_copy

FORMAT = 1


def to_lines(trace: Trace) -> Iterator[str]:
    """The trace as JSON Lines: a head, then one line for each copy that differs (with a `count`)."""
    head = {
        "trace": FORMAT,
        "versions": trace.versions,
        "notes": list(trace.notes),
        "kernels": [asdict(kernel) for kernel in trace.kernels],
        "failures": [asdict(failure) for failure in trace.failures],
        "orders": [asdict(order) for order in trace.orders],
        "elements": [asdict(one) for one in trace.elements],
        "operands": [asdict(one) for one in trace.operands],
        "skipped": [list(one) for one in trace.skipped],
    }
    yield json.dumps(head)
    for one, count in Counter(trace.copies).items():
        yield json.dumps({**_copy_line(one), "count": count})


def _copy_line(one: TracedCopy) -> dict[str, Any]:
    return {
        "copy": None if one.copy is None else _copy_out(one.copy),
        "operation": one.operation,
        "where": asdict(one.where),
        "stack": [asdict(frame) for frame in one.stack],
        "kernel": one.kernel,
        "arch": one.arch,
        "picture": one.address_source,
        "missing": one.missing,
        "refused": one.refused,
        "in_dsl": one.in_dsl,
        "addresses": None if one.addresses is None else asdict(one.addresses),
        "warps": list(one.warps),
        "uncompiled": one.uncompiled,
        "shifted": list(one.shifted),
        "unbounded": one.unbounded,
        "bounded_if": one.bounded_if,
        "inside": [list(counts) for counts in one.inside],
        "box_align": one.box_align,
    }


def from_lines(lines: Iterable[str]) -> Trace:
    """The trace that `to_lines` wrote. Raises InputError for anything else."""
    reading = iter(lines)
    head = _object(next(reading, ""))
    if head.get("trace") != FORMAT:
        raise InputError("not a trace of this version", expected=f'a first line with "trace": {FORMAT}')
    try:
        copies: list[TracedCopy] = []
        for line in reading:
            record = _object(line)
            copies += [_copy_in(record)] * int(record.get("count", 1))
        return Trace(
            tuple(copies),
            tuple(Kernel(**kernel) for kernel in head["kernels"]),
            tuple(TraceFailure(f["kind"], f["message"], _frame(f["where"])) for f in head["failures"]),
            tuple(head["notes"]),
            dict(head["versions"]),
            tuple(_order(order) for order in head.get("orders", ())),
            elements=tuple(_elements(one) for one in head.get("elements", ())),
            operands=tuple(_operands(one) for one in head.get("operands", ())),
            skipped=tuple((test, reason) for test, reason in head.get("skipped", ())),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"not a trace: {error}") from None


def _object(line: str) -> dict[str, Any]:
    try:
        value = json.loads(line)
    except ValueError:
        value = None
    if not isinstance(value, dict):
        raise InputError("not a trace", expected="JSON objects, one a line")
    return value


def _frame(value: dict[str, Any] | None) -> Frame | None:
    return None if value is None else Frame(**value)


def _changed(record: dict[str, Any], **parts: Any) -> dict[str, Any]:
    return record | parts


def _order(record: dict[str, Any]) -> OrderReport:
    sentences = {key: tuple(record[key]) for key in ("assumed", "unchecked", "trips")}
    return OrderReport(**_changed(record, **sentences, findings=_findings(record)))


def _elements(record: dict[str, Any]) -> ElementReport:
    counts = {key: tuple(map(tuple, record.get(key, ()))) for key in ("unchecked", "verdicts", "lines")}
    return ElementReport(**_changed(record, **counts, findings=_findings(record)))


def _operands(record: dict[str, Any]) -> OperandReport:
    unchecked = tuple(record["unchecked"])
    return OperandReport(**_changed(record, unchecked=unchecked, findings=_findings(record)))


def _findings(record: dict[str, Any]) -> tuple[KernelFinding, ...]:
    return tuple(
        KernelFinding(**_changed(finding, places=tuple(map(_order_place, finding["places"]))))
        for finding in record["findings"]
    )


def _order_place(record: dict[str, Any]) -> KernelPlace:
    stack = tuple(Frame(**frame) for frame in record["stack"])
    turns = tuple(record["turns"])
    return KernelPlace(**_changed(record, where=Frame(**record["where"]), stack=stack, turns=turns))


def _copy_in(record: dict[str, Any]) -> TracedCopy:
    copy = record["copy"]
    return TracedCopy(
        None if copy is None else _copy_of(copy),
        record["operation"],
        Frame(**record["where"]),
        tuple(Frame(**frame) for frame in record["stack"]),
        record["kernel"],
        record["arch"],
        record["picture"],
        record["missing"],
        record["refused"],
        record["in_dsl"],
        _addresses(record.get("addresses")),
        tuple(record.get("warps", ())),
        record.get("uncompiled", False),
        tuple(record.get("shifted", ())),
        record.get("unbounded", ""),
        record.get("bounded_if", ""),
        tuple((run, bytes_, apart) for run, bytes_, apart in record.get("inside", ())),
        record.get("box_align", 0),
    )


def _addresses(record: dict[str, Any] | None) -> Addresses | None:
    if record is None:
        return None
    sides = tuple(LoweredSide(**_changed(side, lanes=tuple(side["lanes"]))) for side in record["sides"])
    faults = tuple(LoweredFault(**fault) for fault in record["faults"])
    return Addresses(record["threads"], sides, faults, record["untold"])


def _copy_out(copy: Copy) -> dict[str, Any]:
    """The schema's object, and what that does not hold: the tensors that views were recast from."""
    out = copy_to_dict(copy)
    out["evict_priority"] = copy.evict_priority
    out["mapped"] = None if copy.mapped is None else str(copy.mapped)
    out["map_past"] = copy.map_past
    out["map_swizzle"] = None if copy.map_swizzle is None else str(copy.map_swizzle)
    for side in ("src", "dst"):
        chain = []
        memref = copy.side(side).recast_from
        while memref is not None:
            chain.append(str(memref))
            memref = memref.recast_from
        out[side]["recast_from"] = chain
        out[side]["spare"] = copy.side(side).spare
    return out


def _copy_of(record: dict[str, Any]) -> Copy:
    tiling = record["tiling"]
    pred = record["pred"]
    return Copy(
        None if record["atom"] is None else parse_atom(record["atom"]),
        _memref(record["src"]),
        _memref(record["dst"]),
        None if pred is None else _memref(pred),
        None if record["tiled"] is None else parse_tiled_copy(record["tiled"]),
        None
        if tiling is None
        else Tiling(
            parse_tiled_copy(tiling["tiled"]),
            _memref(tiling["src"]),
            _memref(tiling["dst"]),
            tiling["block_threads"],
        ),
        record["op"],
        record["arch"],
        record["evict_priority"],
        mapped=parse_memref(record["mapped"]) if record.get("mapped") else None,
        map_past=record.get("map_past", 0),
        map_swizzle=parse_swizzle(record["map_swizzle"]) if record.get("map_swizzle") else None,
    )


def _memref(record: dict[str, Any]) -> Memref:
    memref = replace(parse_memref(record["text"]), spare=record.get("spare"))
    if not record.get("recast_from"):
        return memref
    first, *rest = record["recast_from"]
    return replace(memref, recast_from=_memref({"text": first, "recast_from": rest}))
