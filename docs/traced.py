"""The examples of docs/trace.md, which need the DSL: `PYTHONPATH=. python -m docs.traced` writes them again.

A block below `<!-- prints: COMMAND -->` is what the command prints about load.py, the program of
docs/first-error.md.
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
    r"(<!-- prints: layoutcheck ([^\n]*) -->\n```\w+\n)(.*?)(^```$)", re.DOTALL | re.MULTILINE
)
_PROGRAM = re.compile(r'^```python title="load\.py"\n(.*?)^```$', re.DOTALL | re.MULTILINE)


def shown(text: str) -> dict[str, str]:
    """The commands of the page, and what it says that they print."""
    return {found[2]: found[3] for found in _SHOWN.finditer(text)}


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


if __name__ == "__main__":
    page = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(_SHOWN.sub(lambda found: found[1] + printed(found[2]) + found[4], page), encoding="utf-8")
