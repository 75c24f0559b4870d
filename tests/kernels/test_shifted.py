"""The places that `shifted` reads in shared memory: no bank conflict at any pitch and base."""

from itertools import product

import pytest

pytest.importorskip("cutlass", reason="kernels/ needs nvidia-cutlass-dsl")


from kernels.transpose.plans import PLANS
from kernels.transpose.shifted import CHUNK, LANES_M, LANES_N, Shifted, ahead_by, column, in_smem
from layoutcheck.machine.banks import shared_wavefronts


def gathered(
    plan: Shifted, pitches: tuple[int, int], starts: tuple[int, int], warp: int, step: int
) -> list[int]:
    """The byte addresses of the 32 lanes in one step, and a check that each finds its own element."""
    addresses = []
    for lane in range(32):
        lane_m, lane_n = lane % LANES_M, lane // LANES_M
        ahead = ahead_by(lane_n, pitches[0] * pitches[1])
        n = column(warp, lane_n, pitches[0] * pitches[1])
        late = (starts[1] + n * pitches[1]) % plan.align
        row = plan.align - 1 - late + (step + 2 * ahead) % CHUNK + CHUNK * lane_m
        assert 0 <= row < plan.rows
        addresses.append(2 * (in_smem(row, starts[0] + row * pitches[0], plan) + n))
    return addresses


@pytest.mark.parametrize(
    "plan", [Shifted(), Shifted((128, 128), 8, 16), Shifted((192, 256), 16, 32)], ids=str
)
def test_no_pitch_and_no_base_makes_the_gather_conflict(plan: Shifted) -> None:
    worst = {
        (*pitches, *starts): ways
        for pitches in product(range(CHUNK), repeat=2)
        for starts in product((0, 1, 6), (0, 3))
        for warp, step in ((0, 0), (1, 3))
        if (ways := shared_wavefronts(gathered(plan, pitches, starts, warp, step), 16).wavefronts) > 1
    }
    assert worst == {}


def test_the_columns_of_a_pass_are_all_of_them_once() -> None:
    for pitches in (0, 1, 2, 3):
        taken = [column(warp, lane, pitches) for warp in range(4) for lane in range(LANES_N)]
        assert sorted(taken) == list(range(16))


@pytest.mark.parametrize("plan", [plan for plan in PLANS.values() if isinstance(plan, Shifted)], ids=str)
def test_the_rows_that_a_thread_loads_start_alike(plan: Shifted) -> None:
    """It works out where one starts in its chunk, and goes on by `step` rows, whatever the pitch."""
    assert plan.step > 0 and plan.step % CHUNK == 0 == plan.threads % CHUNK
    assert plan.step * plan.tile[0] // CHUNK <= plan.threads
    for row in range(2 * CHUNK):
        for rows in (plan.step, plan.threads):
            assert in_smem(row + rows, 0, plan) - in_smem(row, 0, plan) == CHUNK * plan.chunks_of(rows)
