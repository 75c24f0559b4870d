"""LC249 tma-taps: a box of an im2col copy goes past the tensor's channels, where the tile has the next filter tap."""

from __future__ import annotations

from layoutcheck.atoms.tma.plan import smem_side
from layoutcheck.rules.rule import Analysis, Findings, Where, demanded, make_rule
from layoutcheck.rules.tma import EFFECTS, whole_tma


@make_rule("wrong", explains=EFFECTS)
def rule(analysis: Analysis) -> Findings:
    """A box wider than the tensor has channels, whose other columns are missing."""
    found = whole_tma(analysis)
    if found is None or analysis.effect is None or found.map.corners is None:
        return
    channels, have = found.map.box[0], found.map.dims[0]
    if channels <= have:
        return
    yield rule.finding(
        f"a box of {channels} channels of a tensor that has {have}: the next tap's columns arrive as zeros",
        f"The shared layout {found.described.layout} has {channels} columns in a row, which are {channels // have} taps "
        f"of {have} channels. An instruction loads the channels of one tap, and zeros beyond the last channel.",
        Where(smem_side(analysis.copy)),
        demanded(
            "channelsPerPixel",
            channels,
            f"at most the tensor's {have} channels",
            "PTX ISA, tensor im2col mode",
        ),
    )
