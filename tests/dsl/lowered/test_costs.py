"""Lines of source and what they cost in shared memory, from a lowered kernel with a known conflict."""

from __future__ import annotations

import json

from layoutcheck.dsl.lowered import read
from layoutcheck.dsl.lowered.costs import LineCost, line_costs, merged
from layoutcheck.reports.lowered_banks import bank_table
from layoutcheck.sources.traced import Frame
from tests.dsl.lowered.test_evaluate import binary, kernel, load

PLACES = {"cute.copy#0": [Frame("a.py", 7)], "cute.memref.load#0": [Frame("b.py", 9), Frame("caller.py", 1)]}
# Thread t loads element 4 t (4 ways), then element t (none): two warps.
LOWERED = kernel(binary("%i", "muli", "%tid", "%c4") + load("%i") + load("%tid", "cute.memref.load#0", "%y"))


def billed() -> list[LineCost]:
    return line_costs(read(LOWERED), "sm_90a", PLACES.__getitem__)


def test_a_line_is_billed_for_its_conflicts() -> None:
    slow, fast = billed()
    assert (slow.where.file, slow.where.line, slow.side.op, slow.side.width_bits) == (
        "a.py",
        7,
        "ld.shared",
        32,
    )
    assert (slow.side.instructions, slow.side.wavefronts, slow.side.ideal_wavefronts, slow.side.ways) == (
        2,
        8,
        2,
        4,
    )
    assert (slow.extra_wavefronts, slow.kind, slow.count) == (6, "static", 1)
    assert slow.side.addresses[slow.side.worst].tolist() == [16 * lane for lane in range(32)]
    assert (fast.where.file, fast.side.wavefronts, fast.side.ways) == ("b.py", 2, 1)


def test_the_table_shows_conflicts_first_and_counts_all() -> None:
    costs = billed()
    table = bank_table(costs)
    assert "a.py:7" in table and "b.py" not in table
    assert table.endswith("1 of 2 shared-memory accesses conflict\n")
    assert "b.py:9" in bank_table(costs, everything=True)
    rows = [json.loads(line) for line in bank_table(costs, "json").splitlines()]
    assert [(row["line"], row["ways"]) for row in rows] == [(7, 4), (9, 1)]
    assert bank_table([]) == "no shared-memory access was seen\n"


def test_equal_costs_of_a_line_are_one() -> None:
    costs = billed()
    assert [one.count for one in merged([*costs, *costs])] == [2, 2]


def test_an_operation_without_a_place_is_nowhere() -> None:
    costs = line_costs(read(LOWERED), "sm_90a", lambda _tag: ())
    assert [one.where.file for one in costs] == ["", ""]
