"""LC208 bit-copy: the copy moves bits between two types of equal width and converts no value."""

from __future__ import annotations

from layoutcheck.analysis.comparison.observables import reinterpreted
from layoutcheck.rules.rule import Analysis, Findings, Where, make_rule


@make_rule("wrong")
def rule(analysis: Analysis) -> Findings:
    """Two types of one width where the same bits mean different values."""
    if not analysis.accepted or not reinterpreted(analysis.copy):
        return
    src, dst = analysis.copy.src.dtype, analysis.copy.dst.dtype
    yield rule.finding(
        f"{src} bits are copied into a {dst} tensor without conversion",
        f"The compiler compares widths ({src.bits} bits), not types: every value is reinterpreted.",
        Where("dst"),
        {"src_dtype": str(src), "dst_dtype": str(dst), "bits": src.bits},
    )
