"""Edits of how a copy is done: threads and values, the atom's width, operation and transposition."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace

from layoutcheck.algebra.inttuple import flatten, unflatten, wrap
from layoutcheck.algebra.layout import Layout, compact_col_major
from layoutcheck.atoms.matrix import LdMatrix, StMatrix
from layoutcheck.check import Fix
from layoutcheck.copies.atom import VectorAtom
from layoutcheck.copies.copy import Copy
from layoutcheck.fixes import code
from layoutcheck.patching.arguments import argument, parts, with_keyword
from layoutcheck.patching.edit import Candidate, Edit, rewritten
from layoutcheck.patching.program import Program, Site
from layoutcheck.patching.stages import numbers, resized, said
from layoutcheck.syntax import argument_of, name_of


def threads(program: Program, site: Site, fix: Fix) -> Iterator[Candidate]:
    """Thread and value layouts, taken from the fix's own code."""
    made = next(
        (
            call
            for call in ast.walk(ast.parse(fix.code))
            if isinstance(call, ast.Call) and name_of(call) == "make_tiled_copy_tv"
        ),
        None,
    )
    if made is None:
        if any(change.argument == "atom" for change in fix.changes):
            yield ()  # the same threads and values of another atom
        return
    for place in program.reached_by(site, "atom", "src", "dst"):
        old = threads_and_values(place.node)  # type: ignore[arg-type]
        if old is not None:
            values = literal(made.args[2])
            extents = flatten(wrap(values.shape)) if values is not None else ()
            if len(extents) == 2 and extents.count(1) == 1:
                yield from _turned_over(program, replace(place, node=old[1]), extents.index(1))
            pairs = list(zip(old, made.args[1:3], strict=True))
            if any(change.argument == "atom" for change in fix.changes):
                yield ()  # they may follow from its width
            whole = [_layout(program, replace(place, node=node), new) for node, new in pairs]
            yield tuple(edit for edits in whole for edit in edits[:1])
            yield tuple(edit for edits in whole for edit in edits[-1:])


def along_the_other_mode(program: Program, site: Site) -> Iterator[Candidate]:
    """A thread's values along the other mode of the tile: `(1, n)` for `(n, 1)`, the strides with it."""
    for place in program.reached_by(site, "atom", "src", "dst"):
        old = threads_and_values(place.node)  # type: ignore[arg-type]
        if old is not None:
            yield from _turned_over(program, replace(place, node=old[1]))


def _turned_over(program: Program, values: Site, to: int | None = None) -> Iterator[Candidate]:
    """The layout of a thread's values, one of whose two extents is 1, with its modes the other way round.

    With `to` only where the extent 1 becomes that of the mode `to`.
    """
    made = program.definition(values)
    if not isinstance(made.node, ast.Call) or not made.node.args:
        return
    source = program.sources[made.path]
    pairs = [made.node.args[0], *(one.value for one in made.node.keywords)]
    if all(isinstance(one, ast.Tuple) and len(one.elts) == 2 for one in pairs):
        spans = [[source.span_of(part) for part in one.elts] for one in pairs]  # type: ignore[attr-defined]
        extents = [source.text[slice(*span)] for span in spans[0]]
        if "1" in extents and to in (None, 1 - extents.index("1")):
            yield tuple(
                Edit(made.path, a, d, source.text[c:d] + source.text[b:c] + source.text[a:b])
                for (a, b), (c, d) in spans
            )


def threads_and_values(call: ast.Call) -> list[ast.expr] | None:
    """The thread layout and the value layout of `make_tiled_copy_tv` or `make_layout_tv`."""
    first = {"make_tiled_copy_tv": 1, "make_layout_tv": 0}.get(name_of(call))
    if first is None:
        return None
    named = {one.arg: one.value for one in call.keywords}
    found = [*call.args[first:], *(named[name] for name in ("thr_layout", "val_layout") if name in named)]
    return found if len(found) == 2 else None


def _layout(program: Program, old: Site, new: ast.expr) -> list[Edit]:
    """A layout written otherwise at its one definition, and in its place; nothing where it is that layout."""
    made = program.definition(old)
    wanted, there = literal(new), literal(made.node)
    if there is None and isinstance(made.node, ast.Call):
        there = layout_of(program, made)
    if wanted is not None and wanted == there:
        return []
    plain = ast.unparse(new) if wanted is None else _spelt(wanted, {})
    named = (
        plain
        if wanted is None or not isinstance(made.node, ast.Call)
        else _spelt(wanted, said(program, made))
    )
    return [
        program.rewritten(one, text)
        for one, text in ((made, named), (old, named if old.node is made.node else plain))
    ]


def _spelt(wanted: Layout, words: dict[int, str]) -> str:
    """`make_layout` of a layout, with words for extents; without strides where they follow from the shape."""
    flat = type(wanted.shape) is tuple and not any(type(n) is tuple for n in wanted.shape)
    extents = flatten(wrap(wanted.shape))
    shape = code.tree_code(wanted.shape)
    if flat and len(extents) > 1:
        shape = f"({', '.join(words.get(n, str(n)) for n in extents)})"
    plain = flatten(wrap(compact_col_major(wanted.shape)))
    steps = zip(extents, flatten(wrap(wanted.stride)), plain, strict=True)
    if all(n == 1 or d == p for n, d, p in steps):
        return f"cute.make_layout({shape})"
    return f"cute.make_layout({shape}, stride={code.tree_code(wanted.stride)})"


def literal(node: ast.expr) -> Layout | None:
    """The layout of `make_layout` of numbers, its modes of extent 1 with stride 0."""
    if not isinstance(node, ast.Call) or name_of(node) != "make_layout" or len(node.args) != 1:
        return None
    try:
        shape = ast.literal_eval(node.args[0])
        given = [ast.literal_eval(one.value) for one in node.keywords if one.arg == "stride"]
        return _plain(Layout(shape, *(given or [compact_col_major(shape)])))
    except (ValueError, TypeError):
        return None


def _plain(layout: Layout) -> Layout:
    """The layout with stride 0 in modes of extent 1."""
    steps = zip(flatten(wrap(layout.shape)), flatten(wrap(layout.stride)), strict=True)
    return Layout(layout.shape, unflatten(iter([0 if n == 1 else d for n, d in steps]), layout.shape))


def layout_of(program: Program, made: Site) -> Layout | None:
    """The layout of `make_layout` or `make_ordered_layout` of two flat modes, followed to numbers."""
    call = made.call
    shape = numbers(program, made, next(iter(call.args), None))
    keyword = {"make_layout": "stride", "make_ordered_layout": "order"}.get(name_of(call))
    said_so = argument_of(call, keyword)
    given = numbers(program, made, said_so)
    if shape is None or keyword is None or len(shape) < 2 or (given is None and said_so is not None):
        return None
    if keyword == "order" and given is not None:
        strides, at = [0] * len(shape), 1
        for mode in sorted(range(len(shape)), key=given.__getitem__):
            strides[mode], at = at, at * shape[mode]
        given = strides
    return _plain(Layout(tuple(shape), tuple(given) if given else compact_col_major(tuple(shape))))


def atom_edits(program: Program, site: Site, copy: Copy, made: Copy) -> Iterator[Candidate]:
    """Another width, operation, cache mode or transposition."""
    given, atom = copy.atom, made.atom
    if atom is None:
        return
    start = program.argument(site, "atom")
    if start is None:
        return
    earlier: list[Site] = []
    for place in program.reached(start):
        call, source = place.call, program.sources[place.path]
        if name_of(call) == "make_copy_atom" and isinstance(atom, VectorAtom) and call.args:
            wide = list(_of_bits(program, place, atom.width_bits, earlier)) if atom.width_bits else []
            if given is None or atom.constructor == given.constructor:
                yield from wide
                continue
            operation = rewritten(source, call.args[0], atom.constructor)
            yield from ((operation, *edits) for edits in wide or [()])
        elif isinstance(atom, (LdMatrix, StMatrix)) and name_of(call).startswith(("LdMatrix", "StMatrix")):
            yield from with_keyword(source, call, "transpose", str(atom.transpose), 0)
        earlier.append(place)
    if copy.tiling is None and isinstance(atom, VectorAtom) and atom.constructor:
        yield (program.rewritten(start, code.atom_code(atom)),)


def own_width(program: Program, start: Site) -> Iterator[Candidate]:
    """Part of what is written for `num_bits_per_copy`."""
    for place in program.reached(start):
        call, source = place.call, program.sources[place.path]
        for one in call.keywords if name_of(call) == "make_copy_atom" else ():
            for text in parts(source, one.value) if one.arg == "num_bits_per_copy" else ():
                yield (rewritten(source, one.value, text),)


def width(program: Program, start: Site, bits: int) -> Iterator[Candidate]:
    """`num_bits_per_copy` of every atom behind an argument written so."""
    earlier: list[Site] = []
    for place in program.reached(start):
        if name_of(place.call) == "make_copy_atom":
            yield from _of_bits(program, place, bits, earlier)
        earlier.append(place)


def _of_bits(program: Program, place: Site, bits: int, earlier: list[Site]) -> Iterator[Candidate]:
    """`num_bits_per_copy` written otherwise; an attribute's number first, from which others may follow."""
    call = place.call
    given = argument_of(call, "num_bits_per_copy")
    if isinstance(given, ast.Attribute):
        yield from resized(program, replace(place, node=given), bits)
    yield from argument(program, place, "num_bits_per_copy", str(bits), None, earlier)


def flipped(program: Program, place: Site) -> Iterator[Candidate]:
    """The transposition the other way round in the program's own words: `not kn_major` for `kn_major`.

    Of a name that is True or False in one place, that word first.
    """
    call, source = place.call, program.sources[place.path]
    given = argument_of(call, "transpose", 0)
    if given is None or isinstance(given, ast.Constant):
        return
    word = program.definition(replace(place, node=given))
    if isinstance(word.node, ast.Constant) and isinstance(word.node.value, bool):
        yield (program.rewritten(word, str(not word.node.value)),)
    negated = isinstance(given, ast.UnaryOp) and isinstance(given.op, ast.Not)
    kept = given.operand if isinstance(given, ast.UnaryOp) and negated else given
    text = source.text_of(kept)
    bare = negated or isinstance(kept, (ast.Name, ast.Attribute, ast.Call, ast.Subscript))
    yield (rewritten(source, given, ("" if negated else "not ") + (text if bare else f"({text})")),)
