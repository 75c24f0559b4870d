"""Every LC4xx page: its sections, and its example commands run and find what they say."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from layoutcheck import numerics, rulebook
from layoutcheck.cli import run
from layoutcheck.findings import SEVERITIES
from layoutcheck.numerics.block_unit import Unit
from layoutcheck.numerics.formats import Raw
from layoutcheck.numerics.units import unit
from tests.rules.examples import commands

CODES = [code for code in rulebook.rules() if code.startswith("LC4")]
Captured = pytest.CaptureFixture[str]


@pytest.fixture
def an_h200(monkeypatch: pytest.MonkeyPatch) -> None:
    """What runs on the GPU is answered by the model of one, whatever architecture is asked about."""

    def run_vectors(u: Unit, a: Raw, b: Raw, c: Raw) -> Raw:
        return unit(u.name, "sm_90a").fma(a, b, c)

    runner = SimpleNamespace(available=lambda: True, run_vectors=run_vectors)
    monkeypatch.setitem(sys.modules, "layoutcheck.gpu.tensor_cores", runner)


def found(capsys: Captured, words: tuple[str, ...]) -> tuple[int, list[dict[str, str]]]:
    status = run([*words, "--format", "json"])
    return status, json.loads(capsys.readouterr().out)["findings"]


@pytest.mark.parametrize("code", CODES)
def test_a_rule_flags_its_example(code: str, an_h200: None, capsys: Captured) -> None:
    status, findings = found(capsys, commands(code).flagged)
    assert [finding["severity"] for finding in findings if finding["code"] == code] == [
        rulebook.rules()[code].severity
    ]
    assert status == int(rulebook.rules()[code].severity == "wrong")


@pytest.mark.parametrize("code", CODES)
def test_a_rule_leaves_the_clean_twin_alone(code: str, an_h200: None, capsys: Captured) -> None:
    status, findings = found(capsys, commands(code).clean)
    assert code not in [finding["code"] for finding in findings]
    assert status == 0


@pytest.mark.parametrize("code", CODES)
def test_a_rule_documents_itself(code: str, capsys: Captured) -> None:
    one = rulebook.rules()[code]
    assert one.code == code
    assert re.fullmatch("[a-z-]+", one.name)
    assert one.summary.endswith(".")
    assert run(["rule", code.lower()]) == 0
    page = capsys.readouterr().out
    assert max(map(len, page.splitlines())) <= 80
    unbroken = page.replace("\\\n", "").split()  # the terminal's lines, the page's words
    assert unbroken == one.page().split()
    assert f"$ layoutcheck {' '.join(commands(code).flagged)}" in " ".join(unbroken)


def test_every_code_that_is_raised_has_a_page() -> None:
    source = "".join(file.read_text() for file in Path(numerics.__file__).parent.glob("*.py"))
    assert set(re.findall(r'Finding\(\s*"(LC\d+)"', source)) == set(CODES)


def test_the_rulebook_has_all_rules_in_order(capsys: Captured) -> None:
    assert run(["rule"]) == 0
    listed = [line[:5] for line in capsys.readouterr().out.splitlines() if not line.startswith(" ")]
    assert listed == sorted(listed) == list(rulebook.rules())
    assert {"LC101", "LC901", *CODES} <= set(listed)


SECTIONS = ["Severity", "## What it means", "## Why", "## How to fix it", "## How to silence it"]
BEYOND = "## What no byte shows"  # of the rules whose findings are not of bytes


def test_pages_have_one_form() -> None:
    """Rules about files or cases as a whole have no example."""
    example = ["## Example", "Flagged:", "Clean:"]
    for rule in rulebook.rules().values():
        parts = re.findall(r"^(?:## .*|Severity|Flagged:|Clean:)", rule.page(), re.M)
        shown = [] if rule.code.startswith("LC91") else example
        assert [part for part in parts if part != BEYOND] == SECTIONS + shown, rule.code
        assert rule.severity in SEVERITIES, rule.code
