"""The stage of a buffer that is copied or read, as another one: `(turn + 2) % STAGES` for `turn % STAGES`.

A copy puts tile `k` of its source into stage `k`, modulo the stages. One that does not is edited; of one that
does, the reader is. A replay of the order alone would take any stage that is read as it was written, also
where another tile is meant: a copy of which the tile is not known has no edit.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace

from layoutcheck.order.meaning import COPIES
from layoutcheck.patching.edit import Candidate
from layoutcheck.patching.program import Program, Site
from layoutcheck.patching.stages import number_of
from layoutcheck.patching.wraps import counts, indices
from layoutcheck.sources.traced import Frame, KernelFinding

_MOST_STAGES = 12  # all of which are tried: two that are proven are none
_MOST_NAMES = 8  # of names that are given names
_KINDS = ("not-complete", "overwritten-by-copy", "overwritten-while-copied")


def restaged(program: Program, finding: KernelFinding) -> Iterator[tuple[str, Candidate]]:
    """Titles and edits of the copy's stage, or of the other place's; none where the tile is not known."""
    places = {one.where: one.kind in COPIES for one in finding.places[:2]}
    copies = [where for where, copies in places.items() if copies]
    if finding.evidence.get("kind") not in _KINDS or len(copies) != 1 or len(places) != 2:
        return
    [copy], [other] = copies, [where for where, copies in places.items() if not copies]
    call = program.copy_at(copy.file, copy.line)
    sides = [] if call is None else [program.argument(call, role) for role in ("src", "dst")]
    tile, stage = (None if one is None else _last(program, one) for one in sides or (None, None))
    if tile is None or stage is None or tile.scope is not stage.scope:
        return
    words = _counts(program, stage, copy)
    (first, ahead), (second, shift) = _sum(program, tile), _sum(program, stage)
    if first == second and all((ahead - shift) % count == 0 for count in words.values()):
        if other.file in program.sources:
            yield from _edited(program, other, None)
    else:
        yield from _edited(program, copy, tile)


def _edited(program: Program, where: Frame, tile: Site | None) -> Iterator[tuple[str, Candidate]]:
    """The last index into each shared tensor of a line, as a tile's; for None as that of each other stage."""
    source = program.sources[where.file]
    for site in dict.fromkeys(indices(program, where.file, where.line)):
        words, old = _counts(program, site, where), source.text_of(site.node)
        for new in _others(program, site, words) if tile is None else _same(program, tile, words):
            title = f"stage: {new}, not {old}; each tile is then read in the stage that it is copied to"
            yield title, (program.rewritten(site, new),)


def _same(program: Program, tile: Site, words: dict[str, int]) -> Iterator[str]:
    node = tile.node
    if isinstance(node, ast.Attribute) and node.attr == "count":  # of a pipeline's state
        yield f"{ast.unparse(node.value)}.index"
        return
    text = program.sources[tile.path].text_of(node)
    yield from (f"{f'({text})' if isinstance(node, ast.BinOp) else text} % {word}" for word in words)


def _others(program: Program, site: Site, words: dict[str, int]) -> Iterator[str]:
    node = site.node
    if isinstance(node, ast.Attribute):
        names = (one for one in ast.walk(site.scope.node) if isinstance(one, ast.Attribute))
        texts = dict.fromkeys(ast.unparse(one) for one in names if one.attr == node.attr)
        yield from (one for one in texts if one != ast.unparse(node))
        return
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod):
        node = node.left
    elif not isinstance(node, ast.Name):
        return
    first = 0
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        last = number_of(program, replace(site, node=node.right))
        node, first = (node, 0) if last is None else (node.left, last)
    text = ast.unparse(node)
    alone = f"({text})" if isinstance(node, ast.BinOp) else text
    for word, count in words.items():
        for far in ((first + step) % count for step in range(1, count)):
            yield f"({text} + {far}) % {word}" if far else f"{alone} % {word}"


def _counts(program: Program, stage: Site, where: Frame) -> dict[str, int]:
    """How many stages there are, in words that are known at a line."""
    node, words = stage.node, counts(program, where.file, where.line)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod):
        words = [program.sources[stage.path].text_of(node.right)]
    found = {word: replace(stage, node=ast.parse(word, mode="eval").body) for word in words}
    known = {word: number_of(program, site) or 0 for word, site in found.items()}
    return {word: count for word, count in known.items() if 1 < count <= _MOST_STAGES}


def _last(program: Program, start: Site) -> Site | None:
    """The last index of the first subscript by several behind an operand, if it is no number."""
    for one in program.behind(start):
        if isinstance(one.node, ast.Subscript) and isinstance(one.node.slice, ast.Tuple):
            last = one.node.slice.elts[-1]
            return None if isinstance(last, (ast.Constant, ast.Tuple)) else replace(one, node=last)
    return None


def _sum(program: Program, site: Site, depth: int = 0) -> tuple[str, int]:
    """A name and a number that is added: `turn` and 2 of `there % 3` where `there = turn + 2`."""
    node = site.node
    if isinstance(node, ast.BinOp):
        if isinstance(node.op, ast.Mod):
            return _sum(program, replace(site, node=node.left), depth)
        number = number_of(program, replace(site, node=node.right))
        if number is not None and isinstance(node.op, (ast.Add, ast.Sub)):
            text, before = _sum(program, replace(site, node=node.left), depth)
            return text, before + (number if isinstance(node.op, ast.Add) else -number)
    value = site.scope.only(node.id) if isinstance(node, ast.Name) and depth < _MOST_NAMES else None
    if value is not None and value.index is None and isinstance(value.node, (ast.BinOp, ast.Name)):
        return _sum(program, replace(site, node=value.node), depth + 1)
    if isinstance(node, ast.Attribute) and node.attr in ("count", "index"):  # of a pipeline's state
        return ast.unparse(node.value), 0
    return ast.unparse(node), 0
