"""LC526: TMA loads of boxes wholly outside of their tensor, told in `overrun.py` and not in right twins."""

from __future__ import annotations

from pathlib import Path

import pytest

from layoutcheck.dsl.lowered import argument_types
from layoutcheck.dsl.lowered.arguments import Numbers
from layoutcheck.order.boxes import outside_boxes
from layoutcheck.order.budget import Budget
from layoutcheck.order.events import kernels
from layoutcheck.sources.mlir import without_locations
from tests.order.looked import looked

pytest.importorskip("cutlass", reason="the CuTe DSL (nvidia-cutlass-dsl) is not installed")

SCRIPT = Path(__file__).with_name("overrun.py")
LINES = SCRIPT.read_text().splitlines()


def test_boxes_of_a_tile_that_all_lie_outside(tmp_path: Path) -> None:
    """Told of the second product alone, and with dynamic rows for the numbers of a call."""
    seen = looked(SCRIPT)
    assert len(seen) == 5
    assert all(report.problem == "" for _, _, report in seen)
    boxes = [[one for one in report.findings if one.code == "LC526"] for _, _, report in seen]
    assert [len(found) for found in boxes] == [0, 1, 0, 0, 0]
    (told,) = boxes[1]
    assert (told.code, told.severity) == ("LC526", "note")
    assert LINES[told.places[0].where.line - 1].endswith("# load")
    assert told.places[0].turns == (1, 0)
    assert [told.evidence[name] for name in ("coordinate", "box", "extent")] == [256, 64, 256]
    module, lowered, _ = seen[4]
    (kernel,) = kernels(lowered, argument_types(without_locations(module.text)))
    block = kernel.watch()
    assert outside_boxes(kernel, block, (None,), Budget()) == []
    (problem,) = outside_boxes(kernel, block, (Numbers(((128,),), (128,), "(128,256)"),), Budget())
    assert problem.facts == {"coordinate": 256, "box": 64, "extent": 256}
    (problem,) = outside_boxes(kernel, block, (Numbers(((64,),), (64,), "(64,256)"),), Budget())
    assert problem.first is not None and problem.first.event.turns == (1, 0)


def test_extents_that_have_to_be_equal_are_no_reason_for_a_race() -> None:
    """What the kernel is given as it is launched differs for two tensors of one extent: 512 and 1024."""
    script = SCRIPT.with_name("unequal.py")
    right, early = (report for *_, report in looked(script))
    assert right.problem == early.problem == "" and right.findings == ()
    (found,) = early.findings
    lines = script.read_text().splitlines()
    assert found.code == "LC501" and found.severity == "wrong"
    assert [lines[place.where.line - 1].rpartition("# ")[2] for place in found.places[:2]] == ["load", "read"]
