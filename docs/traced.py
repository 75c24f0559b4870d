"""The examples of docs/trace.md, which need the DSL: `PYTHONPATH=. python -m docs.traced` writes them again.

A block below `<!-- prints: COMMAND -->` is what the command prints about load.py, the program of
docs/first-error.md; below `<!-- prints: COMMAND; lines 1-16 32-55 -->` these lines of it.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

DOCS = Path(__file__).parent
PAGE = DOCS / "trace.md"
_SHOWN = re.compile(
    r"(?P<head><!-- prints: layoutcheck (?P<command>[^\n;]*)(?:; lines (?P<lines>[\d -]+))? -->\n```\w+\n)"
    r"(?P<body>.*?)(?P<tail>^```$)",
    re.DOTALL | re.MULTILINE,
)
_PROGRAM = re.compile(r'^```python title="load\.py"\n(.*?)^```$', re.DOTALL | re.MULTILINE)


def shown(text: str) -> dict[str, tuple[str, str]]:
    """The commands of the page; the lines that it shows of each ("" for all), and what it says they are."""
    return {found["command"]: (found["lines"] or "", found["body"]) for found in _SHOWN.finditer(text)}


def excerpt(text: str, lines: str) -> str:
    """These lines of an output ("1-16 32-55"), with `...` where some are left out; all of it for ""."""
    if not lines:
        return text
    every, parts, last = text.splitlines(keepends=True), [], 0
    for part in lines.split():
        first, end = map(int, part.split("-"))
        parts += ["...\n"] * (first > last + 1) + every[first - 1 : end]
        last = end
    return "".join(parts + ["...\n"] * (last < len(every)))


def printed(command: str) -> str:
    """What a command prints about load.py, in 80 columns."""
    program = _PROGRAM.search((DOCS / "first-error.md").read_text(encoding="utf-8"))
    assert program is not None
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "load.py").write_text(program[1], encoding="utf-8")
        clean = {
            key: value for key, value in os.environ.items() if not key.startswith(("PYTEST", "CUTE_DSL"))
        }
        return subprocess.run(
            [sys.executable, "-m", "layoutcheck", *shlex.split(command)],
            cwd=folder, env={**clean, "PYTHONPATH": str(DOCS.parent), "NO_COLOR": "1"}, encoding="utf-8",
            stdout=subprocess.PIPE, check=False,
        ).stdout.strip("\n") + "\n"  # fmt: skip


def _again(block: re.Match[str]) -> str:
    return block["head"] + excerpt(printed(block["command"]), block["lines"] or "") + block["tail"]


if __name__ == "__main__":
    PAGE.write_text(_SHOWN.sub(_again, PAGE.read_text(encoding="utf-8")), encoding="utf-8")
