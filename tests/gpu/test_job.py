"""Jobs: what a plan predicts and what it asks for, worked out by hand for small copies."""

from __future__ import annotations

import numpy as np
import pytest

from layoutcheck.atoms.universal import UniversalCopy
from layoutcheck.copies.copy import Copy
from layoutcheck.errors import InputError
from layoutcheck.gpu.completion import STALLED, UNSETTLED
from layoutcheck.gpu.images import ANY, POISON, UNMAPPED, ZERO, NotRunnable, turns
from layoutcheck.gpu.job import Parameter
from layoutcheck.gpu.make_job import SHARED_BASE, SHARED_MOST_BYTES, make_job
from layoutcheck.gpu.outcome import Confirmation
from layoutcheck.machine.dtypes import dtype
from layoutcheck.sources.request import build
from tests.miscompiles import MISCOMPILES, memref

F32 = dtype("f32")


def copy(src: str, dst: str, atom: str = "cp.async", bits: int | None = 128, **more: object) -> Copy:
    return build(src, dst, atom, bits=bits, dtype="bf16", **more)[0]  # type: ignore[arg-type]


def bytes_from_base(job_image: np.ndarray, origin: int, count: int) -> list[int]:
    return job_image[origin : origin + count].tolist()


def test_a_right_copy_is_predicted_as_asked() -> None:
    job = make_job(copy("(8):(1)", "(8):(1)"))
    assert (job.threads, job.fault) == (1, "")
    assert (job.predicted == job.asked).all()
    written = np.flatnonzero(job.predicted != POISON)
    assert written.tolist() == list(range(job.dst.origin, job.dst.origin + 16))
    assert bytes_from_base(job.predicted, job.dst.origin, 16) == [job.src.origin + i for i in range(16)]


def test_a_scattered_destination_is_predicted_adjacent_and_asked_apart() -> None:
    job = make_job(copy("(8):(1)", "(8):(64)"))
    base, source = job.dst.origin, job.src.origin
    assert bytes_from_base(job.predicted, base, 16) == [source + i for i in range(16)]
    for element in range(8):
        asked = bytes_from_base(job.asked, base + 128 * element, 2)
        assert asked == [source + 2 * element, source + 2 * element + 1]
    assert np.count_nonzero(job.asked != POISON) == 16


def test_misaligned_vectors_are_predicted_to_fault() -> None:
    assert make_job(MISCOMPILES["h02"][0]).fault == "misaligned"
    assert make_job(MISCOMPILES["h02"][1]).fault == ""


def test_a_tile_starts_each_thread_at_its_own_row() -> None:
    whole = copy("(4,8):(8,1)", "(4,8):(8,1)", thr="(4,1):(1,4)", val="(1,8)")
    job = make_job(whole)
    assert job.threads == 4
    assert [src.at - job.src.origin for src, _ in job.parameters] == [0, 16, 32, 48]
    assert [dst.width for _, dst in job.parameters] == [4] * 4  # shared pointers have 32 bits
    assert (job.predicted == job.asked).all() and np.count_nonzero(job.asked != POISON) == 64


def test_idle_threads_are_launched_too() -> None:
    whole = copy("(4,8):(8,1)", "(4,8):(8,1)", thr="(4,1):(1,4)", val="(1,8)", block=8)
    assert make_job(whole).threads == 8


def test_a_predicate_leaves_every_third_untouched_or_zero() -> None:
    more = {"atom": "universal", "bits": 16, "pred": '!cute.memref<i8, rmem, align<32>, "(1,4):(0,1)">'}
    job = make_job(copy("(1,4):(0,1)", "(1,4):(0,1)", **more))  # type: ignore[arg-type]
    assert job.predicate[:4] == bytes([1, 0, 1, 1])
    skipped = job.predicted[job.dst.origin + 2 : job.dst.origin + 4]
    assert set(skipped.tolist()) <= {POISON, ZERO}
    assert (job.predicted[job.dst.origin : job.dst.origin + 2] >= 0).all()


# 3 rows for 2 threads: thread 1 has rows 1 and 3, and 3 is past the edge.
TAIL = {"thr": "(2,1):(1,2)", "val": "(1,8)", "pred": '!cute.memref<i8, rmem, align<32>, "(1,2,1):(0,1,0)">'}


def test_threads_past_the_edge_are_switched_off_by_their_own_predicates() -> None:
    job = make_job(copy("(3,8):(8,1)", "(3,8):(8,1)", atom="universal", **TAIL))
    tables = [parameters[2].at for parameters in job.parameters]
    assert [list(job.predicate[at : at + 2]) for at in tables] == [[1, 0], [0, 0]]
    rows = [job.predicted[job.dst.origin + 16 * row :][:16] for row in range(4)]
    assert [set((row >= 0).tolist()) for row in rows] == [{True}, {False}, {False}, {False}]
    assert (job.predicted == job.asked).all()


def test_a_cp_async_that_is_switched_off_past_the_edge_writes_zeros_there() -> None:
    job = make_job(copy("(3,8):(8,1)", "(3,8):(8,1)", **TAIL))
    tables = [parameters[2].at for parameters in job.parameters]
    assert [list(job.predicate[at : at + 2]) for at in tables] == [[1, 1], [1, 0]]  # wrong: nothing hides it
    past = slice(job.dst.origin + 48, job.dst.origin + 64)
    assert (job.predicted[past] == ZERO).all() and (job.asked[past] == POISON).all()


@pytest.mark.parametrize(("block", "asked", "predicted"), [(2, 4, 2), (4, 3, 3), (8, 4, 8)])
def test_a_predicated_tile_of_a_block_of_another_size(block: int, asked: int, predicted: int) -> None:
    """Rows of 16 bytes: threads that are not there copy none; those beyond the tile have a predicate too."""
    pred = '!cute.memref<i8, rmem, align<32>, "(1,1,1):(0,0,0)">'
    tile = {"thr": "(4,1):(1,4)", "val": "(1,8)", "pred": pred, "block": block}
    job = make_job(copy("(4,8):(8,1)", "(4,8):(8,1)", atom="universal", **tile))
    assert job.threads == block
    assert np.count_nonzero(job.asked >= 0) == 16 * asked
    assert np.count_nonzero(job.predicted >= 0) == 16 * predicted


def test_the_predicate_shows_by_which_entry_a_copy_goes_wrong() -> None:
    """Every third entry is false otherwise, which a stride of 3 hides: entries 0 and 3 were both true."""
    pred = '!cute.memref<i8, rmem, align<32>, "(8):(3)">'
    job = make_job(copy("(8):(1)", "(8):(1)", pred=pred))
    assert (job.predicted[job.dst.origin : job.dst.origin + 16] == ZERO).all()
    asked = job.asked[job.dst.origin : job.dst.origin + 16] >= 0
    assert asked.tolist() == [False] * 2 + [True] * 2 + [False] * 12
    assert job.predicate[:24:3] == bytes([0, 1, 0, 0, 0, 0, 0, 0])


def test_reads_past_the_source_are_not_met_though_the_destination_is_right() -> None:
    """Of two elements of each place the predicate takes one: what is there is not determined."""
    src, dst = (
        memref("i8 smem align<16> ((16,2)):((?{div=2},16))"),
        memref("i8 gmem align<16> ((16,2)):((1,0))"),
    )
    job = make_job(Copy(UniversalCopy(dtype("i8"), 128), src, dst, memref("i8 rmem (2):(1)")))
    assert job.unmeetable == 30


def test_registers_in_odd_places_are_not_run() -> None:
    sides = memref("f32 rmem align<16> (2,2):(1,9)"), memref("f32 rmem align<16> (2,2):(1,2)")
    with pytest.raises(NotRunnable, match="odd places"):
        make_job(Copy(UniversalCopy(F32, 64), *sides))


@pytest.mark.parametrize(
    ("fault", "right", "agrees"), [("", False, True), ("", True, False), ("a fault", None, True)]
)
def test_far_memory_need_not_fault(fault: str, right: bool | None, agrees: bool) -> None:
    """On an H200 something was mapped 2^29 bytes past a tensor; the destination is wrong all the same."""
    ran = None if fault else True
    one = Confirmation("", "wrong", (), "accepted", "gpu", "", UNMAPPED, fault, ran, right, ran)
    assert one.agrees is agrees


def test_run_time_leaves_follow_the_pointer_in_order() -> None:
    job = make_job(copy("(8,2,2):(1,?{div=8},?{i64 div=8})", "(8,2,2):(1,8,16)"))
    src, dst = job.parameters[0]
    _, first, second = job.instance.src.layout.stride  # type: ignore[misc]
    assert src.tail == int(first).to_bytes(4, "little") + b"\0" * 4 + int(second).to_bytes(8, "little")
    assert first % 8 == second % 8 == 0
    assert dst.tail == b""


def test_a_parameter_is_its_pointer_and_its_tail() -> None:
    assert Parameter("dst", 0x20, 4, b"\7").data({"dst": 0x400}) == b"\x20\4\0\0\7"


def test_racing_writers_leave_nothing_determined() -> None:
    job = make_job(MISCOMPILES["h26"][0])
    assert (job.predicted == ANY).any() or (job.asked == ANY).any() or (job.predicted != job.asked).any()


def test_what_does_not_fit_is_refused_in_one_line() -> None:
    many = SHARED_MOST_BYTES // 2
    whole = Copy(
        UniversalCopy(memref("bf16 gmem (1):(1)").dtype, 16),
        memref(f"bf16 gmem align<16> (1,{many}):(0,1)"),
        memref(f"bf16 smem align<16> (1,{many}):(0,1)"),
    )
    with pytest.raises(InputError) as refused:
        make_job(whole)
    assert "\n" not in refused.value.message


def test_two_shared_operands_lie_side_by_side() -> None:
    shared = build(
        "(8):(1)", "(8):(1)", "universal", bits=128, dtype="bf16", src_space="smem", dst_space="smem"
    )
    job = make_job(shared[0])
    assert job.both_shared and job.shared is job.dst
    assert job.src.size_bytes <= job.dst.origin
    assert (job.predicted == job.asked).all() and np.count_nonzero(job.asked != POISON) == 16


def test_a_bulk_copy_has_a_barrier_that_expects_its_bytes() -> None:
    job = make_job(copy("(64,2):(1,72)", "(64,2):(1,64)", "bulk.g2s", bits=None))
    assert (job.expect_bytes, job.fault) == (256, "")
    assert [parameter.side for parameter in job.parameters[0]] == ["src", "dst", "barrier"]
    assert make_job(copy("(64):(1)", "(64):(1)", "bulk.s2g", bits=None)).expect_bytes is None


@pytest.mark.parametrize(
    ("name", "fault"),
    [("h31", STALLED), ("h41", STALLED), ("h42", STALLED), ("h41-wide", UNSETTLED), ("h43", UNSETTLED)],
)
def test_a_barrier_that_is_told_wrong(name: str, fault: str) -> None:
    assert make_job(MISCOMPILES[name][0]).fault == fault
    assert make_job(MISCOMPILES[name][1]).fault == ""


@pytest.mark.parametrize("name", sorted(MISCOMPILES))
def test_every_hole_can_be_told_from_its_twin(name: str) -> None:
    broken, fixed, _ = MISCOMPILES[name]
    good = make_job(fixed)
    assert good.fault == ""
    determined = (good.predicted != ANY) & (good.asked != ANY)
    assert (good.predicted[determined] == good.asked[determined]).all()
    shared = make_job(broken).shared
    assert shared is None or shared.base >= SHARED_BASE


def test_a_place_that_two_cp_async_write_shows_whose_entries_they_read() -> None:
    """Entries 0 and 8 are read. Of element 1 entries 1 and 9 are asked: alone both ask for data there."""
    pred = '!cute.memref<i8, rmem, align<32>, "(8,2):(1,8)">'
    job = make_job(copy("(8,2):(1,0)", "(8,2):(1,0)", pred=pred))
    place = slice(job.dst.origin, job.dst.origin + 16)
    assert (job.predicted[place] == ZERO).all()
    assert (job.asked[place] >= 0).tolist() == [False] * 2 + [True] * 2 + [False] * 12


def test_a_tile_cut_across_a_nested_mode_is_asked_whole_under_a_predicate() -> None:
    """Columns 3, 4, 5 of (4,6):(1,8) are no run: what no thread's views name is asked for all the same."""
    pred = '!cute.memref<i8, rmem, align<4>, "((1,3),1,1):((0,1),0,0)">'
    tiles = {"thr": "(2,8):(8,1)", "val": "(1,3):(0,1)", "src_space": "gmem", "dst_space": "gmem"}
    job = make_job(copy("(2,24):(24,1)", "(2,(4,6)):(48,(1,8))", "universal", 16, pred=pred, **tiles))
    assert np.count_nonzero(job.asked != POISON) == 2 * 48
    assert np.count_nonzero(job.asked != job.predicted) > 0


def test_a_tensor_map_of_tf32_is_not_run() -> None:
    tile = {"coord": "(0,0)", "dtype": "f32"}
    sides = ("(64,8):(1,64)", "(32,8):(1,32)", "tma_load")
    assert make_job(build(*sides, **tile)[0]).expect_bytes == 1024
    with pytest.raises(NotRunnable, match="rounds its elements"):
        make_job(build(*sides, **tile, internal_type="tf32")[0])


def test_of_a_boolean_one_bit_is_told_apart() -> None:
    """The compiler loads a byte and stores its lowest bit."""
    made, _ = build("(1):(1)", "(1):(1)", "universal", dtype="i1", src_space="gmem", dst_space="gmem")
    job = make_job(made)
    assert job.digit_bits == 1 and turns(job.src.units, job.digit_bits) == (job.src.units - 1).bit_length()


def test_a_job_has_the_threads_that_are_launched_up_to_a_whole_block() -> None:
    """Those behind the tiled copy's own go round again; a block of 1,024 is the largest."""
    wide = {"thr": "(32,1):(1,1)", "val": "(1,8)"}
    assert make_job(copy("(32,8):(8,1)", "(32,8):(8,1)", **wide, block=64)).threads == 64
    most = {"thr": "(1024,1):(1,1)", "val": "(1,8)"}
    assert make_job(copy("(1024,8):(8,1)", "(1024,8):(8,1)", **most)).threads == 1024
