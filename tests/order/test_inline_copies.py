"""Copies and barriers in inline PTX: a kernel of each, right and wrong."""

from __future__ import annotations

import pytest

from layoutcheck.sources.traced import OrderReport
from tests.order.looked import orders_of

KERNELS = """\
import cutlass, cutlass.cute as cute
from cutlass import Constexpr, Int32, Int64, const_expr
from cutlass._mlir.dialects import llvm
from cutlass.base_dsl.dsl import extract_mlir_values
import cutlass._mlir.dialects.cute as ir
import cutlass._mlir.dialects.cute_nvgpu as nvgpu
from cutlass.cute.nvgpu import cpasync
from cutlass.cute.runtime import make_fake_tensor
from cutlass.cutlass_dsl import dsl_user_op
arch, DIALECT = cute.arch, llvm.AsmDialect.AD_ATT
BYTES = 64 * 64 * 2
LOAD = "cp.async.bulk.tensor.2d.shared::cta.global.tile.mbarrier::complete_tx::bytes"
BOX = LOAD + " [$0], [$1, {$2, $3}], [$4];"
COPY = "{ .reg .u32 to; add.u32 to, $0, 16; cp.async.cg.shared.global [to], [$1], 16; }"
@dsl_user_op
def asm(text, kinds, *given, loc=None, ip=None):
    values = [one.ir_value(loc=loc, ip=ip) for one in given]
    llvm.inline_asm(None, values, text, kinds, has_side_effects=True, asm_dialect=DIALECT)  # PTX
@dsl_user_op
def place(pointer, *, loc=None, ip=None):
    return Int32(pointer.toint(loc=loc, ip=ip))
@dsl_user_op
def tensor_map(atom, *, loc=None, ip=None):
    kind = ir.PtrType.get(nvgpu.TmaDescriptorTiledType.get(), cute.AddressSpace.generic, 64)
    exec_atom = nvgpu.atom_make_exec_tma(atom._trait.value, loc=loc, ip=ip)
    return Int64(nvgpu.get_tma_desc_addr(kind, exec_atom, loc=loc, ip=ip).toint(loc=loc, ip=ip))
@cute.kernel
def boxed(atom: cute.CopyAtom, view: cute.Tensor, out: cute.Tensor, how: Constexpr):
    thread, _, _ = arch.thread_idx()
    memory = cutlass.memory.SmemAllocator()
    bar = memory.allocate_array(Int64, 1)
    tile = memory.allocate_tensor(cutlass.BFloat16, cute.make_layout((64, 64), stride=(64, 1)), 128)
    if thread == 0:
        arch.mbarrier_init(bar, 1)
    arch.mbarrier_init_fence()
    arch.sync_threads()
    if thread < 32:
        with arch.elect_one():
            arch.mbarrier_arrive_and_expect_tx(bar, BYTES // (2 if const_expr(how == 2) else 1))
            to, there = place(tile.iterator), tensor_map(atom)
            asm(BOX, "r,l,r,r,r", to, there, Int32(0), Int32(0), place(bar))
    if const_expr(how != 1):
        arch.mbarrier_wait(bar, 0)
    out[thread] = tile[thread % 64, 0]  # reads
@cute.kernel
def copied(given: cute.Tensor, out: cute.Tensor, how: Constexpr):
    thread, _, _ = arch.thread_idx()
    memory = cutlass.memory.SmemAllocator()
    tile = memory.allocate_tensor(cutlass.BFloat16, cute.make_layout(8 * 129), 128)
    there = Int64((given.iterator + thread * 8).toint())
    asm(COPY, "r,l", place(tile.iterator + thread * 8), there)
    asm("cp.async.commit_group;", "")
    asm("cp.async.wait_group 1;" if const_expr(how == 1) else "cp.async.wait_group 0;", "")
    if const_expr(how == 2):
        asm("bar.sync 1, 64;", "")
    else:
        asm("bar.sync 1, 128;", "")
    out[thread] = tile[8 * (128 - thread)]  # reads
@cute.jit
def run(a: cute.Tensor, out: cute.Tensor, how: Constexpr):
    layout = cute.make_layout((64, 64), stride=(64, 1))
    atom, view = cpasync.make_tiled_tma_atom(cpasync.CopyBulkTensorTileG2SOp(), a, layout, (64, 64))
    if const_expr(how < 3):
        boxed(atom, view, out, how).launch(grid=(1, 1, 1), block=(128, 1, 1))
    else:
        copied(a, out, how - 3).launch(grid=(1, 1, 1), block=(128, 1, 1))
a = make_fake_tensor(cutlass.BFloat16, (64, 64), (64, 1), assumed_align=16)
out = make_fake_tensor(cutlass.BFloat16, (128,), (1,), assumed_align=16)
for how in range(6):
    cute.compile(run, a, out, how)
"""


@pytest.fixture(scope="module")
def orders(tmp_path_factory: pytest.TempPathFactory) -> tuple[OrderReport, ...]:
    """A box: right, without a wait, with half of its bytes announced. cp.async: right, a group too few, a
    barrier for half of the threads."""
    return orders_of(KERNELS, tmp_path_factory.mktemp("inline"), 6)


def test_a_kernel_of_inline_ptx_is_followed(orders: tuple[OrderReport, ...]) -> None:
    """The bytes of the box come from its tensor map, the place of cp.async from a sum of registers."""
    lines = KERNELS.splitlines()
    told = [
        [(f.code, [lines[p.where.line - 1].rpartition("# ")[2] for p in f.places]) for f in order.findings]
        for order in orders
    ]
    assert told[0] == told[3] == []
    assert told[1] == [("LC501", ["PTX", "reads"])]
    assert [code for code, _ in told[2]] == ["LC507"]
    assert told[4][0][0] == "LC501" and told[4][0][1][:2] == ["PTX", "reads"]
    assert [code for code, _ in told[5]] == ["LC501", "LC509"]
