"""docs/evidence/tails.json holds what is claimed of it: predicated copies with tails, none that disagrees."""

from __future__ import annotations

import json
from pathlib import Path

EVIDENCE = json.loads(
    (Path(__file__).parents[2] / "docs" / "evidence" / "tails.json").read_text(encoding="utf-8")
)
_NAME, VERDICT, _EXPECTED, FAULT, AS_PREDICTED, AS_ASKED, GUARD = range(7)


def test_bytes_land_where_execution_says() -> None:
    assert EVIDENCE["device"]["name"] == "NVIDIA H200" and EVIDENCE["disagreements"] == []
    assert all(row[AS_PREDICTED] and not row[FAULT] for row in EVIDENCE["random"])
    for kind in ("CpAsync", "UniversalCopy", "basic_copy_if"):
        assert EVIDENCE["families"][f"{kind}, predicated, with a tail"] >= 60


def test_what_is_right_is_right_and_the_rest_writes_outside_or_wrong() -> None:
    for row in EVIDENCE["random"]:
        assert (row[VERDICT] == "wrong") == (not (row[AS_ASKED] and row[GUARD])), row
