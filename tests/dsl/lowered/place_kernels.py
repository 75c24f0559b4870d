"""The kernels of `places`, compiled.

python -m tests.dsl.lowered.place_kernels SPECS.json           # compiles them all (what a trace watches)
python -m tests.dsl.lowered.place_kernels SPECS.json --ptx OUT # writes the PTX of number n to OUT/n.ptx
"""

import json
import sys
from pathlib import Path

import cutlass
from cutlass import cute
from cutlass.cute.runtime import make_ptr

from tests.dsl.lowered.places import BASE, OTHER, THREADS, shared_bytes, strides


@cute.jit
def allowed(c, spec: cutlass.Constexpr, which: cutlass.Constexpr):
    ok = c[0] == c[0]
    for coordinate, comparison, mode in spec[which]:
        at, limit = c[coordinate], spec["shape"][mode]
        if cutlass.const_expr(comparison == "less"):
            ok = ok and at < limit
        elif cutlass.const_expr(comparison == "equal"):
            ok = ok and at <= limit
        elif cutlass.const_expr(comparison == "more"):
            ok = ok and at < limit + 1
        elif cutlass.const_expr(comparison == "fewer"):
            ok = ok and at < max(limit - 1, 1)  # what is never stored is not loaded either
        else:
            ok = ok and at >= 0
    return ok


@cute.jit
def tile(x, y, s, k, turn, spec: cutlass.Constexpr):
    t, (_, by, bz) = cute.arch.thread_idx()[0], cute.arch.block_idx()
    columns = spec["columns"]
    at = (bz, by * (THREADS // columns) + t // columns, k * columns + t % columns)
    moved = tuple(a + d for a, d in zip(at, spec["offset"], strict=True))
    c = moved if cutlass.const_expr(spec["moved"]) else at
    value = cutlass.Float32(0.0)
    if allowed(c, spec, "load"):
        if cutlass.const_expr(spec["vector"] == 1):
            value = x[moved]
        else:
            start = cute.crd2idx(moved, x.layout)
            run = cute.make_tensor(x.iterator + start, cute.make_layout(spec["vector"]))
            for i in cutlass.range_constexpr(spec["vector"]):
                value += run[i]
    if cutlass.const_expr(spec["stages"] > 0):
        stage = turn % spec["kept"]
        s[stage * THREADS + t + spec["shift"]] = value
        cute.arch.sync_threads()
        value = value + s[stage * THREADS + (THREADS - 1 - t)]
        cute.arch.sync_threads()
    if allowed(at, spec, "store"):
        y[at] = value


@cute.kernel
def kernel(x: cute.Tensor, y: cute.Tensor, spec: cutlass.Constexpr):
    bx = cute.arch.block_idx()[0]
    tiles, blocks = spec["tiles"], spec["grid"][2]
    s = None
    if cutlass.const_expr(spec["stages"] > 0):
        size = shared_bytes(spec) // 4
        s = cutlass.memory.SmemAllocator().allocate_tensor(cutlass.Float32, cute.make_layout(size), 16)
    if cutlass.const_expr(spec["turns"] == "none"):
        tile(x, y, s, bx, bx, spec)
    elif cutlass.const_expr(spec["turns"] == "strided"):
        turn = cutlass.Int32(0)
        for k in cutlass.range(bx, tiles, blocks, unroll=1):
            tile(x, y, s, k, turn, spec)
            turn = turn + 1
    elif cutlass.const_expr(spec["turns"] == "split"):
        each = -(-tiles // blocks)
        for turn in cutlass.range(0, each, unroll=1):
            tile(x, y, s, bx * each + turn, turn, spec)
    else:
        for turn in cutlass.range(0, tiles, unroll=1):
            tile(x, y, s, tiles - 1 - turn, turn, spec)


@cute.jit
def host(p: cute.Pointer, q: cute.Pointer, spec: cutlass.Constexpr):
    shape, (gz, gy, gx) = tuple(spec["shape"]), spec["grid"]
    x, y = (
        cute.make_tensor(one, cute.make_layout(shape, stride=tuple(strides(spec, i))))
        for i, one in enumerate((p, q))
    )
    kernel(x, y, spec).launch(grid=(gx, gy, gz), block=(THREADS, 1, 1))


def main() -> None:
    """Compile all."""
    for number, spec in enumerate(json.loads(Path(sys.argv[1]).read_text())):
        p, q = (
            make_ptr(cutlass.Float32, place, cute.AddressSpace.gmem, assumed_align=16)
            for place in (BASE, OTHER)
        )
        if "--ptx" in sys.argv:
            made = cute.compile(host, p, q, spec, options="--keep-ptx --gpu-arch sm_90a")
            (Path(sys.argv[3]) / f"{number}.ptx").write_text(made.__ptx__)
        else:
            cute.compile(host, p, q, spec)


if __name__ == "__main__":
    main()
