"""Copies from global to global memory by synthesised plans, beside torch's copy of as many bytes.

    python -m benchmarks.synthesis_copies OUT.json

needs torch, the DSL and a GPU. Every plan that `lc.synthesize` returns is compiled as it stands, run and
compared bit for bit: BF16, straight and turned, one stage and three, whole tiles and, with tails, extents
that no tile divides. Those of whole tiles are timed, in random order in each round.
"""

from __future__ import annotations

import random
import statistics
import sys
import tempfile
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import cutlass
import torch
from cuda.bindings.driver import CUstream
from cutlass import cute
from cutlass.cute.runtime import from_dlpack

import layoutcheck as lc
from benchmarks.evidence import head, write
from tests.synthesis.compile_programs import module_of

K, MN = "gmem (?,?{div=8}):(?{div=8},1)", "gmem (?{div=8},?):(1,?{div=8})"
TILES = {"straight": ((128, 64), K), "turned": ((64, 64), MN)}
"""Of each way: the tile, and how the destination lies."""
SHAPES = ((8192, 8192), (65536, 8192), (524288, 1024))
ODD = ((1000, 520), (8, 4104))
ROUNDS, LAUNCHES = 9, 4


def tensors(m: int, n: int, turned: bool) -> tuple[torch.Tensor, torch.Tensor]:
    """Random bits, and where they go."""
    x = torch.randint(-32768, 32768, (m, n), dtype=torch.int16, device="cuda")
    return x, torch.zeros((n, m), dtype=torch.int16, device="cuda").t() if turned else torch.zeros_like(x)


def launch_of(module: Any, x: torch.Tensor, y: torch.Tensor) -> Callable[[], None]:
    """The program, compiled for the two."""

    def view(t: torch.Tensor) -> Any:
        made = from_dlpack(t, assumed_align=16)
        made.element_type = cutlass.BFloat16
        return made.mark_layout_dynamic(leading_dim=0 if t.stride(0) == 1 else 1)

    given = view(x), view(y), CUstream(torch.cuda.current_stream().cuda_stream)
    function = cute.compile(module.launch, *given)
    return lambda: function(*given)


def wrong(run: Callable[[], None], x: torch.Tensor, y: torch.Tensor) -> int:
    y.copy_(~x)
    run()
    return int((x != y).sum())


def timed(runs: dict[str, Callable[[], None]]) -> dict[str, float]:
    """Median microseconds of a launch."""
    rounds: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(ROUNDS):
        for name in random.sample(list(runs), len(runs)):
            begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            runs[name]()
            begin.record()
            for _ in range(LAUNCHES):
                runs[name]()
            end.record()
            torch.cuda.synchronize()
            rounds[name].append(1000 * begin.elapsed_time(end) / LAUNCHES)
    return {name: round(statistics.median(each), 2) for name, each in rounds.items()}


def row(way: str, stages: int, m: int, n: int, tails: bool, folder: Path) -> dict[str, Any]:
    """All plans of a request at a shape."""
    tile, dst = TILES[way]
    plans = lc.synthesize(tile, K, "gmem", dst=dst, dtype="bf16", stages=stages, tails=tails).plans
    x, y = tensors(m, n, way == "turned")
    found: dict[str, Any] = {"way": way, "stages": stages, "shape": [m, n], "tails": tails, "wrong": {}}
    runs: dict[str, Callable[[], None]] = {}
    for number, plan in enumerate(plans):
        name = f"{way}_{stages}_{m}_{n}_{number}"
        run = launch_of(module_of(plan.code, folder, name), x, y)
        found["wrong"][plan.kind] = wrong(run, x, y)
        runs[plan.kind] = run
    if not tails:
        plain = torch.empty_like(x)
        found["us"] = timed({"copy": lambda: plain.copy_(x), **runs})
        found["predicted"] = {plan.kind: round(plan.cycles) for plan in plans}
        best = min(us for kind, us in found["us"].items() if kind != "copy")
        print(way, stages, m, n, f"best {found['us']['copy'] / best:.3f}", flush=True)
    return found


def main() -> None:
    about, rows = head("benchmarks.synthesis_copies", "torch"), []
    with tempfile.TemporaryDirectory() as name:
        for way, stages in product(TILES, (1, 3)):
            asked = [(shape, False) for shape in (SHAPES if stages == 1 else SHAPES[:1])]
            for shape, tails in (*asked, *((shape, True) for shape in ODD)):
                rows.append(row(way, stages, *shape, tails, Path(name)))
                torch.cuda.empty_cache()
                write({**about, "rows": rows}, Path(sys.argv[1]))
    bad = [(one["way"], one["shape"], kind) for one in rows for kind, count in one["wrong"].items() if count]
    print(f"{sum(len(one['wrong']) for one in rows)} programs; wrong: {bad}")


if __name__ == "__main__":
    main()
