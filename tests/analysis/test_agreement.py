"""Copies that are right by their layouts alone: the run of every one of them is clean."""

from __future__ import annotations

import random

import pytest

from layoutcheck.algebra.layout import Layout
from layoutcheck.analysis import Analysis
from layoutcheck.analysis.agreement import agrees
from layoutcheck.atoms.cp_async import CpAsync
from layoutcheck.atoms.universal import UniversalCopy
from layoutcheck.copies.copy import Copy
from layoutcheck.copies.memref import Memref
from layoutcheck.machine.dtypes import dtype
from layoutcheck.sources.request import build

SHAPES = ((8, 1), 8, (4, 1), (4, 2), (1, 8), (8, 2), (2, 4))
STRIDES = (0, 1, 2, 4, 8, 8, 8, 12, 16, 16, 24, 32, 64, 72, 128, -8)


def near(rng: random.Random) -> Copy:
    """A copy of bf16 or f32, at or beside the border of what can be told without a run."""
    name, atom = rng.choice(("bf16", "f32")), rng.choice((CpAsync, UniversalCopy))
    width, shape = rng.choice((32, 64, 128, 128, 128, 256)), rng.choice(SHAPES)
    extents = [rng.choice((1, 2, 2, 3, 4)) for _ in range(rng.randrange(3))]
    spaces = (
        ("gmem", "smem")
        if atom is CpAsync
        else rng.choice((("gmem", "smem"), ("smem", "rmem"), ("rmem", "gmem")))
    )
    views = []
    for space in spaces:
        first = rng.choice((1, 1, 1, 1, 2))
        stride = (first, rng.choice((0, 8, 16, 4))) if isinstance(shape, tuple) else first
        layout = Layout((shape, *extents), (stride, *(rng.choice(STRIDES) for _ in extents)))
        views.append(Memref(dtype(name), space, layout, rng.choice((2, 4, 8, 16, 16, 16, 16, 32, 48, 64))))
    return Copy(atom(dtype(name), width), *views)


def test_what_agrees_goes_wrong_in_no_run() -> None:
    rng, told = random.Random(5), 0
    for _ in range(5000):
        analysis = Analysis(near(rng))
        if not analysis.agrees:
            continue
        told += 1
        runs, obstacle = analysis._run()
        assert obstacle is None, analysis.copy
        assert all(run.comparison.clean and not run.comparison.observables for run in runs), analysis.copy
        assert runs and runs[-1].times == 1
    assert told > 100


BF16 = '!cute.memref<bf16, {}, align<{}>, "{}">'


@pytest.mark.parametrize(
    ("src", "dst", "told"),
    [
        ("((8,1),4):((1,0),64)", "((8,1),4):((1,0),64)", True),
        ("(8,4):(1,0)", "(8,4):(1,8)", True),  # read again and again
        ("(8,4):(1,8)", "(8,4):(1,0)", False),  # written again and again
        ("(8,2,2):(1,8,16)", "(8,2,2):(1,16,8)", True),
        ("(8,2,2):(1,8,16)", "(8,2,2):(1,16,16)", False),  # two vectors in one place
        ("(8,2,3):(1,8,16)", "(8,2,3):(1,16,8)", False),  # the third in the second's place
        ("(8,4):(1,12)", "(8,4):(1,8)", False),  # 24 bytes are no multiple of 16
        ("(8,4):(2,64)", "(8,4):(1,8)", False),
        ("((1,8),4):((0,1),64)", "((1,8),4):((0,1),64)", False),  # eight instructions
        ("(8,?):(1,64)", "(8,?):(1,64)", False),
        ("(8,4):(1,-8)", "(8,4):(1,8)", False),
        ("(8,4):(1,8)", "(8,2):(1,8)", False),
        ("((8,1),4):((1,?),64)", "((8,1),4):((1,?),64)", True),
    ],
)
def test_the_border(src: str, dst: str, told: bool) -> None:
    copy, _ = build(BF16.format("gmem", 16, src), BF16.format("smem", 16, dst), "cp.async", bits=128)
    assert agrees(copy) is told


def test_what_is_not_looked_at_is_not_told() -> None:
    view = "(8,4):(1,64)"
    given = BF16.format("gmem", 16, view), BF16.format("smem", 16, view)
    assert agrees(build(*given, "cp.async", bits=128)[0])
    assert not agrees(build(BF16.format("gmem", 8, view), given[1], "cp.async", bits=128)[0])
    assert not agrees(build(*given, "cp.async", bits=64)[0])
    assert not agrees(
        build(given[0], given[1].replace("align<16>", "align<16>, S<3,4,3>"), "cp.async", bits=128)[0]
    )
    assert not agrees(build(*given, "cp.async", bits=128, pred='!cute.memref<i8, rmem, "(1,4):(1,1)">')[0])
    assert not agrees(build(*given, "autovec")[0])
    tile, split = "(16,16):(1,16)", {"thr": "(2,16):(1,2)", "val": "(8,1)", "dtype": "bf16", "bits": 128}
    assert not agrees(build(tile, tile, "cp.async", **split)[0])
