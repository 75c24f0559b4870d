"""Exchanges between register layouts, and advised copies, on a GPU: their bits, counters and times.

    python -m benchmarks.synthesis_exchange OUT

needs torch, the DSL, a GPU and ncu. Each exchange of Triton's own pairs, and of extents that are no powers
of two, moves random tiles: what comes out is compared bit by bit, its wavefronts are counted. Then kernels
with a slow copy into shared memory are read by `layoutcheck trace --advise`; the proven edit takes the copy's
place, and both kernels are compared and timed. Writes OUT/synthesis_exchange.json.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path
from typing import Any

import layoutcheck as lc
from benchmarks.evidence import head, write
from benchmarks.synthesis_counters import METRICS, counters
from layoutcheck.algebra.inttuple import product
from layoutcheck.fixes.code import dtype_code, layout_code
from layoutcheck.machine.arch import WARP
from layoutcheck.machine.dtypes import dtype
from layoutcheck.synthesis.exchange import Exchange
from layoutcheck.tracing import Script, advised, traced
from tests.synthesis.test_exchange import TYPES
from tests.synthesis.triton_pairs import PAIRS, layout_tv

BLOCKS = 4096
ROUNDS = 11
ODD = (
    ((48, 96), "((48,4),24):((1,1152),48)", "((96,2),24):((48,24),1)", "f32"),
    ((112, 64), "((16,8),(7,8)):((7,896),(1,112))", "((64,2),56):((112,56),1)", "bf16"),
    ((192, 48), "((96,3),(2,16)):((1,3072),(96,192))", "((48,6),32):((192,32),1)", "f32"),
)


def exchanges() -> list[tuple[str, tuple[int, int], Any, Any, str]]:
    """A name, the tile, both sides' registers and the element type; torch has no 4-bit ones."""
    found: list[tuple[str, tuple[int, int], Any, Any, str]] = []
    for name, tile, bits, src, dst in PAIRS:
        if bits >= 8:
            found.append((name, tile, layout_tv(src, tile[0]), layout_tv(dst, tile[0]), TYPES[bits]))
    return [*found, *((f"{tile[0]} x {tile[1]}", tile, src, dst, kind) for tile, src, dst, kind in ODD)]


def exchange_program(found: Exchange, name: str) -> str:
    """Each block takes a tile in the writer's registers, exchanges it and writes the reader's."""
    sizes = [tuple(product(mode.shape) for mode in side.tv.modes) for side in (found.write, found.read)]
    (threads, values), (readers, taken) = sizes
    assert threads == readers and threads % WARP == 0, (threads, readers)
    kind = dtype_code(found.element)
    body = textwrap.indent(found.code, "    ")
    return f"""import cutlass
from cutlass import cute


@cute.kernel
def {name}(src: cute.Tensor, out: cute.Tensor):
    tidx, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    allocator = cutlass.memory.SmemAllocator()
    source, target = {layout_code(found.write.tv)}, {layout_code(found.read.tv)}
    held = cute.make_rmem_tensor(({values},), {kind})
    given = cute.make_rmem_tensor(({taken},), {kind})
    for n in cutlass.range_constexpr({values}):
        held[n] = src[source((tidx, n)), block]
{body}
    for n in cutlass.range_constexpr({taken}):
        out[target((tidx, n)), block] = given[n]


@cute.jit
def launch(src: cute.Tensor, out: cute.Tensor, stream):
    {name}(src, out).launch(grid=({BLOCKS}, 1, 1), block=({threads}, 1, 1), stream=stream)
"""


def run_exchanges(folder: Path, profile: bool) -> list[dict[str, Any]]:
    """Each exchange: elements that differ."""
    import torch
    from cuda.bindings.driver import CUstream
    from cutlass import cute
    from cutlass.cute.runtime import from_dlpack

    from tests.synthesis.compile_programs import module_of

    rows = []
    stream = CUstream(torch.cuda.current_stream().cuda_stream)
    for n, (title, tile, src_tv, dst_tv, kind) in enumerate(exchanges()):
        found = lc.exchange(tile, src_tv, dst_tv, kind)
        name = f"plan_{n:03d}"
        bits = {8: torch.uint8, 16: torch.int16, 32: torch.int32}[dtype(kind).bits]
        src = torch.randint(0, 120, (BLOCKS, tile[0] * tile[1]), device="cuda").to(bits)
        out = torch.zeros_like(src)
        row: dict[str, Any] = {
            "name": name, "exchange": title, "dtype": kind,
            "layout": str(found.layout), "swizzle": str(found.swizzle),
            "predicted": {
                f"{'matrix' if found.write.matrix else 'shared'}_store": found.write.wavefronts * BLOCKS,
                f"{'matrix' if found.read.matrix else 'shared'}_load": found.read.wavefronts * BLOCKS,
            },
            "width_bits": [found.write.width_bits, found.read.width_bits],
        }  # fmt: skip
        try:
            code = exchange_program(found, name).replace(
                dtype_code(dtype(kind)),
                {8: "cutlass.Uint8", 16: "cutlass.Int16", 32: "cutlass.Int32"}[dtype(kind).bits],
            )
            module = module_of(code, folder, name)
            given = [from_dlpack(one.t(), assumed_align=16) for one in (src, out)]
            function = cute.compile(module.launch, *given, stream)
            if profile:
                torch.cuda.profiler.start()
            function(*given, stream)
            torch.cuda.synchronize()
            if profile:
                torch.cuda.profiler.stop()
            row["wrong"] = int((src != out).sum())
        except Exception as error:  # the DSL and CUDA raise all sorts; every one is told
            row["failed"] = f"{type(error).__name__}: {error}"[:600]
        rows.append(row)
        print(title, row.get("failed") or f"wrong {row['wrong']}", flush=True)
    return rows


SLOW = {
    "elements one by one, transposed": (
        "bf16", "(?{div=8},?):(1,?{div=8})", "cute.make_layout((128, 64), stride=(64, 1))",
        "cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), cutlass.BFloat16, num_bits_per_copy=16)",
        "cute.make_layout((128, 1)), cute.make_layout((1, 1))",
    ),
    "32 bits, neighbours in different rows": (
        "f32", "(?,?{div=8}):(?{div=8},1)", "cute.make_layout((128, 64), stride=(64, 1))",
        "cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), cutlass.Float32, num_bits_per_copy=32)",
        "cute.make_layout((128, 1)), cute.make_layout((1, 1))",
    ),
}  # fmt: skip


def slow_program(case: str) -> str:
    """A kernel that copies tile after tile."""
    kind, text, layout, atom, split = SLOW[case]
    fast, name = 1 if text.endswith(",1)") else 0, dtype_code(dtype(kind))
    stride = (
        ("1", "cute.assume(src.stride[1], divby=8)")
        if fast == 0
        else ("cute.assume(src.stride[0], divby=8)", "1")
    )
    copy = (
        "cute.copy(atom, threads.partition_S(tiles[None, None, k]), threads.partition_D(dst))\n"
        "cute.arch.cp_async_commit_group()\ncute.arch.cp_async_wait_group(0)"
    )
    allocation = f"dst = allocator.allocate_tensor({name}, {layout}, byte_alignment=128)"
    return f"""import cutlass
from cutlass import cute


@cute.kernel
def kernel(whole: cute.Tensor, out: cute.Tensor, keep: cutlass.Int32):
    tidx, _, _ = cute.arch.thread_idx()
    row, _, _ = cute.arch.block_idx()
    tiles = cute.local_tile(whole, (128, 64), (row, None))
    results = cute.local_tile(out, (128, 64), (row, None))
    allocator = cutlass.memory.SmemAllocator()
{textwrap.indent(allocation, "    ")}
    atom = {atom}
    threads = cute.make_tiled_copy_tv(atom, {split}).get_slice(tidx)
    for k in cutlass.range(cute.size(tiles, mode=[2])):
{textwrap.indent(copy, "        ")}
        cute.arch.sync_threads()
        if keep != 0:
            result = results[None, None, k]
            for i in cutlass.range(tidx, 128 * 64, 128):
                result[i] = dst[i]
        cute.arch.sync_threads()


@cute.jit
def launch(src: cute.Tensor, out: cute.Tensor, stream, keep: cutlass.Int32):
    src = cute.make_tensor(src.iterator, cute.make_layout(src.shape, stride=({", ".join(stride)})))
    kernel(src, out, keep).launch(
        grid=(cute.ceil_div(cute.size(src, mode=[0]), 128), 1, 1), block=(128, 1, 1), stream=stream
    )
"""


def advice(case: str, folder: Path) -> tuple[str, str]:
    """What `layoutcheck trace --advise` says of the kernel, and the kernel with the edit that it proves."""
    kind, text, *_ = SLOW[case]
    name = dtype_code(dtype(kind)).partition(".")[2]
    strides = (
        "(1, cute.sym_int64(divisibility=8))"
        if text.startswith("(?{")
        else "(cute.sym_int64(divisibility=8), 1)"
    )
    tail = f"""

if __name__ == "__main__":
    from cutlass.cute.runtime import make_fake_stream, make_fake_tensor

    shape = cute.sym_int32(), cute.sym_int32()
    tensors = [make_fake_tensor(cutlass.{name}, shape, {strides}, assumed_align=16) for _ in range(2)]
    cute.compile(launch, *tensors, make_fake_stream(), cutlass.Int32(0))
"""
    file = folder / f"slow{list(SLOW).index(case)}.py"
    file.write_text(slow_program(case) + tail, encoding="utf-8")
    script = Script(str(file), launch=False, arch="sm_90a")
    [found] = advised(traced(script), script).told
    if found.written is None:
        raise RuntimeError(f"no advice: {found.why}")
    return found.best.title, found.written.files.after[str(file.resolve())]


def run_advice(folder: Path) -> list[dict[str, Any]]:
    """Each slow kernel and the advised one: elements that differ, microseconds of both."""
    import cutlass
    import torch
    from cuda.bindings.driver import CUstream
    from cutlass import cute
    from cutlass.cute.runtime import from_dlpack

    from tests.synthesis.compile_programs import module_of

    rows = []
    stream = CUstream(torch.cuda.current_stream().cuda_stream)
    for n, (case, (kind, text, *_)) in enumerate(SLOW.items()):
        said, mended = advice(case, folder)
        bits = {16: torch.int16, 32: torch.int32}[dtype(kind).bits]
        src = torch.randint(0, 30000, (1 << 18, 1024), device="cuda").to(bits)
        if text.startswith("(?{"):
            src = src.reshape(1024, 1 << 18).t()
        row: dict[str, Any] = {"case": case, "advice": said, "program": mended, "us": {}}
        for which, code in (("given", slow_program(case)), ("advised", mended)):
            out = torch.zeros_like(src)
            fast = 0 if src.stride(0) == 1 else 1
            given = [
                from_dlpack(one, assumed_align=16).mark_layout_dynamic(leading_dim=fast) for one in (src, out)
            ]
            for one in given:
                one.element_type = getattr(cutlass, dtype_code(dtype(kind)).partition(".")[2])
            module = module_of(code, folder, f"advice_{n}_{which}")
            function = cute.compile(module.launch, *given, stream, cutlass.Int32(0))
            function(*given, stream, cutlass.Int32(1))
            torch.cuda.synchronize()
            row[f"{which}_wrong"] = int((src != out).sum())
            times = []
            for _ in range(ROUNDS):
                begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
                function(*given, stream, cutlass.Int32(0))
                begin.record()
                for _ in range(3):
                    function(*given, stream, cutlass.Int32(0))
                end.record()
                torch.cuda.synchronize()
                times.append(begin.elapsed_time(end) * 1000 / 3)
            row["us"][which] = round(statistics.median(times), 1)
        row["faster"] = round(row["us"]["given"] / row["us"]["advised"], 2)
        rows.append(row)
    return rows


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("out", type=Path)
    options.add_argument("--profile", action="store_true")
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if given.profile:
            run_exchanges(Path(folder), True)
            return
        rows = run_exchanges(Path(folder), False)
        try:
            advised = run_advice(Path(folder))
        except Exception as error:  # what the exchanges showed is kept
            advised = [{"failed": f"{type(error).__name__}: {error}"[:2000]}]
    ncu = [
        "ncu", "--clock-control", "none", "--profile-from-start", "off", "--csv", "--page", "raw",
        "--metrics", ",".join(METRICS[x] for x in METRICS if x.endswith(("_load", "_store"))),
        sys.executable, "-m", "benchmarks.synthesis_exchange", str(given.out), "--profile",
    ]  # fmt: skip
    done = subprocess.run(ncu, capture_output=True, text=True, check=False)
    counted = counters(done.stdout)
    if not counted:
        print(f"ncu counted nothing: {done.stdout[-1000:]} {done.stderr[-1000:]}", flush=True)
    for row in rows:
        row["counted"] = counted.get(row["name"])
        equal = row["counted"] is not None and all(
            row["counted"].get(k) == v for k, v in row["predicted"].items()
        )
        row["as_predicted"] = equal
        print(row["exchange"], row.get("failed") or f"wrong {row['wrong']}", row["predicted"], row["counted"])
    for row in advised:
        print({k: v for k, v in row.items() if k != "program"})
    write(
        {**head("benchmarks.synthesis_exchange", "torch"), "exchanges": rows, "advised": advised},
        given.out / "synthesis_exchange.json",
    )
    right = sum(row.get("wrong") == 0 for row in rows)
    print(
        f"{right} of {len(rows)} exchanges right, {sum(r['as_predicted'] for r in rows)} counted as predicted"
    )


if __name__ == "__main__":
    main()
