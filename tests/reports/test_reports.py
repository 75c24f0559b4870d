"""The terminal report and the JSON of real copies."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

import jsonschema
import pytest

import layoutcheck as lc
from docs.schemas.reports import schema
from layoutcheck.algebra.notation import parse_layout
from layoutcheck.copies.compiler.prediction import Prediction
from layoutcheck.errors import InputError
from layoutcheck.formats import FORMATS
from layoutcheck.reports import renderer
from layoutcheck.reports.drawing import differs, draw
from layoutcheck.reports.json import to_dict
from layoutcheck.reports.order import counts, operand_counts
from layoutcheck.reports.outcome import Failure, Message, exit_status
from layoutcheck.reports.style import Style
from layoutcheck.reports.text import render
from layoutcheck.reports.told import headline, mode_spans, underline
from layoutcheck.sources.diagnostics import Diagnostic
from layoutcheck.sources.traced import Frame, KernelFinding, KernelPlace, OperandReport, OrderReport

G = '!cute.memref<bf16, gmem, align<16>, "{}">'
S = '!cute.memref<bf16, smem, align<128>, "{}">'
TILES: dict[str, Any] = {
    "src": "(128,64):(1,128)", "dst": "(128,64):(64,1)", "atom": "cp.async", "dtype": "bf16", "bits": 128,
    "val": "(8,1)",
}  # fmt: skip
COPIES: dict[str, dict[str, Any]] = {
    "legal": {"src": G.format("(8):(1)"), "dst": S.format("(8):(1)"), "atom": "cp.async", "bits": 128},
    "narrow": {"src": G.format("(8):(1)"), "dst": S.format("(8):(64)"), "atom": "universal", "bits": 16},
    "wrong": {"src": G.format("(8):(1)"), "dst": S.format("(8):(64)"), "atom": "cp.async", "bits": 128},
    "rejected": {**TILES, "thr": "(16,16):(16,1)"},
    "wrong tiles": {**TILES, "thr": "(16,1):(1,0)"},
    "run time": {
        "src": G.format("(8,4):(1,?)"),
        "dst": S.format("(8,4):(1,?)"),
        "atom": "universal",
        "bits": 128,
    },
    "unmodelled": {
        "src": '!cute.coord_tensor<"(0,0)", "(8,8):(1@0,1@1)">',
        "dst": S.format("(8):(1)"),
        "atom": "!cute_nvgpu.atom.tma_load<bf16, copy_bits = 1024>",
    },
}
WORDS = "dst ptr alignment (16 bits) does not meet requirement (128 bits) of atom"
MESSAGE = Message(Diagnostic(WORDS, location="a.py:3", dsl="4.8"))
FAILURE = Failure("line 3", InputError("not JSON", text="{", start=1))


@pytest.fixture(scope="module")
def reports() -> dict[str, lc.Report]:
    return {name: lc.check(**arguments) for name, arguments in COPIES.items()}


@pytest.mark.parametrize("name", COPIES)
def test_json_follows_its_schema(name: str, reports: dict[str, lc.Report]) -> None:
    report = replace(reports[name], subject="here", asked=Prediction("accepted"))
    for each in (reports[name], report):
        jsonschema.validate(json.loads(json.dumps(each.to_dict())), schema())


def test_json_of_what_is_no_report_follows_it_too() -> None:
    for outcome in (MESSAGE, FAILURE):
        jsonschema.validate(json.loads(json.dumps(to_dict(outcome))), schema())
    assert to_dict(MESSAGE)["copy"] is None
    assert to_dict(MESSAGE)["findings"][0]["code"] == "LC101"


def test_the_schema_is_one_and_refuses_what_it_does_not_know(reports: dict[str, lc.Report]) -> None:
    jsonschema.Draft202012Validator.check_schema(schema())
    for change in ({"verdict": "fine"}, {"schema_version": 2}, {"colour": "red"}, {"copy": {}}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate({**reports["legal"].to_dict(), **change}, schema())


@pytest.mark.parametrize("name", COPIES)
@pytest.mark.parametrize("everything", [False, True])
def test_text_without_colour_is_plain_and_fits(
    name: str, everything: bool, reports: dict[str, lc.Report]
) -> None:
    text = render([reports[name]], Style(everything=everything))
    assert "\x1b" not in text
    assert text.startswith(reports[name].verdict)
    code = {line.strip() for fix in reports[name].fixes for line in fix.code.split("\n")}
    for line in text.split("\n"):
        assert len(line) <= 80 or line.strip() in code or "!cute" in line, line


@pytest.mark.parametrize("name", COPIES)
def test_colour_adds_nothing_to_the_words(name: str, reports: dict[str, lc.Report]) -> None:
    coloured = render([reports[name]], Style(colour=True))
    assert "\x1b[" in coloured
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == render([reports[name]], Style())


def test_the_report_of_the_issue_fits_a_screen(reports: dict[str, lc.Report]) -> None:
    text = render([reports["rejected"]], Style())
    assert text.count("\n") <= 70
    for number, fix in enumerate(reports["rejected"].fixes, start=1):
        assert f"  {number}. {fix.strategy} ({fix.verdict}" in text
    assert "make_tiled_copy_tv" in text
    assert "00..............\n" in text and "5 more, 128 B apart" in text
    assert "would move" in text
    everything = render([reports["rejected"]], Style(everything=True))
    assert "\n  = elements 8, adjacent 1" in everything and "\n  = " not in text
    assert everything.count("\n") > text.count("\n")
    assert all(fix.code.strip().split("\n")[-1] in everything for fix in reports["rejected"].fixes)


def test_the_three_answers(reports: dict[str, lc.Report]) -> None:
    legal, wrong, rejected = (render([reports[name]], Style()) for name in ("legal", "wrong", "rejected"))
    assert (
        "compiler  accepts it\n  machine   does what the layouts say\n  cost      1 x cp.async 16 B" in legal
    )
    assert "compiler  accepts it\n  machine   does not do what the layouts say" in wrong
    assert "compiler  rejects it: dst ptr alignment" in rejected and "machine   never reached" in rejected


def test_what_was_assumed_and_what_the_dsl_says(reports: dict[str, lc.Report]) -> None:
    report = reports["rejected"]
    text = render([replace(report, asked=report.compiler, subject="mine.py:3")], Style())
    assert "assumed: src is in gmem, aligned to 16 bytes; dst" in text
    assert "DSL       says the same" in text
    assert "--> mine.py:3" in text
    assert "DSL       accepts it" in render([replace(report, asked=Prediction("accepted"))], Style())


def test_a_message_alone_says_what_is_missing() -> None:
    text = render([MESSAGE], Style())
    title = "rejected[LC101]: the destination is proved aligned to 16 bits, and the atom needs 128"
    assert " ".join(text.split()).startswith(title)
    assert "--> a.py:3" in text and "compiler (DSL 4.8)" in text and "CUTE_DSL_SHOW_STACKTRACE=1" in text
    unknown = render(
        [Message(Diagnostic("the moon is in the wrong house", problem="'<' is never closed"))], Style()
    )
    assert unknown.startswith("rejected: the compiler refuses this copy")
    assert "cannot be read: '<' is never" in unknown


def test_a_failure_names_its_line() -> None:
    assert render([FAILURE], Style()) == "error: line 3: not JSON\n  {\n   ^\n"


def test_exit_status(reports: dict[str, lc.Report]) -> None:
    slow = replace(reports["legal"], verdict="slow")
    assert exit_status([reports["legal"]]) == exit_status([slow]) == exit_status([reports["unmodelled"]]) == 0
    assert exit_status([slow], strict=True) == exit_status([reports["unmodelled"]], strict=True) == 1
    assert exit_status([reports["legal"], reports["wrong"]]) == exit_status([MESSAGE]) == 1
    assert exit_status([reports["wrong"], FAILURE]) == 2


def test_formats() -> None:
    for name in FORMATS["explain"]:
        assert callable(renderer(name))
    with pytest.raises(InputError, match="no format 'yaml'; expected text, json"):
        renderer("yaml")


@pytest.mark.parametrize(
    ("layout", "path", "marks"),
    [
        ("((8,1),(1,4)):((64,0),(0,16))", (0, 0), "  ^             ^^"),
        ("((8,1),(1,4)):((64,0),(0,16))", (1,), "       ^^^^^          ^^^^^^"),
        ("((8,1),(1,4)):((64,0),(0,16))", (1, 1), "          ^              ^^"),
        ("8:64", (0,), "^ ^^"),
        ("(8,?{div=8}):(1,?)", (1,), "   ^^^^^^^^     ^"),
        ("(8,4):(1,8)", (), "^^^^^ ^^^^^"),
        ("(8,4):(1,8)", (5,), ""),
    ],
)
def test_a_mode_is_underlined_where_it_stands(layout: str, path: tuple[int, ...], marks: str) -> None:
    assert underline(mode_spans(parse_layout(layout), path)) == marks


def side(asked: list[int | None], used: list[int]) -> dict[str, Any]:
    return {"asked": asked, "used": used}


def test_a_vector_drawn_as_bytes() -> None:
    drawing = {
        "elements": 4, "element_bytes": 2, "width_bytes": 8,
        "src": side([0, 2, 4, 6], [0, 2, 4, 6]), "dst": side([0, 4, 8, 12], [0, 2, 4, 6]),
    }  # fmt: skip
    assert differs(drawing)
    assert draw(drawing, Style()) == [
        "  one instruction moves 8 B, 4 values of 2 B, byte by byte:",
        "    src  asked      +0  00112233",
        "         moved      +0  00112233",
        "    dst  asked      +0  00..11..",
        "                    +8  22..33..",
        "         moved      +0  00112233",
    ]


def test_backward_values_and_run_time_strides() -> None:
    backward = {
        "elements": 4, "element_bytes": 1, "width_bytes": 4,
        "src": side([0, -1, -2, -3], [0, 1, 2, 3]), "dst": side([0, None, None, None], [0, 1, 2, 3]),
    }  # fmt: skip
    lines = draw(backward, Style())
    assert lines[1].split() == ["src", "asked", "-3", "3210"]
    assert "3 where the run-time strides put them" in lines[4]
    assert draw({}, Style()) == []


@pytest.mark.parametrize(("pitch", "said"), [(64, "wastes nothing"), (72, "its cost is above the ideal")])
def test_a_legal_copy_is_not_said_to_waste_nothing_where_it_does(pitch, said):
    """Rows of 144 B lie across lines of shared memory, which a cp.async past L1 pays for (measured)."""
    atom = "!cute_nvgpu.atom.simt_async_copy<bf16, cache = global, 128 b>"
    report = lc.check("(128,64):(64,1)", f"(128,64):({pitch},1)", atom, thr="(16,8):(8,1)", val="(1,8)")
    assert report.verdict == "legal"
    assert said in headline(report)


def test_a_kernels_name_fits_a_line() -> None:
    """The DSL's has the types of all arguments; kernels that differ in these are told once."""
    orders = [OrderReport(f"kernel_{'tensor_' * 20}{end}", "sm_90a", problem="why") for end in "ab"]
    assert list(counts(orders, Style())) == [
        "  order: 0 of 2 kernels followed",
        "    not checked: kernel_tensor_tensor_tensor_tensor_tensor_ten...: why",
    ]


def test_a_note_is_a_line_and_with_everything_no_more_than_its_count() -> None:
    """Of kernels without products, too: what is only a note may be what the reader looks for."""
    place = KernelPlace("it is stored", Frame("/a/k.py", 41))
    notes = [KernelFinding(f"LC61{n}", "note", f"k.py:{n} changes", "why", (place,)) for n in range(8)]
    notes[1] = replace(notes[1], title="tiles change", places=(replace(place, where=Frame("/a/k.py", 42)),))
    reports = [OperandReport("k", "sm_90a", tuple(notes))]
    lines = list(operand_counts(reports, Style()))
    assert lines[0] == "  registers: 0 wrong, 8 notes (--all)"
    assert lines[1:3] == [
        "    note[LC610] k.py:41: k.py:0 changes",
        "    note[LC612] k.py:41: k.py:2 changes",
    ]
    assert lines[-1] == "    2 more notes" and len(lines) == 1 + 6 + 1
    assert list(operand_counts(reports, Style(everything=True))) == lines[:1]
