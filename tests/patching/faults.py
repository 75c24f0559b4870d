"""Small programs with one planted fault each, and a part of the line that the repair writes ("": none does).

Rows as quack writes them, a pipeline of a class as CUTLASS' examples do, kernels of elements, tiled copies.
"""

from __future__ import annotations

from tests.patching.broken import HEAD


def tensor(shape: str, stride: str, dtype: str = "Float32", align: int = 16) -> str:
    """The function that makes the arguments of the host."""
    given = f"cutlass.{dtype}, {shape}, stride={stride}, assumed_align={align}"
    return f"\ndef tensor():\n    return make_fake_tensor({given})\n\n"


def put(text: str, given: dict[str, str], **other: str) -> str:
    """A text with other words for those in capitals."""
    for word, new in {**given, **other}.items():
        text = text.replace(word, new)
    return text


ROW = (
    HEAD
    + """from dataclasses import dataclass


@dataclass
class RowOp:
    n: int
    threads: int = 128
    vec: int = VEC
    align: int = ALIGN

    def tiler(self):
        return (1, self.threads * self.vec)

    def tiled(self, dtype):
        atom = cute.make_copy_atom(cpasync.CopyG2SOp(), dtype, num_bits_per_copy=BITS)
        return cute.make_tiled_copy_tv(
            atom, cute.make_layout((1, self.threads)), cute.make_layout((1, self.vec))
        )

    @cute.jit
    def __call__(self, x: cute.Tensor, y: cute.Tensor):
        tiled = self.tiled(x.element_type)
        self.kernel(x, y, tiled).launch(grid=(x.shape[0], 1, 1), block=(self.threads, 1, 1))

    @cute.kernel
    def kernel(self, x: cute.Tensor, y: cute.Tensor, tiled: cute.TiledCopy):
        tidx, _, _ = cute.arch.thread_idx()
        bidx, _, _ = cute.arch.block_idx()
        smem = cutlass.memory.SmemAllocator()
        rows = cute.make_layout(self.tiler(), stride=(self.tiler()[1], 1))
        sX = smem.allocate_tensor(x.element_type, rows, byte_alignment=self.align)
        gX, gY = (cute.local_tile(t, self.tiler(), (bidx, 0)) for t in (x, y))
        thr = tiled.get_slice(tidx)
        tXgX, tXsX, tXgY = thr.partition_S(gX), thr.partition_D(sX), thr.partition_D(gY)
        tXrX = cute.make_fragment_like(tXgX)
        cute.copy(tiled, tXgX, tXsXPRED)
        cute.arch.cp_async_commit_group()
        WAIT
        cute.autovec_copy(tXsX, tXrX)
        cute.autovec_copy(tXrX, tXgY)

"""
    + "TENSOR\ncute.compile(RowOp(512), tensor(), tensor())\n"
)
PIPE = (
    HEAD
    + """STAGES = 3


class Pipe:
    def __init__(self, tile=(32, 64), threads=128):
        self.tile, self.threads = tile, threads

    @cute.jit
    def __call__(self, a: cute.Tensor, c: cute.Tensor):
        m, k = self.tile
        staged = cute.make_layout((m, k, STAGES), stride=(KS, 1, MS))
        atom = cute.make_copy_atom(cpasync.CopyG2SOp(), a.element_type, num_bits_per_copy=128)
        threads = cute.make_layout((16, 8), stride=(8, 1))
        tiled = cute.make_tiled_copy_tv(atom, threads, cute.make_layout((1, 8)))
        self.kernel(a, c, staged, tiled).launch(grid=(1, 1, 1), block=(BLOCK, 1, 1))

    @cute.jit
    def fetch(self, tiled, src, dst, k):
        cute.copy(tiled, src[None, None, None, k], dst[None, None, None, k % STAGES])

    @cute.kernel
    def kernel(self, a: cute.Tensor, c: cute.Tensor, staged: cute.Layout, tiled: cute.TiledCopy):
        tidx, _, _ = cute.arch.thread_idx()
        sA = cutlass.memory.SmemAllocator().allocate_tensor(a.element_type, staged, byte_alignment=128)
        gA = cute.local_tile(a, self.tile, (0, None))
        gC = cute.local_tile(c, self.tile, (0, None))
        thr = tiled.get_slice(tidx)
        tAgA, tAsA, tAgC = thr.partition_S(gA), thr.partition_D(sA), thr.partition_D(gC)
        count = cute.size(gA, mode=[2])
        for s in cutlass.range_constexpr(STAGES - 1):
            self.fetch(tiled, tAgA, tAsA, s)
            COMMIT
        for k in cutlass.range(count, unroll=1):
            cute.arch.cp_async_wait_group(LEFT)
            SYNC
            frag = cute.make_fragment_like(tAsA[None, None, None, 0])
            cute.autovec_copy(tAsA[None, None, None, READ], frag)
            cute.autovec_copy(frag, tAgC[None, None, None, k])
            AFTER
            if k + STAGES - 1 < count:
                self.fetch(tiled, tAgA, tAsA, k + STAGES - 1)
            cute.arch.cp_async_commit_group()

"""
    + tensor("(32, 512)", "(512, 1)", dtype="Float16")
    + """
cute.compile(Pipe(), tensor(), tensor())
"""
)
EL = (
    HEAD
    + """N = 128


@cute.jit
def clear(buf, tid, n: cutlass.Constexpr):
    for i in cutlass.range_constexpr(cute.ceil_div(n, N)):
        buf[tid + i * N] = cutlass.Float32(0)


@cute.kernel
def kernel(x: cute.Tensor, y: cute.Tensor, scaled: cutlass.Constexpr):
    tid, _, _ = cute.arch.thread_idx()
    bid, _, _ = cute.arch.block_idx()
    smem = cutlass.memory.SmemAllocator()
    buf = smem.allocate_tensor(cutlass.Float32, cute.make_layout(N), 16)
    clear(buf, tid, N)
    BEFORE
    buf[N - 1 - tid] = x[IX]
    BETWEEN
    v = buf[tid]
    if cutlass.const_expr(scaled):
        v = v * 2.0
    y[IY] = v


@cute.jit
def host(x: cute.Tensor, y: cute.Tensor):
    kernel(x, y, True).launch(grid=(cute.ceil_div(x.shape[0], N), 1, 1), block=(N, 1, 1))

"""
    + tensor("(SIZE,)", "(1,)")
    + """
cute.compile(host, tensor(), tensor())
"""
)
COP = (
    HEAD
    + """

@cute.kernel
def kernel(x: cute.Tensor, y: cute.Tensor, rows: cute.TiledCopy, cols: cute.TiledCopy, layout: cute.Layout):
    tid, _, _ = cute.arch.thread_idx()
    tile = cutlass.memory.SmemAllocator().allocate_tensor(x.element_type, layout, 128)
    a, b = rows.get_slice(tid), cols.get_slice(tid)
    held = cute.make_fragment_like(a.partition_S(x))
    cute.copy(rows, a.partition_S(x), held)
    cute.copy(rows, held, a.partition_D(tile))
    cute.arch.sync_threads()
    out = cute.make_fragment_like(b.partition_S(tile))
    cute.copy(cols, b.partition_S(tile), out)
    cute.copy(cols, out, b.partition_D(y))


@cute.jit
def host(x: cute.Tensor, y: cute.Tensor):
    atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), x.element_type, num_bits_per_copy=RB)
    rows = cute.make_tiled_copy_tv(atom, cute.make_layout(RT, stride=RS), cute.make_layout(RV))
    other = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), x.element_type, num_bits_per_copy=CB)
    cols = cute.make_tiled_copy_tv(other, cute.make_layout(CT), cute.make_layout(CV))
    layout = LAYOUT
    kernel(x, y, rows, cols, layout).launch(grid=(1, 1, 1), block=(128, 1, 1))

"""
    + tensor("(64, 64)", "(64, 1)")
    + """
cute.compile(host, tensor(), tensor())
"""
)
RED = (
    HEAD
    + """

@cute.kernel
def kernel(x: cute.Tensor, y: cute.Tensor):
    tid, _, _ = cute.arch.thread_idx()
    storage = cutlass.memory.SmemAllocator().allocate(Shared)
    part = storage.part.get_tensor(cute.make_layout((32, 32), stride=(32, 1)))
    lane, warp_id = cute.arch.lane_idx(), cute.arch.warp_idx()
    for i in cutlass.range_constexpr(8):
        part[lane, warp_id * 8 + i] = x[lane, warp_id * 8 + i]
    cute.arch.sync_threads()
    total = cutlass.Float32(0)
    for i in cutlass.range(32):
        total += part[i, lane]
    y[warp_id, lane] = total


@cute.struct
class Shared:
    part: cute.struct.MemRange[cutlass.Float32, 32 * 32]
    count: cute.struct.MemRange[cutlass.Int32, 4]


@cute.jit
def host(x: cute.Tensor, y: cute.Tensor):
    kernel(x, y).launch(grid=(1, 1, 1), block=(128, 1, 1))

"""
    + tensor("(32, 32)", "(32, 1)")
    + """
cute.compile(host, tensor(), tensor())
"""
)
TMA = (
    HEAD
    + """from cutlass.cute.nvgpu import cpasync

K, TILES = 64, 3
BYTES = 64 * K * 2


@cute.kernel
def kernel(load, a: cute.Tensor, other, b: cute.Tensor, y: cute.Tensor, layout: cute.Layout):
    tid, _, _ = cute.arch.thread_idx()
    smem = cutlass.memory.SmemAllocator()
    full = smem.allocate_array(cutlass.Int64, 1)
    s_a = smem.allocate_tensor(cutlass.BFloat16, layout, byte_alignment=1024)
    s_b = smem.allocate_tensor(cutlass.BFloat16, layout, byte_alignment=1024)
    if tid == 0:
        cute.arch.mbarrier_init(full, 1)
    cute.arch.mbarrier_init_fence()
    cute.arch.sync_threads()
    one = cute.make_layout(1)
    tiles_a, tiles_b = (cute.group_modes(cute.local_tile(t, (64, K), (0, None)), 0, 2) for t in (a, b))
    to_a, from_a = cpasync.tma_partition(load, 0, one, cute.group_modes(s_a, 0, 2), tiles_a)
    to_b, from_b = cpasync.tma_partition(other, 0, one, cute.group_modes(s_b, 0, 2), tiles_b)
    for turn in cutlass.range(TILES, unroll=1):
        if tid < 32:
            with cute.arch.elect_one():
                cute.arch.mbarrier_arrive_and_expect_tx(full, 2 * BYTES)
            cute.copy(load, from_a[None, turn], to_a, tma_bar_ptr=full)
            cute.copy(other, from_b[None, turn], to_b, tma_bar_ptr=full)
        cute.arch.mbarrier_wait(full, turn % 2)
        for i in cutlass.range_constexpr(4):
            y[i * 16, tid % K + K * turn] = s_a[i * 16, tid % K] + s_b[i * 16, tid % K]
        cute.arch.sync_threads()


@cute.jit
def host(a: cute.Tensor, b: cute.Tensor, y: cute.Tensor):
    layout = cute.make_layout((64, K), stride=(K, 1))
    op = cpasync.CopyBulkTensorTileG2SOp()
    made = [cpasync.make_tiled_tma_atom(op, t, layout, (64, K)) for t in (a, b)]
    kernel(*made[0], *made[1], y, layout).launch(grid=(1, 1, 1), block=(128, 1, 1))

"""
    + tensor("(64, K * TILES)", "(K * TILES, 1)", dtype="BFloat16")
    + """
cute.compile(host, tensor(), tensor(), tensor())
"""
)

_ROW = {
    "VEC": "4",
    "ALIGN": "16",
    "BITS": "128",
    "PRED": "",
    "WAIT": "cute.arch.cp_async_wait_group(0)",
    "TENSOR": tensor("(16, 512)", "(512, 1)"),
}
_PIPE = {
    "KS": "k",
    "MS": "m * k",
    "BLOCK": "self.threads",
    "COMMIT": "cute.arch.cp_async_commit_group()",
    "LEFT": "STAGES - 2",
    "SYNC": "cute.arch.sync_threads()",
    "READ": "k % STAGES",
    "AFTER": "pass",
}
_EL = {
    "BEFORE": "cute.arch.sync_threads()",
    "BETWEEN": "cute.arch.sync_threads()",
    "IX": "bid * N + tid",
    "IY": "bid * N + tid",
    "SIZE": "512",
}
_COP = {
    "LAYOUT": "cute.make_layout((64, 64), stride=(64, 1))",
    "RB": "32",
    "RT": "(2, 64)",
    "RS": "(64, 1)",
    "RV": "(1, 1)",
    "CB": "32",
    "CT": "(64, 2)",
    "CV": "(1, 1)",
}

PIPE_WRITES = put(PIPE, _PIPE).replace("dst[None, None, None, k % STAGES]", "dst[None, None, None, WRITE]")

FAULTS: dict[str, tuple[str, str]] = {
    "row align": (put(ROW, _ROW, ALIGN="4"), "align: int = 16"),
    "row hostalign": (put(ROW, _ROW, TENSOR=tensor("(16, 512)", "(512, 1)", align=4)), "assumed_align=16"),
    "row wait1": (put(ROW, _ROW, WAIT="cute.arch.cp_async_wait_group(1)"), "cp_async_wait_group(0)"),
    "row nowait": (put(ROW, _ROW, WAIT="pass"), "cp_async_wait_group(0)"),
    "row bits": (
        put(ROW, _ROW, BITS="64", VEC="3", TENSOR=tensor("(16, 384)", "(384, 1)")),
        "cute.make_layout((1, 64)), cute.make_layout((1, 2))",
    ),
    "row tail": (put(ROW, _ROW, TENSOR=tensor("(16, 500)", "(500, 1)")), "cute.elem_less("),
    "row pitch": (put(ROW, _ROW, TENSOR=tensor("(16, 512)", "(513, 1)")), "num_bits_per_copy=32"),
    "pipe wait": (put(PIPE, _PIPE, LEFT="STAGES - 1"), "cp_async_wait_group(STAGES - 2)"),
    "pipe nocommit": (put(PIPE, _PIPE, COMMIT="pass"), "cp_async_commit_group()"),
    "pipe unwrapped": (put(PIPE, _PIPE, READ="k"), "k % STAGES], frag)"),
    "pipe pitch": (put(PIPE, _PIPE, KS="k + 4", MS="m * (k + 4)"), "num_bits_per_copy=64"),
    "pipe threads": (put(PIPE, _PIPE, BLOCK="64"), "block=(128, 1, 1)"),
    "el nosync": (put(EL, _EL, BETWEEN="pass"), "sync_threads()"),
    "el nosync clear": (put(EL, _EL, BEFORE="pass"), "sync_threads()"),
    "el tail": (put(EL, _EL, SIZE="500"), "buf[N - 1 - tid] = x.element_type(0)"),
    "el shift": (put(EL, _EL, IX="bid * N + tid - 1"), "bid * N + tid - 1 >= 0"),
    "el warpsync": (put(EL, _EL, BETWEEN="cute.arch.sync_warp()"), "sync_threads()"),
    "el ahead": (put(EL, _EL, IX="bid * N + tid + 1"), "buf[N - 1 - tid] = x.element_type(0)"),
    "cop conflict": (put(COP, _COP), "stride=(65, 1)"),
    "cop vec": (
        put(
            COP, _COP, RB="128", RT="(8, 16)", RS="(16, 1)", RV="(1, 4)", CB="128", CV="(1, 4)", CT="(64, 2)"
        ),
        "stride=(68, 1)",
    ),
    "cop ordered": (
        put(COP, _COP, LAYOUT="cute.make_ordered_layout((64, 64), order=(1, 0))"),
        "stride=(65, 1)",
    ),
    "cop align": (
        put(
            COP,
            _COP,
            LAYOUT="cute.make_layout((64, 64), stride=(66, 1))",
            RB="128",
            RT="(8, 16)",
            RS="(16, 1)",
            RV="(1, 4)",
        ),
        "stride=(68, 1)",
    ),
    "el twice": (put(EL, _EL, BEFORE="cute.arch.sync_threads()\n    buf[tid] = x[tid]"), ""),
    "tma twice": (TMA.replace("to_b, tma_bar_ptr", "to_a, tma_bar_ptr"), ""),
    "pipe read ahead": (put(PIPE, _PIPE, READ="(k + 1) % STAGES"), ""),
    "pipe write modulo": (PIPE_WRITES.replace("WRITE", "k % (STAGES - 1)"), ""),
    "pipe read modulo": (put(PIPE, _PIPE, READ="k % (STAGES - 1)"), ""),
    "pipe read stage": (put(PIPE, _PIPE, READ="0"), ""),
    "cop modeorder": (
        put(
            COP, _COP, LAYOUT="cute.make_layout((64, 64))", RB="128", RT="(8, 16)", RS="(16, 1)", RV="(1, 4)"
        ),
        "num_bits_per_copy=32",
    ),
    "cop rmode": (put(COP, _COP, RB="128", RT="(8, 16)", RS="(16, 1)", RV="(4, 1)"), "num_bits_per_copy=32"),
    "red conflict": (RED, "32 * 33"),
    "red nosync": (RED.replace("    cute.arch.sync_threads()\n", ""), "sync_threads()"),
    "red size": (
        RED.replace("MemRange[cutlass.Float32, 32 * 32]", "MemRange[cutlass.Float32, 31 * 32]"),
        " 1024]",
    ),
}
