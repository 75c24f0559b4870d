"""The examples of a Markdown page: found, run, and written back with what they really print.

`refreshed(text)` is the page after every example was run; a page is current when that changes nothing. Fenced
blocks are examples by their language:

    console     lines `$ layoutcheck ...`, each followed by its output (stdout and stderr); `< FILE` feeds a
                file, `$ echo $?` shows the exit status of the command before it
    pycon       an interactive session
    python      a program without output; all of a page share one namespace

A block with `title="NAME"` is not run but written to the page's folder as NAME, for the commands to read.
What cannot be run here (a GPU, another program) is `sh`. `<!-- lines 3-9 -->` above a console block keeps
only those lines of its output.
"""

from __future__ import annotations

import contextlib
import doctest
import io
import os
import re
import shlex
import sys
import tempfile
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from layoutcheck.cli import run

_BLOCK = re.compile(
    r"(?P<head>(?:<!-- lines (?P<first>\d+)-(?P<last>\d+) -->\n)?"
    r"^(?P<fence>```+)(?P<language>\w+)(?: title=\"(?P<title>[^\"]+)\")?[^\n]*\n)"
    r"(?P<body>.*?)(?P<tail>^(?P=fence)$)",
    re.DOTALL | re.MULTILINE,
)


def refreshed(text: str) -> str:
    """The page with the real output of every example. Raises what a `python` block raises."""
    return run_page(text)[0]


def run_page(text: str) -> tuple[str, dict[str, bytes]]:
    """The same, and the files that its commands wrote with `--output`."""
    with tempfile.TemporaryDirectory() as folder, _inside(Path(folder)):
        names: dict[str, Any] = {"__name__": "__main__"}
        page = _BLOCK.sub(lambda block: block["head"] + _body(block, names) + block["tail"], text)
        return page, {name: Path(name).read_bytes() for name in outputs(text)}


def outputs(text: str) -> list[str]:
    """The files that commands in the text write."""
    return re.findall(r"^\$ layoutcheck [^\n]*--output (\S+)", text, re.MULTILINE)


def output(command: str) -> str:
    """What a `layoutcheck ...` command line prints, as to a file of 80 columns."""
    return _command(command)[0]


def _body(block: re.Match[str], names: dict[str, Any]) -> str:
    body = block["body"]
    if block["title"]:
        Path(block["title"]).write_text(body, encoding="utf-8")
    elif block["language"] == "console":
        lines = slice(int(block["first"]) - 1, int(block["last"])) if block["first"] else None
        return "".join(_console(body, lines))
    elif block["language"] == "pycon":
        return "".join(_session(body, names))
    elif block["language"] == "python":
        exec(compile(body, "<a python block of the page>", "exec"), names)
    return body


def _console(body: str, lines: slice | None) -> Iterator[str]:
    """Every command of the block and what it prints."""
    status = 0
    for line in body.splitlines():
        if not line.startswith("$ "):
            continue
        if line == "$ echo $?":
            printed = f"{status}\n"
        else:
            printed, status = _command(line.removeprefix("$ "))
        if lines is not None:
            every = printed.splitlines(keepends=True)
            above, below = "...\n" * (lines.start > 0), "...\n" * (lines.stop < len(every))
            printed = above + "".join(every[lines]) + below
        yield f"{line}\n{printed}"


def _command(line: str) -> tuple[str, int]:
    """What a command prints, and its exit status."""
    words = shlex.split(line, comments=True)
    given = b""
    if "<" in words:
        given = Path(words.pop(words.index("<") + 1)).read_bytes()
        words.remove("<")
    if words[0] != "layoutcheck":
        raise ValueError(f"not a layoutcheck command: '{line}' (a block that is not run is `sh`)")
    out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)
    before = sys.stdin
    sys.stdin = io.TextIOWrapper(io.BytesIO(given), encoding="utf-8")
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
            try:
                status = run(words[1:])
            except SystemExit as exit_:
                status = int(exit_.code or 0)
    finally:
        sys.stdin = before
    printed = out.buffer.getvalue().decode()  # type: ignore[attr-defined]
    printed = re.sub(r"[ \t]+$", "", printed, flags=re.MULTILINE).strip("\n")
    return printed and f"{printed}\n", status


def _session(body: str, names: dict[str, Any]) -> Iterator[str]:
    """Every statement of an interactive session and what it prints."""
    for part in doctest.DocTestParser().parse(body):
        if isinstance(part, str):
            yield part
            continue
        first, *more = part.source.splitlines()
        yield f">>> {first}\n" + "".join(f"... {line}\n" for line in more)
        with contextlib.redirect_stdout(io.StringIO()) as out:
            try:
                exec(compile(part.source, "<a session of the page>", "single"), names)
            except Exception as error:
                last = traceback.format_exception_only(error)[-1]
                out.write(f"Traceback (most recent call last):\n    ...\n{last}")
        yield out.getvalue()


@contextlib.contextmanager
def _inside(folder: Path) -> Iterator[None]:
    """In that folder, as on a plain terminal of 80 columns."""
    before, environment = Path.cwd(), dict(os.environ)
    os.environ.update(NO_COLOR="1", COLUMNS="80")
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)
        os.environ.clear()
        os.environ.update(environment)
