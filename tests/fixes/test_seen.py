"""Fixes that were once wrong, as users met them, and what they are now."""

from __future__ import annotations

import ast
from typing import Any

import pytest

import layoutcheck as lc
from layoutcheck.check import Fix
from layoutcheck.fixes.code import folded
from layoutcheck.sources.types import parse_memref

TILES: dict[str, Any] = {
    "src": "(128,64):(64,1)", "dst": "(128,64):(64,1)", "atom": "cp.async", "bits": 128, "dtype": "bf16",
    "thr": "(16,8):(8,1)", "val": "(1,8)",
}  # fmt: skip


def fixes(**arguments: Any) -> dict[str, Fix]:
    return {fix.strategy: fix for fix in lc.check(**arguments).fixes}


def matrix(layout: str, align: int = 16) -> dict[str, Any]:
    """ldmatrix.x4 of rows at that layout into the fragment that it fills."""
    registers = '!cute.memref<f16, rmem, align<32>, "((8,1),2):((1,0),8)">'
    return {
        "src": f'!cute.memref<f16, smem, align<{align}>, "{layout}">',
        "dst": registers,
        "atom": "ldmatrix.x4",
    }


def test_the_fragment_that_is_there_is_no_fix() -> None:
    """D3: the rows are what is wrong, and only what changes the rows is shown."""
    assert fixes(**matrix("((8,1),2):((64,0),512)")) == {}
    pitch = fixes(**matrix("((8,1),2):((1,0),68)"))
    assert [list(change) for change in pitch["pad-pitch"].changes] == [
        ["src layout", "((8,1),2):((1,0),68)", "((8,1),2):((1,0),72)"]
    ]
    assert list(pitch) == ["pad-pitch"]
    base = fixes(**matrix("((8,1),2):((1,0),64)", align=8))
    assert [list(change) for change in base["promise-alignment"].changes] == [
        ["src alignment", "8 B", "16 B"]
    ]


@pytest.mark.parametrize(("rows", "columns", "align"), [(64, 36, 128), (6, 64, 128), (64, 64, 8)])
def test_the_reader_of_a_turned_tile_is_the_real_one(rows: int, columns: int, align: int) -> None:
    """D4: rows of 36 elements, 6 rows or a base of 8 bytes are no matrices for ldmatrix."""
    found = fixes(
        src=f'!cute.memref<bf16, gmem, align<16>, "({rows},{columns}):({columns},1)">',
        dst=f'!cute.memref<bf16, smem, align<{align}>, "({rows},{columns}):(1,{rows})">',
        atom="cp.async", bits=64, thr="(2,1):(1,1)", val="(1,4)",
    )  # fmt: skip
    assert "match-layout" in found and "transpose-in-ldmatrix" not in found


def test_a_turned_tile_is_read_in_rows_of_its_own_pitch() -> None:
    found = fixes(**{**TILES, "src": "(128,64):(1,128)", "thr": "(16,16):(16,1)", "val": "(8,1)"})
    _, read = found["transpose-in-ldmatrix"].copies
    assert read.atom is not None and read.atom.transpose and read.atom.num_matrices == 4
    assert str(read.src.layout) == "((8,1),8,16):((1,0),8,128)"
    assert read.src.align_bytes == 128


def test_the_other_major_is_spoken_of_only_where_there_is_one() -> None:
    padded = fixes(**{**TILES, "dst": "(128,64):(68,1)"})
    assert "transpose-in-ldmatrix" not in padded
    assert "major" not in padded["match-layout"].note
    turned = fixes(**{**TILES, "dst": "(128,64):(1,128)"})
    assert "major" in turned["match-layout"].note and "transpose-in-ldmatrix" in turned


def test_the_next_legal_pitch_comes_first() -> None:
    report = lc.check(**{**TILES, "dst": "(128,64):(68,1)"})
    first = report.fixes[0]
    assert (first.strategy, first.verdict) == ("pad-pitch", "legal")
    assert first.changes == (("dst layout", "(128,64):(68,1)", "(128,64):(72,1)"),)


def test_a_predicate_keeps_no_tile_from_being_laid_out_anew() -> None:
    """The threads stay, and so the predicate fits: a kernel's tails have one."""
    found = fixes(
        src='!cute.memref<bf16, gmem, align<16>, "(4,1280):(?{i64 div=8},1)">',
        dst='!cute.memref<bf16, smem, align<16>, "(4,1280):(1,4)">',
        atom="cp.async", bits=128, thr="(4,32):(32,1)", val="(1,8)",
        pred='!cute.memref<i8, rmem, align<32>, "(1,(1,5)):(5,(0,1))">',
    )  # fmt: skip
    assert [list(change) for change in found["match-layout"].changes] == [
        ["dst layout", "(4,1280):(1,4)", "(4,1280):(1280,1)"]
    ]
    assert found["match-layout"].copies[0].pred is not None


def test_padding_is_not_taken_away() -> None:
    """Its author put it there for the tile's reader, and the writer gains nothing worth it."""
    report = lc.check(**{**TILES, "dst": '!cute.memref<bf16, smem, align<16>, "(128,64):(68,1)">'})
    assert [fix.strategy for fix in report.fixes][:2] == ["pad-pitch", "match-layout"]


def test_a_transposition_has_a_fix_of_one_argument() -> None:
    """The element by itself: slow, and nothing else of the program changes."""
    for arguments in ({**TILES, "src": "(128,64):(1,1024)"}, {**TILES, "dst": "(128,64):(1,128)"}):
        fix = fixes(**arguments)["copy-elements"]
        assert [change.argument for change in fix.changes] == ["atom"]
        assert str(fix.copies[0].atom) == "!cute_nvgpu.atom.universal_copy<bf16, 16 b>"
        assert (fix.predicted["instructions_per_thread"], fix.verdict) == (128, "slow")


def test_a_padded_pitch_pushes_what_lies_above_it() -> None:
    padded = fixes(**{**TILES, "src": "(128,64):(68,1)", "dst": "(128,64):(68,1)"})["pad-pitch"]
    assert [change.after for change in padded.changes] == ["(128,64):(72,1)"] * 2
    rows = '!cute.memref<bf16, gmem, align<16>, "((8,1),(4,2)):((1,0),(12,48))">'
    dst = "((8,1),(4,2)):((1,0),(8,32))"
    staged = fixes(src=rows, dst=dst, atom="cp.async", bits=128, dtype="bf16")["pad-pitch"]
    assert staged.changes[0].after == "((8,1),(4,2)):((1,0),(16,64))"


def test_the_block_is_corrected_before_layouts_are() -> None:
    report = lc.check(**TILES, block=256)
    assert [fix.strategy for fix in report.fixes][:2] == ["launch", "fit-threads"]
    assert report.fixes[0].changes == (("threads launched", "256", "128"),)


def test_best_first_is_legal_first() -> None:
    for arguments in ({**TILES, "dst": "(128,64):(1,128)"}, {**TILES, "dst": "(128,64):(68,1)"}):
        verdicts = [fix.verdict for fix in lc.check(**arguments).fixes]
        assert verdicts == sorted(verdicts) and len(verdicts) > 3


def test_the_three_ways_out_of_the_report_stay() -> None:
    found = fixes(**{**TILES, "src": "(128,64):(1,128)", "thr": "(16,16):(16,1)", "val": "(8,1)"})
    assert {"match-layout", "transpose-in-ldmatrix", "narrow-copy", "stage-through-registers"} <= set(found)


def test_seven_of_eight_instructions_for_nothing_are_slow() -> None:
    across = {**TILES, "atom": "universal", "bits": 16, "thr": "(64,4):(1,64)", "val": "(1,1)"}
    report = lc.check(**across)
    assert report.verdict == "slow"
    [narrow] = [finding for finding in report.findings if finding.code == "LC303"]
    assert (narrow.evidence["instructions"], narrow.evidence["ideal_instructions"]) == (64, 8)
    assert report.fixes[0].strategy == "widen-copy"
    assert report.fixes[0].copies[0].atom.width_bits == 128
    chosen = lc.check(**{**across, "bits": None})  # by the compiler
    assert chosen.verdict == "slow" and chosen.fixes[0].predicted["width_bits"] == 128
    four = {**across, "dtype": "f32", "bits": 32}  # a quarter: simple kernels are written so
    assert "LC303" not in {finding.code for finding in lc.check(**four).findings}


def test_an_operand_that_lies_along_the_other_mode_is_turned() -> None:
    """MN-major: what ldmatrix reads across, ldmatrix.trans reads along."""
    tile, held = '"(64,16):(1,64)"', '"(64,16):(16,1)"'
    report = lc.check(
        f"!cute.memref<bf16, smem, align<128>, {tile}>", f"!cute.memref<bf16, rmem, align<32>, {held}>",
        tiled='!cute.tiled_copy<!cute_nvgpu.atom.ldsm<val_type = bf16, mode = <"(8,8)">, sz_pattern = u16, '
        "num_matrices = 4, n>, layout_copy_tv = "
        '<"((4,8,2,2),((2,2,2),(1,1))):((64,1,16,0),((32,8,256),(0,0)))">, tiler_mn = <"[32:1;16:1]">>',
    )  # fmt: skip
    assert report.verdict in ("wrong", "rejected")
    assert report.fixes[0].strategy == "transpose"
    assert report.fixes[0].copies[0].atom.transpose
    assert "LdMatrix8x8x16bOp(True, 4)" in report.fixes[0].code


def test_a_swizzled_tile_is_allocated_where_its_pattern_begins() -> None:
    src = '!cute.memref<bf16, gmem, align<16>, "((8,1),4):((1,0),64)">'
    dst = '!cute.memref<bf16, smem, align<8>, S<3,4,3>, "((8,1),4):((1,0),64)">'
    [promise] = [
        fix for fix in lc.check(src, dst, "cp.async", bits=128).fixes if fix.strategy == "promise-alignment"
    ]
    assert promise.copies[0].dst.align_bytes == 1024
    assert "byte_alignment=1024" in promise.code


def test_the_threads_that_are_there_are_no_fix() -> None:
    """`fit-threads` was shown with the very thread layout of the file."""
    for arguments in ({**TILES, "dst": "(128,64):(68,1)"}, {**TILES, "dst": "(128,64):(1,128)"}, TILES):
        for fix in lc.check(**arguments).fixes:
            threads = [change for change in fix.changes if change.argument == "threads and values"]
            assert all(change.before != change.after for change in threads)
            assert fix.strategy != "fit-threads" or threads


def test_a_tile_is_swizzled_once() -> None:
    """A layout with a swizzle under a pointer with one is a TypeError of the DSL; the tile's own stays."""
    report = lc.check(
        '!cute.memref<f16, smem, align<8>, S<3,4,3>, "((8,1),2):((1,0),64)">',
        '!cute.memref<f16, rmem, align<32>, "((8,1),2):((1,0),8)">', "ldmatrix.x4",
    )  # fmt: skip
    [fix] = report.fixes
    assert fix.code.count("make_swizzle") == 1 and "make_composed_layout" not in fix.code
    assert fix.changes == (("src alignment", "8 B", "1024 B"),)


@pytest.mark.parametrize("stride", ["(72,1)", "(1,64)"])
def test_a_tma_tile_with_padded_rows_or_the_wrong_major_is_laid_out_again(stride: str) -> None:
    tile = f'!cute.memref<bf16, smem, align<128>, "(64,64):{stride}">'
    report = lc.check('!cute.memref<bf16, gmem, align<16>, "(256,256):(256,1)">', tile, "tma_load")
    assert report.verdict == "wrong"
    [fix] = report.fixes
    assert (fix.strategy, fix.verdict) == ("tma", "legal")
    assert fix.changes[0].after == "(64,64):(64,1)"


def test_a_tma_of_few_instructions_stands_before_slow_copies() -> None:
    report = lc.check(
        **{**TILES, "src": "(128,64):(1,128)", "thr": "(16,16):(1,16)", "val": "(8,1)"}, arch="sm_90a"
    )
    found = [(fix.strategy, fix.verdict) for fix in report.fixes]
    assert ("tma", "legal") in found
    assert all(verdict == "slow" for _, verdict in found[found.index(("tma", "legal")) + 1 :])


def test_a_fix_of_one_threads_view_is_a_sketch() -> None:
    """What the view is cut from is not known; a promise and an atom are whole."""
    [pad] = lc.check(**matrix("((8,1),2):((1,0),68)")).fixes
    assert pad.strategy == "pad-pitch" and "one thread's view" in pad.sketch
    assert pad.to_dict()["sketch"] == pad.sketch
    [promise] = lc.check(**matrix("((8,1),2):((1,0),64)", align=8)).fixes
    assert promise.sketch == ""
    assert {fix.sketch for fix in lc.check(**{**TILES, "dst": "(128,64):(68,1)"}).fixes} == {""}
    assert "a sketch: of one thread's view" in " ".join(
        str(lc.check(**matrix("((8,1),2):((1,0),68)"))).split()
    )


def test_a_swizzled_tma_tile_begins_where_its_pattern_does() -> None:
    tile = '!cute.memref<bf16, smem, align<16>, S<3,4,3>, "(64,64):(64,1)">'
    report = lc.check('!cute.memref<bf16, gmem, align<16>, "(256,256):(256,1)">', tile, "tma_load")
    assert report.fixes[0].changes == (("dst alignment", "16 B", "1024 B"),)


def test_two_run_time_strides_keep_their_names() -> None:
    """D12: one name for both would make them equal."""
    view = "((8,2),4):((1,?),?)"
    report = lc.check(view, "((8,2),4):((1,8),16)", "cp.async", bits=128, dtype="bf16")
    [promise] = [fix for fix in report.fixes if fix.strategy == "promise-alignment"]
    assert "src.stride[0][1], divby=8" in promise.code and "src.stride[1], divby=8" in promise.code


def test_a_tuple_of_one_keeps_its_comma_over_lines() -> None:
    line = "x = cute.make_layout(((1, (8, 1)),), stride=((0, (cute.assume(src.stride[0], divby=4), 0)),))"
    assert ast.dump(ast.parse(folded(line))) == ast.dump(ast.parse(line)) and "\n" in folded(line)


def test_a_predicate_goes_with_a_conversion() -> None:
    """Both copies are guarded as the one was."""
    view = '!cute.memref<{}, {}, align<32>, "((32,1),4):((1,0),32)">'
    [fix] = lc.check(
        view.format("i8", "gmem"), view.format("i16", "smem"), "cp.async", bits=128,
        pred='!cute.memref<i8, rmem, align<4>, "(1,4):(0,0)">',
    ).fixes  # fmt: skip
    assert fix.strategy == "convert-in-registers" and fix.code.count("pred=pred") == 2
    assert all(copy.pred is not None for copy in fix.copies)


def test_types_without_a_name_in_the_dsl_have_no_code() -> None:
    odd = parse_memref('!cute.memref<i12, gmem, align<16>, "(8):(1)">')
    with pytest.raises(lc.InputError, match="no name"):
        from layoutcheck.fixes.code import dtype_code

        dtype_code(odd.dtype)


@pytest.mark.parametrize(("columns", "part"), [(16, True), (32, True), (64, False)])
def test_a_slice_of_a_tile_is_not_allocated_in_the_place_of_the_tile(columns: int, part: bool) -> None:
    """Rows of 64 elements of which a copy takes 16: to paste an allocation of (64,16) would cut the tile."""
    layout = f"(64,{columns}):(64,1)"
    swizzle = fixes(
        src=f"smem {layout}", dst=f"rmem {layout}", atom="universal", bits=128, dtype="f16",
        thr="(64,1):(1,1)", val="(1,8)",
    )["swizzle"]  # fmt: skip
    assert ("src_tile.layout" in swizzle.code) == part
    assert (f"make_layout((64, {columns}), stride=(64, 1))" in swizzle.code) == (not part)
