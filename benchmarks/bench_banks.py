"""Bank-conflict analysis of a 256-thread tile, ours beside tensor-layouts', and best_swizzle, in one run.

    pip install tensor-layouts; python -m benchmarks.bench_banks

256 threads store 16 bytes each into a tile of 64 x 64 bf16: once contiguous (free of conflicts), once down a
column (8-way in every phase). The right answers are those that ncu gives (docs/banks.md). Times are CPU time.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

from layoutcheck.algebra.layout import Layout
from layoutcheck.machine import f2
from layoutcheck.machine.banks import wavefronts
from layoutcheck.machine.best_swizzle import best_swizzle
from layoutcheck.machine.tiles import addresses_of, matrix_access, tile_addresses, vector_access

PATTERNS = {  # (thread, value) -> offset in elements, of which the first 8 values are one access
    "contiguous": (Layout((256, 8), (8, 1)), [16, 32, 64, 128, 256], 1),
    "column": (Layout(((64, 4), 8), ((64, 8), 1)), [128, 256, 512, 1024, 2048], 8),
}


def microseconds(run: Callable[[], Any], least_s: float = 0.4) -> float:
    """Median CPU time of a call."""
    run()
    times: list[float] = []
    start = time.process_time()
    while time.process_time() - start < least_s or len(times) < 15:
        before = time.process_time()
        run()
        times.append(time.process_time() - before)
    return statistics.median(times) * 1e6


def main() -> None:
    """Print the tables."""
    try:
        import tensor_layouts
        from tensor_layouts.analysis import bank_conflicts
    except ImportError:
        tensor_layouts = None
    print(f"{'256 threads x 16 B':24}{'right':>6}{'ways':>6}{'us':>10}")
    for name, (tv, columns, right) in PATTERNS.items():
        tile = Layout(64 * 64, 1)
        access = vector_access(tile, 16, name, "st", 128, tv)
        at = addresses_of(access, tile_addresses(tile, 16), None)
        found = int(wavefronts(at, 128, "st").ways.max())
        ranked = f2.ways(columns[:3], 128)
        rows = [
            ("counted, 8 warps", found, microseconds(lambda at=at: wavefronts(at, 128, "st"))),
            ("ranked over F2, 8 warps", ranked, microseconds(lambda c=columns: f2.ways(c[:3], 128))),
        ]
        if tensor_layouts is not None:
            theirs = tensor_layouts.Layout(tv.shape, tv.stride)
            answer = bank_conflicts(theirs, element_bytes=2)["max_ways"]
            rows.append(
                (
                    "tensor-layouts, 1 warp",
                    answer,
                    microseconds(lambda t=theirs: bank_conflicts(t, element_bytes=2)),
                )
            )
        for what, ways, us in rows:
            print(
                f"{name + ': ' + what:40}{right:>6}{ways:>6}{us:>10.1f}{'' if ways == right else '   wrong'}"
            )
    tile = Layout((128, 128), (128, 1))
    tv = Layout(((16, 16), 8), ((8 * 128, 1), 128))
    accesses = [
        vector_access(tile, 16, "cp.async", "cp.async", 128, tv),
        matrix_access(tile, 16),
        vector_access(tile, 16, "st", "st", 128, tv),
    ]
    result = best_swizzle(tile, 16, accesses)
    us = microseconds(lambda: best_swizzle(tile, 16, accesses))
    print(
        f"best_swizzle, 128 x 128, three accesses: {us / 1e3:.1f} ms, {result.swizzle}, {result.optimality}"
    )


if __name__ == "__main__":
    main()
