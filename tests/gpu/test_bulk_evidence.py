"""docs/evidence/bulk.json holds what is claimed of it: every reproducer run, and none that disagrees."""

from __future__ import annotations

import json
from pathlib import Path

from layoutcheck.gpu.completion import STALLED, UNSETTLED
from tests.gpu.sweep import is_bulk
from tests.miscompiles import MISCOMPILES

EVIDENCE = json.loads(
    (Path(__file__).parents[2] / "docs" / "evidence" / "bulk.json").read_text(encoding="utf-8")
)
_NAME, _VERDICT, EXPECTED, FAULT, AS_PREDICTED, _AS_ASKED, _GUARD = range(7)


def test_none_disagrees() -> None:
    assert EVIDENCE["disagreements"] == [] and "False" not in EVIDENCE["counts"]
    assert EVIDENCE["device"]["name"] == "NVIDIA H200"


def test_bytes_land_where_execution_says() -> None:
    """At least 100 copies of random sizes and alignments, and every way of going wrong."""
    rows = EVIDENCE["random"]
    assert sum(row[AS_PREDICTED] is True and row[FAULT] == "" for row in rows) >= 300
    assert all(row[AS_PREDICTED] is not False for row in rows)
    for expected in ("misaligned", STALLED, UNSETTLED):
        assert any(row[EXPECTED] == expected for row in rows)


def test_every_reproducer_and_its_twin_ran() -> None:
    ran = {row["name"]: row for row in EVIDENCE["holes"] if row["ran"] == "gpu"}
    names = [name for name, (broken, _, _) in MISCOMPILES.items() if is_bulk(broken)]
    assert len(names) >= 17
    for name in names:
        broken, fixed = ran[f"{name}-broken"], ran[f"{name}-fixed"]
        assert broken["verdict"] == "wrong" and broken["agrees"]
        assert fixed["verdict"] == "legal" and fixed["agrees"] and not fixed["fault"]
