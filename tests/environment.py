"""What a Python process started by a test needs to find: this checkout first, then what we find."""

from __future__ import annotations

import os
import signal
from pathlib import Path

ROOT = Path(__file__).parents[1]


def python_path() -> str:
    """A `PYTHONPATH` for child processes."""
    return os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])


def interruptible() -> None:
    """In a child before it starts: SIGINT ends it, although pytest runs in the background and ignores it."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
