"""The bank table of traced kernels: what each line of source costs in shared memory.

One row a line and kind of instruction: warp instructions of one execution by the whole block, the wavefronts
they take, those that the same bytes would need, and the most ways that one is split.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from layoutcheck.dsl.lowered.costs import LineCost
from layoutcheck.findings import json_lines
from layoutcheck.reports.style import aligned
from layoutcheck.sources.traced import Frame

_HEAD = ("place", "instruction", "instructions", "wavefronts", "ideal", "ways", "rests on", "copies")


def bank_table(costs: Sequence[LineCost], format_: str = "text", everything: bool = False) -> str:
    """The lines that conflict in shared memory (with `everything` all), worst first; or JSON Lines."""
    shared = [one for one in costs if one.side.space in ("smem", "dsmem")]
    if format_ == "json":
        return json_lines(map(to_dict, shared))
    shown = [one for one in shared if everything or one.side.ways > 1]
    shown.sort(key=lambda one: (-one.side.ways, -one.extra_wavefronts, one.where.file, one.where.line))
    lines = aligned([_HEAD, *(_row(one) for one in shown)])
    count = sum(one.count for one in shared)
    bad = sum(one.count for one in shared if one.side.ways > 1)
    verdict = (
        f"{bad} of {count} shared-memory accesses conflict" if shared else "no shared-memory access was seen"
    )
    return "\n".join([*(lines if shown else []), *([""] if shown else []), verdict]) + "\n"


def source_place(where: Frame) -> str:
    """A line of source as tables name it, from the working directory."""
    return f"{os.path.relpath(where.file)}:{where.line}" if where.file else "?"


def _row(one: LineCost) -> tuple[str, ...]:
    side = one.side
    place = source_place(one.where)
    note = "" if one.reached else ", not by block 0"
    return (
        place, f"{side.op} {side.width_bits} b", str(side.instructions), str(side.wavefronts),
        str(side.ideal_wavefronts), str(side.ways), one.kind + note, str(one.count),
    )  # fmt: skip


def to_dict(one: LineCost) -> dict[str, Any]:
    """One row as JSON has it."""
    side = one.side
    return {
        "file": one.where.file,
        "line": one.where.line,
        "operation": one.operation,
        "instruction": side.op,
        "width_bits": side.width_bits,
        "instructions": side.instructions,
        "wavefronts": side.wavefronts,
        "ideal_wavefronts": side.ideal_wavefronts,
        "ways": side.ways,
        "rests_on": one.kind,
        "reached": one.reached,
        "count": one.count,
        "kernels": list(one.kernels),
    }
