"""TMA copies that override their tensor map: what the compiler says of their operands. Measured.

`CopyBulkTensorTileG2SOverrideOp` and its kin copy between [a global tensor, the coordinates that are left]
and shared memory: address, extents and strides of the map are those of the copy. What then moves is not
modelled.
"""

from __future__ import annotations

from dataclasses import replace

from layoutcheck.atoms.tma import TmaCopy
from layoutcheck.copies.compiler.operands import check_shapes
from layoutcheck.copies.compiler.prediction import Prediction, rejected
from layoutcheck.copies.compiler.python_layer import differing_widths, grouped
from layoutcheck.copies.copy import Copy
from layoutcheck.copies.opaque import CoordTensor, OtherOperand

_WIDTHS = "`copy` currently only supports equal source and destination element type bit width"


def predict_override(copy: Copy, atom: TmaCopy) -> Prediction:
    """What is refused of the operands' kinds, in the compiler's order; else that nothing is known."""
    side, shared = ("src", "dst") if atom.loads else ("dst", "src")
    there, here = copy.side(side), copy.side(shared)
    name = f"'{atom}'" if atom.loads else f"'{atom.dtype}'"
    unknown = Prediction(
        "unknown", "tensor maps that a copy overrides are not modelled", "tma_override", "atom"
    )
    if atom.gbasis is None:
        return unknown  # made by make_tiled_tma_atom, from tensors that are not the copy's
    if any(isinstance(view, OtherOperand) and not isinstance(view, CoordTensor) for view in (there, here)):
        return unknown
    plain = not isinstance(there, CoordTensor) and not isinstance(here, CoordTensor)
    second = copy.index is not None and not atom.loads  # a second destination: widths are not compared
    refused = differing_widths(copy, _WIDTHS) if plain and not second else None
    refused = refused or check_shapes(replace(copy, src=grouped(copy.src), dst=grouped(copy.dst)))
    if refused is not None:
        return refused
    if copy.index is None:
        operands, got = ("2 src operands (gmem + coord) and 1 dst operand (smem)", "1 and 1")
        if not atom.loads:
            operands = "1 src operand (smem) and 2 dst operands (gmem + coord)"
        message = f"{name} override expects {operands}, got {got}"
        return rejected("tma_operands", message, side)
    if isinstance(there, OtherOperand) or isinstance(here, OtherOperand):
        return rejected("tma_operands", f"{name} override src[0] and dst[0] need be CuteMemRefType", side)
    if not isinstance(copy.index, CoordTensor):
        return unknown
    for operand, view, space in ((shared, here, "smem"), (side, there, "gmem")):
        if view.space != space:
            word = "shared" if space == "smem" and atom.loads else space
            message = f"{name} {'override ' * (space == 'gmem')}{operand} need be {word} based memref"
            return rejected("space", message, operand)
    return unknown
