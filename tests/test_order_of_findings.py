"""Findings are listed worst first (those of a lint by place), causes before consequences."""

from __future__ import annotations

import random
from typing import Any

import layoutcheck as lc
from layoutcheck.findings import CONSEQUENCES, rank
from layoutcheck.lint.analyse import of_report
from layoutcheck.reports import order
from layoutcheck.rules import rules
from layoutcheck.sources.traced import Frame, KernelFinding, KernelPlace, OrderReport

SHUFFLED = random.Random(3)


def test_what_only_names_symptoms_follows() -> None:
    assert {code for code, rule in rules().items() if rule.symptoms} < CONSEQUENCES <= set(rules())


def test_a_lint_lists_a_copys_findings_as_its_report_does() -> None:
    report = lc.check(
        "(128,64):(1,128)",
        "(128,64):(64,1)",
        "cp.async",
        bits=128,
        dtype="bf16",
        thr="(16,16):(16,1)",
        val="(8,1)",
    )
    assert [one.code for one in report.findings] == ["LC102", "LC101"]
    found = [of_report(one, report, "k.py", (9, 5)) for one in report.findings]
    found += [of_report(one, report, "a.py", (70, 1)) for one in report.findings]
    SHUFFLED.shuffle(found)
    listed = [(one.path, one.code) for one in sorted(found, key=lambda one: one.order)]
    assert listed == [("a.py", "LC102"), ("a.py", "LC101"), ("k.py", "LC102"), ("k.py", "LC101")]


def test_severities_come_before_codes() -> None:
    given: list[tuple[str, str]] = [
        ("LC202", "wrong"), ("LC301", "slow"), ("LC204", "wrong"), ("LC501", "wrong"), ("LC191", "note"),
    ]  # fmt: skip
    listed = [code for code, severity in sorted(given, key=lambda one: rank(*one))]
    assert listed == ["LC501", "LC202", "LC204", "LC301", "LC191"]


def finding(line: int, column: int, code: str, severity: str) -> Any:
    place = KernelPlace("a load", Frame("k.py", line, column))
    return KernelFinding(code, severity, "title", "message", (place, place))


def test_kernels_findings_are_listed_worst_first_then_by_place() -> None:
    wanted = [
        (3, 9, "LC504", "wrong"),
        (3, 9, "LC506", "wrong"),
        (7, 1, "LC501", "wrong"),
        (3, 1, "LC301", "slow"),
    ]
    found = [finding(*one) for one in wanted]
    SHUFFLED.shuffle(found)
    told = OrderReport("kernel", "sm_90a", findings=tuple(found))
    assert [(one.places[0].where.line, one.code) for one, _ in order.distinct([told])] == [
        (line, code) for line, _, code, _ in wanted
    ]
