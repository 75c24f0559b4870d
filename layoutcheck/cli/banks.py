"""`layoutcheck banks`: the shared-memory wavefronts of every access of one tile."""

from __future__ import annotations

import sys
from typing import Annotated

from layoutcheck.cli.arguments import Option
from layoutcheck.cli.options import format_of
from layoutcheck.cli.output import style_of


def banks(
    layout: Annotated[str, Option("the tile's layout, such as '(64,64):(64,1)'", positional=True)],
    access: Annotated[
        str, Option("'ldmatrix.x4', 'st.shared 128 (16,8):(8,1) (1,8)'; several by ';' or again", joined="; ")
    ],
    dtype: Annotated[str, Option("element type")] = "bf16",
    swizzle: Annotated[str | None, Option("the pointer's swizzle, of bytes: 'S<3,4,3>'")] = None,
    arch: Annotated[str, Option("sm_80, sm_90a, ...")] = "sm_90a",
    format_: Annotated[str, format_of("banks")] = "text",
) -> int:
    """Count the shared-memory wavefronts of every access of one tile, and find the swizzle that fits them."""
    from layoutcheck.reports.banks import analyse, read_as, render

    rows, best = analyse(layout, access, dtype, swizzle, arch)
    sys.stdout.write(render(rows, best, format_, read_as(layout, dtype, swizzle), arch, style_of(sys.stdout)))
    return 0
