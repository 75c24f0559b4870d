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
from layoutcheck.lint.resolve import worked_out
from layoutcheck.patching.edit import Candidate, rewritten
from layoutcheck.patching.program import Program, Site
from layoutcheck.syntax import argument_of, name_of

_MOST_DEPTH = 16
_MOST_WAYS = 4


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


def spaced(program: Program, start: Site, unit: int, tile: Layout | None = None) -> Iterator[Candidate]:
    """Every `make_layout` behind an operand with strides that are multiples of so many elements."""
    for place in program.reached(start):
        leaves, extents = _strides(program, place), _extents(program, place)
        shape = [n for n in extents if n is not None]
        if leaves is None or len(shape) != len(leaves):
            continue
        if tile is not None and not may_be_of(program, place, tile):
            continue
        strides = [value for _, value in leaves]
        yield from _written(program, place, [site for site, _ in leaves], padded(shape, strides, unit))


def _written(program: Program, place: Site, leaves: list[Site], wanted: list[int]) -> Iterator[Candidate]:
    """A number behind the strides from which all follow and no extent; else each stride in its place."""
    changed = [
        (leaf, value) for leaf, value in zip(leaves, wanted, strict=True) if number_of(program, leaf) != value
    ]
    yield from behind(program, place, leaves, wanted)
    if changed:
        source, words = program.sources[place.path], said(program, place)
        yield tuple(rewritten(source, leaf.node, words.get(value, str(value))) for leaf, value in changed)


def solved(program: Program, place: Site, wanted: list[int]) -> Iterator[Candidate]:
    """The strides of a `make_layout`, where a number behind them makes them so."""
    leaves = _strides(program, place)
    if leaves is not None and len(leaves) == len(wanted):
        yield from behind(program, place, [site for site, _ in leaves], wanted)


def behind(program: Program, place: Site, leaves: list[Site], wanted: list[int]) -> Iterator[Candidate]:
    """Each number that gives the strides `wanted` when it is another, and changes no extent."""
    extents = _extent_sites(program, place)
    yield from _solutions(program, leaves, wanted, extents)


def resized(program: Program, size: Site, wanted: int) -> Iterator[Candidate]:
    """Each number with a name with which an expression comes to another: `WARPS` of `32 * WARPS` threads."""
    yield from _solutions(program, [size], [wanted], [])


def _solutions(
    program: Program, leaves: list[Site], wanted: list[int], extents: list[Site]
) -> Iterator[Candidate]:
    have = [number_of(program, leaf) for leaf in leaves]
    shape = [number_of(program, one) for one in extents]
    seen = set[int]()
    found = [one for leaf in leaves for one in _constants(program, leaf)]
    for site, named in sorted(found, key=lambda one: not one[1]):
        old = site.node.value  # type: ignore[attr-defined]
        if id(site.node) in seen or not (named or extents):
            continue
        seen.add(id(site.node))
        pairs = [(h, w) for h, w in zip(have, wanted, strict=True) if h is not None and h != w]
        options = {old + w - h for h, w in pairs} | {old * w // h for h, w in pairs if h}
        for new in sorted(option for option in options if option > 0 and option != old):
            given = {id(site.node): new}
            if [number_of(program, one, given) for one in leaves] != wanted:
                continue
            if [number_of(program, one, given) for one in extents] == shape:
                yield (program.rewritten(site, str(new)),)


def may_be_of(program: Program, place: Site, tile: Layout) -> bool:
    """Whether a written layout may be that of a tile or of more: its stages, all of which it is a part."""
    known = sorted(n for n in _extents(program, place) if n is not None)
    there = [n for n, _ in _pairs(tile) if n != 1]
    if len(known) != len(_extents(program, place)) or len(known) < len(there):
        return True
    for extent in sorted(there, reverse=True):
        whole = next((n for n in known if n % extent == 0), None)
        if whole is None:
            return False
        known.remove(whole)
    return True


def numbers(program: Program, place: Site, node: ast.expr | None) -> list[int] | None:
    """The numbers of a flat tuple that an argument is; None where one is not known."""
    made = None if node is None else program.definition(replace(place, node=node))
    if made is None or not isinstance(made.node, ast.Tuple):
        return None
    found = [number_of(program, replace(made, node=one)) for one in made.node.elts]
    known = [n for n in found if n is not None]
    return known if len(known) == len(found) else None


def said(program: Program, place: Site) -> dict[int, str]:
    """The extents of a `make_layout` that are names, by their numbers: strides are written with them."""
    source, here = program.sources[place.path], (place.path, place.scope)
    return {
        value: source.text_of(one.node)
        for one in reversed(_extent_sites(program, place))
        if (one.path, one.scope) == here and not isinstance(one.node, ast.Constant)
        if (value := number_of(program, one)) is not None
    }


def _constants(program: Program, site: Site, depth: int = 0) -> Iterator[tuple[Site, bool]]:
    """The numbers that an expression is made of, and whether each has a name: not the 32 of `32 * WARPS`."""
    node = site.node
    if depth > _MOST_DEPTH:
        return
    inner: list[Site] = []
    if isinstance(node, (ast.Name, ast.Attribute)):
        inner = program.alternatives(site)[:_MOST_WAYS]
    elif isinstance(node, ast.BinOp):
        inner = [replace(site, node=one) for one in (node.left, node.right)]
    elif (part := _part(program, site)) is not None:
        inner = [part]
    for one in inner:
        if isinstance(one.node, ast.Constant) and type(one.node.value) is int:
            yield one, not isinstance(node, ast.BinOp)
        else:
            yield from _constants(program, one, depth + 1)


def _part(program: Program, site: Site) -> Site | None:
    """`shape[1]` of a tuple that is written."""
    node = site.node
    if not isinstance(node, ast.Subscript) or not isinstance(node.slice, ast.Constant):
        return None
    whole, at = program.definition(replace(site, node=node.value)), node.slice.value
    if not isinstance(whole.node, ast.Tuple) or type(at) is not int or not 0 <= at < len(whole.node.elts):
        return None
    return replace(whole, node=whole.node.elts[at])


def _strides(program: Program, place: Site) -> list[tuple[Site, int]] | None:
    """The strides of a `make_layout`, as they are written and as numbers; None where one is not known."""
    call = place.node
    if not isinstance(call, ast.Call) or name_of(call) != "make_layout":
        return None
    given = argument_of(call, "stride")
    if not isinstance(given, ast.Tuple) or any(isinstance(one, ast.Tuple) for one in given.elts):
        return None
    sites = [replace(place, node=one) for one in given.elts]
    values = [number_of(program, site) for site in sites]
    known = [(site, value) for site, value in zip(sites, values, strict=True) if value is not None]
    return known if len(known) == len(sites) else None


def _extents(program: Program, place: Site) -> list[int | None]:
    return [number_of(program, one) for one in _extent_sites(program, place)]


def _extent_sites(program: Program, place: Site) -> list[Site]:
    call = place.call
    if not call.args:
        return []
    shape = program.definition(replace(place, node=call.args[0]))
    return [replace(shape, node=one) for one in shape.node.elts] if isinstance(shape.node, ast.Tuple) else []


def _pairs(layout: Layout) -> list[tuple[int, int]]:
    """Extents and strides, mode by mode."""
    return list(zip(flatten(wrap(layout.shape)), flatten(wrap(layout.stride)), strict=True))


def number_of(
    program: Program, site: Site, given: Mapping[int, int] | None = None, depth: int = 0
) -> int | None:
    """The number that an expression is by every way there; `given` are other numbers for some constants."""
    if depth > _MOST_DEPTH:
        return None
    if isinstance(site.node, (ast.Name, ast.Attribute)):
        values = [
            number_of(program, one, given, depth + 1) for one in program.alternatives(site)[:_MOST_WAYS]
        ]
        return values[0] if len(set(values)) == 1 else None
    node = site.node
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return (given or {}).get(id(node), node.value)
    part = _part(program, site)
    if part is not None:
        return number_of(program, part, given, depth + 1)
    if not isinstance(node, ast.BinOp):
        return None
    left, right = (
        number_of(program, replace(site, node=one), given, depth + 1) for one in (node.left, node.right)
    )
    return worked_out(left, node.op, right)
