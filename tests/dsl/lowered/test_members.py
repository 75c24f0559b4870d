"""Members of a struct in shared memory, and mbarriers: what leaves its own."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from layoutcheck.dsl.lowered.views import Member, Touch, mixed
from tests.dsl.lowered.conftest import Traced

# A line that leaves its member, or its array, says so: by which byte of how many, or "meant?", or "padding".
STRUCTS = """
import cutlass
from cutlass import cute
from cutlass.cute.runtime import make_fake_tensor
F32, I64 = cutlass.Float32, cutlass.Int64
@cute.struct
class Inner:
    x: cute.struct.MemRange[F32, 128]
@cute.struct
class Storage:
    bars: cute.struct.MemRange[I64, 2]
    a: cute.struct.Align[cute.struct.MemRange[F32, 128], 128]
    b: cute.struct.Align[cute.struct.MemRange[F32, 256], 128]
    c: cute.struct.Align[Inner, 128]
@cute.kernel
def members(o: cute.Tensor, tc: cute.TiledCopy):
    t = cute.arch.thread_idx()[0]
    s = cutlass.memory.SmemAllocator().allocate(Storage)
    a, b = s.a.get_tensor(cute.make_layout(128)), s.b.get_tensor(cute.make_layout(256))
    c = s.c.x.get_tensor(cute.make_layout(128))
    wide = s.a.get_tensor(cute.make_layout(256))
    if t == 0:
        for i in cutlass.range_constexpr(3):
            cute.arch.mbarrier_init(s.bars.data_ptr() + i, 1)  # leaves 16 of 16, padding
    cute.arch.mbarrier_init_fence()
    cute.arch.sync_threads()
    a[t], b[t], b[t + 128], c[t] = 1.0, 2.0, 3.0, 4.0
    if t < 64:
        b[t] = 2.0  # after it b is what both arms hand on
    wide[t + 128] = 5.0  # leaves 512 of 512
    cute.arch.sync_threads()
    o[t] = a[t] + b[t] + c[t]
    o[t] = wide[t + 128 * 3]  # leaves 1536 of 512
    cute.arch.sync_threads()
    part = tc.get_slice(t).partition_D(s.c.x.get_tensor(cute.make_layout(256)))
    registers = cute.make_fragment_like(part)
    registers.fill(1.0)
    cute.copy(tc, registers, part)  # leaves 2176 of 2176
@cute.kernel
def reused(o: cute.Tensor):
    t = cute.arch.thread_idx()[0]
    s = cutlass.memory.SmemAllocator().allocate(Storage)
    a, b = s.a.get_tensor(cute.make_layout(128)), s.b.get_tensor(cute.make_layout(256))
    a[t], b[t] = 1.0, 2.0
    cute.arch.sync_threads()
    o[t] = a[t] + b[t]
    cute.arch.sync_threads()
    tile = s.a.get_tensor(cute.make_layout(256))
    tile[t], tile[t + 128] = 3.0, 4.0  # leaves 512 of 512, meant?
    cute.arch.sync_threads()
    o[t] = tile[127 - t] + tile[255 - t]  # leaves 1020 of 512, meant?
@cute.struct
class Rows:
    scale: cute.struct.MemRange[F32, 160]
    free: cute.struct.MemRange[F32, 0]
    top: cute.struct.Align[cute.struct.MemRange[F32, 128], 1024]
@cute.kernel
def turns(o: cute.Tensor, n: cutlass.Int32):
    t = cute.arch.thread_idx()[0]
    s = cutlass.memory.SmemAllocator().allocate(Rows)
    scale, top = s.scale.get_tensor(cute.make_layout(512)), s.top.get_tensor(cute.make_layout(128))
    tile = cutlass.Int32(0)
    while tile < n:
        scale[t], top[t] = 1.0, 2.0
        scale[t + 96] = 1.0  # leaves 640 of 640, padding
        cute.arch.sync_threads()
        o[t] = scale[t + 32] + top[t]
        for i in cutlass.range(n, unroll=1):
            o[t] = scale[t + 128]  # leaves 640 of 640, padding
            scale[t + 160] = 3.0  # leaves 640 of 640, meant?
            scale[t * 2 + 3] = 3.0  # leaves 644 of 640, meant?
        tile += 1
@cute.kernel
def arrays(o: cute.Tensor, n: cutlass.Constexpr):
    t = cute.arch.thread_idx()[0]
    memory = cutlass.memory.SmemAllocator()
    bars = memory.allocate_array(I64, 4)
    s = memory.allocate_tensor(F32, cute.make_layout(128), byte_alignment=16)
    s[t] = 1.0
    if t < 5:
        cute.arch.mbarrier_init(bars + t % n, 1)  # leaves 32 of 32 if n == 5
    cute.arch.mbarrier_init_fence()
    cute.arch.sync_threads()
    for i in cutlass.range(12, unroll=1):
        if t == 0:
            cute.arch.mbarrier_arrive(bars + i % n)  # leaves 32 of 32 if n == 5
        cute.arch.mbarrier_wait(bars + i % n, i // n % 2)  # leaves 32 of 32 if n == 5
    o[t] = s[t]
@cute.jit
def host(o: cute.Tensor, count: cutlass.Int32):
    copy = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), F32, num_bits_per_copy=64)
    tc = cute.make_tiled_copy_tv(copy, cute.make_layout(128), cute.make_layout(2))
    members(o, tc).launch(grid=(1, 1, 1), block=(128, 1, 1))
    reused(o).launch(grid=(1, 1, 1), block=(128, 1, 1))
    for n in cutlass.range_constexpr(4, 6):
        arrays(o, n).launch(grid=(1, 1, 1), block=(128, 1, 1))
    turns(o, count).launch(grid=(1, 1, 1), block=(128, 1, 1))
if __name__ == "__main__":
    cute.compile(host, make_fake_tensor(F32, (128,), stride=(1,), assumed_align=16), cutlass.Int32(3))
"""
_SAID = re.compile(r"at byte ([0-9]+) of (?:member \w+, which has|an allocation of) ([0-9]+) B")
_MARK = re.compile(r"# leaves ([0-9]+) of ([0-9]+)(?:, (meant\?|padding))?")
_MEANT = re.compile(r"it touches byte ([0-9]+) of member \w+ of a struct, which has ([0-9]+) B")


def test_members_and_mbarriers(traced: Traced) -> None:
    """A value that gets from one member into another is told; a tile over several members is not checked."""
    pytest.importorskip("cutlass", reason="the CuTe DSL (nvidia-cutlass-dsl) is not installed")
    found = traced(STRUCTS)
    assert not found.failures, found.failures
    lines = STRUCTS.splitlines()
    marked = {i: match for i, text in enumerate(lines, 1) if (match := _MARK.search(text))}
    told = {
        (one.places[0].where.line, *(int(n) for n in said.groups()))
        for report in found.elements
        for one in report.findings
        if (said := _SAID.search(one.message)) is not None
    }
    (copy,) = found.copies
    assert copy.addresses is not None
    told |= {(copy.where.line, fault.address, fault.other) for fault in copy.addresses.faults}
    expected = {(i, int(one[1]), int(one[2])) for i, one in marked.items() if one[3] != "meant?"}
    assert told == expected
    notes = {i for i, one in marked.items() if one[3] == "padding"}
    for one in (one for report in found.elements for one in report.findings if one.code == "LC204"):
        assert one.severity == ("note" if one.places[0].where.line in notes else "wrong")
        assert ("No member has the bytes up to" in one.message) == (one.severity == "note")
    verdicts = [dict(report.verdicts) for report in found.elements]
    assert sum(one.get("wrong", 0) for one in verdicts) and not any("note" in one for one in verdicts)
    why = [one for report in found.elements for one, _ in report.unchecked if "in shared memory" in one]
    doubts = [_MEANT.search(one) for one in why]
    meant = [(one[1], one[2]) for one in marked.values() if one[3] == "meant?"]
    assert sorted((one[1], one[2]) for one in doubts if one) == sorted(meant) and all(doubts)


@st.composite
def touches(draw: st.DrawFn) -> list[Touch]:
    """Accesses of 4 bytes in a struct of three members of 16 bytes, each through the pointer of one."""
    known = [Member(name, 16, 16 * i, 48) for i, name in enumerate("abc")]
    return [
        Touch(i, f"t{i}", draw(st.integers(0, 1)), np.array([draw(st.integers(0, 11)) * 4]), 4,
              draw(st.sampled_from(known)), False)
        for i in range(draw(st.integers(1, 12)))
    ]  # fmt: skip


@given(touches())
def test_values_that_go_from_one_member_to_another(touched: list[Touch]) -> None:
    """Exactly what leaves its member with a value that the other end has through another pointer."""
    writer: dict[int, Touch] = {}
    expected = set()
    for one in touched:
        at = int(one.starts[0])
        if one.side:
            writer[at] = one
        elif at in writer and writer[at].member != one.member:
            ends = (writer[at], one)
            expected |= {(e.tag, e.side) for e in ends if e.member and not 0 <= at - e.member.start < 16}
    assert mixed(touched).keys() == expected
    assert not mixed([replace(one, late=True) for one in touched])
    assert not mixed([replace(one, tag="nvvm.mbarrier.init#0") for one in touched])
