"""In a narrow terminal every line of a report fits, but for code, which is meant to be pasted."""

from __future__ import annotations

import io
import os
import re
import sys

import pytest

import layoutcheck as lc
from layoutcheck.cli import run
from layoutcheck.reports.banks import analyse, render
from layoutcheck.reports.style import Style
from layoutcheck.reports.text import render as explained

COLUMNS = 60
TYPES = (
    "tensor<ptr<bf16, gmem, align<16>> o ((8,16),(64,2)):((64,512),(1,8192))>",
    '!cute.memref<bf16, smem, align<16>, S<2,4,3>, "((8,16),(64,2)):((64,512),(1,8192))">',
)
LINES = (
    ("explain", "--case", "issue-2320"),
    ("explain", "--case", "issue-2320", "--all"),
    ("explain", *TYPES, "--atom", "universal", "--bits", "64"),
    ("explain", "--mma", "mma.m16n8k16.f32.bf16", "--b", "ldmatrix (32,32):(1,32)"),
    ("explain", "--case"),
    ("rule",),
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
CODE = re.compile(r"^ {4,}(\w.*[(=]|.*\),?$|# |\w+, \w+\.)")


@pytest.mark.parametrize(
    ("columns", "words"), [(columns, words) for columns in (COLUMNS, 40) for words in LINES]
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


def test_a_layout_that_is_broken_has_its_carets_below_it() -> None:
    shown = explained([lc.check(*TYPES, "universal", bits=64)], Style(width=40)).splitlines()
    at = shown.index("         ((8,16),(64,2)):((64,512),(1,")
    assert shown[at + 1 : at + 3] == ["           ^               ^^", "         8192))"]


@pytest.mark.parametrize("before", [0, 30, 300])
def test_the_place_of_an_error_fits_the_terminal(before: int, monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

        def fileno(self) -> int:
            return 2

    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(os, "get_terminal_size", lambda *_: os.terminal_size((40, 24)))
    assert run(["draw", f"({'8,' * before}x{',8' * 300}):1"]) == 2
    text, place, caret = re.sub(r"\x1b\[[0-9;]*m", "", stream.getvalue()).splitlines()[-3:]
    assert text.startswith("error: ") and max(map(len, (text, place, caret))) <= 40
    assert place[caret.index("^")] == "x" and place.endswith("...")


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
