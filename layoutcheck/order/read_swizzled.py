"""Element reads of a tile that TMA has written, through another swizzle than that of its tensor map.

    read_swizzled(block, module) -> problems

An element read (no copy) sees the tile through the swizzle of its tensor's pointer. What TMA brings lies as
the map's swizzle says (PTX ISA, swizzling modes; by address). Where the two differ, the read gets another
element of the tile. Only bytes count that nothing but TMA loads through one swizzle writes. A kernel that
computes with exclusive or may apply the swizzle to its coordinates itself: of its plain tensors nothing is
said.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Container, Iterator
from typing import Any

import numpy as np

from layoutcheck.algebra.notation import parse_swizzle
from layoutcheck.algebra.swizzle import Swizzle
from layoutcheck.atoms.tma.descriptor import SPAN_BYTES, Descriptor, machine_swizzle
from layoutcheck.brackets import closing, split
from layoutcheck.dsl.lowered import spaces
from layoutcheck.dsl.lowered.values import for_all
from layoutcheck.errors import InputError
from layoutcheck.machine.arch import parse_arch
from layoutcheck.order.problems import Party, Problem
from layoutcheck.order.watched import Event, Watched, first_thread, lanes_of
from layoutcheck.sources.traced_module import TracedModule

KIND = "read-swizzled"
_READS = ("cute.memref.load", "cute.memref.load_vec")
_WRITES = ("write", "matrix_write", "atomic", "cp_async", "bulk_load", "bulk_peer", "st_async")
_POINTER = re.compile(r'\A!cute\.memref<[^"]*\bsmem\b(?:[^"]*?\b(S<[0-9,-]+>))?[^"]*"([^"]*)"')
_ROW = 16  # bytes of a line of ldmatrix, and at least those of what else has no size of its own
_NONE = Swizzle(0, 4, 3)
_NOBODY, _SEVERAL = -1, -2  # who writes a byte; else the number of a swizzle
_MOST = 1 << 16  # bytes of one bulk copy that are looked at


def read_swizzled(block: Watched, module: TracedModule) -> list[Problem]:
    """One problem for each operation that reads so."""
    reads: dict[str, list[Event]] = defaultdict(list)
    for event in block.events:
        meaning = event.meaning
        element = meaning.kind == "read" and meaning.site.partition("#")[0] in _READS
        if element and meaning.space == "smem" and not event.doubt and not event.guarded:
            reads[meaning.site].append(event)
    loads = [event for event in block.events if _is_tma(event)]
    if not reads or not loads:
        return []
    seen = dict(_pointers(module, reads))
    if not seen:
        return []
    written, swizzles = _by_tma(loads, block, parse_arch(module.arch).number)
    found = []
    for site, swizzle in seen.items():
        by = {int(who) for event in reads[site] for who in np.unique(written[_addresses(event, block)])}
        if len(by) == 1 and (number := by.pop()) >= 0 and swizzles[number] != swizzle:
            problem = _told(reads[site], swizzle, swizzles[number], block)
            if problem is not None and not _written_else(reads[site], block):
                found.append(problem)
    return found


def _is_tma(event: Event) -> bool:
    return event.meaning.kind == "bulk_load" and bool(event.meaning.facts.get("tensor"))


def _addresses(event: Event, block: Watched) -> Any:
    mask = lanes_of(event, block.launch.threads)
    return event.numbers(0, block.launch.threads)[mask] & (spaces.SHARED_BYTES - 1)


def _pointers(module: TracedModule, wanted: Container[str]) -> Iterator[tuple[str, Swizzle]]:
    """The swizzle of the pointer that each element read goes through, where its layout has none."""
    text, computes = module.text, '"arith.xori"' in module.text
    for name in _READS:
        at, word = -1, f'"{name}"('
        for number in range(text.count(word)):
            at = text.index(word, at + 1)
            if f"{name}#{number}" not in wanted:
                continue
            begin = text.index(" : (", at) + 3
            match = _POINTER.match(split(text[begin + 1 : closing(text, begin) - 1])[0])
            if match is None or "S<" in match[2] or (computes and match[1] is None):
                continue
            try:
                swizzle = parse_swizzle(match[1]) if match[1] else _NONE
            except InputError:
                continue
            yield f"{name}#{number}", swizzle if swizzle.bits else _NONE


def _by_tma(loads: list[Event], block: Watched, arch: int) -> tuple[Any, list[Swizzle]]:
    """The number of the swizzle through which TMA writes each byte, and the swizzles by number."""
    written = np.full(spaces.SHARED_BYTES, _NOBODY, np.int16)
    swizzles: list[Swizzle] = []
    for event in loads:
        thread = first_thread(event, block)
        one, size, who = block.map_of(event, thread), block.box_bytes(event, thread), _SEVERAL
        if one is not None and not event.meaning.facts.get("gathered") and _whole_rows(one):
            swizzle = machine_swizzle(one.swizzle, arch) or _NONE
            swizzles += [swizzle] if swizzle not in swizzles else []
            who = swizzles.index(swizzle)
        for at in np.unique(_addresses(event, block)).tolist():
            there = written[at : at + size if size else None]
            there[(there != _NOBODY) & (there != who)] = _SEVERAL
            there[there == _NOBODY] = who
    return written, swizzles


def _whole_rows(one: Descriptor) -> bool:
    """Whether the rows of a box leave no gaps in shared memory."""
    return one.corners is None and SPAN_BYTES[one.swizzle] in (0, one.box[0] * one.element_bits // 8)


def _told(met: list[Event], seen: Swizzle, mapped: Swizzle, block: Watched) -> Problem | None:
    """The first read of another element: what lies at its place was meant for another one."""
    for event in met:
        at = _addresses(event, block)
        other = np.flatnonzero(mapped(seen(at)) != at)
        if other.size:
            threads = np.flatnonzero(lanes_of(event, block.launch.threads))
            facts: dict[str, int | str] = {"threads": int(other.size)}
            facts.update((name, str(one)) for name, one in (("seen", seen), ("mapped", mapped)) if one.bits)
            party = Party(event, 0, int(threads[other[0]]), int(at[other[0]]), event.meaning.size)
            return Problem(KIND, party, None, facts=facts)
    return None


def _written_else(met: list[Event], block: Watched) -> bool:
    """Whether anything other than a TMA load writes some of what is read."""
    read = np.zeros(spaces.SHARED_BYTES + _MOST, bool)
    for event in met:
        read[_addresses(event, block)] = True
    for event in block.events:
        meaning = event.meaning
        if meaning.kind in _WRITES and not _is_tma(event) and meaning.space in ("smem", "dsmem", "generic"):
            at = np.unique(_addresses(event, block))
            size = event.bulk[0] if event.bulk is not None else max(meaning.size, _ROW)
            width = min(_MOST, int(np.max(for_all(size, block.launch.threads))))
            if read[at[:, None] + np.arange(width)].any():
                return True
    return False
