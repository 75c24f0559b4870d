"""The figures of docs/editor.md about a keystroke, from docs/evidence/."""

from __future__ import annotations

from typing import Any

from docs.figures import filled, read, with_figures


def with_latency(text: str) -> str:
    """The page with its figures."""
    return with_figures(text, "latency", _figures)


def _figures() -> str:
    idle, busy = read("server"), read("server_busy")
    clean, full = idle["files"]
    paragraphs = (
        f"The median is {_one(clean['wall_ms'])}, and {_one(full['wall_ms'])} if {full['findings']} findings "
        f"are sent again ([on an idle machine](evidence/server.json), {idle['date']}, {idle['device']}).",
        f"With a load average of {busy['load_average']:.0f} ([{busy['date']}](evidence/server_busy.json)) "
        f"the median of the same files is {_all(busy, 'wall_ms')}. A busy machine does not lengthen the "
        f"server's processor time: {_all(busy, 'processor_ms')}.",
    )
    return "\n".join(map(filled, paragraphs)) + "\n"


def _all(run: dict[str, Any], which: str) -> str:
    return " and ".join(_one(one[which]) for one in run["files"])


def _one(times: dict[str, float]) -> str:
    return f"{times['median']:.0f} ms (p99 {times['p99']:.0f} ms, at most {times['most']:.0f} ms)"
