"""Bounds of accesses in loops: every turn counts, and a turn that was not evaluated is told."""

from __future__ import annotations

import pytest

from tests.dsl.lowered.conftest import Traced

pytest.importorskip("cutlass", reason="the CuTe DSL (nvidia-cutlass-dsl) is not installed")

# Each loop writes a tensor that is as long as it has to be, and one that is an element too short.
LOOPS = """
import cutlass
from cutlass import cute
from cutlass.cute.runtime import make_fake_tensor
@cute.kernel
def short(middle: tuple, uneven: tuple, guarded: tuple, nest: tuple, carried: tuple):
    t = cute.arch.thread_idx()[0]
    for i in cutlass.range(16, unroll=1):
        middle[0][(i * 5 + 3) % 16 * 32 + t] = 1.0
        middle[1][(i * 5 + 3) % 16 * 32 + t] = 1.0
        if i % 3 == 1:
            guarded[0][i * 40 + t] = 1.0
            guarded[1][i * 40 + t] = 1.0
    for i in cutlass.range(t + 10, unroll=1):
        uneven[0][i + (31 - t) * 15 + 32] = 1.0
        uneven[1][i + (31 - t) * 15 + 32] = 1.0
    for a in cutlass.range(12, unroll=1):
        for b in cutlass.range(a, unroll=1):
            nest[0][(11 - a) * 40 + b * 40 + t] = 1.0
            nest[1][(11 - a) * 40 + b * 40 + t] = 1.0
    at = t
    for i in cutlass.range(20, unroll=1):
        carried[0][at] = 1.0
        carried[1][at] = 1.0
        at = (at + 96) % 256
@cute.kernel
def long(line: tuple, many: tuple, search: tuple):
    t = cute.arch.thread_idx()[0]
    for i in cutlass.range(t, 1 << 20, 32, unroll=1):
        line[0][i] = 1.0
        line[1][i] = 1.0
    for i in cutlass.range(5000, unroll=1):
        many[0][i * i % 500] = 1.0
        many[1][i * i % 500] = 1.0
    step = cutlass.Int32(1)
    while step < search[0][t].to(cutlass.Int32):
        step = step * 2
    search[0][step] = 1.0
    search[1][step] = 1.0
@cute.jit
def host(a: tuple, b: tuple):
    short(*a).launch(grid=[1, 1, 1], block=[32, 1, 1])
    long(*b).launch(grid=[1, 1, 1], block=[32, 1, 1])
def pair(n):
    return tuple(make_fake_tensor(cutlass.Float32, (m,), stride=(1,), assumed_align=4) for m in (n, n - 1))
if __name__ == "__main__":
    cute.compile(host, tuple(map(pair, (512, 507, 552, 432, 256))), tuple(map(pair, (1 << 20, 500, 512))))
"""
# The access that leaves a tensor that is one element too short: (thread, element).
LAST = {
    ("middle", 31, 511),  # turn 4 of 16
    ("guarded", 31, 551),  # turn 13 of 16, the last that is taken
    ("uneven", 0, 506),  # the last turn of thread 0, the 10th of 41
    ("nest", 31, 431),  # the last of the inner loop, whose count is the outer's turn
    ("carried", 31, 255),
    ("line", 31, (1 << 20) - 1),  # turn 32767
}


def test_every_turn_counts(traced: Traced) -> None:
    """What the first two turns and the last do not show is found, in loops of any shape and length."""
    found = traced(LOOPS)
    assert not found.failures, found.failures
    lines = LOOPS.splitlines()
    told = set()
    for report in found.elements:
        for one in report.findings:
            if one.code == "LC204":
                name = lines[one.places[0].where.line - 1].strip().partition("[1]")[0]
                told.add((name, one.evidence["thread"], one.evidence["address"] // 4))
    assert told == LAST
    # Of `many` and `search` nothing is known, and that is said: two accesses each.
    unchecked = {why: count for report in found.elements for why, count in report.unchecked}
    assert sorted(unchecked.values()) == [2, 2], unchecked
    assert any("more turns than are evaluated" in why for why in unchecked)
