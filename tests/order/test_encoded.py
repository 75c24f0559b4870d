"""Tensor maps that the driver encodes, and loops that turn twice for large tensors only (`encoded.py`)."""

from __future__ import annotations

from pathlib import Path

import pytest

from layoutcheck.dsl.lowered import argument_types
from layoutcheck.order.events import kernels
from layoutcheck.sources.mlir import without_locations
from tests.order.looked import looked

pytest.importorskip("cutlass", reason="the CuTe DSL (nvidia-cutlass-dsl) is not installed")

SCRIPT = Path(__file__).with_name("encoded.py")
LINES = SCRIPT.read_text().splitlines()


def test_boxes_and_turns_that_the_numbers_of_a_kernel_hide() -> None:
    """Each fault is told with its lines, and nothing wrong of the right twins."""
    from tests.order.encoded import BYTES, COLUMNS, ROWS, TOLD

    seen = looked(SCRIPT)
    assert [report.problem for *_, report in seen] == [""] * len(seen)
    *_, alone = seen.pop(0)  # a function of the host, which has no accesses to order
    assert (alone.findings, alone.unchecked, alone.events) == ((), (), 0)
    wanted = [one for variants in TOLD.values() for one in (None, *variants)]
    assert len(seen) == len(wanted)
    for expected, (*_, report) in zip(wanted, seen, strict=True):
        wrong = [one for one in report.findings if one.severity == "wrong"]
        if expected is None:
            assert wrong == []
            continue
        code, *words = expected
        lines = [[LINES[p.where.line - 1] for p in f.places] for f in wrong if f.code == code]
        assert any(all(w in at for w, at in zip(words, one, strict=False)) for one in lines), (
            expected,
            wrong,
        )
    module, lowered, report = seen[0]
    assert report.trips[-1] == 15 and set(report.trips) > {1}  # as launched with 16 turns, then with others
    (kernel,) = kernels(lowered, argument_types(without_locations(module.text)))
    maps = kernel.watch().maps
    assert [(one.box, one.box_bytes, one.swizzle) for one in maps.values() if one is not None] == [
        ((COLUMNS, ROWS), BYTES, "128B")
    ] * 2
    assert "512 bytes more" not in seen[2][2].findings[0].message
    assert f"bring {COLUMNS * 2} bytes more" in seen[2][2].findings[0].message
    assert [report.blocks for *_, report in seen] == [1] * 9 + [2] * 2
    assert max(seen[5][2].trips) > 4  # a ring of two stages, although one turn takes 55,296 elements
