"""An option that a message names is one of the command that says it, or of a command named before it."""

from __future__ import annotations

import ast
import random
import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

import layoutcheck
from layoutcheck.cli import app, run

ROOT = Path(layoutcheck.__file__).parent
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z0-9-]*")
PHRASE = re.compile(r"\blayoutcheck ((?:numerics )?[a-z]+)\b((?:(?!layoutcheck|[`;|\n]| and ).)*)")
# Whose options a message of these modules may name: the command's that reaches them.
ROOMS = {
    "sources": ("explain",), "synthesis": ("synth",), "linting.py": ("lint", "ci"), "lint": ("lint", "ci"),
    "gate.py": ("lint", "ci"), "tracing.py": ("trace",), "dsl": ("trace",), "patching": ("trace",),
    "confirming.py": ("confirm",), "gpu": ("confirm",),
}  # fmt: skip


@cache
def options() -> dict[str, frozenset[str]]:
    """The options of each command, by its name as it is typed."""
    found = {}
    todo: list[tuple[str, Any]] = [("", get_command(app()))]
    while todo:
        name, command = todo.pop()
        flags = {flag for one in command.params for flag in (*one.opts, *one.secondary_opts)}
        found[name] = frozenset(flags | {"--help"})
        for inner, made in getattr(command, "commands", {}).items():
            todo.append((f"{name} {inner}".strip(), made))
    return found


@cache
def texts() -> list[tuple[str, int, str, bool]]:
    """Every string of the package, and line of its tables: file, line, and whether an InputError says it."""
    found = []
    for file in sorted(ROOT.rglob("*.py")):
        source = file.read_text(encoding="utf-8")
        if "--" not in source:
            continue
        tree = ast.parse(source)
        raised = set()
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "InputError":
                raised |= {id(one) for one in ast.walk(node)}
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and "--" in node.value:
                name = file.relative_to(ROOT).as_posix()
                found.append((name, node.lineno, node.value, id(node) in raised))
    for file in sorted((ROOT / "catalogue").rglob("*.txt")):
        for line, text in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
            found.append((file.relative_to(ROOT).as_posix(), line, text, False))
    return found


def foreign(command: str, message: str) -> list[str]:
    """Options in a message of a command that are neither its own nor of the command named before them."""
    found = [message[: hit.start()] for hit in PHRASE.finditer(message)]
    ours = message if not found else found[0]
    return [flag for flag in OPTION.findall(ours) if flag not in options()[command]]


def test_a_command_line_in_a_text_has_options_that_the_command_has() -> None:
    seen = 0
    for file, line, text, _ in texts():
        for name, words in PHRASE.findall(text):
            if name.split()[0] not in {one.split()[0] for one in options() if one}:
                continue  # "layoutcheck reads ..."
            command = name if name in options() else name.split()[0]
            for flag in OPTION.findall(words):
                seen += 1
                assert flag in options()[command], f"{file}:{line}: layoutcheck {command} has no {flag}"
    assert seen > 50


def test_the_documents_name_options_that_exist() -> None:
    seen = 0
    folder = ROOT.parent
    for file in (*folder.glob("*.md"), *(folder / "docs").rglob("*.md"), folder / "action.yml"):
        if file.name in ("CHANGELOG.md", "errors.md"):  # of other versions; tables that are read above
            continue
        for name, words in PHRASE.findall(file.read_text(encoding="utf-8").replace("\\\n", " ")):
            if name.split()[0] not in {one.split()[0] for one in options() if one}:
                continue
            command = name if name in options() else name.split()[0]
            if not options()[command] - {"--help"}:
                continue  # a group of commands
            ours = words.partition(" #")[0].partition(".py ")[0]  # what follows is the program's
            for flag in OPTION.findall(ours):
                seen += 1
                assert flag in options()[command], f"{file.name}: layoutcheck {command} has no {flag}"
    assert seen > 100


def test_an_error_names_options_of_the_commands_that_raise_it() -> None:
    seen = 0
    for file, line, text, raised in texts():
        room, _, name = file.partition("/")
        commands = (name.removesuffix(".py"),) if room == "cli" else ROOMS.get(room, ())
        if not raised or not (set(commands) & set(options())):
            continue
        own = frozenset().union(
            *(flags for one, flags in options().items() if one.partition(" ")[0] in commands)
        )
        for flag in OPTION.findall(PHRASE.sub("", text)):
            seen += 1
            assert flag in own or "pytest" in text, f"{file}:{line}: {' or '.join(commands)} has no {flag}"
    assert seen > 50


LAYOUT, GLOBAL = "(128,64):(64,1)", "gmem (?{div=8},?):(1,?{div=8})"
LINES = {
    "explain": (LAYOUT, LAYOUT, "--atom", "cp.async", "--bits", "128", "--dtype", "bf16"),
    "draw": ("(8,8):(8,1)", "--thr", "(4,2):(2,1)", "--val", "(2,4)"),
    "banks": ("(64,64):(64,1)", "--access", "ldmatrix.x4"),
    "canonical": ("(64,128):(128,1)", "--dtype", "f16"),
    "synth": ("--tile", "(128,64)", "--src", GLOBAL, "--to", "ldmatrix.trans"),
}
WRITING = {"--help", "--output", "--compiler", "--compiled", "--reproducer"}
VALUES = (
    "S<3,4,3> o 0 o (128,64):(64,1)", GLOBAL, "(8:1", "4", "x",
    '!cute.coord_tensor<"(0,0)", "(64,64):(1@0,1@1)">',
    "tma_load", "smem (64,64):(64,1)", "(4,2):(1)", "sm_80", "-1", "S<9,9,1>", "gmem",
    "registers", "json", "",
)  # fmt: skip


def lines() -> list[tuple[str, list[str]]]:
    """Command lines with one word that is changed or added; most of them are wrong."""
    made = []
    for command, words in LINES.items():
        for value in VALUES:
            made += [(command, [*words[:at], value, *words[at + 1 :]]) for at in range(len(words))]
            flags = sorted(flag for flag in options()[command] - WRITING if flag.startswith("--"))
            made += [(command, [*words, flag, value]) for flag in flags]
    return made


def said(command: str, words: list[str], capsys: pytest.CaptureFixture[str]) -> int:
    """Try a line: its status; what it complains of has the options of the command."""
    status = run([command, *words])
    error = capsys.readouterr().err
    assert status in (0, 1, 2) and (status == 2) == error.startswith("error: "), (command, words)
    assert not foreign(command, error), (command, words, error)
    return status


def test_wrong_lines_are_answered_with_options_that_exist(capsys: pytest.CaptureFixture[str]) -> None:
    composed = ["--tile", "(128,64)", "--src", VALUES[0], "--to", "ldmatrix.trans"]
    assert said("synth", composed, capsys) == 2
    drawn = random.Random(1).sample(lines(), 24)
    assert sum(said(command, words, capsys) == 2 for command, words in drawn) > 12


@pytest.mark.sweep
def test_all_wrong_lines_are_answered_with_options_that_exist(capsys: pytest.CaptureFixture[str]) -> None:
    for command, words in lines():
        said(command, words, capsys)
