"""`layoutcheck draw`, and the formats html and svg, as users type them."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

import layoutcheck as lc
from layoutcheck.cli import run
from layoutcheck.errors import InputError
from layoutcheck.reports import blocks
from layoutcheck.reports.html import render
from layoutcheck.reports.outcome import Failure, Message
from layoutcheck.reports.style import Style
from layoutcheck.sources.cases import case_names
from layoutcheck.sources.diagnostics import Diagnostic
from tests.reports.test_pictures import drawable
from tests.thinned import thinned

Captured = pytest.CaptureFixture[str]
TILED = (
    "!cute.tiled_copy<!cute_nvgpu.atom.universal_copy<f32, 64 b>, "
    'layout_copy_tv = <"((4,4),(1,2)):((8,1),(0,4))">, tiler_mn = <"[4:1;8:1]">>'
)


# 256 threads of 64 values, an element at a time: as many cells as a page has to carry.
LARGE: dict[str, Any] = {
    "src": "(128,128):(1,128)", "dst": '!cute.memref<bf16, smem, align<1024>, "(128,128):(128,1)">',
    "atom": "universal", "bits": 16, "dtype": "bf16", "thr": "(16,16):(1,16)", "val": "(8,8):(8,1)",
}  # fmt: skip


class Page(HTMLParser):
    """Every tag is closed in its order; no address is fetched."""

    VOID = ("meta", "input", "br", "img", "link")

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.outside: list[str] = []
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in self.VOID:
            self.open.append(tag)
        self.outside += [str(value) for key, value in attrs if key in ("src", "href", "srcset", "action")]

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        pass

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def page(text: str) -> Page:
    found = Page()
    found.feed(text)
    assert found.open == []
    return found


@pytest.mark.parametrize("name", thinned(case_names(), 6))
def test_every_case_has_a_page_and_blocks(name: str, tmp_path: Path, capsys: Captured) -> None:
    file = tmp_path / "report.html"
    assert run(["explain", "--case", name, "--format", "html", "--output", str(file)]) in (0, 1)
    text = file.read_text(encoding="utf-8")
    assert len(text) < 1_000_000
    found = page(text)
    assert found.outside == [] and "url(" not in text and "@import" not in text
    assert run(["draw", "--case", name, "--format", "text"]) == (0 if drawable(name) else 2)
    out = capsys.readouterr().out
    assert all(len(line) <= 80 for line in out.split("\n"))


def test_the_page_of_2320_says_what_the_report_says(tmp_path: Path) -> None:
    file = tmp_path / "report.html"
    run(["explain", "--case", "issue-2320", "--format", "html", "--output", str(file)])
    words = "".join(page(file.read_text(encoding="utf-8")).text)
    for said in (
        "rejected",
        "LC102",
        "stride 64",
        "match-layout",
        "cute.make_tiled_copy_tv(",
        "never reached",
    ):
        assert said in words


def test_what_is_no_report_has_a_place_on_the_page() -> None:
    message = Message(Diagnostic("dst ptr alignment (16 bits) does not meet requirement (128 bits) of atom"))
    failure = Failure("line <3>", InputError("not <b>JSON", text="{", start=1))
    text = render([message, failure], Style())
    words = "".join(page(text).text)
    assert "LC101" in words and "not <b>JSON" in words and "<b>" not in text


def test_a_page_of_256_threads_with_64_values_stays_below_a_megabyte() -> None:
    text = render([lc.check(**LARGE)], Style())
    assert len(text.encode()) < 1_000_000
    page(text)


def test_svg_of_a_case_is_one_file(tmp_path: Path, capsys: Captured) -> None:
    assert run(["explain", "--case", "issue-2320", "--format", "svg"]) == 1
    first = capsys.readouterr().out
    assert run(["draw", "--case", "issue-2320", "--output", str(tmp_path / "a.svg")]) == 0
    assert (tmp_path / "a.svg").read_text(encoding="utf-8") == first
    root = ET.fromstring(first)
    assert {node.get("data-picture") for node in root.iter()} >= {"strip", "tv-asked", "tv-moved", "coverage"}


def test_draw_of_layouts_and_tiled_copies(capsys: Captured) -> None:
    assert run(["draw", "(8,8):(8,1)", "--format", "text"]) == 0
    out = capsys.readouterr().out
    assert "1  8  9 10 11 12 13 14 15" in out and "\x1b" not in out
    assert run(["draw", "(8,8):(8,1)", "--thr", "(4,4):(4,1)", "--val", "(2,2)", "--format", "text"]) == 0
    assert "its threads" in capsys.readouterr().out
    assert run(["draw", TILED, "--format", "text"]) == 0
    assert "both sides: threads" in capsys.readouterr().out
    assert run(["draw", TILED, "--format", "svg"]) == 0
    assert ET.fromstring(capsys.readouterr().out) is not None


def test_letters_that_stand_for_numbers_are_explained(capsys: Captured) -> None:
    """Where cells shrink to a letter, a line says which numbers the letters are; no two are one letter."""
    many = "Tiled Copy Tiler MN: (16:1,64:1) TV Layout tiled: ((2,16),32):((512,1),16)"
    assert run(["draw", many, "--format", "text"]) == 0
    rows = capsys.readouterr().out.splitlines()
    assert "0 to 9, then a to z for 10 to 35" in rows[-2] and "v" in rows[-3]
    assert run(["draw", "(32,32):(32,1)", "--format", "text"]) == 0
    rows = capsys.readouterr().out.splitlines()
    assert rows[2].split()[:3] == ["1", "32", "33"] and "more columns:" in rows[33]
    assert run(["draw", "(8,8):(8,1)", "--format", "text"]) == 0
    assert "a letter" not in capsys.readouterr().out


def test_columns_that_do_not_fit_stand_below_each_other(capsys: Captured) -> None:
    assert run(["draw", "--mma", "mma.m16n8k16.f32.f16"]) == 0
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert rows[0][-3:] == ["of", "16", "across"] and rows[1] == ["columns", "0", "to", "7"]
    assert rows[18] == ["columns", "8", "to", "15"]
    assert " ".join(rows[19]) == "0 T0 a4 T0 a5 T1 a4 T1 a5 T2 a4 T2 a5 T3 a4 T3 a5"
    assert rows[34][:3] == ["15", "T28", "a6"] and rows[35] == []


def test_blocks_in_colour_say_the_same(capsys: Captured) -> None:
    import re

    from layoutcheck.algebra.notation import parse_layout

    made = blocks.layout_blocks(parse_layout("(4,8):(8,1)"))
    coloured = blocks.render(made, Style(colour=True))
    assert "\x1b[" in coloured
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == blocks.render(made, Style())


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["draw"], "nothing to draw"),
        (["draw", "8:1", "--case", "issue-2320"], "more than one thing to draw"),
        (["draw", "(8"], "expected"),
        (["draw", "8:1", "--thr", "4:1"], "both --thr and --val"),
        (["draw", "--case", "issue-2320", "--thr", "4:1"], "its own"),
        (["draw", "8:1", "--format", "png"], "no format"),
        (["draw", "--case", "nothing"], "no case .nothing."),
        (["draw", "--case", "issue-2440"], "cannot be drawn|nothing here can be drawn"),
        (["draw", "(?,8):(8,1)"], "run-time"),
        (["draw", "8:1", "--output", "/nowhere/at/all.svg"], "cannot write"),
        (["check", "--jsonl", "x.jsonl", "--format", "html"], "check has no format"),
        (["check", "--jsonl", "x.jsonl", "--format", "sarif"], "check has no format"),
    ],
)
def test_unusable_input(words: list[str], why: str, capsys: Captured) -> None:
    import re

    assert run(words) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.startswith("error: ") and re.search(why, err), err
