"""How the benchmark times: rotating buffers, steady state, contestants in random order, medians."""

from __future__ import annotations

import random
import statistics
from typing import Any

import torch

from benchmarks.transpose_checks import Launch, random_bits

ROTATE_BYTES = 256 << 20
"""Buffer sets together are at least this large, several times the L2."""

DIRECT_BYTES = 128 << 20
"""Traffic of one launch from which on launches are queued rather than replayed."""


def rotate(m: int, n: int, dtype: torch.dtype) -> list[tuple[torch.Tensor, torch.Tensor]]:
    """Buffer sets that together exceed the L2 several times."""
    one = 2 * m * n * torch.empty((), dtype=dtype).element_size()
    sets = max(2, -(-ROTATE_BYTES // one))
    return [(random_bits(m, n, dtype), torch.empty((n, m), dtype=dtype, device="cuda")) for _ in range(sets)]


def capture(launches: list[Launch]) -> torch.cuda.CUDAGraph:
    """One graph of all the launches, warmed up."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.stream(side):
        for launch in launches:
            launch()
        side.synchronize()
        # Not torch.cuda.graph(...), which collects garbage and empties the allocator's cache each time.
        graph.capture_begin()
        for launch in launches:
            launch()
        graph.capture_end()
    torch.cuda.current_stream().wait_stream(side)
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


def copy_launch(x: torch.Tensor, y: torch.Tensor) -> Launch:
    return lambda: y.view(-1).copy_(x.view(-1))


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
