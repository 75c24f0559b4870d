"""In a narrow terminal every line of a report fits, but for code, which is meant to be pasted."""

from __future__ import annotations

import os
import re
import sys

import pytest

from layoutcheck.cli import run
from layoutcheck.reports.banks import analyse, render
from layoutcheck.reports.style import Style

COLUMNS = 60
TABLES = ("canonical", "explain", "synth")  # some of their figures and types need more than 40
LINES = (
    ("explain", "--case", "issue-2320"),
    ("banks", "S<3,3,3> o 0 o (64,64):(64,1)", "--access", "ldmatrix.x4"),
    ("banks", "(64,64):(64,1)", "--access", "ldmatrix.x4"),
    ("canonical", "(64,128):(128,1)", "--dtype", "f16"),
    ("canonical", "S<3,3,3> o 0 o (64,64):(64,1)", "--dtype", "f16"),
    ("draw", "(64,64):(64,1)", "--format", "text"),
    ("rule", "LC102"),
    ("numerics", "tol", "-K", "4096", "--in", "f16", "--out", "f16"),
    ("numerics", "units"),
    ("numerics", "probe", "mma.m16n8k16.f32.f16"),
    ("numerics", "path", "cute-f32f16f16f32", "torch-f16-matmul-f32-add", "-K", "16"),
    ("resources", "gemm"),
    ("synth", "--tile", "(64,64)", "--src", "(?,?{div=8}):(?{div=8},1)", "--to", "wgmma.A", "--plan", "0"),
)
CODE = re.compile(r"^ {4,}\w.*\(|^ {4,}.*\)$")


@pytest.mark.parametrize(
    ("columns", "words"),
    [(COLUMNS, words) for words in LINES] + [(40, words) for words in LINES if words[0] not in TABLES],
)
def test_every_line_fits_the_terminal(
    columns: int, words: tuple[str, ...], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(os, "get_terminal_size", lambda *_: os.terminal_size((columns, 24)))
    monkeypatch.setattr(sys.stdout, "fileno", lambda: 1, raising=False)
    assert run(list(words)) in (0, 1)
    shown = re.sub(r"\x1b\[[0-9;]*m", "", capsys.readouterr().out).splitlines()
    assert len(shown) > 2
    assert [line for line in shown if len(line) > columns and not CODE.match(line)] == []


def test_the_width_is_heard() -> None:
    assert max(map(len, Style(width=40).wrap("word " * 40))) <= 40


def test_a_broken_row_of_a_table_goes_on_in_its_last_column() -> None:
    row = f"  one   two  {'word ' * 8}".rstrip()
    assert Style(width=34).fitted(f"short\n{row}").splitlines() == [
        "short",
        "  one   two  word word word word",
        "             word word word word",
    ]
    assert Style(width=34).fitted(f"  {'word ' * 8}".rstrip()).splitlines()[1].startswith("    word")


def test_a_table_that_is_too_wide_is_a_line_for_each_access() -> None:
    rows, best = analyse("(64,64):(64,1)", "ldmatrix.x4", "bf16", None, "sm_90a")
    told = render(rows, best, style=Style(width=40)).partition("\n\n")[0]
    assert " ".join(told.split()) == "ldmatrix.x4: 16 instructions, 512 wavefronts, ideal 64, ways 8"
    assert max(map(len, told.splitlines())) <= 40
