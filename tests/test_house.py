"""The house keeps its own rules: format, lint, types, the direction of imports, and the README's promises."""

from __future__ import annotations

import ast
import importlib.util
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def run(*command: str) -> None:
    done = subprocess.run([sys.executable, "-m", *command], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_ruff_finds_nothing() -> None:
    run("ruff", "check", ".")


def test_ruff_would_format_nothing() -> None:
    run("ruff", "format", "--check", ".")


def test_types_are_strict() -> None:
    run("pyrefly", "check")


def test_imports_run_downwards() -> None:
    done = subprocess.run(
        [str(Path(sys.executable).with_name("lint-imports"))], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_numbers_are_ascii_digits() -> None:
    """`\\d` and `str.isdigit` take the digits of every script, which no compiler does."""
    allowed = {"digits.py", "pytest_plugin/__init__.py"}  # the latter reads names in /dev
    tables = (ROOT / "layoutcheck" / "catalogue").rglob("*.txt")
    for file in (*(ROOT / "layoutcheck").rglob("*.py"), *tables):
        if str(file.relative_to(ROOT / "layoutcheck")) not in allowed:
            found = re.search(r"\\d|\.is(?:digit|decimal|numeric)\(\)", file.read_text(encoding="utf-8"))
            assert found is None, file


def test_modules_and_functions_are_read_in_one_sitting() -> None:
    """Modules have less than 400 lines; the statements of a function, without its docstring, less than 60."""
    long = []
    for file in (ROOT / "layoutcheck").rglob("*.py"):
        text = file.read_text(encoding="utf-8")
        long += [file.name] * (text.count("\n") >= 400)
        body = ast.parse(text).body
        methods = [one for group in body if isinstance(group, ast.ClassDef) for one in group.body]
        for node in (*body, *methods):
            if isinstance(node, ast.FunctionDef):
                begin = node.body[ast.get_docstring(node, False) is not None :] or node.body
                long += [f"{file.name}: {node.name}"] * ((node.end_lineno or 0) - begin[0].lineno >= 59)
    assert not long


def test_every_name_of_a_module_is_used() -> None:
    """By another line of the project; Python and pytest look some up, and a text may hold a test."""
    words, defined = Counter[str](), set[str]()
    for folder in ("layoutcheck", "tests", "docs", "benchmarks", "kernels"):
        for file in (ROOT / folder).rglob("*.py"):
            words.update(re.findall(r"\w+", text := file.read_text(encoding="utf-8")))
            if folder == "layoutcheck":
                defined.update(re.findall(r"\n\n\n(?:def|class) (\w+)", text))
    assert len(defined) > 1000
    looked_up = ("__", "pytest_", "test_")
    assert [one for one in sorted(defined) if words[one] < 2 and not one.startswith(looked_up)] == []


def test_importing_the_package_stays_light() -> None:
    heavy = {"cutlass", "rich", "jsonschema", "torch"}
    code = f"import layoutcheck, sys; print(*{heavy} & {{*sys.modules}})"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


@pytest.mark.parametrize(
    ("used", "unused"),
    [("layoutcheck.tracing", "layoutcheck.catalogue"), ("layoutcheck.synthesis.request", "numpy")],
)
def test_what_a_command_does_not_use_is_not_imported(used: str, unused: str) -> None:
    """A trace without an error knows of no error texts; `--help` knows of no plans."""
    code = f"import {used}, sys; sys.exit({unused!r} in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT).returncode == 0


def test_what_benchmarks_and_kernels_import_of_ours_exists() -> None:
    """No other test imports them: some need a GPU."""
    missing = []
    for file in (
        file for folder in ("benchmarks", "kernels", "docs") for file in (ROOT / folder).rglob("*.py")
    ):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "layoutcheck":
                missing += [
                    f"{file.name}: {node.module}.{one.name}"
                    for one in node.names
                    if not _is_there(node.module, one.name)
                ]
    assert not missing


def _is_there(module: str | None, name: str) -> bool:
    try:
        return hasattr(importlib.import_module(str(module)), name) or bool(
            importlib.util.find_spec(f"{module}.{name}")
        )
    except ModuleNotFoundError as error:  # torch is not ours
        return not str(error.name).startswith("layoutcheck")
