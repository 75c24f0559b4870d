"""LC113 tma-tile: the shared layout, the tiler and the tensors of a TMA copy do not match."""

from __future__ import annotations

from layoutcheck.copies.compiler.prediction import Prediction
from layoutcheck.findings import plain
from layoutcheck.rules.rule import Analysis, Findings, Where, make_rule, refusal

_SHAPE = "the shared tensor does not have the shape of the tile"
_TITLES = {
    "tma_rank": _SHAPE,
    "tma_tiler": _SHAPE,
    "tma_modes": "the tile has more modes than the global tensor",
    "tma_size": _SHAPE,
    "tma_pitch": "behind V the shared tensor steps by a part of 16 bytes",
    "tma_pixel_box": "the shared layout is not a run of channels followed by a run of pixels",
    "tma_filter": "the filter has no tap, or no position in the tensor",
    "tma_taps": "the tile's columns are neither whole taps nor a part of one tap",
    "tma_plain_layout": "the shared layout of an im2col copy is not composed with a swizzle; S<0,4,3>, the identity, would do",
}


def _why(said: Prediction) -> str:
    if said.kind == "tma_pitch":
        return (
            " Behind V stand boxes, and each begins at a multiple of 16 B at least. Where no tma_partition made the views, the "
            "tile's own columns are taken for boxes."
        )
    why = str(said.evidence.get("why", ""))
    return f" {why[0].upper()}{why[1:]}." if why else ""


@make_rule("rejected")
def rule(analysis: Analysis) -> Findings:
    """What the Python layer and the verifier refuse."""
    said = refusal(analysis, *_TITLES)
    if said is None:
        return
    yield rule.finding(
        _TITLES[said.kind],
        f"The compiler says: {said.message.rstrip('.')}.{_why(said)}",
        Where(said.operand),
        plain(said.evidence),
    )
