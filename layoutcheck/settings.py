"""`[tool.layoutcheck]` of pyproject.toml or layoutcheck.toml. An unknown key is an error."""

from __future__ import annotations

import fnmatch
import os
import re
import sys
from dataclasses import dataclass, field, fields
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from layoutcheck.cells import file_of
from layoutcheck.digits import is_number
from layoutcheck.errors import InputError, said_of
from layoutcheck.machine.arch import parse_arch
from layoutcheck.regular import read_regular

TABLE = "tool.layoutcheck"
_MISTYPED = re.compile(
    r"^\s*\[\s*tool\s*\.\s*[\"']?(?!(?-i:layoutcheck))(layout[-_]?check)[\"'\s]*[\].]", re.I | re.M
)
OWN, PYPROJECT = "layoutcheck.toml", "pyproject.toml"  # the files that may have it, in this order
LOWERED, ORDER = "LAYOUTCHECK_LOWERED", "LAYOUTCHECK_ORDER"
SECONDS = "LAYOUTCHECK_ORDER_SECONDS"
_SECONDS = {
    "timeout": "seconds for each case",
    "order-seconds": "seconds of processor time for each kernel",
    "run-timeout": "seconds for each program",
}
_CODE = re.compile(r"(LC[0-9]{0,3}|ALL)\Z")


@dataclass(frozen=True, slots=True)
class Settings:
    """What a run does; the defaults are those of a project without a table.

    `root` is where the table was found: paths and patterns are relative to it.
    """

    root: Path = Path()
    paths: tuple[str, ...] = ()
    select: tuple[str, ...] = ("ALL",)
    ignore: tuple[str, ...] = ()
    per_file_ignores: tuple[tuple[str, tuple[str, ...]], ...] = ()
    exclude: tuple[str, ...] = ()
    baseline: str | None = None
    arch: str = "sm_90a"
    timeout: int = 120
    cache: str | None = ".layoutcheck_cache"
    lowered: bool = True
    order: bool = True
    order_seconds: int = 20
    run: tuple[str, ...] | None = None
    run_arch: tuple[str, ...] = ()
    run_timeout: int = 600
    places: dict[str, str] = field(default_factory=dict, compare=False)

    def selected(self, code: str, path: str) -> bool:
        """Whether findings of this code are wanted in this file; the longest prefix decides."""
        if _longest(code, self.select) <= _longest(code, self.ignore):
            return False
        inside = self.inside(path)
        return not any(
            _matches(inside, pattern) and _longest(code, codes) >= 0
            for pattern, codes in self.per_file_ignores
        )

    def excluded(self, path: str) -> bool:
        """Whether a file is left out."""
        return any(_matches(self.inside(path), pattern) for pattern in self.exclude)

    def inside(self, path: str) -> str:
        """A path as the patterns see it: relative to the root; a notebook's cell as its file."""
        path = file_of(path)[0]
        try:
            return Path(os.path.realpath(path)).relative_to(self.root.resolve()).as_posix()
        except ValueError:
            return Path(path).as_posix()


def _longest(code: str, prefixes: tuple[str, ...]) -> int:
    """The length of the longest prefix of the code; "ALL" counts 0, none -1."""
    return max(
        (0 if one == "ALL" else len(one) for one in prefixes if one == "ALL" or code.startswith(one)),
        default=-1,
    )


def _matches(path: str, pattern: str) -> bool:
    """A glob over the whole path or its last part; a folder's name stands for all that is in it."""
    return (
        fnmatch.fnmatch(path, pattern)
        or fnmatch.fnmatch(path.rpartition("/")[2], pattern)
        or path.startswith(pattern.rstrip("/") + "/")
    )


def find(start: Path) -> Settings:
    """The settings of the nearest file that has the table, from `start` upwards.

    Raises InputError for a file of our own name without it, whose keys would go unread.
    """
    start = start.resolve()
    for file in (folder / name for folder in (start, *start.parents) for name in (OWN, PYPROJECT)):
        if file.is_file():
            settings = read(file, required=file.name == OWN)
            if settings is not None:
                return settings
    return Settings()


def wants_lowered(settings: Settings) -> bool:
    """Whether copies of unknown layouts are judged by the compiler's lowering.

    The variable LAYOUTCHECK_LOWERED is heard before the settings. Raises InputError for one that is not 0
    or 1.
    """
    return _switch(LOWERED, settings.lowered)


def wants_order(settings: Settings) -> bool:
    """Whether the order of accesses is checked: LAYOUTCHECK_ORDER, then the settings. Raises InputError."""
    return _switch(ORDER, settings.order)


def order_seconds(settings: Settings) -> int:
    """Seconds of processor time for the order check of one kernel.

    The variable LAYOUTCHECK_ORDER_SECONDS is heard before the settings. Raises InputError.
    """
    given = os.environ.get(SECONDS, "")
    if not given:
        return settings.order_seconds
    return _value("order-seconds", int(given) if is_number(given) else given, SECONDS)  # type: ignore[no-any-return]


def seconds(given: int, option: str) -> int:
    """Seconds that an option gives. Raises InputError."""
    return _value("run-timeout", given, option)  # type: ignore[no-any-return]


def architectures(given: str) -> tuple[str, ...]:
    """Architectures that --arch gives, with commas between them. Raises InputError."""
    return _value("run-arch", [each.strip() for each in given.split(",")], "--arch")  # type: ignore[no-any-return]


def _switch(variable: str, otherwise: bool) -> bool:
    given = os.environ.get(variable, "")
    if given not in ("", "0", "1"):
        raise InputError(f"{variable}={given[:20]}", expected="0 or 1")
    return given == "1" if given else otherwise


def read(file: Path, *, required: bool = True) -> Settings | None:
    """The settings in a file; None where it has no such table. Raises InputError for what cannot be used."""
    try:
        text = read_regular(file).decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8"
        raise InputError(f"cannot read '{file}': {reason}", expected="a pyproject.toml") from None
    # A file without these words is not worth a parser; a table is written in several ways.
    document = toml(text, file) if all(word in text for word in TABLE.split(".")) else {}
    tool = document.get("tool")
    table = tool.get("layoutcheck") if isinstance(tool, dict) else None
    if table is None:
        if found := _MISTYPED.search(text):
            place = f"{file}:{text.count(chr(10), 0, found.start(1)) + 1}"
            raise InputError(f"{place}: [tool.{found[1]}] is not read", expected=f"[{TABLE}]")
        if required:
            raise InputError(f"'{file}' has no table [{TABLE}]", expected=f"its keys below [{TABLE}]")
        return None
    return _settings(table, file, text)


def toml(text: str, file: Path) -> dict[str, Any]:
    """A TOML document, with or without a byte order mark. Raises InputError for what is none."""
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        return tomllib.loads(text.removeprefix("\ufeff"))
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{file} is not TOML: {error}") from None


def _settings(table: Any, file: Path, text: str) -> Settings:
    if not isinstance(table, dict):
        raise InputError(f"{file}:{_line(text)}: {TABLE} is a table, [{TABLE}]")
    made = {key.replace("-", "_"): _entry(key, table[key], file, text) for key in table}
    return Settings(root=file.parent, **made)


def _entry(key: str, value: Any, file: Path, text: str) -> Any:
    """What a key of the table says. Raises InputError with its line."""
    known = {each.name.replace("_", "-") for each in fields(Settings)} - {"root", "places"}
    try:
        if key in known:
            return _value(key, value, f"[{TABLE}] {key}")
        close = get_close_matches(key, sorted(known), n=1)
        hint = f"'{close[0]}'" if close else f"one of {', '.join(sorted(known))}"
        raise InputError(f"[{TABLE}] has no key '{key[:40]}'", expected=hint)
    except InputError:
        with said_of(f"{file}:{_line(text, key)}"):
            raise


def _line(text: str, *keys: str) -> int:
    """The line where a TOML document sets a key of the table, or the table itself.

    The parser tells no places. The lines before a key are a document by themselves, and those up to its
    value's end are the first that has it.
    """
    lines, whole = text.split("\n"), 0
    for count in range(1, len(lines) + 1):
        try:
            found: Any = toml("\n".join(lines[:count]) + "\n", Path())
        except InputError:
            continue
        for name in (*TABLE.split("."), *keys):
            found = found.get(name) if isinstance(found, dict) else None
        if found is not None:
            break
        whole = count
    return 1 + next(n for n in range(whole, len(lines)) if lines[n].strip() and lines[n].lstrip()[0] != "#")


def _value(key: str, value: Any, where: str) -> Any:
    if key in ("select", "ignore"):
        return codes(value, where)
    if key in ("paths", "exclude", "run"):
        return _texts(value, where)
    if key == "run-arch":
        return tuple(_value("arch", each, where) for each in _texts(value, where))
    if key == "per-file-ignores":
        if not isinstance(value, dict):
            raise InputError(f"{where}: not a table", expected='{"pattern" = ["LC3"]}')
        return tuple((pattern, codes(given, f"{where} '{pattern}'")) for pattern, given in value.items())
    if key in _SECONDS:
        if type(value) is not int or not 1 <= value <= 86400:
            raise InputError(f"{where}: {value!r:.40}", expected=f"{_SECONDS[key]}, 1 to 86400")
        return value
    if key in ("lowered", "order"):
        if type(value) is not bool:
            raise InputError(f"{where}: {value!r:.40}", expected="true or false")
        return value
    if key == "cache" and value is False:
        return None
    if not isinstance(value, str) or not value:
        raise InputError(
            f"{where}: {value!r:.40}", expected="a string" + (" or false" if key == "cache" else "")
        )
    if key == "arch":
        with said_of(where):
            return str(parse_arch(value))
    return value


def _texts(value: Any, where: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(each, str) and each for each in value):
        raise InputError(f"{where}: {value!r:.40}", expected="a list of strings")
    return tuple(value)


def codes(value: Any, where: str) -> tuple[str, ...]:
    """Codes or their beginnings: "LC301", "LC3", "ALL". Raises InputError for anything else."""
    given = tuple(each.strip().upper() for each in _texts(value, where))
    for each in given:
        if not _CODE.match(each):
            raise InputError(f"{where}: no code begins with '{each[:40]}'", expected="LC301, LC3, LC or ALL")
    return given
