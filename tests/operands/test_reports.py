"""Public reports about MMA operands, each with the answer it deserves (docs/operand-reports.md).

Those in C++ are asked by their layouts. The page is made of the same table, `REPORTS`.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest

import layoutcheck as lc
from layoutcheck.algebra import parse_layout
from layoutcheck.atoms.matrix import StMatrix
from layoutcheck.atoms.s2t import S2TCopy, rows_by_lane
from layoutcheck.atoms.tmem import TmemLoad
from layoutcheck.copies.offsets import offsets
from layoutcheck.machine.canonical import canonical
from layoutcheck.machine.dtypes import dtype
from layoutcheck.operands.given import retiled
from layoutcheck.operands.naming import read_mma

PAGE = Path(__file__).parents[2] / "docs" / "operand-reports.md"
ALONE = (1988, 1299, 2016, 3089, 2961)  # with a test of their own
F16 = "SM80_16x8x16_F32F16F16F32_TN"
OTHER = (
    "cute.make_tiled_mma(warp.MmaF16BF16Op(Float16, Float32, (16, 8, 16)), (2, 2, 1), "
    "permutation_mnk=(32, cute.make_layout((8, 2, 2), stride=(1, 16, 8)), 16))"
)


class Asked(NamedTuple):
    """A question of `check_mma`, its verdict, and what an answer says."""

    report: str
    mma: str
    operands: dict[str, str]
    verdict: str
    says: tuple[str, ...] = ()
    atoms: str | None = None
    order: str | None = None


REPORTS = [
    Asked("NVIDIA/cutlass#3078", "wgmma.m64n64k16.f32.f16", {"a": "(64,128):(128,1)"}, "rejected",
          ("no descriptor has its layout", "SmemLayoutAtomKind.K_SW128", "tile_to_shape(atom, (64, 128)")),
    Asked("NVIDIA/cutlass#1858", "SM80_16x8x8_F16F16F16F16_TN", {"a": "ldmatrix (64,32):(1,64)"}, "wrong",
          ("thread 0's a1 holds A[1, 0], the MMA reads it as A[0, 1]", "transpose=True"),
          "(2,2,1)", "(32,32,16)"),
    Asked("NVIDIA/cutlass#1858", "SM80_16x8x8_F16F16F16F16_TN", {"a": "ldmatrix (64,32):(32,1)"}, "legal", (),
          "(2,2,1)", "(32,32,16)"),
    Asked("NVIDIA/cutlass#1705", F16, {"a": "ldmatrix (128,64):(64,1)"}, "legal", (), "(8,1,1)",
          "[128:1;(2,8):(1,2);(2,16):(1,2)]"),
    Asked("NVIDIA/cutlass#1953", "SM80_16x8x32_S32S8S8S32_TN", {"b": "ldmatrix.trans (128,32):(1,128)"},
          "wrong",
          ("16-bit elements, and B has 8-bit ones", "contiguous along K"),
          "(4,1,1)"),
    Asked("NVIDIA/cutlass#1766", F16, {"a": "ldmatrix S<3,3,4> o 0 o (128,32):(1,128)"}, "wrong",
          ("ldmatrix.trans: the tile is contiguous along M or N",)),
    Asked("NVIDIA/cutlass#1766", F16, {"a": "ldmatrix.trans S<3,3,4> o 0 o (128,32):(1,128)"}, "legal"),
    Asked("NVIDIA/cutlass#1356", F16, {"b": "ldmatrix (32,32):(32,1)"}, "legal",
          ("every register holds what the MMA reads",), "(2,2,1)", "(32,32,16)"),
    Asked("NVIDIA/cutlass#1245", F16, {"a": "make_tiled_copy_tv((16,2):(2,1),(1,8):(8,1))"}, "wrong",
          ("A[0, 2], the MMA reads it as A[8, 0]", "make_tiled_copy_A does")),
    Asked("NVIDIA/cutlass#3254", "wgmma.m64n8k16.f32.f16", {"c": "((4,8,4),(2,2,1)):((128,1,16),(64,8,512))"},
          "legal"),
    Asked("NVIDIA/cutlass#2872", "wgmma.m64n64k16.f32.f16", {"a": "S<3,3,3> o 0 o (64,64):(64,1)"}, "legal",
          ("K_SW128",)),
    Asked("NVIDIA/cutlass#2785", F16, {"c": "make_tiled_copy_C"}, "legal", (), "(2,2,1)", "(32,32,16)"),
    Asked("NVIDIA/cutlass#2785", F16,
          {"c": f"make_tiled_copy_C({OTHER})"}, "wrong", ("make_tiled_copy_C",), "(2,2,1)", "(32,32,16)"),
    Asked("NVIDIA/cutlass#1387", F16, {"c": "make_tiled_copy_C"}, "legal", ("every register holds",),
          "(2,2,1)", "(64,32,16)"),
    Asked("NVIDIA/cutlass#3099", F16, {"c": "((4,8),(2,2)):((32,1),(16,8))"}, "legal"),
    Asked("Dao-AILab/flash-attention#2553", F16, {"c": "((4,8),(2,2,2)):((32,1),(16,8,128))"}, "legal", (),
          None, "(_,16,_)"),
    Asked("Dao-AILab/flash-attention#2553", F16, {"c": "((4,8),(2,2,2)):((32,1),(16,128,8))"}, "wrong",
          ("thread 0's c2 holds C[0, 8], the MMA reads it as C[8, 0]", "retile"), None, "(_,16,_)"),
    Asked("tile-ai/tilelang#2593", "wgmma.m64n24k16.f32.f16.ss.k.mn", {"b": "(24,64):(1,24)"}, "rejected",
          ("no descriptor has its layout", "MN_INTER")),
    Asked("tile-ai/tilelang#2642", F16, {"b": "ldmatrix (32,32):(33,1)"}, "wrong",
          ("multiples of 16 bytes",)),
]  # fmt: skip


@pytest.mark.parametrize("asked", REPORTS, ids=[f"{one.report}-{n}" for n, one in enumerate(REPORTS)])
def test_a_report_gets_its_answer(asked: Asked) -> None:
    found = lc.check_mma(asked.mma, **asked.operands, atom_layout=asked.atoms, permutation=asked.order)
    (one,) = found.answers
    assert one.verdict == asked.verdict, one
    said = " ".join((one.title, one.message, one.fits, one.code))
    for words in asked.says:
        assert words in said


def test_1988_the_widest_atom_that_divides_96_columns() -> None:
    """A tile of 96 columns of f16 is no multiple of K_SW128's 64, and one of K_SW64's 32."""
    assert canonical("(64,96):(96,1)", "f16").nearest_name == "K_SW64"
    assert canonical("(64,128):(128,1)", "f16").nearest_name == "K_SW128"


def test_1299_and_2016_shapes_of_fragments() -> None:
    """4 warps along M: of a (128,32) tile a thread has (8, 2, 2) of A and (4, 16, 2) of B."""
    mma = read_mma(F16, "(4,1,1)", "(64,16,16)")
    assert (mma.values("A"), mma.tiles("A"), mma.extents("A")) == (8, (1, 1), (64, 16))
    assert (mma.values("B"), mma.tiles("B"), mma.extents("B")) == (4, (2, 1), (16, 16))
    assert mma.taken("A", (2, 2)).shape == (128, 8 * 2 * 2, 2)
    assert mma.taken("B", (8, 2)).shape == (128, 4 * 16 * 2, 2)


def test_3089_rows_of_the_32_byte_atoms_lie_128_bytes_apart() -> None:
    """B128_BASE32B, MN-major: 8 units of 16 bytes from k to k, not 4."""
    right = canonical("(32,8):(1,32)", "tf32", "MN", "S<2,5,2>", "tcgen05")
    assert (right.verdict, right.name) == ("legal", "MN_SW128_32B")
    assert canonical("(32,8):(1,16)", "tf32", "MN", "S<2,5,2>", "tcgen05").verdict == "rejected"


def test_1387_retile_shows_the_same_registers_in_another_order() -> None:
    """C of 2 x 2 instructions a thread: the copy has them down the rows of its tile first, the fragment too.

    A copy made for another order of columns finds each value in another register; none is lost, none twice.
    """
    mma = read_mma(F16, "(2,2,1)", "(64,32,16)")
    fragment = mma.values("C"), *mma.tiles("C")
    assert fragment == (4, 2, 2)
    own = retiled(mma.tv("C"), mma.extents("C"), fragment, (1, 1)).reshape(-1)
    assert own.tolist() == list(range(16))
    across = parse_layout("((4,8,2,2),((2,2),(2,2))):((128,1,16,512),((64,8),(1024,32)))")
    assert sorted(offsets(across).reshape(-1)) == list(range(64 * 32))
    other = retiled(across, mma.extents("C"), fragment, (1, 1)).reshape(-1)
    assert other.tolist() == [*range(4), *range(8, 12), *range(4, 8), *range(12, 16)]


def test_3099_and_2553_stmatrix_takes_what_tensor_memory_and_mma_sync_leave() -> None:
    """Row and column of each element, in order: of tcgen05.ld.16x256b, of an accumulator, of two matrices."""
    loaded = offsets(TmemLoad(dtype("f32"), 16, 256, 1).traits().elements(32).dst)
    stored = offsets(StMatrix(dtype("f16"), 2).traits().elements(16).src)
    accumulator = offsets(read_mma(F16, None, None).tv("C"))
    for at, row, column in ((loaded, loaded // 8, loaded % 8), (stored, stored // 8, stored % 8)):
        assert at.shape == accumulator.shape and (row + 16 * column == accumulator).all()
    four = offsets(StMatrix(dtype("f16"), 4).traits().elements(16).src)
    pair = offsets(parse_layout("((4,8),(2,2,2)):((32,1),(16,8,128))"))  # as 2553 is asked
    assert (four // 8 % 16 + 16 * (four % 8 + 8 * (four // 128)) == pair).all()


def test_2961_scale_factors_lie_in_the_lanes_of_all_four_warps() -> None:
    """32 rows of 16 bytes of shared memory: the 4 in the mode is one copy of them for each warp's lanes."""
    rows = rows_by_lane(S2TCopy(dtype("f8E4M3FN"), 32, 128, 1, "x4"))
    assert sorted(rows) == list(range(128)) and all(row == lane % 32 for lane, row in rows.items())
    assert sorted(rows_by_lane(S2TCopy(dtype("f8E4M3FN"), 128, 128)).values()) == list(range(128))


def test_the_page_names_every_report() -> None:
    text = PAGE.read_text()
    for report in {one.report.split("/")[1] for one in REPORTS} | {f"cutlass#{n}" for n in ALONE}:
        assert f"[{report}]" in text
    assert text.count("\n| [") == 20
