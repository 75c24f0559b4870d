"""Errors of public reports, as they were pasted: nine in ten are explained, or sent to who can."""

from __future__ import annotations

import ast
import json
import random
from functools import cache
from pathlib import Path

import pytest

from layoutcheck import catalogue
from layoutcheck.catalogue import codes, installed, raised, raising
from layoutcheck.cli import run
from layoutcheck.errors import InputError
from layoutcheck.sources.diagnostics import Diagnostic, read_errors

LINES = (Path(__file__).parent.parent / "data" / "reported.jsonl").read_text().splitlines()
REPORTED = [json.loads(line) for line in LINES]


SAYING = [one for one in REPORTED if "says" in one]
answers = cache(catalogue.answers)  # of a text that is refused `outcome` asks what `read_errors` asked


@pytest.fixture(autouse=True)
def _asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalogue, "answers", answers)


@cache
def outcome(text: str) -> str:
    """The name of the first entry that answers the text, "copy" for an error about one copy, "" for none."""
    try:
        first = read_errors(text)[0]
    except InputError:
        found = answers(text)
        return found[0].entry.name if found else ""
    return "copy" if isinstance(first, Diagnostic) else first.entry.name


every_fourth = pytest.mark.parametrize("every", [pytest.param(1, marks=pytest.mark.sweep), 4])
"""In the normal run; all of them in the sweep."""


@every_fourth
def test_a_reported_text_gets_the_answer_that_was_judged_right(every: int) -> None:
    found = {at: (outcome(one["text"]), one["entry"]) for at, one in list(enumerate(REPORTED))[::every]}
    assert {at: pair for at, pair in found.items() if pair[0] != pair[1]} == {}


def test_an_answer_that_many_texts_get_names_who_answers_and_what_is_asked() -> None:
    for report in SAYING:
        (answer, *_) = answers(report["text"])
        said = " ".join((answer.title, answer.cause, answer.remedy, *answer.facts))
        assert all(part in said for part in report["says"]), said


@every_fourth
def test_nine_in_ten_of_at_least_240_reported_texts_are_answered(every: int) -> None:
    texts = {report["text"] for report in REPORTED[::every]}
    assert len(texts) >= 240
    assert sum(bool(outcome(text)) for text in texts) >= 0.9 * len(texts)
    assert all(report["url"].startswith("https://") for report in REPORTED)


def test_a_statement_of_the_installed_dsl_is_found_by_its_message() -> None:
    """The parts that Python computes are anything; place and function are of a statement with these words."""
    files = [(path, text) for path, text in installed.files() if path.endswith("cute/core.py")]
    assert files
    wanted = []
    for path, text in files:
        for node, function, _ in raising.walk(ast.parse(text)):
            template = raising.template_of(node)
            if template and sum(letter.isalpha() for part in template if part for letter in part) > 30:
                wanted.append((path, node.lineno, function, template))
    assert len(wanted) > 50
    for path, _, function, template in random.Random(7).sample(wanted, 5):
        message = "".join("((4,8):(8,1))" if part is None else part for part in template)
        found = raised.find(f"Traceback\nValueError: {message}")
        assert found is not None, message
        assert found.function == function or message.startswith(found.said[:20]), (path, function, found)


@pytest.mark.parametrize(
    ("text", "function", "condition"),
    [
        ("ValueError: NamedBarrier ID must be in [0,15].", "NamedBarrier", "barrier_id"),
        ("ValueError: namedbarrier id must be in [0,15]", "NamedBarrier", "barrier_id"),
        ("Expected `divby` to be a power of two when pow2=True, got 12", "assume", "pow2"),
    ],
)
def test_the_condition_of_a_statement_is_named(text: str, function: str, condition: str) -> None:
    (answer,) = answers(text)
    assert function in answer.title and condition in answer.cause


@pytest.mark.parametrize("text", ["AssertionError: not supported", "ValueError: invalid", "error: 3 4 5 6 7"])
def test_common_words_name_no_statement(text: str) -> None:
    assert raised.find(text) is None


def test_a_code_in_prose_has_its_meaning() -> None:
    """Other names in capitals are not taken for a code of the DSL."""
    (answer,) = answers("the trace of the combine kernel fails with TYPE_UNSTABLE_JOIN")
    assert answer.entry.name == "dsl.code-alone" and "TYPE_UNSTABLE_JOIN" in answer.title
    told = codes.meaning("TYPE_UNSTABLE_JOIN")
    assert told and told.said in answer.cause and told.helps in answer.remedy
    assert answers("the kernel fails with CONFIG_DEBUG_INFO_BTF") == []


def test_a_location_of_mlir_is_the_place() -> None:
    (answer,) = answers('loc("kernel"("/w/gemm.py":88:0)): error: GATHER4 mode requires 5 coordinates')
    assert answer.place == "/w/gemm.py:88"


def test_a_program_is_traced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`explain FILE.py` is `trace --no-launch FILE.py`; what it would not use is refused."""
    asked: list[tuple[str, dict[str, object]]] = []

    def traced(script: str, **given: object) -> int:
        asked.append((script, given))
        return 7

    monkeypatch.setattr("layoutcheck.cli.trace.trace", traced)
    program = tmp_path / "kernel.py"
    program.write_text("")
    assert run(["explain", str(program), "--arch", "sm_80"]) == 7
    ((script, given),) = asked
    assert script == str(program) and given["no_launch"] is True and given["arch"] == "sm_80"
    assert "is run as by `layoutcheck trace --no-launch`" in capsys.readouterr().err
    assert run(["explain", str(program), "--bits", "16"]) == 2
    assert run(["explain", str(program), "--compiler"]) == 2
