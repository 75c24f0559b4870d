"""Layouts between given registers: as wide as Triton's generic swizzling, and never more wavefronts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import layoutcheck as lc
from benchmarks.triton_conversions import compared
from layoutcheck.algebra.image import image
from layoutcheck.algebra.inttuple import product
from layoutcheck.algebra.layout import Layout
from layoutcheck.errors import InputError
from layoutcheck.machine.banks import LANES_PER_PHASE, shared_wavefronts
from layoutcheck.synthesis.exchange import ways
from layoutcheck.synthesis.registers import Side
from tests.synthesis.triton_pairs import PAIRS, Registers, layout_tv

TYPES = {4: "f4E2M1FN", 8: "f8E4M3FN", 16: "bf16", 32: "f32"}
EVIDENCE = Path(__file__).parents[2] / "docs" / "evidence"
SMALL = ("bf16 blocked to mma", "f32 transpose")


def theirs(side: Registers, other: Registers, bits: int) -> Side:
    """What Triton's test demands: vectors of the values that both sides have, and no conflict."""
    common = len([one for one in side[0] if one in other[0]])
    width = min(128, bits << common)
    threads = 1 << len(side[1]) + len(side[2])
    issued = (bits << len(side[0])) // width * -(-threads // 32)
    wavefronts = issued * 32 // LANES_PER_PHASE[width]
    return Side(layout_tv(side, 1), width, issued, wavefronts, wavefronts)


@pytest.mark.parametrize(
    "pair", [pytest.param(p, id=p[0], marks=[] if p[0] in SMALL else [pytest.mark.sweep]) for p in PAIRS]
)
def test_no_pair_is_narrower_or_takes_more_wavefronts_than_triton_s(pair: Any) -> None:
    _, tile, bits, src, dst = pair
    found = lc.exchange(tile, layout_tv(src, tile[0]), layout_tv(dst, tile[0]), TYPES[bits])
    for ours, their in ((found.write, theirs(src, dst, bits)), (found.read, theirs(dst, src, bits))):
        assert ours.width_bits >= their.width_bits
        assert ours.wavefronts <= their.wavefronts
        assert ours.instructions <= their.instructions
    assert "allocate_tensor" in found.code


@pytest.mark.parametrize("every", [400, pytest.param(1, marks=pytest.mark.sweep)])
def test_no_conversion_of_triton_s_tests_is_dearer_than_in_triton(every: int) -> None:
    rows = json.loads((EVIDENCE / "synthesis_triton.json").read_text(encoding="utf-8"))["conversions"]
    for row in [row for row in rows if "no_shared" not in row and row["shape"] != [256, 256]][::every]:
        given = {name: row[name] for name in ("shape", "bits", "src", "dst", "triton")}
        assert compared(given)["no_worse"], row


@pytest.mark.parametrize(
    ("tile", "src", "dst"),
    [
        ((32, 16), *(layout_tv(side, 32) for side in PAIRS[3][3:])),
        ((64, 32), Layout(((32, 4), 16), ((1, 512), 32)), Layout(((32, 4), 16), ((64, 16), 1))),
        ((48, 16), Layout(((48, 2), 8), ((1, 384), 48)), Layout(((16, 6), 8), ((48, 8), 1))),
    ],
)
def test_instructions_that_one_stands_for_cost_what_each_costs(tile: Any, src: Layout, dst: Layout) -> None:
    """Every access of both sides counted by itself, in padded, swizzled and linear layouts."""
    counted = 0
    for one in [*ways(tile, src, dst, "f32", "sm_90a")][::7]:
        offsets = image(one.layout) * 4
        for side, tv, op in ((one.write, src, "st"), (one.read, dst, "ld")):
            if side.matrix:
                continue
            threads = product(tv[0].shape)
            at = offsets[image(tv).reshape(-1, threads)]
            at = at[np.argsort(at[:, 0], kind="stable")][:: side.width_bits // 32]
            at = at if one.swizzle is None else one.swizzle(at)
            warps = at.reshape(-1, 32).tolist()
            spent = [shared_wavefronts(lanes, side.width_bits, op=op) for lanes in warps]
            assert side.instructions == len(warps)
            assert side.wavefronts == sum(cost.wavefronts for cost in spent)
            counted += 1
    assert counted > 30


def test_time_is_that_of_both_sides_together() -> None:
    """64 bytes from two warps' broadcast values to runs of four: what one side saves, the other pays."""
    pair = "((32,2,2),32):((0,0,1),2)", "((16,2,4),4):((4,0,0),1)"
    found = lc.exchange((64, 1), *pair, "i8")
    assert (found.write.width_bits, found.write.wavefronts) == (128, 32)
    assert (found.read.width_bits, found.read.wavefronts) == (16, 8)
    # Triton's way: 4 wavefronts of 32-bit loads, for 64 of 16-bit stores. No way has 4 and fewer than 64.
    even = [one for one in ways((64, 1), *pair, "i8", "sm_90a") if one.read.wavefronts == 4]
    assert min(one.write.wavefronts for one in even) == 64


def test_of_equal_ways_the_one_of_fewer_loads_is_taken() -> None:
    pair = "((32,4),16):((0,1),4)", "((4,8,4),(2,8)):((2,0,0),(1,8))"
    found = lc.exchange((64, 1), *pair, "i8")
    assert (found.write.width_bits, found.write.instructions) == (64, 8)
    assert (found.read.width_bits, found.read.instructions) == (128, 4)
    twin = [one for one in ways((64, 1), *pair, "i8", "sm_90a") if one.cycles == found.cycles]
    assert max(one.read.instructions for one in twin) == 8


def test_extents_that_are_no_powers_of_two_have_an_answer() -> None:
    """48 x 96, where linear layouts over bits have none: rows in, columns out."""
    rows = "((48,4),24):((1,1152),48)"  # a row and a quarter of its columns
    columns = "((96,2),24):((48,24),1)"
    found = lc.exchange((48, 96), rows, columns, "f32")
    assert found.write.wavefronts == found.write.ideal and found.read.wavefronts == found.read.ideal


def test_the_fragments_of_an_mma_are_read_by_ldmatrix_where_the_architecture_has_it() -> None:
    rows, fragments = (layout_tv(side, 16) for side in PAIRS[1][3:])
    found = lc.exchange((16, 16), rows, fragments, "bf16")
    # 16 x 16 of 16 bits are four matrices: one instruction, a wavefront for each.
    assert (found.read.matrix, found.read.instructions, found.read.wavefronts) == ("ldmatrix", 1, 4)
    assert "LdMatrix8x8x16bOp(False, 4)" in found.code
    assert (found.write.matrix, found.write.width_bits) == ("", 128)
    assert lc.exchange((16, 16), rows, fragments, "bf16", arch="sm_70").read.matrix == ""


def test_values_that_repeat_others_are_moved_once() -> None:
    once = lc.exchange((32, 8), "(32,8):(1,32)", "(32,(4,2)):(8,(1,4))", "f32")
    twice = lc.exchange((32, 8), "(32,(2,8)):(1,(0,32))", "(32,(4,2,2)):(8,(1,4,0))", "f32")
    assert once.write[1:5] == twice.write[1:5] and once.read[1:5] == twice.read[1:5]
    assert "stride=((4, 4, 0)" not in twice.code and "((4, 2, 2), stride=(1, 4, 0))" in twice.code


def test_lanes_that_hold_the_same_move_vectors() -> None:
    found = lc.exchange((64, 1), "((32,4),16):((0,1),4)", "((32,2,2),32):((0,0,1),2)", "f32")
    # 16 and 32 values of 4 bytes in accesses of 16, by four warps.
    assert (found.write.width_bits, found.write.instructions) == (128, 4 * 16 // 4)
    assert (found.read.width_bits, found.read.instructions) == (128, 4 * 32 // 4)


def test_bad_registers_are_refused() -> None:
    with pytest.raises(InputError, match="does not reach the 256 elements"):
        lc.exchange((16, 16), "(32,4):(1,32)", "(32,8):(1,32)")
    with pytest.raises(InputError, match="not a static layout"):
        lc.exchange((16, 16), "(32,8,1):(1,32,0)", "(32,8):(1,32)")
    with pytest.raises(InputError, match="two extents"):
        lc.exchange((16,), "(32,8):(1,32)", "(32,8):(1,32)")
