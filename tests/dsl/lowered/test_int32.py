"""Public reports of offsets beyond 32 bits, each as a small kernel: what is told, where, with what repair."""

from __future__ import annotations

import re

import pytest

from tests.dsl.lowered.conftest import Traced

pytest.importorskip("cutlass", reason="the CuTe DSL (nvidia-cutlass-dsl) is not installed")

REPORTS = """
import cutlass
from cutlass import cute
from cutlass.cute.runtime import make_fake_tensor, make_ptr
BF16 = cutlass.BFloat16
@cute.kernel
def k2312(x: cute.Tensor):
    at = cute.arch.block_idx()[0] * 256 + cute.arch.thread_idx()[0]
    if at < x.shape[1]:
        x[cute.arch.block_idx()[1], at] = BF16(0.0)  # CUTLASS 2312
@cute.kernel
def k3604(x: cute.Tensor, row: cutlass.Numeric):
    cute.domain_offset((row, 0), x)[(0, 0)] = BF16(0.0)  # CUTLASS 3604
@cute.kernel
def k3208(x: cute.Tensor):
    x[0] = cutlass.Uint8(0)  # CUTLASS 3208
@cute.kernel
def k3327(x: cute.Tensor):
    x[0] = cutlass.Uint8(0)  # CUTLASS 3327
@cute.kernel
def k2886(w: cute.Tensor, wide: cutlass.Constexpr):
    q, h, b = cute.arch.block_idx()
    q = wide(q)
    w[q, cute.arch.thread_idx()[0], (h, b)] = BF16(0.0)  # CUTLASS 2886
@cute.kernel
def k2715(x: cute.Tensor):
    i, j, b = cute.arch.block_idx()
    x[b, i, j * 256 + cute.arch.thread_idx()[0]] = BF16(0.0)  # CUTLASS 2715
@cute.kernel
def k3391(x: cute.Tensor, tc: cute.TiledCopy):
    row = cute.local_tile(x, (1, 12288), (cute.arch.block_idx()[0], 0))
    part = tc.get_slice(cute.arch.thread_idx()[0]).partition_S(row)
    cute.copy(tc, part, cute.make_fragment_like(part))  # flashinfer 3391
@cute.kernel
def k303(x: cute.Tensor, row_type: cutlass.Constexpr):
    row = row_type(cute.arch.block_idx()[0])
    x[row, cute.arch.thread_idx()[0]] = BF16(0.0)  # MSLK 303
@cute.jit
def host(
    x2312: cute.Tensor, x3604: cute.Tensor, row: cutlass.Int32, x3208: cute.Tensor, x3327: cute.Tensor,
    p2886: cute.Pointer, q: cutlass.Int32, h: cutlass.Int32, b: cutlass.Int32, x2715: cute.Tensor,
    x3391: cute.Tensor, x303: cute.Tensor,
):
    k2312(x2312).launch(grid=[256, 65384, 1], block=[256, 1, 1])
    k3604(x3604, row).launch(grid=[1, 1, 1], block=[1, 1, 1])
    k3604(x3604, cutlass.Int64(row)).launch(grid=[1, 1, 1], block=[1, 1, 1])
    k3208(cute.domain_offset((2**30,), x3208)).launch(grid=[1, 1, 1], block=[1, 1, 1])
    k3327(x3327).launch(grid=[1, 1, 1], block=[1, 1, 1])
    for wide in (cutlass.Int32, cutlass.Int64):
        strides = (128, 1, (wide(q) * 128, wide(q) * 128 * h))
        work = cute.make_tensor(p2886, cute.make_layout((q, 128, (h, b)), stride=strides))
        k2886(work, wide).launch(grid=[q, h, b], block=[128, 1, 1])
    k2715(x2715).launch(grid=[65536, 256, 2], block=[256, 1, 1])
    atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), cutlass.Float16, num_bits_per_copy=128)
    tc = cute.make_tiled_copy_tv(atom, cute.make_layout((1, 256)), cute.make_layout((1, 8)))
    k3391(x3391, tc).launch(grid=[x3391.shape[0], 1, 1], block=[256, 1, 1])
    k303(x303, cutlass.Int32).launch(grid=[x303.shape[0], 1, 1], block=[1024, 1, 1])
    k303(x303, cutlass.Int64).launch(grid=[x303.shape[0], 1, 1], block=[1024, 1, 1])
def fake(shape, stride, dtype=BF16):
    return make_fake_tensor(dtype, shape, stride=stride, assumed_align=16)
if __name__ == "__main__":
    many = cute.sym_int()
    wide = cute.sym_int64(divisibility=2**31)
    pointer = make_ptr(BF16, 1 << 20, cute.AddressSpace.gmem, assumed_align=16)
    cute.compile(
        host, fake((65384, 65384), (65384, 1)), fake((2**29 + 1, 4), (4, 1)), 7,
        fake((many,), (cute.sym_int64(),), cutlass.Uint8), fake((many,), (wide,), cutlass.Uint8), pointer, 64,
        64, 2, fake((2, 65536, 65536), (65536**2, 65536, 1)),
        fake((many, 12288), (12288, 1), cutlass.Float16), fake((many, 1024), (1024, 1)),
    )
"""
# The least number that overflows: rows of the whole grid, an argument, or every dynamic extent.
SMALLEST = {
    "CUTLASS 3604": "if all integer arguments are 536870912 or more",  # 2^29 rows of 4
    "CUTLASS 2886": "if all integer arguments are 257 or more",  # 256 * 128 * 256 * 256 = 2^31 is the first
    "flashinfer 3391": "all dynamic extents below 174764",  # row 174763 begins past 2^31 - 1
    "MSLK 303": "all dynamic extents below 2097153",  # 2^31 / 1024 rows fit
}
FAULTS = ("CUTLASS 2312", "CUTLASS 2715")  # all is static: a fault, not a condition
MENDED = ("CUTLASS 3208", "CUTLASS 3327")  # by DSL 4.8.1: the offset is computed in 64 bits, the stride kept
INT64 = {
    "CUTLASS 3604",
    "CUTLASS 2886",
    "MSLK 303",
}  # and a twin with cutlass.Int64, of which nothing is told


def test_reports_of_offsets_beyond_32_bits(traced: Traced) -> None:
    """Each with its line, the smallest problem that overflows, and the repair; the repaired are silent."""
    found = traced(REPORTS)
    assert not found.failures, found.failures
    lines = REPORTS.splitlines()
    names = {i: match[1] for i, line in enumerate(lines, 1) if (match := re.search(r"# (\w+ \d+)$", line))}
    assert set(names.values()) == {*SMALLEST, *FAULTS, *MENDED}
    (copy,) = found.copies
    (report,) = found.elements
    assert report.accesses == 7 + len(INT64) == report.known
    conditions = {names[copy.where.line]: copy.bounded_if}
    for why, count in report.unchecked:
        if "32" in why:  # the others: where a tensor ends
            (line,) = re.findall(r"\(program\.py:([0-9]+)\)$", why)
            assert count == 1 and names[int(line)] not in conditions
            conditions[names[int(line)]] = why
    assert conditions.keys() == SMALLEST.keys()
    for name, told in SMALLEST.items():
        assert told in conditions[name] and "cutlass.Int64" in conditions[name]
        assert ("cute.sym_int64" in conditions[name]) == ("extents below" in told)
    faults = {names[one.places[0].where.line]: one for one in report.findings if one.code == "LC204"}
    assert faults.keys() == set(FAULTS)
    for one in faults.values():
        assert one.severity == "wrong" and one.evidence["operations"] == 1
        assert "its 32-bit offset overflows" in one.title and "coordinates of cutlass.Int64" in one.message
