"""`layoutcheck synth`: the best copies for a tile."""

from __future__ import annotations

from typing import Annotated, Any

from layoutcheck.cli.arguments import Option
from layoutcheck.cli.options import format_of, group_of
from layoutcheck.cli.output import Sink
from layoutcheck.errors import InputError
from layoutcheck.formats import check_format
from layoutcheck.synthesis.request import TileRequest

REQUEST = group_of(TileRequest)


def synth(
    given: Annotated[dict[str, Any], REQUEST],
    plan: Annotated[int, Option("which plan's program to print, 0 for none")] = 1,
    format_: Annotated[str, format_of("synth")] = "text",
) -> int:
    """Find the best copies for a tile, from global memory to its reader, and print their program."""
    from layoutcheck.progress import bar
    from layoutcheck.reports.synthesis import render
    from layoutcheck.synthesis.plans import synthesize
    from layoutcheck.synthesis.reading import read

    check_format("synth", format_)
    if format_ == "json" and plan != 1:
        raise InputError("JSON has every plan's program: --plan is not used", expected="--format json alone")
    missing = [f"--{name}" for name in ("tile", "src", "to") if name not in given]
    if missing:
        raise InputError(
            f"synth needs {' and '.join(missing)}",
            expected="--tile '(128,64)' --src 'gmem (?,?{div=8}):(?{div=8},1)' --to ldmatrix",
        )
    request = TileRequest(**given)
    compiler: Any = None
    if request.compiled:
        from layoutcheck.dsl.programs import compiled as compiler
    with bar(("layouts", "checks")) as progress:
        found = synthesize(read(request), progress, compiler)
    sink = Sink(None)
    sink.put(render(found, sink.style, format_, plan))
    return 0
