"""The alignment of slices, tiles, offsets and recasts against the types that the DSL itself infers."""

import random
import re

import pytest

from layoutcheck.algebra.integers import Dynamic
from layoutcheck.algebra.layout import Layout
from layoutcheck.algebra.notation import print_tiler
from layoutcheck.algebra.swizzle import Swizzle
from layoutcheck.copies import alignment
from layoutcheck.copies.memref import Memref
from layoutcheck.errors import InputError
from layoutcheck.machine.dtypes import dtype
from tests.conformance.dsl_types import INT_TUPLE, LAYOUT, POINTER, Aborts, Refuses, infer
from tests.copies.slices import local_tile, slice_

cutlass = pytest.importorskip("cutlass", reason="compares with CuTe DSL: pip install 'layoutcheck[dsl]'")

DTYPES = ["bf16", "bf16", "f32", "i8", "f64", "f8E4M3FN", "f4E2M1FN", "i4", "i1", "f6E2M3FN", "i128", "i12"]
STRIDES = [0, 1, 2, 3, 4, 6, 8, 9, 12, 16, 24, 60, 64, 65, 68, 128, -1, -8, -9]


class Expressions:
    def __init__(self, seed):
        self.rng = random.Random(seed)

    def dynamic(self, p):
        if self.rng.random() < p:
            return Dynamic(self.rng.choice([1, 1, 1, 2, 3, 4, 6, 8, 16]), self.rng.choice([32, 32, 64]))
        return None

    def extent(self):
        return self.dynamic(0.08) or self.rng.choice([1, 2, 3, 4, 6, 8, 16])

    def shape(self, rank):
        return tuple(
            tuple(self.extent() for _ in range(self.rng.randint(2, 3)))
            if self.rng.random() < 0.3
            else self.extent()
            for _ in range(rank)
        )

    def stride(self, shape):
        if type(shape) is tuple:
            return tuple(map(self.stride, shape))
        return self.dynamic(0.2) or self.rng.choice(STRIDES)

    def layout(self, rank=None):
        shape = self.shape(rank or self.rng.randint(1, 4))
        return Layout(shape, self.stride(shape))

    def memref(self, rank=None):
        swizzle = self.rng.choice([None, None, Swizzle(3, 4, 3), Swizzle(3, 2, 3)])
        align = self.rng.choice([None, 1, 2, 3, 4, 8, 12, 16, 16, 16, 24, 128])
        kind = dtype(self.rng.choice(DTYPES))
        if align is not None and align * 8 == alignment.storage_bits(kind):
            align = None
        space = "smem" if swizzle else self.rng.choice(["gmem", "smem"])
        return Memref(kind, space, self.layout(rank), align, swizzle)

    def coord(self, shape, keep):
        """A coordinate for `shape`; `keep` is the chance of None at each mode."""
        if self.rng.random() < keep:
            return None
        if type(shape) is tuple and self.rng.random() < 0.6:
            return tuple(self.coord(s, keep) for s in shape)
        return self.dynamic(0.5) or self.rng.choice([0, 1, 2, 3, 5, 7, 8, 12])


def text(coord):
    if type(coord) is tuple:
        return f"({','.join(map(text, coord))})"
    return "_" if coord is None else str(coord)


def agree(ours, theirs, what):
    """The same type, or an error on both sides."""
    try:
        mine = str(ours())
    except InputError as error:
        assert not isinstance(theirs, str), f"{what}: the DSL has {theirs}, we raise {error}"
        return False
    if isinstance(theirs, (Refuses, Aborts)):
        raise AssertionError(f"{what}: we have {mine}, the DSL has {theirs}")
    assert mine == theirs, what
    return True


def slices(seed, count):
    make, done = Expressions(seed), 0
    while done < count:
        m = make.memref()
        coord = tuple(make.coord(s, 0.4) for s in m.layout.shape)
        if None not in flat(coord):
            continue
        theirs = infer("cute.slice", str(m), f'!cute.coord<"{text(coord)}">')
        done += agree(lambda m=m, c=coord: slice_(m, c), theirs, f"{m}[{text(coord)}]")


def tiles(seed, count):
    make, done = Expressions(seed), 0
    while done < count:
        m = make.memref(make.rng.randint(1, 3))
        tiler = tuple(
            Layout(make.rng.choice([1, 2, 3, 4, 6, 8]), make.rng.choice([1, 1, 1, 1, 2]))
            for _ in range(make.rng.randint(1, len(m.layout)))
        )
        coord = tuple(make.coord(1, 0.3) for _ in range(len(m.layout)))
        theirs = infer(
            "cute.local_tile", str(m), f'!cute.tile<"{print_tiler(tiler)}">', f'!cute.coord<"{text(coord)}">'
        )
        what = f"local_tile({m}, {print_tiler(tiler)}, {text(coord)})"
        done += agree(lambda m=m, t=tiler, c=coord: local_tile(m, t, c), theirs, what)


def offsets(seed, count):
    """domain_offset is crd2idx, then pointer arithmetic."""
    make, done = Expressions(seed), 0
    while done < count:
        m = make.memref()
        coord = tuple(make.coord(s, 0) for s in m.layout.shape)
        index = infer(
            "cute.crd2idx", f'!cute.coord<"{text(coord)}">', f'!cute.layout<"{m.layout}">', wrong=INT_TUPLE
        )
        what = f"domain_offset({text(coord)}, {m})"
        if agree(lambda m=m, c=coord: f'!cute.int_tuple<"{alignment.offset(m.layout, c)}">', index, what):
            pointer = re.sub(r'memref(.*), ".*">', r"ptr\1>", str(m))
            moved = infer("cute.add_offset", pointer, index, wrong=POINTER)
            ours = re.sub(
                r'memref(.*), ".*">', r"ptr\1>", str(alignment.shifted(m, alignment.offset(m.layout, coord)))
            )
            assert ours == moved, what
            done += 1


def flat(t):
    return [x for s in t for x in flat(s)] if type(t) is tuple else [t]


def test_slices():
    slices(1, 400)


def test_local_tiles():
    tiles(2, 150)


def test_domain_offsets():
    offsets(3, 150)


def test_recast():
    make = Expressions(4)
    for _ in range(60):
        m, new = make.memref(), dtype(make.rng.choice(["bf16", "f32", "i8", "f64", "i4", "i128"]))
        old = alignment.storage_bits(m.dtype)
        theirs = infer(
            "cute.recast_layout",
            f'!cute.layout<"{m.layout}">',
            attributes=f"{{new_type_bits = {new.bits} : i32, old_type_bits = {old} : i32}}",
            wrong=LAYOUT,
        )
        ours = alignment.recast(m, new)
        agree(lambda ours=ours: f'!cute.layout<"{ours.layout}">', theirs, f"{m} as {new}")
        assert alignment.align_bits(ours) == alignment.align_bits(m) or alignment.align_bits(m) % 8


@pytest.mark.sweep
@pytest.mark.parametrize("seed", range(10, 20))
def test_sweep(seed):
    slices(seed, 500)
    tiles(seed, 300)
    offsets(seed, 300)
