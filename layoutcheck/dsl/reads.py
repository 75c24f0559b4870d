"""What a traced process reads beside its modules (files of the project, its environment), and what it lacks.

What a program builds may hang on either, so a kept trace holds only while they are as they were.
"""

from __future__ import annotations

import os
import sys
import sysconfig
from collections.abc import Iterator, Sequence
from importlib.machinery import EXTENSION_SUFFIXES, SOURCE_SUFFIXES, PathFinder
from typing import Any

VARIABLE = "$"  # begins the name of an environment variable among names of files
_CODE = (".py", ".pyc", ".so")  # imported, and told as such
_SUFFIXES = ("", *SOURCE_SUFFIXES, *EXTENSION_SUFFIXES)
_LIBRARY = sysconfig.get_path("stdlib") + os.sep
_PACKAGES = (os.sep + "site-packages" + os.sep, os.sep + "dist-packages" + os.sep)
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
_OF_A_RUN = (  # what a CI service or a shell gives each run anew, which no build hangs on if it is but copied
    "GITHUB_", "RUNNER_", "ACTIONS_", "CI_", "BUILDKITE_", "BUILD_", "JENKINS_", "SSH_", "INVOCATION_ID",
    "JOURNAL_STREAM", "XDG_SESSION_ID", "SHLVL", "OLDPWD",
)  # fmt: skip
_UNUSED = ("BUILD_NUMBER", "_")  # of these pytest and shells ask for nothing but their presence
_read: dict[str, None] = {}
_written: set[str] = set()


def watch_reads() -> None:
    """Remember what this process reads, from here on."""
    root = os.path.realpath(os.getcwd()) + os.sep  # noqa: PTH109

    def hear(event: str, args: tuple[Any, ...]) -> None:
        if event != "open" or not isinstance(args[0], str):
            return
        path, mode, flags = args
        if path.endswith(_CODE) or os.sep + "." in path:
            return
        whole = os.path.abspath(path)  # noqa: PTH100
        if whole.startswith(root):
            writes = any(letter in mode for letter in "wax+") if mode else bool(flags & _WRITING)
            if writes:
                _written.add(whole)
            else:
                _read[whole] = None

    sys.addaudithook(hear)
    sys.meta_path.insert(sys.meta_path.index(PathFinder) + 1, _Missing(root))
    _watch_environment(type(os.environ))


class _Missing:
    """A finder behind Python's own: it hears of modules that are not there, and where they may come."""

    def __init__(self, root: str) -> None:
        self.root = root

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: object = None) -> None:
        """None; a module below the root would be a folder or a file of its name."""
        last = name.rpartition(".")[2]
        for folder in sys.path if path is None else path:
            whole = os.path.join(os.path.realpath(folder), last)  # noqa: PTH118
            if whole.startswith(self.root) and not any(each in whole for each in _PACKAGES):
                _read.update(dict.fromkeys(whole + each for each in _SUFFIXES))


def _watch_environment(environment: Any) -> None:
    """Remember the variables that are read; of a copy of all, those that are the same in the next run."""
    get, every = environment.__getitem__, environment.__iter__
    offered: set[str] = set()  # names that somebody went through, as one does who copies

    def __getitem__(self: Any, name: Any) -> Any:  # noqa: N807
        if isinstance(name, str) and name not in _UNUSED and not _of_python(sys._getframe(1)):
            if not (name in offered and name.startswith(_OF_A_RUN)):
                _read[VARIABLE + name] = None
            offered.discard(name)
        return get(self, name)

    def __iter__(self: Any) -> Iterator[Any]:  # noqa: N807
        for name in every(self):
            offered.add(name)
            yield name

    environment.__getitem__, environment.__iter__ = __getitem__, __iter__


def _of_python(frame: Any) -> bool:
    """Whether Python's own library asks, and not through `os.getenv` or `os.environ.get` somebody else."""
    while frame is not None and frame.f_code.co_filename.endswith(("os>", "os.py", "abc>", "abc.py")):
        frame = frame.f_back
    if frame is None:
        return True
    path = frame.f_code.co_filename
    return path.startswith("<frozen") or (
        path.startswith(_LIBRARY) and not any(each in path for each in _PACKAGES)
    )


def reads() -> list[str]:
    """What it read and did not write, or looked for, below the folder that it started in; variables.

    Names of variables begin with `VARIABLE`.
    """
    return [name for name in list(_read) if name not in _written and not name.startswith("$LAYOUTCHECK")]
