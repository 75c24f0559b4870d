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
from layoutcheck.sources.traced import Trace, TracedCopy
from layoutcheck.sources.types import parse_memref, parse_tiled_copy
from layoutcheck.stored import reader

FORMAT = 2


def to_lines(trace: Trace) -> Iterator[str]:
    """The trace as JSON Lines: a head, then one line for each copy that differs (with a `count`)."""
    yield json.dumps({"trace": FORMAT, **asdict(replace(trace, copies=(), imported=()))})
    for one, count in Counter(trace.copies).items():
        copy = None if one.copy is None else _copy_out(one.copy)
        line = asdict(replace(one, copy=None, partitioned=None))
        yield json.dumps({**line, "copy": copy, "count": count})


def from_lines(lines: Iterable[str]) -> Trace:
    """The trace that `to_lines` wrote. Raises InputError for anything else."""
    reading = iter(lines)
    head = _object(next(reading, ""))
    if head.pop("trace", None) != FORMAT:
        raise InputError("not a trace of this version", expected=f'a first line with "trace": {FORMAT}')
    try:
        copies: list[TracedCopy] = []
        for line in reading:
            record = _object(line)
            copy, count = record.pop("copy"), int(record.pop("count"))
            one = reader(TracedCopy)(record | {"copy": None})
            copies += [replace(one, copy=None if copy is None else _copy_of(copy))] * count
        trace: Trace = reader(Trace)(head)
        return replace(trace, copies=tuple(copies))
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"not a trace: {error}") from None


def _object(line: str) -> dict[str, Any]:
    try:
        value = json.loads(line)
    except (TypeError, ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise InputError("not a trace", expected="JSON objects, one a line")
    return value


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
