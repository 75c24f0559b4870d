"""A repository that nobody vouches for: what it holds neither hangs the lint nor reaches outside of it."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from layoutcheck.cli import run
from layoutcheck.lint.cache import Cache
from layoutcheck.lint.programs import discover
from layoutcheck.regular import read_regular
from layoutcheck.settings import Settings

LINT, CI, CONFIRM = ["lint", "."], ["ci", "--yes"], ["confirm", "."]


@pytest.fixture
def repo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    made = tmp_path / "repo"
    made.mkdir()
    (made / "pyproject.toml").write_text("[tool.layoutcheck]\n")
    (made / "k.py").write_text("from cutlass import cute\n")
    monkeypatch.chdir(made)
    monkeypatch.setattr("layoutcheck.lint.cases.require_dsl", lambda: None)  # nothing is traced here
    return made


@pytest.mark.parametrize("words", [LINT, CI])
def test_devices_and_pipes_are_not_read(
    repo: Path, capsys: pytest.CaptureFixture[str], words: list[str]
) -> None:
    (repo / "endless.py").symlink_to("/dev/zero")
    os.mkfifo(repo / "test_pipe.py")
    (repo / "linked.py").symlink_to(repo / "k.py")
    (repo / "loop.py").symlink_to("loop.py")
    assert run(words) == 2
    out, err = capsys.readouterr()
    assert out.count("cannot be read: not a regular file") == 2 and "5 files" in out
    assert out.count("cannot be read: Too many levels of symbolic links") == 1
    assert "not seen: unreadable: 3 files not read" in err
    assert read_regular(repo / "linked.py") == (repo / "k.py").read_bytes()


@pytest.mark.parametrize("words", [LINT, CI, CONFIRM])
def test_a_device_that_is_named_is_refused(
    repo: Path, capsys: pytest.CaptureFixture[str], words: list[str]
) -> None:
    (repo / "endless.py").symlink_to("/dev/zero")
    assert run([*words[: len(words) - (words[-1] == ".")], "endless.py"]) == 2
    assert "'endless.py' is not a regular file" in capsys.readouterr().err
    assert run(CONFIRM) == 2
    assert "'.' registers no cases" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("test_large.py", "cannot be read: 8 MiB long; files of more than 8 MiB are not read"),
        ("pytest.ini", "not seen: no-kernels"),
        ("pyproject.toml", "pyproject.toml': File too large"),
        (".layoutcheck_cache/outlines.json", "not seen: no-kernels"),
    ],
)
def test_gigabytes_of_zeros_are_not_read(
    repo: Path, capsys: pytest.CaptureFixture[str], name: str, told: str
) -> None:
    """They are a small commit."""
    (repo / name).parent.mkdir(exist_ok=True)
    with (repo / name).open("wb") as file:
        file.truncate(1 << 40)
    assert run(CI) == 2
    assert told in "".join(capsys.readouterr())


@pytest.mark.parametrize("words", [LINT, CI])
def test_settings_and_baselines_that_are_a_pipe_or_a_device_are_refused(
    repo: Path, capsys: pytest.CaptureFixture[str], words: list[str]
) -> None:
    os.mkfifo(repo / "pipe")
    (repo / "endless").symlink_to("/dev/zero")
    for option, name in itertools.product(("--config", "--baseline"), ("pipe", "endless")):
        assert run([*words, option, name]) == 2
        told = f"cannot read {'the baseline ' * (option == '--baseline')}'{name}': not a regular file"
        assert told in capsys.readouterr().err


@pytest.mark.parametrize(
    ("setting", "words"),
    [("baseline", LINT), ("baseline", CI), ("cache", LINT), ("cache", CI), ("cache", CONFIRM), ("run", CI)],
)
@pytest.mark.parametrize("how", ["../outside", "{absolute}", "link"])
def test_paths_of_settings_stay_inside(
    repo: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], setting: str, words: list[str], how: str
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (repo / "k.py").write_text("import layoutcheck\n@layoutcheck.case\ndef it(): ...\n")
    (repo / "link").symlink_to(outside)
    value = how.format(absolute=outside) + {"baseline": "/b.json", "run": "/s.py"}.get(setting, "")
    given = f"['{value}']" if setting == "run" else f"'{value}'"
    (repo / "pyproject.toml").write_text(f"[tool.layoutcheck]\n{setting} = {given}\n")
    assert run(words) == 2
    assert f"{setting} = '{value}' leaves the repository" in capsys.readouterr().err
    assert list(outside.iterdir()) == []


@pytest.mark.parametrize("words", [LINT, CI, CONFIRM])
def test_the_default_cache_that_is_a_link_is_not_followed(
    repo: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str]
) -> None:
    (repo / "k.py").write_text("import layoutcheck\n@layoutcheck.case\ndef it(): ...\n")
    (repo / ".layoutcheck_cache").symlink_to(tmp_path)
    assert run(words) == 2
    assert "cache = '.layoutcheck_cache' leaves the repository" in capsys.readouterr().err


@pytest.mark.parametrize("name", [".pre-commit-config.yaml", ".git/HEAD", "requirements.txt", "k.ipynb"])
def test_init_reads_no_pipe_and_no_device(repo: Path, name: str) -> None:
    for made in (os.mkfifo, lambda file: file.symlink_to("/dev/zero")):
        file = repo / name
        file.parent.mkdir(exist_ok=True)
        made(file)
        assert run(["init", "--dry-run"]) == 0
        file.unlink()


@pytest.mark.parametrize("name", ["source.json", ".gitignore"])
@pytest.mark.parametrize("what", ["pipe", "/dev/zero", "outside"])
def test_what_stands_in_for_a_file_of_the_cache_is_replaced(
    repo: Path, tmp_path: Path, name: str, what: str
) -> None:
    """A repository can hold the folder, with a link to a file of the user in it."""
    outside, file = tmp_path / "outside", repo / ".layoutcheck_cache" / name
    outside.write_text("precious")
    file.parent.mkdir()
    if what == "pipe":
        os.mkfifo(file)
    else:
        file.symlink_to(outside if what == "outside" else what)
    assert run(LINT) == 0
    assert outside.read_text() == "precious" and file.is_file() and not file.is_symlink()
    assert (repo / ".layoutcheck_cache" / "source.json").read_text().startswith('{"tool"')


READING = {"findings": [], "silenced": 0, "sites": [], "lines": 4, "relevant": True}
MARK = {"line": 3, "column": 1, "codes": [1], "lines": [3], "used": []}  # a code is a word


@pytest.mark.parametrize(
    "entry",
    [3, [], {}, {"findings": [1]}, {"names": 1, "exports": [1]}, "x", {**READING, "marks": [MARK]}],
)
def test_a_broken_entry_of_the_cache_is_none(
    repo: Path, capsys: pytest.CaptureFixture[str], entry: object
) -> None:
    (repo / "k.py").write_text(
        "from cutlass import cute\ndef f(row):\n    cute.assume(row * 8 + 4, divby=8)\n"
    )

    def found() -> tuple[int, str, object]:
        outlines = Cache(repo / ".layoutcheck_cache", "outlines")
        return run(LINT), capsys.readouterr().out, discover(["."], Settings(root=repo), outlines)

    first = found()
    assert first[0] == 1
    for kind in ("source", "outlines"):
        file = repo / ".layoutcheck_cache" / f"{kind}.json"
        kept = json.loads(file.read_text())
        assert kept["entries"]
        file.write_text(json.dumps({**kept, "entries": dict.fromkeys(kept["entries"], entry)}))
    assert found() == first
    file.write_text("[" * 100_000)
    assert found() == first


def test_a_cache_inside_is_written(repo: Path) -> None:
    (repo / "pyproject.toml").write_text("[tool.layoutcheck]\ncache = 'kept/here'\n")
    assert run(["lint", "."]) == 0
    assert (repo / "kept/here/source.json").is_file()


@pytest.mark.parametrize("format_", ["text", "json", "github", "sarif"])
def test_a_name_that_is_not_utf_8_is_written_in_every_format(repo: Path, format_: str) -> None:
    name = os.fsdecode(b"bad_\xff.py")
    (repo / name).write_text("from cutlass import cute\ndef f(row):\n    cute.assume(row * 8 + 4, divby=8)\n")
    assert run(["lint", "--format", format_, "--output", "out", name]) == 1
    said = (repo / "out").read_text(encoding="utf-8")
    assert ("bad_%FF.py" if format_ == "sarif" else "bad_\\udcff.py") in said
    if format_ == "json":
        assert json.loads(said)["findings"][0]["path"] == name


def test_the_end_of_a_line_in_a_name_ends_no_line(repo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """GitHub takes a line that begins with `::` for a command."""
    (repo / "test_a\n::error::b.py").write_text(
        "from cutlass import cute\n"
        "def test_f(row):\n    cute.assume(row * 8 + 4, divby=8)\n    cute.compile(f)\n"
    )
    assert run(LINT) == 1
    assert run(["ci", "--list"]) == 0
    out = capsys.readouterr().out
    assert out.count("test_a\\n::error::b.py") == 2 and "\n::" not in out


def test_a_program_of_such_a_name_is_listed(repo: Path) -> None:
    (repo / os.fsdecode(b"test_\xff.py")).write_text(
        "from cutlass import cute\n@cute.jit\ndef f(): ...\ndef test_it(): f()\n"
    )
    env = {**os.environ, "PYTHONIOENCODING": "utf-8:strict"}
    command = [sys.executable, "-m", "layoutcheck", "ci", "--list"]
    done = subprocess.run(command, capture_output=True, text=True, env=env, check=False)
    assert (done.returncode, done.stdout) == (0, "-m pytest -q test_\\udcff.py  (sm_90a)\n")
