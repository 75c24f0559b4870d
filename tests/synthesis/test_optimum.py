"""What a copy into shared memory could cost, and what `trace --advise` says of it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from layoutcheck import tracing
from layoutcheck.fixes.code import allocation_code, layout_code
from layoutcheck.fixes.predicate import predicate_of
from layoutcheck.judge import judge
from layoutcheck.patching.advice import GUARDED
from layoutcheck.reports.advice import Advice, render
from layoutcheck.reports.style import Style
from layoutcheck.reports.trace import JudgedTrace
from layoutcheck.sources.request import build
from layoutcheck.sources.traced import Addresses, Frame, LoweredSide, Trace, TracedCopy, distinct
from layoutcheck.synthesis.optimum import (
    ENOUGH,
    NO_SEARCH,
    NO_TILES,
    Optimum,
    examined,
    fills_shared,
    optima,
)
from tests.synthesis.compiling import compiled_by_dsl

MN = "(128,64):(1,?{i64 div=8})"


def of(dst: str, atom: str, bits: int, thr: str, val: str, **given: Any) -> Optimum | None:
    copy, _ = build(MN, dst, atom, bits=bits, dtype="bf16", thr=thr, val=val, **given)
    return next(iter(optima(copy)), None)


def test_a_narrow_copy_could_be_wide_and_the_tile_stays() -> None:
    found = of("(128,64):(1,128)", "cp.async", 32, "(32,8):(8,1)", "(2,1):(1,0)", dst_align=128)
    assert found is not None and found.keeps and found.ratio > 1.9
    [step] = found.steps
    assert step.copy.needed_atom.instruction_bits == 128
    # 16 of 128 bits each where there were 64: a quarter of the warp instructions.
    assert found.found.counts.instructions == 128 * 64 * 2 // 16 // 32
    assert "cute.copy(fill_atom, fill.partition_S(src), fill.partition_D(dst))" in found.code


def test_a_transpose_into_shared_memory_turns_blocks_in_registers() -> None:
    found = of("(128,64):(64,1)", "universal", 16, "(16,16):(16,1)", "(1,1)", dst_align=128)
    assert found is not None and found.ratio > 4
    load, turn, store = found.steps
    assert (load.role, turn.role, store.role) == ("load", "turn", "store")
    assert load.copy.needed_atom.instruction_bits == store.copy.needed_atom.instruction_bits == 128
    assert not found.keeps
    assert "allocate" not in found.code  # which stands in a loop; the tile's allocation does not


def test_what_is_best_or_not_known_is_left_alone() -> None:
    best = "(16,16):(1,16)", "(8,1):(1,0)"
    assert of("(128,64):(1,128)", "cp.async.cg", 128, *best, dst_align=128) is None
    copy, _ = build("(8):(1)", "(8):(1)", "cp.async", bits=128, dtype="bf16")
    assert optima(copy) == []  # one thread's views


def test_advice_that_no_program_proved_has_no_statements() -> None:
    copy, _ = build(
        MN, "(128,64):(64,1)", "universal", bits=16, dtype="bf16", thr="(16,16):(16,1)", val="(1,1)"
    )
    trace = Trace((TracedCopy(copy, "cute.copy", Frame("kernel.py", 3), (), "k", "sm_90a"),))
    judged = JudgedTrace(trace, [(one, judge(one.first.copy)) for one in distinct(trace)])
    said = render(tracing.advised(judged), Style())
    assert "kernel.py:3" in said and "times" in said and "blocks of 8 x 8 turned in registers" in said
    assert "not written: only the file of a script is edited" in said and "cute.copy(" not in said
    none = " ".join(render(Advice([], 5, {NO_TILES: 2}), Style()).split())
    assert "3 of 5 copies of threads from global into shared memory compared with their optimum, 0" in none
    assert none.endswith(f"; 2 not compared: {NO_TILES}")


SLOW = "universal", 16, "(16,16):(16,1)", "(1,1)"
WIDE = "cp.async.cg", 128, "(16,16):(1,16)", "(8,1):(1,0)"


@pytest.mark.parametrize(
    ("src", "dst", "given", "ways", "why"),
    [
        (MN, "(128,64):(64,1)", SLOW, 2, ""),  # the best, and the best with the tile as it is
        (MN, "(128,64):(1,128)", WIDE, 0, ""),
        ("(1,16384):(?,1)", "(1,16384):(0,1)", ("cp.async.cg", 128, "(1,128)", "(1,8)"), 0, ""),
        ("(1,16384):(?,8)", "(1,16384):(0,1)", ("universal", 16, "(1,128)", "(1,1)"), 0, NO_SEARCH),
    ],
)
def test_a_copy_is_compared_whatever_its_tile_where_its_bytes_alone_take_half_of_it(
    src: str, dst: str, given: tuple[str, int, str, str], ways: int, why: str
) -> None:
    """With a predicate as without: it counts as true."""
    atom, bits, thr, val = given
    copy, _ = build(src, dst, atom, bits=bits, dtype="bf16", thr=thr, val=val, dst_align=128, src_align=16)
    guarded = replace(copy, pred=predicate_of(copy))
    for one in (copy, guarded):
        found, said = examined(one)
        assert fills_shared(one) and (len(found), said) == (ways, why)
        searched = [best.title for best in optima(copy) if best.ratio >= ENOUGH]
        assert [best.title for best in found] == searched


def test_a_guarded_copy_is_named_and_not_written(tmp_path: Path) -> None:
    copy, _ = build(MN, "(128,64):(64,1)", SLOW[0], bits=16, dtype="bf16", thr=SLOW[2], val=SLOW[3])
    copy = replace(copy, pred=predicate_of(copy))
    script = tmp_path / "kernel.py"
    script.write_text("\n", encoding="utf-8")
    trace = Trace((TracedCopy(copy, "cute.copy", Frame(str(script), 1), (), "k", "sm_90a"),))
    judged = JudgedTrace(trace, [(one, judge(one.first.copy)) for one in distinct(trace)])
    [told] = tracing.advised(judged, tracing.Script(str(script), launch=False)).told
    assert told.written is None and told.why == GUARDED and told.best.ratio > 4


@pytest.mark.parametrize(("bits", "why"), [(128, ""), (16, NO_TILES)])
def test_without_tiles_the_addresses_of_the_lowering_say_what_a_copy_costs(bits: int, why: str) -> None:
    """4,096 bytes by 128 bits a lane take 128 sectors; by 16 bits, each of another sector, 2,048."""
    copy, _ = build("(8):(1)", "(8):(1)", "universal", bits=bits, dtype="bf16")
    count, sectors = 4096 * 8 // bits // 32, {128: 128, 16: 2048}[bits]
    src, dst = (
        LoweredSide(side, op, space, bits, "static", count, passes, 32, 1, 0, sectors, 128, 4096, ())
        for side, op, space, passes in (("src", "ld.global", "gmem", 0), ("dst", "st.shared", "smem", 64))
    )
    assert examined(copy) == ([], NO_TILES)
    assert examined(copy, Addresses(128, (src, dst))) == ([], why)


@pytest.mark.sweep
def test_advised_statements_compile() -> None:
    """In a kernel that copies one tile by them and writes it out."""

    copies = [
        ("(128,64):(64,1)", "universal", 16, "(16,16):(16,1)", "(1,1)"),
        ("(128,64):(1,128)", "cp.async", 32, "(32,8):(8,1)", "(2,1):(1,0)"),
    ]
    jobs = []
    for dst, atom, bits, thr, val in copies:
        found = of(dst, atom, bits, thr, val, dst_align=128)
        assert found is not None
        stride = dst.partition(":")[2]
        shared = found.found.shared
        assert shared is not None
        tile = f"dst = {allocation_code(shared.memref, layout_code(shared.layout))}"
        lines = [*([] if found.keeps else [tile]), *found.code.splitlines()]
        body = "\n".join(f"    {line}" for line in lines)
        jobs.append({"arguments": [["BFloat16", 1, ["?", 8]]] * 2, "code": KERNEL % (stride, body)})
    assert compiled_by_dsl(jobs) == [None, None]


KERNEL = """
import cutlass
from cutlass import cute


@cute.kernel
def kernel(whole: cute.Tensor, out: cute.Tensor):
    tidx, _, _ = cute.arch.thread_idx()
    allocator = cutlass.memory.SmemAllocator()
    src = cute.local_tile(whole, (128, 64), (0, 0))
    dst = allocator.allocate_tensor(
        cutlass.BFloat16, cute.make_layout((128, 64), stride=%s), byte_alignment=128
    )
%s
    cute.arch.sync_threads()
    written = cute.local_tile(out, (128, 64), (0, 0))
    for i in cutlass.range(tidx, 8192, 256):
        written[i] = dst[i]


@cute.jit
def launch(src: cute.Tensor, out: cute.Tensor, stream):
    stride = (1, cute.assume(src.stride[1], divby=8))
    src = cute.make_tensor(src.iterator, cute.make_layout(src.shape, stride=stride))
    kernel(src, out).launch(grid=(1, 1, 1), block=(256, 1, 1), stream=stream)
"""
