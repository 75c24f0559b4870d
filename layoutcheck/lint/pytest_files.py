"""What pytest's settings say of a repository: which files hold tests, where modules are imported from."""

from __future__ import annotations

import contextlib
import shlex
from collections.abc import Iterator, Mapping, Sequence
from configparser import ConfigParser, Error
from pathlib import Path
from typing import Any, NamedTuple

from layoutcheck.errors import InputError
from layoutcheck.regular import read_regular
from layoutcheck.settings import toml

_DEFAULT = ("test_*.py", "*_test.py")
# The files that pytest reads, the first with its section alone, and their sections
# (https://docs.pytest.org/en/stable/reference/customize.html). An empty one of its own counts too.
_FILES = (
    ("pytest.toml", "pytest"),
    (".pytest.toml", "pytest"),
    ("pytest.ini", "pytest"),
    (".pytest.ini", "pytest"),
    ("pyproject.toml", ""),
    ("tox.ini", "pytest"),
    ("setup.cfg", "tool:pytest"),
)

_NAMES = ("python_files", "pythonpath", "usefixtures", "addopts")


class PytestFiles(NamedTuple):
    """The settings `python_files`, patterns of test files, and `pythonpath`, folders as they are given.

    `fixtures` are those that `usefixtures` gives every test, `plugins` the modules of `-p` in `addopts`.
    """

    tests: tuple[str, ...] = _DEFAULT
    path: tuple[str, ...] = ()
    fixtures: tuple[str, ...] = ()
    plugins: tuple[str, ...] = ()


def pytest_files(root: Path) -> PytestFiles:
    """The settings of the first file that configures pytest, else pytest's own.

    A file that cannot be read or parsed configures nothing here; pytest itself says what is wrong with it.
    """
    for name, section in _FILES:
        try:
            text = read_regular(root / name).decode("utf-8")
            table = _toml(text, root / name) if name.endswith(".toml") else _ini(text, section)
        except (OSError, UnicodeDecodeError, Error, InputError):
            continue
        if table is not None or "pytest" in name:
            given = table or {}
            tests, path, fixtures, options = (_words(given.get(name)) for name in _NAMES)
            return PytestFiles(tests or _DEFAULT, path, fixtures, tuple(_plugins(options)))
    return PytestFiles()


def _ini(text: str, section: str) -> Mapping[str, Any] | None:
    parser = ConfigParser(interpolation=None)
    parser.read_string(text)
    return parser[section] if parser.has_section(section) else None


def _toml(text: str, file: Path) -> Mapping[str, Any] | None:
    given: Any = toml(text, file)
    for name in ("tool", "pytest") if file.name == "pyproject.toml" else ("pytest",):
        given = given.get(name) if isinstance(given, dict) else None
    given = given.get("ini_options", given) if isinstance(given, dict) else None  # without, from pytest 9 on
    return given if isinstance(given, dict) else None


def _plugins(options: Sequence[str]) -> Iterator[str]:
    """The modules of `-p NAME` and `-pNAME`."""
    for option, following in zip(options, [*options, ""][1:], strict=True):
        if option.startswith("-p"):
            yield option[2:] or following


def _words(given: Any) -> tuple[str, ...]:
    """Words of a text, as a shell splits them, or a list of them; none where a shell cannot split it."""
    words = given if isinstance(given, list) else []
    with contextlib.suppress(ValueError):  # a quotation that does not end: pytest refuses it, too
        words = shlex.split(given) if isinstance(given, str) else words
    return tuple(word for word in words if isinstance(word, str))
