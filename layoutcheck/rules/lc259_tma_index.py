"""LC259 tma-index: the index tensor of a gather4 or scatter4 does not name the rows that the tile needs."""

from __future__ import annotations

from layoutcheck.atoms.tma.descriptor import PTX
from layoutcheck.rules.rule import Analysis, Findings, Where, demanded, make_rule
from layoutcheck.rules.tma import EFFECTS, WholeTma, names_rows, reach, tma_atom, whole_tma

_DSL = "measured on the DSL"


@make_rule("wrong", explains=EFFECTS)
def rule(analysis: Analysis) -> Findings:
    """The first thing that keeps the index tensor from naming the rows."""
    index = analysis.copy.index
    if tma_atom(analysis) is None or index is None:
        return
    found = whole_tma(analysis)
    bad = _element(analysis) or (found and _place(analysis, found))
    if bad:
        title, message, field, value, demand, source = bad
        yield rule.finding(title, message, Where("index"), demanded(field, value, demand, source))


_Bad = tuple[str, str, str, object, str, str]


def _element(analysis: Analysis) -> _Bad | None:
    """The index tensor's element type and address."""
    index = analysis.copy.index
    assert index is not None
    if index.dtype.kind == "float":
        return (
            f"indices of {index.dtype}: the copy moves row 0 every time",
            f"The DSL does not read elements of {index.dtype}: the four row coordinates of every instruction are the constant 0.",
            "index type",
            str(index.dtype),
            "an integer, i32",
            _DSL,
        )
    width, align = index.dtype.bits // 8, index.proved_align_bytes
    if align % min(width, 4):
        return (
            f"indices of {width} B at addresses that are only known to be multiples of {align} B",
            f"The kernel loads every index with one {min(width, 4) * 8}-bit load, which faults at other addresses.",
            "index address",
            f"a multiple of {align} B",
            f"a multiple of {width} B",
            "PTX ISA, ld: addresses are naturally aligned",
        )
    return None


def _place(analysis: Analysis, found: WholeTma) -> _Bad | None:
    """Which mode is indexed, how far the indices reach and how many there are."""
    index = analysis.copy.index
    assert index is not None and found.plan.rows is not None
    rows = found.plan.sides[1].modes[0]
    if not names_rows(analysis, found):
        demand = f"stride 0 along every mode except mode {rows}"
        return (
            "the index tensor does not run along the rows of the tensor map",
            f"The rows of global memory are its mode {rows}, the one that is not contiguous; the index tensor "
            f"{index.layout} must have {demand}. Otherwise the copy uses the indices of other rows.",
            "index layout",
            str(index.layout),
            demand,
            "CuTe DSL, tma_partition: exactly one mode is a broadcast, the contiguous one",
        )
    extent = found.map.dims[1]
    most = 1 << (index.dtype.bits - 1)
    if most < extent:
        return (
            f"indices of {index.dtype} reach {most} of {extent} rows",
            f"The DSL extends {index.dtype} with its sign: a row from {most} on becomes a negative coordinate, which is outside the tensor.",
            "index type",
            str(index.dtype),
            "i32",
            f"{_DSL}; {PTX}: coordinates are .s32",
        )
    last, end = int(found.plan.rows.max()), reach(index)
    if end is not None and last >= end:
        return (
            f"the copy reads index {last} of {end}",
            f"An instruction reads four indices: the tile's last reads element {last} of an index tensor that "
            f"ends with element {end - 1}, and moves whatever row that says.",
            "indices",
            end,
            f"{last + 1}, four for each instruction",
            _DSL,
        )
    return None
