"""Bugs in programs of several files, as engineers write them: the first repair is what an expert would write.

`projects/` holds a GEMM whose layouts come from a module and whose sizes come from a dataclass, a ring of TMA
stages with a layout atom of the DSL's, a struct of shared memory with a kernel that is compiled twice, rows
with a run-time pitch, an epilogue by stmatrix, products of an operand by columns, vectors with a tail.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from layoutcheck.tracing import Script, repaired

pytest.importorskip("cutlass", reason="the CuTe DSL is not installed")

PROJECTS = Path(__file__).parent / "projects"
SAME = ""
BUGS: dict[str, tuple[str, str, str, str]] = {
    "a padding of half a vector": ("gemm/tiles.py", "PAD = 8", "PAD = 4", SAME),
    "a tile by columns": (
        "gemm/tiles.py", "stride=(pitch, 1, rows", "stride=(1, rows, rows", "stride=(cols, 1, rows * pitch)"
    ),
    "an attribute's alignment": ("gemm/main.py", "self.smem_align = 16", "self.smem_align = 8", SAME),
    "a swizzle of half a vector": ("gemm/tiles.py", "make_swizzle(2, 3, 3)", "make_swizzle(2, 2, 3)", SAME),
    "values across the rows": ("gemm/tiles.py", "make_layout((1, vec))", "make_layout((vec, 1))", SAME),
    "a block of twice the threads": (
        "gemm/main.py", "block=[self.num_threads", "block=[self.num_threads * 2", SAME
    ),
    "the copy of A for B": (
        "gemm/main.py", "make_tiled_copy_B(atom, mma)", "make_tiled_copy_A(atom, mma)", SAME
    ),
    "ldmatrix transposes": ("gemm/main.py", "transpose=False", "transpose=True", SAME),
    "a layout atom of the other major": (
        "ring/main.py", "LayoutEnum.ROW_MAJOR", "LayoutEnum.COL_MAJOR", SAME
    ),
    "a box of half the tile": (
        "ring/main.py", "TileG2SOp(), x, one, self.tile_mk", "TileG2SOp(), x, one, (64, 32)", SAME
    ),
    "a pitch of a constant": ("staging/main.py", "PITCH = 144", "PITCH = 136", SAME),
    "a struct's alignment": ("staging/main.py", "ALIGN = 16", "ALIGN = 4", SAME),
    "an atom of twice the bits": (
        "staging/copies.py", "CopyUniversalOp(), dtype, num_bits_per_copy=bits",
        "CopyUniversalOp(), dtype, num_bits_per_copy=bits * 2", SAME
    ),
    "one caller's pitch": ("staging/main.py", "pitch=256", "pitch=264", "THREADS, TILE[1], bits=64)"),
    "a run-time pitch without a promise": ("rows/main.py", "sym_int64(divisibility=4)", "sym_int64()", SAME),
    "values of make_layout_tv across the rows": (
        "rows/main.py", "make_layout((1, self.vec))", "make_layout((self.vec, 1))", SAME
    ),
    "a swizzle in a parameter's default": (
        "epilogue/epilogue.py", "swizzle=(3, 3, 3)", "swizzle=(3, 2, 3)", SAME
    ),
    "stmatrix transposes by default": ("epilogue/epilogue.py", "trans=False", "trans=True", SAME),
    "warps that no copy has": ("epilogue/main.py", "NUM_WARPS = 4", "NUM_WARPS = 8", SAME),
    "a helper's flag": ("products/main.py", "swizzled(N, K, True)", "swizzled(N, K, False)", SAME),
    "values of an ordered layout": (
        "products/main.py", "(0, 1)), cute.make_layout((8, 1))", "(0, 1)), cute.make_layout((1, 8))", SAME
    ),
    "a pitch that allows 32 bits": (
        "vectors/main.py", "gmem(100, 1008), gmem", "gmem(100, 1008, 1012), gmem", "warps=8, bits=32)"
    ),
    "half of the threads": (
        "vectors/main.py", "(cute.size(layout_tv, mode=[0])", "(cute.size(layout_tv, mode=[0]) // 2", SAME
    ),
}  # fmt: skip
"""A file, what of it is written otherwise and how, and what the repair writes: `SAME`, all that was there."""


@pytest.mark.sweep
@pytest.mark.parametrize("name", BUGS)
def test_the_first_repair_is_an_experts(name: str, tmp_path: Path) -> None:
    path, old, new, wanted = BUGS[name]
    project, _, file = path.partition("/")
    folder = shutil.copytree(PROJECTS / project, tmp_path / project)
    right = {str(one): one.read_text() for one in folder.glob("*.py")}
    broken = folder / file
    assert old in right[str(broken)]
    broken.write_text(right[str(broken)].replace(old, new))
    found = repaired(Script(str(folder / "main.py"), launch=False, arch="sm_90a"))
    assert found.repairs and not found.sketches and not found.uncompiled and not found.unseen
    added = [line for line in found.diff().splitlines() if line[:1] == "+" and line[:3] != "+++"]
    if wanted == SAME:
        assert {one: right[one] for one in found.after} == found.after, added
    else:
        assert len(added) == 1 and wanted in added[0], added


@pytest.mark.sweep
def test_a_cause_in_a_file_that_is_not_edited_is_named(tmp_path: Path) -> None:
    folder = shutil.copytree(PROJECTS / "gemm", tmp_path / "gemm")
    tiles = folder / "tiles.py"
    tiles.write_text(tiles.read_text().replace("PAD = 8", "PAD = 4"))
    tiles.chmod(0o444)
    found = repaired(Script(str(folder / "main.py"), launch=False, arch="sm_90a"))
    assert str(tiles) not in found.after
    told = f"what may be its cause is not edited: '{tiles}' is read-only"
    assert any(told in one.reason for one in found.sketches), found.sketches
