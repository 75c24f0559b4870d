"""Races for some data, branches by shared memory, loops without a count: the kernels of on_data.py."""

from __future__ import annotations

import pytest

from layoutcheck.dsl.trace import trace_script
from layoutcheck.order import check_module
from tests.lowering import SharedLowering

pytest.importorskip("cutlass", reason="kernels are traced through the installed DSL")
# of each kernel: its accesses and synchronisations if right, and the races without a barrier
TOLD = {"unrolled": (38, 1), "halved": (38, 1), "counted": (38, 1), "sorted_pairs": (115, 2), "both": (0, 1),
        "roles": (47, 1), "table": (44, 1), "chosen": (6, 1)}  # fmt: skip
SURE = ("roles", "table", "chosen")  # what their branches go by is known, or one for a warp


def test_stores_that_may_happen() -> None:
    """A tree in each kind of loop: as many accesses, and silent with a barrier between levels."""
    names = [*TOLD, "bounded", "shared_value", "begun", "groups"]
    with SharedLowering(copies=False, order=check_module) as lowering:
        trace = trace_script(
            "-m",
            ["tests.order.on_data", *names],
            launch=False,
            arch="sm_90a",
            timeout_s=200,
            lowering=lowering,
        )
    assert not trace.failures
    orders = iter(trace.orders)
    for name in names[:-1]:
        right = next(orders)
        assert right.problem == "" and not right.findings, name
        assert not any("persistent loop" in why for why in right.unchecked)
        events, races = TOLD.get(name, (0, 0))
        assert not events or right.events == events, name
        found = next(orders).findings if races else ()
        level = "wrong" if name in SURE else "note"
        assert [(one.code, one.severity) for one in found] == [("LC504", level)] * races, name
        for one in found if name not in SURE else ():
            stored = next(place.where.line for place in one.places if place.what == "writes")
            assert f"They race if the condition of on_data.py:{stored} holds." in one.message
    said = "who meets at barrier {}: what warps load says which of them take part"
    right, wrong = orders
    assert not right.findings and [said.format(n) in right.unchecked for n in (2, 3)] == [True, True]
    assert {one.code for one in wrong.findings} == {"LC509"} and not any(
        "who meets" in x for x in wrong.unchecked
    )
