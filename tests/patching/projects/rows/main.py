import cutlass
import cutlass.cute as cute
from cutlass.cute.runtime import make_fake_tensor


class RowSum:
    vec_bits = 128
    cta_rows = 4

    def __init__(self, n: int):
        self.n = n
        self.vec = self.vec_bits // 32
        self.threads = self.cta_rows * self.n // self.vec

    def tiled(self, bits):
        atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), cutlass.Float32, num_bits_per_copy=bits)
        thr = cute.make_layout((self.cta_rows, self.n // self.vec), stride=(self.n // self.vec, 1))
        val = cute.make_layout((1, self.vec))
        tiler, tv = cute.make_layout_tv(thr, val)
        return cute.make_tiled_copy(atom, tv, tiler)

    @cute.jit
    def __call__(self, x: cute.Tensor, w: cute.Tensor, out: cute.Tensor):
        copy = self.tiled(self.vec_bits)
        weights = cute.make_tensor(
            w.iterator, cute.prepend(w.layout, cute.make_layout((self.cta_rows,), stride=(0,)))
        )
        grid = cute.ceil_div(x.shape[0], self.cta_rows)
        self.kernel(x, weights, out, copy).launch(grid=[grid, 1, 1], block=[self.threads, 1, 1])

    @cute.kernel
    def kernel(self, x: cute.Tensor, w: cute.Tensor, out: cute.Tensor, copy: cute.TiledCopy):
        tid = cute.arch.thread_idx()[0]
        bid = cute.arch.block_idx()[0]
        tile = (self.cta_rows, self.n)
        gx, go = [cute.local_tile(t, tile, (bid, 0)) for t in (x, out)]
        cx = cute.local_tile(cute.make_identity_tensor(x.shape), tile, (bid, 0))
        thr = copy.get_slice(tid)
        tx, tw, to, tc = thr.partition_S(gx), thr.partition_S(w), thr.partition_D(go), thr.partition_S(cx)
        rx, rw = cute.make_fragment_like(tx), cute.make_fragment_like(tx)
        pred = cute.make_rmem_tensor((1, cute.size(tx, mode=[1]), cute.size(tx, mode=[2])), cutlass.Boolean)
        for m in cutlass.range_constexpr(cute.size(pred, mode=[1])):
            for k in cutlass.range_constexpr(cute.size(pred, mode=[2])):
                pred[0, m, k] = tc[(0, 0), m, k][0] < x.shape[0]
        cute.copy(copy, tx, rx, pred=pred)
        cute.copy(copy, tw, rw)
        rx.store(rx.load() * rw.load())
        cute.copy(copy, rx, to, pred=pred)


def run():
    m = cute.sym_int()
    n = 256
    sx = cute.sym_int64(divisibility=4)
    x = make_fake_tensor(cutlass.Float32, (m, n), stride=(sx, 1), assumed_align=16)
    w = make_fake_tensor(cutlass.Float32, (n,), stride=(1,), assumed_align=16)
    o = make_fake_tensor(cutlass.Float32, (m, n), stride=(sx, 1), assumed_align=16)
    cute.compile(RowSum(n), x, w, o)


run()
