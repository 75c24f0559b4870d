"""`Edit`: other text between two offsets of a file, and the texts with edits in them."""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from layoutcheck.errors import InputError
from layoutcheck.lint.source import Source, names_in
from layoutcheck.sources.traced import Distinct

_CUTE = re.compile(r"(?<![\w.])cute\.")
_CUTLASS = re.compile(r"(?<![\w.])cutlass\.")


@dataclass(frozen=True, slots=True)
class Edit:
    """The text of a file between two offsets (of characters) becomes `new`."""

    path: str
    start: int
    end: int
    new: str


Candidate = tuple[Edit, ...]


class Way(NamedTuple):
    """An edit, what it does in words, and the verdict that its copy must come to.

    One with `bare` edits may change nothing of what moves inside of the tensor when these are applied. The
    copies of `others` must be repaired by it, too. One that `moves` gives an element other coordinates.
    """

    title: str
    edits: Candidate
    verdict: str = "slow"
    bare: Candidate | None = None
    others: Sequence[Distinct] = ()
    moves: bool = False


def rewritten(source: Source, node: ast.expr, new: str) -> Edit:
    """The expression written otherwise."""
    return Edit(source.path, *source.span_of(node), new)


def spliced(text: str, edits: Iterable[Edit], at: int = 0) -> str:
    """A text that begins at an offset of its file, with edits in it."""
    for edit in sorted(edits, key=lambda edit: -edit.start):
        text = text[: edit.start - at] + edit.new + text[edit.end - at :]
    return text


def indent_of(source: Source, node: ast.stmt) -> str | None:
    """The blanks before a statement; None where it does not have its lines for itself."""
    start, end = source.span_of(node)
    before = source.text[source.text.rfind("\n", 0, start) + 1 : start]
    after = source.text[end:].split("\n", 1)[0].partition("#")[0]
    return None if before.strip() or after.strip() else before


def cute_of(source: Source) -> str:
    """The name that a file has for `cutlass.cute`; "" where it has none."""
    for full, rest in (("cutlass.cute", ""), ("cutlass", ".cute")):
        for name, given in source.aliases.items():
            if given == full:
                return name + rest
    return "cute" if "cute" in names_in(source.tree) else ""  # by an import of everything


def _import(source: Source, line: str) -> Edit:
    """An import after the last one of the module's head, else at its top."""
    head = [node for node in source.tree.body if isinstance(node, (ast.Import, ast.ImportFrom))]
    after = head[-1] if head else None
    at = 0 if after is None or after.end_lineno is None else source.line_start(after.end_lineno + 1)
    return Edit(source.path, at, at, f"{line}\n")


def at_once(edits: Iterable[Edit]) -> Candidate:
    """The edits, of which those that insert at one place are one."""
    found: dict[tuple[str, int, int], str] = {}
    for one in edits:
        key = one.path, one.start, one.end
        found[key] = found.get(key, "") + one.new
    return tuple(Edit(*key, new) for key, new in found.items())


def apart(edits: Candidate) -> bool:
    """Whether no two edits touch."""
    ordered = sorted(edits, key=lambda e: (e.path, e.start))
    return (
        bool(edits)
        and all(a.path != b.path or a.end <= b.start for a, b in itertools.pairwise(ordered))
        and len({(e.path, e.start) for e in edits}) == len(edits)
    )


def apply(texts: dict[str, str], edits: Candidate) -> dict[str, str]:
    """The texts with the edits in them, and what these need imported. Raises InputError where two touch."""
    if not apart(edits):
        raise InputError("two fixes change the same text")
    sources = {path: Source(path, texts[path]) for path in sorted({edit.path for edit in edits})}
    names = {path: cute_of(source) for path, source in sources.items()}
    imports: list[Edit] = []
    for path, source in sources.items():
        new = " ".join(edit.new for edit in edits if edit.path == path)
        if not names[path] and _CUTE.search(new):
            imports.append(_import(source, "from cutlass import cute"))
        if _CUTLASS.search(new) and "cutlass" not in names_in(source.tree) | set(source.aliases):
            imports.append(_import(source, "import cutlass"))
    edits = (*edits, *imports)
    out = dict(texts)
    for edit in sorted(edits, key=lambda e: e.start, reverse=True):
        text = out[edit.path]
        new = _CUTE.sub(f"{names[edit.path] or 'cute'}.", edit.new)
        if "\r\n" in text:
            new = new.replace("\r\n", "\n").replace("\n", "\r\n")
        out[edit.path] = text[: edit.start] + new + text[edit.end :]
    return out
