"""The command line as its users see it: what it prints, where, and its exit status."""

from __future__ import annotations

import io
import json
import os
import random
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import jsonschema
import pytest

from docs.schemas.reports import schema
from layoutcheck import rulebook
from layoutcheck.check import Report
from layoutcheck.cli import run
from layoutcheck.markdown import wrapped
from layoutcheck.whole import MARK

ROOT = Path(__file__).parents[1]
DATA = Path(__file__).parent / "data" / "errors"
G = '!cute.memref<bf16, gmem, align<16>, "(8):(1)">'
S = '!cute.memref<bf16, smem, align<128>, "(8):(1)">'
SCATTERED = '!cute.memref<bf16, smem, align<128>, "(8):(64)">'
ISSUE = [
    "explain", "(128,64):(1,128)", "(128,64):(64,1)", "--dtype", "bf16", "--atom", "cp.async",
    "--bits", "128", "--thr", "(16,16):(16,1)", "--val", "(8,1)",
]  # fmt: skip

# Children keep their byte code, whatever the parent was told: compiling costs them more than running.
ENVIRONMENT = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}

Captured = pytest.CaptureFixture[str]


Done = subprocess.CompletedProcess


def start(*arguments: str, stdin: bytes = b"", **environment: str) -> Done[bytes]:
    """The command in a process of its own; a minute is more than it may ever take on a busy machine."""
    return subprocess.run(
        [sys.executable, "-m", "layoutcheck", *arguments],
        input=stdin,
        capture_output=True,
        cwd=ROOT,
        env={**ENVIRONMENT, **environment},
        timeout=60,
    )


def refused(captured: Captured, *arguments: str) -> str:
    """The one error message of arguments that are unusable."""
    assert run(arguments) == 2
    out, err = captured.readouterr()
    assert out == ""
    assert err.startswith("error: ") and "Traceback" not in err
    return err


def test_the_issues_own_command(capsys: Captured) -> None:
    assert run(ISSUE) == 1
    out, err = capsys.readouterr()
    assert out.startswith("rejected") and err == ""
    assert "stride 64" in out and "128 B" in out
    for strategy in ("match-layout", "narrow-copy", "stage-through-registers"):
        assert f"{strategy} (legal" in out or f"{strategy} (slow" in out


@pytest.mark.parametrize("change", [("(16,1):(1,0)", "(8,1)"), ("(16,16):(16,1)", "(8,8)")])
def test_one_thread_layout_away(change: tuple[str, str], capsys: Captured) -> None:
    assert run([*ISSUE[:-3], change[0], "--val", change[1]]) == 1
    assert capsys.readouterr().out.startswith("wrong[")


def test_a_named_case(capsys: Captured) -> None:
    assert run(["explain", "--case", "issue-2320"]) == 1
    out = capsys.readouterr().out
    assert out.startswith("rejected") and "--> issue-2320" in out


def test_the_known_cases_are_listed(capsys: Captured) -> None:
    for arguments in (["explain", "--case"], ["explain", "--case", "--strict"], ["draw", "--case"]):
        assert run(arguments) == 0
        out = capsys.readouterr().out
        assert "issue-2320" in out
        assert max(map(len, out.splitlines())) <= 80
    assert "did you mean issue-2320" in refused(capsys, "explain", "--case", "issue-232")


def test_a_group_of_commands_alone_prints_its_help(capsys: Captured) -> None:
    assert run(["numerics"]) == 2
    assert capsys.readouterr().out.startswith("Usage:")


@pytest.mark.parametrize(
    ("atom", "meant"),
    [
        ("tma", "tma_load"),
        ("bulk", "bulk.g2s"),
        ("cp.asnyc", "cp.async"),
        ("tcgen05.ld", ".x32"),
        ("ldmatrix.x3", "ldmatrix.x4.trans"),
    ],
)
def test_a_misspelt_atom(atom: str, meant: str, capsys: Captured) -> None:
    said = refused(capsys, "explain", "(8):(1)", "(8):(1)", "--atom", atom, "--dtype", "bf16")
    assert "did you mean" in said
    assert meant in said.partition("did you mean")[2].partition("?)")[0]


@pytest.mark.parametrize(("layout", "said"), [("(128,64):(64,1)", True), ("(8,4):(1,64)", False)])
def test_a_tile_without_thread_layout_is_said_to_be_a_view(layout: str, said: bool, capsys: Captured) -> None:
    run(["explain", layout, layout, "--atom", "cp.async", "--bits", "128", "--dtype", "bf16"])
    assert ("one thread's views" in " ".join(capsys.readouterr().out.split())) == said


def test_what_a_later_pass_refuses_is_never_run(capsys: Captured) -> None:
    assert run(["explain", "8:1", "8:1", "--atom", "stmatrix.x4", "--dtype", "f16", "--arch", "sm_80"]) == 1
    out = capsys.readouterr().out
    assert "its verifier accepts it, a later pass refuses it" in out
    assert "never reached" in out


@pytest.mark.parametrize("path", sorted(DATA.glob("*.txt")), ids=lambda path: path.stem)
def test_pasted_errors(path: Path, capsys: Captured) -> None:
    assert run(["explain", str(path)]) == 1
    assert capsys.readouterr().out.startswith("rejected[LC1")


@pytest.mark.parametrize("words", [["explain", "-"], ["explain"]])
def test_a_paste_on_stdin(words: list[str]) -> None:
    done = start(*words, stdin=(DATA / "4.3.5_cp_async_alignment.txt").read_bytes())
    assert done.returncode == 1 and done.stderr == b""
    assert "--> /home/me/kernels/load.py:29" in done.stdout.decode()


def test_a_check_into_a_file_shows_how_far_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    line = '{"src": "(8):(1)", "dst": "(8):(1)", "atom": "universal", "dtype": "f16"}\n'
    (tmp_path / "copies").write_text(3 * line)
    told: list[tuple[str, int, int]] = []

    @contextmanager
    def bar(_: object) -> Iterator[object]:
        yield lambda *step: told.append(step)

    monkeypatch.setattr("layoutcheck.cli.check.bar", bar)
    assert run(["check", "--jsonl", str(tmp_path / "copies"), "--output", str(tmp_path / "out")]) == 0
    assert told == [("check", 1, 3), ("check", 2, 3), ("check", 3, 3)]


@pytest.mark.parametrize("terminal", [True, False])
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["explain", "-"], "Paste the error, then Ctrl-D:\n"),
        (["check", "--jsonl", "-"], "Copies as JSON, one a line, then Ctrl-D:\n"),
        (["confirm", "-"], "Copies as JSON, one a line, then Ctrl-D:\n"),
    ],
)
def test_who_types_is_told_what_is_waited_for(
    words: list[str], said: str, terminal: bool, monkeypatch: pytest.MonkeyPatch, capfd: Captured
) -> None:
    typed = io.TextIOWrapper(io.BytesIO(b""))
    monkeypatch.setattr(sys, "stdin", typed)
    monkeypatch.setattr("os.get_terminal_size", lambda _: os.terminal_size((80, 24)))
    for stream in (typed, sys.stderr):
        monkeypatch.setattr(stream, "isatty", lambda: terminal)
    assert run(words) == 2
    assert capfd.readouterr().err.startswith(said) is terminal


def test_json_is_one_object_a_line(capsys: Captured) -> None:
    assert run([*ISSUE, "--format", "json"]) == 1
    (line,) = capsys.readouterr().out.splitlines()
    jsonschema.validate(json.loads(line), schema())


def test_output_to_a_file(tmp_path: Path, capsys: Captured) -> None:
    target = tmp_path / "report.txt"
    assert run([*ISSUE, "--output", str(target)]) == 1
    assert capsys.readouterr().out == ""
    assert target.read_text(encoding="utf-8").startswith("rejected")
    assert "cannot write" in refused(capsys, *ISSUE, "--output", str(tmp_path / "no" / "such" / "folder"))


def test_strict_fails_on_unknown(capsys: Captured) -> None:
    tma = [
        "explain",
        '!cute.coord_tensor<"(0)", "(8):(1@0)">',
        S,
        "--atom",
        "!cute_nvgpu.atom.tma_load<bf16>",
    ]
    assert run(tma) == 0
    assert run([*tma, "--strict"]) == 1
    assert run(["explain", G, S, "--atom", "cp.async", "--strict"]) == 0
    assert capsys.readouterr().out.startswith("unknown[LC901]")


@pytest.mark.parametrize(
    ("arguments", "message", "caret"),
    [
        (["explain", "(8,8", "(8):(1)"], "unbalanced parentheses", "^"),
        (["explain", "(8):((1,1))", "(8):(1)"], "shape and stride do not match", "^"),
        (["explain", "(0):(1)", "(8):(1)"], "at least 1, not 0", "^"),
        (["explain", "(8):(1)", "(-8):(1)"], "at least 1, not -8", "^"),
        (["explain", "(8):(1)", "(8):(1)", "--atom", "warp.drive"], "unknown atom 'warp.drive'", "^"),
        (["explain", "(8):(1)", "(8):(1)", "--dtype", "bf17"], "unknown element type 'bf17'", "^"),
        (["explain", "\x01\x02\udcff", "(8):(1)"], "not a tensor", "^"),
        (["explain", "(" * 5000, "(8):(1)"], "nested more than", "^"),
        (["explain", "(8):(1)" * 20_000, "(8):(1)"], "too many for one operand", ""),
        (["explain", "/no/such/file"], "cannot read '/no/such/file': No such file", ""),
        (["explain", "/"], "cannot read '/'", ""),
        (["explain", "(8):(1)"], "a copy has two operands", ""),
        (["explain", "--fix", "k.py"], "No such option: --fix; lint and trace have it (see", ""),
        (
            ["check", "8:1", "(8):(1)", "--atom", "cp.async"],
            "explain has it: layoutcheck explain 8:1 '(8):(1)' --atom cp.async (see",
            "",
        ),
        (["explain", "--auxx", "k.py"], "No such option: --auxx (Possible options: --a, --aux)", ""),
        (["explain"], "nothing to explain", ""),
        (["explain", "(8):(1)", "(8):(1)", "--case", "issue-2320"], "a case has its own operands", ""),
        (["explain", "(8):(1)", "(8):(1)", "--format", "dance"], "explain has no format", ""),
        (["explain", "(8):(1)", "(8):(1)", "--bits", "many"], "--bits", ""),
        (["explain", "(8):(1)", "(8):(1)", "--colour"], "--colour", ""),
        (["juggle"], "juggle", ""),
        (["check", "--jsonl", "/no/such/file"], "cannot read", ""),
        (["check"], "--jsonl", ""),
        (["check", "--jsonl", "/dev/zero"], "64 MiB without a JSON object, up to line 1", ""),
        (["confirm", "/dev/zero"], "64 MiB without a JSON object, up to line 1", ""),
        (
            ["lint", ".", "--baseline", "/dev/zero"],
            "cannot read the baseline '/dev/zero': not a regular file",
            "",
        ),
        (["explain", "(８):(1)", "(8):(1)"], "expected a shape", "^"),
        (["explain", "(8):(1)", "(8):(1)", "--bits", "１２８"], "'１２８' is not a number", ""),
        (["explain", "(8):(1)", "(8):(1)", "--bits=١٢٨"], "is not a number", ""),
        (["explain", "(8):(1)", "(8):(1)", "--bits", "1_28"], "'1_28' is not a number", ""),
        (["lint", ".", "--require-coverage", "1_0.0"], "'1_0.0' is not a number", ""),
        (["numerics", "tol", "-K", "1_0"], "'1_0' is not a number", ""),
        (["numerics", "tol", "-K", "64", "--scale", "1,1_0"], "no scale", "^"),
        (
            ["explain", "(8):(1)", "(8):(1)", "--atom", "cp.async", "--dtype", "bf16", "--cta-rank", "1"],
            "--cta-rank is",
            "",
        ),
        (["explain", "(8):(1)", "(8):(1)", "--tiled", "4", "--dtype", "bf16"], "'4' is not a tiled copy", ""),
        (["rule", "LC000"], "no rule 'LC000'", ""),
        (["rule", "LC2011"], "did you mean", ""),
        (["explain", "--case", "issue-232"], "did you mean issue-2320?", ""),
    ],
    ids=lambda value: value[:30] if isinstance(value, str) else "",
)
def test_unusable_input_is_one_clear_error(
    arguments: list[str], message: str, caret: str, capsys: Captured
) -> None:
    if "--dtype" not in arguments and "--atom" not in arguments and arguments[0] == "explain":
        arguments = [*arguments, "--dtype", "bf16"]
    error = refused(capsys, *arguments)
    assert message in error
    assert caret in error
    assert len(error) < 800


RUBBISH = {
    "empty": b"",
    "bytes": bytes(range(256)) * 100,
    "random": b"\xff\xfe" + random.Random(1).randbytes(20_000),  # Chinese prose, by its byte order mark
    "random without a mark": b"\x80" + random.Random(2).randbytes(20_000),
    "random bytes of a question": "错误怎么办？".encode() + bytes(range(128, 256)),
    "parentheses": b"(" * 5000,
    "1 MB of lines": b"cute.copy nothing to see here\n" * 33_000,
    "1 MB of openings": b"'cute.slice' op (((( \"cute.view\"(%1\n" * 28_000,
    "4 MB line": b"x" * 4_000_000,
}


@pytest.mark.parametrize("name", RUBBISH)
def test_a_file_of_rubbish_is_refused(name: str, tmp_path: Path, capsys: Captured) -> None:
    file = tmp_path / "paste.txt"
    file.write_bytes(RUBBISH[name])
    error = refused(capsys, "explain", str(file))
    assert "expected the output" in error or "expected the compiler's output" in error
    assert len(error) < 800


@pytest.mark.parametrize(
    "source", ["while cat random; do :; done", "yes '\"src\"'", "yes ''", "yes '{\"a\": 1' | tr -d '\\n'"]
)
def test_an_endless_jsonl_ends_in_one_error(source: str, tmp_path: Path) -> None:
    """Random bytes, a pipe that repeats what is no object, empty lines, and a line without an end."""
    (tmp_path / "random").write_bytes(random.Random(3).randbytes(1 << 16))
    feed = f"cd {shlex.quote(str(tmp_path))}; {source}"
    done = subprocess.run(
        ["bash", "-c", f"({feed}) 2>/dev/null | {sys.executable} -m layoutcheck check --jsonl -"],
        capture_output=True, timeout=120, env=ENVIRONMENT, cwd=ROOT,
    )  # fmt: skip
    assert done.returncode == 2
    assert done.stderr.startswith(b"error: not JSON Lines: ") and done.stderr.count(b"\n") == 1
    assert done.stdout.count(b"\n") <= 100


@pytest.mark.parametrize("text", ["", "\n\n"])
def test_input_without_copies_is_no_success(text: str, tmp_path: Path, capsys: Captured) -> None:
    file = tmp_path / "copies.jsonl"
    file.write_text(text)
    assert "no copies to check; expected JSON objects" in refused(capsys, "check", "--jsonl", str(file))


def test_unusable_lines_among_good_ones_do_not_end_the_reading(tmp_path: Path, capsys: Captured) -> None:
    good = json.dumps({"src": G, "dst": S, "atom": "cp.async", "bits": 128})
    file = tmp_path / "copies.jsonl"
    file.write_text("\n".join(["no object"] * 100 + [good] + ["no object"] * 100 + [good]))
    assert run(["check", "--jsonl", str(file)]) == 2
    reports = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [i for i, report in enumerate(reports) if "error" not in report] == [100, 201]


def test_rubbish_on_stdin() -> None:
    done = start("explain", "-", stdin=RUBBISH["random"][:4000])  # all of it is read from a file above
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.startswith(b"error: the input is not text: ") and b"expected the output" in done.stderr
    assert b"Traceback" not in done.stderr


def test_a_line_pays_for_no_fixes_where_none_are_wanted(
    tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def propose(report: Report) -> tuple[tuple[()], str | None]:
        asked.append(report.verdict)
        return (), None if report.verdict == "legal" else "looked for"

    monkeypatch.setattr("layoutcheck.judge.propose", propose)
    file = tmp_path / "copies.jsonl"
    file.write_text("".join(json.dumps({"src": G, "dst": each, "atom": "cp.async", "bits": 128}) + "\n"
                            for each in (SCATTERED, S)))  # fmt: skip
    for more, obstacle in ((["--no-fixes"], "not looked for: --no-fixes"), ([], "looked for")):
        assert run(["check", "--jsonl", str(file), *more]) == 1
        wrong, legal = map(json.loads, capsys.readouterr().out.splitlines())
        assert (wrong["fixes"], wrong["obstacle"], legal["obstacle"]) == ([], obstacle, None)
    assert asked.count("wrong") == 1
    assert run(["check", "--jsonl", str(file), "--format", "text"]) == 1
    assert "no fix: looked for" in capsys.readouterr().out
    for words in (["--format", "text"], ["--compare", str(file)]):
        assert "--no-fixes is not used" in refused(
            capsys, "check", "--jsonl", str(file), "--no-fixes", *words
        )


def test_many_copies(tmp_path: Path, capsys: Captured) -> None:
    file = tmp_path / "copies.jsonl"
    lines = [
        json.dumps({"src": G, "dst": S, "atom": "cp.async", "bits": 128, "id": "first"}),
        json.dumps(
            {"op": "cute.copy", "src": G, "dst": SCATTERED, "atom": "cp.async", "loc": "a.py:3", "count": 8}
        ),
        "",
        '{"src": broken',
        json.dumps({"src": "(8", "dst": S, "atom": "cp.async"}),
        json.dumps({"src": G, "dst": S, "atom": "cp.async", "bits": "128"}),
        json.dumps({"src": G, "dst": S, "atmo": "cp.async"}),
        json.dumps([G, S]),
        json.dumps({"src": G}),
        json.dumps({"src": G, "dst": S, "atom": "cp.async"}),
    ]
    file.write_text("\n".join(lines), encoding="utf-8")
    assert run(["check", "--jsonl", str(file)]) == 2
    out, err = capsys.readouterr()
    reports = [json.loads(line) for line in out.splitlines()]
    for report in reports:
        jsonschema.validate(report, schema())
    assert err == ""
    assert [report.get("verdict") for report in reports] == ["legal", "wrong", *[None] * 6, "legal"]
    assert [report["subject"] for report in reports][:4] == ["first", "a.py:3", "line 4", "line 5"]
    messages = [report["error"]["message"] for report in reports[2:-1]]
    for message, part in zip(
        messages,
        [
            "not JSON",
            "unbalanced",
            "'bits' is a whole number",
            "unknown key 'atmo'",
            "not a JSON object",
            "no 'dst'",
        ],
        strict=True,
    ):
        assert part in message
    file.write_text("\n".join(lines[:2]), encoding="utf-8")
    assert run(["check", "--jsonl", str(file)]) == 1
    file.write_text(lines[0], encoding="utf-8")
    assert run(["check", "--jsonl", str(file), "--strict"]) == 0
    capsys.readouterr()


@pytest.mark.parametrize(
    "line", [b"[" * 100_000, b"1" * 100_000, b"\xff\x00{}", b'"' + b"x" * 3_000_000 + b'"', b"NaN"]
)
def test_hostile_lines(line: bytes, tmp_path: Path, capsys: Captured) -> None:
    file = tmp_path / "copies.jsonl"
    file.write_bytes(line + b"\n" + json.dumps({"src": G, "dst": S, "atom": "cp.async"}).encode())
    assert run(["check", "--jsonl", str(file), "--format", "text"]) == 2
    out = capsys.readouterr().out
    assert out.startswith("error: line 1: ") and "\nlegal" in out


def test_rules_are_listed_and_printed(capsys: Captured) -> None:
    assert run(["rule"]) == 0
    listed = capsys.readouterr().out
    assert "LC101  rejected  unproved-alignment: " in listed
    assert run(["rule", "lc201"]) == 0
    assert capsys.readouterr().out.startswith("# LC201 scattered-vector\n")


def test_pages_are_wrapped_and_keep_their_words() -> None:
    for rule in rulebook.rules().values():
        page = rule.page()
        shown = wrapped(page, 80)
        assert shown.replace("\\\n", " ").split() == page.split()
        prose = re.sub(r"^```.*?^```$", "", shown, flags=re.MULTILINE | re.DOTALL)
        assert all(len(line) <= 80 or " " not in line for line in prose.split("\n"))
        commands = [line[2:] for line in shown.replace("\\\n", "").split("\n") if line.startswith("$ ")]
        asked = [line[2:] for line in page.split("\n") if line.startswith("$ ")]
        assert list(map(shlex.split, commands)) == list(map(shlex.split, asked))


def test_help_and_no_arguments(capsys: Captured) -> None:
    assert run(["--help"]) == 0
    assert "explain" in capsys.readouterr().out
    for command in ("explain", "check", "rule"):
        assert run([command, "--help"]) == 0
    assert "--jsonl" in capsys.readouterr().out


def test_the_installed_dsl_is_asked(capsys: Captured) -> None:
    pytest.importorskip("cutlass", reason="the CuTe DSL is not installed")
    assert run([*ISSUE, "--compiler", "--format", "json"]) == 1
    report = json.loads(capsys.readouterr().out)
    assert report["asked"]["outcome"] == "rejected"
    assert report["asked"]["message"] == report["compiler"]["message"]
    assert all("compiler" in fix["confirmed_by"] for fix in report["fixes"])


def test_a_dsl_that_cannot_be_asked_is_no_failure(monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    from layoutcheck.dsl import verifier
    from layoutcheck.dsl.session import DslUnavailable

    def unavailable(*_: object) -> None:
        raise DslUnavailable("not installed")

    monkeypatch.setattr(verifier, "verify", unavailable)
    assert run(["explain", G, S, "--atom", "cp.async", "--compiler"]) == 0
    assert "DSL       not known: not installed" in capsys.readouterr().out

    def uncompiled(*_: object) -> None:
        raise DslUnavailable("the CuTe DSL is not installed")

    monkeypatch.setattr("layoutcheck.dsl.programs.compiled", uncompiled)
    tile = ["--tile", "(64,64)", "--src", "gmem (?,?{div=8}):(?{div=8},1)", "--to", "ldmatrix"]
    assert refused(capsys, "synth", *tile, "--compiled") == "error: the CuTe DSL is not installed\n"


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
@pytest.mark.parametrize(
    ("environment", "colour"), [({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)]
)
def test_colour_only_on_a_terminal(
    environment: dict[str, str], colour: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    import pty

    from layoutcheck.cli.output import style_of

    coloured(monkeypatch, {"TERM": "xterm", **environment})
    parent, child = pty.openpty()
    with os.fdopen(child, "w") as terminal:
        assert style_of(terminal).colour == colour
        assert not style_of(terminal, plain=True).colour
    os.close(parent)


def coloured(monkeypatch: pytest.MonkeyPatch, environment: dict[str, str]) -> None:
    """The variables that colour depends on: these, and no others."""
    for name in ("NO_COLOR", "FORCE_COLOR", "TERM"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
def test_a_report_on_a_terminal_has_colour() -> None:
    import pty

    parent, child = pty.openpty()
    clean = {key: value for key, value in ENVIRONMENT.items() if key not in ("NO_COLOR", "TERM")}
    process = subprocess.Popen(
        [sys.executable, "-m", "layoutcheck", "explain", G, S, "--atom", "cp.async"],
        stdout=child, cwd=ROOT, env={**clean, "TERM": "xterm"},
    )  # fmt: skip
    os.close(child)
    shown = b""
    try:
        while chunk := os.read(parent, 4096):
            shown += chunk
    except OSError:  # the terminal is closed
        pass
    os.close(parent)
    assert process.wait(timeout=60) == 0
    assert b"\x1b[" in shown


@pytest.mark.parametrize(
    ("environment", "colour"),
    [({}, False), ({"FORCE_COLOR": "1"}, True), ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, False)],
)
def test_colour_to_a_pipe_is_asked_for(
    environment: dict[str, str], colour: bool, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    coloured(monkeypatch, environment)
    command = ["explain", "--atom", "cp.async", G]
    status = run([*command, S])
    assert (status, "\x1b[" in capfd.readouterr().out) == (0, colour)
    status = run([*command, "?!"])
    assert (status, "\x1b[" in capfd.readouterr().err) == (2, colour)
    file = tmp_path / "report.txt"
    assert run([*command, S, "--output", str(file)]) == 0
    assert "\x1b[" not in file.read_text()


@pytest.mark.skipif(sys.platform == "win32", reason="no pseudo terminals")
@pytest.mark.parametrize(("columns", "width"), [(0, 80), (20, 40), (40, 40), (72, 72), (200, 100)])
def test_a_report_is_as_wide_as_the_terminal_within_limits(columns: int, width: int) -> None:
    import fcntl
    import pty
    import struct
    import termios

    from layoutcheck.cli.output import style_of

    parent, child = pty.openpty()
    fcntl.ioctl(child, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    with os.fdopen(child, "w") as terminal:
        assert style_of(terminal).width == width
        assert style_of(terminal, plain=True).width == 80
    os.close(parent)


@pytest.mark.skipif(sys.platform == "win32", reason="no pseudo terminals")
def test_a_long_complaint_is_wrapped_on_a_terminal() -> None:
    import pty

    parent, child = pty.openpty()
    arguments = ["explain", G, S, "--atom", "tma", "--dtype", "bf16"]
    process = subprocess.Popen(
        [sys.executable, "-m", "layoutcheck", *arguments],
        stderr=child, cwd=ROOT, env={**ENVIRONMENT, "NO_COLOR": "1"},
    )  # fmt: skip
    os.close(child)
    assert process.wait(timeout=60) == 2
    shown = os.read(parent, 4096).decode().splitlines()
    os.close(parent)
    assert shown[0].startswith("error: unknown atom 'tma'")
    assert len(shown) > 4
    assert max(map(len, shown)) <= 80
    assert shown[-1].strip() == "^^^"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("words", [(), ("--output", "/dev/full")])
def test_a_full_disk_is_one_error(words: tuple[str, ...]) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "layoutcheck", *ISSUE, *words],
            stdout=subprocess.DEVNULL if words else full, stderr=subprocess.PIPE, cwd=ROOT, env=ENVIRONMENT,
        )  # fmt: skip
    assert (done.returncode, done.stderr) == (
        2, b"error: cannot write the report: No space left on device\n"
    )  # fmt: skip


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_an_error_that_cannot_be_written_keeps_its_status() -> None:
    with Path("/dev/full").open("w") as full:
        words = [sys.executable, "-m", "layoutcheck", "explain", "(8):(", "(8):(1)"]
        done = subprocess.run(words, stdin=subprocess.DEVNULL, stderr=full, cwd=ROOT, env=ENVIRONMENT)
    assert done.returncode == 2


def test_a_closed_pipe_is_quiet() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [sys.executable, "-m", "layoutcheck", *ISSUE],
        stdout=writer,
        stderr=subprocess.PIPE,
        cwd=ROOT,
        env=ENVIRONMENT,
        timeout=60,
    )
    os.close(writer)
    assert done.stderr == b""
    assert done.returncode == 141


def test_an_interrupt_is_one_line(monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("layoutcheck.sources.request.read", interrupt)
    assert run(ISSUE) == 130
    assert capsys.readouterr() == ("", "error: ended by SIGINT\n")


def test_output_that_cannot_be_encoded_is_still_printed() -> None:
    done = start(*ISSUE, "--format", "json", PYTHONIOENCODING="ascii", LC_ALL="C")
    assert done.returncode == 1 and done.stderr == b""
    json.loads(done.stdout)


def test_the_dsl_is_never_imported() -> None:
    code = (
        "import sys; from layoutcheck.cli import run; "
        f"status = run({ISSUE!r}); "
        "sys.exit(9 if 'cutlass' in sys.modules or 'rich' in sys.modules else status)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, cwd=ROOT, env=ENVIRONMENT, timeout=60
    )
    assert done.returncode == 1


def test_the_version_needs_no_arrays() -> None:
    """The arguments of a command are read without what it works with."""
    code = (
        "import sys; from layoutcheck.cli import run; "
        "status = run(['--version']); sys.exit(9 if 'numpy' in sys.modules else status)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=ENVIRONMENT, timeout=60, check=False)
    assert done.returncode == 0


def test_the_version(capsys: Captured) -> None:
    assert run(["--version"]) == 0
    said = capsys.readouterr().out
    assert re.fullmatch(r"layoutcheck \d+\.\d+\.\d+\S* \(models CuTe DSL \d+\.\d+\.\d+\)\n", said)


@pytest.mark.parametrize(
    "arguments",
    [
        ["explain", "--case", "issue-2320"],
        ["draw", "(4,8):(8,1)", "--format", "svg"],
        ["numerics", "tol", "-K", "64"],
        ["resources", "gemm"],
    ],
    ids=lambda words: words[0],
)
def test_a_dash_as_output_is_standard_output(
    arguments: list[str], capsys: Captured, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    run(arguments)
    plain = capsys.readouterr().out
    run([*arguments, "--output", "-"])
    assert capsys.readouterr().out == plain != ""
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("option", ["--html", "--sarif", "--junit", "--write-baseline"])
def test_a_dash_as_a_second_file_is_refused(option: str, capsys: Captured) -> None:
    assert f"{option} -: the report goes to standard output" in refused(capsys, "ci", ".", option, "-")


@pytest.mark.parametrize("option", ["--output", "--html", "--sarif", "--junit", "--write-baseline"])
def test_ci_runs_nothing_if_a_report_could_not_be_written(
    option: str, capsys: Captured, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The programs of a repository take minutes, and what they show would be lost."""
    monkeypatch.setattr("layoutcheck.linting.linted", lambda *_, **__: pytest.fail("it was run"))
    for file, why in ((tmp_path / "gone" / "x", "No such file"), (tmp_path, "Is a directory")):
        error = refused(capsys, "ci", str(tmp_path), "--yes", option, str(file))
        assert f"cannot write {file}: {why}" in error
    pytest.importorskip("cutlass")
    file = tmp_path / "earlier"
    earlier = '{"layoutcheck_baseline": 1}' if "baseline" in option else MARK
    file.write_text(earlier)
    with pytest.raises(pytest.fail.Exception, match="it was run"):
        run(["ci", str(tmp_path), "--yes", option, str(file)])
    assert file.read_text() == earlier


@pytest.mark.parametrize("option", ["--no-lowered", "--no-order"])
def test_what_a_static_lint_would_ignore_is_refused(option: str, capsys: Captured) -> None:
    assert f"{option} is not used" in refused(capsys, "lint", ".", "--static", option)


@pytest.mark.parametrize(
    "text", ["CUDA error: misaligned address", "error: 'cute.copy' op dst ptr alignment"]
)
def test_an_unknown_architecture_is_at_fault_and_not_the_pasted_message(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str
) -> None:
    pasted = tmp_path / "log.txt"
    pasted.write_text(text)
    assert run(["explain", str(pasted), "--arch", "junk"]) == 2
    told = capsys.readouterr()
    assert "unknown architecture 'junk'" in told.err and not told.out


@pytest.mark.skipif(sys.platform == "win32", reason="no pseudo terminals")
def test_what_is_redirected_does_not_go_to_the_terminal_with_the_progress(tmp_path: Path) -> None:
    import pty

    (tmp_path / "copies.jsonl").write_text(json.dumps({"src": G, "dst": S, "atom": "cp.async"}))
    parent, child = pty.openpty()
    with (tmp_path / "out.jsonl").open("w") as out:
        process = subprocess.Popen(
            [sys.executable, "-m", "layoutcheck", "check", "--jsonl", str(tmp_path / "copies.jsonl")],
            stdout=out, stderr=child, cwd=ROOT, env={**ENVIRONMENT, "TERM": "xterm"},
        )  # fmt: skip
        assert process.wait(timeout=60) in (0, 1)
    os.close(child)
    shown = os.read(parent, 1 << 16)
    os.close(parent)
    assert b"1/1" in shown and b"subject" not in shown
    assert "subject" in json.loads((tmp_path / "out.jsonl").read_text())
