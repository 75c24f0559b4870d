"""The index of a stage that leaves its buffer, wrapped around: `k % STAGES` for `k`."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator
from dataclasses import replace

from layoutcheck.lint.source import Source
from layoutcheck.patching.edit import Candidate, Edit, rewritten
from layoutcheck.patching.paddings import LAYOUT_AT, expressions, is_shared, tensors
from layoutcheck.patching.program import Program, Site
from layoutcheck.patching.stages import number_of
from layoutcheck.syntax import argument_of, name_of

_SHAPE_AT = {"make_layout": 0, "make_ordered_layout": 0, "tile_to_shape": 1}


def wrapped(program: Program, path: str, line: int) -> Iterator[tuple[str, Candidate]]:
    """Titles and edits: the last index into a line's shared tensors, modulo their last extent.

    Where a name has no other use, what it is given is edited, else each index that it is.
    """
    source = program.sources[path]
    every = itertools.product(indices(program, path, line), counts(program, path, line))
    found = (edits for site, word in every for edits in _modulo(program, source, site, word))
    for edits in dict.fromkeys(found):
        yield f"stage: {edits[0].new}; the buffer has so many stages", edits


def counts(program: Program, path: str, line: int) -> list[str]:
    """The numbers of stages of a line's shared tensors, in words that are known there."""
    made = tensors(program, path, line)
    return list(dict.fromkeys(word for one in made for word in _stages(program, one, path, line)))


def _stages(program: Program, made: Site, path: str, line: int) -> Iterator[str]:
    """The last extent of the layout that a tensor is made with, in words that are known at a line."""
    layout = argument_of(made.call, "layout", LAYOUT_AT[name_of(made.call)])
    scope = program.sources[path].scope_at(line)
    for place in program.reached(replace(made, node=layout)) if layout is not None else ():
        at = _SHAPE_AT.get(name_of(place.call), len(place.call.args))
        given = place.call.args[at : at + 1]
        shape = program.definition(replace(place, node=given[0])) if given else place
        if not isinstance(shape.node, ast.Tuple) or len(shape.node.elts) < 2:
            continue
        last = replace(shape, node=shape.node.elts[-1])
        count = number_of(program, last)
        if count is not None and count > 1:
            same = (
                isinstance(last.node, ast.Name) and number_of(program, Site(path, last.node, scope)) == count
            )
            word = program.sources[last.path].text_of(last.node) if same else str(count)
            if len(shape.node.elts) > 2 or f"% {word}" in program.sources[path].text:  # else a row's length
                yield word
            return


def indices(program: Program, path: str, line: int) -> Iterator[Site]:
    """The last index of each subscript of a shared tensor in a line, and behind its names."""
    for site in expressions(program, path, line):
        for one in program.behind(site):
            if one.path == path and (found := _last(program, one)) is not None:
                yield replace(one, node=found)


def _last(program: Program, site: Site) -> ast.expr | None:
    """The last index of a shared tensor's subscript by several, if it is no number."""
    node = site.node
    if not isinstance(node, ast.Subscript) or not isinstance(node.slice, ast.Tuple):
        return None
    last = node.slice.elts[-1]
    fixed = isinstance(last, (ast.Constant, ast.Tuple))
    return last if not fixed and is_shared(program, replace(site, node=node.value)) else None


def _modulo(program: Program, source: Source, site: Site, word: str) -> Iterator[Candidate]:
    """An index modulo a number: where its name is given it, else in each of its places."""
    node = site.node
    if not isinstance(node, ast.Name):
        yield (rewritten(source, node, _remainder(source, node, word)),)
        return
    every = [one for one in ast.walk(site.scope.node) if isinstance(one, ast.Name) and one.id == node.id]
    subscripts = (one for one in ast.walk(site.scope.node) if isinstance(one, ast.Subscript))
    found = [last for one in subscripts if (last := _last(program, replace(site, node=one))) is not None]
    places = [last for last in found if isinstance(last, ast.Name) and last.id == node.id]
    given = [one for one in site.scope.given(node.id) if isinstance(one, (ast.Name, ast.BinOp))]
    steps = [
        one for one in ast.walk(site.scope.node) if isinstance(one, ast.AugAssign) and one.target in every
    ]
    own = {id(name) for one in (*given, *steps) for name in ast.walk(one)}
    loads = [one for one in every if isinstance(one.ctx, ast.Load) and id(one) not in own]
    if (given or steps) and {*map(id, loads)} <= {*map(id, places)}:
        edits = [rewritten(source, one, _remainder(source, one, word)) for one in given]
        for one in steps:
            start, end = source.span_of(one)
            text = f"{node.id} + {source.text_of(one.value)}"
            edits.append(Edit(source.path, start, end, f"{node.id} = ({text}) % {word}"))
        yield tuple(edits)
    yield tuple(rewritten(source, one, f"{node.id} % {word}") for one in places)


def _remainder(source: Source, node: ast.expr, word: str) -> str:
    """An expression modulo a number; of one that is a remainder already, by that number."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod):
        return f"{source.text_of(node.left)} % {word}"
    text = source.text_of(node)
    return f"{text if isinstance(node, (ast.Name, ast.Call)) else f'({text})'} % {word}"
