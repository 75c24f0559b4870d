"""The figures of docs/synthesis.md about Triton's conversions of layouts, from docs/evidence/."""

from __future__ import annotations

from typing import Any

from docs.figures import filled, read, with_figures


def with_conversions(text: str) -> str:
    """The page with its figures."""
    return with_figures(text, "conversions", _figures)


def _figures() -> str:
    found = read("synthesis_triton")
    rows = [row for row in found["conversions"] if "ours" in row]
    dearer = [row for row in rows if not row["either_side"]]
    count = len(rows)
    fewer = sum(_wavefronts(row, "ours") < _wavefronts(row, "theirs") for row in rows)
    text = (
        f"{found['reached']:,} of the {found['in_all']:,} conversions were compared, which Triton "
        f"{found['versions']['triton']} compiled for sm_90. "
        f"{count:,} of them go through shared memory. Both sides together, `lc.exchange` takes no more "
        f"wavefronts and no more instructions in {found['no_worse']:,} of {count:,}; in {fewer:,} it takes "
        f"fewer wavefronts. On each side it takes no more wavefronts in {found['either_side']:,}, and no "
        f"narrower accesses in {found['as_wide']:,}."
    )
    if dearer:
        least = min(_wavefronts(row, "theirs") / _wavefronts(row, "ours") for row in dearer)
        most = max(_wavefronts(row, "theirs") / _wavefronts(row, "ours") for row in dearer)
        kinds = " and ".join(f"{n}" for n in sorted({row["bits"] for row in dearer}))
        text += (
            f" The other {len(dearer)} have elements of {kinds} bits: what one side saves, the other pays. "
            f"There Triton's conversion takes {least:.1f} to {most:.1f} times as many wavefronts in all. "
            f"{_even(dearer)} `lc.exchange` orders by the time of both sides."
        )
    return filled(text) + "\n"


def _even(dearer: list[dict[str, Any]]) -> str:
    """What the layouts that take no more on either side cost."""
    even = [row for row in dearer if row["even"]]
    least = min((_wavefronts(row, "even") / _wavefronts(row, "ours") for row in even), default=0.0)
    return (
        f"In {len(even)} of the {len(dearer)} the search counted a layout that takes no more on either side, "
        f"too: with at least {least:.1f} times as many wavefronts as the one that it chooses."
    )


def _wavefronts(row: dict[str, Any], who: str) -> int:
    return sum(side[2] for side in row[who].values())
