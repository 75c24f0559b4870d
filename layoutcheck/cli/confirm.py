"""`layoutcheck confirm`: copies compiled, run on the GPU, and compared."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from layoutcheck.cli.arguments import Option
from layoutcheck.cli.options import Output, format_of
from layoutcheck.cli.output import Sink
from layoutcheck.errors import InputError, refuse_beside
from layoutcheck.formats import check_format


def confirm(
    source: Annotated[
        str,
        Option(
            "a named case, a JSONL file ('-' is stdin), or a kernel repo; --order: a program", positional=True
        ),
    ],
    format_: Annotated[str | None, format_of("confirm", "; default text")] = None,
    as_json: Annotated[bool, Option("the same as --format json", "--json")] = False,
    output: Output = None,
    workers: Annotated[int, Option("processes that share the GPU")] = 4,
    reproducers: Annotated[Path | None, Option("folder for the script of each disagreement")] = None,
    order: Annotated[
        bool, Option("run a program with delays at what the order check finds", "--order")
    ] = False,
    seeds: Annotated[int | None, Option("with --order: how many delays are tried (default 8)")] = None,
    seed: Annotated[int | None, Option("with --order: the one seed that is tried, as a replay")] = None,
    timeout: Annotated[
        int | None, Option("with --order: seconds for a first run, which compiles (default 120)")
    ] = None,
) -> int:
    """Compile copies with the DSL, run them on the GPU (or simulate them), and compare bit for bit.

    If the source is a kernel repo (a folder, or a Python file), its registered cases are run in child
    processes, and every copy that they build is confirmed. Exit status: 0 model, compiler and machine agree,
    1 they do not, 2 unusable input or no DSL.

    With --order the source is a program and its arguments in one word ('test_kernel.py --size 64'). It
    launches kernels, and fails if a result is wrong. It is run several times: for each finding of the order
    check, warps sleep (nanosleep in the PTX) at its two lines. Exit status: 0 no run fails, 1 a run fails, 2
    unusable input or no GPU.
    """
    from layoutcheck.confirming import confirmed, confirmed_order
    from layoutcheck.reports import races
    from layoutcheck.reports.confirmation import render, render_json

    check_format("confirm", "text" if format_ is None else format_)
    if as_json and format_ == "text":
        raise InputError("--json and --format text contradict each other", expected="one of the two")
    as_json = as_json or format_ == "json"
    sink = Sink(output)
    if order:
        refuse_beside("--order has a seed that replays each run", reproducers=reproducers)
        shown = confirmed_order(source, workers, seeds, seed, timeout)
        sink.put((races.render_json if as_json else races.render)(shown, sink.style))
        return shown.status
    refuse_beside("without --order", seeds=seeds, seed=seed, timeout=timeout)
    if reproducers is not None and reproducers.exists() and not reproducers.is_dir():
        raise InputError(f"--reproducers: '{str(reproducers)[:200]}' is not a folder", expected="a folder")
    if reproducers is not None:
        reproducers.mkdir(parents=True, exist_ok=True)
    found = confirmed(source, workers, reproducers or Path())
    sink.put((render_json if as_json else render)(found, sink.style))
    return found.status
