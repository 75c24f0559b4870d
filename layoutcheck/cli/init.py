"""`layoutcheck init`: settings, a workflow and a pre-commit hook for the repository at hand."""

from __future__ import annotations

import difflib
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from layoutcheck.cli.arguments import Option
from layoutcheck.errors import InputError
from layoutcheck.whole import write_whole

if TYPE_CHECKING:
    from layoutcheck.lint.initial import Planned


def init(
    root: Annotated[str, Option("the repository's root; default: this folder", positional=True)] = ".",
    dry_run: Annotated[bool, Option("show what would be written, and write nothing", "--dry-run")] = False,
    yes: Annotated[bool, Option("write without asking", "--yes")] = False,
    requirement: Annotated[
        str | None, Option("what pip installs in CI; default: this version or commit")
    ] = None,
) -> int:
    """Write what a repository needs for `layoutcheck ci`: settings, a GitHub workflow, a pre-commit hook.

    The repository is read, and none of it is run. The changes are shown first; an existing file is left
    alone, except that a table is added to pyproject.toml.
    """
    from layoutcheck.lint.initial import installed_from, plan

    if dry_run and yes:
        raise InputError("--dry-run writes nothing", expected="it without --yes")
    required = requirement or installed_from()
    planned = plan(Path(root), required)
    new = [each for each in planned if each.new is not None]
    for each in planned:
        if each.new is None:
            sys.stdout.write(f"{each.path}: left as it is: {each.said}\n\n")
        else:
            sys.stdout.write(f"{each.path}: {each.said}\n{_diff(each)}\n")
    if dry_run or not new:
        return 0
    _ask(new, yes)
    for each in new:
        _write(Path(root, each.path), each)
        sys.stdout.write(f"wrote {each.path}\n")
    sys.stdout.write(
        "next: layoutcheck ci. --write-baseline FILE keeps what it finds now. The workflow and the hook\n"
        f"install '{required}':\n"
        "if pip does not find that in CI, init --requirement names another, such as a commit's URL.\n"
    )
    return 0


def _diff(each: Planned) -> str:
    assert each.new is not None
    lines = difflib.unified_diff(
        each.old.splitlines(), each.new.splitlines(), each.path, each.path, lineterm="", n=1
    )
    return "".join(f"{line}\n" for line in lines)


def _ask(new: Sequence[Planned], yes: bool) -> None:
    if yes:
        return
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise InputError("nothing is written without an answer", expected="--yes, or --dry-run")
    sys.stderr.write(f"Write {', '.join(each.path for each in new)}? [y/N] ")
    sys.stderr.flush()
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise InputError("nothing was written")


def _write(file: Path, each: Planned) -> None:
    """Write a file that is still as it was read. Raises InputError."""
    from layoutcheck.lint.initial import kept

    assert each.new is not None
    now = kept(file) if file.exists() else ""
    if now != each.old:
        raise InputError(f"{each.path} has changed since it was read", expected="init again")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        write_whole(file, each.new.encode("utf-8"))
    except OSError as error:
        raise InputError(f"cannot write {file}: {error.strerror}") from None
