"""What a script of a repository gets beside its own: the values that its parser names, packages in `src`."""

from __future__ import annotations

import argparse
import subprocess
from pathlib import Path

import pytest

from layoutcheck.dsl.choices import first_choices
from layoutcheck.dsl.trace import trace_script


@pytest.mark.parametrize(
    ("arguments", "given"),
    [
        ([("mode", {"choices": ["debug", "speed"]}), ("--size", {"type": int})], ["debug"]),
        ([("--mode", {"choices": (8, 16), "required": True})], ["--mode", "8"]),
        ([("mode", {"choices": ["debug"]}), ("size", {"type": int})], []),
        ([("mode", {"choices": ["debug", "speed"]}), ("m", {"default": 4096})], ["debug", "4096"]),
        ([("--mode", {"choices": [8, 16], "required": True, "default": 16})], ["--mode", "16"]),
        ([("m", {"default": argparse.SUPPRESS})], []),
        ([("mode", {"choices": ["debug"], "nargs": "+"})], []),
        ([("mode", {"choices": ["debug"], "nargs": "?"})], []),
        ([("--mode", {"choices": ["debug"]})], []),
    ],
)
def test_the_first_choice_is_given(arguments: list[tuple[str, dict[str, object]]], given: list[str]) -> None:
    parser = argparse.ArgumentParser()
    for name, options in arguments:
        parser.add_argument(name, **options)  # type: ignore[arg-type]
    assert first_choices(parser) == given


def test_a_subcommand_is_not_made_up() -> None:
    parser = argparse.ArgumentParser()
    parser.add_subparsers(required=True).add_parser("run")
    assert first_choices(parser) == []


SCRIPT = """\
import argparse
parser = argparse.ArgumentParser()
parser.add_argument("mode", choices=["debug", "speed"])
mode = parser.parse_args().mode
open("mode", "w").write(mode)
"""


@pytest.mark.parametrize(("words", "mode"), [([], "debug"), (["speed"], "speed")])
def test_a_script_of_a_repository_gets_it(tmp_path: Path, words: list[str], mode: str) -> None:
    """Where it was called with arguments, they are its own."""
    (tmp_path / "s.py").write_text(SCRIPT)
    found = trace_script(
        "s.py", words, launch=False, cwd=str(tmp_path), output=subprocess.DEVNULL, timeout_s=60, spread=True
    )
    assert (tmp_path / "mode").read_text() == mode and not found.failures
    told = [
        note
        for note in found.notes
        if note == "run with the default or first choice of each argument: s.py debug"
    ]
    assert len(told) == (not words)
    (tmp_path / "mode").unlink()
    left = trace_script(
        "s.py", words, launch=False, cwd=str(tmp_path), output=subprocess.DEVNULL, timeout_s=60
    )
    assert (tmp_path / "mode").exists() is bool(words) and bool(left.failures) is not bool(words)


@pytest.mark.parametrize("safe", ["", "1"])
def test_packages_that_are_not_installed_are_found_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, safe: str
) -> None:
    """In `src`, `python`, the root and the file's project, behind all else: what is installed stays so."""
    monkeypatch.setenv("PYTHONSAFEPATH", safe)
    for folder, name in (
        ("src", "here"),
        ("python", "there"),
        ("src", "pytest"),
        (".", "near"),
        (".", "pytest"),
    ):
        (tmp_path / folder).mkdir(exist_ok=True)
        (tmp_path / folder / f"{name}.py").write_text("assert __name__ != 'pytest'\n")
    (tmp_path / "near.py").write_text("")
    (tmp_path / "deep" / "tests").mkdir(parents=True)
    for name in ("pytest.ini", "own.py"):  # a project of its own
        (tmp_path / "deep" / name).touch()
    text = "import pytest, here, there\npytest.raises\nimport near, own\n"
    (tmp_path / "deep" / "tests" / "s.py").write_text(text)
    found = trace_script(
        "deep/tests/s.py", launch=False, cwd=str(tmp_path), output=subprocess.DEVNULL, timeout_s=60,
        spread=True,
    )  # fmt: skip
    assert [one.message for one in found.failures] == (
        ["ModuleNotFoundError: No module named 'near'"] if safe else []
    )
