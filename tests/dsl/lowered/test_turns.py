"""Rings of shared memory of which block 0 comes to the first stage alone with our numbers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from layoutcheck.dsl.lowered import resolve
from layoutcheck.judge import judge_traced
from tests.dsl.lowered.conftest import Traced

pytest.importorskip("cutlass", reason="the CuTe DSL (nvidia-cutlass-dsl) is not installed")

# A stage is a row of `width` floats, loaded by TMA; the tiles are dealt out to the blocks of the grid.
PROGRAM = """
import cutlass
from cutlass import cute, pipeline
from cutlass.cute.nvgpu import cpasync
from cutlass.cute.runtime import make_fake_compact_tensor
from cutlass.memory.smem import SmemAllocator
def turn(atom, source, ring, out, pipe, states, i, tidx):
    producer, consumer = states
    pipe.producer_acquire(producer)
    bar = pipe.producer_get_barrier(producer)
    cute.copy(atom, source[None, i, 0], ring[0][None, producer.index], tma_bar_ptr=bar)
    pipe.producer_commit(producer)
    pipe.consumer_wait(consumer)
    out[i] = ring[1][0, consumer.index]
    pipe.consumer_release(consumer)
@cute.kernel
def k(atom: cute.CopyAtom, src: cute.Tensor, out: cute.Tensor, n: cutlass.Int32, width: cutlass.Constexpr,
      kind: cutlass.Constexpr):
    tidx, block, blocks = cute.arch.thread_idx()[0], cute.arch.block_idx()[0], cute.arch.grid_dim()[0]
    memory = SmemAllocator()
    ring = memory.allocate_tensor(cutlass.Float32, cute.make_layout((width, 2)), 128)
    alone = pipeline.CooperativeGroup(pipeline.Agent.Thread, size=1)
    pipe = pipeline.PipelineTmaAsync.create(
        num_stages=2, producer_group=alone, consumer_group=alone, tx_count=width * 4,
        barrier_storage=memory.allocate_array(cutlass.Uint64, 4), tidx=tidx)
    tiles = cute.local_tile(src, (1, width), (None, None))
    parts = cute.group_modes(ring, 0, 1), cute.group_modes(tiles, 0, 2)
    there, source = cpasync.tma_partition(atom, cutlass.Int32(0), cute.make_layout(1), *parts)
    producer = pipeline.make_pipeline_state(pipeline.PipelineUserType.Producer, 2)
    consumer = pipeline.make_pipeline_state(pipeline.PipelineUserType.Consumer, 2)
    if cutlass.const_expr(kind.startswith("one")):
        n = cutlass.min(n, 1)
    elif cutlass.const_expr(kind.startswith("few")):
        n = cutlass.min(n, 4)
    if cutlass.const_expr(kind in ("block", "argument")):
        stage = block % 2 if cutlass.const_expr(kind == "block") else n
        if tidx == 0:
            bar = pipe.producer_get_barrier(producer)
            cute.copy(atom, source[None, block, 0], there[None, stage], tma_bar_ptr=bar)
    elif cutlass.const_expr(kind.endswith("while")):
        i = cutlass.Int32(0) if cutlass.const_expr(kind == "one while") else block
        if cutlass.const_expr(kind == "late while"):
            i = n
            n = cutlass.Int32(4)
        while i < n:
            if tidx == 0:
                turn(atom, source, (there, ring), out, pipe, (producer, consumer), i, tidx)
                producer.advance()
                consumer.advance()
            i = i + blocks
    else:
        start, stop = block, n
        if cutlass.const_expr(kind == "once"):
            stop = block + 1
        if cutlass.const_expr(kind == "one"):
            start = 0
        if cutlass.const_expr(kind == "late"):
            start, stop = n, 4
        for i in cutlass.range(start, stop, blocks if cutlass.const_expr(kind in ("for", "few")) else 1):
            if tidx == 0:
                turn(atom, source, (there, ring), out, pipe, (producer, consumer), i, tidx)
                producer.advance()
                consumer.advance()
@cute.jit
def h(src: cute.Tensor, out: cute.Tensor, n: cutlass.Int32, grid: cutlass.Int32, width: cutlass.Constexpr,
      kind: cutlass.Constexpr):
    one = cpasync.CopyBulkTensorTileG2SOp()
    atom, tensor = cpasync.make_tiled_tma_atom(one, src, cute.make_layout((1, width)), (1, width))
    k(atom, tensor, out, n, width, kind).launch(grid=[grid, 1, 1], block=[32, 1, 1])
for width, kind in ((8, "for"), (8, "while"), (32, "for"), (8, "once"), (8, "block"), (8, "argument"),
                    (8, "one"), (8, "one while"), (8, "few"), (8, "few while"), (8, "late"),
                    (8, "late while")):
    rows = (cute.sym_int(), width)
    src = make_fake_compact_tensor(cutlass.Float32, rows, stride_order=(1, 0), assumed_align=16)
    out = make_fake_compact_tensor(cutlass.Float32, rows[:1], assumed_align=16)
    cute.compile(h, src, out, cutlass.Int32(100), cutlass.Int32(10), width, kind)
"""


def test_every_stage_of_a_ring_is_aligned_for_tma(traced: Traced) -> None:
    """torch's scatter_add before PyTorch's pull request 184554: stages of 32 bytes, side by side."""
    found = traced(PROGRAM)
    assert not found.failures and len(found.copies) == 12, found.failures
    told = []
    for one in found.copies:
        report = judge_traced(one, fixes_for=())
        assert report is not None
        told.append(
            (one.box_align, report.verdict, [f.code for f in report.findings if f.severity != "note"])
        )
    faults, right, open_to_callers = (32, "wrong", ["LC235"]), (128, "legal", []), (0, "unknown", ["LC235"])
    assert told == [faults, faults, right, right, faults, open_to_callers, right, right, *[faults] * 4]


def test_what_came_before_an_evaluation_that_fails_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    def turns(kernel: Any) -> Iterator[Any]:
        yield kernel
        raise OverflowError

    monkeypatch.setattr(resolve, "in_turns", turns)
    kernel: Any = (True, {})
    assert resolve._in_turns(kernel) == [kernel]
