"""The callers of a place, without those that say nothing more."""

from __future__ import annotations

from pathlib import Path

import pytest

from layoutcheck.sources.callers import callers
from layoutcheck.sources.traced import Frame

SITE = "/v/lib/python3.12/site-packages"
HOST = Frame("/r/kernel.py", 26, function="host")
TEST = Frame("/r/tests/test_kernel.py", 11, function="test_it")
PYTEST = Frame(f"{SITE}/_pytest/python.py", 187, function="call")
RUNPY = Frame("/usr/lib/python3.12/runpy.py", 88, function="_run_code")
LIBRARY = Frame(f"{SITE}/quack/rmsnorm.py", 60, function="host")


@pytest.mark.parametrize(
    ("stack", "shown"),
    [
        ((HOST, TEST, PYTEST, RUNPY), ["kernel.py:26", "tests/test_kernel.py:11"]),
        ((LIBRARY, TEST, PYTEST), [f"{SITE}/quack/rmsnorm.py:60", "tests/test_kernel.py:11"]),
        ((LIBRARY, PYTEST), [f"{SITE}/quack/rmsnorm.py:60", f"{SITE}/_pytest/python.py:187"]),
        ((HOST, HOST), ["kernel.py:26"]),
        ((), []),
    ],
)
def test_what_ran_the_program_is_left_out(
    stack: tuple[Frame, ...], shown: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.getcwd", lambda: "/r")
    assert callers(stack) == shown


def test_a_line_of_a_test_has_no_callers() -> None:
    """What ran the test is no more the user's than where it is called from a helper."""
    assert callers((PYTEST, RUNPY), TEST) == []
    assert callers((PYTEST,), LIBRARY) == [f"{SITE}/_pytest/python.py:187"]


def test_a_loops_body_is_its_functions(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    where = Frame(str(tmp_path / "k.py"), 9, function="kernel.loop_body_0")
    stack = (Frame(where.file, 8, function="kernel"), Frame(where.file, 20, function="host"))
    assert callers(stack, where) == ["k.py:20"]
    assert callers(stack) == ["k.py:8", "k.py:20"]
