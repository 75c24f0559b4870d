"""Parts of the replay alone, on events made by hand."""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from layoutcheck import order
from layoutcheck.dsl.lowered import spaces
from layoutcheck.dsl.lowered.machine import Launch
from layoutcheck.order import check_module, early, recorder
from layoutcheck.order.budget import Budget, OutOfTime
from layoutcheck.order.engine import run
from layoutcheck.order.events import kernels, line_up
from layoutcheck.order.meaning import Meaning
from layoutcheck.order.replays import Likeness, likeness
from layoutcheck.order.runs import Cluster, Run, left_over, runs
from layoutcheck.order.trips import left_out, outline, turning
from layoutcheck.order.watched import Event, Watched
from layoutcheck.sources.mlir import Operation, Value, parse
from layoutcheck.sources.traced_module import TracedModule
from tests.order.test_budget import LOOPS

LANES = np.arange(32, dtype=np.int64)
OPS = {kind: Operation(kind) for kind in ("read", "write", "again", "more", "warp_sync")}


def events(*steps: tuple[str, str, Any]) -> Watched:
    """One warp whose lanes do this, as (kind, operation, address or None)."""
    found = Watched(Launch((32, 1, 1)), shared_bytes=4096)
    for kind, op, at in steps:
        given = [] if at is None else [Value("%p", "!llvm.ptr<3>")]
        meaning = Meaning(kind, given, "smem" if given else "", 16 if given else 0, op=OPS[op])
        values = () if at is None else (at,)
        found.events.append(Event(meaning, values, None, (), False, False, len(found.events)))
    return found


@pytest.mark.parametrize("meet", [True, False])
def test_lanes_that_have_met_may_store_what_others_read_before(meet: bool) -> None:
    sync = [("warp_sync", "warp_sync", None)] if meet else []
    first = [("read", "read", 16 * LANES), ("write", "write", 1024 + 16 * LANES)]
    then = [("read", "again", 2048 + 16 * LANES), ("write", "more", 16 * (LANES ^ 1))]
    outcome = run([events(*first, *sync, *then)], {})
    assert [problem.kind for problem in outcome.problems] == ([] if meet else ["lanes"])


def test_blocks_that_do_the_same_are_alike() -> None:
    usual = [("read", "read", 16 * LANES), ("write", "write", 1024 + 16 * LANES)]
    one, same = likeness([events(*usual)]), likeness([events(*usual)])
    assert one == same == likeness([events(*((kind, op, at.copy()) for kind, op, at in usual))])
    others = [
        usual[:1], usual[::-1], [usual[0], ("write", "write", 1040 + 16 * LANES)],
        [usual[0], ("write", "more", usual[1][2])],
    ]  # fmt: skip
    found = [likeness([events(*other)]) for other in others]
    changed = events(*usual)
    for name, value in (("mask", LANES < 8), ("turns", (1,)), ("doubt", True), ("guess", True)):
        marked = replace(changed.events[0], **{name: value})
        found.append(likeness([replace(changed, events=[marked, changed.events[1]])]))
    found += [likeness([replace(changed, token=1)]), likeness([replace(changed, complete=False)])]
    assert len({one, *found}) == len(found) + 1


def test_a_run_with_other_words_and_cut_loops_tells_no_more_than_one_in_which_fewer_are_equal() -> None:
    steps = [("write", "write", 0), ("write", "more", 4), ("read", "read", 0), ("read", "again", 4)]

    def likened(*words: Any, **changed: Any) -> Likeness:
        block = events(*steps)
        block.events = [replace(e, words=(w,)) for e, w in zip(block.events, words, strict=True)]
        return likeness([replace(block, **changed)])

    usual, ended = likened(5, 6, 5, 6), {"cut": frozenset([(OPS["read"], (0,))])}
    told = [(7, 8, 7, 8), (9, 9, 9, 9), (6, 5, 6, 5), (5, 6, np.full(32, 5), 6)]
    assert all(likened(*one).told_by(usual) for one in told)
    untold = [(5, 6, 7, 6), (5, 6, LANES, 6), (None, 6, 5, 6)]
    assert not any(likened(*one).told_by(usual) for one in untold)
    assert usual.told_by(likened(9, 9, 9, 9)) and not usual.told_by(likened(5, 6, 7, 6)._replace(form=b""))
    assert likened(5, 6, 5, 6, **ended).told_by(usual) and not usual.told_by(likened(5, 6, 5, 6, **ended))


def test_global_memory_counts_for_likeness_only_where_warps_meet_there() -> None:
    def block(at: Any) -> Watched:
        found = Watched(Launch((64, 1, 1)), shared_bytes=4096)
        for kind in ("write", "read"):
            meaning = Meaning(kind, [Value("%p", "!llvm.ptr<1>")], "gmem", 4, op=OPS[kind])
            found.events.append(Event(meaning, (at,), None, (), False, False, len(found.events)))
        return found

    own = spaces.GLOBAL_STEP + 4 * np.arange(64)
    assert likeness([block(own)]) == likeness([block(own + 4096)])
    shared = own & ~128
    assert likeness([block(shared)]) != likeness([block(shared + 4096)])


INSIDE = """"builtin.module"() ({
  "scf.while"() ({
    "nvvm.barrier"() : () -> ()
    "scf.condition"() : () -> ()
  }, {
    "scf.yield"() : () -> ()
  }) : () -> ()
  "nvvm.barrier"() : () -> ()
}) : () -> ()
"""


@pytest.mark.parametrize("left", [True, False])
def test_a_warp_behind_a_loop_that_was_cut_waits_for_what_is_not_there(left: bool) -> None:
    module = parse(INSIDE)
    (loop,) = [op for op in module.walk() if op.name == "scf.while"]
    inside, outside = [op for op in module.walk() if op.name == "nvvm.barrier"]
    found = Watched(Launch((64, 1, 1)), shared_bytes=1024, cut=frozenset({(loop, ())}))

    def add(op: Operation, turns: tuple[int, ...], number: int, threads: int) -> None:
        meaning = Meaning("barrier", [Value("%n", "i32")] * 2, op=op, facts={"id": "yes", "threads": "yes"})
        mask = np.arange(64) < 32
        found.events.append(Event(meaning, (number, threads), mask, turns, False, False, len(found.events)))

    add(inside, (0,), 1, 32 if left else 64)
    if left:
        add(outside, (), 2, 64)  # nobody else comes
    outcome = run([found], {})
    assert outcome.stopped == "deadlock" and [p.kind for p in outcome.problems] == ["deadlock"]
    assert (outcome.past_cut, outcome.behind) == ((True, frozenset({0})) if left else (False, frozenset()))


def test_the_tensor_of_a_tma_copy_is_that_of_its_map() -> None:
    at = spaces.GLOBAL_STEP * 3 + 64
    meaning = Meaning("bulk_load", space="smem", facts={"tensor": "yes"})
    copy = Event(meaning, (0, 0), None, (), False, False, box=(4096, 0, 0))
    block = Watched(Launch((32, 1, 1)), maps={4096: SimpleNamespace(base=at)})  # type: ignore[dict-item]
    assert early._tensor(copy, block) == spaces.in_object("gmem", at)[0] != 0
    assert early._tensor(replace(copy, box=()), block) == 0


@pytest.mark.parametrize("waits", [True, False])
def test_kernels_in_front_are_a_chain_as_far_as_each_begins_early(waits: bool) -> None:
    first, second, third = (
        SimpleNamespace(launch=SimpleNamespace(early=early), front=[]) for early in (False, not waits, True)
    )
    line_up([first, second, third])  # type: ignore[list-item]
    assert first.front == [] and second.front == [first]
    assert third.front == ([second] if waits else [second, first])


def test_nothing_is_evaluated_behind_the_last_event(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorder, "MOST_EVENTS", 10)
    (kernel,) = kernels(LOOPS)
    block = kernel.watch()
    assert len(block.events) == 10 and not block.complete
    assert any("cut short after" in note for note in block.notes)
    (program,) = kernel.programs.values()
    assert program.machine.steps < 100  # of 17 million
    with pytest.raises(recorder.TooManyEvents):
        replace(kernel, whole=True).watch()


def test_turns_need_one_operation_of_each_outermost_loop() -> None:
    (kernel,) = kernels(LOOPS.replace("4096", "7"))
    (op,) = kernel.meanings
    found = turning(kernel, [kernel.watch()])
    assert {one: meaning.kind for one, meaning in found.items()} == {op: "turn"}
    few = replace(kernel, meanings=found).watch()
    assert max(event.turns[0] for event in few.events) == 6
    assert outline(kernel) == kernel.meanings


def test_a_kernel_that_cannot_be_followed_is_not_run_with_other_numbers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def tried(*_: object) -> None:
        pytest.fail("other numbers are of no use")

    monkeypatch.setattr(sys.modules[runs.__module__], "_with_other_numbers", tried)
    ptx = '"llvm.inline_asm"() <{asm_string = "bar.red.popc.u32 $0, 3, p;"}>'
    unknown = re.sub(r'"nvvm.barrier"\(\) <.*}>', ptx, LOOPS.replace("4096", "2"))
    report = check_module(TracedModule("", "forever", "sm_90a", {}, []), unknown, "")
    assert "'bar.red.popc.u32' is not modelled" in report.problem and report.events == 4


class Sized:
    """A kernel that does as much as the numbers that it is given say."""

    types = ("?", "i32")

    def __init__(self, turns: int) -> None:
        self.turns, self.launch = turns, Launch((32, 1, 1))

    def with_numbers(self, extent: int | None, integer: int) -> Sized:
        return Sized(integer if extent is None else extent)

    def watch(self, *_: object) -> Watched:
        found, load = Watched(self.launch), Meaning("bulk_load", op=OPS["read"])
        found.events = [Event(load, (), None, (turn,), False, False, turn) for turn in range(self.turns)]
        return found


@pytest.mark.parametrize(
    ("turns", "few", "left"),
    [
        (9, 4, []),
        (20, 4, [4]),
        (20, 30, []),
        (60, 4, [33]),
        (34, 4, [8]),
        (33, 4, [8]),
        (34, 16, [16]),
        (60, 40, [40]),
        (60, 51, [33]),
    ],
)
def test_too_many_events_are_made_fewer(
    monkeypatch: pytest.MonkeyPatch, turns: int, few: int, left: list[int]
) -> None:
    """By few integers; where there are far too many, by the longest of all runs that do less."""
    module: Any = sys.modules[runs.__module__]
    monkeypatch.setattr(module, "variations", lambda *_: iter([(1, 1), (1024, 0), (33, 33), (8, 8)]))
    for name, value in (("MANY_EVENTS", 10), ("TOO_MANY", 50 if turns == 60 else 30), ("FEW_TURNS", few)):
        monkeypatch.setattr(module, name, value)
    usual: Any = module.Cluster(Sized(turns), 0, Budget())
    blocks = usual.watch()
    shorter = module._shorter(usual, blocks)
    assert [len(run.blocks[0].events) for run in shorter] == left
    assert all(run.usual is blocks for run in shorter)


def test_numbers_are_tried_until_two_change_nothing() -> None:
    """Of runs of 9, 3, 9 and 2 events in place of 9: what may only happen to be alike does not count."""
    module: Any = sys.modules[runs.__module__]
    made = [(SimpleNamespace(blocks=[SimpleNamespace(events=[0] * n)]), iter(())) for n in (9, 3, 9, 2)]
    assert list(module._changed(iter(made), 9)) == [made[1]]


@pytest.mark.parametrize(
    ("usual", "now", "left"),
    [
        ({"read": 4, "write": 1024}, {"read": 4, "write": 768}, (1024, 768)),
        ({"read": 512, "write": 1024}, {"read": 9, "write": 1024}, (512, 9)),
        ({"read": 512, "write": 8}, {"read": 9}, (512, 9)),
        ({"read": 4}, {"read": 4, "write": 9}, None),
        ({"read": 4}, {}, (4, 0)),
    ],
)
def test_turns_that_are_left_out_are_those_of_any_loop(
    usual: dict[str, int], now: dict[str, int], left: tuple[int, int] | None
) -> None:
    """Also of one in which nothing is loaded."""

    def block(turns: dict[str, int]) -> Watched:
        found = Watched(Launch((32, 1, 1)))
        for name, many in turns.items():
            meaning = Meaning("write", op=OPS[name])
            found.events += [Event(meaning, (), None, (0, turn), False, False) for turn in range(many)]
        return found

    assert left_out([block(usual)], [block(now)]) == left


@pytest.mark.parametrize(("wrong", "late"), [(False, False), (True, False), (False, True)])
def test_what_a_shorter_run_left_out_follows_at_the_end(
    monkeypatch: pytest.MonkeyPatch, wrong: bool, late: bool
) -> None:
    """Of the usual numbers, in the blocks that were evaluated; while nothing is wrong and there is time."""
    (kernel,) = kernels(LOOPS.replace("4096", "3"))
    budget, said, taken = Budget(60), "all 512 turns of its loops: 9 are followed", list[list[Watched]]()
    whole = [kernel.watch(budget=budget)]
    short = Run([], Cluster(kernel, 0, budget), True, usual=whole, whole=kernel)

    def take(one: Run) -> None:
        taken.append(one.blocks)
        if late:
            raise OutOfTime

    monkeypatch.setattr(order, "tensor_memory", lambda *_: [])
    replays: Any = SimpleNamespace(
        wrong=wrong, budget=budget, unchecked={said, "else"}, take=take, tell=lambda _: None
    )
    order._left_over(kernel, replays, {said: short})
    assert taken == ([] if wrong else [whole])
    assert replays.unchecked == ({said, "else"} if wrong or late else {"else"})
    assert list(left_over(replace(short, whole=None), budget)) == []  # fewer integers alone


def test_a_part_of_the_time_is_not_all_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def late(*_: object) -> None:
        raise OutOfTime

    monkeypatch.setattr(order, "lanes_apart", late)
    given: Any = SimpleNamespace(budget=Budget(9), unchecked=set(), tell=None)
    order._lanes(given, given, Budget(0))
    assert len(given.unchecked) == 1
    given.budget = Budget(0)
    with pytest.raises(OutOfTime):
        order._lanes(given, given, Budget(0))
