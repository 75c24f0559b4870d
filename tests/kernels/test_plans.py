"""Which plans `transpose` chooses from, and what it refuses; no device is needed for either."""

from __future__ import annotations

from itertools import product
from math import prod
from typing import Any

import pytest

pytest.importorskip("cutlass", reason="kernels/ needs nvidia-cutlass-dsl")


from kernels.transpose import fastest, plans, shifted
from kernels.transpose.blocks import Blocks
from kernels.transpose.choice import BASE_BYTES, DOUBT, ROUNDS, TIE, like, quickest, timed
from kernels.transpose.common import AFTER, SMEM_KIB, SOON
from kernels.transpose.direct import Direct
from kernels.transpose.exchange import Exchange
from kernels.transpose.fastest import transpose
from kernels.transpose.few_columns import FewColumns
from kernels.transpose.few_rows import FewRows
from kernels.transpose.flat import Flat
from kernels.transpose.narrow import Narrow, Small
from kernels.transpose.padded import Padded
from kernels.transpose.plans import (
    MOST_PASSES,
    MOST_THREADS,
    SEVERAL,
    SHORT,
    align_bytes,
    candidates,
)
from kernels.transpose.plans import WHOLE as MOST
from kernels.transpose.runs import Runs
from kernels.transpose.shifted import Shifted
from kernels.transpose.spliced import Spliced
from kernels.transpose.whole import Whole


class Tensor:
    """What the choice looks at."""

    def __init__(self, *shape: int, pad: int = 0, address: int = 0, size: int = 2, last: int = 1) -> None:
        self.shape, self.address, self.size = shape, address, size
        pitch = last * shape[-1] + pad
        self.strides = (*([shape[-2] * pitch] if len(shape) == 3 else []), pitch, last)
        self.dtype = f"{size} bytes"

    def stride(self, mode: int | None = None) -> Any:
        return self.strides if mode is None else self.strides[mode]

    def dim(self) -> int:
        return len(self.shape)

    def data_ptr(self) -> int:
        return self.address

    def element_size(self) -> int:
        return self.size

    def numel(self) -> int:
        return prod(self.shape)


class Turned(Tensor):
    """Contiguous columns in place of rows."""

    def __init__(self, *shape: int, **more: int) -> None:
        super().__init__(*shape[:-2], shape[-1], shape[-2], **more)
        self.shape, self.strides = shape, (*self.strides[:-2], 1, self.strides[-2])


ANY = {Shifted, Direct, Narrow, Small}
LONG = {Spliced, Runs}
WHOLE = {Exchange, Blocks, *ANY}


@pytest.mark.parametrize(
    ("x", "y", "kinds"),
    [
        (Tensor(1024, 2048), Tensor(2048, 1024), WHOLE),
        (Tensor(5, 1024, 2048), Tensor(5, 2048, 1024), WHOLE),
        (Tensor(1032, 2048), Tensor(2048, 1032), WHOLE),
        (Tensor(8192, 8192), Tensor(8192, 8192), {Exchange, Shifted, Narrow, Small}),
        (Tensor(1024, 2044), Tensor(2044, 1024), {Blocks, *ANY}),
        (Tensor(1024, 2043), Tensor(2043, 1024), ANY),
        (Tensor(1024, 2048, address=2), Tensor(2048, 1024), ANY),
        (Tensor(1024, 2048), Tensor(2048, 1024, pad=1), ANY),
        (Tensor(3, 20001), Tensor(20001, 3), {*LONG, *ANY}),
        (Tensor(5, 20008), Tensor(20008, 5), {*LONG, FewRows, *ANY}),
        (Tensor(20008, 3), Tensor(3, 20008), {*LONG, *ANY}),
        (Tensor(9, 20001), Tensor(20001, 9), {FewRows, *ANY}),
        (Tensor(9, 20001, pad=5), Tensor(20001, 9), {FewRows, *ANY}),
        (Tensor(9, 20001, address=2), Tensor(20001, 9), {FewRows, *ANY}),
        (Tensor(9, 20001), Tensor(20001, 9, address=2), {FewRows, *ANY}),
        (Tensor(9, 20001), Tensor(20001, 9, pad=5), ANY),
        (Tensor(16, 20001), Tensor(20001, 16, pad=5), {Padded, *ANY}),
        (Tensor(48, 20008), Tensor(20008, 48), {FewRows, Exchange, Blocks, *ANY}),
        (Tensor(49, 20008), Tensor(20008, 49), {FewRows, *ANY}),
        (Tensor(513, 20008), Tensor(20008, 513), ANY),
        (Tensor(20008, 16), Tensor(16, 20008), {FewColumns, *LONG, Exchange, Blocks, *ANY}),
        (Tensor(20008, 17), Tensor(17, 20008), {FewColumns, *ANY}),
        (Tensor(20008, 17), Tensor(17, 20008, pad=5, address=2), {FewColumns, *ANY}),
        (Tensor(20008, 17, address=2), Tensor(17, 20008), {FewColumns, *ANY}),
        (Tensor(20008, 20, address=2), Tensor(20, 20008), {FewColumns, *ANY}),
        (Tensor(20008, 17, pad=8), Tensor(17, 20008), {FewColumns, *ANY}),
        (Tensor(20008, 17, pad=9), Tensor(17, 20008), ANY),
        (Tensor(1, 99999), Tensor(99999, 1), {Flat, *LONG, *ANY}),
        (Tensor(1, 99999, address=2), Tensor(99999, 1), {*LONG, *ANY}),
        (Tensor(9, 77, 129), Tensor(9, 129, 77), {Whole, FewRows, *ANY}),
        (Tensor(9, 200, 130), Tensor(9, 130, 200), {FewRows, *ANY}),
        (Tensor(500, 60, 96), Tensor(500, 96, 60, pad=44800), {Blocks, Shifted, Direct, Narrow, Padded}),
        (Tensor(9, 77, 129, pad=1), Tensor(9, 129, 77, pad=1), {Whole, Padded, *ANY}),
        (Tensor(9, 77, 129, pad=65), Tensor(9, 129, 77), {FewRows, *ANY}),
        (Tensor(5, 20001, pad=5), Tensor(20001, 5), {*LONG, FewRows, *ANY}),
        (Tensor(3, 20001), Tensor(20001, 3, pad=5), ANY),
        (Tensor(9, 3, 20001), Tensor(9, 20001, 3), ANY),
        (Tensor(64, 64, last=2), Tensor(64, 64), {Narrow}),
        (Turned(64, 99), Tensor(99, 64), {Flat, Direct, Narrow}),
        (Turned(64, 99, pad=1), Tensor(99, 64), {Direct, Narrow}),
        (Turned(7, 64, 99), Tensor(7, 99, 64), {Flat, Direct, Narrow}),
        (Tensor(8191, 8193), Tensor(8193, 8191), {Shifted, Narrow, Small}),
        (Tensor(8193, 8193), Tensor(8193, 8193), {Shifted, Narrow}),
    ],
)
def test_the_plans_are_those_that_fit(x: Tensor, y: Tensor, kinds: set[type]) -> None:
    assert {type(plan) for plan in candidates(x, y).values()} == kinds


@pytest.mark.parametrize("size", [1, 4, 8])
def test_plans_of_other_sizes_are_those_that_take_them(size: int) -> None:
    single, shape = {Shifted, Direct, Narrow, Small}, (1024, 2048)
    whole = candidates(Tensor(*shape, size=size), Tensor(*reversed(shape), size=size)).values()
    larger = [Exchange] if size > 1 else []
    assert {type(plan) for plan in whole} == {*larger, *single, *([Blocks] if size < 8 else [])}
    exchanges = [plan for plan in whole if isinstance(plan, Exchange)]
    assert len(exchanges) == len(larger)  # and one with bulk stores, which need sm_90
    for plan in exchanges:
        assert plan.size == size and plan.threads <= 1024 and plan.blocks[1] % 8 == 0
        assert plan.residents * plan.threads <= 2048
    assert {align_bytes(plan, size) for plan in whole if type(plan) in single} == {size}
    odd = candidates(Tensor(99, 101, size=size), Tensor(101, 99, size=size)).values()
    assert {type(plan) for plan in odd} == {FewColumns, *single, *([FewRows] if size < 8 else [])}


@pytest.mark.parametrize("columns", [65535 * 64, 65535 * 64 + 1, 65535 * 128])
def test_no_grid_is_too_tall(columns: int) -> None:
    found = candidates(Tensor(70, columns), Tensor(columns, 70)).values()
    tiles = [plan.tile[0] for plan in found if isinstance(plan, Shifted)]
    assert tiles and all(columns <= 65535 * tile for tile in tiles)
    assert (120 in tiles) == (columns < 65535 * 128)


@pytest.mark.parametrize(
    ("pad", "address", "slope"),
    [(8, 0, None), (0, 0, None), (8, 16, None), (0, 2, 0), (1, 0, 1), (7, 0, 7), (11, 4, 3)],
)
def test_thin_plans_know_how_the_long_rows_start(pad: int, address: int, slope: int | None) -> None:
    """On 16 bytes, or each so far from where the one before starts; those of `y` on whole sectors, or not."""
    long, run = Tensor(33, 20008, pad=pad, address=address), Tensor(20008, 33)
    rows = [plan for plan in candidates(long, run).values() if isinstance(plan, FewRows)]
    columns = [plan for plan in candidates(run, long).values() if isinstance(plan, FewColumns)]
    assert {(plan.count, plan.slope) for plan in rows} == {(33, slope)}
    assert {(plan.count, plan.align, plan.slope) for plan in columns} == {
        (33, 0 if (pad, address) == (8, 0) else 16, slope or 0)
    }


@pytest.mark.parametrize("size", [1, 2, 4, 8])
def test_tiles_of_rows_with_pads_hold_them_and_are_shared_evenly(size: int) -> None:
    """Both tensors may start anywhere. No tile could do without as many columns as it stores side by side."""
    for count, n in product([2, 5, 9, 41, 100, 255, 512, 513], [1, 9, 100, 20001]):
        x, y = Tensor(count, n, address=size, size=size), Tensor(n, count, pad=3, size=size)
        plans = [plan for plan in candidates(x, y).values() if isinstance(plan, Padded)]
        assert bool(plans) == (32 // size <= count <= 512), (count, n)
        for plan in plans:
            assert plan.columns % plan.across == 0 == plan.across % plan.sector
            assert (plan.count, plan.size) == (count, size) and 0 < plan.threads <= 1024
            assert plan.step * plan.passes >= count and plan.residents > 1
            tiles = -(-n // plan.columns)
            assert plan.columns - n / tiles < plan.across + 1
        even = candidates(x, Tensor(n, count, size=size)).values()
        assert not any(isinstance(plan, Padded) for plan in even), (count, n)


@pytest.mark.parametrize(("columns", "known"), [(129, True), (130, True), (128, False), (60, False)])
def test_a_matrix_of_known_size_is_gathered_where_banks_do_not_conflict(columns: int, known: bool) -> None:
    found = candidates(Tensor(9, 77, columns), Tensor(9, columns, 77))
    alone = {plan.shape for plan in found.values() if isinstance(plan, Whole) and plan.items == 1}
    assert alone == ({(77, columns)} if known else set())


@pytest.mark.parametrize("size", [1, 2, 4, 8])
@pytest.mark.parametrize(("m", "n"), [(3, 3), (2, 3), (16, 16), (33, 77), (5, 7)])
@pytest.mark.parametrize(("pads", "address"), [((0, 0), 0), ((1, 0), 3), ((0, 1), 8)])
def test_matrices_that_share_a_block_fill_it(
    m: int, n: int, size: int, pads: tuple[int, int], address: int
) -> None:
    """Wherever they start, whatever their pitches: its threads store all of them, and no more."""
    x = Tensor(5000, m, n, size=size, pad=pads[0], address=size * address)
    y = Tensor(5000, n, m, size=size, pad=pads[1])
    plans = [plan for plan in candidates(x, y).values() if isinstance(plan, Whole)]
    most = max(about for about, *_ in (SHORT if size < 4 else SEVERAL))
    held = size * m * (n + pads[0])
    assert any(plan.items > 1 for plan in plans) == (2 * held <= most)
    # Elements one at a time only where rows have pads in between; words and half chunks of short ones.
    halves = [8] if (size == 8 and pads[1]) or (size < 4 and 2 * held <= 9 << 10) else []
    words, single = [4] if size < 4 else [], [size] if pads[1] else []
    assert {plan.store for plan in plans} == {16, *halves, *words, *single}
    for plan in plans:
        assert plan.items == 1 or held * plan.items <= most
        assert held <= MOST and plan.pads == pads and 32 <= plan.threads <= MOST_THREADS
        stores = plan.items * n * (m + pads[1]) / plan.stored
        assert stores <= plan.beside * plan.passes < stores + plan.beside + 3
        assert plan.beside <= plan.threads < plan.beside + 32 and plan.passes <= MOST_PASSES
    apart = Tensor(5000, m + 1, n, size=size)
    apart.shape = (5000, m, n)
    assert all(plan.items == 1 for plan in candidates(apart, y).values() if isinstance(plan, Whole))


@pytest.mark.parametrize("size", [1, 2, 8])
@pytest.mark.parametrize("store", [4, 8, 16])
@pytest.mark.parametrize(
    ("m", "n", "pads"), [(5, 7, (0, 0)), (9, 16, (0, 1)), (3, 30, (2, 0)), (77, 16, (0, 0))]
)
def test_stores_of_a_thread_that_are_alike_lie_a_number_apart(m, n, pads, size: int, store: int) -> None:
    """Also where a chunk of shared memory is left out for each line, as rows of `x` on chunks ask for."""
    for items, beside in product((1, 3, 8) if size <= store else (), (6, 35, 64)):
        plan = Whole((m, n), items, beside, size, pads, store)
        run, chunk = plan.items * plan.apart[1], plan.chunk

        def place(element: int, plan: Whole = plan, chunk: int = chunk) -> int:
            item, within = divmod(element, plan.apart[1])
            column, row = divmod(within, plan.pitches[1])
            found = item * plan.apart[0] + row * plan.pitches[0] + column
            return found + plan.spread * (found * plan.size // 128 * chunk)

        step = plan.stored * plan.beside * plan.sets
        apart = {place(element + step) - place(element) for element in range(max(run - step, 0))}
        assert apart <= {plan.further} and plan.spread == (size * (n + pads[0]) % 16 == 0)
        assert run <= step or plan.room * chunk > place(run - 1)


def test_tensors_of_contiguous_columns_exchange_their_modes() -> None:
    class Permuted(Turned):
        def permute(self, modes: tuple[int, ...]) -> Tensor:
            found = Tensor(*(self.shape[mode] for mode in modes))
            found.strides = tuple(self.strides[mode] for mode in modes)
            return found

    x, y = fastest.by_rows(Permuted(5, 64, 99), Permuted(5, 99, 64))
    assert (x.shape, x.strides, y.shape) == ((5, 99, 64), (64 * 99, 64, 1), (5, 64, 99))
    row = Tensor(64, 99), Turned(99, 64)
    assert fastest.by_rows(*row) == row


@pytest.mark.parametrize("address", [0, 2, 16, 510, 514])
@pytest.mark.parametrize("room_at", [0, 64, 1024])
def test_a_copy_lies_like_its_original_and_inside_its_memory(address: int, room_at: int) -> None:
    class Original(Tensor):
        def new_empty(self, count: int) -> Any:
            return Room(count)

    class Room:
        def __init__(self, count: int) -> None:
            self.count = count

        def data_ptr(self) -> int:
            return room_at

        def as_strided(self, shape: tuple[int, ...], strides: tuple[int, ...], start: int) -> tuple[int, int]:
            last = start + sum((n - 1) * stride for n, stride in zip(shape, strides, strict=True))
            assert 0 <= start <= last < self.count
            return start, last

    start, last = like(Original(5, 7, 9, pad=3, address=address))
    assert (room_at + 2 * start - address) % BASE_BYTES == 0
    assert last - start == 4 * 7 * 12 + 6 * 12 + 8


@pytest.mark.parametrize("size", [1, 2, 4, 8])
def test_lanes_turn_only_where_the_pitches_ask_for_it(size: int) -> None:
    """Where no lane reads ahead of another: see `chunks.ahead_by`."""
    for pads in product(range(16), repeat=2):
        x, y = Tensor(500, 600, pad=pads[0], size=size), Tensor(600, 500, pad=pads[1], size=size)
        found = {plan.ahead for plan in candidates(x, y).values() if isinstance(plan, Shifted)}
        move = 1 - x.stride(-2) * y.stride(-2)  # elements in a chunk, from one column to the next
        assert found == {move % (2 * max(4 // size, 1)) == 0}, pads


@pytest.mark.parametrize(
    ("shape", "wide"),
    [
        ((3681, 4464), True),  # 29 x 9 of them
        ((3682, 4464), False),  # 30 x 9: a row of `y` takes up to 31 rows of `x` more
        ((3681, 4465), False),
        ((4065, 1985), True),  # 32 x 9 of half the width
        ((4065, 1984), False),  # 32 x 8 of these are one wave, too
        ((33, 97, 3968), True),
        ((33, 98, 3968), False),
    ],
)
def test_wide_tiles_are_for_what_one_wave_of_them_holds(
    shape: tuple[int, ...], wide: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tiles of 496 x 128, two on each of 132 multiprocessors."""
    monkeypatch.setattr(shifted, "multiprocessors", lambda: 132)
    found = candidates(Tensor(*shape, size=1), Tensor(*shape[:-2], *shape[:-3:-1], size=1))
    assert sum(isinstance(plan, Shifted) and plan.once for plan in found.values()) == 2 * wide


def test_tiles_of_few_rows_leave_no_multiprocessor_with_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """66,943 columns over 132 multiprocessors are 507.1 each: 6.3 tiles of 80, or 4.5 of 112."""
    monkeypatch.setattr(plans, "multiprocessors", lambda: 132)
    assert plans.evenest(Tensor(153, 66943, size=1), range(80, 113, 16)) == 80
    # 48 matrices of 308 columns: 13 tiles of 24 for each are 624, 5 or 4 on a multiprocessor.
    assert plans.evenest(Tensor(48, 119, 308), range(32, 81, 16)) == 48
    monkeypatch.setattr(plans, "multiprocessors", lambda: 80)
    assert plans.evenest(Tensor(48, 119, 308), range(32, 81, 16)) == 32


@pytest.mark.parametrize("size", [2, 4, 8])
def test_a_thread_of_runs_holds_as_much_of_any_thin_matrix(size: int) -> None:
    """About 32 bytes, but one element of each row at least; no place of a block is 2**31 or more."""
    for count, rows in product([1, 2, 5, 8, 16], [True, False]):
        long = (count, 20001) if rows else (20001, count)
        x, y = Tensor(*long, size=size, address=size), Tensor(*long[::-1], size=size)
        plans = [plan for plan in candidates(x, y).values() if isinstance(plan, Runs)]
        assert len(plans) == (0 if rows and count > 8 else 2), long
        for plan in plans:
            assert (plan.few, plan.count, plan.size) == ("rows" if rows else "columns", count, size)
            held = plan.threads * plan.each * count * size
            assert held == 256 * count * size or 256 * 16 < held <= 256 * 32
            assert (
                plan.residents * plan.smem_bytes <= 1024 * SMEM_KIB and plan.residents * plan.threads <= 2048
            )
    most = (1 << 31) - (1 << 16)
    for elements in (most, most - 4):
        x, y = Tensor(elements // 4, 4, size=4), Tensor(4, elements // 4, size=4)
        assert any(isinstance(plan, Runs) for plan in candidates(x, y).values()) == (elements < most)


@pytest.mark.parametrize("count", [7, 8, 9, 13, 15, 16])
def test_few_rows_of_bytes_have_a_plan_for_thin_matrices_at_any_base(count: int) -> None:
    """`FewRows` takes as many rows as a chunk has elements, at least, where `y` does not start on one."""
    x, y = Tensor(count, 309329, size=1), Tensor(309329, count, size=1, address=2)
    kinds = {type(plan) for plan in candidates(x, y).values()}
    assert kinds == {Spliced if count < 16 else FewRows, Shifted, Direct, Narrow, Small}


@pytest.mark.parametrize(
    ("shape", "size", "fetches"),
    [
        ((31, 68776), 1, {True}),
        ((63, 20001), 8, {True}),
        ((127, 20001), 1, {True}),
        ((160, 20001), 1, {True, False}),  # 160 rows of 128 bytes are 20 KB; of fewer columns, less
        ((127, 20001), 2, {True, False}),  # 127 rows of 128 bytes are 16 KB, of 192 are 24 KB
        ((128, 20001), 4, {False}),
        ((9, 300, 515), 1, {True}),
        ((9, 181, 445), 2, {True, False}),  # 181 rows of 96 bytes are 17 KB, of 128 are 23 KB
    ],
)
def test_blocks_of_few_rows_ask_early_for_what_is_short(
    shape: tuple[int, ...], size: int, fetches: set[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plans, "multiprocessors", lambda: 132)
    x, y = Tensor(*shape, size=size), Tensor(*shape[:-2], shape[-1], shape[-2], size=size)
    found = [plan for plan in candidates(x, y).values() if isinstance(plan, FewRows)]
    assert {plan.fetch for plan in found} == fetches


def test_a_choice_serves_elements_of_its_size_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"captured": False, "call": None, "copies": []}.items():
        monkeypatch.setattr(fastest, name, lambda *_, value=value: value)
    monkeypatch.setattr(fastest, "timed", lambda ways, *_: ways[0])
    monkeypatch.setattr(fastest, "CHOSEN", {})
    monkeypatch.setattr(Tensor, "device", "cuda", raising=False)
    for size in (1, 2, 4, 8, 1):
        both = Tensor(1024, 2048, size=size), Tensor(2048, 1024, size=size)
        assert fastest.chosen(*both, 0).plan.fits(*both)
    assert len(fastest.CHOSEN) == 4


def test_one_plan_alone_is_not_timed() -> None:
    assert timed(["only"], lambda plan: pytest.fail("timed")) == "only"


def test_the_quickest_by_median_of_the_best_is_chosen() -> None:
    """`b` was quicker once, by chance; behind the fourth nothing runs again."""
    asked: list[str] = []

    def time(plan: str) -> float:
        asked.append(plan)
        if plan == "b" and asked.count("b") == 1:
            return 0.5
        return {"a": 1.0, "b": 2.0, "c": 3.0, "d": 4.0, "e": 5.0, "f": 6.0, "slow": 9.0}[plan]

    assert quickest(["slow", *"fedcba"], time) == "a"
    assert [asked.count(plan) - 1 for plan in (*"abcdef", "slow")] == [ROUNDS] * 4 + [0] * 3


def test_variants_of_the_finalists_run_with_them() -> None:
    times = dict(zip("abcdef", range(1, 7), strict=True)) | {"slow": 9, "c'": 0.5, "b'": 1, "slow'": 0.1}
    asked: list[str] = []

    def time(plan: str) -> float:
        asked.append(plan)
        return times[plan]

    def variants(plan: str) -> list[str]:
        return [f"{plan}'"] if f"{plan}'" in times else []

    assert quickest(["slow", *"fedcba"], time, variants) == "c'"
    assert "slow'" not in asked and asked.count("b'") == ROUNDS
    times["c'"] = 1.001 / DOUBT  # not by enough
    assert quickest(["slow", *"fedcba"], time, variants) == "a"


def test_others_start_after_the_wait_only_where_many_launches_are_resident(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """By the multiprocessors of the device; where none can start early, none does."""
    monkeypatch.setattr(fastest, "overlaps", lambda: True)
    monkeypatch.setattr(fastest, "multiprocessors", lambda: 10)
    most = 10 * fastest.RESIDENT_BYTES
    assert fastest.starts(Tensor(most // 4, 2)) == [SOON, AFTER]
    assert fastest.starts(Tensor(most // 4 + 1, 2)) == [SOON]
    monkeypatch.setattr(fastest, "overlaps", lambda: False)
    assert fastest.starts(Tensor(8, 8)) == [0]


def test_of_plans_that_are_alike_the_first_is_chosen() -> None:
    times = {"a": 1.0 * TIE, "b": 1.0, "c": 1.001 * TIE, "d": 2.0}
    assert quickest(["d", "c", "a", "b"], times.__getitem__) == "a"
    assert quickest(["c", "b", "a"], times.__getitem__) == "b"


@pytest.mark.parametrize(
    ("x", "y", "said"),
    [
        (Tensor(3, 4), Tensor(3, 4), "x is 3 x 4, so y must be 4 x 3, not 3 x 4"),
        (Tensor(2, 3, 4), Tensor(4, 3), "x is 2 x 3 x 4, so y must be 2 x 4 x 3, not 4 x 3"),
        (
            Tensor(3, 4, size=16),
            Tensor(4, 3, size=16),
            "1, 2, 4 or 8 bytes for both, got 16 bytes and 16 bytes",
        ),
        (Tensor(3, 4, size=4), Tensor(4, 3, size=8), "1, 2, 4 or 8 bytes for both, got 4 bytes and 8 bytes"),
    ],
)
def test_what_does_not_fit_is_refused(x: Tensor, y: Tensor, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        transpose(x, y)


def test_more_than_one_batch_mode_is_refused() -> None:
    class Four(Tensor):
        def __init__(self) -> None:
            super().__init__(3, 4)
            self.shape = (2, 2, 3, 4)

    with pytest.raises(ValueError, match="x is 2 x 2 x 3 x 4: expected"):
        transpose(Four(), Four())
