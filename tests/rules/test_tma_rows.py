"""gather4 and scatter4: every wrong copy named by its field, value, demand and source; its twin legal."""

from __future__ import annotations

from typing import Any

import jsonschema
import numpy as np
import pytest

from docs.schemas.reports import schema
from layoutcheck.analysis import Analysis
from layoutcheck.atoms.execution import execution
from layoutcheck.atoms.intent import intent
from layoutcheck.atoms.tma.rows import row_numbers
from layoutcheck.check import Report, check
from layoutcheck.copies.moves import NOTHING
from layoutcheck.errors import InputError
from layoutcheck.gpu.tma import prepare
from layoutcheck.sources.request import build
from tests.tma_miscompiles import g, s

SW128 = "S<3,4,3>"
ATOMS = "(64,(64,2)):(64,(1,4096))"


def sw(layout: str = "(64,64):(64,1)") -> str:
    return s(layout, swizzle=SW128)


def i(layout: str = "(256,256):(1,0)", name: str = "i32", align: int = 4) -> str:
    return f'!cute.memref<{name}, gmem, align<{align}>, "{layout}">'


def gather(gmem: str, smem: str, index: str | None = None, **more: Any) -> dict[str, Any]:
    return {"src": gmem, "dst": smem, "atom": "tma_gather4", "index": index, "arch": "sm_100a", **more}


def scatter(smem: str, gmem: str, index: str | None = None, **more: Any) -> dict[str, Any]:
    return {"src": smem, "dst": gmem, "atom": "tma_scatter4", "index": index, "arch": "sm_100a", **more}


def checked(request: dict[str, Any]) -> Report:
    return check(build(**request)[0])


GOOD = gather(g(), sw())
# name: (broken, fixed, code, field)
MISCOMPILES: dict[str, tuple[dict[str, Any], dict[str, Any], str, str]] = {
    "base": (gather(g(align=8), sw()), GOOD, "LC230", "globalAddress"),
    "pitch": (gather(g("(256,250):(250,1)"), sw()), gather(g("(256,250):(256,1)"), sw()),
              "LC231", "globalStrides"),
    "transposed": (gather(g(), s("(64,64):(1,64)")),
                   gather(g("(256,256):(1,256)"), s("(64,64):(1,64)")), "LC232", "stride of dimension 0"),
    "swizzle": (gather(g(), s(swizzle="S<3,4,4>")), GOOD, "LC233", "swizzle"),
    "described": (gather(g(), s(), described="S<3,4,3> o 0 o (64,64):(64,1)"), gather(g(), s()), "LC234",
                  "smem layout"),
    "smem-address": (gather(g(), s("(64,8):(8,1)")), gather(g(), s("(64,16):(16,1)")), "LC235",
                     "smem address"),
    "box-row": (gather(g(), s("(64,12):(12,1)")), gather(g(), s("(64,16):(16,1)")), "LC236", "boxDim[0]"),
    "short-rows": (gather(g(), sw("(64,32):(32,1)")),
                   gather(g(), s("(64,32):(32,1)", swizzle="S<2,4,3>")), "LC237", "boxDim[0]"),
    "store-tail": (scatter(sw(), g("(256,196):(256,1)"), coord="(0,3)"),
                   scatter(sw(), g("(256,200):(256,1)"), coord="(0,3)"), "LC239", "globalDim[0]"),
    "long-rows": (gather(g(), sw("(64,128):(128,1)")), gather(g(), sw(ATOMS)), "LC240",
                  "boxDim[0]"),
    "long-rows-store": (scatter(sw("(64,128):(128,1)"), g()), scatter(sw(ATOMS), g()),
                        "LC240", "boxDim[0]"),
    "padded": (gather(g(), s("(64,64):(128,1)")), gather(g(), s()), "LC240", "smem layout"),
    "six-rows": (gather(g(), sw("(6,64):(64,1)")), gather(g(), sw("(8,64):(64,1)")),
                 "LC240", "extent of mode 0 of the tile"),
    "two-rows": (scatter(s("(2,64):(64,1)"), g()), scatter(s("(4,64):(64,1)"), g()), "LC240",
                 "extent of mode 0 of the tile"),
    "wrong-mode": ({**GOOD, "index": i("(256,256):(0,1)")}, GOOD, "LC259", "index layout"),
    "both-modes": ({**GOOD, "index": i("(256,256):(256,1)")}, GOOD, "LC259", "index layout"),
    "float-index": ({**GOOD, "index": i(name="f32")}, {**GOOD, "index": i(name="i64", align=8)}, "LC259",
                    "index type"),
    "narrow-index": ({**GOOD, "index": i(name="i8")}, {**GOOD, "index": i(name="i16")}, "LC259",
                     "index type"),
    "odd-index": ({**GOOD, "index": i(align=2)}, GOOD, "LC259", "index address"),
    "short-index": (gather(g(), sw(), i("(250,256):(1,0)"), coord="(3,0)"),
                    gather(g(), sw(), i("(256,256):(1,0)"), coord="(3,0)"), "LC259", "indices"),
    "barrier": ({**GOOD, "expect_bytes": 2048}, {**GOOD, "expect_bytes": 8192}, "LC225",
                "expected transaction bytes"),
}  # fmt: skip


@pytest.mark.parametrize("name", MISCOMPILES)
def test_a_hole_is_wrong_and_its_cause_named(name: str) -> None:
    broken, _, code, field = MISCOMPILES[name]
    report = checked(broken)
    assert report.compiler.accepted
    assert report.verdict == "wrong"
    found = [finding for finding in report.findings if finding.code == code]
    assert found, [finding.code for finding in report.findings]
    assert not {"LC200", "LC203", "LC204"} & {finding.code for finding in report.findings}
    assert found[0].evidence["field"] == field
    assert all(found[0].evidence[key] not in (None, "") for key in ("value", "demand", "source"))


@pytest.mark.parametrize("name", MISCOMPILES)
def test_its_twin_is_legal_and_says_who_stands_behind_it(name: str) -> None:
    report = checked(MISCOMPILES[name][1])
    assert report.verdict == "legal", [finding.title for finding in report.findings]
    assert [finding.code for finding in report.findings] == ["LC258"]


@pytest.mark.parametrize("load", [True, False])
def test_rows_beyond_the_tensor_are_zeros_or_not_written(load: bool) -> None:
    """PTX ISA: as in tiled mode, what lies outside of the tensor arrives as zeros and is not stored."""
    there, here, index = g("(32,64):(64,1)"), sw(), i("(64,64):(1,0)")
    copy = build(**(gather(there, here, index) if load else scatter(here, there, index)))[0]
    done, asked = execution(copy, 1 << 20, 1 << 21), intent(copy, 1 << 20, 1 << 21)
    rows = row_numbers(copy, np.arange(64))
    assert sorted(rows) == list(range(64))
    if load:
        assert np.array_equal(done.src[:, 0, 0] == NOTHING, np.repeat(rows >= 32, 64))
        assert np.array_equal(asked.src[:, 0, 0] == NOTHING, np.tile(rows >= 32, 64))
        return
    assert done.dst.size == asked.dst.size == 32 * 64 * 2
    first = (1 << 21) + rows[rows < 32] * 128
    assert np.array_equal(done.dst[::64, 0, 0], first)


def test_four_rows_lie_one_after_the_other_under_the_swizzle() -> None:
    copy = build(**gather(g(), sw("(8,64):(64,1)")))[0]
    done = execution(copy, 0, 0)
    rows = row_numbers(copy, np.arange(8))
    for k in range(8 * 64):
        row, column = divmod(k, 64)
        assert done.src[k, 0, 0] == rows[row] * 512 + column * 2
        assert done.dst[k, 0, 0] == row * 128 + (column // 8 ^ row) * 16 + column % 8 * 2


@pytest.mark.parametrize(
    ("request_", "kind"),
    [
        (gather(g(), s(), i("(3,256):(1,0)")), "tma_index"),
        (gather(g(), s(), i("(256):(1)")), "tma_index"),
        (gather(g("(64,16):(16,1)"), s("(16,16):(16,1)")), "tma_index"),
        (gather(g(), s("(3,64):(64,1)")), "tma_size"),
        ({**GOOD, "arch": "sm_90a"}, "tma_arch"),
    ],
)
def test_what_the_dsl_refuses(request_: dict[str, Any], kind: str) -> None:
    report = checked(request_)
    assert report.verdict == "rejected"
    assert report.compiler.kind == kind
    assert "LC100" not in {finding.code for finding in report.findings}


@pytest.mark.parametrize(("arch", "gathers", "scatters"), [("sm_100", True, False), ("sm_120a", True, False)])
def test_where_they_exist(arch: str, gathers: bool, scatters: bool) -> None:
    assert (checked({**GOOD, "arch": arch}).verdict == "legal") == gathers
    stored = scatter(sw(), g())
    assert (checked({**stored, "arch": arch}).verdict == "legal") == scatters


def test_an_index_belongs_to_four_rows() -> None:
    with pytest.raises(InputError, match="index"):
        build(g(), s(), "tma_load", index=i())


def test_the_report_names_the_index_tensor_in_every_format() -> None:
    report = checked(MISCOMPILES["wrong-mode"][0])
    assert report.to_dict()["copy"]["index"]["layout"] == "(256,256):(0,1)"
    assert report.findings[0].where.operand == "index"
    jsonschema.validate(report.to_dict(), schema())


def test_a_gpu_is_not_asked() -> None:
    """The harness passes no index tensor, and no Blackwell GPU was at hand."""
    with pytest.raises(InputError, match="four rows"):
        prepare(Analysis(build(**GOOD)[0]), "sm_100a", None)  # type: ignore[arg-type]


@pytest.mark.parametrize("index", [i(name="ui8"), i().replace("gmem", "tmem")])
def test_what_only_code_generation_refuses(index: str) -> None:
    report = checked({**GOOD, "index": index})
    assert report.compiler.accepted and report.verdict == "rejected"
    assert report.findings[0].code == "LC191"


@pytest.mark.parametrize(
    ("gmem", "index"),
    [(g(), i("((16,16),256):((1,16),0)")), (g("((16,16),256):((4096,256),1)"), i("(256,256):(1,0)"))],
)
def test_rows_of_nested_modes_are_not_modelled(gmem: str, index: str) -> None:
    report = checked(gather(gmem, sw(), index))
    assert (report.verdict, report.compiler.outcome) == ("unknown", "unknown")
    assert "four rows of nested modes" in report.compiler.message


def test_rows_of_a_run_time_index_tensor_have_no_numbers() -> None:
    copy = build(**gather(g(), sw(), i("(256,256):(?,0)")))[0]
    with pytest.raises(InputError, match="is not modelled"):
        row_numbers(copy, np.arange(8))
