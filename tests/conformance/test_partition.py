"""Tiled copies and their partitions against the DSL's own: layout_tv, tiler, per-thread layout, align<>."""

import math
import random
import re

import pytest

from layoutcheck.algebra import inttuple
from layoutcheck.algebra.integers import Dynamic
from layoutcheck.algebra.layout import Layout
from layoutcheck.algebra.notation import parse_layout, parse_tiler
from layoutcheck.atoms.cp_async import CpAsync
from layoutcheck.atoms.matrix import LDMATRIX_FORMS, STMATRIX_FORMS, LdMatrix, StMatrix
from layoutcheck.atoms.register import RegisterCopy
from layoutcheck.atoms.universal import UniversalCopy
from layoutcheck.copies import alignment
from layoutcheck.copies.atom import traits
from layoutcheck.copies.memref import Memref
from layoutcheck.copies.tiled import TiledCopy, TiledCopyAborts, make_tiled_copy_tv, partition
from layoutcheck.errors import InputError
from layoutcheck.machine.dtypes import dtype
from tests.conformance.dsl_types import LAYOUT, Aborts, infer

cutlass = pytest.importorskip("cutlass", reason="compares with CuTe DSL: pip install 'layoutcheck[dsl]'")


class Tilings:
    """Random thread and value layouts, atoms of all families, and tensors near the tile's grid."""

    def __init__(self, seed, *, wild=True):
        self.rng = random.Random(seed)
        self.wild = wild  # also layouts that the DSL refuses or dies of

    def chance(self, p):
        return self.rng.random() < p

    def nest(self, extent):
        factors = [f for f in range(2, extent) if extent % f == 0]
        if factors and self.chance(0.3):
            f = self.rng.choice(factors)
            return (f, extent // f)
        return extent

    def strides(self, shape, kind):
        extents = inttuple.flatten(shape)
        order = list(range(len(extents)))
        if kind == "row":
            order.reverse()
        elif kind == "any":
            self.rng.shuffle(order)
        strides, step = [0] * len(extents), 1
        for i in order:
            strides[i] = step
            step *= extents[i]
            if kind == "padded" and self.chance(0.5):
                step += self.rng.choice([1, 2, 4, 8])
        if self.wild and kind == "any" and self.chance(0.3):
            strides[self.rng.randrange(len(strides))] = self.rng.choice([0, 1, 2, 3, 5, 8, 64])
        return strides

    def compact(self, extents):
        shape = tuple(map(self.nest, extents))
        kinds = ["column", "row", "any", "padded"] if self.wild else ["column", "row"]
        strides = self.strides(shape, self.rng.choice(kinds))
        return Layout(shape, inttuple.unflatten(iter(strides), shape))

    def atom(self, kind):
        family = self.rng.randrange(6)
        if family == 0:
            return CpAsync(kind, self.rng.choice([32, 64, 128]))
        if family == 1:
            width = max(8, kind.bits) * self.rng.choice([1, 2, 4, 8])
            return RegisterCopy(self.rng.choice(["g2r", "r2g", "s2r", "r2s"]), kind, width)
        if family == 2 and kind.bits in (8, 16):
            forms = [f for f in LDMATRIX_FORMS.items() if (f[0][1] == "u16") == (kind.bits == 16)]
            (mode, pattern, transpose), counts = self.rng.choice(forms)
            return LdMatrix(kind, self.rng.choice(counts), transpose, mode, pattern)
        if family == 3 and kind.bits in (8, 16):
            forms = [f for f in STMATRIX_FORMS.items() if (f[0][0] == (8, 8)) == (kind.bits == 16)]
            (mode, transpose), counts = self.rng.choice(forms)
            return StMatrix(kind, self.rng.choice(counts), transpose, mode)
        return UniversalCopy(kind, self.rng.choice([0, max(8, kind.bits), 32, 64, 128, 256]))

    def thread_value(self, atom):
        elements = traits(atom).elements(atom.dtype.bits)
        values = inttuple.product(elements.ref[1].shape)
        rank = self.rng.choice([1, 2, 2, 2, 3])
        extents = [1, 2, 4, 8, 16, 32] + [3] * self.wild
        threads = [self.rng.choice(extents) for _ in range(rank)]
        if elements.threads == 32:
            threads[0] *= 32 // math.gcd(32, math.prod(threads))
        counts = [self.rng.choice([1, 1, 2, 4] + [3] * self.wild) for _ in range(rank)]
        if not self.wild or self.chance(0.8):
            counts[self.rng.randrange(rank)] *= values // math.gcd(values, math.prod(counts))
        return self.compact(threads), self.compact(counts)

    def tensor(self, kind, tiler):
        extents = []
        for t in tiler:
            size = inttuple.product(t.shape)
            whole = size * self.rng.choice([1, 1, 2, 3, 4])
            off = self.rng.choice([-1, 1, 2, -(size // 2)]) if self.chance(0.15) else 0
            extents.append(max(1, whole + off))
        if self.chance(0.2):
            extents.append(self.rng.choice([1, 2, 3]))
        shape = tuple(map(self.nest, extents)) if self.wild else tuple(extents)
        strides = self.strides(shape, self.rng.choice(["column", "row", "padded", "any"]))
        leaves = [
            Dynamic(self.rng.choice([1, 2, 3, 4, 8]), self.rng.choice([32, 64])) if self.chance(0.12)
            else -s if self.chance(0.03) else s
            for s in strides
        ]  # fmt: skip
        sizes = [
            Dynamic(self.rng.choice([1, 2, 4, 8])) if self.chance(0.05) else s
            for s in inttuple.flatten(shape)
        ]
        layout = Layout(*(inttuple.unflatten(iter(t), shape) for t in (sizes, leaves)))
        align = self.rng.choice([4, 8, 16, 16, 16, 128, 12] + [None] * (kind.bits >= 8))
        return Memref(kind, "gmem", layout, None if align == alignment.storage_bits(kind) // 8 else align)


def layout_of(answer):
    return re.search('"(.*)"', answer)[1] if isinstance(answer, str) else None


def dsl_tiled_copy(atom, thr, val):
    """make_layout_tv, step by step; None with the failing answer where a step fails."""
    layouts = [f'!cute.layout<"{thr}">', f'!cute.layout<"{val}">']
    product = infer("cute.raked_product", *layouts, wrong=LAYOUT)
    if layout_of(product) is None:
        return None, product
    inverse = infer("cute.right_inverse", product, wrong=LAYOUT)
    counts = Layout((inttuple.product(thr.shape), inttuple.product(val.shape)))
    layout_tv = infer("cute.composition", inverse, f'!cute.layout<"{counts}">', wrong=LAYOUT)
    if layout_of(layout_tv) is None:
        return None, layout_tv
    modes = parse_layout(layout_of(product)).modes
    tiler = tuple(Layout(inttuple.product(m.shape)) for m in modes)  # as the DSL prints a shape: 1:0 for 1
    return TiledCopy(atom, parse_layout(layout_of(layout_tv)), tiler), None


def agree_on_partition(tiled, side, memref, tid=Dynamic()):  # noqa: B008
    op = f"cute.tiled.copy.partition_{'S' if side == 'src' else 'D'}"
    theirs = infer(op, str(tiled), str(memref), f'!cute.coord<"{tid}">')
    what = f"{tiled}\n{side} {memref} thread {tid}"
    try:
        ours = str(partition(tiled, side, memref, tid).view)
    except InputError as error:
        assert not isinstance(theirs, str), f"{what}\nthe DSL has {theirs}, we raise {error}"
        return 0
    assert ours == theirs, what
    return 1


def compare(seed, count, *, wild):
    """`count` partitions that the DSL makes, three tensors a tiled copy."""
    make, done = Tilings(seed, wild=wild), 0
    while done < count:
        kind = dtype(make.rng.choice(["bf16", "bf16", "f32", "i8", "f64", "f8E4M3FN", "f4E2M1FN"]))
        atom = make.atom(kind)
        thr, val = make.thread_value(atom)
        theirs, failure = dsl_tiled_copy(atom, thr, val)
        if theirs is None:
            with pytest.raises(InputError) as raised:
                make_tiled_copy_tv(atom, thr, val)
            assert isinstance(raised.value, TiledCopyAborts) == isinstance(failure, Aborts), (thr, val)
            continue
        assert make_tiled_copy_tv(atom, thr, val) == theirs, (thr, val)
        for _ in range(3):
            side = make.rng.choice(["src", "dst"])
            tid = Dynamic() if make.chance(0.8) else make.rng.randrange(64)
            done += agree_on_partition(theirs, side, make.tensor(kind, theirs.tiler), tid)


def test_partitions():
    compare(1, 250, wild=False)


def test_wild_partitions():
    compare(4, 30, wild=True)


@pytest.mark.sweep
@pytest.mark.parametrize("seed", range(10, 20))
def test_sweep(seed):
    compare(seed, 400, wild=True)


# Cases that were wrong once, and the odd ones of the measured facts.
CASES = [
    # fewer values than the atom moves: V is widened, the slices overlap
    ("cp", "((32,1),4):((1,0),32)", "[32:1;4:1]", "(32,64):(64,1)"),
    ("cp", "(32,12):(12,1)", "[1:1;384:1]", "(4,384):(384,1)"),
    # the tile does not divide the tensor; one tile is larger than it
    ("u", "((8,4),8):((32,1),4)", "[4:1;64:1]", "(18,64):(64,1)"),
    ("u", "((8,4),8):((32,1),4)", "[4:1;64:1]", "(2,60):(64,1)"),
    # the tensor has more modes than the tiler, or fewer
    ("u", "((8,4),8):((32,1),4)", "[4:1;64:1]", "(128,64,3):(64,1,8192)"),
    ("u", "((8,4),8):((32,1),4)", "[4:1;64:1]", "(128):(1)"),
    # rank 1: the rest mode keeps its parentheses
    ("u", "(32,8):(8,1)", "[256:1]", "(1024):(1)"),
    ("u", "(32,8):(8,1)", "[256:1]", "1024:1"),
    # layout_tv no bijection onto the tiler
    ("u", "(32,8):(8,1)", "[4:1;16:1]", "(4,64):(1,4)"),
    # rest modes of one tile have stride 0, whatever the tensor's
    ("u", "(4,12):(12,1)", "[1:1;48:1]", "(1,97,1):(97,?{i64 div=3},1)"),
    # nested modes that the tile ends within: rounded up inside the first of them
    ("u", "(32,2):(2,1)", "[64:1]", "((86,3)):((-3,1))"),
    ("u", "(2,1):(1,2)", "[2:1]", "((3,2)):((512,256))"),
    # run-time extents inside a tile
    ("u", "(32,4):(4,1)", "[128:1;1:1]", "((?{div=2},64),1):((1,64),64)"),
    ("u", "(32,4):(4,1)", "[128:1]", "((64,?{div=4})):((8,1))"),
    ("u", "(3,2):(2,1)", "[6:1]", "((3,?)):((6,1))"),
    # inadmissible compositions: the DSL dies of the first and refuses the second
    ("u", "(32,8):(24,1)", "[768:1]", "((64,12),1):((1,1000),7)"),
    ("u", "(6,4):(4,1)", "[12:1;2:1]", "((6,4),8):((24,6),1)"),
    # an inadmissible tile that no thread and no value moves in
    ("u1", "(24,1):(0,0)", "[8:1;3:1]", "(24,(2,2)):(2,(1,48))"),
    # run-time strides: what the proof of alignment keeps
    ("cp", "((8,4),8):((32,1),4)", "[4:1;64:1]", "(128,64):(?,1)"),
    ("cp", "((8,4),8):((32,1),4)", "[4:1;64:1]", "(128,64):(?{i64 div=8},1)"),
]
ATOMS = {
    "u": UniversalCopy(dtype("bf16"), 128),
    "u1": UniversalCopy(dtype("bf16"), 16),
    "cp": CpAsync(dtype("bf16"), 128),
}


@pytest.mark.parametrize(("atom", "layout_tv", "tiler", "tensor"), CASES)
def test_cases(atom, layout_tv, tiler, tensor):
    tiled = TiledCopy(ATOMS[atom], parse_layout(layout_tv), parse_tiler(tiler))
    memref = Memref(dtype("bf16"), "gmem", parse_layout(tensor), 16)
    for side in ("src", "dst"):
        agree_on_partition(tiled, side, memref)


@pytest.mark.parametrize(
    ("thr", "val"),
    [
        ("(4,8):(4,1)", "(1,8):(0,1)"),
        pytest.param("(4,8):(1,1)", "(1,8):(0,1)", marks=pytest.mark.sweep),
        pytest.param("(2,3):(2,1)", "(2,2):(2,1)", marks=pytest.mark.sweep),
    ],
)
def test_overlapping_threads_abort(thr, val):
    atom = ATOMS["u"]
    assert isinstance(dsl_tiled_copy(atom, parse_layout(thr), parse_layout(val))[1], Aborts)
    with pytest.raises(TiledCopyAborts, match="overlaps itself"):
        make_tiled_copy_tv(atom, parse_layout(thr), parse_layout(val))


@pytest.mark.parametrize(
    ("thr", "val"),
    [
        ("(4,8):(16,1)", "(1,8):(0,1)"), ("(4,8):(12,1)", "(1,8):(0,1)"), ("(4,8):(0,1)", "(1,8):(0,1)"),
        ("(4,8):(8,1)", "(1,8):(0,2)"), ("(4,8):(8,1)", "(1,8):(0,0)"), ("(4,8):(8,1)", "(2,8):(0,0)"),
        ("(4,8):(8,1)", "(2,2):(-2,1)"), ("(4,8):(-8,1)", "(1,8):(0,1)"), ("32:1", "4:1"),
        ("32:1", "(1,4):(0,1)"), ("(4,8):(8,1)", "8:1"), ("(1,1):(5,7)", "(2,2):(1,2)"),
    ],
)  # fmt: skip
def test_careless_tiled_copies(thr, val):
    thr, val = parse_layout(thr), parse_layout(val)
    theirs, _ = dsl_tiled_copy(ATOMS["u"], thr, val)
    if theirs is None:
        with pytest.raises(InputError):
            make_tiled_copy_tv(ATOMS["u"], thr, val)
    else:
        assert make_tiled_copy_tv(ATOMS["u"], thr, val) == theirs


def test_traits_are_the_dsl_s():
    """layout_src_tv and layout_dst_tv of every atom and type, read from the DSL's own types."""
    from cutlass._mlir import ir

    atoms = [
        LdMatrix(kind, n, t, mode, p)
        for kind in map(dtype, ["i1", "i4", "i8", "bf16", "f32", "i64", "i128", "f6E2M3FN"])
        for (mode, p, t), counts in LDMATRIX_FORMS.items()
        for n in counts
    ]
    atoms += [
        StMatrix(kind, n, t, mode)
        for kind in map(dtype, ["i1", "i4", "i8", "bf16", "f32", "i64", "f6E2M3FN"])
        for (mode, t), counts in STMATRIX_FORMS.items()
        for n in counts
    ]
    for kind in map(dtype, ["i4", "i8", "bf16", "f32", "i128", "f6E2M3FN"]):
        atoms += [UniversalCopy(kind, w) for w in (0, 8, 16, 128, 512)] + [
            CpAsync(kind, w) for w in (32, 128)
        ]
        atoms += [RegisterCopy("g2r", kind, kind.bits * w) for w in (1, 2) if kind.bits in (8, 16, 32, 64)]
    with ir.Context(), ir.Location.unknown():
        for atom in atoms:
            theirs = ir.Type.parse(str(atom))
            ours = traits(atom).elements(atom.dtype.bits)
            found = [str(t).split('"')[1] for t in (theirs.layout_src_tv, theirs.layout_dst_tv)]
            assert [str(ours.src), str(ours.dst)] == found, atom
            assert str(theirs.thr_id).split('"')[1].split(":")[0] == str(ours.threads)
