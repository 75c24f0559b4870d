"""LC113 tma-tile: the shared layout, the tiler and the tensors of a TMA copy do not match.

## What it means

`make_tiled_tma_atom` needs a shared layout with one mode for each mode of the tiler (and optionally
one for stages) of the same size; `tma_partition` needs a shared tensor of the tile's size. For
im2col, `make_im2col_tma_atom` has three demands. The shared layout is composed with a swizzle
(`S<0,4,3>`, the identity, is enough) and is a run of at most 256 channels followed by a run of at
most 1024 pixels. Along each dimension the filter has at least one tap and at least one position in
the tensor. Each tile holds whole taps, or a part of one tap. `cute.copy` takes a shared tensor whose
modes behind V have strides of whole 16 bytes; one whose tile was never grouped into V does not have them.

## Why

The DSL: an assertion on the ranks, and the errors "expected top-level shape equivalence between the
SMEM layout and the CTA V-map" and "expects smem and gmem have the same size in the first rank"; of im2col
"failed to compute a non-empty im2col TMA G-basis", "expects positive shape mode", "must be CuTe composed layout
type", "failed to perform a valid division" and "unable to partition input tensors for TMA"; of `cute.copy`
"shared-memory operand stride at mode 1 leaf 0 is 16 bits, not a multiple of the required 128-bit TMA smem alignment"
(measured).

## How to fix it

Give the shared layout the tiler's shape, with any nesting inside each mode:
`cute.tile_to_shape(atom, tiler, order)`. Partition one stage at a time. Give `tma_partition` both tensors with
the tile's modes grouped, `cute.group_modes(tensor, 0, 2)`, and copy what it returns.
"""

from __future__ import annotations

from layoutcheck.copies.compiler.prediction import Prediction
from layoutcheck.findings import plain
from layoutcheck.rules.rule import TMA, Analysis, Findings, Where, make_rule, refusal

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


def find(analysis: Analysis) -> Findings:
    """What the Python layer and the verifier refuse."""
    said = refusal(analysis, *_TITLES)
    if said is None:
        return
    yield RULE.finding(
        _TITLES[said.kind],
        f"The compiler says: {said.message.rstrip('.')}.{_why(said)}",
        Where(said.operand),
        plain(said.evidence),
    )


RULE = make_rule("rejected", find, flagged=TMA | {"tiler": "(64,32)"}, twin={"tiler": "(64,64)"})
