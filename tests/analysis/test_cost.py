from __future__ import annotations

import numpy as np
import pytest

from layoutcheck.analysis.cost import CopyCost, accesses_cost, by_warp, cost
from layoutcheck.analysis.instantiation import DST_REGION, SRC_REGION
from layoutcheck.atoms.execution import execution
from layoutcheck.copies.copy import Copy
from layoutcheck.copies.moves import Access
from layoutcheck.errors import InputError
from layoutcheck.machine.cost import NOTHING, Counts, busy_cycles, predicted_time
from layoutcheck.sources.diagnostics import copies_from_error
from layoutcheck.sources.request import build

TILE = "(64,64):(64,1)"


def copy_of(src: str, dst: str, atom: str = "cp.async", bits: int = 128, thr: str = "(16,8):(8,1)") -> Copy:
    found, _ = build(src, dst, atom, dtype="bf16", bits=bits, thr=thr, val=f"(1,{bits // 16})")
    assert isinstance(found, Copy)
    return found


def run(copy: Copy, **keywords: bool) -> CopyCost:
    return cost(execution(copy, SRC_REGION, DST_REGION), **keywords)


def test_a_coalesced_cp_async_is_ideal() -> None:
    found = run(copy_of(TILE, TILE))
    source, target = found.sides
    assert found.instructions == 4 * 4
    assert (source.sectors, source.ideal_sectors, source.bytes_used) == (256, 256, 8192)
    assert (target.wavefronts, target.ideal_wavefronts, target.ways) == (64, 64, 1)
    assert found.counts == Counts(16, 64 + 64, 256, 256, 1, 0)
    assert (source.distinct_sectors, source.runs, source.l1_wavefronts) == (256, 1, 64)


def test_a_column_of_threads_conflicts_through_l1_and_scatters_past_it() -> None:
    copy = copy_of(TILE, TILE, thr="(64,2):(1,64)")
    through, past = run(copy).sides[1], run(copy, bypass_l1=True).sides[1]
    assert (through.op, through.wavefronts, through.ideal_wavefronts, through.ways) == (
        "cp.async.ca",
        512,
        64,
        8,
    )
    assert (past.op, past.wavefronts, past.ideal_wavefronts, past.ways) == ("cp.async.cg", 512, 64, 8)
    swizzled = '!cute.memref<bf16, smem, align<1024>, S<3,4,3>, "(64,64):(64,1)">'
    copy = copy_of(TILE, swizzled, thr="(64,2):(1,64)")
    assert run(copy).sides[1].wavefronts == 64
    assert run(copy, bypass_l1=True).sides[1].wavefronts == 512  # no swizzle helps: there are no banks


def test_uncoalesced_loads_move_a_sector_a_lane() -> None:
    rmem = '!cute.memref<bf16, rmem, align<16>, "(64,64):(64,1)">'
    found = run(copy_of(TILE, rmem, "universal", 16, thr="(32,4):(1,32)"))
    assert len(found.sides) == 1
    assert found.sides[0].sectors == 32 * found.sides[0].instructions
    assert found.sides[0].ideal_sectors == 2 * found.sides[0].instructions


def test_warps_that_are_not_full() -> None:
    at = np.arange(2 * 48, dtype=np.int64).reshape(2, 48)
    warps = by_warp(Access("ld.shared", "smem", 1, at))
    assert warps.shape == (4, 32)
    assert (warps[1, 16:] == -1).all() and list(warps[1, :3]) == [32, 33, 34] and warps[2, 0] == 48
    rows = by_warp(Access("ldmatrix.x2", "smem", 16, np.zeros((3, 32), np.int64)))
    assert rows.shape == (6, 32) and (rows[:, 16:] == -1).all() and (rows[:, :16] == 0).all()


def test_an_unknown_architecture_is_refused() -> None:
    with pytest.raises(InputError, match="unknown architecture"):
        cost(execution(copy_of(TILE, TILE), SRC_REGION, DST_REGION), "sm_1")


def test_rows_that_are_apart_are_runs_and_conflict_in_l1() -> None:
    """8 lanes of 16 bytes, each in a row of its own 4 KiB on: 8 runs, and one bank group of L1."""
    lanes = np.arange(32, dtype=np.int64)
    rows = Access("ld.global", "gmem", 16, (lanes % 8 * 4096 + lanes // 8 * 16)[None])
    side = accesses_cost([rows], []).sides[0]
    assert (side.sectors, side.distinct_sectors, side.runs) == (16, 16, 8)
    assert side.l1_wavefronts == 32
    twice = accesses_cost([Access("ld.global", "gmem", 16, np.repeat(rows.addresses, 2, 0))], []).sides[0]
    assert (twice.sectors, twice.distinct_sectors, twice.runs) == (32, 16, 8)


def test_counts_add() -> None:
    assert Counts(1, 2, 3, 4, 5, 6) + Counts(10, 20, 30, 40, 50, 60) == Counts(11, 22, 33, 44, 55, 66)
    assert NOTHING + NOTHING == NOTHING


def test_predicted_time_ranks_by_the_busiest_pipe() -> None:
    free, conflicted = predicted_time(Counts(16, 64, 0)), predicted_time(Counts(16, 512, 0))
    assert (free.bound, conflicted.bound) == ("data", "data")
    assert conflicted.cycles - free.cycles == pytest.approx(512 - 64, rel=0.02)
    assert predicted_time(Counts(512, 64, 0)).bound == "issue"
    assert predicted_time(Counts(16, 64, 1024, 1024)).bound == "memory"
    assert predicted_time(NOTHING).cycles == 0
    assert predicted_time(Counts(0, 198, 0)).cycles == pytest.approx(198 + 33)


def test_pipes_overlap_but_not_for_free() -> None:
    one, both = busy_cycles(Counts(0, 1000, 0)), busy_cycles(Counts(0, 1000, 0, 1000))
    memory = busy_cycles(Counts(0, 0, 0, 1000))
    assert max(one, memory) < both < one + memory


def test_ldmatrix_m16n16_is_billed_by_its_rows() -> None:
    """CUTLASS's mixed_input_fmha_decode.py: `.m16n16.x2` has a row address of each lane (nvvm: num = 4)."""
    text = (
        '"cute.copy"(%0, %1, %2) : (!cute.tiled_copy<!cute_nvgpu.atom.ldsm<val_type = i8, mode = <"(16,16)">'
        ", sz_pattern = u8, num_matrices = 2, t>, "
        'layout_copy_tv = <"((32,4),((4,16),1)):((16,1),((4,512),0))">, '
        'tiler_mn = <"[(64,16):(32,1);1:0;8:1]">>, '
        '!cute.memref<i8, smem, align<32>, S<3,4,3>, "((16,4),(2,1,1)):((1,4096),(16,0,0))">, '
        '!cute.memref<i8, rmem, align<32>, "(((4,(2,2)),4),(2,1,1)):(((1,(4,8)),16),(64,0,0))">) -> ()'
    )
    ((copy, *_),) = copies_from_error(text, "sm_100a")
    (rows,) = execution(copy, 0, 0).src_accesses
    assert (rows.op, rows.addresses.shape[1]) == ("ldmatrix.x4", 32)
