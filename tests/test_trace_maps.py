"""`trace --memory`, `--lines` and `--banks`: what is asked of them besides, and what they end with."""

from __future__ import annotations

from pathlib import Path

import pytest

from layoutcheck import tracing
from layoutcheck.cli import run
from layoutcheck.dsl.lowered.totals import KernelLines
from layoutcheck.order.memory_map import MemoryMap
from layoutcheck.sources.traced import Kernel, Trace, TraceFailure

KERNELS = (Kernel("k", "sm_90a", 0),)
REFUSED = (TraceFailure("k", "uncompiled", "a pass dies"),)


@pytest.mark.parametrize("option", ["--memory", "--lines"])
@pytest.mark.parametrize("more", [
    ["--all"], ["--strict"], ["--fix"], ["--diff"], ["--by", "pad-pitch"], ["--banks"], ["--no-lowered"],
    ["--no-order"], ["--advise"], ["--confirm"], ["--fail-on", "wrong"], ["--memory", "--lines"],
])  # fmt: skip
def test_what_judges_or_repairs_is_refused(
    option: str, more: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["trace", option, *more, "absent.py"]) == 2
    named = "--lines" if "--lines" in more else more[0]
    assert f"judges nothing: {named} is not used" in capsys.readouterr().err


@pytest.mark.parametrize(("option", "words", "said"), [
    ("--memory", ["--format", "html"], "--memory has no format 'html'"),
    ("--memory", ["--format", "sarif"], "--memory has no format 'sarif'"),
    ("--memory", ["--extent", "4"], "--extent is a positive number for --lines"),
    ("--lines", ["--extent", "0"], "--extent is a positive number for --lines"),
    ("--memory", ["--arch", "sm_1"], "sm_1"),
    ("--memory", ["--timeout", "x"], "timeout"),
    ("--lines", ["--format", "svg"], "--lines has no format 'svg'; expected text or json"),
    ("--banks", ["--format", "sarif"], "--banks has no format 'sarif'; expected text or json"),
])  # fmt: skip
def test_values_that_it_does_not_take(
    option: str, words: list[str], said: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    script = tmp_path / "script.py"
    script.write_text("")
    assert run(["trace", option, *words, str(script)]) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(("trace", "problem", "status"), [
    (Trace((), KERNELS), "", 0), (Trace(()), "", 2), (Trace((), KERNELS, REFUSED), "", 2),
    (Trace((), KERNELS), "the passes fail", 2),
])  # fmt: skip
def test_what_is_not_mapped_is_no_success(
    trace: Trace, problem: str, status: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    """No kernel, one that is refused, or one that cannot be lowered."""
    script = tmp_path / "script.py"
    script.write_text("")
    maps = [MemoryMap("k", "sm_90a", problem=problem)]
    rows = [KernelLines("k", "sm_90a", problem=problem)]
    monkeypatch.setattr(tracing, "memory", lambda _: (trace, maps))
    monkeypatch.setattr(tracing, "lines", lambda *_: (trace, rows))
    assert run(["trace", "--memory", str(script)]) == status
    assert run(["trace", "--lines", str(script)]) == status
    assert capsys.readouterr().err.count("not seen: ") == 2 * len(trace.failures)
