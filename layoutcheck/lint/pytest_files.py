"""Which files pytest takes for tests in a repository: its setting `python_files`."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from configparser import ConfigParser, Error
from pathlib import Path
from typing import Any

from layoutcheck.errors import InputError
from layoutcheck.regular import read_regular
from layoutcheck.settings import toml

_DEFAULT = ("test_*.py", "*_test.py")
# The files that pytest reads, the first with its section alone, and their sections
# (https://docs.pytest.org/en/stable/reference/customize.html). An empty pytest.ini counts too.
_FILES = (
    ("pytest.ini", "pytest"),
    (".pytest.ini", "pytest"),
    ("pyproject.toml", "tool.pytest.ini_options"),
    ("tox.ini", "pytest"),
    ("setup.cfg", "tool:pytest"),
)
_ALWAYS = ("pytest.ini", ".pytest.ini")


def python_files(root: Path) -> tuple[str, ...]:
    """The patterns of test files: of the first file that configures pytest, else pytest's own.

    A file that cannot be read or parsed configures nothing here; pytest itself says what is wrong with it.
    """
    for name, section in _FILES:
        try:
            text = read_regular(root / name).decode("utf-8")
            table = _toml(text, root / name) if name.endswith(".toml") else _ini(text, section)
        except (OSError, UnicodeDecodeError, Error, InputError):
            continue
        if table is not None or name in _ALWAYS:
            return _patterns((table or {}).get("python_files"))
    return _DEFAULT


def _ini(text: str, section: str) -> Mapping[str, Any] | None:
    parser = ConfigParser(interpolation=None)
    parser.read_string(text)
    return parser[section] if parser.has_section(section) else None


def _toml(text: str, file: Path) -> Mapping[str, Any] | None:
    tool = toml(text, file).get("tool", {})
    given = tool.get("pytest", {}).get("ini_options")
    return given if isinstance(given, dict) else None


def _patterns(given: Any) -> tuple[str, ...]:
    """Words of a text, as a shell splits them, or a list of them."""
    words = shlex.split(given) if isinstance(given, str) else given if isinstance(given, list) else []
    return tuple(word for word in words if isinstance(word, str)) or _DEFAULT
