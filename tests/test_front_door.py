"""What a new user types at the front door, item by item, where no other test walks it."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import layoutcheck as lc
from layoutcheck.catalogue.results import rounding
from layoutcheck.cli import _COMMANDS, run
from layoutcheck.cli.arguments import completer
from layoutcheck.errors import InputError
from layoutcheck.formats import FORMATS, check_format, listed
from layoutcheck.reports.style import Style
from layoutcheck.reports.text import render
from layoutcheck.reports.trace import meaning
from layoutcheck.sources.traced import TraceFailure

Captured = pytest.CaptureFixture[str]
ROOT = Path(__file__).parent.parent
SWIZZLED = "S<3,4,3> o 0 o ((8,8),(64,1)):((64,512),(1,0))"
PLAIN = "((8,8),(64,1)):((64,512),(1,0))"
TILE = ["--dtype", "bf16"]


def said(words: list[str], captured: Captured) -> tuple[int, str]:
    status = run(words)
    out, err = captured.readouterr()
    return status, " ".join((out + err).split())


@pytest.mark.parametrize(
    ("layout", "more", "read"),
    [
        (
            SWIZZLED,
            [],
            "read as a composed layout: S<3,4,3> counts elements, S<3,5,3> on the pointer, in bytes",
        ),
        (PLAIN, ["--swizzle", "S<3,4,3>"], "read as S<3,4,3> on the pointer, in bytes"),
    ],
)
def test_banks_and_canonical_read_a_swizzle_alike(
    layout: str, more: list[str], read: str, capsys: Captured
) -> None:
    status, banks = said(["banks", layout, *TILE, "--access", "ldmatrix.x4", *more], capsys)
    assert status == 0 and read in banks
    status, canonical = said(["canonical", layout, *TILE, *more], capsys)
    assert read in canonical
    assert status == (1 if layout == SWIZZLED else 0)
    # The verdicts agree: what tensor cores read is free of conflicts, what they refuse is not.
    assert ("conflict-free" in banks) == (status == 0)
    if layout == SWIZZLED:
        assert "make_smem_layout_atom prints bytes in this form: then `swizzle` is S<3,4,3>" in banks


@pytest.mark.parametrize(
    ("beside", "told"),
    [("fails (every ~50th run)", "not in every run: a race first"), ("", "a race, if runs differ")],
)
def test_few_small_differences_alone_do_not_decide(beside: str, told: str) -> None:
    differ = "Mismatched elements: 64 / 1048576 (0.0%)"
    worst = "Greatest absolute difference: 0.0234 at index (131, 64) (up to 0.01 allowed)"
    assert told in rounding(f"{beside} {differ} {worst}")[0]


TILED = ["--atom", "cp.async", "--bits", "128", "--dtype", "bf16"]


@pytest.mark.parametrize(
    ("words", "status", "told"),
    [
        (["explain", "(128,64):(64,1)", "(128,64):(64,1)", *TILED], 1,
         "scattered no --thr and --val: src and dst are taken as the views of one thread. Whole tiles "
         "need both; of 128 threads, for instance, --thr '(16,8):(8,1)' --val '(1,8):(0,1)'"),
        (["explain", "(?,?):(?,1)", "(128,64):(64,1)", "--atom", "tma_load", "--dtype", "bf16"], 1,
         "With a stride that is a multiple of 8 elements the copy is right"),
        (["explain", "(64,64):(64,1)", "(64,64):(64,1)", "--atom", "tma_load", "--dtype", "bf16"], 0,
         "1 x cp.async.bulk.tensor g2s 8192 B, issued by one thread"),
        (["explain", "(1024,1024):(1024,1)", "(1024,1024):(1024,1)", *TILED, "--thr", "(16,8):(8,1)",
          "--val", "(1,8)"], 2, "dst takes 2,097,152 B of shared memory; expected at most 232,448 B"),
        (["resources", "gemm", "--tile", "128x256x64", "--stages", "4", "--threads", "384"], 0,
         "C, over all 384 threads: 86 registers"),
        (["banks", "Sw<3,4,3> o smem_ptr[16b](unset) o (_64,_64):(_64,_1)", "--access", "ldmatrix.x4"], 0,
         "read as S<3,4,3> on the pointer, in bytes conflict-free"),
        (["canonical", "Sw<3,4,3> o smem_ptr[16b](unset) o (_64,_64):(_64,_1)"], 0, "K_SW128"),
        (["canonical", "smem_ptr[8b](0x0) o (_64,_64):(_64,_1)"], 2, "the pointer has elements of 8 bits"),
        (["banks", "smem_ptr[16b](0x0) o (64,64):(64,1)", "--access", "ldmatrix.x4"], 0,
         "read as a pointer without a swizzle"),
        (["banks", "gmem_ptr[16b](0x0) o (64,64):(64,1)", "--access", "ldmatrix.x4"], 2, "is in gmem"),
        (["banks", "(8,64):(64,1)", "--access", "ld.global 128 (8,4):(4,1) (1,8)"], 2, "st.shared 128"),
        (["explain", "(128,64):(64", "(128,64)", "--atom", "tma_load"], 2, "src: unbalanced parentheses"),
        (["explain", "tensor<ptr<f16, smem, align<1024>> o S<3,4,3> o 0 o (64,64):(64,1)>",
          "(64,64):(64,1)", "--atom", "tma_store"], 1, "TMA store of f16"),
        (["draw", "(8,8):(8,1)", "--output", "x.png"], 2, "pictures are SVG or text; expected"),
        (["draw", "Tiled Copy Tiler MN: (8:1,8:1) TV Layout tiled: ((2,4),8):((32,1),4) Copy Atom",
          "--format", "text"], 0,
         "both sides: threads 0 0 0 0 0 1 1 1 1"),
        (["banks", "(64,64):(64,1)", "--access", "ldmatrix.x4", "--swizzle", "3,4,3"], 2, "such as S<3,4,3>"),
        (["synth", "--tile", "128x64", "--src", "gmem (128,64):(64,1)", "--to", "smem", "--dtype", "bf16"], 2,
         "unknown consumer 'smem'; expected what reads the tile: ldmatrix"),
        (["explain", "(64,64):(64,1)", "(?,?):(?{div=8},1)", "--atom", "tma_store", "--dtype", "f16"], 1,
         "Rows of a multiple of 8 elements are right: promise it (?{div=8})"),
        (["explain", "(64,64):(64,1)", "tensor<ptr<f16, smem, align<1024>> o S<3,4,3> o 0 o (64,64):(64,1)>",
          *TILED[:4], "--thr", "(16,8):(8,1)", "--val", "(1,8)"], 2,
         "dst: a cute.memref of a composed layout cannot be partitioned here; expected its pointer swizzled"),
        (["explain", "(128,64):(64,1)", "(128,64):(64,1)", *TILED, "--thr", "(10000000,1000000):(1000000,1)",
          "--val", "(1,8)"], 2, "--thr has 10,000,000,000,000 threads; expected at most 1024"),
        (["explain", "(128,64):(64,1)", "(128,64):(64,1)", *TILED, "--thr", "(16,8):(8,1)", "--val", "(1,8)",
          "--block", "1025"], 2, "--block is 1025; expected a number from 1 to 1024"),
        (["explain", "(64,64):(64,1)", "(64,64):(64,1)", "--atom", "tma_load", "--dtype", "f16", "--tiler",
          "(,)"], 2, "--tiler: unexpected text"),
        (["synth", "--tile", "(,)", "--src", "gmem (64,64):(64,1)", "--to", "registers"], 2,
         "--tile: unexpected text"),
        (["resources", "gemm", "--format", "x"], 2, "resources has no format 'x'"),
        (["numerics", "tol", "-K", "64", "--in", ""], 2, "--in is empty; expected a value: input type"),
        (["numerics", "tol", "-K"], 2, "(see 'layoutcheck numerics tol --help')"),
        (["rule", "uncoalesced"], 0, "LC302 uncoalesced"),
        (["rule", "bank"], 0, "LC301 slow bank-conflict"),
        (["rule", "LC999"], 2, "no rule 'LC999'; expected"),
        (["banks", "(64,64):(64,1)", "--access", "ldmatrix.x4", "--access=stmatrix.x4"], 0, "stmatrix.x4 16"),
        (["rule", "12"], 0, "LC120 rejected tcgen05-form"),
        (["rule", "2"], 0, "LC298 wrong barrier-elsewhere"),
        (["rule", "0"], 2, "expected a code such as LC201, a beginning such as LC2, or a word"),
    ],
)  # fmt: skip
def test_what_a_command_says(words: list[str], status: int, told: str, capsys: Captured) -> None:
    found, text = said(words, capsys)
    assert (found, told in text) == (status, True), text


def test_a_static_layout_does_not_depend_on_run_time_strides() -> None:
    report = lc.check("(128,64):(64,1)", "(128,64):(64,1)", atom="universal", dtype="f16", bits=16,
                      thr="(32,4)", val="(4,2)", src_space="gmem", dst_space="smem")  # fmt: skip
    assert "run-time" not in report.text()
    short = lc.check("(4):(1)", "(4):(64)", "cp.async", bits=128, dtype="bf16").text()
    assert "run-time" not in short and short.count("4 more than the view has") == 2
    open_ = lc.check("(8):(?)", "(8):(1)", "cp.async", bits=128, dtype="bf16").text()
    assert "7 where the run-time strides put them" in open_ and "than the view has" not in open_


def test_a_kernel_whose_banks_are_not_counted_is_no_success(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    seen = SimpleNamespace(failures=(), kernels=("k", "other"))
    said = ["k: not counted: the compiler refuses a copy of it"]
    monkeypatch.setattr("layoutcheck.tracing.banks", lambda _: (seen, [], said))
    assert run(["trace", "--banks", "x.py"]) == 2 and said[0] in capfd.readouterr().err
    said.clear()
    assert run(["trace", "--banks", "x.py"]) == 0


@pytest.mark.parametrize("words", [["-h"], ["numerics", "-h"]])
def test_no_line_of_the_list_of_commands_is_cut(words: list[str], capsys: Captured) -> None:
    run(words)
    listed = capsys.readouterr().out.partition("\nCommands:\n")[2].splitlines()
    assert len(listed) >= 5 and not any(line.endswith("...") or len(line) > 80 for line in listed)


@pytest.mark.parametrize("command", sorted(_COMMANDS))
def test_every_command_has_a_short_help(command: str, capsys: Captured) -> None:
    assert run([command, "-h"]) == 0
    out = capsys.readouterr().out
    assert out.startswith(f"Usage: layoutcheck {command}") and "--help" in out


def test_the_shell_completes() -> None:
    """Of a script it completes files itself."""
    typed = ["layoutcheck tr", "layoutcheck explain --dt", "layoutcheck trace "]
    commands, options, files = completions(typed, "bash")
    assert "trace" in commands and "--dtype" in options and files == []


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_shell_completes_a_value(shell: str) -> None:
    assert "LC201" in completions(["layoutcheck rule LC2"], shell)[0]


@pytest.mark.parametrize(
    ("parameter", "typed", "completed"),
    [
        ("arch", "sm_10", ["sm_100", "sm_100a", "sm_103a"]),
        ("select", "LC1,LC10", [f"LC1,LC10{n}" for n in range(9)]),
        ("case", "issue-2320", ["issue-2320"]),
        ("by", "pad", ["pad-pitch"]),
        ("atom", "tma_l", ["tma_load", "tma_load.multicast"]),
        ("dtype", "bf", ["bf16"]),
    ],
)
def test_values_that_a_shell_completes(parameter: str, typed: str, completed: list[str]) -> None:
    assert completer("jsonl") is None  # files
    complete = completer(parameter)
    assert complete is not None and complete(typed) == completed


@pytest.fixture(scope="module")
def completed() -> dict[str, list[str]]:
    """What a shell completes after `--format`, of each report's command."""
    commands = [report for report in FORMATS if " " not in report]
    paths = ["numerics units" if one == "numerics" else one for one in commands]
    found = completions([f"layoutcheck {path} --format " for path in paths], "bash")
    return dict(zip(commands, found, strict=True))


@pytest.mark.parametrize("report", FORMATS)
def test_every_format_is_told_completed_and_taken(
    report: str, completed: dict[str, list[str]], capsys: Captured
) -> None:
    command, _, mode = report.partition(" ")
    path = "numerics units" if command == "numerics" else command
    assert mode or completed[report] == list(FORMATS[report])
    assert run([*path.split(), "--help"]) == 0
    assert mode or listed(report) in " ".join(capsys.readouterr().out.split())
    with pytest.raises(InputError, match=f"{mode or command} has no format 'csv'; expected {listed(report)}"):
        check_format(report, "csv")
    for name in FORMATS[report]:
        check_format(report, name)


def completions(lines: Sequence[str], shell: str) -> list[list[str]]:
    """What the shell is given for the last word of each line, by one process."""
    code = """if True:
        import os, sys
        from layoutcheck.cli import main
        sys.argv[0] = "layoutcheck"
        for typed in sys.argv[2:]:
            os.environ.update(
                COMP_WORDS=typed, COMP_CWORD=str(typed.count(" ")), _TYPER_COMPLETE_ARGS=typed,
                _TYPER_COMPLETE_FISH_ACTION="get-args", _LAYOUTCHECK_COMPLETE="complete_" + sys.argv[1])
            try:
                main()
            except SystemExit:
                print("\\0")
    """
    made = subprocess.run(
        [sys.executable, "-c", code, shell, *lines], capture_output=True, text=True, check=False, cwd=ROOT
    )
    assert not made.stderr
    return [re.findall(r"[\w-]+", one) for one in made.stdout.split("\0")[:-1]]


def test_draw_on_a_pipe_is_text(capsys: Captured, tmp_path: Path) -> None:
    assert run(["draw", "(4,8):(8,1)"]) == 0
    out = capsys.readouterr().out
    assert out.splitlines()[2] == "1  8  9 10 11 12 13 14 15"
    assert run(["draw", "(4,8):(8,1)", "--format", "svg"]) == 0
    assert run(["draw", "(4,8):(8,1)", "--output", str(tmp_path / "a.svg")]) == 0
    drawn = capsys.readouterr().out
    assert drawn.startswith("<svg ") and drawn.rstrip().endswith("</svg>")
    assert (tmp_path / "a.svg").read_text() == drawn


def test_a_picture_that_leaves_something_out_says_so(capsys: Captured) -> None:
    assert run(["draw", "(512,512):(512,1)", "--format", "svg"]) == 0
    assert re.search(r"of 512|left out|first \d+|not drawn", capsys.readouterr().out)


@pytest.mark.parametrize(
    "words", [["ci", ".", "--yes", "--require-coverage", "much"], ["explain", "8:1", "8:1", "--bits", "x"]]
)
def test_a_number_that_is_none_is_one_error(words: list[str], capsys: Captured) -> None:
    assert run(words) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.startswith(f"error: Invalid value for '{words[-2]}'")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--atom", "cp.async", "--bits", "128"], "expected --dtype, such as bf16"),
        (["--dtype", "bf16", "--bits", "128"], "error: --bits is not used"),
        (["--dtype", "bf16", "--op", "autovec_copy", "--block", "32"], "error: --block is not used"),
    ],
)
def test_the_command_speaks_of_options(words: list[str], said: str, capsys: Captured) -> None:
    assert run(["explain", "(8):(1)", "(8):(1)", *words]) == 2
    err = capsys.readouterr().err
    assert said in err and "=," not in err


def test_options_behind_the_script_are_named(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    script = tmp_path / "s.py"
    script.write_text("")
    run(["trace", "--no-launch", str(script), "--format=html", "--all", "--other"])
    told = capfd.readouterr().err
    assert f"--format=html and --all stand after {script}, so they are passed to the script" in told
    assert "--other" not in told and told.count("stand after") == 1
    run(["trace", "--no-launch", str(script), "--", "--format"])
    assert "stand after" not in capfd.readouterr().err


@pytest.mark.parametrize("arguments", [{"src": "(8,64"}, {"dst": 7}, {"bits": "16"}, {"atom": "cp.asink"}])
def test_errors_of_check_speak_of_its_arguments(arguments: dict[str, Any]) -> None:
    given: dict[str, Any] = {
        "src": "(8):(1)",
        "dst": "(8):(1)",
        "atom": "universal",
        "dtype": "f16",
        **arguments,
    }
    with pytest.raises(lc.InputError) as error:
        lc.check(**given)
    assert "--" not in str(error.value)


def test_the_python_page_is_plain_markdown() -> None:
    page = (ROOT / "docs" / "api.md").read_text()
    assert not re.search(r"^:::|<(?:div|span|a|p|table)\b", page, re.MULTILINE)
    assert all(f"### {name}\n" in page for name in ("check", "assert_legal", "assert_wavefronts"))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["trace", "--timeout", "0", "{script}"], "error: --timeout is 0; expected 1 or more seconds"),
        (["lint", "--select", ",", "{script}"], "error: --select names no rule"),
        (["lint", "(" * 300], "error: cannot use '(((("),
        (["trace", "--banks", "--no-order", "{script}"], "--no-order is not used"),
        (["lint", "--select", "LC999", "{script}"], "error: --select: no rule 'LC999'"),
        (["ci", "--yes", "--html", "a", "--sarif", "./a", "."], "error: --html and --sarif write one file"),
        (["check", "--compare"], "(see 'layoutcheck check --help')"),
        (["banks", "(64,64):(64,1)"], "error: Missing option '--access'; expected 'ldmatrix.x4', "),
        (["draw"], "error: nothing to draw"),
        (["draw", "8:1", "--format", ""], "error: --format is empty; expected a value: svg or text"),
        (["explain", "--case", ""], "error: --case is empty"),
        (["lint", ""], "error: one of paths is empty; expected files or folders; default: here"),
        (["confirm", "issue-2320", "--reproducers", "{script}"], "error: --reproducers: '"),
        (
            ["explain", "--mma", "mma.m16n8k16.f32.bf16"],
            "error: no operand of the MMA is given; expected --a",
        ),
        (
            ["banks", "64", "--access", "ldmatrix.x4"],
            "error: 64:1 has 1 mode; expected a tile of two modes\n",
        ),
        (
            ["banks", "(64,64):(64,1)", "--access", "stmatrix.x4", "--arch", "sm_80"],
            "error: stmatrix.x4 is not on sm_80 (PTX ISA); expected --arch sm_90 or later",
        ),
        (["draw", "8:1", "--thr", "4:1", "--val", "0"], "error: --val: every extent"),
        (["explain", "8:1", "8:1", "--bits", "0"], "error: --bits is 0; expected a number from 1 to 1048576"),
        (["explain", "--mma", "mma.m16n8k8.f32.bf16", "--c", "0:1"], "error: --c: no registers of C"),
        (["explain", "--mma", "mma.m16n8k8.f32.bf16", "--atom-layout", "0"], "error: --atom-layout: every"),
        (
            ["explain", "--mma", "mma.m16n8k8.f32.bf16", "--atom-layout", "(2,99999999,1)"],
            "error: atoms of 6",
        ),
        (
            ["explain", "8:1", "8:1", "--atom", "universal", "--dtype", "f32", "--pred", "(8"],
            "error: --pred: unb",
        ),
        (
            ["explain", "8:1", "8:1", "--atom", "universal", "--dtype", "f32", "--thr", "8x", "--val", "1"],
            "--thr: ",
        ),
        (["synth", "--tile", "(8,8)", "--src", "(8:1", "--to", "ldmatrix"], "error: --src: unexpected"),
        (["banks", "8:1", "--access", "ldmatrix.x1", "--swizzle", ""], "error: --swizzle is empty"),
        (["banks", "8:1", "--access", "x", "--dtype=f16", "--dtype", "f32"], "error: --dtype is given twice"),
        (["trace", "--arch", "sm_80", "--arch=sm_80", "{script}"], "error: --arch is given twice"),
        (["trace", "-m", "no_such_module"], "error: no module 'no_such_module'"),
        (["check", "--jsonl", "{script}", "--compare", "{deep}"], "error: line 1 is no report"),
        (["draw", "(8):(1)", "--case", "issue-2320"], "error: more than one thing to draw"),
        (
            ["synth", "--tile", "(8,8)", "--src", "smem (8,8):(8,1)", "--to", "wgmma.A"],
            "error: src is in smem; exp",
        ),
        (["check", "--jsonl", "-", "--compare", "{deep}", "--all"], "--all is not used"),
    ],
)
def test_what_cannot_be_meant_is_one_error(
    words: list[str], said: str, tmp_path: Path, capsys: Captured
) -> None:
    script, deep = tmp_path / "script.py", tmp_path / "deep.json"
    script.write_text("")
    deep.write_text("[" * 100_000)
    assert run([word.format(script=script, deep=deep) for word in words]) == 2
    out, err = capsys.readouterr()
    assert out == "" and said in err and err.count("error: ") == 1
    assert all(line.startswith(("error: ", "  ")) for line in err.splitlines())  # the rest is the place


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_a_paste_is_read_as_powershell_writes_it(encoding: str, tmp_path: Path, capsys: Captured) -> None:
    file = tmp_path / "error.txt"
    file.write_text("error: cudaErrorMisalignedAddress", encoding=encoding)
    assert run(["explain", str(file)]) == 1
    assert capsys.readouterr().out.startswith("wrong[LC202]")


def test_json_lines_may_begin_with_a_byte_order_mark(tmp_path: Path, capsys: Captured) -> None:
    file = tmp_path / "copies.jsonl"
    file.write_text('{"src": "(8):(1)", "dst": "(8):(1)", "dtype": "f16"}\n', encoding="utf-8-sig")
    assert run(["check", "--jsonl", str(file)]) == 0
    assert '"verdict": "legal"' in capsys.readouterr().out


def test_a_report_fits_sixty_columns() -> None:
    given = {
        "src": "(128,64):(1,128)",
        "dst": "(128,64):(64,1)",
        "atom": "cp.async.cg",
        "bits": 128,
        "dtype": "bf16",
    }
    tiles = {"thr": "(16,16):(16,1)", "val": "(8,1)", "block": 256}
    shown = render([lc.check(**given, **tiles)], Style(width=60)).splitlines()
    assert [line for line in shown if len(line) > 60] == [] and "    threads launched" in shown


@pytest.mark.parametrize("layout", ["(1048576,1048576):(1,1048576)", "(1048576,1048576):(0,0)"])
def test_an_operand_far_too_large_is_an_answer(layout: str, capsys: Captured) -> None:
    assert run(["explain", "--mma", "mma.m16n8k16.f32.bf16", "--b", layout]) == 1
    assert "wrong: B: it is made for 1048576 threads" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "closed", "status", "said"),
    [
        (["rule", "LC201"], ">&-", 2, "error: standard output is closed"),
        (["explain", "-"], "<&-", 2, "error: nothing to read"),
        (["rule", "LC2011"], "2>&-", 2, ""),
    ],
)
def test_a_stream_that_the_shell_closed_is_one_error(
    words: list[str], closed: str, status: int, said: str
) -> None:
    command = f"exec {sys.executable} -m layoutcheck {' '.join(words)} {closed}"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == status and done.stdout == ""
    assert done.stderr.startswith(said) and done.stderr.count("\n") == (1 if said else 0)


def test_an_exception_of_a_traced_script_is_explained_as_a_pasted_one_is() -> None:
    strides = "RuntimeError: Expected strides[leading_dim] == 1, but got 8."
    assert "the leading dimension has stride 8" in meaning(TraceFailure("raised", strides))
    renamed = meaning(
        TraceFailure("raised", "AttributeError: module 'cutlass.cute' has no attribute 'make_fragment'")
    )
    assert "Found: CuTe DSL had cutlass.cute.make_fragment from 4.2.0 to 4.5.3" in renamed
    assert "in its place: cutlass.cute.make_rmem_tensor. What helps:" in renamed
    assert meaning(TraceFailure("raised", "ValueError: my own")) == ""
    assert meaning(TraceFailure("uncompiled", strides)) == ""


def test_a_traceback_that_was_saved_as_a_script_is_explained_and_not_run(
    tmp_path: Path, capsys: Captured
) -> None:
    said = (
        "Traceback (most recent call last):\nRuntimeError: Expected strides[leading_dim] == 1, but got 8.\n"
    )
    (tmp_path / "error.py").write_text(said)
    assert run(["explain", str(tmp_path / "error.py")]) == 1
    assert "the leading dimension has stride 8" in capsys.readouterr().out
