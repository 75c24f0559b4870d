"""LC260 promise-not-renewed: a kernel that relies on an alignment promise is called with pointers that nothing checks."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from layoutcheck.lint import resolve
from layoutcheck.lint.rule import Hit, make_rule
from layoutcheck.lint.scopes import Call, Scope
from layoutcheck.lint.source import Source, names_in

_MAKERS = frozenset(("from_dlpack", "make_ptr", "make_fake_tensor", "make_fake_compact_tensor"))
_HOST = ("jit", "kernel")


@make_rule("note", "compile", "make_ptr")
def rule(source: Source) -> Iterator[Hit]:
    """Calls of compiled kernels, and pointers made of integers."""
    for call in source.called("compile"):
        if call.name.endswith("cute.compile") or call.name.endswith("compile.compile"):
            yield from _calls_of(source, call)
    for call in source.called("make_ptr"):
        yield from _made_of_integer(source, call)


def _calls_of(source: Source, compiled: Call) -> Iterator[Hit]:
    """Calls, in the same function, of what `cute.compile` returned."""
    scope = compiled.scope
    names = {
        name for name, bound in scope.values.items() if any(b and b.node is compiled.node for b in bound)
    }
    if not names:
        return
    constants = (each.value for each in ast.walk(compiled.node) if isinstance(each, ast.Constant))
    options = " ".join(each for each in constants if isinstance(each, str))
    tvm = "tvm-ffi" in options
    promised = [_promise(source, scope, argument) for argument in compiled.node.args[1:]]
    for node in resolve.statements(scope):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in names):
            continue
        for align, argument in zip(promised, node.args, strict=False):
            if align is None or align[0] <= (_promise(source, scope, argument) or (0, ""))[0]:
                continue
            pointer = _unpromised(source, scope, argument, align[1], tvm)
            if pointer and not _guarded(source, scope, pointer):
                yield Hit(
                    argument,
                    f"compiled for {align[0]}-byte alignment, but called with a pointer that nothing checks",
                    f"The kernel was compiled with assumed_align={align[0]}; '{pointer}' comes from the caller and may be a "
                    f"slice: assert {pointer}.data_ptr() % {align[0]} == 0, or promise it here too, which checks it.",
                    {"assumed_align": align[0], "pointer": pointer},
                )


def _promise(source: Source, scope: Scope, node: ast.expr) -> tuple[int, str] | None:
    """The alignment that an argument promises, and which function made it; None where it is not written out."""
    found, index = resolve.follow(scope, node)
    while isinstance(found, ast.Call) and isinstance(found.func, ast.Attribute):
        if resolve.last(source, found) in _MAKERS:
            break
        found = found.func.value  # from_dlpack(...).mark_layout_dynamic()
    if not isinstance(found, ast.Call) or index is not None:
        return None
    maker = resolve.last(source, found)
    if maker not in _MAKERS:
        return None
    for keyword in found.keywords:
        if keyword.arg == "assumed_align":
            align = resolve.integer(scope, keyword.value)
            return None if align is None else (align, maker)
    return None


def _unpromised(source: Source, scope: Scope, node: ast.expr, maker: str, tvm: bool) -> str | None:
    """The parameter that an argument's address comes from, where no check lies between."""
    if tvm and maker != "make_ptr":
        return None
    found, index = resolve.follow(scope, node)
    if found is None or index is not None:
        return None
    if isinstance(found, ast.Call) and resolve.last(source, found) == "from_dlpack" and found.args:
        if any(keyword.arg == "assumed_align" for keyword in found.keywords):
            return None
        found, index = resolve.follow(scope, found.args[0])
    method = found.func if isinstance(found, ast.Call) else None
    if isinstance(method, ast.Attribute) and method.attr == "data_ptr":
        found, index = resolve.follow(scope, method.value)
    return _callers(source, scope, found) if index is None else None


def _callers(source: Source, scope: Scope, node: ast.expr | None) -> str | None:
    """The name of a parameter that callers outside this file give."""
    if not isinstance(node, ast.Name) or node.id not in scope.parameters or resolve.decorated(scope, *_HOST):
        return None
    return None if node.id in scope.values or source.callers(scope) else node.id


def _made_of_integer(source: Source, call: Call) -> Iterator[Hit]:
    """`cute.make_ptr(dtype, address, ..., assumed_align=N)` of a parameter, in a `@cute.jit` function."""
    scope = call.scope
    if not resolve.decorated(scope, *_HOST):
        return
    align = resolve.integer(scope, call.argument(None, "assumed_align"))
    address, index = resolve.follow(scope, call.argument(1, "value"))
    if (
        align is None
        or index is not None
        or not isinstance(address, ast.Name)
        or address.id not in scope.parameters
    ):
        return
    callers = source.callers(scope)
    if _guarded(source, scope, address.id) or any(_asks_alignment(each.scope) for each in callers):
        return
    if any(_asks_alignment(each) for each in source.scopes):
        return
    yield Hit(
        call.node,
        f"nothing checks that '{address.id}' is a multiple of {align}",
        f"assumed_align={align} is a promise about an integer that the caller gives; if it is not true, the kernel faults or reads other data. Check it on the host: assert address % {align} == 0.",
        {"assumed_align": align, "pointer": address.id},
    )


def _guarded(source: Source, scope: Scope, name: str) -> bool:
    """Whether the function asks for the remainder of an address, or hands the pointer to something that may."""
    if any(name in names_in(test) and _remainder(test) for test in resolve.conditions(scope)):
        return True
    calls = (node for node in resolve.statements(scope) if isinstance(node, ast.Call))
    return any("align" in resolve.last(source, one).lower() and name in names_in(one) for one in calls)


def _asks_alignment(scope: Scope) -> bool:
    return any(_remainder(test) for test in resolve.conditions(scope))


def _remainder(test: ast.expr) -> bool:
    return any(
        isinstance(each, ast.BinOp) and isinstance(each.op, ast.Mod | ast.BitAnd) for each in ast.walk(test)
    )
