"""The kernels of `tails`, compiled or run.

python -m tests.dsl.lowered.tail_kernels SPECS.json           # compiles them all (what a trace watches)
python -m tests.dsl.lowered.tail_kernels SPECS.json --run 3   # runs number 3 on a GPU, in exact buffers
"""

import json
import sys
from pathlib import Path

import cutlass
from cutlass import cute
from cutlass.cute.nvgpu import cpasync
from cutlass.cute.runtime import make_ptr

from tests.dsl.lowered.tails import touched


@cute.jit
def allowed(c, last, spec: cutlass.Constexpr, kind: cutlass.Constexpr):
    m, n = spec["shape"]
    ok = c[0] < m and c[1] < n
    if cutlass.const_expr(kind == "last"):
        ok = last[0] < m and last[1] < n
    if cutlass.const_expr(kind == "rows"):
        ok = c[0] < m
    if cutlass.const_expr(kind == "columns"):
        ok = c[1] < n
    if cutlass.const_expr(kind in ("row_more", "row_equal")):
        ok = (c[0] <= m if cutlass.const_expr(kind == "row_equal") else c[0] < m + 1) and c[1] < n
    if cutlass.const_expr(kind == "swapped"):
        ok = c[0] < n and c[1] < m
    return ok


@cute.kernel
def copied(x: cute.Tensor, y: cute.Tensor, tc: cute.TiledCopy, spec: cutlass.Constexpr):
    t = cute.arch.thread_idx()[0]
    bx, by, _ = cute.arch.block_idx()
    by = by + spec["tile_offset"]
    v, tile = spec["v"], tuple(spec["tile"])
    x, y = (cute.domain_offset(tuple(spec["offset"]), z) for z in (x, y))
    tx, ty = (tc.get_slice(t).partition_S(cute.local_tile(z, tile, (by, bx))) for z in (x, y))
    whole = cute.make_identity_tensor(tuple(spec["shape"]))
    tc_ = tc.get_slice(t).partition_S(cute.local_tile(whole, tile, (by, bx)))
    shape = (tc_.shape[0][1], tc_.shape[1], tc_.shape[2])
    preds = [cute.make_rmem_tensor(shape, cutlass.Boolean) for _ in ("load", "store")]
    for pred, kind in zip(preds, (spec["load"], spec["store"]), strict=True):
        for i in cutlass.range_constexpr(cute.size(pred, mode=[0])):
            for j in cutlass.range_constexpr(cute.size(pred, mode=[1])):
                for k in cutlass.range_constexpr(cute.size(pred, mode=[2])):
                    c, last = tc_[(0, i), j, k], tc_[(v - 1, i), j, k]
                    pred[i, j, k] = allowed(c, last, spec, kind)
    load = None if spec["load"] == "none" else preds[0]
    store = None if spec["store"] == "none" else preds[1]
    if cutlass.const_expr(spec["mode"] == "async"):
        flat = cute.make_layout(tile, stride=(tile[1], 1))
        s = cutlass.memory.SmemAllocator().allocate_tensor(x.element_type, flat, 128)
        cute.copy(tc, tx, tc.get_slice(t).partition_D(s), pred=load)
        cute.arch.cp_async_commit_group()
        cute.arch.cp_async_wait_group(0)
    else:
        r = cute.make_fragment_like(tx)
        cute.copy(tc, tx, r, pred=load)
        cute.copy(tc, r, ty, pred=store)


@cute.kernel
def by_element(x: cute.Tensor, y: cute.Tensor, spec: cutlass.Constexpr):
    t = cute.arch.thread_idx()[0]
    bx, by, _ = cute.arch.block_idx()
    (bm, bn), (dm, dn) = spec["tile"], spec["offset"]
    for i in cutlass.range(t, bm * bn, spec["tm"] * spec["tn"], unroll=1):
        c = (i // bn + (by + spec["tile_offset"]) * bm, i % bn + bx * bn)
        value = x.element_type(0.0)
        if cutlass.const_expr(spec["load"] == "none") or allowed(c, c, spec, spec["load"]):
            value = x[c[0] + dm, c[1] + dn]
        if cutlass.const_expr(spec["store"] == "none") or allowed(c, c, spec, spec["store"]):
            y[c[0] + dm, c[1] + dn] = value


@cute.jit
def host(p: cute.Pointer, q: cute.Pointer, spec: cutlass.Constexpr):
    layout = cute.make_layout(tuple(spec["shape"]), stride=(spec["pitch"], 1))
    x, y = cute.make_tensor(p, layout), cute.make_tensor(q, layout)
    grid, block = (spec["grid"][1], spec["grid"][0], 1), (spec["tm"] * spec["tn"], 1, 1)
    if cutlass.const_expr(spec["mode"] == "element"):
        by_element(x, y, spec).launch(grid=grid, block=block)
    else:
        op = (
            cpasync.CopyG2SOp()
            if cutlass.const_expr(spec["mode"] == "async")
            else cute.nvgpu.CopyUniversalOp()
        )
        atom = cute.make_copy_atom(op, x.element_type, num_bits_per_copy=spec["v"] * x.element_type.width)
        threads = cute.make_layout((spec["tm"], spec["tn"]), stride=(spec["tn"], 1))
        values = cute.make_layout((spec["vm"], spec["v"]), stride=(spec["v"], 1))
        tc = cute.make_tiled_copy_tv(atom, threads, values)
        copied(x, y, tc, spec).launch(grid=grid, block=block)


SPACE = 600 << 10  # bytes of a freed allocation, so that what leaves one buffer does not get into the other


def main() -> None:
    """Compile all, or run one on the GPU."""
    specs = json.loads(Path(sys.argv[1]).read_text())
    run = "--run" in sys.argv
    for spec in [specs[int(sys.argv[3])]] if run else specs:
        dtype = getattr(cutlass, spec["dtype"])
        p, q = (
            make_ptr(dtype, at, cute.AddressSpace.gmem, assumed_align=16)
            for at in (buffers(touched(spec, "load").size) if run else (1 << 16, 1 << 17))
        )
        compiled = cute.compile(host, p, q, spec)
        if run:
            from cuda.bindings import driver

            compiled(p, q)
            print(json.dumps({"seed": spec["seed"], "error": int(driver.cuCtxSynchronize()[0])}), flush=True)


def buffers(size: int) -> tuple[int, int]:
    """Two allocations of the device of exactly `size` bytes, with freed ones around and between them."""
    from cuda.bindings import driver

    assert driver.cuInit(0)[0] == 0
    assert driver.cuCtxSetCurrent(driver.cuDevicePrimaryCtxRetain(0)[1])[0] == 0
    made = [driver.cuMemAlloc(n)[1] for n in (SPACE, size, SPACE, size, SPACE)]
    for space in made[::2]:
        driver.cuMemFree(space)
    return int(made[1]), int(made[3])


if __name__ == "__main__":
    main()
