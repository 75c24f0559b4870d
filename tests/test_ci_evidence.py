"""Several reports of one repository as one row of evidence."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from benchmarks.ci_evidence import BEYOND, added, main, merged, summary
from benchmarks.evidence import text_of


def report(sites: int = 4, **counts: Any) -> dict[str, Any]:
    whole = {
        "sites": sites, "traced": 0, "kernels": 1, "copies": 2, "checked": 2, "uncalled": {}, "untaken": {},
        "because": {}, "address_sources": {"types": 1},
    }  # fmt: skip
    finding = {"path": "a.py", "line": 3, "code": "LC301", "severity": "slow", "title": "a conflict"}
    return {"counts": {**whole, **counts}, "findings": [finding], "runs": [{"kernels": 1, "failures": []}]}


def test_a_site_that_one_run_reaches_is_reached() -> None:
    first = report(
        never={"a.py": [1, 2, 3], "b.py": [7]}, uncalled={"a.py:f": [1]}, untaken={"a.py": [2]},
        because={"a.py": {"its name says sm_90, and programs ran for sm_80": [3]},
                 "b.py": {"the time limit ended b.py": [7]}},
    )  # fmt: skip
    second = report(never={"a.py": [1, 2], "b.py": [7]}, traced=1)
    row = summary(merged([first, second]), {})
    assert (row["sites"], row["traced"], row["copies"], row["programs"]) == (4, 1, 4, 2)
    assert len(row["findings"]) == 1 and row["address_sources"] == {"types": 2}
    assert row["not_reached"] == {BEYOND[0]: 1, BEYOND[2]: 1, "the time limit ended its program": 1}
    assert row["beyond"] == 2
    assert row["left"] == [
        {"file": "a.py", "lines": [1], "why": f"{BEYOND[0]} f"},
        {"file": "a.py", "lines": [2], "why": BEYOND[2]},
        {"file": "b.py", "lines": [7], "why": "the time limit ended b.py"},
    ]


def test_reports_of_other_sites_are_not_one() -> None:
    with pytest.raises(ValueError, match="other copy sites"):
        merged([report(never={}), report(5, never={})])


def test_a_run_that_is_added_leaves_the_surer_reason() -> None:
    late, named = "the time limit ended b.py", "its name says sm_80, and programs ran for sm_90a"
    first = report(
        9, never={"a.py": [1, 2, 3, 4], "b.py": [7]}, traced=4, uncalled={"a.py:f": [1]},
        because={"a.py": {late: [2, 3], named: [4]}, "b.py": {late: [7]}},
    )  # fmt: skip
    second = report(
        9, never={"a.py": [1, 2, 4], "b.py": [7]}, uncalled={"a.py:f": [1]},
        because={"a.py": {"b.py failed in it: NameError (line 8)": [2], "b.py failed: NameError": [4]},
                 "b.py": {named: [7]}},
    )  # fmt: skip
    row = added(summary(first, {}), second)
    assert (row["traced"], row["programs"], row["copies"], row["beyond"]) == (5, 2, 4, 1)
    assert row["left"] == [
        {"file": "a.py", "lines": [1], "why": f"{BEYOND[0]} f"},
        {"file": "a.py", "lines": [2], "why": "b.py failed in it: NameError (line 8)"},
        {"file": "a.py", "lines": [4], "why": "b.py failed: NameError"},
        {"file": "b.py", "lines": [7], "why": late},
    ]
    assert row["not_reached"] == {
        "its program fails": 2, BEYOND[0]: 1, "the time limit ended its program": 1,
    }  # fmt: skip
    assert len(row["findings"]) == 1 and row["address_sources"] == {"types": 2}
    with pytest.raises(ValueError, match="other copy sites"):
        added(row, report(8, never={}))


def test_every_command_that_made_a_row_is_kept_without_folders(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, one, two = (tmp_path / name for name in ("out.json", "one.json", "two.json"))
    for each in (one, two):
        each.write_text(json.dumps(report(never={})))
    for words in (["o/a@1", "o/b@1"], ["o/c@1"], ["o/b@1"]):
        asked = [f"{word}={one}+{two}" for word in words]
        monkeypatch.setattr(sys, "argv", ["ci_evidence", *asked, "--dsl", "4.5.2", "--output", str(out)])
        main()
    made = json.loads(out.read_text())
    assert [run["rows"] for run in made["runs"]] == [["o/a@1"], ["o/c@1"], ["o/b@1"]]
    monkeypatch.setattr(sys, "argv", ["ci_evidence", "--add", f"o/a@1={one}", "--output", str(out)])
    main()
    again = json.loads(out.read_text())
    assert again["runs"][:3] == made["runs"] and [run["rows"] for run in again["runs"][3:]] == [["o/a@1"]]
    assert again["repositories"]["o/a@1"]["programs"] == 3
    assert sorted(made["repositories"]) == ["o/a@1", "o/b@1", "o/c@1"]
    said = "python -m benchmarks.ci_evidence o/c@1=one.json+two.json --dsl 4.5.2 --output out.json"
    assert made["runs"][1]["command"] == said and "o/a@1" in made["runs"][0]["command"]
    assert made["command"] == made["runs"][-1]["command"] and str(tmp_path) not in out.read_text()


def test_what_fits_in_a_line_has_one_and_is_read_again_as_it_was() -> None:
    found = {"rows": [{"us": [1.5, 2.5], "name": "a"}, {"text": "x" * 200, 3: []}], "none": None}
    text = text_of(found)
    assert json.loads(text) == json.loads(json.dumps(found))
    assert '  {"us": [1.5, 2.5], "name": "a"},\n' in text
    assert '   "3": []\n' in text
