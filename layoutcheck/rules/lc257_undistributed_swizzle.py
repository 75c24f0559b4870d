"""LC257 undistributed-swizzle: the view's layout is still composed with a swizzle at a run-time offset, which the lowering drops."""

from __future__ import annotations

from layoutcheck.copies.opaque import run_time_swizzle
from layoutcheck.rules.rule import Analysis, Findings, Where, make_rule


@make_rule(
    "wrong",
    beyond="where the elements are depends on a run-time offset inside the layout, which is not modelled",
)
def rule(analysis: Analysis) -> Findings:
    """A composed layout with a run-time offset under an atom that forgets it."""
    if analysis.copy.atom is None or not analysis.copy.atom.drops_composed:
        return
    for side in ("src", "dst"):
        view = analysis.copy.side(side)
        swizzle = run_time_swizzle(view)
        if swizzle is not None:
            yield rule.finding(
                "the swizzle was not distributed: every instruction goes to one address",
                f"{view} is still composed with {swizzle} at a run-time offset. The lowering drops the layout, and all "
                "instructions of a thread use the address of its first element.",
                Where(side),
                {"swizzle": swizzle, "view": str(view)},
            )
            return
