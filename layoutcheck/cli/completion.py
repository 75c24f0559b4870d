"""What a shell completes as the value of an option: names that are known without input; else files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pkgutil import resolve_name


def completer(parameter: str, values: Sequence[str] = ()) -> Callable[[str], list[str]] | None:
    """What completes a value of the parameter: one of `values`, or its names; None where there are none."""
    if not values and parameter not in _NAMES:
        return None

    def complete(incomplete: str) -> list[str]:
        found = values or resolve_name(f"layoutcheck.{_NAMES[parameter]}")
        names = found() if callable(found) else found
        before, comma, word = incomplete.rpartition(",") if parameter in _LISTS else ("", "", incomplete)
        return [f"{before}{comma}{one}" for one in names if one.startswith(word)]

    return complete


_LISTS = ("select", "ignore")
# Where the names of a parameter are, or who gives them: imported when a shell asks.
_NAMES = {
    "arch": "machine.arch:TARGETS", "atom": "sources.atoms:shown", "case": "sources.cases:case_names",
    "by": "tracing:fix_names",
    **dict.fromkeys(("code", *_LISTS), "rulebook:rules"),
    **dict.fromkeys(("dtype", "src_dtype", "dst_dtype"), "machine.dtypes:SHOWN"),
}  # fmt: skip
