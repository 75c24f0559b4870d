"""The checks of a C++ source: the macros by which libraries refuse a call, each with its condition and its message.

`TORCH_CHECK(condition, "message", value)`, `FLASHINFER_CHECK(...)`, `TVM_FFI_ICHECK(condition) << "message"`. The text is read,
not preprocessed: what stands in a macro's definition is taken as it is written.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from layoutcheck.brackets import closing, split
from layoutcheck.errors import InputError

_CHECK = re.compile(
    r"(?<!define )\b(?P<macro>(?:[A-Z][A-Z0-9_]*)?(?:CHECK|ASSERT|ENFORCE)[A-Z0-9_]*|static_assert|throw std::\w+)\s*(?=\()"
)
# `<` and `>` compare here: they are no brackets.
_TOKEN = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[()\[\]{},"]', re.DOTALL)
_STRING = re.compile(r'"((?:[^"\\]|\\.)*)"')
_COMPARED = {"_EQ": "==", "_NE": "!=", "_LT": "<", "_LE": "<=", "_GT": ">", "_GE": ">="}
_FORMAT = re.compile(r"%[-+ #0-9.l]*[a-zA-Z]|\{[^{}]*\}")
_ESCAPED = re.compile(r"\\(.)")
_SPACE = re.compile(r"\s+")
_LONGEST = 2000  # characters of one check


class Check(NamedTuple):
    """One check: its message as literal parts with None for values, what the values are, its condition and its line."""

    template: list[str | None]
    holes: list[str]
    condition: str
    line: int


def read(text: str) -> list[Check]:
    """The checks of a file that have a message of their own."""
    found = []
    for match in _CHECK.finditer(text):
        start = match.end()
        try:
            end = closing(text, start, min(len(text), start + _LONGEST), _TOKEN)
            arguments = split(text[start + 1 : end - 1], _TOKEN)
        except InputError:
            continue
        streamed = _streamed(text, end)
        condition, said = _parts(match["macro"], arguments, streamed)
        template, holes = _template(said)
        if template:
            found.append(
                Check(template, holes, _SPACE.sub(" ", condition), text.count("\n", 0, match.start()) + 1)
            )
    return found


def _parts(macro: str, arguments: list[str], streamed: list[str]) -> tuple[str, list[str]]:
    """(the condition, what is put together to the message)."""
    if macro.startswith("throw"):
        return "", arguments
    operator = next((sign for end, sign in _COMPARED.items() if macro.endswith(end)), "")
    if operator and len(arguments) >= 2:
        return f"{arguments[0]} {operator} {arguments[1]}", [*arguments[2:], *streamed]
    if arguments and _STRING.search(arguments[0]) and "&&" in arguments[0]:  # assert(x && "message")
        condition, _, said = arguments[0].rpartition("&&")
        return condition.strip(), [said.strip(), *streamed]
    return (arguments[0] if arguments else ""), [*arguments[1:], *streamed]


def _streamed(text: str, end: int) -> list[str]:
    """What is streamed behind a check: `<< "message" << value`."""
    stop = text.find(";", end, end + _LONGEST)
    rest = text[end : stop if stop >= 0 else end]
    return [part.strip() for part in rest.split("<<")[1:]] if rest.lstrip().startswith("<<") else []


def _template(said: list[str]) -> tuple[list[str | None], list[str]]:
    """The message in parts, and what each value is; a format's fields are values."""
    parts: list[str | None] = []
    holes = []
    for one in said:
        strings = [_ESCAPED.sub(_unescaped, string) for string in _STRING.findall(one)]
        if not strings or _STRING.sub("", one).strip(" \n\t+()").replace("std::string", ""):
            parts.append(None)
            holes.append(_SPACE.sub(" ", one) if not strings else "")
            continue
        literals = _FORMAT.split(_SPACE.sub(" ", "".join(strings)))
        for at, literal in enumerate(literals):
            if at:
                parts.append(None)
                holes.append("")
            parts.append(literal)
    return _joined(parts), holes


def _unescaped(match: re.Match[str]) -> str:
    return {"n": " ", "t": " "}.get(match[1], match[1])


def _joined(parts: list[str | None]) -> list[str | None]:
    """The parts with neighbouring words as one; nothing where there are no words."""
    joined: list[str | None] = []
    for part in parts:
        if part and joined and joined[-1] is not None:
            joined[-1] += part
        elif part != "":
            joined.append(part)
    if not any(joined):
        return []
    if joined[0] is not None:
        joined[0] = joined[0].lstrip()
    if joined[-1] is not None:
        joined[-1] = joined[-1].rstrip().removesuffix(".")
    return joined
