"""Predicates as statements before a copy: Booleans of numbers, and `guard-tail`, where tiles leave a tensor.

The coordinates of `guard-tail` are those of the tensor's elements: what cuts the tensor into a thread's part,
written once more for `make_identity_tensor` of its shape. Entry i of the predicate says whether vector i
begins inside. A copy without an atom takes no predicate: it stands in a branch.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from layoutcheck.copies.copy import Copy
from layoutcheck.fixes.code import as_bits_code
from layoutcheck.lint.source import Source
from layoutcheck.patching.arguments import with_keyword
from layoutcheck.patching.cuts import coordinates, cut_of, free, put, tensor_of
from layoutcheck.patching.edit import Candidate, Edit, indent_of, rewritten
from layoutcheck.patching.program import Program, Site
from layoutcheck.syntax import name_of

STRATEGY = "guard-tail"


def guarded(program: Program, site: Site, copy: Copy) -> Iterator[tuple[Candidate, Candidate]]:
    """Edits that give the copy a predicate, each with those that take away the one that it has."""
    source, call = program.sources[site.path], site.call
    given = program.argument(site, "pred")
    bare = () if given is None else (rewritten(source, given.node, "None"),)
    taken = names_of(source)
    for role in ("dst", "src"):
        v = copy.side(role).layout[0].shape
        operand, whole = program.argument(site, role), name_of(call) == "autovec_copy"
        cuts = whole or (isinstance(v, tuple) and len(v) == 2)
        if copy.side(role).space != "gmem" or operand is None or not cuts:
            continue
        last = _zero(program, site, copy)
        cut = cut_of(program, operand, call.lineno)
        for coords, extents, more in () if cut is None else coordinates(program, site, cut, taken):
            tile, guard = (free(name, taken) for name in ("coords", "guard"))
            inner = tensor_of(coords)
            lines: list[str] = []
            if inner is not None and not isinstance(inner, ast.Name):
                lines = [f"{tile} = {ast.unparse(inner)}"]
                coords = put(coords, inner, ast.Name(tile))
            if whole:
                asked = f"if cute.elem_less({ast.unparse(coords)}[0], {extents}):"
                branch = _before_copy(program, site, [*lines, *last, asked])
                yield from (((*edits, *more), bare) for edits in branch)
                continue
            lines.append(f"{guard} = cute.group_modes({ast.unparse(coords)}, 1)[(0, None), None]")
            shape = f"{guard}.shape"
            if isinstance(v, tuple) and isinstance(v[1], tuple) and len(v[1]) == 2:  # V and its rest
                shape = f"((1, {shape}[0]), {shape}[1])"
            pred, filled = _filled(program, site, shape, f"cute.elem_less({guard}[{{}}], {extents})")
            for edits in _before_copy(program, site, [*lines, *filled, *last], pred):
                yield (*edits, *more), bare


def reused(program: Program, site: Site, copy: Copy) -> Iterator[Candidate]:
    """The predicate of another copy of the same function, or one that it makes before, by its name."""
    source, call = program.sources[site.path], site.call
    if program.argument(site, "pred") is not None:
        return
    others = (one for one in source.calls() if source.scope_of(one) is site.scope and name_of(one) == "copy")
    given = [k.value for one in others for k in one.keywords if k.arg == "pred"]
    given += [
        target
        for node, scope in source.assignments
        if scope is site.scope and isinstance(node, ast.Assign) and node.lineno < call.lineno
        and isinstance(node.value, ast.Call) and "Boolean" in ast.unparse(node.value)
        for target in node.targets
    ]  # fmt: skip
    for name in dict.fromkeys(one.id for one in given if isinstance(one, ast.Name)):
        for first in dict.fromkeys(((), (*_zero(program, site, copy),))):
            yield from _before_copy(program, site, first, name)


def _zero(program: Program, site: Site, copy: Copy) -> list[str]:
    """What a predicate leaves unread in registers is 0."""
    held = program.argument(site, "dst")
    if held is None or (copy.src.space, copy.dst.space) != ("gmem", "rmem"):
        return []
    return [f"{as_bits_code(ast.unparse(held.node), copy.dst.dtype)}.fill(0)"]


def truths(program: Program, site: Site) -> Iterator[Candidate]:
    """A Boolean predicate in place of one of numbers: what is not 0 is copied."""
    given = program.argument(site, "pred")
    if given is not None:
        text = ast.unparse(given.node)
        pred, lines = _filled(program, site, f"{text}.shape", f"{text}[{{}}] != 0")
        yield from _before_copy(program, site, lines, pred)


def _filled(program: Program, site: Site, shape: str, entry: str) -> tuple[str, list[str]]:
    """The name of a new predicate of a shape, and the lines that fill entry {} of it."""
    taken = names_of(program.sources[site.path])
    pred, i = (free(name, taken) for name in ("pred", "i"))
    return pred, [
        f"{pred} = cute.make_rmem_tensor({shape}, cutlass.Boolean)",
        f"for {i} in cutlass.range_constexpr(cute.size({pred})):",
        f"    {pred}[{i}] = {entry.format(i)}",
    ]


def _before_copy(program: Program, site: Site, lines: Sequence[str], pred: str = "") -> Iterator[Candidate]:
    """Lines before a copy, which then takes the predicate, or stands in the branch that the last one begins.

    Nothing if it shares its line.
    """
    source, call = program.sources[site.path], site.call
    statements = (node for node in ast.walk(source.tree) if isinstance(node, ast.Expr))
    statement = next((node for node in statements if node.value is call), None)
    indent = None if statement is None else indent_of(source, statement)
    if statement is None or indent is None or (pred and name_of(call) != "copy"):
        return
    start, end = source.span_of(statement)
    text = "".join(f"{line}\n{indent}" for line in lines)
    if not pred:
        own = source.text[start:end].replace("\n", "\n    ")
        yield (Edit(site.path, start, end, f"{text}    {own}"),)
        return
    for passed in with_keyword(source, call, "pred", pred, None):
        yield (Edit(site.path, start, start, text), *passed)


def names_of(source: Source) -> set[str]:
    """The names of variables and parameters in a file."""
    nodes = list(ast.walk(source.tree))
    parameters = {node.arg for node in nodes if isinstance(node, ast.arg)}
    return parameters | {node.id for node in nodes if isinstance(node, ast.Name)}
