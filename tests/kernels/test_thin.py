"""The plans of thin matrices: what they load, where their gather reads, what a multiprocessor must have."""

from itertools import product

import pytest

pytest.importorskip("cutlass", reason="kernels/ needs nvidia-cutlass-dsl")


from kernels.transpose.chunks import LANES_M, LANES_N, ahead_by, column
from kernels.transpose.common import SMEM_KIB
from kernels.transpose.few_columns import FewColumns, run_slot
from kernels.transpose.few_rows import REGISTERS, FewRows, place_of
from kernels.transpose.plans import FEW, few_columns, few_rows
from kernels.transpose.spliced import Spliced
from layoutcheck.machine.banks import shared_wavefronts
from tests.kernels.test_plans import Tensor

SLOPES = (None, *range(8))


def rows_plans(count: int, slope: int | None) -> list[FewRows]:
    long = Tensor(count, 20000 + (slope or 0))
    return [
        plan for plan in few_rows(long, Tensor(long.shape[1], count)).values() if isinstance(plan, FewRows)
    ]


def columns_plans(count: int, slope: int | None) -> list[FewColumns]:
    long = Tensor(count, 20000 + (slope or 0), address=2 * (slope is not None))
    plans = few_columns(Tensor(20000, count), long).values()
    return [plan for plan in plans if isinstance(plan, FewColumns)]


def chunks_of(plan: FewRows) -> list[list[int | None]]:
    """The chunk of `y` that each lane stores first, warp by warp; None if it has none."""
    among = plan.parts // LANES_N
    found = []
    for warp in range(plan.threads // 32):
        lanes = []
        for lane in range(32):
            in_part = warp // among * LANES_M + lane % LANES_M
            mine = (warp % among * LANES_N + lane // LANES_M) * plan.part + in_part
            lanes.append(mine if in_part < plan.part and mine < plan.chunks else None)
        found.append(lanes)
    return found


@pytest.mark.parametrize("count", [2, 5, 8, 9, 24, 33, 63, 70, 127, 137, 255, 300, 441, 512])
def test_every_chunk_of_few_rows_is_stored_once(count: int) -> None:
    for slope in SLOPES:
        for plan in rows_plans(count, slope):
            taken = [mine for lanes in chunks_of(plan) for mine in lanes if mine is not None]
            assert sorted(taken) == list(range(plan.chunks)), plan
            assert plan.columns % (plan.chunk * plan.unit) == 0 and plan.threads <= 1024
            assert plan.step > 0 and plan.step * plan.passes >= count


def wavefronts(plan: FewRows, step: int) -> tuple[int, int]:
    """Of the reads of one element of every lane's chunk, and the least that these lanes can take."""
    most = least = 0
    for lanes in chunks_of(plan):
        places = []
        for lane, mine in enumerate(lanes):
            if mine is not None:
                ahead = ahead_by(lane // LANES_M, plan.product)
                across, row = divmod(plan.chunk * mine + (step + 2 * ahead) % plan.chunk, plan.count)
                low = 3 if plan.slope is not None else 0
                places.append(2 * (place_of(row, low, plan) + across))
        if places:
            idle = [places[0]] * (32 - len(places))
            most, least = most + shared_wavefronts(places + idle, 16).wavefronts, least + 1
    return most, least


@pytest.mark.parametrize(
    ("count", "ways", "most"), [(33, 2.4, 3.6), (70, 3.2, 5), (137, 1.65, 2.4), (255, 1.5, 2.2)]
)
def test_few_rows_are_gathered_with_few_bank_conflicts(count: int, ways: float, most: float) -> None:
    """At any pitch, on average and at most. Where columns are few and units many, rows end within a part."""
    found = []
    for slope in SLOPES:
        for plan in rows_plans(count, slope):
            steps = [wavefronts(plan, step) for step in (0, 3)]
            taken, least = (sum(each) for each in zip(*steps, strict=True))
            found.append(taken / least)
    assert max(found) <= most
    assert sum(found) <= ways * len(found)


@pytest.mark.parametrize("count", [9, 17, 20, 33, 60, 63, 64, 70, 167, 255, 256, 300, 512])
def test_few_columns_are_gathered_without_bank_conflicts(count: int) -> None:
    for slope, start, warp, step in product(SLOPES, (0, 3), (0, 3), (0, 5)):
        for plan in columns_plans(count, slope):
            places = []
            for lane in range(32):
                n1 = column(warp // plan.stacks, lane // LANES_M, plan.product)
                late = (start + n1 * plan.slope) % plan.align if plan.align else 0
                further = warp % plan.stacks * LANES_M + lane % LANES_M
                ahead = ahead_by(lane // LANES_M, plan.product)
                row = plan.align - late + plan.chunk * further + (step + 2 * ahead) % plan.chunk
                assert 0 <= row < plan.chunk * plan.runs
                chunk, element = divmod(row * count + n1, plan.chunk)
                if n1 < count:
                    # `x` as it lies, with a chunk left out after every run of 8 rows.
                    assert chunk // count == row // plan.chunk
                    places.append(2 * (plan.chunk * run_slot(chunk, plan) + element))
            places += places[:1] * (32 - len(places))
            assert not places or shared_wavefronts(places, 16).wavefronts == 1, plan


@pytest.mark.parametrize("count", [9, 33, 64, 255, 300, 512])
def test_every_column_is_stored_once_and_starts_as_its_thread_expects(count: int) -> None:
    for slope in SLOPES:
        for plan in columns_plans(count, slope):
            assert plan.across % max(plan.align, 1) == 0 and plan.warps % plan.stacks == 0
            taken = [
                n1
                for warp, lane, i in product(
                    range(plan.warps // plan.stacks), range(LANES_N), range(-(-count // plan.across))
                )
                if (n1 := column(warp, lane, plan.product) + i * plan.across) < count
            ]
            assert sorted(taken) == list(range(count)), plan


def test_a_multiprocessor_has_what_its_blocks_take() -> None:
    for count, slope in product(range(2, FEW + 1), (None, 1)):
        for plan in (*rows_plans(count, slope), *columns_plans(count, slope)):
            blocks = plan.residents
            assert blocks * plan.smem_bytes <= 1024 * SMEM_KIB, plan
            assert blocks * plan.threads <= 2048, plan
            held = 0 if isinstance(plan, FewRows) and plan.load == "async" else 4 * plan.passes
            assert plan.threads * max(held + 22, 16 + 2 * plan.chunk) * blocks <= REGISTERS, plan
            if isinstance(plan, FewRows) and (fewer := plan._replace(eager=True).residents) > 1:
                assert plan.threads * (held + plan.chunk + 18) * fewer <= REGISTERS and fewer <= blocks, plan


@pytest.mark.parametrize("threads", [64, 256])
def test_threads_have_registers_for_all_words_that_they_ask_for(threads: int) -> None:
    """Two for each row: with 32 registers, a thread of 15 rows would wait before it asks for all."""
    for count in range(1, 16):
        plan = Spliced("rows", count, 1, 1, threads)
        assert REGISTERS // (plan.residents * threads) // 8 * 8 >= 2 * count + 20, plan
        more = plan.residents + 1
        full = (plan.smem_bytes * more > 1024 * SMEM_KIB, threads * more > 2048, more > 32)
        assert any(full) or REGISTERS // (more * threads) // 8 * 8 < 2 * count + 20, plan
    assert Spliced("rows", 2, 1, 1).residents == 8 and Spliced("rows", 15, 1, 1).residents == 4
