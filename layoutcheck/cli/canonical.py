"""`layoutcheck canonical`: shared-memory operands of wgmma and tcgen05."""

from __future__ import annotations

import sys
from typing import Annotated

from layoutcheck.cli.arguments import Option
from layoutcheck.cli.options import format_of
from layoutcheck.cli.output import style_of


def canonical(
    layout: Annotated[str, Option("(MN,K), such as '(64,128):(128,1)'", positional=True)],
    dtype: Annotated[str, Option("element type")] = "bf16",
    major: Annotated[str, Option("K or MN")] = "K",
    swizzle: Annotated[str | None, Option("the pointer's swizzle, of bytes: 'S<3,4,3>'")] = None,
    unit: Annotated[str, Option("wgmma or tcgen05")] = "wgmma",
    format_: Annotated[str, format_of("canonical")] = "text",
) -> int:
    """Say whether a shared-memory layout can be an operand of wgmma or tcgen05, and which is nearest."""
    from layoutcheck.machine.canonical import canonical as decide
    from layoutcheck.reports.canonical import render

    found = decide(layout, dtype, major, swizzle, unit)
    sys.stdout.write(render(found, format_, style_of(sys.stdout)))
    return 0 if found.verdict == "legal" else 1
