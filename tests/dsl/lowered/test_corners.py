"""Accesses in loops: every turn counts, in bounds and in a launch's cost; what was not evaluated is told."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from layoutcheck.dsl.lowered.blocks import nested, sum_ends
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
def flat(sums: tuple, some: tuple, space: tuple):
    i = cute.arch.block_idx()[0] * 96 + cute.arch.thread_idx()[0]
    sums[0][i // 700 - i % 700 + 699] = 1.0
    sums[1][i // 700 - i % 700 + 699] = 1.0
    if i % 700 < 333:
        some[0][548 - i // 700 + i % 700] = 1.0
        some[1][548 - i // 700 + i % 700] = 1.0
    space[0][(i // 70) % 50 - i % 70 + 69 - i // 3500 + 109] = 1.0
    space[1][(i // 70) % 50 - i % 70 + 69 - i // 3500 + 109] = 1.0
@cute.kernel
def open_ended(halo: tuple, twice: tuple, wide: cute.Tensor):
    t, b = cute.arch.thread_idx()[0], cute.arch.block_idx()[0]
    if b > 0:
        halo[0][b - 1, t] = 1.0
    halo[1][b - 1, t] = 1.0
    twice[1][2 * b, t] = 1.0
    wide[0, 0, 0, t] = 1.0
@cute.kernel
def tails(one: cute.Tensor):
    i = cute.arch.block_idx()[0] * 64 + cute.arch.thread_idx()[0]
    if i < one.shape[0]:
        one[i] = 1.0
@cute.jit
def host(a: tuple, b: tuple, c: tuple, d: tuple, e: tuple, f: cute.Tensor):
    tails(f).launch(grid=[f.shape[0] // 64, 1, 1], block=[64, 1, 1])
    tails(f).launch(grid=[(f.shape[0] + 63) // 64, 1, 1], block=[64, 1, 1])
    flat(*e).launch(grid=[4000, 1, 1], block=[96, 1, 1])
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
        tuple(map(pair, (1248, 881, 228))),
        make_fake_tensor(cutlass.Float32, (cute.sym_int(),), stride=(1,), assumed_align=4),
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
    ("sums", 80, 1247),  # block 3995 of 4000, where the last row begins
    ("some", 44, 880),  # block 3: the last column of the first row that is written
    ("space", 70, 227),  # block 35: the last row of the first plane begins
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
    # A grid without a block for what is left of its extent, and not its twin.
    floor = "no block writes the tensor's last element; it does if every dynamic extent is a multiple of 64"
    why = {LONG_LOOP: 2, "values that each thread loads": 2, RELATED: 1, floor: 1}
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


@settings(max_examples=150)
@given(st.integers(2, 300), st.integers(1, 12), st.integers(2, 40), st.integers(2, 40), st.randoms())
def test_the_ends_of_digits_lie_in_these_blocks(n: int, step: int, low: int, high: int, rng: Random) -> None:
    """An address of first degree in digits of `(block * step + thread) * wide` is least and most there."""
    threads, wide = rng.randint(step, 2 * step), rng.choice((1, 4))
    low, high = low * wide, high * wide
    every = (np.arange(n)[:, None] * step + np.arange(threads)) * wide
    at = [(i, 0, 0) for i in (0, n // 2, n - 1)]
    ends = sum_ends(every[[i for i, _, _ in at]].ravel(), at, 0, n, {low, high, low * high})
    assert ends is not None
    a, b, c = (rng.randint(-9, 9) for _ in range(3))
    address = a * (every % low) + b * (every // low % high) + c * (every // (low * high))
    some = address[sorted(ends)]
    assert (some.min(), some.max()) == (address.min(), address.max())


def test_a_sum_that_threads_raise_more_than_blocks_has_no_such_blocks() -> None:
    """Nor one that leaves numbers out, or whose steps the number does not divide."""
    at, block = [(i, 0, 0) for i in (0, 3, 7)], np.array([[0], [3], [7]])

    def found(rows: object, number: int) -> object:
        return sum_ends(np.ravel(rows), at, 0, 8, {number})

    assert found(block + 9 * np.arange(32), 5) is None and found(0 * block + np.arange(32), 5) is None
    assert found(32 * block + np.arange(8), 5) is None and found(32 * block + 4 * np.arange(8), 5) is None
    assert found(32 * block + 4 * np.arange(8), 12) and found(32 * block + np.arange(32), 5)
    assert nested({3, 12, 36}) and not nested({3, 12, 18}) and not nested({0, 3})
