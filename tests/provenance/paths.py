"""Random operand paths: A and B to shared memory, to registers or descriptors, to the tensor cores, C back.

    layoutcheck trace --no-launch tests/provenance/paths.py SEED NUMBER [NUMBER ...]

`path(seed, number)` draws one: about half are right, the others have something that does not fit: a swizzle
or a pitch on one side only, ldmatrix that transposes or not, a fragment filled for another MMA or operand,
k-blocks of B in another order, C partitioned by another MMA. What the DSL refuses is left out.
From number `WIDER` on paths have more to them (`Wide`): flat tensors, negative and broadcast strides, tails
in k and in rows that are filled with zeros, two stages, repeated sums, accumulators that are used again,
results that pass through shared memory.
"""

import random
import sys
from dataclasses import asdict, dataclass, field, replace

import cutlass
import cutlass.cute as cute
from cutlass import BFloat16, Constexpr, Float16, Float32
from cutlass.cute.nvgpu import OperandMajorMode, warp, warpgroup
from cutlass.memory import SmemAllocator

THREADS = 128
M, N, K = 64, 64, 64
WIDER = 10_000
_ELEMENTS = {"bf16": BFloat16, "f16": Float16}
_ORDERS = {"none": None, "interleaved": ((8, 2, 2), (1, 16, 8))}


@dataclass(frozen=True)
class Operand:
    """One operand's way: how its tile is contiguous ("k" or "m"), and both views of it in shared memory."""

    major: str = "k"
    pad: int = 0
    written: int = 0  # bits of the swizzle S<bits,4,3> of the bytes, of the writer's view
    read: int = 0
    read_pad: int = 0
    turned: bool = False  # ldmatrix transposes where the tile does not ask for it, or does not where it does
    plain: bool = False  # loads of single elements in the place of ldmatrix
    order: str = "none"  # permutation of the MMA that the fragment is filled for
    other: bool = False  # filled as the other operand


@dataclass(frozen=True)
class Wide:
    """What else a kernel does.

    `form` is how A and B lie in global memory: "plain", "flat", "negative" or "broadcast" (B). `depth` and
    `rows` are how many k and rows of A are there, `stages` how many tiles of K k there are, of which B's are
    `exchanged`; each sum is made `repeats` times, all is done `again` times. `out` is the swizzle (bits) and
    the padding of the tile through which results are stored, and `back` those through which it is read.
    """

    form: str = "plain"
    depth: int = K
    rows: int = M
    stages: int = 1
    exchanged: bool = False
    repeats: int = 1
    again: int = 1
    out: tuple[int, int] | None = None
    back: tuple[int, int] | None = None


@dataclass(frozen=True)
class Path:
    """A kernel. `shift` is by how many k-blocks those of B are taken later, `stored` the permutation of C."""

    number: int
    kind: str = "mma"
    element: str = "bf16"
    depth: int = 16
    warps: tuple[int, int] = (2, 2)
    a: Operand = field(default_factory=Operand)
    b: Operand = field(default_factory=Operand)
    multiplied: str = "none"
    shift: int = 0
    stored: str = "none"
    wide: Wide = field(default_factory=Wide)


def path(seed: int, number: int) -> Path:
    """The path of a number."""
    draw = random.Random(f"{seed} {number}")
    kind = draw.choice(("mma", "mma", "wgmma"))
    broken = draw.random() < 0.5
    make = _mma if kind == "mma" else _wgmma
    if number < WIDER:
        return make(draw, number, broken)
    wrong = draw.choice(("", "stage", "tile")) if broken else "none"
    return replace(make(draw, number, wrong == ""), wide=_wide(draw, wrong))


def _wide(draw: random.Random, wrong: str) -> Wide:
    stages = 2 if wrong == "stage" else draw.choice((1, 1, 2))
    tiles = [(0, 0), (0, 4), (0, 1), (2, 0), (3, 0)]  # of 4-byte elements
    out = draw.choice(tiles) if wrong == "tile" or draw.random() < 0.4 else None
    back = draw.choice([one for one in tiles if one != out]) if wrong == "tile" else out
    return Wide(
        draw.choice(("plain", "plain", "flat", "negative", "broadcast")),
        draw.choice((K, K, 40, 8)), draw.choice((M, M, 24)), stages, wrong == "stage",
        draw.choice((1, 1, 2, 3)), draw.choice((1, 1, 2)), out, back,
    )  # fmt: skip


def _operand(draw: random.Random, broken: bool) -> Operand:
    major, written = draw.choice("km"), draw.choice((0, 0, 1, 2, 3))
    pad = draw.choice((0, 8, 16)) if not written else 0
    plain = draw.random() < 0.25
    read, read_pad, turned, order, other = written, pad, False, "none", False
    if broken:
        fault = draw.choice(("swizzle", "swizzle", "pitch", "turned", "order", "other"))
        if fault == "swizzle":
            read = draw.choice([n for n in range(4) if n != written])
        elif fault == "pitch":
            read_pad = draw.choice([n for n in (0, 8, 16) if n != pad])
        elif fault == "turned":
            turned = True
        elif fault == "order":
            order = "interleaved"
        else:
            other = True
    return Operand(major, pad, written, read, read_pad, turned and not plain, plain, order, other)


def _mma(draw: random.Random, number: int, broken: bool) -> Path:
    which = draw.choice("abks") if broken else ""
    element, depth = draw.choice(list(_ELEMENTS)), draw.choice((8, 16, 16))
    warps = draw.choice(((2, 2), (4, 1), (1, 4)))
    a, b = _operand(draw, which == "a"), _operand(draw, which == "b")
    order = draw.choice(("none", "none", "interleaved"))
    shift, stored = draw.choice((1, 2, 3)) if which == "k" else 0, "other" if which == "s" else "none"
    return Path(number, "mma", element, depth, warps, a, b, order, shift, stored)


def _wgmma(draw: random.Random, number: int, broken: bool) -> Path:
    which = draw.choice("abks") if broken else ""
    sides = []
    for letter in "ab":
        written = draw.choice((0, 1, 2, 3))
        read = draw.choice([n for n in range(4) if n != written]) if which == letter else written
        sides.append(Operand(draw.choice("km"), 0, written, read))
    shift, stored = draw.choice((1, 2, 3)) if which == "k" else 0, "other" if which == "s" else "none"
    element = draw.choice(list(_ELEMENTS))
    return Path(number, "wgmma", element, 16, (4, 1), *sides, shift=shift, stored=stored)


def _swizzled(raw, bits, element):
    return (
        cute.recast_ptr(raw.iterator, cute.make_swizzle(bits, 4, 3), dtype=element) if bits else raw.iterator
    )


def _tile(rows, side, pad):
    """The layout (rows, K) of a tile in shared memory."""
    if side.major == "k":
        return cute.make_layout((rows, K), stride=(K + pad, 1))
    return cute.make_layout((rows, K), stride=(1, rows + pad))


@cute.jit
def _fill(to: cute.Tensor, tensor: cute.Tensor, tidx, rows: Constexpr, wide: Constexpr, stage: Constexpr):
    for i in cutlass.range(tidx, rows * K, THREADS, unroll=1):
        row, k = i // K, i % K
        at = (row, k + stage * K)
        if cutlass.const_expr(wide.form == "flat"):
            at = row * (K * wide.stages) + k + stage * K
        if cutlass.const_expr(wide.depth == K and wide.rows == M):
            to[(row, k)] = tensor[at]
        else:
            to[(row, k)] = tensor.element_type(0.0)
            if k < wide.depth and row < wide.rows:
                to[(row, k)] = tensor[at]


@cute.jit
def _store(total: cute.Tensor, c: cute.Tensor, mma, tidx, one: Constexpr):
    """Results to global memory, through a tile in shared memory where the path has one."""
    thread = mma.get_slice(tidx)
    count = cute.size(total)
    if cutlass.const_expr(one.wide.out is None):
        mine = thread.partition_C(c)
        for i in cutlass.range_constexpr(count):
            mine[_stored(i, count, one)] = total[i]
    else:
        raw = SmemAllocator().allocate_tensor(Float32, cute.make_layout((64 * 68,)), byte_alignment=1024)
        views = [
            cute.make_tensor(_swizzled(raw, bits, Float32), cute.make_layout((M, N), stride=(N + pad, 1)))
            for bits, pad in (one.wide.out, one.wide.back)
        ]
        mine = thread.partition_C(views[0])
        for i in cutlass.range_constexpr(count):
            mine[_stored(i, count, one)] = total[i]
        cute.arch.sync_threads()
        for i in cutlass.range(tidx, M * N, THREADS, unroll=1):
            c[(i // N, i % N)] = views[1][(i // N, i % N)]
        cute.arch.sync_threads()


def _registers(mma, order, view, fragment, tidx, side, letter):
    """Fill the fragment of an operand."""
    matrices = warp.LdMatrix8x8x16bOp((side.major == "m") != side.turned, 2 if letter == "B" else 4)
    op = cute.nvgpu.CopyUniversalOp() if side.plain else matrices
    make = cute.make_tiled_copy_A if (letter == "A") != side.other else cute.make_tiled_copy_B
    copy = make(cute.make_copy_atom(op, view.element_type), order if side.order != "none" else mma)
    mine = copy.get_slice(tidx)
    cute.copy(copy, mine.partition_S(view), mine.retile(fragment))


@cute.kernel
def by_warps(
    a: cute.Tensor, b: cute.Tensor, c: cute.Tensor, mma: cute.TiledMma, order: cute.TiledMma, one: Constexpr
):
    tidx, _, _ = cute.arch.thread_idx()
    element = a.element_type
    thread, wide = mma.get_slice(tidx), one.wide
    fragments = []
    for stage in cutlass.range_constexpr(wide.stages):
        side = 64 + max(one.a.pad, one.a.read_pad, one.b.pad, one.b.read_pad)
        raws = [
            SmemAllocator().allocate_tensor(element, cute.make_layout((side * side,)), byte_alignment=1024)
            for _ in "AB"
        ]
        for i in cutlass.range(tidx, side * side, THREADS, unroll=1):
            raws[0][i] = element(0.0)
            raws[1][i] = element(0.0)
        cute.arch.sync_threads()
        for raw, tensor, way, rows in zip(raws, (a, b), (one.a, one.b), (M, N), strict=True):
            into = cute.make_tensor(_swizzled(raw, way.written, element), _tile(rows, way, way.pad))
            _fill(into, tensor, tidx, rows, wide, stage)
        cute.arch.sync_threads()
        view_a = cute.make_tensor(_swizzled(raws[0], one.a.read, element), _tile(M, one.a, one.a.read_pad))
        view_b = cute.make_tensor(_swizzled(raws[1], one.b.read, element), _tile(N, one.b, one.b.read_pad))
        fragment_a = mma.make_fragment_A(thread.partition_A(view_a))
        fragment_b = mma.make_fragment_B(thread.partition_B(view_b))
        _registers(mma, order, view_a, fragment_a, tidx, one.a, "A")
        _registers(mma, order, view_b, fragment_b, tidx, one.b, "B")
        fragments.append((fragment_a, fragment_b))
    stores = order if cutlass.const_expr(one.stored == "other") else mma
    total = cute.make_rmem_tensor(stores.get_slice(tidx).partition_C(c).shape, Float32)
    for _ in cutlass.range_constexpr(wide.again):
        total.fill(0.0)
        for _ in cutlass.range_constexpr(wide.repeats):
            for stage in cutlass.range_constexpr(wide.stages):
                fragment_a = fragments[stage][0]
                fragment_b = fragments[(wide.stages - 1 - stage) if wide.exchanged else stage][1]
                blocks = cute.size(fragment_a, mode=[2])
                for i in cutlass.range_constexpr(blocks):
                    later = fragment_b[(None, None, (i + one.shift) % blocks)]
                    cute.gemm(mma, total, fragment_a[(None, None, i)], later, total)
        _store(total, c, stores, tidx, replace(one, stored="none"))


def _stored(i, count, one):
    return count - 1 - i if one.stored == "other" else i


def _view(raw, layout, bits, element):
    """A tensor over raw memory: the layout's swizzle of elements is one of bytes of the pointer."""
    return cute.make_tensor(_swizzled(raw, bits, element), layout.outer)


@cute.kernel
def by_warpgroup(
    a: cute.Tensor, b: cute.Tensor, c: cute.Tensor, mma: cute.TiledMma, written_a: cute.ComposedLayout,
    read_a: cute.ComposedLayout, written_b: cute.ComposedLayout, read_b: cute.ComposedLayout, one: Constexpr,
):  # fmt: skip
    tidx, _, _ = cute.arch.thread_idx()
    element = a.element_type
    wide = one.wide
    fragments = []
    for stage in cutlass.range_constexpr(wide.stages):
        raws = [
            SmemAllocator().allocate_tensor(element, cute.make_layout((M * K,)), byte_alignment=1024)
            for _ in "AB"
        ]
        _fill(_view(raws[0], written_a, one.a.written, element), a, tidx, M, wide, stage)
        _fill(_view(raws[1], written_b, one.b.written, element), b, tidx, N, wide, stage)
        view_a = _view(raws[0], read_a, one.a.read, element)
        view_b = _view(raws[1], read_b, one.b.read, element)
        fragments.append((
            mma.make_fragment_A(mma.get_slice(0).partition_A(view_a)),
            mma.make_fragment_B(mma.get_slice(0).partition_B(view_b)),
        ))  # fmt: skip
    cute.arch.fence_proxy("async.shared", space="cta")
    cute.arch.sync_threads()
    total = cute.make_rmem_tensor(mma.get_slice(tidx).partition_C(c).shape, Float32)
    blocks = K // 16
    for _ in cutlass.range_constexpr(wide.again):
        mma.set(warpgroup.Field.ACCUMULATE, False)
        warpgroup.fence()
        for _ in cutlass.range_constexpr(wide.repeats):
            for stage in cutlass.range_constexpr(wide.stages):
                fragment_a = fragments[stage][0]
                fragment_b = fragments[(wide.stages - 1 - stage) if wide.exchanged else stage][1]
                for i in cutlass.range_constexpr(blocks):
                    later = fragment_b[(None, None, (i + one.shift) % blocks)]
                    cute.gemm(mma, total, fragment_a[(None, None, i)], later, total)
                    mma.set(warpgroup.Field.ACCUMULATE, True)
        warpgroup.commit_group()
        warpgroup.wait_group(0)
        _store(total, c, mma, tidx, one)


def _tensor(pointer, wide, second):
    """A or B in global memory."""
    pitch = K * wide.stages
    if wide.form == "flat":
        return cute.make_tensor(pointer, cute.make_layout((M * pitch,)))
    if wide.form == "negative":
        return cute.make_tensor(pointer + (M - 1) * pitch, cute.make_layout((M, pitch), stride=(-pitch, 1)))
    step = 0 if wide.form == "broadcast" and second else pitch
    return cute.make_tensor(pointer, cute.make_layout((M, pitch), stride=(step, 1)))


@cute.jit
def host(a: cute.Pointer, b: cute.Pointer, c: cute.Pointer, one: Constexpr):
    element = _ELEMENTS[one.element]
    tensors = _tensor(a, one.wide, False), _tensor(b, one.wide, True)
    result = cute.make_tensor(c, cute.make_layout((M, N), stride=(N, 1)))
    if cutlass.const_expr(one.kind == "mma"):
        op = warp.MmaF16BF16Op(element, Float32, (16, 8, one.depth))
        rows = 16 * one.warps[0], cute.make_layout((8, 2, 2), stride=(1, 16, 8)), 2 * one.depth
        spread = (one.warps[0] * 16, max(32, one.warps[1] * 8), 2 * one.depth)
        plain = cute.make_tiled_mma(op, (*one.warps, 1), permutation_mnk=spread)
        other = cute.make_tiled_mma(op, (*one.warps, 1), permutation_mnk=rows)
        chosen, order = (plain, other) if one.multiplied == "none" else (other, plain)
        by_warps(*tensors, result, chosen, order, one).launch(grid=(1, 1, 1), block=(THREADS, 1, 1))
    else:
        op = warpgroup.MmaF16BF16Op(
            element, Float32, (64, N, 16), warpgroup.OperandSource.SMEM, _major(one.a), _major(one.b)
        )
        mma = cute.make_tiled_mma(op)
        views = (
            _atoms(one.a, element, M, one.a.written), _atoms(one.a, element, M, one.a.read),
            _atoms(one.b, element, N, one.b.written), _atoms(one.b, element, N, one.b.read),
        )  # fmt: skip
        by_warpgroup(*tensors, result, mma, *views, one).launch(grid=(1, 1, 1), block=(THREADS, 1, 1))


def _major(side):
    return OperandMajorMode.K if side.major == "k" else OperandMajorMode.MN


def _atoms(side, element, rows, bits):
    """A canonical layout of wgmma for a tile, of that swizzle."""
    name = "INTER" if not bits else f"SW{16 << bits}"
    kind = getattr(warpgroup.SmemLayoutAtomKind, f"{'K' if side.major == 'k' else 'MN'}_{name}")
    atom = warpgroup.make_smem_layout_atom(kind, element)
    return cute.tile_to_shape(atom, (rows, K), order=(0, 1))


def build(one: Path):
    """The compiled kernel. Raises what the DSL raises where it refuses the path."""
    kinds = (_ELEMENTS[one.element], _ELEMENTS[one.element], Float32)
    pointers = [
        cute.runtime.make_ptr(kind, 1 << 20, cute.AddressSpace.gmem, assumed_align=128) for kind in kinds
    ]
    return cute.compile(host, *pointers, one)


if __name__ == "__main__":
    seed, *numbers = (int(word) for word in sys.argv[1:])
    for number in numbers:
        one = path(seed, number)
        try:
            build(one)
        except Exception as error:
            print(f"{number} refused: {' '.join(str(error).split())[:300]} {asdict(one)}")
