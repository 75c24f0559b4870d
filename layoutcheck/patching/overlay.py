"""A project with other texts in place of some of its files, without touching it.

Everything else is linked, so that what a script imports and reads is there. Folders that hold a changed file
are real, and so is the script itself: Python looks for its modules where it really is.
"""

from __future__ import annotations

import math
import os
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

from layoutcheck.errors import InputError
from layoutcheck.patching.repaired import encoded, read, writable


def project_of(script: Path) -> Path:
    """The folder that may be edited: the repository around the script, else the script's folder."""
    for folder in (script.parent, *script.parent.parents):
        if (folder / ".git").exists():
            return folder
    return script.parent


def overlaid(project: Path, texts: Mapping[str, str], folder: Path) -> None:
    """Make `folder` the project with the `texts`, by path."""
    changed = {Path(path).resolve(): text for path, text in texts.items()}
    real = {parent for path in changed for parent in path.parents} | changed.keys()

    def inside(link: Path) -> Path:
        """Where a link of the project leads: to what is real in the overlay, if it leads to that."""
        target = Path(os.path.realpath(link))  # loops are no error
        return folder / target.relative_to(project) if target in real and project in target.parents else link

    _fill(project, folder, changed, real, inside)


def _fill(
    old: Path, new: Path, changed: Mapping[Path, str], real: set[Path], inside: Callable[[Path], Path]
) -> None:
    new.mkdir(exist_ok=True)
    for entry in old.iterdir():
        there = new / entry.name
        if entry in changed:
            there.write_bytes(encoded(entry, changed[entry]))
            there.chmod(entry.stat().st_mode | 0o400)
        elif entry in real and not entry.is_symlink():
            _fill(entry, there, changed, real, inside)
        elif entry.name != "__pycache__":  # whose entries are of the files that are changed
            there.symlink_to(inside(entry) if entry.is_symlink() else entry)


def tracked(project: Path, path: str, since: float = math.inf) -> str:
    """Why a file is none that may be edited; "" where it may be.

    `since` is when the trace began, in seconds of `time.time`.
    """
    file = Path(path)
    if not file.is_file():
        return f"'{path}' is no file: the code was generated"
    if not file.resolve().is_relative_to(project):
        return f"'{path}' is outside of the project {project}"
    if {"site-packages", "dist-packages"} & set(file.parts):
        return f"'{path}' is an installed library"
    if not writable(file):
        return f"'{path}' is read-only"
    if not writable(file.resolve().parent):
        return f"the folder of '{path}' is read-only"
    if file.stat().st_mtime > since:
        return f"'{path}' was written while the program ran: what was traced is another text"
    try:
        read(path)
    except InputError as error:
        return str(error)
    return _generated(file)


def _generated(file: Path) -> str:
    """What git ignores is made by something else."""
    try:
        done = subprocess.run(
            ["git", "check-ignore", "-q", file.name],
            cwd=file.parent,
            capture_output=True,
            timeout=10,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return f"'{file}' is ignored by git: it is generated" if done.returncode == 0 else ""
