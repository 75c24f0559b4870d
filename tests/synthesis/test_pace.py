"""The pace of plans: what bounds blocks and bytes in flight, and that more of anything is never quicker."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import pytest

import layoutcheck as lc
from layoutcheck.synthesis.compiled import Compiled, expected, made_of
from layoutcheck.synthesis.demand import Demand, l1_left, resident
from layoutcheck.synthesis.pace import H200, pace, pipes
from layoutcheck.synthesis.plans import Synthesis
from tests.forking import traced_in_forks
from tests.thinned import thinned

__all__ = ["traced_in_forks"]

synthesize = cache(lc.synthesize)  # some tests look at the same plans

K = "gmem (?,?{div=8}):(?{div=8},1)"
MN = "gmem (?{div=8},?):(1,?{div=8})"


@pytest.fixture(scope="module")
def plans() -> Synthesis:
    return synthesize("(128,64)", K, "ldmatrix", stages=2, engine="cp.async,tma")


def test_registers_threads_and_shared_memory_bound_the_blocks_of_an_sm() -> None:
    assert resident(32, 128, 0) == 16  # 2048 threads
    assert resident(33, 256, 0) == 65536 // (40 * 256)  # registers are given in eights
    assert resident(32, 128, 32 << 10) == (228 << 10) // (33 << 10)
    assert resident(255, 1024, 200 << 10) == 1


def test_shared_memory_takes_of_l1_what_the_carveout_holds() -> None:
    assert l1_left(4, 0) == 256 << 10
    assert l1_left(2, 31 << 10) == (256 - 64) << 10  # 64 KiB with what each block has besides
    assert l1_left(8, 32 << 10) == (256 - 228) << 10


@pytest.mark.parametrize(
    "name",
    [
        "instructions", "data", "sectors", "read_bytes", "written_bytes", "engine",
        "barriers", "held_bytes", "own", "read_parts",
        "rounds", "spilled_bytes",
    ],
)  # fmt: skip
def test_more_is_never_quicker(plans: Synthesis, name: str) -> None:
    for plan in plans.plans:
        asked: dict[str, Any] = plan.demand._asdict()
        more = Demand(**(asked | {name: 2 * asked[name] + 9000}))
        assert pace(more)[0] > pace(plan.demand)[0]


def test_a_wait_is_hidden_by_stages_and_by_other_blocks(plans: Synthesis) -> None:
    [asked] = [
        plan.demand for plan in plans.plans if plan.kind == "cp.async, K-contiguous, swizzled, ldmatrix"
    ]
    alone = asked._replace(blocks=1)
    assert pace(alone)[0] > pace(asked)[0] > pace(asked._replace(ahead=3))[0]
    assert pace(alone._replace(instructions=0, read_bytes=0))[1] == "chain"


def test_halves_of_lines_that_are_too_many_at_once_cost_as_those_that_are_waited_for() -> None:
    """A run of 64 bytes is half of a line: the other half comes with it, or by itself."""
    src = "gmem (?,?{div=16}):(?{div=16},1)"
    found = synthesize("(64,64)", src, "ldmatrix", dtype="f8E4M3FN", stages=3, engine="cp.async")
    asked = found.best.demand
    assert asked.asked_parts == asked.blocks * 2 * 64 and asked.read_parts == 64
    few, many = (pipes(asked._replace(asked_parts=parts))["memory"] for parts in (1000, 3000))
    assert many > few and many == pipes(asked._replace(waited_for=True))["memory"]
    bulk = synthesize("(64,64)", src, "ldmatrix", dtype="f8E4M3FN", stages=3, engine="tma").best.demand
    assert pipes(bulk._replace(asked_parts=3000.0)) == pipes(bulk)  # brings whole lines
    two = synthesize("(64,64)", src, "ldmatrix", dtype="f8E4M3FN", stages=2, engine="cp.async")
    assert two.best.demand.waited_for and not asked.waited_for


@pytest.mark.parametrize(
    ("columns", "halves", "lines"),
    thinned([(48, 3 / 4, 5 / 4), (32, 1 / 2, 1), (128, 0, 1), (64, 1, 1), (96, 1, 3 / 2)], 2),
)
def test_memory_gives_two_sectors_at_once(columns: int, halves: float, lines: float) -> None:
    """Rows of 48 bytes take two sectors each, some of which came before; no byte comes twice (ncu)."""
    src = "gmem (?,?{div=16}):(?{div=16},1)"
    found = synthesize((64, columns), src, "registers", dtype="f8E4M3FN", engine="universal", major="K")
    for plan in found.plans:
        asked = plan.demand
        assert (asked.read_parts, asked.read_bytes) == (64 * halves, 64 * columns)
        assert asked.waited_for and asked.held_bytes >= 64 * 128 * lines


def test_the_rest_of_a_line_comes_with_the_block_beside_or_with_the_next_tile() -> None:
    """Along MN, and where dst lies as src does, other blocks ask for it at the same time."""
    for src, dst, waits, beside in (
        (K, None, True, False), (MN, None, False, False), (K, MN, True, False), (K, K, False, True),
        (MN, K, False, True),
    ):  # fmt: skip
        to = "gmem" if dst else "registers"
        asked = synthesize("(96,32)", src, to, dst=dst, engine="universal").best.demand
        assert (asked.waited_for, asked.beside) == (waits, beside)


def test_a_line_that_several_loads_bring_costs_more_where_blocks_write() -> None:
    """Of rows of 128 bytes the lanes of a turned copy take 64, then 64: 689 us in place of 595 (H200)."""
    src, dst = "gmem (?,?{div=16}):(?{div=16},1)", "gmem (?{div=16},?):(1,?{div=16})"
    found = synthesize("(128,128)", src, "gmem", dst=dst, dtype="f8E4M3FN", stages=3)
    pieces = {plan.kind: plan.demand.read_pieces for plan in found.plans}
    assert pieces["direct"] == 128 and pieces["universal, K-contiguous, swizzled, universal"] == 0
    asked = next(plan.demand for plan in found.plans if plan.kind == "direct")
    assert pipes(asked)["memory"] > pipes(asked._replace(read_pieces=0.0))["memory"]
    assert pipes(asked)["chain"] > pipes(asked._replace(written_bytes=0))["chain"]


@pytest.mark.parametrize(
    ("tile", "cut"), thinned([((64, 128), 0), ((64, 64), 1), ((64, 192), 1 / 3), ((64, 48), 1)], 2)
)
def test_pairs_of_lines_that_are_written_in_part_take_longer(tile: tuple[int, int], cut: float) -> None:
    """Rows of 256 bytes are whole pairs; 16 lanes of 16 bytes fill one, those of 4 lanes and boxes do not."""
    found = synthesize(tile, K, "ldmatrix,gmem", dst=K)
    asked = {plan.kind: plan.demand for plan in found.plans}
    assert {round(one.write_cut, 3) for one in asked.values()} == {round(cut, 3)}
    bulk = asked["tma, K-contiguous, swizzled, ldmatrix, tma" if tile[1] % 64 == 0 else found.best.kind]
    assert bulk.write_apart == pytest.approx(1 - cut) and bulk.engine_stores
    if not cut:
        assert asked["cp.async, K-contiguous, swizzled, ldmatrix, universal"].write_apart == 0
    whole = bulk._replace(write_cut=0, write_apart=0)
    assert pipes(bulk)["memory"] > pipes(whole._replace(write_apart=0.5))["memory"] > pipes(whole)["memory"]


def test_rows_of_boxes_shorter_than_a_sector_take_the_engine_longer() -> None:
    found = synthesize("(64,64)", "gmem (?{div=8},?):(1,?{div=8})", "wgmma.A", engine="tma")
    thin = {plan.kind: plan.demand for plan in found.plans}
    assert thin["tma, MN-contiguous, plain, descriptor"].thin
    assert not thin["tma, MN-contiguous, swizzled, descriptor"].thin
    asked = thin["tma, MN-contiguous, plain, descriptor"]
    assert pipes(asked)["engine"] > pipes(asked._replace(thin=False))["engine"]


def test_a_load_through_l1_holds_whole_lines() -> None:
    halves = "gmem (?,?{div=8}):(?{div=8},1)"
    found = synthesize("(64,32)", halves, "registers", engine="universal", major="K")
    direct = next(plan for plan in found.plans if plan.kind == "direct")
    # Rows of 64 bytes: half of each line.
    assert direct.demand.held_bytes == 2 * 64 * 32 * 2
    assert direct.demand.l1_bytes == 256 << 10 and direct.demand.way == "ld"
    narrow = "gmem (?,?{div=4}):(?{div=4},1)"  # cp.async of 8 bytes goes through L1
    found = synthesize("(64,32)", narrow, "registers", engine="cp.async", major="K")
    assert {plan.demand.way for plan in found.plans} == {"ca"}
    assert {plan.demand.held_bytes for plan in found.plans} == {2 * 64 * 32 * 2}


def test_registers_of_the_compiler_take_the_place_of_the_guess(plans: Synthesis) -> None:
    plan = plans.best
    many = replace(plan, made=Compiled(255, 5000))
    few = replace(plan, made=Compiled(16, 10))
    assert many.demand.blocks < few.demand.blocks == plan.demand.blocks
    assert many.cycles > few.cycles


def test_the_reason_names_what_is_not_told_apart_and_the_blocks_of_an_sm(plans: Synthesis) -> None:
    """A plan beside itself, then with registers for fewer blocks."""
    best = plans.best
    same = replace(plans, plans=(best, best)).why
    assert "takes as long (too close for the prediction to tell): the same counts" in same
    fewer = replace(best, made=Compiled(255, 5000))
    why = replace(plans, plans=(best, fewer)).why
    busy, before = pipes(fewer.demand), pipes(best.demand)
    assert max(busy, key=lambda pipe: busy[pipe] - before[pipe]) == "chain"
    assert (
        f"% longer (waiting that is not hidden: {busy['chain'] - before['chain']:,.0f} cycles more): " in why
    )
    assert why.endswith(f": {fewer.demand.blocks} blocks on an SM in place of {best.demand.blocks}.")


def test_whole_lines_join_where_blocks_that_start_together_write_side_by_side() -> None:
    """Measured (gmem plans of the evidence): many rows at once cost nothing there, nor do pairs of lines.

    Lines that runs take in part do: L2 loses of them, on both sides, the more there are. Where nothing is
    read it is the pairs.
    """
    for src in (K, "accumulator"):
        for plan in synthesize("(64,48)", src, "gmem", dst=K).plans:
            asked = plan.demand
            assert asked.divided and asked.write_cut == 1
            joined = pipes(asked._replace(write_cut=0))["memory"] == pipes(asked)["memory"]
            assert joined == (src == K)
            lost = pipes(asked._replace(write_parts=0))["memory"] < pipes(asked)["memory"]
            assert lost == (src == K)
            lines = 64 * 6 / 4  # four rows of 96 bytes end or begin within three lines, six times
            assert asked.write_parts == lines and asked.read_parts == (0 if src == "accumulator" else lines)
            assert asked.live_bytes == asked.blocks * 132 * 64 * 128 * (1 if src == "accumulator" else 2)
            fewer = asked._replace(live_bytes=asked.live_bytes / 2)
            assert pipes(fewer)["memory"] < pipes(asked)["memory"]
    whole = synthesize("(64,64)", K, "gmem", dst=K).best.demand
    assert (whole.live_bytes, whole.read_parts, whole.write_parts) == (0, 0, 0)


def test_what_an_instruction_or_a_row_of_a_box_leaves_of_a_pair_is_written_again() -> None:
    """A run of 256 bytes: rows of boxes are half of it, or a quarter; or of 96, a third."""
    found = {plan.kind: plan for plan in synthesize("(64,128)", "accumulator", "gmem", dst=K).plans}
    swizzled = found["stmatrix, K-contiguous, swizzled, tma"].demand
    assert swizzled.write_apart == 1 and swizzled.write_split == 0 and swizzled.engine_stores
    by_threads = found["stmatrix, K-contiguous, swizzled, universal"].demand
    assert by_threads.write_apart == 0 == by_threads.write_split
    whole = swizzled._replace(write_apart=0)
    assert pipes(swizzled)["memory"] > pipes(whole)["memory"]
    found = {p.kind: p for p in synthesize("(128,48)", "accumulator", "gmem", dst=K, threads=256).plans}
    kinds = "plain, universal", "plain, tma", "swizzled, tma"
    lanes, box, thin = (found[f"stmatrix, K-contiguous, {kind}"].demand for kind in kinds)
    # Of rows that begin at 0, 96, ... two thirds are in whole pairs of sectors; rows of boxes have 32 bytes.
    assert (box.write_split, thin.write_split) == (0, pytest.approx(2 / 3)) and lanes.write_split < 0.05
    assert pipes(thin)["memory"] > pipes(thin._replace(write_split=0))["memory"]


@pytest.mark.parametrize(
    ("columns", "stages", "dst", "late"),
    thinned([(64, 3, K, 2 / 3), (64, 2, K, 1), (64, 2, MN, 0), (128, 2, K, 0), (64, 1, K, 0)], 2),
)
def test_a_pair_of_lines_that_a_block_fills_with_its_next_tile_is_late(
    columns: int, stages: int, dst: str, late: float
) -> None:
    """Of three rows of 128 bytes, which begin at 0 and 384, two lie in one pair; along MN none follows."""
    plans = synthesize((192, columns), "accumulator", "gmem", dst=dst, stages=stages).plans
    assert {round(plan.demand.write_late, 3) for plan in plans} == {round(late, 3)}
    asked = plans[0].demand
    slower, quicker = (pipes(asked._replace(own=own))["memory"] for own in (500, 100))
    assert (slower > quicker) == (late > 0)


def test_where_nothing_is_read_a_busy_pipe_is_hidden_behind_memory() -> None:
    """A tile of 192 x 64 by threads of twice the wavefronts took 238 us, the other 246 (H200, seed 302)."""
    found = {p.kind: p for p in synthesize("(192,64)", "accumulator", "gmem", dst=K, stages=2).plans}
    asked = found["stmatrix, K-contiguous, plain, universal"].demand
    each = pipes(asked)
    assert each["data"] > 0.4 * each["memory"]
    assert pace(asked)[0] < 1.02 * each["memory"]
    reads = asked._replace(way="cg", rounds=0.0, ahead=3)
    assert pace(reads)[0] > 1.04 * pipes(reads)["memory"]


def test_six_lanes_take_a_row_of_96_bytes() -> None:
    """128 threads take 32 bytes of it, 96 threads all; of 192 bytes 128 threads take 64, which is enough."""
    rows = {}
    for tile in ((192, 48), (96, 96)):
        found = synthesize(tile, K, "gmem", dst=K, engine="cp.async").best
        rows[tile] = found.steps[0][0].split[0].shape
    assert rows == {(192, 48): (16, 6), (96, 96): (32, 4)}


def test_what_registers_do_not_hold_is_written_to_l2_or_to_memory_and_back(plans: Synthesis) -> None:
    """A program's 417 KB a tile, of 16 blocks on each SM, took 3,127 us in place of 540 (ncu, H200)."""
    best = plans.best
    asked = replace(best, made=Compiled(32, 100, barriers=2, cycles=9.0, spilled=80.0)).demand
    assert asked.spilled_bytes == 80 / 2 * 128
    few = asked._replace(spilled_bytes=1000.0, blocks=1)
    some, none = pipes(few)["memory"], pipes(few._replace(spilled_bytes=0.0))["memory"]
    assert some - none == pytest.approx(H200.spills.spilled * 1000 * (H200.memory.write + H200.memory.mixed))
    many = few._replace(spilled_bytes=1e6, blocks=16)
    assert pipes(many)["memory"] > none + 0.9 * 1e6 * (H200.memory.read + H200.memory.write)


def test_loads_hold_their_lines_longer_behind_what_is_written() -> None:
    plans = synthesize("(64,64)", K, "gmem", dst=K, engine="universal").plans
    asked = next(plan.demand for plan in plans if plan.demand.way == "ld")
    alone = asked._replace(written_bytes=0)
    assert pipes(asked)["lines"] == pytest.approx(H200.held.behind * pipes(alone)["lines"])


def test_what_was_compiled_is_of_a_turn_and_asked_is_of_a_tile() -> None:
    """A thread loads 32 bytes of a tile: a turn that loads 128 takes four."""
    found = synthesize("(64,32)", K, "registers", engine="universal", major="K")
    direct = next(plan for plan in found.plans if plan.kind == "direct")
    made = Compiled(32, 400, cycles=800.0, rounds=8.0, loaded=128)
    asked = replace(direct, made=made).demand
    assert (asked.instructions, asked.own, asked.rounds) == (4 * 100, 200, 2)


def test_the_warp_that_starts_bulk_copies_executes_more_than_the_others(plans: Synthesis) -> None:
    bulk = next(plan for plan in plans.plans if plan.kind.startswith("tma"))
    asked = replace(bulk, made=Compiled(32, 100, alone=50, barriers=1, cycles=300.0)).demand
    assert (asked.instructions, asked.own) == (4 * 100 + 50, 300)
    two = replace(bulk, made=Compiled(32, 100, alone=50, barriers=2, cycles=300.0)).demand
    assert (two.instructions, two.own) == (4 * 50 + 25, 150)


@pytest.mark.parametrize(
    ("kind", "rounds", "registers"), [("direct", 4, 32), ("universal, K-contiguous, plain", 1, 16 + 64)]
)
def test_loads_that_nothing_keeps_together_are_guessed_to_wait_in_rounds(
    kind: str, rounds: int, registers: int
) -> None:
    """A thread takes 256 bytes of the tile: what goes to shared memory waits until all loads have begun."""
    plans = synthesize("(128,128)", K, "registers", engine="universal", major="K").plans
    plan = next(plan for plan in plans if plan.kind.startswith(kind))
    assert plan.demand.way == "ld" and plan.demand.rounds == rounds
    assert plan.demand.blocks == resident(registers, 128, plan.shared_bytes)


def test_a_warp_starts_all_loads_of_a_tile_before_it_stores_what_they_bring() -> None:
    pytest.importorskip("cutlass")
    found = synthesize("(128,64)", K, "wgmma.A", engine="universal", stages=2, compiled=True)
    for plan in found.plans:
        assert plan.code.count("sync_warp") == 2  # of the first tile, and of the next ones
        assert plan.made is not None and plan.made.rounds == pytest.approx(1, abs=0.1)


def test_loads_of_half_a_warp_or_of_many_registers_do_not_wait_for_one_another() -> None:
    """The barrier is for whole warps; and 64 registers are the most that loads may fill."""
    apart = synthesize("(96,48)", K, "gmem", dst=K, engine="universal", threads=256).plans
    threads = {plan.found.moves[0].deal.threads: "sync_warp" in plan.code for plan in apart}
    assert threads == {192: True, 144: False, 72: False}
    for tile, waits in (("(128,128)", True), ("(192,128)", False)):
        plan = synthesize(tile, K, "gmem", dst=K, engine="universal").best
        assert ("sync_warp" in plan.code) == waits


def test_without_machine_code_that_is_read_only_the_registers_are_the_compilers(plans: Synthesis) -> None:
    made = made_of({"registers": 40, "ptx": ""})
    asked, guess = replace(plans.best, made=made).demand, plans.best.demand
    assert asked.blocks == resident(40, 128, plans.best.shared_bytes)
    assert (asked.instructions, asked.own, asked.rounds) == (guess.instructions, guess.own, guess.rounds)


def test_the_dsl_compiles_the_plans_and_the_report_says_so() -> None:
    pytest.importorskip("cutlass")
    found = synthesize("(64,64)", K, "gmem", dst=K, engine="tma", compiled=True)
    for plan in found.plans:
        assert plan.made is not None and 8 <= plan.made.registers <= 64 and plan.made.instructions > 10
    assert "by the DSL" in " ".join(found.space)


def test_the_warp_that_starts_many_boxes_is_guessed_to_take_long() -> None:
    """Rows dealt apart are a box each: 192, whose program takes an H200 five times as long as the best."""
    plans = synthesize("(192,64)", MN, "gmem", dst=K, dtype="f16", threads=256, stages=2).plans
    [boxes] = [plan.demand.own for plan in plans if plan.kind.startswith("tma")]
    assert boxes > 3 * 8 * 192 > max(plan.demand.own for plan in plans if "tma" not in plan.kind)
    assert not plans[0].kind.startswith("tma")


@pytest.mark.parametrize(("tile", "stages", "cycles"), [("(96,64)", 2, 157), ("(64,64)", 1, 367)])
def test_an_epilogue_s_warp_is_guessed_to_take_what_it_takes_compiled(
    tile: str, stages: int, cycles: int
) -> None:
    """`cycles`: of a turn of its compiled program; with one stage most of them are addresses."""
    found = synthesize(tile, "accumulator", "gmem", dst=K, dtype="f16", stages=stages)
    [plan] = [plan for plan in found.plans if plan.kind == "stmatrix, K-contiguous, plain, universal"]
    assert plan.demand.own == pytest.approx(cycles, rel=0.2)


def test_a_thread_that_turns_a_block_is_guessed_to_hold_it_twice() -> None:
    """8 x 8 elements are 32 words."""
    found = synthesize("(192,64)", MN, "gmem", dst=K, dtype="f16", engine="universal", stages=2)
    assert max(expected(plan.found, found.wanted).registers for plan in found.plans) == 24 + 2 * 32
