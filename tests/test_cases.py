"""Every named case gets the verdict its root cause deserves; every one that goes wrong has a repair."""

from __future__ import annotations

import pytest

from layoutcheck.check import check
from layoutcheck.fixes import propose
from layoutcheck.sources.cases import case, case_names
from layoutcheck.sources.request import build

ORDER = ("legal", "slow", "unknown", "wrong", "rejected")

# Where the sizes of the two sides differ, which side is meant only the author knows.
NO_REPAIR = {"triton-8657", "issue-3488"}


@pytest.mark.parametrize("name", case_names())
def test_a_case_gets_its_verdict(name: str) -> None:
    known = case(name)
    reports = [check(build(**copy)[0]) for copy in known.copies]
    assert max((report.verdict for report in reports), key=ORDER.index) == known.expected
    for report in reports:
        if report.verdict not in ("rejected", "wrong"):
            continue
        fixes, obstacle = propose(report)
        assert bool(fixes) == (name not in NO_REPAIR), obstacle
        assert bool(fixes) != bool(obstacle)
        assert all(fix.verdict in ("legal", "slow") for fix in fixes)


@pytest.mark.parametrize("name", case_names())
def test_a_case_says_what_it_is(name: str) -> None:
    known = case(name)
    assert known.name == name
    assert known.url.startswith("https://")
    assert len(known.notes) > 40
