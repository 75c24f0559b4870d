"""The bank table of traced kernels: what each line of source costs in shared memory.

One row a line and kind of instruction: warp instructions of one execution by the whole block, the wavefronts
they take, those that the same bytes would need, and the most ways that one is split.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any

from layoutcheck.digits import many
from layoutcheck.dsl.lowered.costs import LineCost
from layoutcheck.dsl.lowered.totals import KernelLines, LineTotal
from layoutcheck.findings import json_lines
from layoutcheck.reports.style import aligned, kernel_name
from layoutcheck.sources.traced import Frame

_COUNTS = ("width_bits", "instructions", "wavefronts", "ideal_wavefronts", "sectors", "ideal_sectors")
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
        **{name: getattr(side, name) for name in _COUNTS[:4]},
        "ways": side.ways,
        "rests_on": one.kind,
        "reached": one.reached,
        "count": one.count,
        "kernels": list(one.kernels),
    }


_TOTAL_HEAD = ("place", "instruction", "instructions", "wavefronts", "ideal", "sectors", "ideal", "rests on")


def totals_table(kernels: Sequence[KernelLines], format_: str = "text") -> str:
    """A table for each kernel, or JSON Lines."""
    if format_ == "json":
        return json_lines(row for kernel in kernels for row in _totals(kernel))
    return "\n".join("\n".join(_total_table(one)) + "\n" for one in kernels) or "no kernel was seen\n"


def _total_table(kernel: KernelLines) -> Iterator[str]:
    if kernel.problem:
        yield f"{kernel_name(kernel.kernel)}: not counted: {kernel.problem}"
        return
    blocks = kernel.grid[0] * kernel.grid[1] * kernel.grid[2]
    some = "" if kernel.evaluated == blocks else f", counted by {kernel.evaluated} at the edges of the grid"
    yield f"{kernel_name(kernel.kernel)}: {many(blocks, 'block')}{some}"
    if kernel.lines:
        yield from aligned([_TOTAL_HEAD, *(_total_row(one) for one in kernel.lines)])
    else:
        yield "no access to shared or global memory was seen"


def _total_row(one: LineTotal) -> tuple[str, ...]:
    counts = (str(getattr(one, name)) for name in _COUNTS[1:])
    return source_place(one.where), f"{one.op} {one.width_bits} b", *counts, one.kind


def _totals(kernel: KernelLines) -> Iterator[dict[str, Any]]:
    """A kernel's rows as JSON has them; one with a "problem" for a kernel that is not counted."""
    about = {"kernel": kernel.kernel, "arch": kernel.arch}
    if kernel.problem:
        yield {**about, "problem": kernel.problem}
    for one in kernel.lines:
        yield {
            **about,
            "grid": list(kernel.grid),
            "blocks_evaluated": kernel.evaluated,
            "file": one.where.file,
            "line": one.where.line,
            "instruction": one.op,
            **{name: getattr(one, name) for name in _COUNTS},
            "rests_on": one.kind,
        }
