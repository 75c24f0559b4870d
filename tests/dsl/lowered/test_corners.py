"""Accesses in loops: every turn counts, in bounds and in a launch's cost; what was not evaluated is told."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from layoutcheck.dsl.lowered.bounds import RELATED
from layoutcheck.dsl.lowered.grid import LONG_LOOP
from layoutcheck.dsl.lowered.totals import KernelLines, kernel_lines
from layoutcheck.dsl.trace import trace_script
from layoutcheck.sources.traced import OrderReport
from layoutcheck.sources.traced_module import TracedModule
from tests.lowering import SharedLowering

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
def long(line: tuple, stop: tuple, many: tuple, search: tuple):
    t = cute.arch.thread_idx()[0]
    for i in cutlass.range(t, 1 << 20, 32, unroll=1):
        line[0][i] = 1.0
        line[1][i] = 1.0
    for i in cutlass.range(5000, unroll=1):
        stop[0][cutlass.max(600 - i * 7, 0) + t] = 1.0
        stop[1][cutlass.max(600 - i * 7, 0) + t] = 1.0
    for i in cutlass.range(5000, unroll=1):
        many[0][i * i % 500] = 1.0
        many[1][i * i % 500] = 1.0
    step = cutlass.Int32(1)
    while step < search[0][t].to(cutlass.Int32):
        step = step * 2
    search[0][step] = 1.0
    search[1][step] = 1.0
@cute.kernel
def grids(raster: tuple, early: tuple, digits: tuple, cut: tuple):
    t, b = cute.arch.thread_idx()[0], cute.arch.block_idx()[0]
    raster[0][b * 37 % 101 * 40 + t] = 1.0
    raster[1][b * 37 % 101 * 40 + t] = 1.0
    if b * 40 + t < 1000:
        early[0][b * 40 + t] = 1.0
        early[1][b * 40 + t] = 1.0
    cut[0][cutlass.min(b * 40 + t, 700)] = 1.0
    cut[1][cutlass.min(b * 40 + t, 700)] = 1.0
    digits[0][b // 10 * 40 - b % 10 * 40 + 360 + t] = 1.0
    digits[1][b // 10 * 40 - b % 10 * 40 + 360 + t] = 1.0
@cute.kernel
def open_ended(halo: tuple, twice: tuple, wide: cute.Tensor):
    t, b = cute.arch.thread_idx()[0], cute.arch.block_idx()[0]
    if b > 0:
        halo[0][b - 1, t] = 1.0
    halo[1][b - 1, t] = 1.0
    twice[1][2 * b, t] = 1.0
    wide[0, 0, 0, t] = 1.0
@cute.jit
def host(a: tuple, b: tuple, c: tuple, d: tuple):
    open_ended(*d).launch(grid=[d[0][0].shape[0], 1, 1], block=[128, 1, 1])
    grids(*c).launch(grid=[101, 1, 1], block=[40, 1, 1])
    short(*a).launch(grid=[3, 1, 1], block=[32, 1, 1])
    long(*b).launch(grid=[1, 1, 1], block=[32, 1, 1])
def rows():
    return make_fake_tensor(cutlass.Float32, (cute.sym_int(), 128), stride=(128, 1), assumed_align=4)
def wide():  # with extents that make the others 2^31 elements its strides would need more than 64 bits
    shape, stride = ([make() for _ in range(4)] for make in (cute.sym_int, cute.sym_int64))
    return make_fake_tensor(cutlass.Float32, tuple(shape), stride=(*stride[1:], 1), assumed_align=4)
def pair(n):
    return tuple(make_fake_tensor(cutlass.Float32, (m,), stride=(1,), assumed_align=4) for m in (n, n - 1))
if __name__ == "__main__":
    cute.compile(
        host, tuple(map(pair, (512, 507, 552, 432, 256))), tuple(map(pair, (1 << 20, 632, 500, 512))),
        tuple(map(pair, (4040, 1000, 800, 701))), ((rows(), rows()), (rows(), rows()), wide()),
    )
"""
# The access that leaves a tensor that is one element too short: (thread, element).
LAST = {
    ("middle", 31, 511),  # turn 4 of 16
    ("guarded", 31, 551),  # turn 13 of 16, the last that is taken
    ("uneven", 0, 506),  # the last turn of thread 0, the 10th of 41
    ("nest", 31, 431),  # the last of the inner loop, whose count is the outer's turn
    ("carried", 31, 255),
    ("line", 31, (1 << 20) - 1),  # turn 32767
    ("raster", 39, 4039),  # block 30 of 101, whose tile is the last
    ("stop", 31, 631),  # the first turn of 5000
    ("cut", 0, 700),  # the last block, all of whose threads stop there
    ("halo", 0, -128),  # block 0, whatever the extents are; `twice` may have twice as many rows
    ("early", 39, 999),  # block 24, the last that accesses anything
    ("digits", 39, 799),  # block 100: the last quotient, with the first remainder
}


def turns(name: str) -> Iterator[list[int]]:
    """The elements that the threads of one warp write in each turn of a loop, by its definition."""
    threads = range(32)
    if name == "middle":
        yield from ([(i * 5 + 3) % 16 * 32 + t for t in threads] for i in range(16))
    elif name == "guarded":
        yield from ([i * 40 + t for t in threads] for i in range(16) if i % 3 == 1)
    elif name == "uneven":
        yield from ([i + (31 - t) * 15 + 32 for t in threads if i < t + 10] for i in range(41))
    elif name == "nest":
        yield from ([(11 - a + b) * 40 + t for t in threads] for a in range(12) for b in range(a))
    else:
        yield from ([(t + 96 * i) % 256 for t in threads] for i in range(20))


def test_every_turn_counts(tmp_path: Path) -> None:
    """What the first two turns and the last do not show is found, in loops of any shape and length."""
    script = tmp_path / "program.py"
    script.write_text(LOOPS)
    counted: list[KernelLines] = []

    def count(module: TracedModule, text: str, problem: str) -> OrderReport:
        counted.extend(kernel_lines(module, text, problem))
        return OrderReport(module.kernel, module.arch)

    with SharedLowering(order=count) as lowering:
        found = trace_script(str(script), launch=False, arch="sm_90a", timeout_s=200, lowering=lowering)
    assert not found.failures, found.failures
    names = {i: line.strip().partition("[") for i, line in enumerate(LOOPS.splitlines(), 1)}
    told = set()
    for report in found.elements:
        for one in report.findings:
            if one.code == "LC204":
                name, _, rest = names[one.places[0].where.line]
                assert rest.startswith("1]")
                told.add((name, one.evidence["thread"], one.evidence["address"] // 4))
    assert told == LAST
    # Of `many` and `search` nothing is known, and that is said: two accesses each; of `twice` one.
    why = {LONG_LOOP: 2, "values that each thread loads": 2, RELATED: 1}
    unchecked = {why: count for report in found.elements for why, count in report.unchecked}
    seen = [sum(n for text, n in unchecked.items() if one in text) for one in why]
    assert seen == list(why.values()), unchecked

    short, long = (next(one for one in counted if name in one.kernel) for name in ("_short_", "_long_"))
    assert long.problem and not long.lines
    assert short.grid == (3, 1, 1) and short.evaluated == 3
    lines = {names[one.where.line][0]: one for one in short.lines if one.op == "st.global"}
    assert len(short.lines) == 2 * len(lines) == 10
    for name, one in lines.items():
        instructions = list(turns(name))
        sectors = sum(len({4 * at // 32 for at in row}) for row in instructions)
        assert (one.instructions, one.sectors) == (3 * len(instructions), 3 * sectors), name
