"""`layoutcheck synth`: the best copies for a tile."""

from __future__ import annotations

import sys
from typing import Annotated

from layoutcheck.cli.arguments import Option
from layoutcheck.errors import InputError


def synth(
    tile: Annotated[str, Option("the tile's extents (MN,K): '(128,64)'")],
    src: Annotated[str, Option("the global tensor, 'gmem (?{div=8},?):(1,?{div=8})'; or accumulator")],
    to: Annotated[str, Option("ldmatrix[.trans], wgmma.A, tcgen05.B, gmem, registers, ...")],
    dst: Annotated[str | None, Option("the global tensor of --to gmem")] = None,
    dtype: Annotated[str, Option("element type")] = "bf16",
    major: Annotated[str | None, Option("K or MN: an operand's contiguous mode")] = None,
    threads: Annotated[int, Option("threads of the block")] = 128,
    stages: Annotated[int, Option("tiles in shared memory")] = 1,
    arch: Annotated[str, Option("sm_80, sm_90a, ...")] = "sm_90a",
    engine: Annotated[str | None, Option("tma, cp.async, universal, or several")] = None,
    align: Annotated[int | None, Option("bytes that src and dst are aligned to (16)")] = None,
    plan: Annotated[int, Option("which plan's program to print, 0 for none")] = 1,
    format_: Annotated[str, Option("text or json", "--format")] = "text",
) -> int:
    """Find the best copies for a tile, from global memory to its reader, and print their program."""
    from layoutcheck.progress import bar
    from layoutcheck.reports.synthesis import render
    from layoutcheck.synthesis import synthesize
    from layoutcheck.synthesis.wanted import read

    if format_ not in ("text", "json"):
        raise InputError(f"unknown format '{format_[:40]}'", expected="text or json")
    if format_ == "json" and plan != 1:
        raise InputError("JSON has every plan's program: --plan is not used", expected="--format json alone")
    wanted = read(
        tile, src, to, dtype=dtype, dst=dst, major=major, threads=threads, stages=stages, arch=arch,
        engine=engine, align=align,
    )  # fmt: skip
    with bar(("layouts", "checks")) as progress:
        found = synthesize(wanted, progress)
    sys.stdout.write(render(found, format_, plan))
    return 0
