"""Edits for a shared tile whose users see it through different views: one of them is given another's.

A partition takes the tile itself for a view of it; a pointer that was recast to a swizzle stands for the
tile's own, or the other way round; a swizzle gets the numbers of another; a tensor over the outer part of
a layout gets the inner one as its swizzle.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from layoutcheck.lint.source import Source
from layoutcheck.patching.arguments import with_keyword
from layoutcheck.patching.edit import Candidate, Edit, rewritten
from layoutcheck.syntax import name_of

_TAKEN = "iterator"  # the attribute that is a tensor's pointer
_SWIZZLED = ("get_tensor", "allocate_tensor")  # what takes a swizzle beside a layout


def views(source: Source) -> Iterator[tuple[str, Candidate]]:
    """Titles and edits, the likeliest first; nothing where all users of each tile have one view."""
    yield from _tiles(source)
    yield from _inner(source)
    yield from _pointers(source)
    yield from _swizzles(source)


def _tiles(source: Source) -> Iterator[tuple[str, Candidate]]:
    """A partition of a view of a tile; of what other partitions take as it is first."""
    partitions = [call for call in source.calls() if name_of(call).startswith("partition_") and call.args]
    whole = {ast.unparse(call.args[0]) for call in partitions}
    found = [(call, tile) for call in partitions for tile in _viewed(source, call.args[0])]
    for call, tile in sorted(found, key=lambda one: one[1] not in whole):
        edit = rewritten(source, call.args[0], tile)
        yield f"{name_of(call)} of {tile} itself", (edit,)


def _viewed(source: Source, node: ast.expr) -> Iterator[str]:
    """The tensors that an expression is a view of."""
    if isinstance(node, ast.Name):
        assigned = [value for name, value in _assignments(source.tree) if name == node.id]
        node = assigned[0] if len(assigned) == 1 else node
    if not isinstance(node, ast.Call):
        return
    if len(node.args) == 1 and isinstance(node.args[0], ast.Name) and not node.keywords:
        yield node.args[0].id
    if name_of(node) == "make_tensor" and len(node.args) == 2:
        parts = (one for one in ast.walk(node) if isinstance(one, ast.Attribute))
        found = (one.value for one in parts if one.attr in (_TAKEN, "layout"))
        yield from dict.fromkeys(ast.unparse(one) for one in found)


def _swizzles(source: Source) -> Iterator[tuple[str, Candidate]]:
    """The numbers of one `make_swizzle` for those of another, where they are written there."""
    calls = [call for call in source.calls() if name_of(call) == "make_swizzle" and len(call.args) == 3]
    made = [call for call in calls if all(isinstance(arg, ast.Constant) for arg in call.args)]
    numbers = [tuple(ast.unparse(arg) for arg in call.args) for call in made]
    for call, own in zip(made, numbers, strict=True):
        for other in dict.fromkeys(numbers):
            if other != own:
                start, _ = source.span_of(call.args[0])
                _, end = source.span_of(call.args[2])
                new = ", ".join(other)
                yield f"swizzle {new} for {', '.join(own)}", (Edit(source.path, start, end, new),)


def _inner(source: Source) -> Iterator[tuple[str, Candidate]]:
    """The inner part of a layout as the swizzle of a tensor that is made over its outer part."""
    for call in source.calls():
        outer = next(
            (one for one in call.args if isinstance(one, ast.Attribute) and one.attr == "outer"), None
        )
        if outer is None or name_of(call) not in _SWIZZLED:
            continue
        inner = f"{ast.unparse(outer.value)}.inner"
        for edits in with_keyword(source, call, "swizzle", inner, None):
            yield f"the swizzle {inner}", edits


def _pointers(source: Source) -> Iterator[tuple[str, Candidate]]:
    """A pointer that was recast for the tile's own, and the other way round."""
    for function in (node for node in ast.walk(source.tree) if isinstance(node, ast.FunctionDef)):
        for name, value in _assignments(function):
            if not isinstance(value, ast.Call) or name_of(value) != "recast_ptr" or not value.args:
                continue
            own = ast.unparse(value.args[0])
            inside = {id(one) for one in ast.walk(value)}
            for node in ast.walk(function):
                if not isinstance(node, ast.expr) or id(node) in inside or not _read(node):
                    continue
                text = ast.unparse(node)
                if text in (name, own):
                    new = own if text == name else name
                    yield f"{new} for {text}", (rewritten(source, node, new),)


def _read(node: ast.expr) -> bool:
    """Whether a name or an attribute is read, not assigned."""
    return isinstance(node, (ast.Name, ast.Attribute)) and isinstance(node.ctx, ast.Load)


def _assignments(tree: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    """Names that are assigned, each with its value."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            yield node.targets[0].id, node.value
