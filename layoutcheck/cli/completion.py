"""What a shell completes as the value of an option: names that are known without input; else files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence


def completer(parameter: str, values: Sequence[str] = ()) -> Callable[[str], list[str]] | None:
    """What completes a value of the parameter: one of `values`, or its names; None where there are none."""
    names = _NAMES.get(parameter, tuple)
    if not values and names is tuple:
        return None

    def complete(incomplete: str) -> list[str]:
        before, comma, word = incomplete.rpartition(",") if parameter in _LISTS else ("", "", incomplete)
        return [f"{before}{comma}{one}" for one in values or names() if one.startswith(word)]

    return complete


def _archs() -> Iterable[str]:
    from layoutcheck.machine.arch import TARGETS

    return TARGETS


def _atoms() -> Iterable[str]:
    from layoutcheck.sources.atoms import known

    return known().shown


def _cases() -> Iterable[str]:
    from layoutcheck.sources.cases import case_names

    return case_names()


def _fixes() -> Iterable[str]:
    from layoutcheck.tracing import fix_names

    return fix_names()


def _rules() -> Iterable[str]:
    from layoutcheck.rulebook import rules

    return rules()


def _types() -> Iterable[str]:
    from layoutcheck.machine.dtypes import FLOATS

    return [*FLOATS, "i8", "i32"]


_LISTS = ("select", "ignore")
_NAMES: dict[str, Callable[[], Iterable[str]]] = {
    "arch": _archs, "atom": _atoms, "case": _cases, "by": _fixes, "code": _rules, "select": _rules,
    "ignore": _rules, "dtype": _types, "src_dtype": _types, "dst_dtype": _types,
}  # fmt: skip
