"""LC264 strides-dropped: a tensor is rebuilt from its pointer and sizes, without its strides."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from layoutcheck.lint import resolve
from layoutcheck.lint.rule import Hit, make_rule
from layoutcheck.lint.scopes import Call
from layoutcheck.lint.source import Source

_STRIDES = frozenset(("stride", "layout", "stride_order", "dim_order"))


@make_rule("unknown", "make_tensor")
def rule(source: Source) -> Iterator[Hit]:
    """`make_tensor(x.iterator, make_layout(sizes))` of a parameter, in a function that launches a kernel."""
    launching = {call.scope for call in source.called("launch")}
    for call in source.called("make_tensor"):
        scope = call.scope
        if scope not in launching or not resolve.decorated(scope, "jit"):
            continue
        pointer, layout = call.argument(0, "iterator"), call.argument(1, "layout")
        if not (isinstance(pointer, ast.Attribute) and pointer.attr == "iterator"):
            continue
        tensor = pointer.value
        if not (
            isinstance(tensor, ast.Name) and tensor.id in scope.parameters and tensor.id not in scope.values
        ):
            continue
        made, index = resolve.follow(scope, layout)
        if index is not None or not isinstance(made, ast.Call) or resolve.last(source, made) not in _LAYOUTS:
            continue
        if _one_mode(made) or _strides_seen(source, call, made, tensor.id):
            continue
        yield Hit(
            call.node,
            f"the strides of '{tensor.id}' are dropped: it is read as packed",
            f"{source.in_one_line(made)[:80]} is computed from sizes; a padded or sliced '{tensor.id}' is read wrongly, "
            f"without an error. Take them from {tensor.id}.stride.",
            {"tensor": tensor.id},
        )


_LAYOUTS = frozenset(("make_layout", "make_ordered_layout"))


def _one_mode(made: ast.Call) -> bool:
    """Whether the layout is of one mode: a flat buffer has no strides to lose."""
    shape = made.args[0] if made.args else None
    if isinstance(shape, ast.Tuple):
        return len(shape.elts) < 2
    return isinstance(shape, ast.Constant | ast.BinOp) or (
        isinstance(shape, ast.Call) and getattr(shape.func, "attr", "") in ("size", "cosize")
    )


def _strides_seen(source: Source, call: Call, made: ast.Call, tensor: str) -> bool:
    """Whether the layout has strides: an argument of its own, or attributes of the tensor."""
    if any(keyword.arg in (None, "stride") for keyword in made.keywords):
        return True  # written by someone who had them
    return any(
        isinstance(each, ast.Attribute)
        and each.attr in _STRIDES
        and isinstance(each.value, ast.Name)
        and each.value.id == tensor
        for node in resolve.slice_back(call.scope, made)
        for each in ast.walk(node)
    )
