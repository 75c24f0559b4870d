"""The last fix of `explain`: a way into the tile as it lies, where no other that leaves it is as quick."""

from __future__ import annotations

import layoutcheck as lc
from layoutcheck.judge import judge
from layoutcheck.synthesis.optimum import STRATEGY
from tests.fixes.replay import made_by

TILE = {"dtype": "bf16", "dst_space": "smem", "thr": "(16,8):(8,1)", "val": "(1,8)"}


def test_blocks_turned_in_registers_are_proposed_last_and_proved_as_other_fixes() -> None:
    report = lc.check("(64,64):(64,1)", "(64,64):(1,72)", "cp.async", bits=128, **TILE)  # type: ignore[arg-type]
    last = report.fixes[-1]
    assert (report.verdict, last.strategy, last.confirmed_by) == ("rejected", STRATEGY, ("model",))
    assert [copy.op for copy in last.copies] == ["copy", "basic_copy", "copy"]
    # 64 threads take 8 x 8 elements each, 16 bytes an access on both sides: 8 loads and 8 stores.
    assert [last.copies[n].needed_atom.instruction_bits for n in (0, -1)] == [128, 128]
    assert (last.predicted["instructions_per_thread"], last.predicted["threads"]) == (16, 64)
    for copy in last.copies:
        assert judge(copy).verdict in ("legal", "slow")
    keep = [f for f in report.fixes[:-1] if f.strategy in ("narrow-copy", "stage-through-registers")]
    assert keep and all(last.predicted["cycles"] < fix.predicted["cycles"] for fix in keep)
    made = made_by(report.copy, last.code)
    assert [(one.atom, one.src, one.dst) for one in made] == [(c.atom, c.src, c.dst) for c in last.copies]


def test_where_another_fix_that_leaves_the_tile_is_as_quick_there_is_none() -> None:
    narrow = lc.check("(64,64):(64,1)", "(64,64):(64,1)", "cp.async", bits=32, **TILE)  # type: ignore[arg-type]
    assert narrow.verdict == "slow" and narrow.fixes
    assert [fix.strategy for fix in narrow.fixes if fix.strategy == STRATEGY] == []
    right = lc.check("(64,64):(64,1)", "(64,64):(64,1)", "cp.async", bits=128, **TILE)  # type: ignore[arg-type]
    assert right.fixes == ()
