"""The library: text and live objects, defaults and what is said of them, the lazy package."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import layoutcheck as lc
from layoutcheck.atoms.cp_async import CpAsync
from layoutcheck.atoms.universal import UniversalCopy
from layoutcheck.errors import InputError
from layoutcheck.machine.dtypes import dtype
from tests.environment import ROOT, python_path

ENVIRONMENT = {**os.environ, "PYTHONPATH": python_path()}
SRC = '!cute.memref<bf16, gmem, align<16>, "(8):(1)">'
GOOD = '!cute.memref<bf16, smem, align<128>, "(8):(1)">'
SCATTERED = '!cute.memref<bf16, smem, align<128>, "(8):(64)">'


def test_the_three_verdicts_of_one_idea() -> None:
    assert lc.check(SRC, GOOD, "cp.async", bits=128).verdict == "legal"
    assert lc.check(SRC, SCATTERED, "cp.async", bits=128).verdict == "wrong"
    assert lc.check(SRC, SCATTERED, "universal", bits=128).verdict == "rejected"


def test_the_report_of_the_issue() -> None:
    report = lc.check(
        "(128,64):(1,128)", "(128,64):(64,1)", "cp.async", dtype="bf16", bits=128,
        thr="(16,16):(16,1)", val="(8,1)",
    )  # fmt: skip
    assert report.verdict == "rejected"
    assert {"match-layout", "narrow-copy", "stage-through-registers"} <= {
        fix.strategy for fix in report.fixes
    }
    assert {fix.verdict for fix in report.fixes} <= {"legal", "slow"}
    assert report.copy.tiling is not None
    assert report.assumptions == (
        "src is in gmem, aligned to 16 bytes",
        "dst is in smem, aligned to 128 bytes",
    )


def test_one_thread_layout_away_it_is_accepted_and_wrong() -> None:
    for arguments in ({"thr": "(16,1):(1,0)", "val": "(8,1)"}, {"thr": "(16,16):(16,1)", "val": "(8,8)"}):
        report = lc.check(
            "(128,64):(1,128)", "(128,64):(64,1)", "cp.async", dtype="bf16", bits=128, **arguments
        )  # type: ignore[arg-type]
        assert (report.verdict, report.compiler.outcome) == ("wrong", "accepted")


@pytest.mark.parametrize(
    ("atom", "spaces"),
    [
        ("cp.async", ("gmem", "smem")),
        ("universal", ("gmem", "smem")),
        ("g2r", ("gmem", "rmem")),
        ("s2r", ("smem", "rmem")),
        ("r2s", ("rmem", "smem")),
        ("r2g", ("rmem", "gmem")),
        ("ldmatrix.x4", ("smem", "rmem")),
        ("stmatrix.x4", ("rmem", "smem")),
        ("autovec", ("gmem", "smem")),
    ],
)
def test_a_bare_layout_lies_where_its_atom_expects_it(atom: str, spaces: tuple[str, str]) -> None:
    copy = lc.check("(8):(1)", "(8):(1)", atom, dtype="bf16").copy
    assert (copy.src.space, copy.dst.space) == spaces


@pytest.mark.parametrize(("rows", "said"), [("9", True), ("16", False), ("?", True)])
def test_what_a_predicate_is_taken_to_hold_past_a_tiles_edge_is_said(rows: str, said: bool) -> None:
    """`legal` rests on it: without a predicate the last step leaves a tile of 9 rows (LC211)."""
    report = lc.check(
        f"f64 gmem align<8> ({rows},1):(1,1)",
        f"f64 smem align<8> ({rows},1):(1,1)",
        "universal",
        bits=64,
        thr="(8,1)",
        val="(1,1)",
        pred="i1 rmem (1,2,1):(0,1,0)",
    )
    assert any("false past its edge" in line for line in report.assumptions) == said
    assert report.verdict == "legal" or rows == "?"


def test_stated_spaces_and_alignments_are_not_assumptions() -> None:
    report = lc.check(
        "(8):(1)", "(8):(1)", "universal", dtype="f32", bits=32,
        src_space="gmem", src_align=4, dst_space="rmem", dst_align=8,
    )  # fmt: skip
    assert report.assumptions == ()
    assert str(report.copy.src) == '!cute.memref<f32, gmem, align<4>, "(8):(1)">'
    assert str(report.copy.dst) == '!cute.memref<f32, rmem, align<8>, "(8):(1)">'
    assert lc.check("(8):(1)", "(8):(1)", "universal", dtype="f32", dst_space="rmem").copy.src.space == "gmem"


def test_a_swizzle_is_the_shared_side_pointers() -> None:
    copy = lc.check("(8):(1)", "(8):(1)", "cp.async", dtype="bf16", swizzle="S<3,4,3>").copy
    assert copy.src.swizzle is None
    assert str(copy.dst.swizzle) == "S<3,4,3>"


def test_the_element_type_comes_from_whatever_states_it() -> None:
    assert lc.check("(8):(1)", GOOD, "cp.async", bits=128).copy.src.dtype == dtype("bf16")
    printed = "!cute_nvgpu.atom.universal_copy<f16, 128 b>"
    assert lc.check("(8):(1)", "(8):(1)", printed).copy.dst.dtype == dtype("f16")
    with pytest.raises(InputError, match="element type"):
        lc.check("(8):(1)", "(8):(1)", "cp.async")


def test_without_an_atom_it_is_autovec_copy_and_said_so() -> None:
    report = lc.check(SRC, GOOD)
    assert report.copy.op == "autovec_copy"
    assert any("autovec_copy" in line for line in report.assumptions)


def test_a_tiled_copy_as_atom_copies_views_and_as_tiled_partitions_tiles() -> None:
    tiled = (
        "!cute.tiled_copy<!cute_nvgpu.atom.simt_async_copy<bf16, cache = always, 128 b>, "
        'layout_copy_tv = <"((16,16),8):((128,8),1)">, tiler_mn = <"[128:1;16:1]">>'
    )
    views = lc.check(SRC, GOOD, tiled).copy
    assert views.tiling is None and str(views.tiled) == tiled
    tiles = lc.check("(128,64):(1,128)", "(128,64):(1,128)", tiled=tiled, dtype="bf16").copy
    assert tiles.tiling is not None and str(tiles.tiling.tiled) == tiled
    assert str(tiles.src.layout) == "((8,1),1,4):((1,0),0,2048)"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"thr": "(16,16)"}, "must be given together"),
        ({"thr": "(16,16)", "val": "(8,1)", "atom": None}, "need an atom"),
        ({"arch": "hopper"}, "unknown architecture"),
        ({"op": "teleport"}, "unknown operation"),
        ({"bits": 0}, "bits is 0; expected a number from 1 to 1048576"),
        ({"block": -5}, "block is -5; expected"),
        ({"src_space": "attic"}, "unknown memory space"),
        ({"dtype": "bf17"}, "unknown element type"),
        ({"swizzle": "S<9"}, "unexpected"),
        ({"src": "(8):(1"}, "src: unbalanced"),
        ({"pred": "(8"}, "pred: unbalanced"),
        ({"src": object()}, "neither a tensor nor a layout"),
        ({"atom": 7}, "not a copy atom"),
        ({"tiled": "universal"}, "is not a tiled copy"),
    ],
)
def test_bad_arguments(arguments: dict[str, Any], message: str) -> None:
    usual: dict[str, Any] = {"src": "(8):(1)", "dst": "(8):(1)", "atom": "cp.async", "dtype": "bf16"}
    with pytest.raises(InputError, match=message):
        lc.check(**{**usual, **arguments})


# Live objects, known by what they offer.


def test_a_numpy_array() -> None:
    array = np.zeros((64, 32), dtype=np.float32)
    report = lc.check(array.T, "(32,64):(1,32)", "universal", bits=32, dst_space="rmem")
    assert str(report.copy.src.layout) == "(32,64):(1,32)"
    assert report.copy.src.dtype == dtype("f32")
    assert report.copy.src.align_bytes in (1, 2, 4, 8, 16)
    assert report.copy.src.space == "gmem"


def test_a_reversed_array_and_a_view_between_elements() -> None:
    assert (
        str(lc.check(np.zeros(8, np.float32)[::-1], "(8):(1)", "auto", dtype="f32").copy.src.layout)
        == "(8):(-1)"
    )
    odd = np.lib.stride_tricks.as_strided(np.zeros(16, np.float32), (4,), (6,))
    with pytest.raises(InputError, match="not whole elements"):
        lc.check(odd, "(4):(1)", "auto", dtype="f32")


class FakeTorch:
    """What `check` uses of a torch tensor."""

    def __init__(self, shape: tuple[int, ...], stride: tuple[int, ...], address: int) -> None:
        self.shape, self._stride, self._address = shape, stride, address
        self.dtype = "torch.bfloat16"

    def stride(self) -> tuple[int, ...]:
        return self._stride

    def data_ptr(self) -> int:
        return self._address


def test_a_torch_tensor() -> None:
    src = lc.check(FakeTorch((64, 128), (1, 64), 0x7F0000000208), "(64,128):(1,64)", "cp.async").copy.src
    assert str(src) == '!cute.memref<bf16, gmem, align<8>, "(64,128):(1,64)">'


@dataclass
class FakeDsl:
    """A DSL object: all that is read of it is its printed type."""

    type: str


def test_dsl_objects_are_read_through_their_types() -> None:
    copy = lc.check(
        FakeDsl(SRC), FakeDsl(GOOD), FakeDsl("!cute_nvgpu.atom.simt_async_copy<bf16, cache = always, 128 b>")
    ).copy
    assert (str(copy.src), str(copy.dst)) == (SRC, GOOD)
    assert copy.atom == CpAsync(dtype("bf16"), 128)
    tiles = lc.check(
        FakeDsl('!cute.layout<"(128,64):(1,128)">'), "(128,64):(1,128)", "cp.async", dtype="bf16",
        thr=FakeDsl('!cute.layout<"(16,16):(16,1)">'), val="(8,1)",
    ).copy  # fmt: skip
    assert tiles.tiling is not None


def test_our_own_values() -> None:
    memref = lc.check(SRC, GOOD, "universal").copy.src
    assert lc.check(memref, memref, UniversalCopy(dtype("bf16"), 128)).copy.dst == memref


def test_live_dsl_objects(tmp_path: Path) -> None:
    if importlib.util.find_spec("cutlass") is None:
        pytest.skip("the CuTe DSL is not installed")
    script = tmp_path / "kernel.py"  # the DSL reads a kernel's source file
    script.write_text("""
import os
os.environ["CUTE_DSL_ARCH"] = "sm_90a"
os.environ["CUTE_DSL_DRYRUN"] = "1"
import cutlass, cutlass.cute as cute, layoutcheck as lc
from cutlass.cute.nvgpu import cpasync
from cutlass.cute.runtime import make_fake_compact_tensor

@cute.kernel
def kernel(m: cute.Tensor):
    s = cutlass.memory.SmemAllocator().allocate_tensor(
        cutlass.BFloat16, cute.make_layout((128, 64), stride=(64, 1)), byte_alignment=128)
    atom = cute.make_copy_atom(cpasync.CopyG2SOp(), cutlass.BFloat16, num_bits_per_copy=128)
    thr, val = cute.make_layout((16, 16), stride=(16, 1)), cute.make_layout((8, 1))
    print(lc.check(m, s, atom, thr=thr, val=val).verdict)
    print(lc.check(m, s, tiled=cute.make_tiled_copy_tv(atom, thr, val)).verdict)

@cute.jit
def host(m: cute.Tensor):
    kernel(m).launch(grid=(1, 1, 1), block=(256, 1, 1))

fake = make_fake_compact_tensor(cutlass.BFloat16, (128, 64), assumed_align=16)
print(lc.check(fake, fake, "universal", bits=128).copy.src)
cute.compile(host, fake)
""")
    done = subprocess.run(
        [sys.executable, str(script)], cwd=ROOT, env=ENVIRONMENT, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split("\n")[:3] == [
        '!cute.memref<bf16, gmem, align<16>, "(128,64):(1,128)">', "rejected", "rejected",
    ]  # fmt: skip


# The package.


def test_the_function_is_not_hidden_by_the_module_of_its_name() -> None:
    import layoutcheck.check  # noqa: F401 - binds the submodule's name in the package

    assert callable(lc.check)
    from layoutcheck.check import Report

    assert isinstance(lc.check(SRC, GOOD, "universal"), Report)


def test_the_algebra_is_the_packages_own() -> None:
    assert str(lc.composition(lc.Layout((8, 8), (8, 1)), lc.Layout((4, 2), (1, 8)))) == "(4,2):(8,1)"
    assert {"check", "Layout", "Report", "InputError"} <= set(dir(lc))
    with pytest.raises(AttributeError, match="no attribute 'frobnicate'"):
        _ = lc.frobnicate  # type: ignore[attr-defined]


def test_errors_of_a_paste() -> None:
    types = f"!cute_nvgpu.atom.universal_copy<bf16, 128 b>, {SRC}, {SCATTERED}"
    text = f"error: x: 'cute.copy' op no\n see: \"cute.copy\"(%1, %2, %3) : ({types}) -> ()"
    (report,) = lc.check_error(text)
    assert report.verdict == "rejected"
