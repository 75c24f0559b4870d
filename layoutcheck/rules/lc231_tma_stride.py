"""LC231 tma-stride: a stride of a TMA copy's global tensor is not a multiple of 16 bytes."""

from __future__ import annotations

from math import lcm

from layoutcheck.algebra.integers import Dynamic
from layoutcheck.atoms.tma.descriptor import DRIVER, PIECE_BYTES, WHOLE_PIECES
from layoutcheck.atoms.tma.plan import gmem_side
from layoutcheck.rules.rule import Analysis, Findings, Where, demanded, make_rule
from layoutcheck.rules.tma import EFFECTS, mapped_strides, mapped_tensor, whole_tma


@make_rule("wrong", explains=EFFECTS)
def rule(analysis: Analysis) -> Findings:
    """Every stride of the tensor map that is cut off."""
    yield from _of_coordinates(analysis)
    found = whole_tma(analysis)
    if found is None or (analysis.effect is None and analysis.copy.tma and analysis.copy.tma.coord):
        return  # that very tile does not meet the stride
    if found.mode_of(0)[2] != 1 and found.map.dims[0] != 1:
        return  # the dimensions are in the wrong order: LC232
    width = found.gmem.dtype.bits
    for dimension, stride in enumerate(found.map.strides_bytes, 1):
        # LC245: a map of other elements.
        if stride % PIECE_BYTES == 0 or dimension > len(found.stored.strides_bytes):
            continue
        mode, typed, value = found.mode_of(dimension)
        kept = found.stored.strides_bytes[dimension - 1]
        run_time = isinstance(typed, Dynamic)
        named = f"stride {typed}, {value} for instance," if run_time else f"stride {typed},"
        yield rule.finding(
            f"the tensor map stores a stride of {stride} B as {kept} B{', for instance' * run_time}",
            f"Mode {mode} of the global tensor {found.gmem.layout} has {named} which is "
            f"{value * width / 8:g} B: globalStrides must be multiples of 16 B, and the DSL drops the remainder, so that row i is read from {stride - kept} * i B before its address."
            + f" With a stride that is a multiple of {_piece(width)} elements the copy is right: promise it (?{{div={_piece(width)}}}), and check it on the host."
            * run_time,
            Where(gmem_side(analysis.copy)),
            demanded("globalStrides", stride, WHOLE_PIECES, DRIVER, stored=kept, mode=mode),
        )
        return


def _piece(bits: int) -> int:
    """How many elements of `bits` are the least whole number of 16 bytes."""
    return lcm(8 * PIECE_BYTES, bits) // bits


def _of_coordinates(analysis: Analysis) -> Findings:
    """Of a traced copy: a stride that is cut off, or one that is only known at run time."""
    gmem = mapped_tensor(analysis)
    for mode, stride in mapped_strides(analysis):
        assert gmem is not None
        known = stride.divisor if isinstance(stride, Dynamic) else stride
        bits = known * gmem.dtype.bits
        if bits % 128 == 0:
            continue
        named = f"Mode {mode} of the global tensor {gmem.layout} has stride {stride}"
        if isinstance(stride, Dynamic):
            yield rule.finding(
                "a stride of the tensor map is only known at run time",
                f"{named}: the DSL drops the remainder of a division by 16 B, without a check. Promise the divisibility where the tensor is made, and check it on the host.",
                Where(gmem_side(analysis.copy)),
                demanded("globalStrides", str(stride), WHOLE_PIECES, DRIVER, mode=mode),
                severity="note",
            )
            return
        kept = bits // 8 // PIECE_BYTES * PIECE_BYTES
        yield rule.finding(
            f"the tensor map stores a stride of {bits / 8:g} B as {kept} B",
            f"{named}, which is {bits / 8:g} B: globalStrides must be multiples of 16 B, and the DSL drops the remainder.",
            Where(gmem_side(analysis.copy)),
            demanded("globalStrides", bits // 8, WHOLE_PIECES, DRIVER, stored=kept, mode=mode),
        )
        return
