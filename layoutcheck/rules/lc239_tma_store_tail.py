"""LC239 tma-store-tail: a TMA store writes past the end of rows whose length is not a multiple of 16 bytes."""

from __future__ import annotations

from math import lcm

from layoutcheck.algebra.integers import Dynamic
from layoutcheck.algebra.inttuple import flatten, wrap
from layoutcheck.atoms.tma.descriptor import PIECE_BYTES, WHOLE_PIECES
from layoutcheck.atoms.tma.plan import gmem_side
from layoutcheck.rules.rule import Analysis, Findings, Where, demanded, make_rule
from layoutcheck.rules.tma import whole_tma


@make_rule("wrong", explains=("outside_dst",))
def rule(analysis: Analysis) -> Findings:
    """Bytes written outside of the tensor."""
    found, effect = whole_tma(analysis), analysis.effect
    if found is None or effect is None or gmem_side(analysis.copy) != "dst" or not effect["outside_dst"]:
        return
    row = found.map.dims[0] * found.map.element_bits // 8
    if row % PIECE_BYTES == 0:
        return
    bits = found.map.element_bits
    extent = flatten(wrap(found.gmem.layout.shape))[found.mode_of(0)[0]]
    run_time, piece = isinstance(extent, Dynamic), lcm(8 * PIECE_BYTES, bits) // bits
    yield rule.finding(
        f"the store writes {-row % PIECE_BYTES} B past the end of each row it reaches{', for instance' * run_time}",
        f"Rows of {found.map.dims[0]} elements{', for instance,' * run_time} are {row} B. A TMA store writes whole "
        f"pieces of {PIECE_BYTES} B, so it overwrites {-row % PIECE_BYTES} B after a row's last element with what is "
        "in shared memory."
        + f" Rows of a multiple of {piece} elements are right: promise it (?{{div={piece}}}), and check it on the host."
        * run_time,
        Where("dst"),
        demanded("globalDim[0]", row, WHOLE_PIECES, "measured on an H200"),
    )
