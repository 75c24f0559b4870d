"""Strides and orders of two or three modes written otherwise, in the program's own words.

Who mixes up two modes of a layout, or their pitch, has both strides there: the other way round, or
compact, they are the program's own expressions. The layout of a tensor, whose memory others have filled,
stays, unless the pitch of a mode is its own extent: such modes share memory, and the other way round they do
not. The next trace proves the edit.
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator

from layoutcheck.lint.source import Source
from layoutcheck.patching.edit import Candidate, Edit, rewritten
from layoutcheck.patching.layouts import uses_of
from layoutcheck.patching.program import Program, Site
from layoutcheck.syntax import argument_of, name_of, spans

MOST_MODES = 3
_KEYWORDS = {"make_layout": "stride", "make_ordered_layout": "order"}


def respelled(program: Program, start: Site) -> Iterator[tuple[str, Candidate]]:
    """Titles and edits for the layouts behind an expression, nearest first."""
    for place in program.reached(start):
        call, source = place.call, program.sources[place.path]
        if not _is_of_a_tensor(source, call):
            yield from _respelled(source, call)
        elif clash := _sharing(source, call):
            yield from ((f"{title}; {clash}", edits) for title, edits in _respelled(source, call)[:1])


def calls_at(program: Program, path: str, line: int) -> Iterator[Site]:
    """The calls that span a line."""
    source = program.sources.get(path)
    for call in source.calls() if source is not None else ():
        if source is not None and spans(call, line):
            yield Site(path, call, source.scope_of(call))


def _is_of_a_tensor(source: Source, made: ast.Call) -> bool:
    """Whether a layout says how memory lies that others have filled."""
    uses = [made, *uses_of(source, made)]
    return any(
        name_of(call).startswith(("make_tensor", "make_fake")) and any(use in call.args for use in uses)
        for call in source.calls()
    )


def _sharing(source: Source, call: ast.Call) -> str:
    """When two modes, (A, B) with the strides (1, B) or (A, 1), share memory; "" for other layouts."""
    shape = call.args[0] if call.args else None
    stride = argument_of(call, "stride")
    if not isinstance(shape, ast.Tuple) or not isinstance(stride, ast.Tuple) or len(shape.elts) != 2:
        return ""
    extents, strides = ([source.text_of(e) for e in one.elts] for one in (shape, stride))
    pitched = {("1", extents[1]): 1, (extents[0], "1"): 0}.get((strides[0], strides[1]))
    if pitched is None or extents[0] == extents[1]:
        return ""
    return f"as written, elements share memory where {extents[1 - pitched]} is more than {extents[pitched]}"


def _respelled(source: Source, call: ast.Call) -> list[tuple[str, Candidate]]:
    keyword = _KEYWORDS.get(name_of(call))
    given = argument_of(call, keyword)
    if keyword == "stride" and isinstance(given, ast.Constant) and isinstance(given.value, int):
        one = rewritten(source, given, "1")
        return [("stride: 1, as every element follows the one before", (one,))] if given.value > 1 else []
    if keyword is None or not isinstance(given, ast.Tuple) or not 2 <= len(given.elts) <= MOST_MODES:
        return []
    spans = [source.span_of(one) for one in given.elts]
    written = [source.text[slice(*span)] for span in spans]
    pairs = itertools.combinations(range(len(written)), 2)
    ways = [(f"{keyword}: two modes the other way round", _swapped(written, *pair)) for pair in pairs]
    found: list[tuple[str, Candidate]] = []
    for title, new in (*ways, (f"{keyword}: compact, as its shape says", _compact(source, call, written))):
        edits = tuple(
            Edit(source.path, *span, text) for span, text, old in zip(spans, new, written, strict=True)
            if text != old
        )  # fmt: skip
        if edits:
            found.append((title, edits))
    return found


def _swapped(written: list[str], i: int, j: int) -> list[str]:
    out = list(written)
    out[i], out[j] = out[j], out[i]
    return out


def _compact(source: Source, call: ast.Call, written: list[str]) -> list[str]:
    """The pitch that the extent of the mode of stride 1 is, in the shape's own words."""
    shape = call.args[0] if call.args else None
    if name_of(call) != "make_layout" or not isinstance(shape, ast.Tuple) or len(shape.elts) != 2:
        return written
    if written.count("1") != 1:
        return written
    fast = written.index("1")
    extent = source.text_of(shape.elts[fast])
    return ["1", extent] if fast == 0 else [extent, "1"]
