"""Small programs with one planted fault each: what the repair writes, and that nothing is left to repair."""

from __future__ import annotations

from pathlib import Path

import pytest

from layoutcheck.patching import conflicts
from layoutcheck.tracing import Script, repaired
from tests.patching.faults import FAULTS

DEFAULT = ("el shift", "red conflict")


@pytest.mark.parametrize(
    "name", [one if one in DEFAULT else pytest.param(one, marks=pytest.mark.sweep) for one in FAULTS]
)
def test_the_fault_is_repaired_in_the_programs_words(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("cutlass", reason="the CuTe DSL is not installed")
    monkeypatch.chdir(tmp_path)
    text, wanted = FAULTS[name]
    script = tmp_path / "kernel.py"
    script.write_text(text)
    found = repaired(Script(str(script), launch=False, arch="sm_90a"))
    added = [line for line in found.diff().splitlines() if line[:1] == "+" and line[:3] != "+++"]
    assert not found.unseen and not found.uncompiled
    if not wanted:
        assert added == [] and found.sketches
        return
    assert any(wanted in line for line in added) and not found.sketches
    script.write_text(found.after[str(script)])
    again = repaired(Script(str(script), launch=False, arch="sm_90a"))
    assert again.sketches == []
    quicker = (conflicts.VERDICT, conflicts.FEWER)  # what only makes it quicker is a patch of its own
    assert all(one.verdict in quicker for one in again.repairs)
