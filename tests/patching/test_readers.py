"""Plain `trace`: fixes ranked with the time of who else uses the tile."""

from __future__ import annotations

from pathlib import Path

import pytest

from layoutcheck.tracing import Script, traced
from tests.patching.reported import COPIED

pytest.importorskip("cutlass", reason="the CuTe DSL is not installed")


def test_a_tile_that_suits_its_writer_alone_is_not_the_best_fix(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """#2320: in the writer's order the one who reads the tile by rows would not work as it does."""
    monkeypatch.chdir(tmp_path)
    script = tmp_path / "kernel.py"
    script.write_text(COPIED)
    [report] = [r for _, r in traced(Script(str(script), launch=False), order=False).reports if r and r.fixes]
    fixes = {fix.strategy: fix for fix in report.fixes}
    match = fixes["match-layout"]
    order = list(fixes)
    assert order.index("match-layout") > order.index("stage-through-registers")
    assert match.predicted["cycles"] < fixes["stage-through-registers"].predicted["cycles"]
    assert match.note.endswith("the tile's other copies are refused or wrong")
    assert "other copies" not in fixes["stage-through-registers"].note
