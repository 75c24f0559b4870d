"""How many processes "one a processor" is: as many as this process may run on, by every command."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import layoutcheck
from layoutcheck.processors import processors


def test_one_a_processor_counts_those_that_this_process_may_use(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 64)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {3, 5, 9}, raising=False)
    assert processors() == 3
    monkeypatch.delattr(os, "sched_getaffinity")  # as on macOS
    assert processors() == 64
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert processors() == 1


def test_nothing_else_counts_them() -> None:
    root = Path(layoutcheck.__file__).parent
    counting = [
        file.relative_to(root).as_posix()
        for file in root.rglob("*.py")
        if {"cpu_count", "sched_getaffinity"}
        & set(file.read_text(encoding="utf-8").replace("(", " ").replace(".", " ").split())
    ]
    assert counting == ["processors.py"]
