"""Tensor maps, coordinates and filter offsets of random im2col copies against the DSL."""

from __future__ import annotations

import math
import random
import struct

import pytest

from layoutcheck.algebra.inttuple import flatten
from layoutcheck.algebra.layout import Layout
from layoutcheck.algebra.swizzle import Swizzle
from layoutcheck.analysis.instantiation import instantiations
from layoutcheck.atoms.compiler import predict
from layoutcheck.atoms.execution import execution
from layoutcheck.atoms.tma import TmaCopy
from layoutcheck.atoms.tma.im2col import NoDivision, NoMatrix, matrix, taken
from layoutcheck.atoms.tma.plan import gmem_side, plan, tile_of
from layoutcheck.atoms.tma.words import decode, encode
from layoutcheck.copies.copy import Copy, Im2col, TmaTile
from layoutcheck.copies.memref import Memref
from layoutcheck.copies.offsets import CompilerFails
from layoutcheck.dsl.ptx import parameters, run
from layoutcheck.dsl.session import Session
from layoutcheck.dsl.tma import MadeTma, make_tma
from layoutcheck.machine.dtypes import dtype
from layoutcheck.sources.im2col import read_im2col
from layoutcheck.sources.request import build
from tests.conformance.made_tma import BASE, differences

pytest.importorskip("cutlass", reason="the CuTe DSL is not installed")

TYPES = ("bf16", "bf16", "f16", "f32", "i8", "f64", "f8E4M3FN", "i32")
SWIZZLES = (None, None, Swizzle(0, 4, 3), Swizzle(1, 4, 3), Swizzle(2, 4, 3), *(Swizzle(3, 4, 3),) * 3)
_SHARED = 1 << 16


def convolution(rng: random.Random, spatial: int, wild: bool) -> Im2col:
    """Mostly a sensible one; a `wild` one has corners, strides and offsets that no tensor map holds."""

    def pick(values: tuple[int, ...], far: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(rng.choice(far if wild and rng.random() < 0.3 else values) for _ in range(spatial))

    taps = pick((1, 1, 2, 3, 3, 4, 5), (9, 17, 33))
    padding = pick((0, 0, 1, 1, 2), (15, 16, 17, 40, 130))
    above = padding if rng.random() < 0.7 else pick((0, 1, 2), (15, 16, 17, 130))
    stride = pick((1, 1, 1, 2, 3, 8), (7, 9, 12, 21, 100))
    dilation = pick((1, 1, 1, 2), (3, 8, 17))
    given: dict[str, object] = {
        "filter": taps,
        "lower_padding": padding,
        "upper_padding": above,
        "stride": stride,
        "dilation": dilation,
    }
    if rng.random() < 0.1:
        given["dilation"] = tuple(-n for n in dilation)
    if rng.random() < 0.1:
        given["lower_corner"] = pick((-3, -2, 0, 1), (-17, 20))
    if rng.random() < 0.05:
        given["upper_corner"] = pick((-3, -2, 0, 1), (-17, 20))
    if rng.random() < 0.05:
        given["lower_srt"] = pick((0, 1, 2), (-1, 31, 32, 260))
    shape = (8,) * (spatial + 1)
    layout = Layout((shape, 8), ((0,) * (spatial + 1), 1))
    found = read_im2col(given, layout, TmaCopy("load", dtype("bf16"), mode="im2col"))
    assert found is not None
    return found


def random_im2col(rng: random.Random, most_bytes: int = 1 << 15, wild: bool = True) -> Copy:
    """A load, or now and then a store, of a random tile of a convolution's matrix."""
    spatial = rng.choice((1, 2, 2, 2, 3, 3))
    element = dtype(rng.choice(TYPES))
    span = 128 * 8 // element.bits
    channels = rng.choice((8, 16, 32, 64, 96, 128, 192))
    shape = [
        channels,
        *(rng.choice((1, 2, 5, 7, 9, 12, 14, 20)) for _ in range(spatial)),
        rng.choice((1, 2, 3)),
    ]
    stride, reach = [], 1
    for extent in shape:
        stride.append(reach)
        reach *= extent
        if rng.random() < 0.15:
            reach += rng.choice((1, 8, 16))
    load = rng.random() < 0.75
    im2col = convolution(rng, spatial, wild and rng.random() < 0.5)
    if not load:
        none, one = (0,) * spatial, (1,) * spatial
        im2col = Im2col(none, none, none, none, one, none, one)
    while True:
        rows = rng.choice((1, 4, 7, 8, 16, 32, 48, 64, 100, 128, 256))
        columns = rng.choice((8, 16, 32, 64, 64, 128, 192, 256))
        if rows * columns * element.bits // 8 <= most_bytes:
            break
    swizzle = rng.choice(SWIZZLES)
    width = (
        min(columns, 8 << swizzle.base + swizzle.bits) if swizzle is not None and swizzle.bits else columns
    )
    if swizzle is not None and swizzle.bits and rng.random() < 0.8:
        width = min(columns, (8 << swizzle.base + swizzle.bits) // element.bits)
    else:
        width = columns if rng.random() < 0.8 else min(columns, span)
    pad = rng.choice((8, 16)) if rng.random() < 0.04 else 0
    if columns % width == 0 and columns != width:
        column: tuple[object, object] = ((width, columns // width), (1, rows * (width + pad)))
    else:
        column = (columns, 1)
        width = columns
    row: tuple[object, object] = (rows, width + pad)
    if rng.random() < 0.1 and rows % 4 == 0:
        row = ((4, rows // 4), (width + pad, 4 * (width + pad)))
    first = rng.random() < (0.2 if load else 0.1)  # the channels are the first mode
    whdn = (tuple(shape[1:]), tuple(stride[1:]))
    one, two = ((shape[0], stride[0]), whdn) if first else (whdn, (shape[0], stride[0]))
    left, right = (column, row) if first else (row, column)
    if rng.random() < 0.03:
        left, right = right, left
    tiler = (columns, rows) if first else (rows, columns)
    described = Layout((left[0], right[0]), (left[1], right[1]))
    gmem = Memref(element, "gmem", Layout((one[0], two[0]), (one[1], two[1])), 16)
    try:
        found = matrix(gmem.layout, im2col, 0 if first else 1)
        wide = [-(-n // m) for n, m in zip(found.columns, taken(found.columns, columns), strict=True)]
        grid = (rng.randrange(-(-math.prod(found.rows) // rows)), rng.randrange(math.prod(wide)))
    except (NoMatrix, NoDivision):
        grid = (0, 0)
    coord = (grid[1], grid[0]) if first else grid
    smem = Memref(
        element,
        "smem",
        described,
        rng.choice((1024, 1024, 1024, 128, 256, 16)),
        swizzle if swizzle and swizzle.bits else None,
    )
    tile = TmaTile(tiler, coord, im2col=im2col)
    atom = TmaCopy("load" if load else "store", element, mode="im2col")
    return Copy(atom, gmem, smem, tma=tile) if load else Copy(atom, smem, gmem, tma=tile)


def instructions(copy: Copy, ptx: str) -> list[tuple[tuple[int, ...], tuple[int, ...], int]]:
    """(coordinates, filter offsets, byte offset in shared memory) of every instruction of the kernel."""
    names = parameters(ptx)
    values = [bytes(128)] if len(names) == 5 else [bytes(128), bytes(64)]
    coord = tile_of(copy).coord
    values += [struct.pack("<i", one) for one in (_SHARED, 0, *coord)]
    traced = run(ptx, dict(zip(names, values, strict=True)))
    return [(one.coords, one.filter_offsets, one.shared - _SHARED) for one in traced.tensor_copies]


def compare(copy: Copy, made: MadeTma) -> str:
    """What differs between the model and what the DSL made; "" for nothing."""
    said = predict(copy)
    if said.outcome == "aborts":
        return "" if made.died else f"the model sees it die: {said.message}; the DSL says {made.error!r}"
    if said.outcome == "rejected":
        first = said.message.split(", but got")[0]
        return "" if first in made.error else f"the model: {said.message}; the DSL: {made.error or made.died}"
    if said.outcome != "accepted":
        return "" if "wider than the matrix" in said.message else f"unknown: {said.message}"
    try:
        execution(copy, 0, 0)
    except CompilerFails:
        return "" if made.died else f"the model sees the lowering die; the DSL says {made.error!r}"
    if made.died or made.error:
        return f"the DSL says {made.error or made.died}"
    mine = plan(copy, copy, BASE)
    if encode(mine.written) != made.words:
        return f"map {decode(encode(mine.written))}\nnot {made.descriptor}\n{made.atom}"
    away = mine.filter_offsets
    want = [
        (
            tuple(map(int, c)),
            tuple((int(n) + 32768) % 65536 - 32768 for n in away[k]) if away is not None else (),
            int(a),
        )
        for k, (c, a) in enumerate(zip(mine.coords, mine.smem_at, strict=True))
    ]
    found = instructions(copy, made.ptx)
    mode = "im2col" if gmem_side(copy) == "src" else "im2col_no_offs"
    if f".{mode}." not in made.ptx:
        return f"no {mode} in {made.ptx}"
    return "" if found == want else f"{want[:3]} ({len(want)}) not {found[:3]} ({len(found)})"


def _sixteen_bits(value: int) -> int:
    return (int(value) + (1 << 15)) % (1 << 16) - (1 << 15)


def sweep(count: int, seed: int, dsl: Session) -> list[str]:
    """The differences among `count` random copies."""
    rng = random.Random(seed)
    copies: list[Copy] = []
    while len(copies) < count:
        copy = random_im2col(rng)
        if predict(copy).accepted and plan(copy).boxes > 32:
            continue
        copies.append(copy)
    return differences(copies, dsl, compare)


def test_tensor_maps_and_instructions(dsl: Session) -> None:
    assert sweep(30, 1, dsl) == []


@pytest.mark.parametrize(
    ("layout", "filter_"),
    [
        ("((14,12,?),64):((64,896,10752),1)", "filter=(3,3) padding=(1,1)"),
        ("((?,?,?),64):((64,?{i64 div=8},?{i64 div=8}),1)", "filter=(5,5) stride=(2,2)"),
        ("((?,?,?,?),64):((?{i64 div=8},?{i64},?{i64},?{i64 div=8}),1)", "filter=(3,3,1) dilation=(2,3,1)"),
        ("((?,?,?),?):((?{i64 div=8},?{i64 div=8},?{i64 div=8}),1)", "filter=(3,3)"),
    ],
)
def test_run_time_extents_and_strides(dsl: Session, layout: str, filter_: str) -> None:
    """The host code's arithmetic at the model's own run-time values; channels must be static."""
    gmem = f'!cute.memref<bf16, gmem, align<16>, "{layout}">'
    smem = '!cute.memref<bf16, smem, align<1024>, S<3,4,3>, "(64,64):(64,1)">'
    copy = build(gmem, smem, "im2col_tma_load", im2col=filter_)[0]
    for instance in instantiations(copy):
        made = make_tma([(copy, instance, BASE)], session=dsl, lower=False)[0]
        said = predict(copy)
        if said.accepted:
            assert made.words == encode(plan(copy, instance, BASE).written), (made.error, instance.src)
        else:
            assert said.message in made.error


@pytest.mark.sweep
@pytest.mark.parametrize("seed", range(2, 12))
def test_many(dsl: Session, seed: int) -> None:
    assert sweep(300, seed, dsl) == []


def test_generator_is_not_idle() -> None:
    """Most copies are accepted, and every kind of tensor is among them."""
    rng = random.Random(5)
    copies = [random_im2col(rng) for _ in range(300)]
    accepted = [copy for copy in copies if predict(copy).accepted]
    assert len(accepted) > 100
    assert {len(flatten(copy.side(gmem_side(copy)).layout.shape)) for copy in accepted} == {3, 4, 5}
