"""TMA copies under `if tidx == 0`, under `elect_one()` and in a whole warp, on a GPU: what LC263 says.

    python -m benchmarks.tma_election --out docs/evidence/tma_election.json

Loads, stores, and stores that add to what is there. One child process a variant, for those that hang. `right`
means that the tile was compared bit for bit; one that is added twice is not.
"""

import argparse
import datetime
import json
import os
import subprocess
import sys
import time
from importlib import metadata
from pathlib import Path

PLACES = {
    "warp": "if warp_idx == 0:",
    "tidx": "if tidx == 0:",
    "elect": "if warp_idx == 0: with elect_one():",
}
KINDS = ("load", "store", "reduce")
VARIANTS = [f"{kind} {place}" for kind in KINDS for place in PLACES]
SIDE, THREADS, LIMIT_SECONDS = 64, 128, 5.0


def kernel():
    """The host function; the DSL is imported in the child alone."""
    import cutlass
    from cutlass import cute
    from cutlass.cute.nvgpu import cpasync

    layout = (SIDE, SIDE), (SIDE, 1)
    each = SIDE * SIDE // THREADS

    @cute.kernel
    def load(atom: cute.CopyAtom, tensor: cute.Tensor, out: cute.Tensor, place: cutlass.Constexpr):
        tidx, _, _ = cute.arch.thread_idx()
        warp_idx = cute.arch.make_warp_uniform(cute.arch.warp_idx())
        smem = cutlass.memory.SmemAllocator()
        tile = smem.allocate_tensor(cutlass.Float16, cute.make_layout(layout[0], stride=layout[1]), 128)
        barrier = smem.allocate_array(cutlass.Int64, 1)
        if tidx == 0:
            cute.arch.mbarrier_init(barrier, 1)
            cute.arch.mbarrier_expect_tx(barrier, SIDE * SIDE * 2)
        cute.arch.mbarrier_init_fence()
        cute.arch.barrier()
        whole = cute.local_tile(tensor, layout[0], (0, 0))
        dst, src = cpasync.tma_partition(
            atom, 0, cute.make_layout(1), cute.group_modes(tile, 0, 2), cute.group_modes(whole, 0, 2)
        )
        if cutlass.const_expr(place == "tidx"):
            if tidx == 0:
                cute.copy(
                    atom, src, dst, tma_bar_ptr=barrier
                )  # layoutcheck: ignore[LC263] the mistake to show
        elif cutlass.const_expr(place == "elect"):
            if warp_idx == 0:
                with cute.arch.elect_one():
                    cute.copy(atom, src, dst, tma_bar_ptr=barrier)  # layoutcheck: ignore[LC263] shown too
        else:
            if warp_idx == 0:
                cute.copy(atom, src, dst, tma_bar_ptr=barrier)
        if tidx == 0:
            cute.arch.mbarrier_arrive(barrier)
        cute.arch.mbarrier_wait(barrier, 0)
        for i in cutlass.range(each):
            at = tidx * each + i
            out[at] = tile[at // SIDE, at % SIDE]

    @cute.kernel
    def store(atom: cute.CopyAtom, tensor: cute.Tensor, given: cute.Tensor, place: cutlass.Constexpr):
        tidx, _, _ = cute.arch.thread_idx()
        warp_idx = cute.arch.make_warp_uniform(cute.arch.warp_idx())
        smem = cutlass.memory.SmemAllocator()
        tile = smem.allocate_tensor(cutlass.Float16, cute.make_layout(layout[0], stride=layout[1]), 128)
        for i in cutlass.range(each):
            at = tidx * each + i
            tile[at // SIDE, at % SIDE] = given[at]
        cute.arch.fence_proxy("async.shared", space="cta")
        cute.arch.barrier()
        whole = cute.local_tile(tensor, layout[0], (0, 0))
        src, dst = cpasync.tma_partition(
            atom, 0, cute.make_layout(1), cute.group_modes(tile, 0, 2), cute.group_modes(whole, 0, 2)
        )
        if cutlass.const_expr(place == "tidx"):
            if tidx == 0:
                cute.copy(atom, src, dst)
        elif cutlass.const_expr(place == "elect"):
            if warp_idx == 0:
                with cute.arch.elect_one():
                    cute.copy(atom, src, dst)
        else:
            if warp_idx == 0:
                cute.copy(atom, src, dst)
        cute.arch.cp_async_bulk_commit_group()
        cute.arch.cp_async_bulk_wait_group(0)

    @cute.jit
    def host(x: cute.Pointer, y: cute.Pointer, variant: cutlass.Constexpr):
        kind, place = variant.split(" ")
        mapped, plain = (x, y) if cutlass.const_expr(kind == "load") else (y, x)
        tensor = cute.make_tensor(mapped, cute.make_layout(layout[0], stride=layout[1]))
        if cutlass.const_expr(kind == "load"):
            op = cpasync.CopyBulkTensorTileG2SOp()
        elif cutlass.const_expr(kind == "store"):
            op = cpasync.CopyBulkTensorTileS2GOp()
        else:
            op = cpasync.CopyReduceBulkTensorTileS2GOp()
        smem = cute.make_layout(layout[0], stride=layout[1])
        atom, coords = cpasync.make_tiled_tma_atom(op, tensor, smem, layout[0])
        flat = cute.make_tensor(plain, cute.make_layout(SIDE * SIDE))
        if cutlass.const_expr(kind == "load"):
            load(atom, coords, flat, place).launch(grid=(1, 1, 1), block=(THREADS, 1, 1))
        else:
            store(atom, coords, flat, place).launch(grid=(1, 1, 1), block=(THREADS, 1, 1))

    return host


def child(variant: str) -> dict:
    """One run: "right", "wrong", an error's name, or "hangs"."""
    import cutlass
    import numpy as np
    from cuda.bindings import driver as cuda
    from cutlass import cute
    from cutlass.cute.runtime import make_ptr

    def ok(result):
        assert int(result[0]) == 0, result[0]
        return result[1] if len(result) == 2 else result[1:]

    ok(cuda.cuInit(0))
    device = ok(cuda.cuDeviceGet(0))
    ok(cuda.cuCtxSetCurrent(ok(cuda.cuDevicePrimaryCtxRetain(device))))
    name = ok(cuda.cuDeviceGetName(128, device)).split(b"\0")[0].decode()
    found = {"device": name, "driver": ok(cuda.cuDriverGetVersion())}
    given, got = np.arange(SIDE * SIDE, dtype=np.uint16), np.zeros(SIDE * SIDE, np.uint16)
    x, y = ok(cuda.cuMemAlloc(given.nbytes)), ok(cuda.cuMemAlloc(got.nbytes))
    ok(cuda.cuMemcpyHtoD(x, given.ctypes.data, given.nbytes))
    ok(cuda.cuMemsetD8(y, 0 if variant.startswith("reduce") else 0xFF, got.nbytes))
    pointers = [make_ptr(cutlass.Float16, int(at), cute.AddressSpace.gmem, assumed_align=16) for at in (x, y)]
    compiled = cute.compile(kernel(), *pointers, variant)
    compiled(*pointers)
    began = time.monotonic()
    while int(status := cuda.cuStreamQuery(0)[0]) == int(cuda.CUresult.CUDA_ERROR_NOT_READY):
        if time.monotonic() - began > LIMIT_SECONDS:
            return {**found, "outcome": "hangs", "waited_s": LIMIT_SECONDS}
        time.sleep(0.01)
    if int(status):
        return {**found, "outcome": status.name}
    ok(cuda.cuMemcpyDtoH(got.ctypes.data, y, got.nbytes))
    return {**found, "outcome": "right" if (got == given).all() else "wrong"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--child", choices=VARIANTS)
    options = parser.parse_args()
    if options.child:
        print(json.dumps(child(options.child)), flush=True)
        os._exit(0)  # a context with a kernel that hangs is never left any other way
    command = [sys.executable, "-m", "benchmarks.tma_election", "--out", str(options.out), "--child"]
    rows = []
    for variant in VARIANTS:
        run = subprocess.run([*command, variant], capture_output=True, text=True, timeout=120, check=True)
        kind, place = variant.split(" ")
        shown = {"variant": variant, "kind": kind, "condition": PLACES[place]}
        rows.append({**shown, **json.loads(run.stdout.splitlines()[-1])})
    made = {
        "date": datetime.datetime.now(datetime.timezone.utc).date().isoformat(),
        "command": "python -m benchmarks.tma_election --out docs/evidence/tma_election.json",
        "dsl": metadata.version("nvidia-cutlass-dsl"),
        "device": rows[0].pop("device"),
        "driver": rows[0].pop("driver"),
        "runs": [{key: row[key] for key in row if key not in ("device", "driver")} for row in rows],
    }
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps(made, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(made))


if __name__ == "__main__":
    main()
