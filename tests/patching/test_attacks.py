"""Bugs in kernels of several kinds: the first repair is what an expert would write, and nothing else is."""

from __future__ import annotations

from pathlib import Path

import pytest

from layoutcheck.tracing import Script, repaired
from tests.patching.attacks import ATTACKS

pytest.importorskip("cutlass", reason="the CuTe DSL is not installed")


@pytest.mark.sweep
@pytest.mark.parametrize("name", ATTACKS)
def test_the_first_repair_is_an_experts(name: str, tmp_path: Path) -> None:
    text, old, new, wanted = ATTACKS[name]
    assert old in text
    script = tmp_path / "kernel.py"
    script.write_text(text.replace(old, new))
    found = repaired(Script(str(script), launch=False, arch="sm_90a"))
    added = [line for line in found.diff().splitlines() if line[:1] == "+" and line[:3] != "+++"]
    if not wanted:
        assert found.repairs == [] and added == [] and len(found.sketches) == 1
        return
    assert not found.sketches and not found.uncompiled and not found.unseen
    assert any(wanted in line for line in added), added
    if old in wanted or wanted in old:
        assert len(added) == 1, added
