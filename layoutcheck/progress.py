"""What somebody at a terminal is told of what goes on: a bar with counts, and what is waited for."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import IO

# What is being done, how much of it is done, of how many.
Progress = Callable[[str, int, int], None]


@contextlib.contextmanager
def bar(stages: Sequence[str]) -> Iterator[Progress | None]:
    """Something to report progress to, with a bar for each stage that has begun; None where nobody looks."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bars

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    console = Console(stderr=True)
    with Bars(*columns, console=console, transient=True, redirect_stdout=False) as shown:
        tasks = {stage: shown.add_task(stage, total=None, visible=False) for stage in stages}

        def progress(stage: str, done: int, total: int) -> None:
            shown.update(tasks[stage], completed=done, total=total, visible=True)

        yield progress


def standard_input(what: str) -> IO[bytes]:
    """Standard input. Where somebody types it, `what` is waited for is said first."""
    if sys.stdin.isatty() and sys.stderr.isatty():
        sys.stderr.write(f"{what}, then Ctrl-D:\n")
    return sys.stdin.buffer
