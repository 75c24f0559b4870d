"""What a trace says of an exception that left the program."""

from __future__ import annotations

from pathlib import Path

import pytest

from layoutcheck.reports.trace import meaning
from layoutcheck.sources.traced import Frame, TraceFailure

TORCH = "ModuleNotFoundError: No module named 'torch'"


@pytest.mark.parametrize(
    ("message", "said"),
    [
        (TORCH, "Install 'torch' in the environment that layoutcheck runs in."),
        ("ValueError: a shape of the program's own", ""),
    ],
)
def test_a_module_that_is_not_there_is_told_with_what_helps(message: str, said: str, tmp_path: Path) -> None:
    assert meaning(TraceFailure("raised", message, Frame(str(tmp_path / "k.py"), 1))) == said
    assert meaning(TraceFailure("exited", message)) == ""


def test_a_module_of_the_repository_is_installed_or_put_on_the_path(tmp_path: Path) -> None:
    (tmp_path / "torch").mkdir()
    failure = TraceFailure("raised", TORCH, Frame(str(tmp_path / "examples" / "k.py"), 1))
    assert meaning(failure).endswith("put that folder into PYTHONPATH.")
