"""No false alarm on real kernels: every copy of the CUTLASS examples and quack, as the compiler printed it.

tests/data/corpus.jsonl holds the operand types of distinct copies of the modelled families, traced from
the CUTLASS 4.8 examples and quack 0.6.5, with what the DSL said of each. These kernels work.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from layoutcheck.check import Report, check
from layoutcheck.sources.request import build

RECORDS = [
    json.loads(line) for line in (Path(__file__).parent / "data" / "corpus.jsonl").open(encoding="utf-8")
]


@pytest.fixture(scope="module")
def reports() -> list[tuple[dict[str, object], Report]]:
    keys = ("src", "dst", "atom", "pred", "arch")
    return [(record, check(build(**{key: record[key] for key in keys})[0])) for record in RECORDS]


def test_what_the_compiler_refuses_is_rejected_and_nothing_else(reports) -> None:
    disagree = [
        (record["loc"], report.verdict, report.compiler.message)
        for record, report in reports
        if (report.verdict == "rejected") == record["accepted"]
    ]
    assert disagree == []


def test_no_working_copy_is_called_wrong(reports) -> None:
    alarms = [
        (record["loc"], [(f.code, f.title) for f in report.findings])
        for record, report in reports
        if report.verdict == "wrong"
    ]
    assert alarms == []


def test_none_is_unknown(reports) -> None:
    """4-bit ldmatrix tiles included."""
    unknown = [
        (record["loc"], report.findings[0].message)
        for record, report in reports
        if report.verdict == "unknown"
    ]
    assert unknown == []
