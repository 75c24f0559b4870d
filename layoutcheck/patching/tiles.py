"""Coordinates in another order, or without a shift: tiles of (m, n) lie outside where (n, m) is meant."""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Iterator
from functools import partial

from layoutcheck.algebra.measure import cosize
from layoutcheck.copies.changes import SIDES
from layoutcheck.copies.copy import Copy
from layoutcheck.copies.opaque import OtherOperand
from layoutcheck.lint.source import Source
from layoutcheck.patching.edit import Candidate, rewritten, spliced
from layoutcheck.patching.program import Program, Site
from layoutcheck.sources.traced import TracedCopy
from layoutcheck.syntax import argument_of, name_of


def turned_tiles(
    program: Program, site: Site, one: TracedCopy, copy: Copy
) -> Iterator[tuple[str, Candidate]]:
    """Edits that swap two coordinates of a tile of which an access begins behind the tensor and a tile more.

    A tail ends the tensor within a tile. A predicate would hide the wrong tile, of which it copies nothing.
    """
    for fault in one.addresses.faults if one.addresses is not None else ():
        side = SIDES[fault.side == "dst"]
        whole, start = copy.whole(side), program.argument(site, side)
        if fault.kind != "beyond" or start is None or isinstance(whole, OtherOperand):
            continue
        elements = cosize(whole.layout)
        if isinstance(elements, int):
            tail = 0 <= fault.address < fault.other + elements * whole.dtype.bits // 8
        else:  # the extents that it was given are those of whole tiles, or a call's
            tail = bool(fault.called) or not fault.extent
        if fault.shifted or not tail:
            yield from turned(program, start, fault.shifted)


def turned(program: Program, start: Site, shifted: bool = False) -> Iterator[tuple[str, Candidate]]:
    """Edits that swap two coordinates of what an expression was cut from, nearest first.

    What is `shifted` has coordinates to which a number is added: edits that leave it away.
    """
    for place in program.behind(start):
        given, source = _coordinates(place.node), program.sources[place.path]
        if given is not None and (shifted or not _other_way(source, place.node)):
            yield from (_unshifted if shifted else _swapped)(source, given)


def _unshifted(source: Source, given: ast.expr) -> Iterator[tuple[str, Candidate]]:
    for entry in given.elts if isinstance(given, ast.Tuple) else [given]:
        plain = isinstance(entry, ast.BinOp) and isinstance(entry.op, (ast.Add, ast.Sub))
        if plain and isinstance(entry.right, ast.Constant):  # type: ignore[attr-defined]
            new = source.text_of(entry.left)  # type: ignore[attr-defined]
            title = f"coordinates: {new} in place of {source.text_of(entry)}: {SHIFTED}"
            yield title, (rewritten(source, entry, new),)


def _swapped(source: Source, given: ast.expr) -> Iterator[tuple[str, Candidate]]:
    """Two coordinates the other way round; of sums also two names in them that one statement gives."""
    for a, b in itertools.combinations(given.elts if isinstance(given, ast.Tuple) else [], 2):
        names = ([one for one in ast.walk(entry) if isinstance(one, ast.Name)] for entry in (a, b))
        pairs = [(one, other) for one, other in itertools.product(*names) if _siblings(source, one, other)]
        for pair in dict.fromkeys([(a, b), *pairs]):
            texts = [source.text_of(one) for one in pair]
            if texts[0] != texts[1] and not {*texts} & {"None", "_"}:
                edits = tuple(map(partial(rewritten, source), pair, reversed(texts)))
                new = _with(source, given, edits)
                yield (
                    f"coordinates: {new} in place of {source.text_of(given)}, which leaves the tensor",
                    edits,
                )


def _other_way(source: Source, tile: ast.AST) -> bool:
    """Whether a tile has the coordinates of another one of its function, and its extents the other way round.

    Without shared memory between them nothing is turned: then the extents may be what is wrong.
    """
    if not isinstance(tile, ast.Call) or name_of(tile) != "local_tile":
        return False
    functions = (node for node in ast.walk(source.tree) if isinstance(node, ast.FunctionDef))
    around = [one for one in functions if any(node is tile for node in ast.walk(one))]
    named = (
        (getattr(one, "id", "") or getattr(one, "attr", "") for one in ast.walk(around[-1])) if around else ()
    )
    if not around or any(map(_SHARED.search, named)):
        return False
    every = (node for node in ast.walk(around[-1]) if isinstance(node, ast.Call) and node is not tile)
    extents, at = (argument_of(tile, *one) for one in _OF_TILE)
    turned = list(reversed(_texts(source, extents)))
    return len(set(turned)) > 1 and any(
        name_of(one) == "local_tile"
        and _texts(source, argument_of(one, *_OF_TILE[0])) == turned
        and _texts(source, argument_of(one, *_OF_TILE[1])) == _texts(source, at)
        for one in every
    )


def _texts(source: Source, given: ast.expr | None) -> list[str]:
    return [source.text_of(one) for one in given.elts] if isinstance(given, ast.Tuple) else []


_OF_TILE = ("tiler", 1), ("coord", 2)  # arguments of local_tile
_SHARED = re.compile("(?i)smem|shared")


def _siblings(source: Source, one: ast.expr, other: ast.expr) -> bool:
    """Whether two names are given their values by one statement: `m, n = x.shape`."""
    names = {getattr(one, "id", ""), getattr(other, "id", "")}
    tuples = (node for node in ast.walk(source.tree) if isinstance(node, ast.Tuple))
    given = (one.elts for one in tuples if isinstance(one.ctx, ast.Store))
    return any(names <= {getattr(each, "id", None) for each in some} for some in given)


def _with(source: Source, node: ast.expr, edits: Candidate) -> str:
    """The text of an expression with edits in it."""
    return spliced(source.text_of(node), edits, source.span_of(node)[0])


def retested(
    source: Source, function: ast.AST, inner: ast.stmt, partly: bool, none: bool
) -> Iterator[tuple[str, Candidate]]:
    """The comparisons of the conditions around a statement, written otherwise: `<` for `<=`.

    With other extents where it accesses its tensor `partly`, the other way round where `none` of it.
    """
    for branch in (one for one in ast.walk(function) if isinstance(one, ast.If)):
        if not any(inner is node for one in branch.body for node in ast.walk(one)):
            continue
        asked = [
            one for one in ast.walk(branch.test)
            if isinstance(one, ast.Compare) and isinstance(one.ops[0], _ORDERS) and len(one.ops) == 1
        ]  # fmt: skip
        ways: list[Candidate] = []
        for one, turn in itertools.product(asked, (False, True) if none else (False,)):
            left, right = (source.text_of(side) for side in (one.left, one.comparators[0]))
            sign = "<>"[isinstance(one.ops[0], (ast.Gt, ast.GtE)) ^ turn]
            ways.append((rewritten(source, one, f"{left} {sign} {right}"),))
        ends = [one.comparators[0] for one in asked if partly]
        for a, b in itertools.combinations(ends, 2):
            ways.append((rewritten(source, a, source.text_of(b)), rewritten(source, b, source.text_of(a))))
        names = {node.id: node for node in ast.walk(function) if isinstance(node, ast.Name)}
        for end in ends:
            ways += [(rewritten(source, end, name),) for name in names if _siblings(source, end, names[name])]
        for edits in ways:
            new, old = _with(source, branch.test, edits), source.text_of(branch.test)
            if new != old:
                yield f"condition: {new} in place of {old}", edits


_ORDERS = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)


SHIFTED = "nothing writes the tensor's first element, and this writes behind its last one"


def is_shifted(one: TracedCopy) -> bool:
    """Whether a copy's tile lies wrong, which a predicate would only hide."""
    return one.addresses is not None and any(fault.shifted for fault in one.addresses.faults)


def _coordinates(node: ast.expr) -> ast.expr | None:
    """The written coordinates of an element or a tile: `local_tile`'s, an index or what is last in one."""
    if isinstance(node, ast.Call) and name_of(node) == "local_tile":
        return argument_of(node, "coord", 2)
    given = node.slice if isinstance(node, ast.Subscript) else None
    tile = isinstance(given, ast.Tuple) and isinstance(given.elts[-1], ast.Tuple)
    return given.elts[-1] if tile else given  # type: ignore[union-attr]
