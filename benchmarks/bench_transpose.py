"""Check and time every transpose of kernels/ on the GPU, beside the plain device copy and its peers.

    python -m benchmarks.bench_transpose --out transpose.json [--stages check,variants,sweep,pitches,peers]

`check` compares bit for bit (random bit patterns, NaN payloads among them; output poisoned with the
complement of the right answer, guard zones around it). Timing: CUDA graphs that rotate over buffer sets
larger than the L2 together, contestants interleaved round by round, medians. GB/s counts bytes read plus
bytes written. A table is printed last.
"""

from __future__ import annotations

import argparse
import ctypes
import datetime
import json
import os
import platform
import random
import shlex
import statistics
import subprocess
import sys
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import cutlass
import torch
from cuda.bindings.driver import CUstream
from cutlass.cute.runtime import from_dlpack

from kernels.transpose import VARIANTS, fastest
from kernels.transpose.common import EVICT_LAST, Kernel
from kernels.transpose.exchange import Exchange, build_exchange
from kernels.transpose.ldmatrix import Lines, build_swizzled
from kernels.transpose.registers import Plan, build_registers
from kernels.transpose.tma import build_tma

SIZES = [(n, n) for n in (1024, 2048, 3072, 4096, 8192, 16384, 24576, 32768)]
RECTANGLES = [(4096, 32768), (32768, 4096), (1024, 65536), (65536, 1024), (8192, 28672), (5000, 12344)]
HINTS = [
    ("plain", "plain"),
    ("no_allocate", "streaming"),
    ("evict_last", "plain"),
    ("evict_last", "streaming"),
]
SWEEP = [(n, n) for n in (1024, 2048, 4096, 8192, 16384, 32768)]
ODD = [(8191, 8193), (16383, 16385)]
ROTATE_BYTES = 256 << 20
GUARD = 64

DIRECT_BYTES = 128 << 20
"""Traffic of one launch from which on launches are queued rather than replayed."""

Launch = Callable[[], None]


def environment() -> dict[str, Any]:
    """Where and how the numbers came about."""
    query = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
    name, driver = (
        subprocess.run(query, capture_output=True, text=True, check=True).stdout.strip().split(", ")
    )
    versions = {"cutlass_dsl": cutlass.__version__, "torch": torch.__version__, "cuda": torch.version.cuda}
    try:
        import triton

        versions["triton"] = triton.__version__
    except ImportError:
        pass
    return {
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "device": name,
        "driver": driver,
        "python": platform.python_version(),
        "versions": versions,
        "command": "python -m benchmarks.bench_transpose " + shlex.join(sys.argv[1:]),
    }


# ---- buffers and launches


def random_bits(
    m: int, n: int, dtype: torch.dtype = torch.bfloat16, pitch: int | None = None
) -> torch.Tensor:
    """An (m, n) tensor of random bit patterns, rows `pitch` elements apart."""
    whole = torch.empty((m, pitch or n), dtype=bits_of(dtype), device="cuda")
    whole.random_(torch.iinfo(whole.dtype).min, torch.iinfo(whole.dtype).max)
    return whole[:, :n].view(dtype)


def bits_of(dtype: torch.dtype) -> torch.dtype:
    return torch.int32 if dtype == torch.float32 else torch.int16


def stream() -> CUstream:
    return CUstream(torch.cuda.current_stream().cuda_stream)


def as_cute(t: torch.Tensor) -> Any:
    return from_dlpack(t, assumed_align=16).mark_layout_dynamic(leading_dim=1)


class Compiled:
    """A kernel of kernels/, compiled at its first launch."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel, self.function = kernel, None

    def launch(self, x: torch.Tensor, y: torch.Tensor) -> Launch:
        args = as_cute(x), as_cute(y)
        if self.function is None:
            import cutlass.cute as cute

            self.function = cute.compile(self.kernel.host, *args, stream())
        return lambda: self.function(*args, stream())


def fastest_launch(x: torch.Tensor, y: torch.Tensor) -> Launch:
    return lambda: fastest.transpose(x, y, torch.cuda.current_stream().cuda_stream)


# ---- correctness


def wrong_elements(
    run: Callable[[torch.Tensor, torch.Tensor], Launch], x: torch.Tensor, pitch: int | None = None
) -> int:
    """Elements of the output, guard zones included, that differ from `x` transposed."""
    m, n = x.shape
    pitch = pitch or m
    bits = bits_of(x.dtype)
    right = torch.full((GUARD + n * pitch + GUARD,), 0x5A5A, dtype=bits, device="cuda")
    inside = right[GUARD : GUARD + n * pitch].view(n, pitch)[:, :m]
    inside.copy_(x.view(bits).t())
    y = right.clone()
    out = y[GUARD : GUARD + n * pitch].view(n, pitch)[:, :m]
    out.copy_(~inside)
    run(x, out.view(x.dtype))()
    torch.cuda.synchronize()
    return int((y != right).sum())


def check_variants() -> dict[str, Any]:
    """Each variant once: `rejected`, or how many elements it gets wrong."""
    m, n = 5 * 64, 3 * 128
    found: dict[str, Any] = {}
    for name, variant in VARIANTS.items():
        about = {"expected": variant.verdict, "note": variant.note}
        if name == "broken_at_run_time":
            found[name] = {**about, **run_in_child()}
            continue
        dtype = torch.float32 if name == "fp32_elementwise" else torch.bfloat16
        kernel = Compiled(variant.builder())
        try:
            wrong = [wrong_elements(kernel.launch, random_bits(m, n, dtype, p)) for p in (n, n + 64)]
        except Exception as error:
            found[name] = {**about, "rejected": plain(error)}
            continue
        found[name] = {**about, "elements": m * n, "wrong_elements": wrong}
        if name == "broken_silently":
            found[name]["corrupts_as_predicted"] = corrupts_as_predicted(kernel)
    return found


def corrupts_as_predicted(kernel: Compiled) -> bool:
    """One cp.async puts 8 elements of a row of x side by side in a row of y, where only the first belongs."""
    m, n = 5 * 64, 3 * 128
    x, y = random_bits(m, n), torch.empty((n, m), dtype=torch.bfloat16, device="cuda")
    kernel.launch(x, y)()
    torch.cuda.synchronize()
    xt = x.view(torch.int16).t()
    # y[8a, 8b + i] = xt[8a + i, 8b]
    predicted = xt[:, ::8].reshape(n // 8, 8, m // 8).permute(0, 2, 1).reshape(n // 8, m)
    return bool((y.view(torch.int16)[::8] == predicted).all())


def run_in_child() -> dict[str, Any]:
    """A fault ends the CUDA context, so the variant that faults gets a process of its own."""
    args = [sys.executable, "-m", "benchmarks.bench_transpose", "--stages", "fault"]
    child = subprocess.run(args, capture_output=True, text=True, timeout=120, check=False)
    lines = [
        line
        for line in (child.stdout + child.stderr).splitlines()
        if "isaligned" in line or "MISALIGNED" in line
    ]
    return {"exit": child.returncode, "fault": lines[-1][:200] if lines else child.stderr[-400:]}


def fault() -> None:
    x = random_bits(5 * 64, 3 * 128)
    print(wrong_elements(Compiled(VARIANTS["broken_at_run_time"].builder()).launch, x))


def check_shapes(run: Callable[[torch.Tensor, torch.Tensor], Launch]) -> list[dict[str, Any]]:
    """`fastest` over tails, odd sizes, strided and misaligned inputs and padded outputs."""
    found = []
    extents = [1, 2, 7, 8, 9, 63, 64, 65, 127, 128, 136, 200, 257, 1000, 1031]
    cases = [(m, n, n, m, 0) for m, n in product(extents, extents)]
    cases += [
        (m, n, n + 8 - n % 8 + 40, m + 8 - m % 8, 0) for m, n in product((5, 64, 129, 1031), (3, 72, 1001))
    ]
    cases += [(m, n, n + 3, m + 5, 1) for m, n in product((64, 129), (72, 1001))]
    cases += [(4096, 4100, 4100, 4096, 0), (4100, 4096, 4096, 4100, 0), (4104, 4096, 4160, 4104, 8)]
    cases += [
        (2, 4_200_000, 4_200_000, 2, 0),
        (8, 4_200_008, 4_200_008, 8, 0),
        (4_200_008, 8, 8, 4_200_008, 0),
    ]
    for m, n, pitch, out_pitch, skip in cases:
        x = random_bits(m, n + skip, pitch=pitch + skip)[:, skip:]
        found.append({"m": m, "n": n, "ld": pitch + skip, "ld_out": out_pitch, "skip": skip})
        found[-1]["wrong_elements"] = wrong_elements(run, x, out_pitch)
    for m, n in ((200, 264), (129, 77)):
        found.append({"m": m, "n": n, "input": "x.t()"})
        found[-1]["wrong_elements"] = wrong_elements(run, random_bits(n, m).t())
    for m, n in ((200, 264), (129, 77)):
        found.append({"m": m, "n": n, "input": "x[::2, ::2]"})
        found[-1]["wrong_elements"] = wrong_elements(run, random_bits(2 * m, 2 * n)[::2, ::2])
    return found


def plain(error: BaseException) -> str:
    """The verifier's own sentence out of the DSL's coloured message."""
    import re

    text = " ".join(re.sub(r"\x1b\[[0-9;]*m", "", str(error)).split())
    found = re.search(r"'cute\.copy' op .*?'!\S[^']*'", text)
    return found.group(0) if found else text[:300]


# ---- timing


def rotate(m: int, n: int, dtype: torch.dtype) -> list[tuple[torch.Tensor, torch.Tensor]]:
    """Buffer sets that together exceed the L2 several times."""
    one = 2 * m * n * torch.empty((), dtype=dtype).element_size()
    sets = max(2, -(-ROTATE_BYTES // one))
    return [(random_bits(m, n, dtype), torch.empty((n, m), dtype=dtype, device="cuda")) for _ in range(sets)]


def capture(launches: list[Launch]) -> torch.cuda.CUDAGraph:
    """One graph of all the launches, warmed up."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for launch in launches:
            launch()
    torch.cuda.current_stream().wait_stream(side)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for launch in launches:
            launch()
    return graph


def time_us(contestants: dict[str, list[Launch]], rounds: int, direct: bool) -> dict[str, list[float]]:
    """Microseconds a launch of each contestant, one sample a round, contestants in random order.

    Each sample follows an untimed launch of the same contestant, which leaves the L2 as a run of its own
    would: otherwise a kernel pays for the write-back of its predecessor's last 50 MB.

    `direct` launches are queued one by one, for kernels so long that the queue never runs dry; short ones are
    replayed as a graph. (A graph with one large memcpy node copies at two thirds of the speed of the queued
    memcpy.)
    """
    runs = {
        name: queue(launches) if direct else capture(launches).replay
        for name, launches in contestants.items()
    }
    samples: dict[str, list[float]] = {name: [] for name in runs}
    order = list(runs)
    for _ in range(rounds + 1):
        random.shuffle(order)
        events = {}
        for name in order:
            begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            contestants[name][-1]() if direct else runs[name]()
            begin.record()
            runs[name]()
            end.record()
            events[name] = begin, end
        torch.cuda.synchronize()
        for name, (begin, end) in events.items():
            samples[name].append(1000 * begin.elapsed_time(end) / len(contestants[name]))
    return {name: values[1:] for name, values in samples.items()}


def queue(launches: list[Launch]) -> Launch:
    def run() -> None:
        for launch in launches:
            launch()

    return run


def rows_of(
    samples: dict[str, list[float]], m: int, n: int, element_bytes: dict[str, int]
) -> list[dict[str, Any]]:
    """A JSON row a contestant."""
    rows = []
    for name, us in samples.items():
        tenth = statistics.quantiles(us, n=10)
        median = statistics.median(us)
        moved = 2 * m * n * element_bytes.get(name, 2)
        row = {
            "name": name,
            "m": m,
            "n": n,
            "us": median,
            "us_p10": tenth[0],
            "us_p90": tenth[-1],
            "runs": len(us),
        }
        rows.append({**row, "gb_per_s": moved / median / 1e3})
    return rows


def time_variants(m: int, n: int, rounds: int) -> list[dict[str, Any]]:
    """Every variant that runs, beside the copy."""
    sets, floats = rotate(m, n, torch.bfloat16), rotate(m, n, torch.float32)
    contestants: dict[str, list[Launch]] = {"copy": [copy_launch(x, y) for x, y in sets]}
    for name, variant in VARIANTS.items():
        if variant.verdict in ("legal", "slow"):
            kernel = Compiled(variant.builder())
            contestants[name] = [
                kernel.launch(x, y) for x, y in (floats if name == "fp32_elementwise" else sets)
            ]
    return rows_of(time_us(contestants, rounds, 4 * m * n >= DIRECT_BYTES), m, n, {"fp32_elementwise": 4})


# ---- peers


def copy_launch(x: torch.Tensor, y: torch.Tensor) -> Launch:
    return lambda: y.view(-1).copy_(x.view(-1))


def not_launch(x: torch.Tensor, y: torch.Tensor) -> Launch:
    """The second ceiling: a vectorised kernel that reads and writes the same bytes in order."""
    a, b = x.view(torch.int16).view(-1), y.view(torch.int16).view(-1)
    return lambda: torch.bitwise_not(a, out=b)


def torch_launch(x: torch.Tensor, y: torch.Tensor) -> Launch:
    return lambda: y.copy_(x.t())


def compiled_launches(sets: list[tuple[torch.Tensor, torch.Tensor]]) -> list[Launch]:
    torch._dynamo.reset()

    @torch.compile(dynamic=False)
    def function(x: torch.Tensor, y: torch.Tensor) -> None:
        y.copy_(x.t())

    return [lambda x=x, y=y: function(x, y) for x, y in sets]


def triton_launches() -> dict[str, Callable[[torch.Tensor, torch.Tensor], Launch]]:
    """A tiled Triton transpose in every tiling worth trying."""
    from benchmarks.triton_transpose import transpose

    tilings = [(32, 32, 2), (32, 64, 4), (64, 32, 4), (64, 64, 4), (64, 64, 8), (64, 128, 4), (64, 128, 8)]
    tilings += [(128, 64, 4), (128, 64, 8), (128, 128, 4), (128, 128, 8), (32, 128, 4), (128, 32, 4)]
    return {
        f"triton {bm}x{bn} warps={warps} group={group}": lambda x, y, a=(bm, bn, warps, group): (
            lambda: transpose(x, y, *a)
        )
        for (bm, bn, warps), group in product(tilings, (1, 8))
    }


class Geam:
    """cuBLAS sgeam through ctypes: the only out-of-place transpose cuBLAS has, float32."""

    def __init__(self) -> None:
        torch.ones((8, 8), device="cuda") @ torch.ones((8, 8), device="cuda")
        loaded = {
            line.split()[-1]
            for line in Path("/proc/self/maps").read_text().splitlines()
            if "libcublas.so" in line
        }
        self.blas = ctypes.CDLL(loaded.pop())
        self.handle = ctypes.c_void_p()
        self.call(self.blas.cublasCreate_v2(ctypes.byref(self.handle)))
        self.one, self.zero = ctypes.c_float(1), ctypes.c_float(0)

    @staticmethod
    def call(status: int) -> None:
        if status:
            raise RuntimeError(f"cuBLAS status {status}")

    def launch(self, x: torch.Tensor, y: torch.Tensor) -> Launch:
        m, n = x.shape
        address = ctypes.c_void_p
        a, c = address(x.data_ptr()), address(y.data_ptr())

        def run() -> None:
            self.call(
                self.blas.cublasSetStream_v2(self.handle, address(torch.cuda.current_stream().cuda_stream))
            )
            one, zero = ctypes.byref(self.one), ctypes.byref(self.zero)
            self.call(self.blas.cublasSgeam(self.handle, 1, 0, m, n, one, a, n, zero, c, m, c, m))

        return run


def time_peers(m: int, n: int, rounds: int, tune_rounds: int = 5) -> list[dict[str, Any]]:
    """`fastest` and everything it has to beat, in one run."""
    sets = rotate(m, n, torch.bfloat16)
    contestants = {
        "copy": [copy_launch(x, y) for x, y in sets],
        "elementwise kernel, no transpose": [not_launch(x, y) for x, y in sets],
        "fastest": [fastest_launch(x, y) for x, y in sets],
        "torch copy_": [torch_launch(x, y) for x, y in sets],
        "torch.compile": compiled_launches(sets),
    }
    tilings = triton_launches()
    tuned = time_us(
        {name: [make(x, y) for x, y in sets] for name, make in tilings.items()},
        tune_rounds,
        4 * m * n >= DIRECT_BYTES,
    )
    best = min(tuned, key=lambda name: statistics.median(tuned[name]))
    contestants[best] = [tilings[best](x, y) for x, y in sets]
    for name, launches in contestants.items():
        if name.startswith(("copy", "elementwise")):
            continue
        x, y = sets[0]
        y.zero_()
        launches[0]()
        if not bool((y.view(torch.int16) == x.view(torch.int16).t()).all()):
            raise AssertionError(f"{name} is wrong at {m} x {n}")
    floats = rotate(m, n, torch.float32)
    geam = Geam()
    contestants["cuBLAS sgeam"] = [geam.launch(x, y) for x, y in floats]
    return rows_of(time_us(contestants, rounds, 4 * m * n >= DIRECT_BYTES), m, n, {"cuBLAS sgeam": 4})


def time_pitches(m: int, n: int, rounds: int) -> list[dict[str, Any]]:
    """`fastest` where rows are not multiples of 256 bytes: padding of x and of y in elements."""
    contestants: dict[str, list[Launch]] = {}
    for pad_x, pad_y in ((0, 0), (8, 0), (64, 0), (128, 0), (0, 8), (0, 64), (0, 128), (64, 64)):
        x = random_bits(m, n, pitch=n + pad_x)
        y = torch.empty((n, m + pad_y), dtype=torch.bfloat16, device="cuda")[:, :m]
        contestants[f"pad x {pad_x}, y {pad_y}"] = [fastest_launch(x, y)]
    return rows_of(time_us(contestants, rounds, 4 * m * n >= DIRECT_BYTES), m, n, {})


# ---- the sweep of candidates


def candidates() -> dict[str, Kernel]:
    """Every plan worth timing."""
    tiles = [(64, 64), (128, 64), (64, 128), (128, 128), (256, 128), (128, 256)]
    exchanges = [Exchange(tile, 0, *hints) for tile, hints in product(tiles, HINTS)]
    exchanges += [Exchange((128, 128), group) for group in (1, 8, 32)]
    exchanges += [Exchange((128, 128), resident=threads) for threads in (256, 1024)]
    plans = {f"exchange {tuple(p)}": build_exchange(p) for p in exchanges}
    lanes = {
        (8, 4): [(1, 1), (1, 2), (1, 4), (2, 4)],
        (4, 8): [(1, 1), (2, 1), (4, 2)],
        (16, 2): [(1, 2), (1, 8)],
    }
    registers = [Plan(a, b, 0, *hints) for a in lanes for b, hints in product(lanes[a], HINTS)]
    plans |= {f"registers {tuple(p)}": build_registers(p) for p in registers}
    lines = [(64, 32, 128), (64, 64, 128), (64, 64, 256), (128, 64, 256), (128, 128, 512)]
    plans |= {
        f"swizzled {(n, m)} {threads}": build_swizzled(Lines((n, m), threads)) for n, m, threads in lines
    }
    boxes = [(64, 64), (128, 64), (64, 128), (128, 128), (256, 64), (64, 256)]
    plans |= {
        f"tma {tile} 0 {policy:#x}": build_tma(tile, 0, policy)
        for tile, policy in product(boxes, (0, EVICT_LAST))
    }
    return plans | {"tma (128, 128) 1": build_tma((128, 128), 1)}


def sweep(sizes: list[tuple[int, int]], rounds: int) -> list[dict[str, Any]]:
    """All candidates at all sizes; wrong ones are refused."""
    compiled = {name: Compiled(kernel) for name, kernel in candidates().items()}
    for name, kernel in compiled.items():
        shapes = [(1024, 1536)] if name.startswith("swizzled") else [(1024, 1536), (1000, 1544)]
        wrong = [wrong_elements(kernel.launch, random_bits(m, n)) for m, n in shapes]
        if any(wrong):
            raise AssertionError(f"{name}: {wrong} wrong elements")
    rows: list[dict[str, Any]] = []
    for m, n in sizes:
        sets = rotate(m, n, torch.bfloat16)
        contestants = {"copy": [copy_launch(x, y) for x, y in sets]}
        contestants |= {name: [kernel.launch(x, y) for x, y in sets] for name, kernel in compiled.items()}
        rows += rows_of(time_us(contestants, rounds, 4 * m * n >= DIRECT_BYTES), m, n, {})
    return rows


# ---- the table


def table(rows: list[dict[str, Any]], most: int = 100) -> str:
    """GB/s and the share of the copy's of each row, best first within a size."""
    lines = []
    for m, n in dict.fromkeys((r["m"], r["n"]) for r in rows):
        here = [r for r in rows if (r["m"], r["n"]) == (m, n)]
        copies = [r["gb_per_s"] for r in here if r["name"] == "copy"]
        lines.append(f"{m} x {n}: copy {', '.join(f'{c:.0f}' for c in copies)} GB/s")
        ranked = sorted((r for r in here if r["name"] != "copy"), key=lambda r: -r["gb_per_s"])
        for r in ranked[:most]:
            share = r["gb_per_s"] / statistics.median(copies)
            lines.append(f"  {r['gb_per_s']:7.0f} {share:6.3f} {r['us']:10.2f} us  {r['name']}")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path)
    parser.add_argument("--stages", default="check,variants,sweep,pitches,peers")
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument(
        "--sizes", help="M,N:M,N:... instead of the standard ones for peers, the first for the sweep"
    )
    args = parser.parse_args()
    stages = args.stages.split(",")
    if "fault" in stages:
        fault()
        return
    sizes = [tuple(map(int, s.split(","))) for s in args.sizes.split(":")] if args.sizes else None
    result: dict[str, Any] = {"environment": environment()}
    printed = [f"{result['environment']['device']}, driver {result['environment']['driver']}"]

    def save() -> None:
        if args.out:
            args.out.write_text(json.dumps(result, indent=1) + "\n")

    if "check" in stages:
        result["variants"] = check_variants()
        result["shapes"] = check_shapes(fastest_launch)
        wrong = [case for case in result["shapes"] if case["wrong_elements"]]
        printed.append("\n".join(f"{name}: {found}" for name, found in result["variants"].items()))
        printed.append(f"fastest: {len(result['shapes'])} shapes, {len(wrong)} wrong {wrong[:5]}")
        save()
    if "variants" in stages:
        result["variant_times"] = time_variants(8192, 8192, args.rounds)
        printed.append(table(result["variant_times"]))
        save()
    if "sweep" in stages:
        result["sweep"] = sweep(sizes or SWEEP, min(args.rounds, 15))
        printed.append(table(result["sweep"], 4))
        save()
    if "pitches" in stages:
        result["pitches"] = time_pitches(16384, 16384, args.rounds)
        save()
    if "peers" in stages:
        result["peers"] = []
        for m, n in sizes or SIZES + RECTANGLES + ODD:
            result["peers"] += time_peers(m, n, args.rounds)
            torch.cuda.empty_cache()
            save()
        printed.append(table(result["peers"]))
    save()
    print("\n".join(printed))


if __name__ == "__main__":
    os.environ.setdefault("TORCHINDUCTOR_FX_GRAPH_CACHE", "0")
    main()
