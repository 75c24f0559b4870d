"""LC240 tma-rows: the shared layout of a gather4 or scatter4 does not pack four rows as the instruction does."""

from __future__ import annotations

from layoutcheck.atoms.tma import ROWS, TmaCopy
from layoutcheck.atoms.tma.descriptor import PTX, SPAN_BYTES
from layoutcheck.atoms.tma.plan import gmem_side, smem_side, tile_of
from layoutcheck.atoms.tma.rows import indexed_mode
from layoutcheck.copies.offsets import v_mode
from layoutcheck.rules.rule import Analysis, Findings, Where, demanded, make_rule
from layoutcheck.rules.tma import (
    EFFECTS,
    Strayed,
    WholeTma,
    box_of,
    first_strayed,
    names_rows,
    same_pattern,
    whole_tma,
)

MODES = f"{PTX}: tile::gather4 and tile::scatter4"


@make_rule("wrong", explains=EFFECTS)
def rule(analysis: Analysis) -> Findings:
    """The first row that an instruction does not bring where the tile has it."""
    if analysis.copy.tma is None and isinstance(analysis.copy.atom, TmaCopy):
        yield from _of_views(analysis)
    found = whole_tma(analysis)
    if found is None or analysis.copy.index is None or analysis.effect is None:
        return
    if not names_rows(analysis, found):
        return
    first = first_strayed(analysis, found)
    if first is None:
        return
    field, value, demand = _cause(analysis, found)
    place = (
        "past the tile" if first.wants is None else f"where the tile has the row of index {first.wants[0]}"
    )
    if first.wants is not None and first.wants[0] == first.brings[0]:
        place = f"where the tile has column {first.wants[1]}"
    yield rule.finding(
        f"instruction {first.instruction} moves four rows that the tile has elsewhere",
        f"{field} is {value}, and must be {demand}. {_row(first)} {place}.",
        Where(smem_side(analysis.copy), instruction=first.instruction),
        demanded(field, value, demand, MODES, index=first.brings[0], row=first.row),
    )


def _of_views(analysis: Analysis) -> Findings:
    """Operands as `cute.copy` sees them whose V is not four rows of the box."""
    box = box_of(analysis)
    smem = analysis.copy.side(smem_side(analysis.copy))
    if box is None or analysis.copy.index is None or analysis.effect is None or analysis.effect["fault"]:
        return
    if not same_pattern(analysis, smem) or 0 < SPAN_BYTES[box[2]] != box[1]:
        return
    v, wide = v_mode(analysis.copy.side(gmem_side(analysis.copy)).layout), box[0][0]
    demand = f"blocks of ({wide},{ROWS}): a run of {wide} columns in each of {ROWS} rows"
    yield rule.finding(
        "V does not name the four rows that the instruction packs",
        f"One instruction moves {ROWS} rows of {wide} elements, all from one column, one after the other. V of the "
        f"coordinates is {v}, V of the shared tensor {v_mode(smem.layout)}. The rows of the tile are not as long as the box, or their number is not a multiple of four.",
        Where(smem_side(analysis.copy)),
        demanded("V", str(v), demand, MODES),
    )


def _row(first: Strayed) -> str:
    return (
        f"Row {first.row} of instruction {first.instruction}, the row of index {first.brings[0]} from column "
        f"{first.brings[1]} on, lies"
    )


def _cause(analysis: Analysis, found: WholeTma) -> tuple[str, int | str, str]:
    """The field to blame, what it is, and what it must be."""
    tiler = tile_of(analysis.copy).tiler
    mode = indexed_mode(analysis.copy, found.static)
    if tiler[mode] % ROWS:
        return f"extent of mode {mode} of the tile", tiler[mode], f"a multiple of {ROWS}"
    side = found.plan.sides[0]
    if side.extent < side.of:
        return "boxDim[0]", side.extent, f"as long as the rows of shared memory, {side.of}"
    return "smem layout", str(found.smem.layout), f"rows of {side.extent} elements, one after the other"
