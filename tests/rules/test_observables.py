"""Rules of level `wrong` follow from the comparison: their copies differ in it, or the rule says why not."""

import pytest

import layoutcheck as lc
from layoutcheck.analysis import Analysis
from layoutcheck.check import check
from layoutcheck.rules import rules
from layoutcheck.sources.request import build
from tests.cluster_miscompiles import CLUSTER_MISCOMPILES
from tests.miscompiles import MISCOMPILES
from tests.rules.examples import example

WRONG = {code: rule for code, rule in rules().items() if rule.severity == "wrong"}
# What is not of bytes, and the rule that names it.
BESIDE = {
    "LC208": {"type"}, "LC225": {"barrier"}, "LC226": {"barrier"}, "LC298": {"waiting"},
    "LC250": {"lanes"}, "LC253": {"bounds"},
}  # fmt: skip


def _analysis(arguments: dict[str, object]) -> Analysis:
    return Analysis(build(**arguments)[0])  # type: ignore[arg-type]


def _differs(analysis: Analysis) -> bool:
    return any(not run.comparison.clean or run.comparison.observables for run in analysis.runs)


@pytest.mark.parametrize("code", WRONG)
def test_a_wrong_copy_differs_or_the_rule_says_why_not(code: str) -> None:
    rule = WRONG[code]
    flagged, clean = _analysis(example(code).flagged), _analysis(example(code).clean)
    assert _differs(flagged) != bool(rule.beyond)
    assert not _differs(clean)


@pytest.mark.parametrize("code", BESIDE)
def test_what_is_not_of_bytes_is_seen_all_the_same(code: str) -> None:
    flagged, clean = map(_analysis, example(code))
    assert set(flagged.observables) == BESIDE[code] and not clean.observables
    assert flagged.worst is None  # every byte is where it belongs


def test_no_rule_is_excused_without_need() -> None:
    assert {code for code, rule in rules().items() if rule.beyond} == {"LC244", "LC257"}


@pytest.mark.parametrize("code", ["LC244", "LC257", "LC208"])
def test_the_page_and_the_report_say_what_no_byte_shows(code: str) -> None:
    rule = WRONG[code]
    (mine,) = [
        one for one in check(_analysis(example(code).flagged)).to_dict()["findings"] if one["code"] == code
    ]
    assert mine.get("beyond", "") == rule.beyond
    assert (rule.beyond in rule.page()) and ("## What no byte shows" in rule.page()) == bool(rule.beyond)


@pytest.mark.parametrize("name", [*MISCOMPILES, *CLUSTER_MISCOMPILES])
def test_what_differs_is_wrong_and_what_is_right_does_not_differ(name: str) -> None:
    broken, fixed = (
        MISCOMPILES[name][:2] if name in MISCOMPILES else
        [build(**one)[0] for one in CLUSTER_MISCOMPILES[name][:2]]
    )  # fmt: skip
    assert not Analysis(fixed).observables
    if Analysis(broken).observables:
        assert check(broken).verdict in ("wrong", "rejected")


def test_the_places_that_are_told() -> None:
    seen = {code: _analysis(example(code).flagged).observables for code in BESIDE}
    assert seen["LC208"]["type"][:2] == ("bf16", "f16")
    assert seen["LC225"]["barrier"][:2] == (256, 128)
    assert seen["LC226"]["barrier"][:2] == (128, 32 * 128)
    assert seen["LC298"]["waiting"][:2] == (0, 1)
    lanes, bounds = seen["LC250"]["lanes"], seen["LC253"]["bounds"]
    assert lanes[:2] == (0, 32) and lanes.first[:2] == (0, 1)  # the second instruction, 32 lanes on
    assert bounds[:2] == ((128, 512), (0, 512)) and bounds.first[:2] == (0, 4)
    names = {name for one in seen.values() for name in one}
    assert names == {"type", "barrier", "waiting", "lanes", "bounds"}


@pytest.mark.parametrize("element", ["i64", "f64"])
def test_the_coordinates_of_tma_have_no_type_that_differs(element: str) -> None:
    """A plan of `synth` for 64-bit elements, as traced: coordinates are as wide as these elements."""
    copied = lc.check(
        '!cute.coord_tensor<"(?{div=240},?{div=32})", "(((80,32),1),(1)):(((1@0,1@1),0),(0))">',
        f'!cute.memref<{element}, smem, align<128>, "((2560,1),(1)):((1,0),(0))">',
        f"!cute_nvgpu.atom.tma_load<{element}, copy_bits = 163840, mode = tiled, num_cta = 1, "
        'g_stride = <"()"> tma_gbasis = <"(80,32):(1@1,1@0)">>',
    )
    assert copied.verdict == "legal", copied.findings
