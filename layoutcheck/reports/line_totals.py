"""The table of a launch: what each line of a kernel costs in all blocks, the most beyond the ideal first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from layoutcheck.dsl.lowered.totals import KernelLines, LineTotal
from layoutcheck.findings import json_lines
from layoutcheck.reports.lowered_banks import source_place
from layoutcheck.reports.style import aligned, kernel_name

_HEAD = ("place", "instruction", "instructions", "wavefronts", "ideal", "sectors", "ideal", "rests on")


def render(kernels: Sequence[KernelLines], format_: str = "text") -> str:
    """A table for each kernel, or JSON Lines."""
    if format_ == "json":
        return json_lines(row for kernel in kernels for row in to_dicts(kernel))
    return "\n".join("\n".join(_table(one)) + "\n" for one in kernels) or "no kernel was seen\n"


def _table(kernel: KernelLines) -> Iterator[str]:
    if kernel.problem:
        yield f"{kernel_name(kernel.kernel)}: not counted: {kernel.problem}"
        return
    blocks = kernel.grid[0] * kernel.grid[1] * kernel.grid[2]
    some = "" if kernel.evaluated == blocks else f", counted by {kernel.evaluated} at the edges of the grid"
    yield f"{kernel_name(kernel.kernel)}: {blocks} block{'s' * (blocks != 1)}{some}"
    if kernel.lines:
        yield from aligned([_HEAD, *(_row(one) for one in kernel.lines)])
    else:
        yield "no access to shared or global memory was seen"


def _row(one: LineTotal) -> tuple[str, ...]:
    counts = (one.instructions, one.wavefronts, one.ideal_wavefronts, one.sectors, one.ideal_sectors)
    return source_place(one.where), f"{one.op} {one.width_bits} b", *map(str, counts), one.kind


def to_dicts(kernel: KernelLines) -> Iterator[dict[str, Any]]:
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
            "width_bits": one.width_bits,
            "instructions": one.instructions,
            "wavefronts": one.wavefronts,
            "ideal_wavefronts": one.ideal_wavefronts,
            "sectors": one.sectors,
            "ideal_sectors": one.ideal_sectors,
            "rests_on": one.kind,
        }
