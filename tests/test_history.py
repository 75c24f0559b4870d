"""Fixes before and after (`benchmarks/history.py`): what time ended is not called missed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from benchmarks import history
from layoutcheck.sources.traced import OrderReport, Trace

FIX = {"arch": "sm_90a", "run": ["program.py"]}
FINDING = {"wrong LC502 kernel.py: a race": 1}
LATE = "timeout: the script ran for more than 1 s and was ended"


def tree(findings: dict[str, int], *failures: str) -> dict[str, Any]:
    return {"kernels": 1, "copies": 1, "findings": findings, "failures": list(failures)}


@pytest.mark.parametrize(
    ("before", "after", "verdict"),
    [
        (tree({}), tree({}), "missed"),
        (tree({}, "raised: a mistake"), tree({}), "missed"),
        (tree({}, LATE), tree({}), "not finished"),
        (tree({}), tree({}, LATE), "not finished"),
        (tree(FINDING), tree({}), "caught"),
        (tree(FINDING), tree({}, LATE), "not finished"),
    ],
)
def test_what_time_ended_has_no_verdict(before: Any, after: Any, verdict: str) -> None:
    assert history.compared(FIX, before, after)["verdict"] == verdict


def test_a_program_that_does_not_end(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text("import time\ntime.sleep(60)\n")
    found = history.traced(FIX, tmp_path, 0.5)
    assert found["failures"] == ["timeout: the script ran for more than 0.5 s and was ended"]
    assert found["seconds"] < 30
    assert history.compared(FIX, found, found)["verdict"] == "not finished"


def test_a_replay_that_time_ended_is_a_timeout() -> None:
    late = "the time budget of 60 s was used up; part of 9 accesses and synchronisations was looked at"
    large, left = OrderReport("k", "sm_90a", problem="a block of 2048 threads"), OrderReport("k", "sm_90a")
    assert history.unseen(Trace(orders=(large, left))) == []
    cut = OrderReport("k", "sm_90a", problem=late)
    assert history.unseen(Trace(orders=(large, cut))) == [f"timeout: {late}"]
