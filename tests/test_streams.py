"""Signals (Ctrl-C, SIGTERM, SIGHUP): one line, the status, nothing left running. Files: none is lost."""

from __future__ import annotations

import errno
import json
import os
import re
import resource
import signal
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from layoutcheck import confirming
from layoutcheck.cli import run
from layoutcheck.formats import FORMATS
from layoutcheck.whole import MARK, write_whole
from tests.gpu.test_confirm_cli import GPU, SURPRISE

ROOT = Path(__file__).parents[1]
EARLIER = f"an earlier report{MARK}"
SCRIPT = """import subprocess, sys, time
child = subprocess.Popen(["sleep", "60"])
open("started", "w").write(str(child.pid))
time.sleep(60)
"""


def until(what: Callable[[], object], seconds: float = 30) -> bool:
    """Whether it became true in time."""
    end = time.monotonic() + seconds
    while not (found := what()) and time.monotonic() < end:
        time.sleep(0.02)
    return bool(found)


def lives(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().split()[2] != "Z"
    except OSError:
        return False


def started(*words: str, cwd: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "layoutcheck", *words], cwd=cwd, env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip


def sent(process: subprocess.Popen[bytes], number: int, status: int | None = None) -> tuple[bytes, str]:
    """What it wrote, having ended by this signal though its standard input is open."""
    process.send_signal(number)
    assert process.wait(20) == (128 + number if status is None else status)
    assert process.stdin is not None and process.stdout is not None and process.stderr is not None
    out, err = process.stdout.read(), process.stderr.read().decode()
    for stream in (process.stdin, process.stdout, process.stderr):
        stream.close()
    return out, err


@pytest.mark.skipif(sys.platform != "linux", reason="kernels are traced on Linux only")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_trace_ends_with_the_scripts_processes(number: signal.Signals, tmp_path: Path) -> None:
    (tmp_path / "s.py").write_text(SCRIPT)
    (tmp_path / "out.json").write_text(EARLIER)
    process = started("trace", "--no-launch", "--output", "out.json", "s.py", cwd=tmp_path)
    file = tmp_path / "started"
    assert until(lambda: file.exists() and file.read_text())
    child = int(file.read_text())
    assert lives(child)
    if number == signal.SIGTERM:  # CI's time is up: what was seen is reported
        assert sent(process, number, 2)[0] == b""
        assert "SIGTERM came before it had ended" in (tmp_path / "out.json").read_text()
    else:
        assert sent(process, number) == (b"", f"error: ended by {number.name}\n")
        assert (tmp_path / "out.json").read_text() == EARLIER
    assert until(lambda: not lives(child), 5)


def test_the_server_ends_while_its_input_is_open(tmp_path: Path) -> None:
    pytest.importorskip("pygls", reason="the language server needs pygls")
    process = started("server", cwd=tmp_path)
    assert process.stdin is not None and process.stdout is not None
    body = json.dumps(
        {"jsonrpc": "2.0", "id": 1, "method": "initialize",
         "params": {"processId": None, "rootUri": None, "capabilities": {}}}
    ).encode()  # fmt: skip
    process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
    process.stdin.flush()
    assert process.stdout.readline().startswith(b"Content-Length")
    assert sent(process, signal.SIGTERM)[1] == "error: ended by SIGTERM\n"


LINE = json.dumps({"src": "(8):(1)", "dst": "(8):(1)", "atom": "cp.async", "dtype": "bf16", "bits": 128})
HEARD = (
    signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN
)  # nohup has it ignored, also by what a test starts
ENDING = [
    signal.SIGINT,
    signal.SIGTERM,
    pytest.param(signal.SIGHUP, marks=pytest.mark.skipif(not HEARD, reason="SIGHUP is ignored here")),
]


@pytest.mark.parametrize("number", ENDING)
def test_lines_of_a_check_that_is_ended_are_whole(number: signal.Signals, tmp_path: Path) -> None:
    process = started("check", "--jsonl", "-", cwd=tmp_path)
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write(f"{LINE}\n{LINE}\n".encode())
    process.stdin.flush()
    lines = [process.stdout.readline() for _ in range(2)]
    assert sent(process, number) == (b"", f"error: ended by {number.name}\n")
    assert [json.loads(one)["verdict"] for one in lines] == ["legal", "legal"]


@pytest.mark.parametrize("number", ENDING)
def test_a_check_that_is_ended_leaves_the_earlier_report(number: signal.Signals, tmp_path: Path) -> None:
    file = tmp_path / "out.jsonl"
    file.write_text(EARLIER)
    process = started("check", "--jsonl", "-", "--output", "out.jsonl", cwd=tmp_path)
    assert process.stdin is not None
    process.stdin.write(f"{LINE}\n".encode())
    process.stdin.flush()
    assert until(lambda: len(list(tmp_path.iterdir())) == 2)  # the new one, beside it
    assert sent(process, number)[1] == f"error: ended by {number.name}\n"
    assert file.read_text() == EARLIER and list(tmp_path.iterdir()) == [file]


def test_the_server_ends_the_script_that_it_runs(tmp_path: Path) -> None:
    pytest.importorskip("pygls", reason="the language server needs pygls")
    if sys.platform != "linux":
        pytest.skip("kernels are traced on Linux only")
    from threading import Thread

    from lsprotocol.types import ClientCapabilities

    from layoutcheck.editor.server import Server

    script, file = tmp_path / "s.py", tmp_path / "started"
    script.write_text(SCRIPT.replace('"started"', repr(str(file))))
    server = Server()
    server.protocol.client_capabilities = ClientCapabilities()
    tracing = Thread(target=server.trace, args=(str(script),))
    tracing.start()
    assert until(lambda: file.exists() and file.read_text())
    server.shutdown()
    tracing.join(10)
    assert not tracing.is_alive() and until(lambda: not lives(int(file.read_text())))
    assert server.traced == {}


@pytest.mark.parametrize("there", [EARLIER, None])
def test_a_command_without_a_report_leaves_its_file(
    there: str | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, empty = tmp_path / "report", tmp_path / "empty.jsonl"
    empty.write_text("")
    if there is not None:
        file.write_text(there)
    assert run(["check", "--jsonl", str(empty), "--output", str(file)]) == 2
    assert "no copies" in capsys.readouterr().err
    assert (file.read_text() if file.exists() else None) == there


@pytest.mark.parametrize(
    "words",
    [
        ["check", "--jsonl", "a", "--output", "./a"],
        ["check", "--jsonl", "b", "--compare", "a", "--output", "a"],
        ["explain", "a", "--output", "a"],
    ],
)
def test_a_file_that_is_read_is_not_written(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`check` would read its own reports, and never end."""
    monkeypatch.chdir(tmp_path)
    line = '{"src": "(8):(1)", "dst": "(8):(1)", "dtype": "f16"}' + MARK
    for name in ("a", "b"):
        Path(name).write_text(line)
    assert run(words) == 2
    assert capsys.readouterr().err == "error: 'a' is read and written; expected two files\n"
    assert Path("a").read_text() == line


_WRITERS = {
    "explain": ["explain", "--case", "issue-2320"],
    "explain --mma": ["explain", "--mma", "mma.m16n8k16.f32.f16", "--a", "(16,16):(16,1)"],
    "lint": ["lint", "k.py"],
    "check": ["check", "--jsonl", "copies.txt"],
    "draw": ["draw", "(8,8):(8,1)"],
    "ci": ["ci", "--yes", "--workers", "1", "k.py"],
}


@pytest.fixture
def kernels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with settings, a finding and a copy; what is there is traced by nobody."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("layoutcheck.lint.cases.require_dsl", lambda: None)
    (tmp_path / "pyproject.toml").write_text("[tool.layoutcheck]\n")
    (tmp_path / "k.py").write_text("from cutlass import cute\ncute.assume(row * 8 + 4, divby=8)\n")
    (tmp_path / "copies.txt").write_text('{"src": "(8):(1)", "dst": "(8):(1)", "dtype": "f16"}\n')
    return tmp_path


@pytest.mark.parametrize(
    ("command", "format_"),
    [(command, format_) for command in _WRITERS for format_ in FORMATS[command]],
)
def test_a_report_of_any_format_may_be_replaced(
    kernels: Path, capsys: pytest.CaptureFixture[str], command: str, format_: str
) -> None:
    words = [*_WRITERS[command], "--format", format_, "--output", "out"]
    first, said = run(words), (kernels / "out").read_bytes()
    assert said, capsys.readouterr()
    assert run(words) == first
    assert (kernels / "out").read_bytes() == said


@pytest.mark.parametrize(
    "words",
    [
        *([*words, "--output", "{}"] for words in _WRITERS.values()),
        ["numerics", "tol", "-K", "64", "--in", "f16", "--out", "f16", "--output", "{}"],
        ["confirm", "issue-2320", "--output", "{}"],
        ["trace", "--no-launch", "--output", "{}", "k.py"],
        ["lint", "k.py", "--write-baseline", "{}"],
        *(["ci", "--yes", option, "{}"] for option in ("--html", "--sarif", "--junit", "--write-baseline")),
    ],
)
@pytest.mark.parametrize("there", ["pyproject.toml", "k.py"])
def test_what_layoutcheck_did_not_write_is_not_replaced(
    kernels: Path, capsys: pytest.CaptureFixture[str], words: list[str], there: str
) -> None:
    before = (kernels / there).read_bytes()
    assert run([word.format(there) for word in words]) == 2
    assert capsys.readouterr().err == (
        f"error: cannot write {there}: it holds something else, which would be lost; expected a new file, or "
        "an earlier one of its kind, in a folder that exists\n"
    )
    assert (kernels / there).read_bytes() == before


def test_no_file_is_made_where_a_link_leads(kernels: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A repository can hold the link: what it names would be made with a report's words."""
    (kernels / "report").symlink_to(kernels.parent / "outside")
    assert run(["lint", "k.py", "--output", "report"]) == 2
    assert "cannot write report: No such file" in capsys.readouterr().err
    assert not (kernels.parent / "outside").exists()


def test_a_report_does_not_replace_a_baseline_nor_a_baseline_a_report(
    kernels: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["lint", "k.py", "--write-baseline", "base"]) == 0
    assert run(["lint", "k.py", "--write-baseline", "base"]) == 0
    assert run(["lint", "k.py", "--format", "json", "--output", "report"]) == 1
    assert run(["lint", "k.py", "--format", "sarif", "--output", "report"]) == 1
    for option, file in (("--output", "base"), ("--write-baseline", "report")):
        before = (kernels / file).read_bytes()
        assert run(["lint", "k.py", option, file]) == 2
        assert "it holds something else" in capsys.readouterr().err
        assert (kernels / file).read_bytes() == before


@pytest.mark.parametrize("format_", ["text", "json"])
def test_an_unusable_line_is_told_in_the_terms_of_json(
    format_: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "copies.jsonl"
    file.write_text('{"src": "(8):(1)", "dst": "(8):(1)", "atom": "cp.async", "bits": 128}\n')
    assert run(["check", "--jsonl", str(file), "--format", format_]) == 2
    out = capsys.readouterr().out
    assert "'dtype', such as bf16" in out and "dtype=" not in out and "--dtype" not in out


@pytest.mark.parametrize("words", [["--help"], ["numerics", "units"], ["resources", "gemm"]])
def test_typers_commands_know_a_broken_pipe(words: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Typer makes it status 1, which says that something is wrong."""

    def broken(_: str) -> int:
        raise BrokenPipeError(errno.EPIPE, "Broken pipe")

    dropped = []
    monkeypatch.setattr("layoutcheck.cli.drop", lambda stream: dropped.append(stream))
    monkeypatch.setattr(sys.stdout, "write", broken)
    status = run(words)
    monkeypatch.undo()
    assert status == 141 and dropped == [sys.stdout]


def test_a_folder_that_is_gone_is_one_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert run(["lint", "."]) == 2
    assert capsys.readouterr() == ("", "error: the current folder is gone; expected one that exists\n")


def test_a_name_that_the_locale_lacks_is_escaped(tmp_path: Path) -> None:
    file = tmp_path / "copies.jsonl"
    file.write_text('{"id": "漢", "src": "(8):(1)", "dst": "(8):(1)", "dtype": "f16"}\n', "utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "layoutcheck", "check", "--jsonl", str(file), "--format", "text"],
        capture_output=True, cwd=ROOT, env={**os.environ, "PYTHONIOENCODING": "latin-1"}, check=True,
    )  # fmt: skip
    assert b"--> \\u6f22\n" in done.stdout and done.stderr == b""


def test_a_measurement_is_told_though_its_reproducer_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(confirming, "confirm", lambda named, **_: ([SURPRISE for _ in named], GPU))
    folder = tmp_path / "new" / "folder"
    assert run(["confirm", "issue-2320", "--reproducers", str(folder)]) == 1
    assert len(list(folder.glob("layoutcheck-*.py"))) == 1  # a folder that is missing is made

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("layoutcheck.reports.reproducer.write_whole", full)
    capsys.readouterr()
    assert run(["confirm", "issue-2320", "--reproducers", str(folder)]) == 1
    out, err = capsys.readouterr()
    assert "warning: cannot write" in err and "No space left on device" in err
    assert "surprise" in out and "reproducer: " not in out


def test_ci_tells_what_it_saw_though_a_page_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("layoutcheck.lint.cases.require_dsl", lambda: None)

    def full(*_: object) -> str:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("layoutcheck.reports.ci_page.render", full)
    words = ["ci", "--yes", "--format", "json", "--html", "p.html", "--sarif", "s.json", "--junit", "j.xml"]
    assert run(words) == 2
    out, err = capsys.readouterr()
    assert err.endswith("error: cannot write p.html: No space left on device\n")
    assert json.loads(out)["counts"]["files"] == 0
    assert json.loads(Path("s.json").read_text())["version"] == "2.1.0" and Path("j.xml").read_text()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--layoutcheck-output", "seen.jsonl"], "--layoutcheck-output is not used; expected it with"),
        (
            ["--layoutcheck=lint", "--layoutcheck-output", "gone/seen.jsonl"],
            "cannot write gone/seen.jsonl: No such file",
        ),
        (
            ["--layoutcheck=lint", "--layoutcheck-output", "."],
            "cannot write .: Is a directory; expected a new file",
        ),
    ],
)
def test_a_suite_whose_report_would_be_lost_is_not_begun(words: list[str], said: str, tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text("def test_it(): open('ran', 'w')\n")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *words], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == pytest.ExitCode.USAGE_ERROR and said in done.stderr
    assert not (tmp_path / "ran").exists()


@pytest.mark.skipif(sys.platform != "linux", reason="kernels are traced on Linux only")
def test_a_machine_without_a_temporary_folder_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("cutlass", reason="a trace needs the DSL")
    (tmp_path / "s.py").write_text("")
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setattr(tempfile, "_candidate_tempdir_list", lambda: [str(tmp_path / "gone")])
    assert run(["trace", "--no-launch", str(tmp_path / "s.py")]) == 2
    assert "error: No usable temporary directory found in [" in capsys.readouterr().err


REPAIRABLE = """from cutlass.cute.runtime import from_dlpack

def f(x):
    assert x.data_ptr() % 16 == 0
    return from_dlpack(x)
"""


def small_files() -> None:
    """No file may grow beyond 16 bytes, as on a full disk."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (16, 16))


@pytest.mark.parametrize(
    "words",
    [
        ["explain", "--case", "issue-2320", "--output", "report"],
        ["explain", "--case", "issue-2320", "--format", "html", "--output", "report"],
        ["check", "--jsonl", "copies.jsonl", "--output", "report"],
        ["draw", "(8,8):(8,1)", "--output", "report"],
        ["lint", "--static", "--no-cache", "kernel.py", "--output", "report"],
        ["lint", "--static", "--no-cache", "kernel.py", "--write-baseline", "report"],
        ["lint", "--static", "--no-cache", "--fix", "report"],
        ["numerics", "units", "--output", "report"],
        ["resources", "gemm", "--format", "json", "--output", "report"],
    ],
)
def test_a_full_disk_leaves_the_earlier_file(words: list[str], tmp_path: Path) -> None:
    (tmp_path / "copies.jsonl").write_text(f"{LINE}\n")
    (tmp_path / "kernel.py").write_text("from cutlass import cute\n")
    earlier = '{"layoutcheck_baseline": 1}' if "--write-baseline" in words else EARLIER
    if "--fix" in words:
        words[-1], earlier = "kernel.py", REPAIRABLE
    file = tmp_path / words[-1]
    file.write_text(earlier)
    there = sorted(tmp_path.iterdir())
    done = subprocess.run(
        [sys.executable, "-m", "layoutcheck", *words], cwd=tmp_path, capture_output=True, text=True,
        check=False, env={**os.environ, "PYTHONPATH": str(ROOT)}, preexec_fn=small_files,
    )  # fmt: skip
    assert done.returncode == 2
    assert re.fullmatch(r"error: cannot (write|use) .*File too large\n", done.stderr)
    assert file.read_text() == earlier and sorted({*tmp_path.iterdir(), file}) == sorted({*there, file})


def test_a_file_that_is_written_whole_keeps_what_it_is(tmp_path: Path) -> None:
    file, link = tmp_path / "report", tmp_path / "link"
    file.write_text("earlier")
    file.chmod(0o640)
    link.symlink_to(file)
    write_whole(link, b"new")
    assert file.read_bytes() == b"new" and stat.S_IMODE(file.stat().st_mode) == 0o640 and link.is_symlink()
    write_whole(tmp_path / "other", b"new")
    assert stat.S_IMODE((tmp_path / "other").stat().st_mode) == 0o666 & ~umask()
    write_whole(Path(os.devnull), b"new")
    assert not Path(os.devnull).is_file()


def test_a_report_goes_into_a_pipe(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    process = started("explain", "--case", "issue-2320", "--output", "pipe", cwd=tmp_path)
    assert (tmp_path / "pipe").read_text().startswith("rejected[LC102]")
    assert process.wait(20) == 1 and not (tmp_path / "pipe").is_file()
    (tmp_path / "log").write_text("earlier\n")
    with (tmp_path / "log").open("a") as log:  # a stream that is open is no file to replace
        words = ["explain", "--case", "issue-2320", "--output", "/dev/stdout"]
        done = subprocess.run(
            [sys.executable, "-m", "layoutcheck", *words], stdout=log, cwd=ROOT, check=False
        )
        log.write("later\n")
    shown = (tmp_path / "log").read_text()
    assert done.returncode == 1 and "LC102" in shown and shown.endswith("later\n")
    for stream in filter(None, (process.stdin, process.stdout, process.stderr)):
        stream.close()


def umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
