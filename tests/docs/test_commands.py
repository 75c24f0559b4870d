"""Every command of a `sh` block is run as it stands, or the reason why it is not is here.

`console` blocks show their output and are run by docs/generate.py. Here a reader who types what he sees
gets an answer: no command of ours ends in a complaint about its own words.
"""

from __future__ import annotations

import io
import re
import shlex
import sys
from pathlib import Path

import pytest

from layoutcheck.cli import run
from tests.docs.test_site import DOCS, DSL, ROOT, titled
from tests.lint.test_ci import KERNEL

_BLOCK = re.compile(r"^ *```sh\n(.*?)^ *```$", re.DOTALL | re.MULTILINE)
_PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.rglob("*.md"))]

# What a line begins with -> why no test here runs it.
NOT_RUN = {
    "python3 -m venv": "makes an environment from the network; the first of README's is CI's own first step",
    ".venv/bin/": "of that environment",
    "pip install": "of the network",
    "git clone": "of the network; docs/evidence/public_code.json has what the trace after it found",
    "layoutcheck trace --no-launch --arch": "of such a clone",
    "PYTHONPATH=torch-ext layoutcheck trace": "of such a clone",
    "python -m": "a run of this repository's own, of minutes to hours; its result is in docs/evidence",
    "PYTHONPATH=. .venv/bin/python docs/generate.py": "the pages are held against it elsewhere",
    "ncu ": "a GPU's counters; its result is in docs/evidence",
    "layoutcheck confirm --order": "needs a GPU",
}
PROGRAMS = ("trace", "confirm", "ci")  # they build kernels, which takes seconds: in the sweep

# What ends otherwise than with 0, and what it then says.
ENDS = {
    "layoutcheck init": (2, "nothing is written without an answer"),  # there is no terminal
    "layoutcheck ci": (2, "this would run"),
    "layoutcheck explain -": (1, "rejected[LC102]"),
    "layoutcheck explain --case issue-2320": (1, "rejected[LC102]"),
    "layoutcheck explain --case issue-2320 --format html --output report.html": (1, ""),
    "layoutcheck explain --case issue-2320 --format svg --output report.svg": (1, ""),
    "layoutcheck explain '(128,64)": (1, "rejected[LC102]"),
    "layoutcheck explain --mma": (1, "wrong"),
    "layoutcheck check --jsonl": (1, '"subject": "load B"'),
    "layoutcheck trace --no-launch load.py": (1, "rejected[LC102]"),
    "layoutcheck trace --no-launch --fix --diff load.py": (0, "+    sB_layout ="),
    "layoutcheck trace --no-launch --fix load.py": (0, "fixed: load.py:20"),
    "layoutcheck lint src": (1, "LC263"),
    "layoutcheck canonical": (1, "Not a canonical"),
}


def blocks() -> list[tuple[str, list[str]]]:
    """The commands of each block without their comments, and its page."""
    found = []
    for page in _PAGES:
        for block in _BLOCK.findall(page.read_text(encoding="utf-8")):
            lines = (shlex.join(shlex.split(line, comments=True)) for line in block.splitlines())
            found.append((page.relative_to(ROOT).as_posix(), [line for line in lines if line]))
    return found


def _reason(line: str) -> str | None:
    return next((why for begins, why in NOT_RUN.items() if line.startswith(begins)), None)


def _to_run(programs: bool) -> list[list[str]]:
    """The commands that are run, by block: those that build kernels, or the others."""
    lines = (
        [each for each in block if _reason(each) is None and (each.split()[1] in PROGRAMS) == programs]
        for _, block in blocks()
    )
    return [each for each in lines if each]


def test_every_command_is_run_or_has_a_reason() -> None:
    every = [(page, line) for page, block in blocks() for line in block]
    ours = [line for programs in (False, True) for block in _to_run(programs) for line in block]
    assert len(every) > 90 and len(ours) > 25
    assert [each for each in every if each[1].split()[0] != "layoutcheck" and _reason(each[1]) is None] == []
    assert [begins for begins in NOT_RUN if not any(line.startswith(begins) for _, line in every)] == []
    assert [begins for begins in ENDS if not any(line.startswith(begins) for line in ours)] == []


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The files that the pages speak of: shown by them, or a kernel in one of their names."""
    shown = titled("lint.md")["kernel.py"]
    program = KERNEL + "if __name__ == '__main__':\n    build(16)\n"
    for name, text in {
        "load.py": titled("first-error.md")["load.py"],
        "copies.jsonl": titled("guides/ci.md")["copies.jsonl"],
        "src/kernel.py": shown,
        "script.py": program,
        "kernel.py": program,
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("block", _to_run(programs=False), ids=lambda block: block[0])
def test_a_reader_who_types_it_gets_an_answer(
    folder: Path, block: list[str], monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    for line in block:
        pasted = io.BytesIO(titled("first-error.md")["error.txt"].encode())
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(pasted, encoding="utf-8"))
        words = shlex.split(line)[1:]
        named = [begins for begins in ENDS if line.startswith(begins)]
        status, said = ENDS[max(named, key=len)] if named else (0, "")
        assert run(words) == status, line
        out, err = capfd.readouterr()
        assert said in out + err, line
        assert status == 2 or "error:" not in err
        for flag in ("--output", "--write-baseline"):
            if flag in words:
                assert (folder / words[words.index(flag) + 1]).stat().st_size > 100


@pytest.mark.sweep
@pytest.mark.skipif(not DSL, reason="needs nvidia-cutlass-dsl")
@pytest.mark.parametrize("block", _to_run(programs=True), ids=lambda block: block[0])
def test_a_reader_who_types_it_gets_an_answer_from_the_dsl(
    folder: Path, block: list[str], monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    test_a_reader_who_types_it_gets_an_answer(folder, block, monkeypatch, capfd)
