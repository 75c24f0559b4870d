"""tcgen05.ld.red: where the loaded and the reduced values go, and what the rules make of it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import layoutcheck as lc
from layoutcheck.analysis.instantiation import bases
from layoutcheck.atoms.execution import execution
from layoutcheck.atoms.intent import intent
from layoutcheck.atoms.tmem.addresses import LABELS
from layoutcheck.atoms.tmem_red import TmemLoadRed
from layoutcheck.atoms.tmem_red.execution import aux_base
from layoutcheck.check import check
from layoutcheck.copies.addresses import PRIVATE
from layoutcheck.copies.copy import Copy, Tiling
from layoutcheck.copies.tiled import partition
from layoutcheck.errors import InputError
from layoutcheck.machine.dtypes import dtype
from layoutcheck.sources.atoms import parse_atom
from layoutcheck.sources.diagnostics import copies_from_error
from layoutcheck.sources.request import build
from layoutcheck.sources.types import parse_memref, parse_tiled_copy

SRC = '!cute.memref<f32, tmem, align<16>, "(((8,32),1),2):(((1,65536),0),8)">'
DST = '!cute.memref<f32, rmem, align<32>, "((8,1),2):((1,0),8)">'
AUX = '!cute.memref<f32, rmem, align<32>, "((1,1),2):((0,0),3)">'
ATOM = "tcgen05.ld.red.32x32b.x8.max"
HALVES = '!cute.memref<f32, tmem, align<16>, "(((8,16),1)):(((1,65536),0))">'
FOUR = '!cute.memref<f32, rmem, align<32>, "((4,1)):((1,0))">'


def codes(report) -> set[str]:
    return {finding.code for finding in report.findings}


def test_two_instructions_reduce_to_two_values_a_thread() -> None:
    copy, _ = build(SRC, DST, ATOM, aux=AUX)
    src_base, dst_base = bases(copy)[0]
    done, asked = execution(copy, src_base, dst_base), intent(copy, src_base, dst_base)
    assert done.src.shape == done.dst.shape == (2, 32, 9 * 4)
    for i in range(2):
        for thread in (0, 1, 31):
            reduced = done.dst[i, thread, 32:]
            assert list(reduced - aux_base(dst_base) - PRIVATE * thread) == [12 * i + k for k in range(4)]
            assert done.src[i, thread, 32] == LABELS + 4 * (32 * i + thread)
            assert done.src[i, thread, 0] == src_base + 32 * i + thread * 65536 * 4
    assert asked.dst.shape == (18, 32, 4) and asked.unmatched == 0
    pairs = [set(zip(one.src.reshape(-1), one.dst.reshape(-1), strict=True)) for one in (asked, done)]
    assert pairs[0] == pairs[1]
    assert lc.check(SRC, DST, ATOM, aux=AUX).verdict == "legal"


def test_the_second_destination_is_assumed_where_it_is_not_given() -> None:
    copy, assumed = build(SRC, DST, ATOM)
    assert str(copy.aux) == '!cute.memref<f32, rmem, align<32>, "((1,1),2):((0,0),1)">'
    assert any("second destination" in line for line in assumed)
    with pytest.raises(InputError, match="aux is the second destination"):
        build(SRC, DST, "tcgen05.ld.32x32b.x8", dtype="f32", aux=AUX)


@pytest.mark.parametrize(
    ("dst", "aux", "outside"),
    [
        (DST.replace("(8,1),2):((1,0),8", "(4,1),2):((1,0),4"), AUX, "outside_dst"),  # x8 is the atom's
        (DST, AUX.replace("(1,1),2):((0,0),3", "(2,1),2):((1,0),2"), "unmatched"),
    ],
)
def test_registers_of_another_size(dst: str, aux: str, outside: str) -> None:
    report = lc.check(SRC, dst, ATOM, aux=aux)
    assert report.verdict == "wrong" and "LC252" in codes(report)
    finding = next(one for one in report.findings if one.code == "LC252")
    assert finding.evidence[outside]
    assert report.fixes and {fix.verdict for fix in report.fixes} == {"legal"}


def test_values_with_one_reduced_value_for_two_instructions_are_stored_past_it() -> None:
    src = '!cute.memref<f32, tmem, align<16>, "(((8,32),2)):(((1,65536),8))">'
    dst = '!cute.memref<f32, rmem, align<32>, "((8,2)):((1,8))">'
    aux = '!cute.memref<f32, rmem, align<32>, "((1,1)):((0,3))">'
    copy, _ = build(src, dst, ATOM, aux=aux)
    src_base, dst_base = bases(copy)[0]
    done = execution(copy, src_base, dst_base)
    assert list(done.dst[:, 0, 32] - aux_base(dst_base)) == [0, 12]
    report = lc.check(src, dst, ATOM, aux=aux)
    assert report.verdict == "wrong" and "LC252" in codes(report)


def test_the_dsl_s_default_split_loads_the_first_piece_twice() -> None:
    """`LdRed16x32bx2Op` has half_split_off = 0, and its layouts the second piece behind the first."""
    report = lc.check(HALVES, FOUR, "tcgen05.ld.red.16x32bx2.x4.min", dtype="f32")
    assert report.verdict == "wrong" and "LC251" in codes(report)
    copy = report.copy
    src_base, dst_base = bases(copy)[0]
    done = execution(copy, src_base, dst_base)
    assert np.array_equal(done.src[:, :16, :16], done.src[:, 16:, :16])
    assert [fix.copies[0].atom.half_split_off for fix in report.fixes] == [4]
    assert lc.check(HALVES, FOUR, "tcgen05.ld.red.16x32bx2.x4.min.split4", dtype="f32").verdict == "legal"


def test_names_and_printed_types() -> None:
    f32 = dtype("f32")
    atom = parse_atom("tcgen05.ld.red.32x32b.x4.maxabs.nan", f32)
    assert atom == TmemLoadRed(f32, 32, 32, 4, op="maxabs", nan=True)
    assert atom.phrase == "tcgen05.ld.red.32x32b.x4.max.abs.NaN (f32)"
    assert parse_atom(str(atom)) == atom
    split = TmemLoadRed(f32, 16, 32, 8, op="min", half_split_off=16)
    assert str(split).endswith("x8, min, half_split_off=16 : i32>") and parse_atom(str(split)) == split
    for wrong in ("32x32b.x4.split4", "16x64b.x4", "32x32b.sum", "x4.max", "32x32b.x2.x4"):
        with pytest.raises(InputError, match="unknown option"):
            parse_atom(f"tcgen05.ld.red.{wrong}", f32)


def test_a_pasted_error_has_both_destinations() -> None:
    text = (
        "error: unknown: 'cute.copy' op expects all operands to have the same rest modes, but got: dst[1]: "
        "((1,1),(1)) and dst[0]: ((8,1),(2))\n note: unknown: see current operation: "
        '"cute.copy"(%6, %21, %32, %44) <{operandSegmentSizes = array<i32: 1, 1, 2, 0>}> : '
        f"({parse_atom(ATOM, dtype('f32'))}, {SRC}, {DST}, {AUX}) -> ()"
    )
    ((copy, _, _),) = copies_from_error(text)
    assert str(copy.aux) == AUX and copy.pred is None and isinstance(copy.atom, TmemLoadRed)
    report = lc.check(SRC, DST, ATOM, aux=AUX.replace("((1,1),2):((0,0),3)", "((1,1),4):((0,0),1)"))
    assert report.verdict == "rejected" and report.compiler.kind == "aux_rest"


def test_what_is_reduced_is_no_element_outside_of_the_tile() -> None:
    """As a traced copy has it, whose whole tile is known: its reduced value comes from no place of that.

    huggingface/kernels-community reduces so in msa's indexer for sm_103a.
    """
    tiled = parse_tiled_copy(
        "!cute.tiled_copy<!cute_nvgpu.atom.tmem_load_red<f32, 32 DP, 32 bit, x2, max>, "
        'layout_copy_tv = <"((32,4),(2,32)):((0,1),(4,8))">, tiler_mn = <"[(8,32):(32,1)]">>'
    )
    tile = parse_memref('!cute.memref<f32, tmem, align<16>, "(((128,2))):(((65536,1)))">')
    fragment, reduced = (
        parse_memref(f'!cute.memref<f32, rmem, align<32>, "{layout}">')
        for layout in ("((2,1),(1)):((1,0),(0))", "(1,(1)):(0,(0))")
    )
    rows = Tiling(tiled, tile, replace(tile, space="rmem"))
    copy = Copy(
        tiled.atom, partition(tiled, "src", tile).view, fragment,
        tiled=tiled, tiling=rows, arch="sm_103a", aux=reduced,
    )  # fmt: skip
    found = check(copy)
    assert found.verdict == "legal", found.findings
    twice = replace(copy, tiling=replace(rows, src=parse_memref(
        '!cute.memref<f32, tmem, align<16>, "(((128,1))):(((65536,1)))">'
    )))  # fmt: skip
    assert check(twice).verdict == "wrong"  # a column that the tile does not have
