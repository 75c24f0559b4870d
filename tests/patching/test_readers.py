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
    """#2320: in the writer's order the one who reads the tile by rows would not work as it does.

    A second reader is known by one thread's view alone, and that is said.
    """
    monkeypatch.chdir(tmp_path)
    script = tmp_path / "kernel.py"
    more = """    row = cute.make_rmem_tensor(cute.make_layout((64,)), cutlass.BFloat16)
    cute.autovec_copy(tile[tid % 128, None], row)
    target[0] = row[0]
"""
    script.write_text(COPIED.replace("\n\n@cute.jit", more + "\n\n@cute.jit", 1))
    [report] = [r for _, r in traced(Script(str(script), launch=False), order=False).reports if r and r.fixes]
    fixes = {fix.strategy: fix for fix in report.fixes}
    match = fixes["match-layout"]
    order = list(fixes)
    assert order.index("match-layout") > order.index("stage-through-registers")
    assert match.predicted["cycles"] < fixes["stage-through-registers"].predicted["cycles"]
    refused = "the tile's other copies are refused or wrong"
    unknown = "another copy of the tile: time not known, as only one thread's view is"
    assert match.note.endswith(f"{refused}; {unknown}")
    assert "other copies" not in fixes["stage-through-registers"].note
