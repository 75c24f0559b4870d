"""`Edit`: other text between two offsets of a file, and the texts with edits in them."""

from __future__ import annotations

import ast
import itertools
import re
from dataclasses import dataclass

from layoutcheck.errors import InputError
from layoutcheck.patching.source import Source

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


def span_of(source: Source, node: ast.expr | ast.stmt | ast.arg) -> tuple[int, int]:
    """The offsets of a node in its file's text; columns of `ast` count bytes."""
    assert node.end_lineno is not None and node.end_col_offset is not None
    lines = source.text.split("\n")
    return _offset(lines, node.lineno, node.col_offset), _offset(lines, node.end_lineno, node.end_col_offset)


def text_of(source: Source, node: ast.expr) -> str:
    """An expression as it is written."""
    return source.text[slice(*span_of(source, node))]


def rewritten(source: Source, node: ast.expr, new: str) -> Edit:
    """The expression written otherwise."""
    return Edit(source.path, *span_of(source, node), new)


def _offset(lines: list[str], line: int, column: int) -> int:
    before = sum(len(one) + 1 for one in lines[: line - 1])
    return before + len(lines[line - 1].encode()[:column].decode())


def indent_of(source: Source, node: ast.stmt) -> str | None:
    """The blanks before a statement; None where it does not have its lines for itself."""
    start, end = span_of(source, node)
    before = source.text[source.text.rfind("\n", 0, start) + 1 : start]
    after = source.text[end:].split("\n", 1)[0].partition("#")[0]
    return None if before.strip() or after.strip() else before


def cute_of(source: Source) -> str:
    """The name that a file has for `cutlass.cute`; "" where it has none."""
    package = ""
    for node in ast.walk(source.tree):
        for one in node.names if isinstance(node, (ast.Import, ast.ImportFrom)) else ():
            if one.name == "cutlass.cute" and isinstance(node, ast.Import):
                return one.asname or one.name
            if one.name == "cute" and isinstance(node, ast.ImportFrom) and node.module == "cutlass":
                return one.asname or one.name
            if one.name == "cutlass" and isinstance(node, ast.Import):
                package = f"{one.asname or one.name}.cute"
    if package or "cute" not in {node.id for node in ast.walk(source.tree) if isinstance(node, ast.Name)}:
        return package
    return "cute"  # by an import of everything


def _lacks_cutlass(source: Source) -> bool:
    """Whether a file has no name `cutlass`."""
    names = {node.id for node in ast.walk(source.tree) if isinstance(node, ast.Name)}
    bound = {
        one.asname or one.name.split(".")[0]
        for node in ast.walk(source.tree)
        if isinstance(node, ast.Import)
        for one in node.names
    }
    return "cutlass" not in names | bound


def _import(source: Source, line: str) -> Edit:
    """An import after the last one of the module's head, else at its top."""
    head = [node for node in source.tree.body if isinstance(node, (ast.Import, ast.ImportFrom))]
    after = head[-1] if head else None
    text = source.text
    if after is None or after.end_lineno is None:
        at = 0
    else:
        at = sum(len(line) + 1 for line in text.split("\n")[: after.end_lineno])
    return Edit(source.path, min(at, len(text)), min(at, len(text)), f"{line}\n")


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
        if _CUTLASS.search(new) and _lacks_cutlass(source):
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
