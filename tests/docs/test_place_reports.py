"""The page of places: the test of every row exists and names its case; every report has a row."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/place-reports.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| (.*) \| (.*) \| `([\w/.]+)::(\w+)` \| `([^`]+)` \|$", PAGE, re.MULTILINE)
REPORTS = (
    *(f"NVIDIA/cutlass#{n}" for n in (3604, 2312, 3208, 2886, 2715, 3327)), "flashinfer#3391", "MSLK#303",
    "hazard z29", "swizzled tile on a badly aligned base", "128 threads run a tiled copy of 64", "304 KB",
    "a pass of the compiler dies", "MLIR refuses a product",
)  # fmt: skip


@pytest.mark.parametrize(("fault", "file", "test", "case"), [(a, c, d, e) for a, _, c, d, e in ROWS])
def test_a_row_names_a_test_and_a_case_of_it(fault: str, file: str, test: str, case: str) -> None:
    text = (ROOT / file).read_text(encoding="utf-8")
    tests = {one.name for one in ast.parse(text).body if isinstance(one, ast.FunctionDef)}
    assert test in tests, fault
    assert re.search(rf"(?<!\w){re.escape(case)}", text), fault


def test_every_report_has_a_row() -> None:
    """Five kinds of tails, the eight reports of 32-bit offsets, and what else was planted."""
    assert len(ROWS) == PAGE.count("\n| ") - 2 * PAGE.count("| --- | --- |")
    faults = " ".join(fault for fault, *_ in ROWS)
    assert [one for one in REPORTS if one not in faults] == []
    assert sum("predicate" in fault and "test_bounds.py" in file for fault, _, file, *_ in ROWS) >= 4
