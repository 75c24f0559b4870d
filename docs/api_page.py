"""The page of the Python API: signatures and docstrings of what is public, in plain Markdown."""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Iterator
from typing import Any

import layoutcheck
from layoutcheck import numerics

_API = """# Python

`import layoutcheck as lc`. Everything here is imported when it is first used. `check` and
`synthesize` take text and objects alike: `"(8,8):(8,1)"` or `Layout((8, 8), (8, 1))`, and whatever the DSL
prints. Unusable input raises `InputError`, a `ValueError`.

In the signatures of the layout algebra: a `Shape` is a positive int or a tuple of shapes, `Sized` a layout
or a shape. A `Coord` is an int, None (the whole mode) or a tuple of coordinates. A `Stride` is an int, a
`Basis` or a tuple of strides. A `Tiler` is a layout, a positive int, None or a tuple of tilers. A `Path` is
a mode or a tuple of modes. An `AnyLayout` is a `Layout` or a `ComposedLayout`; `Composed` may also be a
`Swizzle`. A `Tree` is any of these. Where an int may stand, a `Dynamic` may. A list counts as a tuple, and
an integer of numpy as an int.
"""

# Headings in the order of the page; a public name goes under the first whose prefix its home has.
_GROUPS = {
    "Check a copy": (
        "layoutcheck.api",
        "layoutcheck.check",
        "layoutcheck.findings",
        "layoutcheck.rules",
        "layoutcheck.assertions",
        "layoutcheck.operands",
    ),
    "Operands": ("layoutcheck.copies", "layoutcheck.machine.dtypes"),
    "Count banks and sectors": ("layoutcheck.machine",),
    "Errors": ("layoutcheck.errors", "layoutcheck.dsl"),
    "Layouts and swizzles": ("layoutcheck.algebra.layout", "layoutcheck.algebra.swizzle"),
    "Operations": ("layoutcheck.algebra",),
    "More": ("layoutcheck",),
}

_SESSION = re.compile(r"^>>> .*?(?=\n\n|\Z)", re.DOTALL | re.MULTILINE)
_QUALIFIED = re.compile(r"\b(?:layoutcheck|collections\.abc|typing|numpy)\.(?:\w+\.)*(?=\w)")
_LONGEST = 100  # characters of a signature in one line


def api_page() -> str:
    """The page, in Markdown."""
    groups: dict[str, list[str]] = {heading: [] for heading in _GROUPS}
    for name in sorted(dir(layoutcheck), key=lambda name: (name[0].isupper(), name)):  # functions first
        value = getattr(layoutcheck, name)
        home = getattr(value, "__module__", None) or layoutcheck.__name__
        heading = next(h for h, prefixes in _GROUPS.items() if home.startswith(prefixes))
        if getattr(value, "__name__", name) == name:  # an alias is documented under one name
            groups[heading] += _entry(name, value)
    parts = [line for heading, entries in groups.items() if entries for line in (f"## {heading}\n", *entries)]
    parts.append("## Tensor-core numerics: `layoutcheck.numerics`\n")
    for name in sorted(numerics.__all__):
        parts += _entry(name, getattr(numerics, name))
    return "\n".join([_API, *parts])


def _entry(name: str, value: Any) -> Iterator[str]:
    """Heading, signature, docstring; of a class its fields and public methods as tables."""
    yield f"### {name}\n"
    signature = _signature(name, value)
    if signature:
        yield f"```text\n{signature}\n```\n" if "\n" in signature else f"`{signature}`\n"
    doc = inspect.getdoc(value) or ""
    if doc and not doc.startswith(f"{name}("):  # what dataclasses write themselves says nothing new
        yield _SESSION.sub(_session, doc) + "\n"
    if inspect.isclass(value):
        yield from _table("member", _members(value))


def _session(found: re.Match[str]) -> str:
    """An example as a block that runs as it stands: what it names of ours is imported first."""
    lines = [line for line in found[0].splitlines() if line.startswith((">>>", "..."))]
    used = set(re.findall(r"(?<![\w.\"'])[A-Za-z_]\w*", "\n".join(lines)))
    imports = [
        f">>> from {module.__name__} import {', '.join(names)}"
        for module, public in ((layoutcheck, dir(layoutcheck)), (numerics, numerics.__all__))
        if (names := sorted(used.intersection(public)))
    ]
    return "\n".join(["```pycon", *imports, found[0], "```"])


def _signature(name: str, value: Any) -> str:
    """The call as Python writes it, one parameter a line where it is long; "" for what is not called."""
    if not callable(value) or (inspect.isclass(value) and issubclass(value, Exception)):
        return ""
    try:
        signature = inspect.signature(value)
    except (TypeError, ValueError):
        return ""
    if inspect.isclass(value):
        signature = signature.replace(return_annotation=inspect.Signature.empty)
    plain = _plain(f"{name}{signature}")
    if len(plain) <= _LONGEST:
        return plain
    lines = []
    for one in signature.parameters.values():
        if one.kind is one.KEYWORD_ONLY and "*," not in lines and not any(x.startswith("*") for x in lines):
            lines.append("*,")
        lines.append(_plain(f"{one},"))
    returns = _plain(str(signature).rpartition(" -> ")[2]) if " -> " in str(signature) else ""
    body = "\n".join(f"    {line}" for line in lines)
    return f"{name}(\n{body}\n)" + (f" -> {returns}" if returns else "")


def _plain(text: str) -> str:
    """A signature without quotes around its types and without the modules that they are from."""
    text = re.sub(r"(-> |: |^)'([^']*)'", r"\1\2", text)
    return _QUALIFIED.sub("", text)


def _members(value: type) -> Iterator[tuple[str, str]]:
    """Public fields, properties and methods of a class of ours, with what they are."""
    names = [one.name for one in dataclasses.fields(value)] if dataclasses.is_dataclass(value) else []
    ours = [base for base in value.__mro__ if base.__module__.startswith(layoutcheck.__name__)]
    for name in [
        *names,
        *(key for key in dict.fromkeys(k for base in ours for k in vars(base)) if key not in names),
    ]:
        member = inspect.getattr_static(value, name, None)
        if name.startswith("_") or (inspect.isclass(member) and name not in names):
            continue
        if isinstance(member, staticmethod | classmethod):
            member = member.__func__
        doc = inspect.getdoc(member) if isinstance(member, property) or inspect.isfunction(member) else ""
        shown = _plain(f"{name}{inspect.signature(member)}") if inspect.isfunction(member) else name
        first = (doc or "").partition("\n\n")[0]
        yield re.sub(r"\((?:self|cls)(?:, )?", "(", shown), " ".join(first.split())


def _table(heading: str, rows: Iterator[tuple[str, str]]) -> Iterator[str]:
    lines = [f"| `{name}` | {said} |".replace("|  |", "| |") for name, said in rows if said]
    if lines:
        yield "\n".join([f"| {heading} | |", "| --- | --- |", *lines]) + "\n"
