"""A measurement as evidence: when, by what command, where and with which versions; and its file."""

from __future__ import annotations

import contextlib
import json
import os
import platform
import shlex
import subprocess
import sys
from datetime import datetime, timezone
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

PACKAGES = ("layoutcheck", "nvidia-cutlass-dsl")
_WIDTH = 118  # characters of a line of evidence


def head(module: str, *packages: str, **more: Any) -> dict[str, Any]:
    """The head of a measurement by `python -m MODULE` as it runs, with the versions of `packages` too."""
    return {
        "date": datetime.now(timezone.utc).date().isoformat(),
        "command": command(module),
        "device": device(),
        "versions": versions(*PACKAGES, *packages),
        "python": platform.python_version(),
        **more,
    }


def command(module: str) -> str:
    """The command that runs, without the folders of this machine: `NAME=/a/b+/a/c` is `NAME=b+c`."""
    words = []
    for word in sys.argv[1:]:
        name, equals, value = word.rpartition("=")
        parts = "+".join(Path(part).name for part in value.split("+"))
        words.append(f"{name}{equals}{parts}" if value.startswith("/") else word)
    return shlex.join(["python", "-m", module, *words])


def device() -> str:
    """The GPU and its driver, where there is one; else the processor's cores."""
    with contextlib.suppress(OSError):
        asked = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
        found = subprocess.run(asked, capture_output=True, text=True, check=False)
        if found.returncode == 0 and found.stdout.strip():
            return f"{found.stdout.splitlines()[0].replace(', ', ', driver ')}, {os.cpu_count()} cores"
    return f"{os.cpu_count()} cores, {platform.machine()}"


def versions(*packages: str) -> dict[str, str]:
    """Those that are installed; a checkout on the path has none of its own."""
    found = {}
    for name in packages:
        with contextlib.suppress(PackageNotFoundError):
            found[name] = version(name)
    return found


def write(found: Any, out: Path | None) -> None:
    """Write a measurement as JSON, its folder made where it is missing; to standard output without a file."""
    text = text_of(found) + "\n"
    if out is None:
        sys.stdout.write(text)
        return
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(text, encoding="utf-8")


def text_of(found: Any, indent: int = 0) -> str:
    """JSON of which a list or an object has one line if it fits there, and a line for each part otherwise."""
    line = json.dumps(found)
    if indent + len(line) <= _WIDTH or not isinstance(found, dict | list) or not found:
        return line
    inner = indent + 1
    named = found.items() if isinstance(found, dict) else (("", one) for one in found)
    keys = isinstance(found, dict)
    parts = [(f"{json.dumps(str(name))}: " if keys else "") + text_of(one, inner) for name, one in named]
    begin, end = "{}" if keys else "[]"
    body = ",\n".join(" " * inner + part for part in parts)
    return f"{begin}\n{body}\n{' ' * indent}{end}"
