"""Sums over lanes that leave out a step or a warp, beside right ones."""

from __future__ import annotations

import pytest

from layoutcheck.dsl.trace import trace_script
from layoutcheck.provenance import check_products
from tests.lowering import SharedLowering
from tests.users import ROOT, written

pytest.importorskip("cutlass", reason="kernels are traced through the installed DSL")
SCRIPT = "tests.provenance.lanes"


def test_what_sums_over_lanes_leave_out() -> None:
    """Each kernel by itself: how many threads load in vain, or the step; nothing of right ones."""
    right, left = written(SCRIPT, "RIGHT"), written(SCRIPT, "LEFT")
    with SharedLowering(copies=False, products=check_products) as lowering:
        found = trace_script(
            "-m", [SCRIPT, *right, *left], launch=False, arch="sm_90a", cwd=str(ROOT), lowering=lowering
        )
    assert not found.failures and len(found.kernels) == len(right) + len(left)
    told = {
        report.kernel.rpartition("81_")[2]: [one for one in report.findings if one.code == "LC615"]
        for report in found.operands
    }
    assert told.keys() == left.keys()
    for name, wanted in left.items():
        (one,) = told[name]
        step, seen = one.evidence["step"], (one.evidence["count"], *one.evidence["threads"])
        assert one.severity == "note" and wanted == (step or seen), name
