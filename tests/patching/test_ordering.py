"""Edits for findings about order: where statements go, what is proposed, what counts as proof."""

from __future__ import annotations

import difflib
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from layoutcheck.patching import ordering
from layoutcheck.patching.edit import apply
from layoutcheck.patching.ordering import proof, slots
from layoutcheck.patching.program import Program
from layoutcheck.patching.repair import AFTERWARDS, _follows, repair
from layoutcheck.patching.state import State
from layoutcheck.patching.whole import UNGROWN
from layoutcheck.sources.shared_uses import EARLY, LOST, OVER, SharedReport, SharedUses, Unread
from layoutcheck.sources.traced import (
    ElementReport,
    Frame,
    KernelFinding,
    KernelPlace,
    OperandReport,
    OrderReport,
    Trace,
)
from tests.patching.test_files import seen

KERNEL = """import cutlass.cute as cute


@cute.kernel
def kernel(source, target, turns):
    data[thread] = source[thread]
    for turn in cutlass.range(turns):
        cute.copy(atom, source[turn], data, mbar_ptr=full)
        if thread < 32:
            value = data[thread]; use(value)
        target[thread] = data[thread + 32]
    if thread == 0:
        cute.arch.sync_threads()
    last(data)
"""
TURN, COPY, INNER, READ, LAST = 7, 8, 10, 11, 14


def place(line: int, kind: str = "read", path: str = "k.py", thread: int = 0) -> KernelPlace:
    return KernelPlace(f"does {kind}", Frame(path, line), thread=thread, kind=kind)


def finding(code: str, kind: str, *places: KernelPlace, **facts: object) -> KernelFinding:
    return KernelFinding(code, "wrong", "title", "message", places, {"kind": kind, **facts})


def proposed(one: KernelFinding, text: str = KERNEL, threads: int = 128) -> list[tuple[int, str]]:
    """The line of each proposed edit, and the statements that it adds."""
    trace = Trace(orders=(OrderReport("k", "sm_90a", (one,), threads=threads),))
    found = []
    for _, edits in ordering.ways({"k.py": text}, one, trace):
        new = apply({"k.py": text}, edits)["k.py"]
        compile(new, "k.py", "exec")  # what is proposed is Python
        lines = difflib.ndiff(text.splitlines(), new.splitlines())
        added = [line[2:].strip() for line in lines if line.startswith("+ ")]
        found.append((text.count("\n", 0, edits[0].start) + 1, "; ".join(added)))
    return found


def test_slots_between_two_lines_are_those_under_fewest_conditions_first() -> None:
    program = Program({"k.py": KERNEL})
    forwards = slots.gaps(program, place(6), place(INNER))
    assert [(slot.line, slot.after, slot.branches) for slot in forwards] == [
        (TURN, False, 0), (6, True, 0), (9, False, 0), (INNER, False, 1),
    ]  # fmt: skip
    backwards = slots.gaps(program, place(READ), place(COPY))  # the next turn's copy
    assert [(slot.line, slot.after) for slot in backwards] == [(READ, True), (COPY, False)]
    assert slots.gaps(program, place(6), place(3, path="other.py")) == []


def test_what_is_inserted_behind_a_copy_stands_in_its_own_function_before_its_callers() -> None:
    """A program that others start (a test, a runner) has callers in files that nobody may edit."""
    runner = "def main():\n    for one in every:\n        with it:\n            run(one)\n"
    program = Program({"k.py": KERNEL, "runner.py": runner})
    here = replace(place(COPY), stack=(Frame("runner.py", 4),))
    found = slots.behind(program, here, innermost=True)
    assert [(slot.source.path, slot.stmt.lineno) for slot in found] == [
        ("k.py", COPY), ("k.py", TURN), ("runner.py", 4), ("runner.py", 3), ("runner.py", 2),
    ]  # fmt: skip
    outwards = [(slot.source.path, slot.stmt.lineno) for slot in slots.behind(program, here)]
    assert outwards == [("k.py", TURN), ("k.py", COPY), *(("runner.py", line) for line in (2, 3, 4))]


def test_a_function_that_others_call_stays_as_it_is_where_its_caller_can_be_edited() -> None:
    helper = "def move(a, b):\n    cute.copy(atom, a, b)\n"
    text = f"{helper}@cute.kernel\ndef one():\n    move(g, s)\n@cute.kernel\ndef other():\n    move(x, y)\n"
    two = text.replace("move(x, y)", "use(x)")
    here = replace(place(2), stack=(Frame("k.py", 5), Frame("k.py", 20)))
    for source, lines in ((text, [5, 2]), (two, [2, 5]), (f"{text}one()\none()\n", [5, 2])):
        found = slots.behind(Program({"k.py": source}), here, innermost=True)
        assert [slot.stmt.lineno for slot in found][:2] == lines


def test_a_barrier_stands_where_all_threads_come_by_first() -> None:
    ways = proposed(finding("LC504", "race", place(6, "write"), place(INNER), executing=[0, 32, 0]))
    assert ways == [(line, "cute.arch.sync_threads()") for line in (TURN, 7, 9, INNER)]


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("one(); two()", ["    pass\n    one(); two()", "    one(); two()\n    pass"]),
        ("one(); two()  # 2", ["    pass\n    one(); two()  # 2", "    one(); two()  # 2\n    pass"]),
        ("if x: one(); two()", []), ("one(); two(\n        1)", []),
    ],
)  # fmt: skip
def test_a_line_of_two_statements_has_room_around_it(line: str, wanted: list[str]) -> None:
    """None between them: places are lines. Nor is there any if one of them goes on in the next line."""
    source = Program({"k.py": f"def kernel():\n    {line}\n    last()\n"}).sources["k.py"]
    step = slots.chain(source, 2)[-1]
    made = [slots.Slot(source, step.stmt, after, 0).edit("pass") for after in (False, True)]
    texts = [source.text[: one.start] + one.new + source.text[one.end :] for one in made if one is not None]
    assert texts == [f"def kernel():\n{one}\n    last()\n" for one in wanted]


def test_copies_of_one_statement_into_the_same_bytes_are_no_matter_of_order() -> None:
    """Unless a later turn of a loop uses the buffer again."""
    copy = place(COPY, "cp_async")
    assert proposed(finding("LC501", "not-complete", copy, copy, cause="no-commit")) == []
    turns = [replace(copy, turns=(turn,)) for turn in range(2)]
    assert proposed(finding("LC501", "not-complete", *turns, cause="no-commit")) != []
    assert proposed(finding("LC501", "not-complete", copy, place(READ), cause="no-commit")) != []


def test_under_a_condition_the_barrier_counts_the_threads_that_come() -> None:
    lines = KERNEL.splitlines()
    lines[8:10] = [
        "        if thread < 64:",
        "            data[thread] = 1",
        "            use(data[thread + 32])",
    ]
    text = "\n".join(lines) + "\n"
    one = finding("LC504", "race", place(10, "write"), place(11), executing=[64, 64, 64])
    barrier = "cute.arch.barrier(barrier_id=1, number_of_threads=64)"
    assert proposed(one, text)[0] == (11, barrier)


def test_a_barrier_that_some_threads_skip_is_taken_out_of_its_condition() -> None:
    ways = proposed(finding("LC504", "race", place(READ, "write"), place(LAST), executing=[0, 0, 0]))
    assert ways[0] == (13, "pass; cute.arch.sync_threads()")


STAGED = """import cutlass.cute as cute
@cute.kernel
def kernel(source, data):
    for turn in cutlass.range(turns):
        fill(data)
        use(turn)
        cute.arch.barrier()
        read(data)
        cute.arch.sync_threads()
"""


@pytest.mark.parametrize(("copy", "reader", "wanted"), [(5, 8, 7), (8, 5, 9), (5, 6, None)])
def test_a_wait_stands_before_a_barrier_that_is_there(copy: int, reader: int, wanted: int | None) -> None:
    """The barrier hands on what each thread has waited for, now or before the next turn: no second one."""
    places = place(copy, "cp_async"), place(reader, thread=64)
    line, added = proposed(finding("LC501", "not-complete", *places, cause="no-wait"), STAGED)[0]
    wait = "cute.arch.cp_async_wait_group(0)"
    assert (line, added) == ((wanted, wait) if wanted else (reader, f"{wait}; cute.arch.sync_threads()"))


def test_a_wait_for_what_fills_the_first_stages_stands_before_the_barrier_of_the_loop() -> None:
    text = STAGED.replace("    for turn", "    fill(data)\n    for turn")
    places = place(4, "cp_async"), place(9, thread=64)
    one = finding("LC501", "not-complete", *places, cause="no-wait", most=1)
    waits = [(8, f"cute.arch.cp_async_wait_group({n})") for n in (1, 0)]
    assert proposed(one, text)[:2] == waits


def test_a_barrier_stands_behind_the_wait_or_the_initialisation_that_it_hands_on() -> None:
    """Before the read is late: the next copy, or one that uses the mbarrier, comes first."""
    text = STAGED.replace("use(turn)", "cute.arch.cp_async_wait_group(0)").replace(
        "cute.arch.barrier()", "copy()"
    )
    places = place(5, "cp_async"), place(8, thread=64)
    assert proposed(finding("LC501", "not-complete", *places, cause="no-barrier"), text)[0] == (
        7, "cute.arch.sync_threads()",
    )  # fmt: skip
    fenced = "cute.arch.mbarrier_init_fence(); cute.arch.sync_threads()"
    assert proposed(finding("LC506", "initialisation-not-seen", place(5), place(8)), STAGED)[0] == (6, fenced)


@pytest.mark.parametrize(
    ("one", "wanted"),
    [
        (finding("LC501", "not-complete", place(COPY, "bulk_load"), place(READ), cause="no-wait"),
         (READ, "cute.arch.mbarrier_wait(full, turn % 2)")),
        (finding("LC501", "not-complete", place(COPY, "cp_async"), place(READ, thread=64),
                 cause="no-wait", most=1),
         (READ, "cute.arch.cp_async_wait_group(1); cute.arch.sync_threads()")),
        (finding("LC501", "not-complete", place(COPY, "cp_async"), place(READ), cause="no-wait"),
         (READ, "cute.arch.cp_async_wait_group(0)")),
        (finding("LC501", "not-complete", place(COPY, "cp_async"), place(READ), cause="no-commit"),
         (9, "cute.arch.cp_async_commit_group()")),
        (finding("LC502", "overwritten-while-copied", place(COPY, "bulk_store"), place(READ, "write"),
                 cause="no-wait"),
         (9, "cute.arch.cp_async_bulk_commit_group(); cute.arch.cp_async_bulk_wait_group(1, read=True)")),
        (finding("LC502", "overwritten-while-copied", place(COPY, "wgmma"),
                 place(READ, "write"), cause="no-wait"),
         (READ, "cute.nvgpu.warpgroup.wait_group(0)")),
        (finding("LC503", "overwritten-by-copy", place(READ), place(COPY, "cp_async")),
         (12, "cute.arch.sync_threads()")),
        (finding("LC505", "no-proxy-fence", place(6, "write"), place(COPY, "bulk_store")),
         (7, 'cute.arch.fence_proxy("async.shared", space="cta")')),
        (finding("LC505", "no-proxy-fence", place(6, "write"), place(COPY, "bulk_load"), memory="global"),
         (7, 'cute.arch.fence_proxy("async.global")')),
        (finding("LC506", "initialisation-not-seen", place(6), place(COPY)),
         (TURN, "cute.arch.mbarrier_init_fence(); cute.arch.sync_threads()")),
        (finding("LC511", "copied-by-many", place(COPY), lanes=32),
         (COPY, "with cute.arch.elect_one():; cute.copy(atom, source[turn], data, mbar_ptr=full)")),
        (finding("LC521", "exit-while-copied", place(COPY, "bulk_store")),
         (9, "cute.arch.cp_async_bulk_commit_group(); cute.arch.cp_async_bulk_wait_group(0, read=True)")),
        (finding("LC523", "accumulator-before-wait", place(6), place(READ)),
         (TURN, "cute.nvgpu.warpgroup.wait_group(0)")),
        (finding("LC524", "lanes", place(6, "write"), place(LAST)), (LAST, "cute.arch.sync_warp()")),
    ],
)  # fmt: skip
def test_the_first_statement_that_is_proposed(one: KernelFinding, wanted: tuple[int, str]) -> None:
    assert proposed(one)[0] == wanted


NUMBERS = """from cutlass.cute import arch
arch.mbarrier_init(full, 64)
def kernel(turns):
    arch.cp_async_wait_group(stages - 1)
    arch.barrier(barrier_id=1, number_of_threads=64)
    arch.mbarrier_arrive_and_expect_tx(full, size)
    state = make_pipeline_state(PipelineUserType.Producer, depth)
    pipe = PipelineTmaAsync.create(num_stages=stages)
    for turn in cutlass.range(turns):
        arch.mbarrier_wait(full, 0)
        arch.mbarrier_wait(empty, turn & 1)
        pipe.consumer_wait(state)
"""


@pytest.mark.parametrize(
    ("one", "wanted"),
    [
        (finding("LC501", "not-complete", place(4), place(4), cause="wait-count", pending=2, most=1),
         ["arch.cp_async_wait_group(stages - 2)", "arch.cp_async_wait_group(1)"]),
        (finding("LC509", "barrier-shared", place(5), place(5), executing=[128, 128, 128]),
         ["arch.barrier(barrier_id=1, number_of_threads=128)",
          "arch.barrier(barrier_id=2, number_of_threads=64)"]),
        (finding("LC507", "too-few-bytes", place(6), place(9), announced=512, missing_bytes=256),
         ["arch.mbarrier_arrive_and_expect_tx(full, 768)"]),
        (finding("LC507", "bytes-never-arrive", place(6), place(10), announced=512, bytes=16),
         ["arch.mbarrier_arrive_and_expect_tx(full, 496)"]),
        (finding("LC501", "not-complete", place(9, "bulk_load"), place(12), place(10),
                 cause="early-wait"),
         ["arch.mbarrier_wait(full, turn % 2)", "arch.mbarrier_wait(full, 1)",
          "state = make_pipeline_state(PipelineUserType.Consumer, depth)",
          "state = make_pipeline_state(PipelineUserType.Producer, stages)"]),
    ],
)  # fmt: skip
def test_numbers_that_are_changed(one: KernelFinding, wanted: list[str]) -> None:
    assert [new for _, new in proposed(one, NUMBERS)][: len(wanted)] == wanted


GROUPS = """def kernel(turns):
    pipe = PipelineAsync.create(num_stages=2, producer_group=group(4), consumer_group=group(64))
    for turn in turns:
        pipe.consumer_wait(state)
        pipe.consumer_release(state)
        use(data[turn])
        state.advance()
"""


def test_a_release_before_the_read_is_put_behind_it() -> None:
    ways = proposed(finding("LC504", "race", place(6), place(4, "write")), GROUPS)
    assert ways[0] == (5, "use(data[turn])")  # as ndiff tells that the release stands behind it
    assert "sync_threads" in ways[1][1]  # nothing else in front of the read is moved


def test_groups_have_as_many_as_arrive() -> None:
    one = finding("LC508", "too-many-arrivals", place(2), place(5), count=4, executing=[128, 128, 128])
    ways = [text for _, text in proposed(one, GROUPS)]
    made = "pipe = PipelineAsync.create(num_stages=2, producer_group=group({}), consumer_group=group({}))"
    assert made.format(128, 64) in ways and made.format(4, 128) in ways


def test_one_lane_never_does_the_work_of_all() -> None:
    """The loop around an arrival has stores of each lane: with it under elect_one() they would be lost."""
    stack = (Frame("k.py", 3),)  # the loop is among the callers of what it contains
    place_ = KernelPlace("arrives at an mbarrier", Frame("k.py", 5), stack, 0)
    ways = proposed(finding("LC508", "too-many-arrivals", place(2), place_, executing=[128]), GROUPS)
    elected = [text for _, text in ways if "elect_one" in text]
    (elected,) = elected
    assert elected.endswith("with cute.arch.elect_one():; pipe.consumer_release(state)")


def test_a_barrier_counts_whole_warps() -> None:
    ways = proposed(finding("LC509", "barrier-shared", place(5), place(5), executing=[100, 100]), NUMBERS)
    assert ways[0][1] == "arch.barrier(barrier_id=1, number_of_threads=128)"


def test_a_deadlock_never_turns_the_wait_for_data_around() -> None:
    """A reader that waits for the other parity takes each stage one turn too early, and nothing races."""
    one = finding("LC510", "deadlock", place(10), place(11), what="mbarrier", count=64, pending=32)
    changed = [new for _, new in proposed(one, NUMBERS)]
    assert "arch.mbarrier_wait(empty, turn % 2)" in changed and "arch.mbarrier_init(full, 32)" in changed
    assert not any("mbarrier_wait(full" in new for new in changed)
    assert "pipe.consumer_release(state)" in changed and "state.advance()" in changed


TWO = finding("LC504", "race", place(2, "write"), place(4, "write"), executing=[0, 0, 0])
READ_EARLY = finding("LC503", "overwritten-by-copy", place(2), place(4, "cp_async"))


@pytest.mark.parametrize(
    ("one", "unread", "why"),
    [
        (TWO, [(OVER, 2, 5)], ordering.OVERLAP), (TWO, [(OVER, 5, 2), (OVER, 2, 9), (LOST, 8, 9)], ""),
        (TWO, [], ""), (TWO, None, "whether anything reads what both write is not known"),
        (READ_EARLY, None, ""), (READ_EARLY, [(OVER, 2, 5), (EARLY, 8, 5)], ""),
        (READ_EARLY, [(EARLY, 2, 5)], "k.py:2 reads in some turns what is not written yet: its stage, "),
        (READ_EARLY, [(LOST, 5, 5)], "what k.py:4 writes in some turns is never read: its stage, "),
        (READ_EARLY, [(LOST, 8, 5)], "what k.py:8 writes in some turns is never read: its stage, "),
        (finding("LC510", "deadlock", place(7, "mbar_wait")), [(LOST, 7, 7)], ""),
    ],
)  # fmt: skip
def test_an_order_is_no_fix_of_what_is_meant_for_another_place(
    one: KernelFinding, unread: list[tuple[str, int, int]] | None, why: str
) -> None:
    """A line is inserted before line 4 of the program."""
    pairs = None if unread is None else tuple(Unread(w, ("k.py", a), ("k.py", b)) for w, a, b in unread)
    after = Trace(orders=(SharedReport("k", "sm_90a", uses=SharedUses(unread=pairs)),))
    for told in (one,), (RACE, one):  # what goes with another finding is held against it, too
        said = proof.misplaced(orders(*told), after, lambda _, line: [line + (line > 3)])
        assert said.startswith(why) and bool(said) is bool(why)


def copied(first: int, second: int, kind: str = "cp_async", turn: int = 0) -> KernelFinding:
    into = replace(place(second, kind), turns=(turn,))
    one = replace(place(first, "cp_async"), turns=(0,))
    return finding("LC501", "not-complete", one, into, cause="no-commit", executing=[0])


@pytest.mark.parametrize(
    ("told", "overlap"),
    [
        ([copied(8, 9)], True),  # the second one's bytes alone would be left
        ([copied(8, 8)], True), ([copied(8, 8, turn=1)], False),  # which may reuse a buffer
        ([copied(8, 9), copied(8, 11, "read")], False), ([copied(8, 9), copied(9, 11, "read")], True),
        ([copied(8, 8), copied(8, 11, "read")], True), ([copied(8, 11, "read")], False),
        ([copied(8, 9, "bulk_load")], True), ([copied(8, 9, "write")], False),
    ],
)  # fmt: skip
def test_no_order_is_edited_of_bytes_that_are_copied_twice_and_not_read(
    told: list[KernelFinding], overlap: bool
) -> None:
    trace = orders(*told)
    assert ordering.overlapping(told) is overlap
    every = [list(ordering.ways({"k.py": KERNEL}, one, trace)) for one in told]
    assert all(bool(edits) is not overlap for edits in every)
    if overlap:
        assert [_follows(State(trace), one) for one in told] == [ordering.OVERLAP] * len(told)


def test_an_order_may_follow_from_a_copy_or_from_registers_of_the_same_kernel(tmp_path: Path) -> None:
    """What is wrong in another kernel is no reason to leave it; nor is a product of any other finding."""
    unwritten = finding("LC609", "unwritten", place(READ))
    for kernel, code, why in (("k", "LC609", READ), ("other", "LC609", 0), ("k", "LC601", 0)):
        products = OperandReport(kernel, "sm_90a", (replace(unwritten, code=code),))
        said = _follows(State(replace(orders(RACE), operands=(products,))), RACE)
        assert said == (f"it may follow from what is wrong at line {why}" if why else "")
        copy = replace(seen(tmp_path / "k.py", COPY, 8 if code == "LC609" else 16), kernel=kernel)
        said = _follows(State(replace(orders(RACE), copies=(copy,))), RACE)
        assert said == (f"it may follow from what is wrong at line {COPY}" if why else "")


def test_nothing_is_made_quicker_where_no_order_is_right(tmp_path: Path) -> None:
    """Of bytes that are copied twice no order is tried, and its patch holds nothing else."""
    path = tmp_path / "k.py"
    path.write_text(SCRIPT)
    slow = finding("LC301", "", place(2, "write", str(path)), wavefronts=8, ideal_wavefronts=1)
    twice = finding(
        "LC501", "not-complete", *(place(n, "cp_async", str(path)) for n in (2, 4)), executing=[0]
    )
    told = ElementReport("k", "sm_90a", (replace(slow, severity="slow"),))
    found = repair(
        str(path), replace(orders(twice), elements=(told,)), lambda *_, **__: pytest.fail("traced")
    )
    assert [one.reason for one in found.slow] == [AFTERWARDS]
    assert [one.reason for one in found.sketches] == [f"LC501: title; {ordering.OVERLAP}"]


RACE = finding("LC504", "race", place(2, "write"), place(3), executing=[0, 0, 0])
OTHER = finding("LC510", "deadlock", place(3))
NOTE = finding("LC520", "barrier-in-divergence", place(3))
SEEN = finding("LC522", "no-proxy-fence-before-overwrite", place(3))


def orders(*findings: KernelFinding, problem: str = "", unchecked: tuple[str, ...] = ()) -> Trace:
    return Trace(orders=(OrderReport("k", "sm_90a", findings, problem, unchecked=unchecked),))


@pytest.mark.parametrize(
    ("after", "why"),
    [
        (orders(), ""),
        (orders(SEEN), ""),  # what a barrier has put in order
        (orders(RACE), "LC504 remains"),
        (orders(OTHER), "LC510 is found instead"),
        (orders(NOTE), "LC520 is found instead"),
        (orders(problem="too long"), "the order is not checked then: too long"),
        (orders(unchecked=(proof.STUCK,)), "a wait did not end in the run of the model"),
        (Trace(), "fewer kernels are followed"),
    ],
)
def test_what_counts_as_proof(after: Trace, why: str) -> None:
    assert proof.objection(orders(RACE), after, RACE, lambda file, line: [line]) == why


SCRIPT = "def kernel():\n    data[i] = 1\n    j = i + 1\n    use(data[j])\n"


def traced(text: str, path: Path, good: Callable[[str], bool]) -> Trace:
    """What the trace of a text is: the race, unless the text is good."""
    line = text.splitlines().index("    use(data[j])") + 1
    race = finding("LC504", "race", place(2, "write", str(path)), place(line, "read", str(path)))
    return orders() if good(text) else orders(race)


@pytest.mark.parametrize("good", [True, False])
def test_the_edit_that_puts_accesses_in_order_is_kept(tmp_path: Path, good: bool) -> None:
    path = tmp_path / "k.py"
    path.write_text(SCRIPT)
    seen: list[str] = []

    def retrace(script: str, cwd: str | None, **_: bool) -> Trace:
        seen.append(Path(script).read_text())
        return traced(seen[-1], Path(script), lambda text: good and "sync_threads" in text)

    found = repair(str(path), traced(SCRIPT, path, lambda _: False), retrace)
    if good:
        (one,) = found.repairs
        assert "sync_threads()" in found.after[str(path)] and len(seen) == 1
        assert one.verdict == "in order" and [frame.line for frame in one.repaired] == [2, 4]
        assert found.sketches == []
    else:
        assert found.repairs == [] and found.after == found.before and len(seen) == 2  # both slots
        (left,) = found.sketches
        assert left.reason.startswith("LC504: title; none of its 2 edits was proven: (1) ")
        assert left.reason.count("synchronise: insert sync_threads()") == 2


RING = """STAGES = 3
layout = cute.make_layout((8, 8, STAGES))
def kernel(source, target):
    ring = smem.allocate_tensor(kind, layout, 16)
    for turn in cutlass.range(8):
        target[turn] = ring[None, 1, READ]
        there = turn + STAGES - 1
        cute.copy(atom, source[None, None, there], ring[None, None, WRITE])
"""
AHEAD = "stage: there % STAGES"


@pytest.mark.parametrize(
    ("read", "write", "good", "wanted"),
    [
        ("turn % STAGES", "turn % STAGES", "there % STAGES]", AHEAD),
        ("turn % STAGES", "(there + 1) % STAGES", "there % STAGES]", AHEAD),
        ("turn % STAGES", "(there + 1) % STAGES", "nothing", ""),
        ("(turn + 1) % STAGES", "there % STAGES", "1, turn % STAGES]", "stage: turn % STAGES"),
        ("(turn + 1) % STAGES", "(turn - 1) % STAGES", "1, turn % STAGES]", "stage: turn % STAGES"),
        # Two stages that are as good, and a tile that is not known.
        ("(turn + 1) % STAGES", "there % STAGES", "STAGES", ""),
        ("turn % STAGES", "turn % STAGES:0", "there % STAGES]", ""),
    ],
)  # fmt: skip
def test_a_copy_to_another_stage_than_its_tile_and_a_reader_of_another_are_edited(
    tmp_path: Path, read: str, write: str, good: str, wanted: str
) -> None:
    write, _, tile = write.partition(":")
    text = RING.replace("READ", read).replace("WRITE", write)
    text = text.replace("None, there", f"None, {tile or 'there'}")
    path = tmp_path / "k.py"
    path.write_text(text)
    places = place(6, path=str(path)), place(8, "cp_async", str(path))
    bad = orders(finding("LC503", "overwritten-by-copy", *places))

    def retrace(script: str, cwd: str | None, **_: bool) -> Trace:
        new = Path(script).read_text()
        return orders() if good in new and len(new.splitlines()) == 8 else bad  # no barrier is right

    found = repair(str(path), bad, retrace)
    assert [one.title.split(",")[0] for one in found.repairs] == ([wanted] if wanted else [])
    if good == "STAGES":
        assert "it is not known which is meant" in found.sketches[0].reason


def test_what_leaves_its_memory_is_no_matter_of_order(tmp_path: Path) -> None:
    """A barrier would order accesses to bytes that the one should not touch."""
    path = tmp_path / "k.py"
    path.write_text(SCRIPT)
    there = KernelPlace("write", Frame(str(path), 2))
    outside = KernelFinding("LC204", "wrong", "leaves", "leaves", (there,), {"shared_bytes": 8})
    given = replace(
        traced(SCRIPT, path, lambda _: False), elements=(ElementReport("k", "sm_90a", (outside,)),)
    )
    found = repair(str(path), given, lambda *_, **__: pytest.fail("traced"))
    assert found.repairs == []
    assert {one.reason for one in found.sketches} == {
        "LC504: title; one of its accesses leaves its memory: no order makes that right",
        f"LC204: leaves; {UNGROWN}",
    }


def test_after_the_time_for_edits_no_further_one_is_tried(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "k.py"
    path.write_text(SCRIPT)
    monkeypatch.setattr("layoutcheck.patching.repair.MOST_SECONDS", -1.0)
    found = repair(str(path), traced(SCRIPT, path, lambda _: False), lambda *_, **__: pytest.fail("traced"))
    assert found.repairs == [] and len(found.sketches) == 1
    assert "no further edit was tried" in found.unseen[-1]


@pytest.mark.sweep
@pytest.mark.parametrize("name", ["neighbours", "stages", "bulk", "store", "groups", "multiply"])
def test_broken_kernels_are_repaired(tmp_path: Path, name: str) -> None:
    """Each broken variant of a kernel of tests/order: nothing is wrong with the edited program."""
    pytest.importorskip("cutlass", reason="kernels are traced through the installed DSL")
    from tests.order.kernels import VARIANTS
    from tests.order.test_kernels import EXPECTED

    text = Path(__file__).parents[1].joinpath("order", "kernels.py").read_text()
    elsewhere = {"stages": [3]}  # it copies into the stage of this turn: no order makes that right
    told = [how for how in range(1, VARIANTS[name]) if EXPECTED[name][how]]
    for how in (how for how in told if how not in elsewhere.get(name, ())):
        script = tmp_path / f"{name}{how}.py"
        script.write_text(text.replace("range(VARIANTS[name])", f"[{how}]"))
        for more in (["--fix"], ["--format", "json"]):
            ran = subprocess.run(
                [sys.executable, "-m", "layoutcheck", "trace", "--no-launch", *more, str(script), name],
                env={**os.environ, "CUTE_DSL_ARCH": "sm_90a"},
                capture_output=True, text=True, check=False, timeout=300,
            )  # fmt: skip
            assert ran.returncode == 0, (name, how, more, ran.stdout, ran.stderr[-500:])
