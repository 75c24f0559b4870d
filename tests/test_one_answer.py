"""One question, one answer: each door says the same of a copy.

The doors: `lc.check`, `explain`, `check --jsonl`, SARIF, the fixture of pytest; and of a trace its JSON, its
annotations, its page, lint and ci, the plugin's run of a suite, the editor. The copies are those of
`tests/recorded.py` that can be stated as a request.
"""

from __future__ import annotations

import io
import json
import re
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import fields
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import layoutcheck as lc
from layoutcheck import tracing
from layoutcheck.analysis.summary import issued
from layoutcheck.cli import run
from layoutcheck.copies.copy import Copy
from layoutcheck.editor.seen import lines_of
from layoutcheck.errors import option_of
from layoutcheck.lint import judged as lint
from layoutcheck.lint.cases import CaseRun, RegisteredCase
from layoutcheck.pytest_plugin.fixture import Checker
from layoutcheck.pytest_plugin.observer import FAILING, Observer
from layoutcheck.reports import github, run_page, sarif
from layoutcheck.reports.located import LEVELS
from layoutcheck.reports.style import Style
from layoutcheck.reports.text import render
from layoutcheck.reports.trace import SHOWN, JudgedTrace, located, render_json
from layoutcheck.request import Request
from layoutcheck.sources.request import build
from layoutcheck.sources.traced import Frame, Trace, TracedCopy
from tests.recorded import copies

SAMPLE = 37  # every so manieth in the normal run
# An address by its type alone is unknown in a trace; of what kills the compiler no operation is left.
OTHER_IN_A_TRACE = {"LC220", "LC235", "LC190"}
SAID = ("verdict", "compiler", "findings", "inference", "execution", "fixes", "obstacle")


@cache
def asked() -> list[dict[str, Any]]:
    """The requests that state a copy: its printed operands, atom and tiled copy, read back as the copy."""
    return list(_asked())


def _asked() -> Iterator[dict[str, Any]]:
    for _, copy in copies():
        request = stated(copy)
        try:
            if build(**request)[0] == copy:
                yield request
        except lc.InputError:
            continue


def stated(copy: Copy) -> dict[str, Any]:
    said = {
        "src": copy.src, "dst": copy.dst, "atom": copy.atom, "pred": copy.pred, "index": copy.index,
        "aux": copy.aux, "op": copy.op, "arch": copy.arch,
    }  # fmt: skip
    if copy.tiling is not None:
        said |= {"src": copy.tiling.src, "dst": copy.tiling.dst, "tiled": copy.tiling.tiled, "atom": None,
                 "block": copy.tiling.block_threads}  # fmt: skip
    return {
        key: value if isinstance(value, int) else str(value)
        for key, value in said.items()
        if value is not None
    }


def codes_of(report: lc.Report) -> list[str]:
    return [one.code for one in report.findings]


def said(report: dict[str, Any]) -> dict[str, Any]:
    return {key: report[key] for key in SAID}


def words_of(request: dict[str, Any]) -> list[str]:
    """The request as options of `explain`."""
    return [request["src"], request["dst"], *(
        f"{option_of(key)}={value}" for key, value in request.items() if key not in ("src", "dst")
    )]  # fmt: skip


def written(words: list[str], monkeypatch: pytest.MonkeyPatch) -> tuple[int, str]:
    out = io.StringIO()
    monkeypatch.setattr(sys, "stdout", out)
    return run(words), out.getvalue()


def agree(requests: list[dict[str, Any]], folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = folder / "copies.jsonl"
    file.write_text("".join(json.dumps(one) + "\n" for one in requests))
    status, lines = written(["check", "--jsonl", str(file)], monkeypatch)
    _, texts = written(["check", "--jsonl", str(file), "--format", "text"], monkeypatch)
    worst = 0
    fixture = Checker()
    for request, line in zip(requests, lines.splitlines(), strict=True):
        report = lc.check(**request)
        expected = said(json.loads(json.dumps(report.to_dict())))
        assert said(json.loads(line)) == expected, request
        one, explained = written(["explain", *words_of(request), "--format", "json"], monkeypatch)
        assert said(json.loads(explained)) == expected, request
        assert one == int(report.verdict in ("rejected", "wrong"))
        worst = max(worst, one)
        told, text = written(["explain", *words_of(request)], monkeypatch)
        assert told == one and text == render([report], Style())
        in_python = render([report], Style(python=True))  # options have their names there
        assert in_python == f"{report.text()}\n" and in_python.split("\n")[0] == text.split("\n")[0]
        # The report of a line is that of the copy, below its first line.
        assert text.partition("\n")[2].splitlines()[-1] in texts
        if not fixture.gpu:
            fixture.assert_copy(**request, expected=report.verdict)
        sarif = json.loads(written(["explain", *words_of(request), "--format", "sarif"], monkeypatch)[1])
        codes = [each["ruleId"] for each in sarif["runs"][0]["results"]]
        assert codes == [each["code"] for each in expected["findings"]]
    assert status == worst


def test_every_option_can_be_stated() -> None:
    known = {one.name for one in fields(Request)}
    assert all(set(one) <= known for one in asked()) and len(asked()) > 250


def test_the_doors_agree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    agree(asked()[::SAMPLE], tmp_path, monkeypatch)


@pytest.mark.sweep
@pytest.mark.parametrize("first", range(8))
def test_the_doors_agree_on_all(first: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    agree(asked()[first::8], tmp_path, monkeypatch)


Row = tuple[str, str, int, int]  # code, severity, line, column


def traced(requests: list[dict[str, Any]], file: Path) -> JudgedTrace:
    """A trace of these copies, one at a line of `file`, as `layoutcheck trace` judges it."""
    file.write_text("\n" * len(requests))
    seen = []
    for n, request in enumerate(requests, 1):
        report = lc.check(**request)
        refused = report.compiler.message if report.compiler.outcome == "rejected" else None
        where = Frame(str(file), n, 1 + n % 2)
        copy = report.copy
        seen.append(TracedCopy(copy, f"cute.copy {n}", where, (), "k", copy.arch, refused=refused))
    return tracing.judge(Trace(tuple(seen)))


def of_lint(judged: JudgedTrace) -> set[Row]:
    case = RegisteredCase("k.py", "f", 1, "f", "sm_90a")
    found = lint.judge([CaseRun(case, judged.trace)]).findings
    return {(one.code, one.severity, one.line, one.column) for one in found if one.severity in SHOWN}


def of_editor(judged: JudgedTrace) -> set[Row]:
    found = [one for lines in lines_of(judged).values() for one in lines.said]
    return {(one.code, one.severity, one.line, one.column) for one in found}


def of_github(judged: JudgedTrace) -> set[Row]:
    text = github.render_located(located(judged), Style())
    found = re.findall(r"^::\w+ file=[^,]*,line=(\d+),col=(\d+),title=(\w+) (\w+)::", text, re.MULTILINE)
    assert len(found) == text.count("\n")
    return {(code, severity, int(line), int(column)) for line, column, code, severity in found}


def of_sarif(judged: JudgedTrace) -> set[tuple[str, str, int, int]]:
    """With the level in place of the severity."""
    results = json.loads(sarif.render_located(located(judged), Style()))["runs"][0]["results"]
    regions = [one["locations"][0]["physicalLocation"]["region"] for one in results]
    return {
        (one["ruleId"], one["level"], at["startLine"], at["startColumn"])
        for one, at in zip(results, regions, strict=True)
    }


def of_plugin(judged: JudgedTrace) -> tuple[list[dict[str, Any]], str]:
    """What `--layoutcheck-output` holds, and the text that a failing test prints."""
    observer = Observer.__new__(Observer)
    observer.seen = Counter((one, "test") for one in judged.trace.copies)
    observer._reports, observer._collectors, observer._named = {}, {}, ()
    observer.confirmed, observer.told = None, Counter()

    class Item:
        nodeid = "test"

        def iter_markers(self, name: str) -> list[Any]:
            return []

    item: Any = Item()
    return [json.loads(line) for line in observer._lines()], "\n".join(observer.findings(item))


def told_alike(report: dict[str, Any]) -> dict[str, Any]:
    """What a trace says as well: it does not search for other threads and values, which takes longest.

    What a fix still lacks (`sketch`) a trace reads in the program.
    """
    fixes = [{**one, "sketch": ""} for one in report["fixes"] if one["strategy"] != "synthesize"]
    return {**said(report), "fixes": fixes, "obstacle": None if fixes else report["obstacle"]}


def agree_on_a_trace(requests: list[dict[str, Any]], file: Path) -> None:
    known = {lc.check(**one).copy: one for one in requests}
    requests = [one for one in known.values() if not OTHER_IN_A_TRACE & set(codes_of(lc.check(**one)))]
    judged = traced(requests, file)
    reports = [lc.check(**request) for request in requests]
    rows = {
        (found.code, found.severity, n, 1 + n % 2)
        for n, report in enumerate(reports, 1)
        for found in report.findings
        if found.severity in SHOWN
    }
    assert of_lint(judged) == of_editor(judged) == of_github(judged) == rows
    assert of_sarif(judged) == {(code, LEVELS[severity], *place) for code, severity, *place in rows}
    lines = [json.loads(line) for line in render_json(judged, Style()).splitlines()]
    expected = [told_alike(json.loads(json.dumps(report.to_dict()))) for report in reports]
    assert [told_alike(one["report"]) for one in lines if "trace" in one] == expected
    seen, failing = of_plugin(judged)
    assert [told_alike(one) for one in seen] == expected
    assert failing.count("  --> ") == sum(report.verdict in FAILING for report in reports)
    hints = lines_of(judged)[str(file)].hints
    page = {entry.line: entry for entry in run_page._copies(judged)}
    for n, report in enumerate(reports, 1):
        assert hints[n].split(", ")[0] == page[n].verdict == report.verdict
        assert page[n].cost in hints[n]
        wavefronts = issued(report.analysis).get("smem_wavefronts", 0)
        assert (f"{wavefronts} wavefronts" in page[n].cost) == bool(wavefronts)


def test_the_doors_of_a_trace_agree(tmp_path: Path) -> None:
    agree_on_a_trace(asked()[::SAMPLE], tmp_path / "k.py")


@pytest.mark.sweep
def test_the_doors_of_a_trace_agree_on_all(tmp_path: Path) -> None:
    agree_on_a_trace(asked(), tmp_path / "k.py")


def test_what_only_our_model_refuses_is_unknown_at_every_door(tmp_path: Path) -> None:
    """The compiler took it: neither ci nor a trace nor the editor calls it rejected."""
    rows = '!cute_nvgpu.atom.stsm<i8, mode = <"(16,8)">, num_matrices = 2, t>'
    copy, _ = build(
        '!cute.memref<i8, rmem, align<16>, "(32):(1)">', '!cute.memref<i8, smem, align<16>, "(32):(1)">', rows
    )
    assert lc.check(copy.src, copy.dst, copy.atom).verdict == "rejected"
    (tmp_path / "k.py").write_text("\n")
    judged = tracing.judge(
        Trace((TracedCopy(copy, "cute.copy", Frame(str(tmp_path / "k.py"), 1), (), "k", "sm_90a"),))
    )
    assert not of_lint(judged) | of_editor(judged) | of_github(judged)
    assert judged.verdicts() == {"unknown": 1}
    assert lint.judge([CaseRun(RegisteredCase("k.py", "f", 1, "f", "sm_90a"), judged.trace)]).unknown == {
        "LC901 our model refuses this copy, the compiler does not": 1
    }
