"""The places that `shifted` reads in shared memory: no bank conflict at any pitch and base."""

from itertools import product

import pytest

pytest.importorskip("cutlass", reason="kernels/ needs nvidia-cutlass-dsl")


from kernels.transpose.chunks import LANES_M, LANES_N, ahead_by, column
from kernels.transpose.common import SMEM_KIB
from kernels.transpose.plans import PLANS
from kernels.transpose.shifted import Shifted
from kernels.transpose.shifted_stores import in_smem
from layoutcheck.machine.banks import shared_wavefronts
from tests.thinned import thinned


def gathered(
    plan: Shifted, pitches: tuple[int, int], starts: tuple[int, int], warp: int, step: int
) -> list[int]:
    """The byte addresses of the 32 lanes in one step, and a check that each finds its own element."""
    addresses = []
    for lane in range(32):
        lane_m, lane_n = lane % LANES_M, lane // LANES_M
        ahead = ahead_by(lane_n, pitches[0] * pitches[1], plan.word)
        n = column(warp, lane_n, pitches[0] * pitches[1], plan.word)
        late = (starts[1] + n * pitches[1]) % plan.align
        row = plan.align - 1 - late + (step + plan.word * ahead) % plan.chunk + plan.chunk * lane_m
        assert 0 <= row < plan.rows
        addresses.append(plan.size * (in_smem(row, starts[0] + row * pitches[0], plan) + n))
    return addresses


def gather(plan: Shifted, pitches: tuple[int, int], starts: tuple[int, int], warp: int, step: int) -> int:
    """Wavefronts of one step of the 32 lanes."""
    return shared_wavefronts(gathered(plan, pitches, starts, warp, step), 8 * plan.size).wavefronts


GATHERED = [
    *(Shifted(), Shifted((128, 128), 8, 16), Shifted((128, 256), 16, 32), Shifted((248, 128), 16, 16)),
    *(
        Shifted((56, 128), 4, 16, most=8),
        Shifted((112, 256), 8, 32, size=1),
        Shifted((240, 128), 4, 16, size=1),
    ),
    *(Shifted((60, 64), 8, 8, size=4), Shifted((62, 128), 16, 4, size=8)),
]


@pytest.mark.parametrize("plan", thinned([pytest.param(plan, id=str(plan)) for plan in GATHERED], 3))
def test_no_pitch_and_no_base_makes_the_gather_conflict(plan: Shifted) -> None:
    worst = {
        (*pitches, *starts): ways
        for pitches in product(range(plan.chunk), repeat=2)
        for starts in product((0, 1, 6), (0, 3))
        for warp, step in ((0, 0), (1, 3))
        if (ways := gather(plan, pitches, starts, warp, step)) > max(plan.size // 4, 1)
    }
    assert worst == {}


SHIFTED = [*(plan for plan in PLANS.values() if isinstance(plan, Shifted)), Shifted((56, 128), 4, 16, most=8)]


@pytest.mark.parametrize("plan", SHIFTED, ids=str)
def test_every_column_of_a_tile_is_stored_once(plan: Shifted) -> None:
    """In passes of 4 columns a warp; in the last, the warps beyond the tile's columns have none."""
    at_once = LANES_N * plan.warps
    for pitches in range(8):
        taken = [
            column1
            for warp, lane, step in product(
                range(plan.warps), range(LANES_N), range(-(-plan.tile[0] // at_once))
            )
            if (column1 := column(warp, lane, pitches, plan.word) + step * at_once) < plan.tile[0]
        ]
        assert sorted(taken) == list(range(plan.tile[0]))
    # What comes a pass later starts as far into a run of `align` elements, whatever the pitch.
    assert at_once % plan.align == 0


@pytest.mark.parametrize("plan", SHIFTED, ids=str)
def test_every_chunk_of_a_row_is_loaded_once(plan: Shifted) -> None:
    """By rows of threads; where they do not take the chunk past the tile, a thread a row does."""
    beyond = [] if plan.snug else product(range(plan.rows), [plan.each])
    loaded = [
        *(
            (tid // plan.each + first, tid % plan.each)
            for first in range(0, plan.rows, plan.step)
            for tid in range(plan.step * plan.each)
            if tid // plan.each + first < plan.rows
        ),
        *beyond,
    ]
    assert plan.step * plan.each <= plan.threads
    assert sorted(loaded) == list(product(range(plan.rows), range(plan.pitch // plan.chunk)))


@pytest.mark.parametrize("plan", SHIFTED, ids=str)
def test_what_a_thread_holds_leaves_registers_for_the_rest(plan: Shifted) -> None:
    """Four a chunk, of those that `residents` blocks leave to a thread: it works out addresses in 22 more."""
    held = 4 * -(-plan.rows // plan.step)
    assert held + 22 <= 65536 // (plan.residents * plan.threads)
    assert plan.residents * plan.smem_bytes <= 1024 * SMEM_KIB


@pytest.mark.parametrize("plan", [plan for plan in PLANS.values() if isinstance(plan, Shifted)], ids=str)
def test_the_rows_that_a_thread_loads_start_alike(plan: Shifted) -> None:
    """It works out where one starts in its chunk, and goes on by `step` rows, whatever the pitch."""
    assert plan.step > 0 and plan.step % plan.chunk == 0 == plan.threads % plan.chunk
    assert plan.step * plan.tile[0] // plan.chunk <= plan.threads
    for row in range(2 * plan.chunk):
        for rows in (plan.step, plan.threads):
            assert in_smem(row + rows, 0, plan) - in_smem(row, 0, plan) == plan.chunk * plan.chunks_of(rows)
