"""im2col: every hole named by its field, value, demand and source; every twin legal; refusals named."""

from __future__ import annotations

from typing import Any

import pytest

from layoutcheck.api import check_copy
from layoutcheck.check import check
from layoutcheck.errors import InputError
from layoutcheck.sources.request import build
from tests.im2col_miscompiles import FLAT, IM2COL_MISCOMPILES, PLAIN, load, store
from tests.tma_miscompiles import SW128, g, s


@pytest.mark.parametrize("name", IM2COL_MISCOMPILES)
def test_a_hole_is_wrong_and_its_cause_named(name: str) -> None:
    broken, _, code, field, _ = IM2COL_MISCOMPILES[name]
    report = check(build(**broken)[0])
    assert report.compiler.accepted
    assert report.verdict == "wrong"
    found = [finding for finding in report.findings if finding.code == code]
    assert found, [finding.code for finding in report.findings]
    assert not {"LC200", "LC203", "LC204"} & {finding.code for finding in report.findings}
    if field:
        evidence = found[0].evidence
        assert evidence["field"] == field
        assert evidence["value"] is not None
        assert evidence["demand"]
        assert evidence["source"]


@pytest.mark.parametrize("name", IM2COL_MISCOMPILES)
def test_its_twin_is_legal(name: str) -> None:
    report = check(build(**IM2COL_MISCOMPILES[name][1])[0])
    assert report.verdict == "legal", [finding.title for finding in report.findings]


@pytest.mark.parametrize(
    ("copy", "code", "says"),
    [
        (load(FLAT, PLAIN, described="(64,64):(64,1)"), "LC113", "must be CuTe composed layout type"),
        (load(FLAT, PLAIN, s("(64,64):(72,1)")), "LC113", "non-empty im2col TMA G-basis"),
        (load(FLAT, "filter=(15,15)"), "LC113", "expects positive shape mode"),
        (load(FLAT, PLAIN, s("(64,96):(96,1)")), "LC113", "failed to perform a valid division"),
        (load(FLAT, PLAIN, tiler="(64,32)"), "LC113", "top-level shape equivalence"),
        (
            store(s("(64,64):(1,64)", swizzle=SW128), g("(64,(14,12,3)):(1,(64,896,10752))")),
            "LC190",
            "SIGSEGV",
        ),
        (load(g("((8,4),64):((64,512),1)"), "filter=(1)"), "LC191", "place is known"),
    ],
)
def test_what_the_compiler_refuses(copy: dict[str, Any], code: str, says: str) -> None:
    report = check(build(**copy)[0])
    assert report.verdict == "rejected"
    assert [found.code for found in report.findings] == [code]
    assert says in report.findings[0].message


def test_a_store_has_no_filter_and_a_plain_layout_is_taken_as_composed_with_none() -> None:
    assert check(build(**store(s("(64,64):(64,1)"), FLAT))[0]).verdict == "legal"
    assert (
        check(build(**load(FLAT, PLAIN, described="S<0,4,3> o 0 o (64,64):(64,1)", smem=s()))[0]).verdict
        == "legal"
    )


def test_too_many_boxes_are_counted() -> None:
    report = check(build(**load(FLAT, PLAIN, s("(64,(8,8)):(8,(1,512))")))[0])
    assert report.verdict == "slow"
    assert [f.code for f in report.findings] == ["LC309"]
    assert (report.findings[0].evidence["instructions"], report.findings[0].evidence["ideal"]) == (8, 1)


@pytest.mark.parametrize(
    "given",
    [
        "filter=(3)",
        "filter=(0,1)",
        "kernel=(3,3)",
        "filter=3,3",
        "stride=(0,1)",
        "dilation=(0,1)",
        "filter=(3,3",
        "filter=(3,3) filter=(1,1)",
    ],
)
def test_what_is_no_convolution_is_refused(given: str) -> None:
    with pytest.raises(InputError):
        build(**load(FLAT, given))


def test_a_convolution_that_is_not_given_is_assumed() -> None:
    assert any("filter of one tap" in said for said in build(**{**load(FLAT, ""), "im2col": None})[1])
    assert not build(**load(FLAT, "filter=(1,1)"))[1]


def test_where_a_convolution_belongs() -> None:
    with pytest.raises(InputError):
        build(**{**load(FLAT, PLAIN), "atom": "tma_load"})
    with pytest.raises(InputError):
        build(**{**store(s(), FLAT), "im2col": "filter=(1,1)"})
    with pytest.raises(InputError):
        build(**load(g("(256,64):(64,1)"), "filter=(1)"))


def test_names_of_the_dsl_and_numbers_for_all_modes() -> None:
    one = build(**load(FLAT, "filter=3 padding=1 dilation=2"))[0].tma
    two = build(
        **{
            **load(FLAT, ""),
            "im2col": {
                "lower_corner_whd": [-1, -1],
                "upper_corner_whd": [-3, -3],
                "lower_padding_whd": [1, 1],
                "upper_padding_whd": [1, 1],
                "stride_srt": 2,
            },
        }
    )[0].tma
    assert one is not None and two is not None
    assert one.im2col == two.im2col


def test_a_filter_turned_around_is_the_same_columns_backwards() -> None:
    """Negative dilation, as dgrad has it: lower_srt counts down from the last tap."""
    forth = check(build(**load(FLAT, PLAIN, coord="(0,2)"))[0])
    back = check(build(**load(FLAT, "filter=(3,3) padding=(1,1) dilation=(-1,1)", coord="(0,0)"))[0])
    assert forth.verdict == back.verdict == "legal"
    from layoutcheck.atoms.intent import intent

    one, two = (intent(report.copy, 0, 0) for report in (forth, back))
    assert (one.src == two.src).all()


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("two-taps", "make_im2col_tma_atom(cpasync.CopyBulkTensorIm2ColG2SOp()"),
        ("wide-row", "upper_padding_whd=(1, 1)"),
        ("pitch", "make_im2col_tma_atom"),
        ("base", "make_swizzle(3, 4, 3)"),
    ],
)
def test_what_can_be_repaired_is(name: str, says: str) -> None:
    report = check_copy(build(**IM2COL_MISCOMPILES[name][0])[0])
    assert report.fixes
    assert {fix.verdict for fix in report.fixes} <= {"legal", "slow"}
    assert says in "".join(report.fixes[0].code.split("\n")).replace("    ", "")


LOAD = (
    '!cute_nvgpu.atom.im2col_tma_load<bf16, copy_bits = 65536, num_cta = 1, g_stride = <"()"> '
    'tma_gbasis = <"(64,64):(1@1,1@0)">>'
)
PLACES = (
    '!cute.coord_tensor<"(0,(-1,-1,0),0,(0,0,0))", "((14,12,2,3),(128,3,3,1)):((1@0@1,1@1@1,1@2@1,1@2),'
    '(1@0,1@0@3,1@1@3,1@2@3)) o (AT) o (((64,64),2),(1)):(((1@0@1,1@0),64@0@1),(0))">'
)
SHARED = '!cute.memref<bf16, smem, align<1024>, S<3,4,3>, "((4096,2),(1)):((1,4096),(0))">'


@pytest.mark.parametrize(
    ("at", "shared", "codes"),
    [
        ("?{div=64},(0,?,?,0)", SHARED, []),
        ("64,(0,1,1,0)", SHARED, ["LC191"]),
        ("?{div=64},(0,?,?,0)", SHARED.replace("(4096,2)", "(4096,1)"), ["LC105"]),
        ("?{div=64},(0,?,?,0)", SHARED.replace("1024", "64"), ["LC235"]),
    ],
)
def test_operands_as_the_compiler_prints_them(at: str, shared: str, codes: list[str]) -> None:
    """As the DSL prints a cute.copy of im2col; its verifier says the same of the first three."""
    report = check(build(PLACES.replace("AT", at), shared, LOAD)[0])
    assert [found.code for found in report.findings] == codes


def test_a_flat_tensor_hears_of_the_form_before_its_tiler_is_counted() -> None:
    given = {**load(g("(64,7,7,4):(1,64,448,3136)"), "filter=(3,3)"), "tiler": "(64,64)"}
    with pytest.raises(InputError, match="not a tensor of activations"):
        build(**given)
