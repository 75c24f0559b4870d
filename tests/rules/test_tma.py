"""TMA copies: every hole named by its field, value, demand and source; every twin legal; boxes counted."""

from __future__ import annotations

import pytest

from layoutcheck.check import check
from layoutcheck.errors import InputError
from layoutcheck.sources.request import build
from tests.tma_holes import TMA_HOLES, g, load, s


@pytest.mark.parametrize("name", TMA_HOLES)
def test_a_hole_is_wrong_and_its_cause_named(name: str) -> None:
    broken, _, code, field, _ = TMA_HOLES[name]
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


@pytest.mark.parametrize("name", TMA_HOLES)
def test_its_twin_is_legal(name: str) -> None:
    fixed = TMA_HOLES[name][1]
    report = check(build(**fixed)[0])
    assert report.verdict == "legal", [finding.title for finding in report.findings]


def test_boxes_are_counted() -> None:
    report = check(build(**load(g(), s("(64,128):(128,1)", swizzle="S<3,4,3>")))[0])
    assert report.verdict == "slow"
    assert [f.code for f in report.findings] == ["LC309"]
    assert report.findings[0].evidence["instructions"] == 128
    assert report.findings[0].evidence["ideal"] == 2


@pytest.mark.parametrize(
    "more",
    [{"tiler": "(64)"}, {"tiler": "(64,0)"}, {"coord": "(1,2,3)"}, {"coord": "(-1,0)"}, {"tiler": "(?,1)"}],
)
def test_what_makes_no_tile_is_refused(more: dict[str, str]) -> None:
    with pytest.raises(InputError):
        build(**load(g(), s(), **more))


def test_a_tiler_belongs_to_tma() -> None:
    with pytest.raises(InputError):
        build(g(), s(), "cp.async", tiler="(64,64)")
