"""`layoutcheck canonical`: whether a shared-memory layout can be an operand of the tensor cores."""

from __future__ import annotations

import json

from layoutcheck.findings import versioned
from layoutcheck.formats import check_format
from layoutcheck.machine.canonical import Canonical
from layoutcheck.reports.style import Style

_SAID = {"legal": "canonical", "rejected": "not canonical", "wrong": "accepted, and not what the layout says"}
_MEASURED = {
    "wgmma": "the compiler's own answer, predicted",
    "tcgen05": "the compiler's own answer, predicted; no Blackwell GPU ran it",
}


def render(found: Canonical, format_: str, style: Style) -> str:
    """The answer about a layout, as it was given. Raises InputError for an unknown format."""
    check_format("canonical", format_)
    if format_ == "json":
        return (
            json.dumps(versioned({"layout": found.layout, "unit": found.unit, **found.to_dict()}), indent=2)
            + "\n"
        )
    title = f"{found.verdict}: {found.layout} is {_SAID[found.verdict]} for {found.unit}"
    lines = style.behind("", f"{title}: {found.name}" if found.name else title)
    lines += style.behind("  read as  ", found.read_as)
    lines += style.behind("  ", found.reason)
    lines += style.behind("  compiler  ", found.decision.message)
    if found.decision.accepted:
        lines += style.behind(
            "  descriptor  ",
            f"leading offset {found.decision.leading_bytes} B, stride offset "
            f"{found.decision.stride_bytes} B; the base must be a multiple of {found.align_bytes} B",
        )
    if found.nearest:
        near = f"{found.nearest_name}: {found.nearest}, {found.nearest_swizzle} on the pointer (bytes)"
        lines += style.behind("  nearest  ", near)
        lines += [f"    {line}" for line in found.code.splitlines()]
    elif found.verdict != "legal":
        lines.append("  nearest  none: no canonical tile has this shape and element type")
    lines.append(f"  ({_MEASURED[found.unit]})")
    return "\n".join(lines) + "\n"
