"""Fields of every JSON input: a wrong type, an unknown, missing or repeated key is one error with a place."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from layoutcheck.cli import run

COPY = {"src": "(8):(1)", "dst": "(8):(1)", "atom": "universal", "bits": 64, "dtype": "bf16", "id": "mine"}


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (json.dumps({**COPY, "wibble": 1}), "unknown key 'wibble'"),
        (json.dumps({**COPY, "swizle": "S<3,4,3>"}), "unknown key 'swizle' (did you mean swizzle?)"),
        (json.dumps({**COPY, "wibble": None}), "unknown key 'wibble'"),
        (json.dumps(COPY)[:-1] + ', "bits": 32}', "the key 'bits' is given twice"),
        (json.dumps({**COPY, "id": {"a": 1}}), "'id' is a dict; expected a string or a number"),
        (json.dumps({**COPY, "bits": "64"}), "'bits' is a whole number, not \"64\""),
        (json.dumps({**COPY, "src": 3}), "'src' is a string, not 3"),
        (json.dumps({"src": "(8):(1)"}), "no 'dst'; expected both 'src' and 'dst'"),
    ],
)
def test_a_line_that_is_not_right_says_what_of_it(
    line: str, said: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    given = io.BytesIO(f"{json.dumps(COPY)}\n{line}\n".encode())
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(given))
    assert run(["check", "--jsonl", "-"]) == 2
    first, second = map(json.loads, capsys.readouterr().out.splitlines())
    assert first["subject"] == "mine" and second["subject"] == "line 2"
    error = second["error"]
    assert said in f"{error['message']}; expected {error['expected']}"


def test_keys_that_harvests_carry_are_passed_over(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = tmp_path / "copies.jsonl"
    lines.write_text(json.dumps({**COPY, "count": 3, "kernels": ["k"], "note": "seen", "tiled": None}))
    assert run(["check", "--jsonl", str(lines)]) == 0
    assert json.loads(capsys.readouterr().out)["subject"] == "mine"


ENTRY = {"path": "k.py", "code": "LC301", "line": "0123456789abcdef", "count": 1}


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ({**ENTRY, "count": "1"}, "finding 2 of the baseline '{file}': 'count' is a whole number, not \"1\""),
        ({**ENTRY, "count": 0}, "finding 2 of the baseline '{file}' counts 0; expected 1 or more"),
        ({**ENTRY, "count": True}, "'count' is a whole number, not true"),
        ({**ENTRY, "path": ["k.py"]}, "'path' is a string"),
        (
            {**ENTRY, "lines": "x"},
            "finding 2 of the baseline '{file}' has a key 'lines' (did you mean line?)",
        ),
        (
            {key: ENTRY[key] for key in ("path", "code", "count")},
            "finding 2 of the baseline '{file}' has no 'line'",
        ),
        ("LC301", "finding 2 of the baseline '{file}' is no object"),
    ],
)
def test_an_entry_of_a_baseline_that_is_not_right_says_what_of_it(
    entry: Any, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "k.py").write_text("x = 1\n")
    file = tmp_path / "old.json"
    file.write_text(json.dumps({"layoutcheck_baseline": 1, "findings": [ENTRY, entry]}))
    assert run(["lint", "--static", "--baseline", str(file), "."]) == 2
    error = capsys.readouterr().err
    assert said.format(file=file) in error and error.count("error: ") == 1


def test_an_earlier_run_that_is_not_right_says_what_of_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copies, before = tmp_path / "copies.jsonl", tmp_path / "before.json"
    copies.write_text(json.dumps(COPY))
    for report, said in (
        ({"verdict": "legal", "execution": [1]}, "line 1: 'execution' is no object"),
        ({"verdict": "legal", "execution": {"gmem_sectors": "4"}}, "line 1: 'gmem_sectors' is no number"),
        ({"verdict": "fine"}, "line 1 is no report"),
        ({"verdict": ["legal"]}, "line 1 is no report"),
    ):
        before.write_text(json.dumps(report))
        assert run(["check", "--jsonl", str(copies), "--compare", str(before)]) == 2
        assert said in capsys.readouterr().err
