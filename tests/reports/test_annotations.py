"""SARIF and GitHub annotations: their formats' own rules, for lint and for explain.

`SARIF` states, in our own words, what SARIF 2.1.0 demands of what is written. With SARIF_SCHEMA set
to the path of OASIS's own sarif-schema-2.1.0.json the logs are held against that as well.
"""

import json
import os
from pathlib import Path

import jsonschema
import pytest

from layoutcheck.cli import run
from layoutcheck.lint.finding import LintFinding
from layoutcheck.lint.rules import rules
from layoutcheck.reports.github import render_located
from layoutcheck.reports.located import Located, of_lint
from layoutcheck.reports.sarif import log
from layoutcheck.reports.style import Style
from layoutcheck.reports.trace import located
from layoutcheck.rules import rules as copy_rules
from layoutcheck.sources.request import build
from layoutcheck.sources.traced import Frame, KernelFinding, KernelPlace, OrderReport, Trace, TracedCopy
from layoutcheck.tracing import judge

TEXT = {"type": "object", "required": ["text"], "properties": {"text": {"type": "string", "minLength": 1}}}
LEVEL = {"enum": ["none", "note", "warning", "error"]}
PLACE = {"type": "integer", "minimum": 1}
REGION = {
    "type": "object",
    "additionalProperties": False,
    "required": ["startLine"],
    "properties": {"startLine": PLACE, "startColumn": PLACE, "endLine": PLACE, "endColumn": PLACE},
}
PHYSICAL = {
    "type": "object",
    "additionalProperties": False,
    "required": ["artifactLocation"],
    "properties": {
        "artifactLocation": {
            "type": "object",
            "required": ["uri"],
            "properties": {"uri": {"type": "string", "pattern": r"^[^ \\]+$"}},
        },
        "region": REGION,
    },
}
LOCATION = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "physicalLocation": PHYSICAL,
        "logicalLocations": {
            "type": "array",
            "items": {"type": "object", "properties": {"fullyQualifiedName": {"type": "string"}}},
        },
    },
}
RULE = {
    "type": "object",
    "required": ["id"],
    "properties": {
        "id": {"type": "string"},
        "name": {"type": "string", "pattern": "^[A-Za-z0-9]+$"},
        "shortDescription": TEXT,
        "fullDescription": TEXT,
        "help": {**TEXT, "properties": {"text": {"type": "string"}, "markdown": {"type": "string"}}},
        "defaultConfiguration": {"type": "object", "properties": {"level": LEVEL}},
    },
}
RESULT = {
    "type": "object",
    "required": ["message", "ruleId", "ruleIndex", "level", "partialFingerprints"],
    "properties": {
        "ruleId": {"type": "string"},
        "ruleIndex": {"type": "integer", "minimum": 0},
        "level": LEVEL,
        "message": TEXT,
        "locations": {"type": "array", "items": LOCATION},
        "relatedLocations": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["id", "physicalLocation", "message"],
                "properties": {
                    "id": {"type": "integer", "minimum": 0},
                    "physicalLocation": PHYSICAL,
                    "message": TEXT,
                },
            },
        },
        "partialFingerprints": {"type": "object", "additionalProperties": {"type": "string"}},
        "properties": {"type": "object"},
    },
}
DRIVER = {
    "type": "object",
    "required": ["name", "rules"],
    "properties": {
        "name": {"const": "layoutcheck"},
        "version": {"type": "string"},
        "rules": {"type": "array", "uniqueItems": True, "items": RULE},
    },
}
SARIF = {
    "type": "object",
    "additionalProperties": False,
    "required": ["version", "runs"],
    "properties": {
        "$schema": {"type": "string", "format": "uri"},
        "version": {"const": "2.1.0"},
        "runs": {
            "type": "array",
            "minItems": 1,
            "maxItems": 1,
            "items": {
                "type": "object",
                "required": ["tool", "results"],
                "properties": {
                    "tool": {"type": "object", "required": ["driver"], "properties": {"driver": DRIVER}},
                    "columnKind": {"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
                    "results": {"type": "array", "items": RESULT},
                },
            },
        },
    },
}


def held(made):
    jsonschema.validate(made, SARIF)
    official = os.environ.get("SARIF_SCHEMA")
    if official:
        jsonschema.validate(made, json.loads(Path(official).read_text(encoding="utf-8")))
    (one,) = made["runs"]
    listed = [rule["id"] for rule in one["tool"]["driver"]["rules"]]
    assert listed == sorted(set(listed))
    for result in one["results"]:
        assert listed[result["ruleIndex"]] == result["ruleId"]
    prints = [result["partialFingerprints"]["layoutcheck/v1"] for result in one["results"]]
    assert len(prints) == len(set(prints))
    return one


def every_code():
    return [
        LintFinding(rule.code, rule.severity, "a folder/ä.py", 3, 1, rule.summary, "why", 4, 2)
        for rule in [*rules().values(), *copy_rules().values()]
    ]


def test_every_rule_has_its_page_in_the_log():
    one = held(log(of_lint([*every_code(), *every_code()])))
    assert len(one["results"]) == 2 * len({**rules(), **copy_rules()})
    assert all(
        rule["help"]["markdown"].startswith(f"# {rule['id']}") for rule in one["tool"]["driver"]["rules"]
    )
    uri = one["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    assert uri == "a%20folder/%C3%A4.py"


def test_fingerprints_do_not_follow_line_numbers():
    logs = [log(of_lint([LintFinding("LC301", "slow", "a.py", line, 1, "same")])) for line in (1, 99)]
    first, second = (each["runs"][0]["results"][0]["partialFingerprints"] for each in logs)
    assert first == second


def test_nothing_found_is_a_log_as_well():
    assert held(log([]))["results"] == []


def test_both_accesses_of_a_race_stand_in_sarif_with_their_callers():
    first = KernelPlace("writes", Frame("k.py", 3, 5), (Frame("k.py", 9),), 0)
    second = KernelPlace("reads", Frame("k.py", 5, 5), (), 40, 1, (2,))
    race = KernelFinding("LC504", "wrong", "title", "message", (first, second), {"bytes": 4})
    (one,) = held(log(located(judge(Trace(orders=(OrderReport("k", "sm_90a", (race,)),))))))["results"]
    assert one["properties"]["evidence"] == {"bytes": 4}
    seen = [
        (at["physicalLocation"]["region"]["startLine"], at["message"]["text"])
        for at in one["relatedLocations"]
    ]
    assert seen == [
        (3, "thread 0 writes"), (9, "called from here: thread 0 writes"),
        (5, "thread 40 of block 1, turn 2 reads"),
    ]  # fmt: skip


def test_lint_writes_sarif(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("a.py").write_text("from cutlass import cute\nx = cute.assume(4, divby=8)\n")
    assert run(["lint", "a.py", "--format", "sarif", "--output", "a.sarif"]) == 1
    (result,) = held(json.loads(Path("a.sarif").read_text()))["results"]
    assert result["level"] == "error" and result["ruleId"] == "LC267"
    region = {"startLine": 2, "startColumn": 5, "endLine": 2, "endColumn": 28}
    assert result["locations"][0]["physicalLocation"]["region"] == region


def test_explain_has_the_same_formats(capsys):
    assert run(["explain", "--case", "issue-2320", "--format", "sarif"]) == 1
    results = held(json.loads(capsys.readouterr().out))["results"]
    assert [result["ruleId"] for result in results] == ["LC102", "LC101"]
    evidence = results[0]["properties"]["evidence"]
    assert (evidence["elements"], evidence["adjacent"], evidence["stride"]) == (8, 1, "64")
    assert "issue-2320" in results[0]["locations"][0]["logicalLocations"][0]["fullyQualifiedName"]
    assert run(["explain", "--case", "issue-2320", "--format", "github"]) == 1
    first = capsys.readouterr().out.splitlines()[0]
    assert first.startswith("::error title=LC102 rejected::issue-2320")


def test_a_bad_line_is_annotated(tmp_path, capsys):
    (tmp_path / "c.jsonl").write_text('{"src": "(8):(1)"}\n')
    assert run(["check", "--jsonl", str(tmp_path / "c.jsonl"), "--format", "github"]) == 2
    assert capsys.readouterr().out.startswith("::warning title=LC910 unknown::line 1: no 'dst'")


@pytest.mark.parametrize(
    ("severity", "command"),
    [
        ("rejected", "error"),
        ("wrong", "error"),
        ("unknown", "warning"),
        ("slow", "warning"),
        ("note", "notice"),
    ],
)
def test_github_levels(severity, command):
    assert render_located([Located("LC1", severity, "t", "m")], Style()).startswith(f"::{command} ")


def test_github_escapes_what_would_end_a_command():
    text = render_located([Located("LC1", "slow", "50%\r\nof::it", "m", "a,b:c.py", 1, 2)], Style())
    assert text == "::warning file=a%2Cb%3Ac.py,line=1,col=2,title=LC1 slow::50%25%0D%0Aof::it%0Am\n"


def test_a_trace_is_annotated_at_the_users_lines():
    memref = '!cute.memref<bf16, {}, align<16>, "{}">'
    copy, _ = build(memref.format("gmem", "(8):(1)"), memref.format("smem", "(8):(64)"), "cp.async", bits=128)
    where = Frame(str(Path.cwd() / "a folder" / "k.py"), 7, 5)
    one = TracedCopy(copy, "cute.copy", where, (), "k", "sm_90a")
    judged = judge(Trace((one, one)))
    (found,) = located(judged)
    assert (found.path, found.line, found.column, found.code) == ("a folder/k.py", 7, 5, "LC201")
    assert len(held(log([found]))["results"]) == 1


@pytest.mark.parametrize("code", ["LC201", "LC263", "LC402", "LC501", "LC601"])
def test_a_rule_of_any_kind_has_its_page_in_the_log(code: str) -> None:
    (rule,) = log([Located(code, "wrong", "a title", "a message")])["runs"][0]["tool"]["driver"]["rules"]
    assert rule["id"] == code and rule["help"]["markdown"].startswith(f"# {code} ")
