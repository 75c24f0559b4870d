"""Acting on a module when it is imported."""

from __future__ import annotations

import gc
import sys
from pathlib import Path
from types import ModuleType

import pytest

from layoutcheck.dsl.imports import uncollected, when_imported


@pytest.mark.parametrize("enabled", [True, False])
def test_no_garbage_is_collected_while_a_module_is_executed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, enabled: bool
) -> None:
    (tmp_path / "heavy_of_test.py").write_text(
        "import gc\nwithin = gc.isenabled()\nmade = [[] for _ in range(999)]\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    seen: list[tuple[ModuleType, bool]] = []
    off = when_imported("heavy_of_test", lambda module: seen.append((module, gc.isenabled())), uncollected)
    before = gc.isenabled()
    (gc.enable if enabled else gc.disable)()
    try:
        import heavy_of_test  # type: ignore[import-not-found]

        # what the module made is old, and what stands frozen as it was
        young = gc.get_objects(generation=0) + gc.get_objects(generation=1)
        assert gc.get_freeze_count() or not any(one is heavy_of_test.made[5] for one in young)
    finally:
        (gc.enable if before else gc.disable)()
        off()
        sys.modules.pop("heavy_of_test", None)
    assert seen == [(heavy_of_test, enabled)] and heavy_of_test.within is False
