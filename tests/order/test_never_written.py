"""LC525: reads of shared memory that nothing writes, told in `unfilled.py` and not in its right twins."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from layoutcheck.dsl.lowered.machine import Launch
from layoutcheck.dsl.trace import trace_script
from layoutcheck.order import check_module
from layoutcheck.order.meaning import Meaning
from layoutcheck.order.stored_early import _early
from layoutcheck.order.watched import Event, Watched
from layoutcheck.sources.traced import OrderReport
from tests.lowering import SharedLowering

pytest.importorskip("cutlass", reason="kernels are traced through the installed DSL")

SCRIPT = Path(__file__).with_name("unfilled.py")
LINES = SCRIPT.read_text().splitlines()
# What is read there: the first byte, that of thread 0, and the bytes that the operation reads at once.
TOLD = {
    "conditional_1": ((508, 512), 512),
    "parts_1": ((512, 516), 512),
    "counted_1": ((0, 4), 512),
    "members_1": ((512, 516), 512),
    "turns_1": ((2560, 2564), 512),
    "scattered_1": ((512, 516), 512),
    "copied_1": ((0, 16), 2048),
    "peers_1": ((0, 4), 512),
    "buffers_1": ((512, 1024), 512),
}
SILENT = (
    "conditional_2",
    "parts_2",
    "counted_2",
    "counted_3",
    "parts_3",
    "members_2",
    "turns_2",
    "turns_3",
    "scattered_2",
    "copied_2",
    "peers_2",
    "buffers_2",
)


@pytest.fixture(scope="module")
def orders() -> dict[str, OrderReport]:
    with SharedLowering(copies=False, order=check_module) as lowering:
        trace = trace_script(str(SCRIPT), [], launch=False, arch="sm_90a", timeout_s=300, lowering=lowering)
    assert trace.failures == ()
    named = {re.search(r"function(\w+_\d)$", one.kernel): one for one in trace.orders}
    return {match[1].split("at_")[0] + match[1][-2:]: one for match, one in named.items() if match}


def test_all_variants_are_followed(orders: dict[str, OrderReport]) -> None:
    assert orders.keys() == {*TOLD, *SILENT}
    assert all(one.problem == "" and one.events > 0 for one in orders.values())


@pytest.mark.parametrize("name", TOLD)
def test_reads_of_what_nothing_writes_are_told(orders: dict[str, OrderReport], name: str) -> None:
    (found,) = (one for one in orders[name].findings if one.code == "LC525")
    (place,) = found.places
    assert found.severity == "note" and place.thread == 0
    assert LINES[place.where.line - 1].endswith("  # read")
    assert (tuple(found.evidence["shared_bytes"]), found.evidence["bytes"]) == TOLD[name]
    nothing = (
        "Nothing has written any of these" if name == "buffers_1" else "Nothing in the kernel writes them"
    )
    assert nothing in found.message
    assert ("Atomic operations" in found.message) is (name == "counted_1")


@pytest.mark.parametrize("name", SILENT)
def test_right_twins_are_silent(orders: dict[str, OrderReport], name: str) -> None:
    assert not [one for one in orders[name].findings if one.code == "LC525"]


def test_a_store_of_a_box_that_is_partly_written_is_silent() -> None:
    """Its other rows may be beyond the end of the tensor, and written in a later turn."""
    store, write = (
        Event(Meaning(kind, [], "smem", size=size, facts={}), (np.full(32, at),), None, (), False, False)
        for kind, size, at in (("bulk_store", 64, 0), ("write", 4, 60))
    )
    block, every = Watched(Launch((32, 1, 1), (1, 1, 1))), np.arange(32)
    assert [one[2:] for one in _early(block, [(store, every), (write, every)], {})] == [(0, 64)]
    assert not list(_early(block, [(write, every), (store, every)], {}))
    write.guarded = True
    assert not list(_early(block, [(write, every), (store, every)], {}))
