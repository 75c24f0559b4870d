"""`check_mma`: what users ask of layouts without a kernel, and its pictures."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import layoutcheck as lc
from layoutcheck.algebra.layout import Layout
from layoutcheck.cli import run
from layoutcheck.copies.offsets import offsets_at, size
from layoutcheck.errors import InputError
from layoutcheck.operands.answers import answered
from layoutcheck.operands.naming import read_mma
from layoutcheck.reports.mma import pictures, render
from layoutcheck.reports.style import Style

WARP = "mma.m16n8k16.f32.bf16"
FOUR = {"atom_layout": "(2,2,1)", "permutation": "(32,32,16)"}
MADE = "cute.make_tiled_mma(warp.MmaF16BF16Op(BFloat16, Float32, (16, 8, 16)), (2, 2, 1), permutation_mnk={})"


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("warp.MmaF16BF16Op(cutlass.BFloat16, cutlass.Float32, (16, 8, 16))", "mma.m16n8k16.f32.bf16.bf16"),
        ("MmaTF32Op((16, 8, 8))", "mma.m16n8k8.f32.tf32.tf32"),
        ("SM80_16x8x32_S32S8S8S32_TN", "mma.m16n8k32.i32.si8.si8"),
        ("!cute_nvgpu.sm80.mma<16x8x16, elem_type = (f16, f16, f32) >", "mma.m16n8k16.f32.f16.f16"),
        (
            "tcgen05.MmaMXF8Op(cutlass.Float8E4M3FN, (128, 64), CtaGroup.ONE, OperandSource.SMEM, "
            "OperandMajorMode.K, OperandMajorMode.K)",
            "tcgen05.m128n64k32.f32.f8E4M3FN.f8E4M3FN.block-scaled",
        ),
    ],
)  # fmt: skip
def test_an_mma_is_read_as_it_is_written(text: str, name: str) -> None:
    assert read_mma(text).atom.name == name


def test_majors_source_and_blocks_are_read() -> None:
    code = (
        "warpgroup.MmaF16BF16Op(Float16, Float32, (64, 128, 16), OperandSource.RMEM, OperandMajorMode.K, "
        "a_major_mode=OperandMajorMode.MN)"
    )
    atom = read_mma(code.replace("a_major", "b_major")).atom
    assert (atom.level, atom.a_from, atom.majors) == ("warpgroup", "registers", ("K", "MN"))
    pair = (
        "tcgen05.MmaF16BF16Op(BFloat16, Float32, (256, 64, 16), tcgen05.CtaGroup.TWO, OperandSource.TMEM, "
        "OperandMajorMode.K, OperandMajorMode.MN)"
    )
    atom = read_mma(pair).atom
    assert (atom.blocks, atom.a_from, atom.majors, str(atom.tv("B"))) == (
        2, "tmem", ("K", "MN"), "(2,(32,16)):(32,(1,64))",
    )  # fmt: skip


@pytest.mark.parametrize(
    "text",
    ["", "foo", "warp.MmaF16BF16Op(x, Float32, (16, 8, 16))", "warp.MmaF16BF16Op(BFloat16, Float32, shape)",
     "make_tiled_mma(op, (2, 2, 1))", "warp.MmaF16BF16Op(BFloat16, Float32, (16, 8, 16)",
     "mma.m8n8k4.f64.f64",
     "wgmma.m64n64k16.f32.f16.k", "MmaTF32Op()", "make_tiled_mma(MmaTF32Op((16, 8, 8)), (2, 2))"],
)  # fmt: skip
def test_another_text_is_an_input_error(text: str) -> None:
    with pytest.raises(InputError):
        read_mma(text)


def test_the_words_name_thread_register_and_both_elements() -> None:
    # PTX: a2 of lane 5 is row 9, k 2; here registers 2, 3 and 4, 5 are exchanged: it holds row 1, k 10.
    report = lc.check_mma(WARP, "((4,8),(2,2,2)):((32,1),(16,128,8))")
    (one,) = report.answers
    assert (report.verdict, one.differ, one.of) == ("wrong", 128, 256)
    assert "thread 0's a2 holds A[0, 8], the MMA reads it as A[8, 0]" in one.message
    assert "retile" in one.message and one.fits.startswith(
        "thread-value layout ((4,8),(2,2,2)):((32,1),(16,8,128))"
    )
    assert one.elements is not None and one.elements.elements[5, 2].tolist() == [1, 10]


def test_another_operands_copy_does_not_fit_and_the_own_does() -> None:
    wrong = lc.check_mma(WARP, "make_tiled_copy_B", **FOUR).answers[0]
    assert wrong.verdict == "wrong" and "make_tiled_copy_A does" in wrong.message
    assert "cute.make_tiled_copy_A(" in wrong.code
    right = lc.check_mma(WARP, "make_tiled_copy_A", "make_tiled_copy_B", "make_tiled_copy_C", **FOUR)
    assert right.verdict == "legal"


@pytest.mark.parametrize(
    ("layout", "fits"), [("(64,32):(32,1)", "ldmatrix"), ("(64,32):(1,64)", "ldmatrix.trans")]
)
def test_ldmatrix_fits_the_major_of_its_tile(layout: str, fits: str) -> None:
    for name in ("ldmatrix", "ldmatrix.trans"):
        one = lc.check_mma(WARP, f"{name} {layout}", **FOUR).answers[0]
        assert one.verdict == ("legal" if name == fits else "wrong")
        if name != fits:
            assert one.fits.startswith(f"{fits}:") and f"transpose={fits.endswith('trans')}" in one.code


def test_an_order_that_both_operands_share_changes_nothing() -> None:
    depth = MADE.format("(32, 32, cute.make_layout((8, 2), stride=(1, 8)))")
    turned = MADE.format("(32, 32, cute.make_layout((2, 2, 2, 2), stride=(1, 4, 2, 8)))")
    assert lc.check_mma(WARP, f"make_tiled_copy_A({depth})", **FOUR).verdict == "legal"
    a, b = f"make_tiled_copy_A({turned})", f"make_tiled_copy_B({turned})"
    assert lc.check_mma(WARP, a, **FOUR).verdict == lc.check_mma(WARP, None, b, **FOUR).verdict == "wrong"
    both = lc.check_mma(WARP, a, b, **FOUR)
    assert both.verdict == "legal" and "B has for k too" in both.answers[0].title


def test_columns_may_change_places_if_c_has_them_so() -> None:
    turned = MADE.format("(32, cute.make_layout((8, 2, 2), stride=(1, 16, 8)), 16)")
    b, c = f"make_tiled_copy_B({turned})", f"make_tiled_copy_C({turned})"
    assert lc.check_mma(WARP, None, b, **FOUR).verdict == "wrong"
    assert lc.check_mma(WARP, None, b, c, **FOUR).verdict == "legal"
    assert lc.check_mma(WARP, None, b, "make_tiled_copy_C", **FOUR).verdict == "wrong"


@given(st.permutations(range(8)), st.permutations(range(3)))
def test_every_other_layout_of_the_values_is_wrong(order: list[int], modes: list[int]) -> None:
    """A permutation of the value modes is right if, and only if, it is the MMA's own."""
    strides = [16, 8, 128]
    values = tuple(strides[i] for i in modes)
    one = lc.check_mma(WARP, str(Layout(((4, 8), (2, 2, 2)), ((32, 1), values)))).answers[0]
    assert (one.verdict == "legal") == (list(modes) == [0, 1, 2])
    tv = read_mma(WARP).atom.tv("A")
    mine = offsets_at(tv, np.arange(size(tv))).reshape(8, 32)
    assert (one.differ == 0) == (list(modes) == [0, 1, 2])
    assert int((mine[order] != mine).sum()) == 32 * sum(i != j for i, j in enumerate(order))


def test_a_shared_operand_is_what_its_descriptor_reads() -> None:
    report = lc.check_mma("wgmma.m64n64k16.f32.f16", "(64,128):(128,1)", "S<3,3,3> o 0 o (64,64):(64,1)")
    a, b = report.answers
    assert (a.verdict, b.verdict, report.verdict) == ("rejected", "legal", "rejected")
    assert a.fits.startswith("K_SW128: ") and "SmemLayoutAtomKind.K_SW128" in a.code and "K_SW128" in b.title


def test_a_tile_of_the_other_major_is_told_as_that() -> None:
    one = lc.check_mma("wgmma.m64n64k16.f32.f16.ss.k.mn", None, "S<3,3,3> o 0 o (64,64):(64,1)").answers[0]
    assert one.verdict == "rejected" and "is K-major (K_SW128), and the MMA reads it MN-major" in one.title
    assert "b_major_mode=OperandMajorMode.K" in one.fits
    assert lc.check_mma("wgmma.m64n64k16.f32.f16", None, "S<3,3,3> o 0 o (64,64):(64,1)").verdict == "legal"
    eight = lc.check_mma("wgmma.m64n64k32.f32.e4m3.ss.k.mn", None, "S<3,4,3> o 0 o (64,64):(1,64)").answers[0]
    assert eight.verdict == "rejected" and "along K alone" in eight.title


def test_bytes_of_a_pointers_swizzle_are_read_as_such() -> None:
    memref = '!cute.memref<f16, smem, align<1024>, S<3,4,3>, "(64,64):(64,1)">'
    assert lc.check_mma("wgmma.m64n64k16.f32.f16", memref).verdict == "legal"
    assert lc.check_mma("wgmma.m64n64k16.f32.f16", memref.replace("S<3,4,3>, ", "")).verdict != "legal"


def test_what_cannot_be_the_operand_says_why() -> None:
    threads = lc.check_mma(WARP, "make_tiled_copy_A", **FOUR, c=None)
    assert threads.verdict == "legal"
    one = lc.check_mma(WARP, f"make_tiled_copy_A({WARP})", **FOUR).answers[0]
    assert one.verdict == "wrong" and "made for 32 threads; expected the 128" in one.title
    pairs = lc.check_mma("mma.m16n8k32.s32.s8", None, "ldmatrix.trans (128,32):(1,128)").answers[0]
    assert pairs.verdict == "wrong" and "16-bit elements" in pairs.title
    tensor = lc.check_mma("tcgen05.m128n64k16.f32.bf16", c="(128,64):(1,128)").answers[0]
    assert tensor.verdict == "unknown" and "tensor memory" in tensor.title


def test_the_picture_marks_as_many_elements_as_are_wrong() -> None:
    report = lc.check_mma(WARP, "((4,8),(2,2,2)):((32,1),(16,128,8))")
    (picture,) = pictures(report)
    text = picture.svg()
    assert text.count("data-held") == 128 and text.count("data-thread") == 256
    assert re.search(r'data-crd="9 2"[^>]*data-thread="5" data-register="2" data-held="1 10"', text)
    assert "data-held" not in pictures(answered(WARP))[0].svg()
    with pytest.raises(InputError, match="no operand of the MMA is given; expected a, b or c"):
        lc.check_mma(WARP, a=None)
    page = render(report, "html", Style())
    assert page.startswith("<!doctype html>") and "make_tiled_copy_A" in page and page.count("<svg") == 1


def test_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["explain", "--mma", WARP, "--a", "make_tiled_copy_B", "--format", "json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert found["operands"][0]["verdict"] == "wrong" and found["layouts"]["A"]["tile"] == [16, 16]
    assert run(["draw", "--mma", WARP, "--b", "make_tiled_copy_B", "--format", "text"]) == 0
    shown = capsys.readouterr().out
    assert "T5 b0" in shown and "wrong" not in shown
    assert run(["draw", "--mma", WARP, "--a", "((4,8),(2,2,2)):((32,1),(16,128,8))", "--format", "text"]) == 0
    assert "!T5 a4" in capsys.readouterr().out


@pytest.mark.parametrize(
    "given",
    [["--mma", "foo"], ["--a", "x"], ["--mma", WARP, "--a", "hello"], ["--mma", WARP, "--a", "(4,8"],
     ["--mma", WARP, "--format", "sarif"], ["--mma", WARP, "x", "y"], ["--mma", WARP, "--compiler"],
     ["--mma", WARP, "--permutation", "(32,32)"], ["--mma", WARP, "--a", "((4,8),8):((32,1),99)"]],
)  # fmt: skip
def test_unusable_input_exits_2(given: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["explain", *given]) == 2
    assert "error: " in capsys.readouterr().err
