"""Words for the major of a layout, the other way round: `LayoutEnum`, `OperandMajorMode`, kinds of atoms.

Layouts that a helper of the DSL makes have no strides to edit; these words decide them. The next trace
proves the edit.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from layoutcheck.lint.source import Source
from layoutcheck.patching.edit import Candidate, Edit, rewritten
from layoutcheck.patching.program import Program, Site
from layoutcheck.syntax import name_of

_PAIRS = {"LayoutEnum": ("ROW_MAJOR", "COL_MAJOR"), "OperandMajorMode": ("K", "MN")}
_KINDS = "SmemLayoutAtomKind"
_OTHER_MAJOR = {"K": "MN", "MN": "K"}
_SPANS = ("SW128", "SW64", "SW32", "INTER")  # bytes after which the swizzle of a kind repeats


def other_words(program: Program, site: Site) -> Iterator[tuple[str, Candidate]]:
    """Titles and edits for the words behind a copy's operands and its atom."""
    seen = set[int]()
    for role in ("src", "dst", "atom"):
        start = program.argument(site, role)
        for place in program.behind(start) if start is not None else ():
            node = place.node
            if isinstance(node, ast.Attribute) and id(node) not in seen:
                seen.add(id(node))
                yield from turned(program.sources[place.path], node)


def turned(source: Source, node: ast.Attribute) -> Iterator[tuple[str, Candidate]]:
    """`OperandMajorMode.MN` for `OperandMajorMode.K` and the like; then other spans of an atom's swizzle."""
    _, end = source.span_of(node)
    owner = node.value.attr if isinstance(node.value, ast.Attribute) else getattr(node.value, "id", "")
    for new in _others(owner, node.attr):
        yield f"{owner}.{new} for {owner}.{node.attr}", (Edit(source.path, end - len(node.attr), end, new),)


def _others(owner: str, word: str) -> Iterator[str]:
    pair = _PAIRS.get(owner, ())
    if word in pair:
        yield pair[1 - pair.index(word)]
    major, _, span = word.partition("_")
    if owner == _KINDS and major in _OTHER_MAJOR and span in _SPANS:
        yield f"{_OTHER_MAJOR[major]}_{span}"
        yield from (f"{major}_{other}" for other in _SPANS if other != span)


def flags(program: Program, start: Site) -> Iterator[tuple[str, Candidate]]:
    """The True and False that an expression's own helpers are given, the other way round."""
    for place in program.reached(start):
        call = place.call
        if not program.defines(name_of(call)):
            continue
        for value in (*call.args, *(one.value for one in call.keywords)):
            if isinstance(value, ast.Constant) and isinstance(value.value, bool):
                title = f"argument: {not value.value} for {value.value}, which {name_of(call)} is given"
                yield title, (rewritten(program.sources[place.path], value, str(not value.value)),)
