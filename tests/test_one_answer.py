"""One question, one answer: each door says the same of a copy.

The doors: `lc.check`, `explain`, `check --jsonl`, SARIF, the fixture of pytest. The copies are those of
`tests/recorded.py` that can be stated as a request.
"""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Iterator
from dataclasses import fields
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import layoutcheck as lc
from layoutcheck.cli import run
from layoutcheck.copies.copy import Copy
from layoutcheck.errors import option_of
from layoutcheck.pytest_plugin.fixture import Checker
from layoutcheck.request import Request
from layoutcheck.sources.request import build
from tests.recorded import copies

SAMPLE = 37  # every so manieth in the normal run
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
        assert told == one and text == f"{report.text()}\n"
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
