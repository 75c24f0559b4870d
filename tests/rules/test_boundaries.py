"""Where a rule begins to speak: the last copy that it leaves alone beside the first that it flags."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

import layoutcheck as lc
from layoutcheck.check import Report, check
from layoutcheck.errors import InputError
from layoutcheck.findings import Finding
from layoutcheck.sources.request import build
from tests.rules.test_tma_rows import gather, i, sw
from tests.tma_miscompiles import g, load, s


def found(report: Report, code: str) -> Finding | None:
    """The report's finding of that code; there is one at most."""
    [*findings] = [finding for finding in report.findings if finding.code == code]
    assert len(findings) <= 1
    return findings[0] if findings else None


@pytest.mark.parametrize(
    ("name", "rows"), [("i8", 127), ("i8", 128), ("i8", 129), ("i16", 1 << 15), ("i16", (1 << 15) + 1)]
)
def test_lc259_an_index_type_reaches_as_many_rows_as_it_has_numbers(name: str, rows: int) -> None:
    """Of i8 the numbers 0 to 127 are rows: 128 of them."""
    index = i(f"({rows},256):(1,0)", name)
    report = check(build(**gather(g(f"({rows},256):(256,1)"), sw("(32,64):(64,1)"), index))[0])
    one = found(report, "LC259")
    assert (one is not None) == (rows in (129, (1 << 15) + 1))
    if one is not None:
        assert (one.evidence["field"], one.evidence["value"]) == ("index type", name)
        assert one.title == f"indices of {name} reach {rows - 1} of {rows} rows"


@pytest.mark.parametrize("count", [255, 256, 257])
def test_lc259_the_last_row_needs_an_index(count: int) -> None:
    request = gather(g(), sw(), i(f"({count},256):(1,0)"), coord="(3,0)")
    one = found(check(build(**request)[0]), "LC259")
    assert (one is not None) == (count < 256)
    if one is not None:
        assert one.evidence["value"] == 255
        assert one.evidence["demand"] == "256, four for each instruction"


@pytest.mark.parametrize(("name", "width"), [("i16", 2), ("i32", 4), ("i64", 8)])
@pytest.mark.parametrize("align", [1, 2, 4, 8])
def test_lc259_an_index_is_loaded_by_at_most_32_bits(name: str, width: int, align: int) -> None:
    one = found(check(build(**gather(g(), sw(), i(name=name, align=align)))[0]), "LC259")
    assert (one is not None) == (align < min(width, 4))
    if one is not None:
        assert one.evidence["value"] == f"a multiple of {align} B"
        assert one.evidence["demand"] == f"a multiple of {width} B"
        assert f"one {min(width, 4) * 8}-bit load" in one.message


@pytest.mark.parametrize(("bits", "align"), list(product((16, 32, 64, 128), (2, 4, 8, 16, 32))))
def test_lc303_speaks_from_twice_the_width_on(bits: int, align: int) -> None:
    """Eight bf16 side by side, four times, each loaded and stored; the alignment may keep them apart."""
    there, here = (
        f'!cute.memref<bf16, {space}, align<{align}>, "((8,1),4):((1,0),64)">' for space in ("gmem", "smem")
    )
    if bits > 8 * align:
        return
    proved = min(8 * align, 128)
    report = lc.check(there, here, "universal", bits=bits)
    one = found(report, "LC303")
    assert (one is not None) == (proved >= 2 * bits)
    if one is not None:
        assert one.evidence == {
            "width_bits": bits,
            "provable_bits": proved,
            "instructions": 2 * 4 * 128 // bits,
            "ideal_instructions": 2 * 4 * 128 // proved,
            "ratio": proved // bits,
        }


def test_lc303_leaves_moves_of_registers_alone() -> None:
    """No instruction is saved: cuDNN's frontend 1.32.0 keeps a row's maximum with `basic_copy`."""
    row = '!cute.memref<f32, {}, align<32>, "2:1">'
    for src, instructions in (("smem", 2), ("rmem", 0)):
        report = lc.check(row.format(src), row.format("rmem"), "universal", bits=32, dtype="f32")
        assert report.analysis.runs[-1].execution.instructions == instructions
        assert (found(report, "LC303") is None) is (src == "rmem")


def test_lc303_leaves_predicated_copies_alone() -> None:
    request: dict[str, Any] = {
        "src": '!cute.memref<bf16, gmem, align<16>, "((8,1),4):((1,0),64)">',
        "dst": '!cute.memref<bf16, smem, align<16>, "((8,1),4):((1,0),64)">',
        "atom": "universal",
        "bits": 64,
    }
    assert found(lc.check(**request), "LC303") is not None
    predicated = lc.check(**request, pred='!cute.memref<i8, rmem, align<32>, "(1,4):(0,1)">')
    assert found(predicated, "LC303") is None


@pytest.mark.parametrize(("run", "ratio"), [(1, 8), (2, 4), (4, 2), (8, None)])
def test_lc308_speaks_from_half_the_width_on(run: int, ratio: int | None) -> None:
    """Eight bf16 that memory bears at once; the fragment has them in runs of `run`."""
    fragment = {1: "(8):(16)", 8: "(8):(1)"}.get(run, f"(({run},{8 // run})):((1,16))")
    registers = f'!cute.memref<bf16, rmem, align<32>, "{fragment}">'
    report = lc.check(registers, '!cute.memref<bf16, gmem, align<16>, "((4,2)):((1,4))">', "autovec")
    one = found(report, "LC308")
    assert (one is None) == (ratio is None)
    if one is not None:
        assert one.evidence == {"width_bits": 16 * run, "provable_bits": 128, "ratio": ratio}


def test_lc241_a_cut_before_any_later_dimension_of_several_elements() -> None:
    flat = load(g("(512,1024,4,8):(1024,1,524288,2097152)"), s("(300,16,1,4):(16,1,0,4800)"))
    one = found(check(build(**flat)[0]), "LC241")
    assert one is not None and one.evidence["box"] == [16, 150, 4, 1]
    alone = load(g("(512,1024,4,8):(1024,1,524288,2097152)"), s("(300,16,1,1):(16,1,0,0)"))
    assert found(check(build(**alone)[0]), "LC241") is None


@pytest.mark.parametrize(
    ("more", "atoms"),
    [({"im2col": "stride=1"}, "im2col_tma_load"), ({"tiler": "(64,64)"}, "tma_load, tma_store, ...")],
)
def test_what_belongs_to_tma_says_to_which_atom(more: dict[str, str], atoms: str) -> None:
    with pytest.raises(InputError, match="is for TMA copies only") as one:
        build(g(), s(), "cp.async", **more)
    assert one.value.expected == f"--atom {atoms}"


def test_a_stride_past_any_memory_is_not_blamed_on_the_atom() -> None:
    (one,) = lc.check("(8):(9223372036854775807)", "(8):(1)", "universal", bits=16, dtype="bf16").findings
    assert one.code == "LC901" and one.title.endswith("16 b>: this copy is not modelled")
    assert "9223372036854775807 of 8:9223372036854775807 reaches past any memory" in one.message
