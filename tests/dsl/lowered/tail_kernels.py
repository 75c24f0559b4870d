"""The kernels of `tails`, compiled or run.

python -m tests.dsl.lowered.tail_kernels SPECS.json           # compiles them all (what a trace watches)
python -m tests.dsl.lowered.tail_kernels SPECS.json --run 3   # runs number 3 on a GPU, in exact buffers
python -m tests.dsl.lowered.tail_kernels SPECS.json --ptx OUT # writes the PTX of number n to OUT/n.ptx
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
def copied(x: cute.Tensor, sums: cute.Tensor, tc: cute.TiledCopy, spec: cutlass.Constexpr):
    """A tiled copy to registers or shared memory, or from registers; sums keep what is loaded alive."""
    t = cute.arch.thread_idx()[0]
    bx, by, _ = cute.arch.block_idx()
    here = t + spec["tm"] * spec["tn"] * (bx + spec["grid"][1] * by)
    by = by + spec["tile_offset"]
    v, tile = spec["v"], tuple(spec["tile"])
    x = cute.domain_offset(tuple(spec["offset"]), x)
    tx = tc.get_slice(t).partition_S(cute.local_tile(x, tile, (by, bx)))
    whole = cute.make_identity_tensor(tuple(spec["shape"]))
    tc_ = tc.get_slice(t).partition_S(cute.local_tile(whole, tile, (by, bx)))
    every = cute.make_rmem_tensor((tc_.shape[0][1], tc_.shape[1], tc_.shape[2]), cutlass.Boolean)
    for i in cutlass.range_constexpr(cute.size(every, mode=[0])):
        for j in cutlass.range_constexpr(cute.size(every, mode=[1])):
            for k in cutlass.range_constexpr(cute.size(every, mode=[2])):
                every[i, j, k] = allowed(tc_[(0, i), j, k], tc_[(v - 1, i), j, k], spec, spec["predicate"])
    pred = None if spec["predicate"] == "none" else every
    if cutlass.const_expr(spec["mode"] == "async"):
        flat = cute.make_layout(tile, stride=(tile[1], 1))
        s = cutlass.memory.SmemAllocator().allocate_tensor(x.element_type, flat, 128)
        cute.copy(tc, tx, tc.get_slice(t).partition_D(s), pred=pred)
        cute.arch.cp_async_commit_group()
        cute.arch.cp_async_wait_group(0)
    else:
        r = cute.make_fragment_like(tx)
        r.fill(1.0)
        if cutlass.const_expr(spec["side"] == "store"):
            cute.copy(tc, r, tx, pred=pred)
        else:
            cute.copy(tc, tx, r, pred=pred)
            total = cutlass.Float32(0.0)
            for i in cutlass.range_constexpr(cute.size(r)):
                total += r[i].to(cutlass.Float32)
            sums[here] = total


@cute.kernel
def by_element(x: cute.Tensor, sums: cute.Tensor, spec: cutlass.Constexpr):
    """The same, element by element."""
    t = cute.arch.thread_idx()[0]
    bx, by, _ = cute.arch.block_idx()
    threads = spec["tm"] * spec["tn"]
    (bm, bn), (dm, dn) = spec["tile"], spec["offset"]
    total = cutlass.Float32(0.0)
    for i in cutlass.range(t, bm * bn, threads, unroll=1):
        c = (i // bn + (by + spec["tile_offset"]) * bm, i % bn + bx * bn)
        if cutlass.const_expr(spec["predicate"] == "none") or allowed(c, c, spec, spec["predicate"]):
            if cutlass.const_expr(spec["side"] == "store"):
                x[c[0] + dm, c[1] + dn] = x.element_type(1.0)
            else:
                total += x[c[0] + dm, c[1] + dn].to(cutlass.Float32)
    sums[t + threads * (bx + spec["grid"][1] * by)] = total


@cute.jit
def host(p: cute.Pointer, q: cute.Pointer, spec: cutlass.Constexpr):
    x = cute.make_tensor(p, cute.make_layout(tuple(spec["shape"]), stride=(spec["pitch"], 1)))
    grid, threads = (spec["grid"][1], spec["grid"][0], 1), spec["tm"] * spec["tn"]
    sums = cute.make_tensor(q, cute.make_layout(threads * grid[0] * grid[1]))
    if cutlass.const_expr(spec["mode"] == "element"):
        by_element(x, sums, spec).launch(grid=grid, block=(threads, 1, 1))
    else:
        op = cute.nvgpu.CopyUniversalOp()
        if cutlass.const_expr(spec["mode"] == "async"):
            op = cpasync.CopyG2SOp()
        atom = cute.make_copy_atom(op, x.element_type, num_bits_per_copy=spec["v"] * x.element_type.width)
        thr = cute.make_layout((spec["tm"], spec["tn"]), stride=(spec["tn"], 1))
        values = cute.make_layout((spec["vm"], spec["v"]), stride=(spec["v"], 1))
        tc = cute.make_tiled_copy_tv(atom, thr, values)
        copied(x, sums, tc, spec).launch(grid=grid, block=(threads, 1, 1))


SPACE = 600 << 10  # bytes of a freed allocation, so that what leaves one buffer does not get into the other


def main() -> None:
    """Compile all, or run one on the GPU."""
    specs = json.loads(Path(sys.argv[1]).read_text())
    run = "--run" in sys.argv
    for number, spec in enumerate([specs[int(sys.argv[3])]] if run else specs):
        places = (1 << 16, 1 << 24)
        if run:
            threads = spec["tm"] * spec["tn"] * spec["grid"][0] * spec["grid"][1]
            places = buffers(touched(spec).size, 4 * threads)
        p = make_ptr(getattr(cutlass, spec["dtype"]), places[0], cute.AddressSpace.gmem, assumed_align=16)
        q = make_ptr(cutlass.Float32, places[1], cute.AddressSpace.gmem, assumed_align=16)
        if "--ptx" in sys.argv:
            made = cute.compile(host, p, q, spec, options="--keep-ptx --gpu-arch sm_90a")
            (Path(sys.argv[3]) / f"{number}.ptx").write_text(made.__ptx__)
            continue
        compiled = cute.compile(host, p, q, spec)
        if run:
            from cuda.bindings import driver

            compiled(p, q)
            print(json.dumps({"seed": spec["seed"], "error": int(driver.cuCtxSynchronize()[0])}), flush=True)


def buffers(size: int, other: int) -> tuple[int, int]:
    """Two allocations of exactly these sizes in bytes, with freed ones around and between them."""
    from cuda.bindings import driver

    assert driver.cuInit(0)[0] == 0
    assert driver.cuCtxSetCurrent(driver.cuDevicePrimaryCtxRetain(0)[1])[0] == 0
    made = [driver.cuMemAlloc(n)[1] for n in (SPACE, size, SPACE, other, SPACE)]
    for space in made[::2]:
        driver.cuMemFree(space)
    return int(made[1]), int(made[3])


if __name__ == "__main__":
    main()
