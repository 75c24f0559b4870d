"""Alignment that the compiler works out of an address: the widths of its own PTX."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from layoutcheck.dsl.session import Session
from layoutcheck.dsl.trace import trace_script
from layoutcheck.sources.mlir import without_locations
from layoutcheck.tracing import judge
from tests.lowering import SharedLowering

PROGRAM = """\
import cutlass
from cutlass import cute
from cutlass.cute.runtime import make_fake_tensor

@cute.kernel
def kernel(out: cute.Tensor, way: cutlass.Constexpr):
    tid, block = cute.arch.thread_idx()[0], cute.arch.block_idx()[0]
    lane = tid % 32
    if cutlass.const_expr(way == "allocated"):
        words = cute.make_layout(4096)
        base = cutlass.utils.SmemAllocator().allocate_tensor(cutlass.Uint32, words, 128).iterator
    else:
        base = cute.arch.get_dyn_smem(cutlass.Uint32, alignment=128)
    at = {"masked": lane * 8 + (lane & 4), "eight": lane * 4 + 2 * tid, "xor": (lane * 8) ^ 4,
          "block": lane * 8 + block, "allocated": lane * 8}[way]
    view = cute.make_layout((1, 4))
    atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), cutlass.Uint32, num_bits_per_copy=128)
    kept = cute.make_rmem_tensor(cute.make_layout(4), cutlass.Uint32)
    source = cute.make_tensor(base + cute.assume(at, divby=4), view)
    cute.copy(atom, source, cute.make_tensor(kept.iterator, view))
    for i in cutlass.range_constexpr(4):
        out[tid * 4 + i] = kept[i]

@cute.kernel
def scalars(out: cute.Tensor, way: cutlass.Constexpr):
    tid = cute.arch.thread_idx()[0]
    if cutlass.const_expr(way == "apart"):
        words = cute.make_layout(4096)
        base = cutlass.utils.SmemAllocator().allocate_tensor(cutlass.BFloat16, words, 128).iterator
    else:
        base = cute.arch.get_dyn_smem(cutlass.BFloat16, alignment=128)
    at = tid // 16 * 128 + tid % 16 * 8 + (4 if cutlass.const_expr(way == "halves") else 0)
    if cutlass.const_expr(way == "shifted"):
        at = ((at << 2) >> 3) << 1
    kept = cute.make_rmem_tensor(cute.make_layout(8), cutlass.BFloat16)
    cute.autovec_copy(cute.make_tensor(base + at, cute.make_layout(8)), kept)
    for i in cutlass.range_constexpr(8):
        out[tid * 8 + i] = kept[i]

@cute.jit
def single(out: cute.Tensor, way: cutlass.Constexpr):
    scalars(out, way).launch(grid=(1, 1, 1), block=(128, 1, 1))

@cute.jit
def host(out: cute.Tensor, way: cutlass.Constexpr):
    kernel(out, way).launch(grid=(1, 1, 1), block=(128, 1, 1))

for way in ("masked", "eight", "xor", "block", "allocated"):
    cute.compile(host, make_fake_tensor(cutlass.Uint32, (512,), stride=(1,), assumed_align=16), way)
for way in ("side by side", "halves", "apart", "shifted"):  # of 16 bits each
    cute.compile(single, make_fake_tensor(cutlass.BFloat16, (1024,), stride=(1,), assumed_align=16), way)
"""
BITS = {
    "masked": 128,
    "eight": 64,
    "xor": 128,
    "block": 32,
    "allocated": 32,
    "side by side": 128,
    "halves": 64,
    "apart": 128,
    "shifted": 128,
}
_LOAD = re.compile(r"ld\.shared(?:\.v(\d))?\.b(\d+)")


def test_accesses_are_as_wide_as_in_the_compilers_own_ptx(dsl: Session, tmp_path: Path) -> None:
    """Through constants in sums, products and masks, and where dynamic shared memory begins.

    Where an allocation does is known at times: it is not called slow for that.
    """
    pytest.importorskip("cutlass")
    (tmp_path / "s.py").write_text(PROGRAM)
    texts: list[str] = []
    with SharedLowering() as lowering:
        found = trace_script(
            str(tmp_path / "s.py"), launch=False, arch="sm_90a", lowering=lowering, timeout_s=100,
            observe=lambda text, _arch, _copies: texts.append(text),
        )  # fmt: skip
    assert not found.failures and len(texts) == len(found.copies) == len(BITS)
    asked = [{"module": without_locations(text), "arch": "sm_90a"} for text in texts]
    compiled = [one["ptx"] for one in dsl.ask("compile", asked)]
    loads = [_LOAD.search(ptx) or pytest.fail(ptx) for ptx in compiled]
    in_ptx = [int(load[1] or 1) * int(load[2]) for load in loads]
    assert in_ptx == list(BITS.values())
    sides = [[side.width_bits for side in copy.addresses.sides] for copy in found.copies]  # type: ignore[union-attr]
    least = [128 if way == "allocated" else bits for way, bits in BITS.items()]
    assert sides == [[bits] for bits in least]
    told = [{one.code for one in report.findings} for _, report in judge(found).reports]
    assert [("LC307" in codes, "LC301" in codes) for codes in told] == [
        (False, False), (True, False), (False, True), (True, True), (False, True),
        (False, False), (False, True),  # the first for three
    ]  # fmt: skip
