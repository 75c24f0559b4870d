"""Copies whose shapes and layouts are written out in the source, judged without running it.

A copy is followed back through names that are bound once, and through a parameter to the one call in the
file that gives it. What is not a literal, or a CuTe function of literals, ends the walk: the copy is then
unknown, and a trace has to see it. Kernel arguments' pointers are taken to be 16-byte aligned global memory
of the atom's element type, which the findings say.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from layoutcheck.errors import InputError
from layoutcheck.lint.reader import Reader
from layoutcheck.lint.scopes import Call
from layoutcheck.lint.source import Module
from layoutcheck.lint.values import Unknown


def judge(module: Module) -> Iterator[tuple[Call, Any]]:
    """Every copy that is written out, with its Report (`check.Report`)."""
    for call in module.all_calls("copy", "autovec_copy", "copy_atom_call"):
        if is_cute(module, call) and call.argument(None, "pred") is None:
            try:
                arguments = Reader(module).copy(call)
            except (Unknown, InputError, RecursionError):
                continue
            report = _report(arguments)
            if report is not None:
                yield call, report


_PLAIN = frozenset(("autovec_copy", "basic_copy", "basic_copy_if", "copy_atom_call"))  # after a star import


def is_cute(module: Module, call: Call) -> bool:
    """Whether a call named `copy` is CuTe's, not a dictionary's."""
    return call.name.startswith(("cutlass.cute.", "cute.")) or call.name in _PLAIN


def compositions(module: Module) -> Iterator[tuple[Call, str, str, str]]:
    """Every `composition(A, B)` of literals that the DSL answers wrongly: the call, A, B, its answer."""
    for call in module.all_calls("composition"):
        reader = Reader(module)
        try:
            a, b = (reader.layout(call.scope, call.argument(i, key)) for i, key in enumerate(("lhs", "rhs")))
        except (Unknown, InputError, RecursionError):
            continue
        from layoutcheck.algebra import Layout, composition

        if not (isinstance(a, Layout) and isinstance(b, Layout)):
            continue
        try:
            composition(a, b)
        except InputError:
            try:
                answer = composition(a, b, strict=False)
            except InputError:
                continue  # the DSL refuses it as well
            yield call, str(a), str(b), str(answer)


def _report(arguments: dict[str, Any]) -> Any:
    from layoutcheck.judge import judge as judge_copy
    from layoutcheck.sources.request import build

    try:
        copy, assumptions = build(**arguments)
    except InputError:
        return None  # not what `cute.copy` would take; the trace says more
    return judge_copy(copy, assumptions=assumptions)
