"""Strides of a layout with more modes than the tile that a copy takes of it: a buffer of several stages.

A copy shows the layout of one stage. What `make_layout` is given is followed to numbers, so that the modes
of the tile are known in it; further modes then lie as far apart as the tile, written anew, takes.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import replace

from layoutcheck.algebra.inttuple import flatten, wrap
from layoutcheck.algebra.layout import Layout
from layoutcheck.algebra.measure import cosize
from layoutcheck.fixes.pad_pitch import padded
from layoutcheck.patching.edit import Candidate, Edit, span_of
from layoutcheck.patching.program import Program, Site, name_of

_MOST_DEPTH = 8


def staged(program: Program, place: Site, old: Layout, new: Layout) -> Iterator[Candidate]:
    """The strides of a `make_layout` that begins with the modes of `old`, its tile laid out as `new`."""
    leaves = _strides(program, place)
    tile, made = _pairs(old), _pairs(new)
    if leaves is None or len(leaves) <= len(tile) or not new.is_static:
        return
    shape = _extents(program, place)
    known = [n for n in shape if n is not None]
    there = list(zip(shape, (value for _, value in leaves), strict=False))
    if len(known) != len(leaves) or there[: len(tile)] != tile:
        return
    strides = [d for _, d in made]
    was, reach = int(cosize(old)), int(cosize(new))  # type: ignore[arg-type]
    unit = max((d for d in strides if d > 1), default=1)
    for n, (_, value) in zip(known[len(tile) :], leaves[len(tile) :], strict=True):
        far = value if value >= reach and value > was + unit else -(-reach // unit) * unit
        strides.append(far)
        reach = far * n
    yield from _written(program, place, [site for site, _ in leaves], strides)


def spaced(program: Program, start: Site, unit: int) -> Iterator[Candidate]:
    """Every `make_layout` behind an operand with strides that are multiples of so many elements."""
    for place in program.reached(start):
        leaves, extents = _strides(program, place), _extents(program, place)
        shape = [n for n in extents if n is not None]
        if leaves is None or len(shape) != len(leaves):
            continue
        strides = [value for _, value in leaves]
        yield from _written(program, place, [site for site, _ in leaves], padded(shape, strides, unit))


def _written(program: Program, place: Site, leaves: list[Site], wanted: list[int]) -> Iterator[Candidate]:
    """The number behind a stride where all strides follow from it; else each in its place."""
    changed = [
        (leaf, value) for leaf, value in zip(leaves, wanted, strict=True) if _number(program, leaf) != value
    ]
    for leaf, value in changed:
        origin = program.definition(leaf)
        if isinstance(origin.node, ast.Constant) and origin.node is not leaf.node:
            given = {id(origin.node): value}
            if [_number(program, one, given) for one in leaves] == wanted:
                yield (Edit(origin.path, *span_of(program.sources[origin.path], origin.node), str(value)),)
    if changed:
        source = program.sources[place.path]
        yield tuple(Edit(place.path, *span_of(source, leaf.node), str(value)) for leaf, value in changed)


def _strides(program: Program, place: Site) -> list[tuple[Site, int]] | None:
    """The strides of a `make_layout`, as they are written and as numbers; None where one is not known."""
    call = place.node
    if not isinstance(call, ast.Call) or name_of(call) != "make_layout":
        return None
    given = next((one.value for one in call.keywords if one.arg == "stride"), None)
    if not isinstance(given, ast.Tuple) or any(isinstance(one, ast.Tuple) for one in given.elts):
        return None
    sites = [replace(place, node=one) for one in given.elts]
    values = [_number(program, site) for site in sites]
    known = [(site, value) for site, value in zip(sites, values, strict=True) if value is not None]
    return known if len(known) == len(sites) else None


def _extents(program: Program, place: Site) -> list[int | None]:
    call = place.node
    assert isinstance(call, ast.Call)
    shape = program.definition(replace(place, node=call.args[0])).node if call.args else None
    parts = shape.elts if isinstance(shape, ast.Tuple) else []
    return [_number(program, replace(place, node=one)) for one in parts]


def _pairs(layout: Layout) -> list[tuple[int, int]]:
    """Extents and strides, mode by mode."""
    return list(zip(flatten(wrap(layout.shape)), flatten(wrap(layout.stride)), strict=True))


_OPERATIONS = {
    ast.Add: int.__add__,
    ast.Sub: int.__sub__,
    ast.Mult: int.__mul__,
    ast.FloorDiv: int.__floordiv__,
}


def _number(
    program: Program, site: Site, given: Mapping[int, int] | None = None, depth: int = 0
) -> int | None:
    """The number that an expression is; `given` are other numbers for some constants."""
    made = program.definition(site)
    node = made.node
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return (given or {}).get(id(node), node.value)
    operation = _OPERATIONS.get(type(node.op)) if isinstance(node, ast.BinOp) else None
    if operation is None or not isinstance(node, ast.BinOp) or depth > _MOST_DEPTH:
        return None
    left, right = (
        _number(program, replace(made, node=one), given, depth + 1) for one in (node.left, node.right)
    )
    if left is None or right is None or (isinstance(node.op, ast.FloorDiv) and not right):
        return None
    found: int = operation(left, right)
    return found
