"""Edits of how a copy is done: threads and values, the atom's width, operation and transposition."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace

from layoutcheck.algebra.inttuple import flatten, unflatten
from layoutcheck.algebra.layout import Layout, compact_col_major
from layoutcheck.atoms.matrix import LdMatrix, StMatrix
from layoutcheck.check import Fix
from layoutcheck.copies.atom import VectorAtom
from layoutcheck.copies.copy import Copy
from layoutcheck.errors import InputError
from layoutcheck.fixes import code
from layoutcheck.patching.arguments import argument, parts, with_keyword
from layoutcheck.patching.edit import Candidate, Edit, span_of
from layoutcheck.patching.program import Program, Site, Source, name_of


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
    for place in _tiled_copies(program, site):
        call = place.node
        assert isinstance(call, ast.Call)
        if name_of(call) == "make_tiled_copy_tv" and len(call.args) == 3:
            pairs = zip(call.args[1:], made.args[1:3], strict=True)
            whole = [_layout(program, replace(place, node=old), new) for old, new in pairs]
            yield tuple(edit for edits in whole for edit in edits[:1])
            yield tuple(edit for edits in whole for edit in edits[-1:])


def _layout(program: Program, old: Site, new: ast.expr) -> list[Edit]:
    """A layout written otherwise at its one definition, and in its place; nothing where it is that layout."""
    made, given = program.definition(old), ast.unparse(new)
    wanted, there = literal(new), literal(made.node)
    if wanted is not None and wanted == there:
        return []
    return [Edit(one.path, *span_of(program.sources[one.path], one.node), given) for one in (made, old)]


def literal(node: ast.expr) -> Layout | None:
    """The layout of `make_layout` of numbers, its modes of extent 1 with stride 0."""
    if not isinstance(node, ast.Call) or name_of(node) != "make_layout" or len(node.args) != 1:
        return None
    try:
        shape = ast.literal_eval(node.args[0])
        given = [ast.literal_eval(one.value) for one in node.keywords if one.arg == "stride"]
        layout = Layout(shape, *(given or [compact_col_major(shape)]))
        steps = zip(flatten(layout.shape), flatten(layout.stride), strict=True)
        return Layout(layout.shape, unflatten(iter([0 if n == 1 else d for n, d in steps]), layout.shape))
    except (ValueError, TypeError, InputError):
        return None


def _tiled_copies(program: Program, site: Site) -> Iterator[Site]:
    for role in ("atom", "src", "dst"):
        start = program.argument(site, role)
        if start is not None:
            yield from program.reached(start)


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
        call, source = place.node, program.sources[place.path]
        assert isinstance(call, ast.Call)
        if name_of(call) == "make_copy_atom" and isinstance(atom, VectorAtom) and call.args:
            wide = list(argument(program, place, "num_bits_per_copy", str(atom.width_bits), None, earlier))
            if given is None or atom.constructor == given.constructor:
                yield from wide
                continue
            operation = Edit(place.path, *span_of(source, call.args[0]), atom.constructor)
            yield from ((operation, *edits) for edits in wide or [()])
        elif isinstance(atom, (LdMatrix, StMatrix)) and name_of(call).startswith(("LdMatrix", "StMatrix")):
            yield from turned(source, call, atom.transpose)
        earlier.append(place)
    if copy.tiling is None and isinstance(atom, VectorAtom) and atom.constructor:
        yield (Edit(start.path, *span_of(program.sources[start.path], start.node), code.atom_code(atom)),)


def own_width(program: Program, start: Site) -> Iterator[Candidate]:
    """Part of what is written for `num_bits_per_copy`."""
    for place in program.reached(start):
        call, source = place.node, program.sources[place.path]
        assert isinstance(call, ast.Call)
        for one in call.keywords if name_of(call) == "make_copy_atom" else ():
            for text in parts(source, one.value) if one.arg == "num_bits_per_copy" else ():
                yield (Edit(place.path, *span_of(source, one.value), text),)


def width(program: Program, start: Site, bits: int) -> Iterator[Candidate]:
    """`num_bits_per_copy` of every atom behind an argument written so."""
    earlier: list[Site] = []
    for place in program.reached(start):
        if name_of(place.node) == "make_copy_atom":  # type: ignore[arg-type]
            yield from argument(program, place, "num_bits_per_copy", str(bits), None, earlier)
        earlier.append(place)


def turned(source: Source, call: ast.Call, transpose: bool) -> Iterator[Candidate]:
    """`LdMatrix8x8x16bOp(True, 4)` and the like with its transposition written."""
    yield from with_keyword(source, call, "transpose", str(transpose), 0)


def flipped(source: Source, call: ast.Call) -> Iterator[Candidate]:
    """The transposition the other way round in the program's own words: `not kn_major` for `kn_major`."""
    given = next(
        (one.value for one in call.keywords if one.arg == "transpose"), call.args[0] if call.args else None
    )
    if given is None or isinstance(given, ast.Constant):
        return
    negated = isinstance(given, ast.UnaryOp) and isinstance(given.op, ast.Not)
    kept = given.operand if isinstance(given, ast.UnaryOp) and negated else given
    text = source.text[slice(*span_of(source, kept))]
    bare = negated or isinstance(kept, (ast.Name, ast.Attribute, ast.Call, ast.Subscript))
    yield (
        Edit(
            source.path,
            *span_of(source, given),
            ("" if negated else "not ") + (text if bare else f"({text})"),
        ),
    )


def counted(source: Source, call: ast.Call, matrices: int) -> Iterator[Candidate]:
    """`LdMatrix8x8x16bOp(False, 4)` and the like with another number of matrices."""
    yield from with_keyword(source, call, "num_matrices", str(matrices), 1)
