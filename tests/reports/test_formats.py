"""What programs read: JSON of every command has its version, JUnit XML the elements that CI systems know."""

from __future__ import annotations

import json
from typing import Any
from xml.etree import ElementTree as Xml

import jsonschema
import pytest

from docs.schemas.reports import schema
from layoutcheck.findings import SCHEMA_VERSION
from layoutcheck.lint.finding import LintFinding
from layoutcheck.lint.result import Counts, Ran, Result
from layoutcheck.reports.junit_xml import render
from layoutcheck.reports.style import Style
from tests.test_options import MODES, world  # noqa: F401 (a fixture)

# The modes of commands that print JSON.
PRINTS = [
    ("explain", "copy"), ("explain", "case"), ("explain", "paste"), ("explain", "mma"), ("check", "lines"),
    ("lint", "run"), ("ci", "run"), ("confirm", "order"), ("trace", "run"), ("trace", "banks"),
    ("banks", "tile"), ("canonical", "layout"), ("synth", "plans"), ("resources", "gemm"),
    ("numerics units", "all"), ("numerics path", "drawn"), ("numerics tol", "drawn"),
    ("numerics attention", "small"),
]  # fmt: skip
# Elements of the schema that Jenkins reads and that pytest holds its XML to: attributes (those that must
# be there, then others), and what may stand inside.
JUNIT: dict[str, tuple[set[str], set[str], set[str]]] = {
    "testsuites": (set(), {"name", "time", "tests", "failures", "errors"}, {"testsuite"}),
    "testsuite": ({"name", "tests", "failures", "errors"}, {"skipped", "time", "timestamp"}, {"testcase"}),
    "testcase": ({"name"}, {"classname", "time"}, {"skipped", "error", "failure", "system-out"}),
    "failure": (set(), {"type", "message"}, set()),
    "error": (set(), {"type", "message"}, set()),
    "skipped": (set(), {"type", "message"}, set()),
    "system-out": (set(), set(), set()),
}


@pytest.mark.parametrize(("command", "mode"), PRINTS)
def test_json_has_its_version(command: str, mode: str, world: Any) -> None:  # noqa: F811
    _, _, said = world([*command.split(), "--format", "json", *MODES[command][mode]])
    text = world.printed
    try:
        found = [json.loads(text)]
    except json.JSONDecodeError:
        found = [json.loads(line) for line in text.splitlines()]
    assert found and all(one["schema_version"] == SCHEMA_VERSION for one in found), said
    reports = [one["report"] for one in found if one.get("report")]
    reports += found if command in ("explain", "check") and mode != "mma" else []
    for report in reports:
        jsonschema.validate(report, schema())


def test_junit_xml_has_what_ci_systems_read() -> None:
    bad = LintFinding("LC201", "wrong", "a<b>.py", 3, 1, "bytes \x00 & more", "told")
    slow = LintFinding("LC301", "slow", "c.py", 3, 1, "slow")
    runs = (
        Ran("t.py", "t.py", "sm_90a", 1, 1, 0.5, False), Ran("u.py", "u.py", "sm_90a", 0, 0, 1234.5, True),
        Ran("v.py", "v.py", "sm_90a", 2, 3, 0.5, False, ("it died & <so>",)),
    )  # fmt: skip
    root = Xml.fromstring(render(Result((bad, slow), Counts(), runs=runs), Style()).encode())
    for element in root.iter():
        needed, others, inside = JUNIT[element.tag]
        assert needed <= set(element.keys()) <= needed | others, element.tag
        assert {child.tag for child in element} <= inside
    for suite in root:
        counted = {"tests": "testcase", "failures": "failure", "errors": "error", "skipped": "skipped"}
        assert all(suite.get(name) == str(len(list(suite.iter(tag)))) for name, tag in counted.items())
    told = [out.text for out in root.iter("system-out")]
    assert told[:3] == ["1 kernel, 1 copy", "0 kernels, 0 copies, as kept from before", "2 kernels, 3 copies"]
