"""`layoutcheck confirm`: copies compiled, run on the GPU, and compared."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from layoutcheck.cli.arguments import Option
from layoutcheck.cli.options import Format, Output
from layoutcheck.cli.output import Sink
from layoutcheck.errors import InputError


def confirm(
    source: Annotated[
        str, Option("a named case, a JSONL file ('-' is stdin), or a kernel repo", positional=True)
    ],
    format_: Format = "text",
    as_json: Annotated[bool, Option("the same as --format json", "--json")] = False,
    output: Output = None,
    workers: Annotated[int, Option("processes that share the GPU")] = 4,
    reproducers: Annotated[Path, Option("folder for the script of each disagreement")] = Path(),
) -> int:
    """Compile copies with the DSL, run them on the GPU (or simulate them), and compare bit for bit.

    Of a kernel repo (a folder, or a Python file) the registered cases are run, in child processes, and every
    copy that they build is confirmed.
    Exit status: 0 model, compiler and machine agree, 1 they do not, 2 unusable input or no DSL.
    """
    from layoutcheck.confirming import confirmed
    from layoutcheck.reports.confirmation import render, render_json

    if not as_json and format_ not in ("text", "json"):
        raise InputError(f"confirm has no format '{format_[:40]}'", expected="text or json")
    sink = Sink(output)
    found = confirmed(source, workers, reproducers)
    sink.put((render_json if as_json or format_ == "json" else render)(found, sink.style))
    return found.status
