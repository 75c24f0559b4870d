"""`check` beside the real verifier, on the same copies in one run: `python -m benchmarks.bench_check`.

The verifier answers one question (accepted or not) of one thread's types; `check` answers three, of every
thread. The DSL is asked in a child process, whose start is not counted.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

from layoutcheck.atoms.compiler import predict
from layoutcheck.check import check
from layoutcheck.copies.copy import Copy
from layoutcheck.sources.request import build

ROUNDS = 30


def copies() -> dict[str, Copy]:
    tile = {"atom": "cp.async", "bits": 128, "dtype": "bf16", "thr": "(16,16):(1,16)", "val": "(8,1)"}
    scattered = {**tile, "thr": "(16,1):(1,0)"}
    memref = '!cute.memref<bf16, {}, align<16>, "((8,1),4):((1,0),64)">'
    made = {
        "one thread's types": build(memref.format("gmem"), memref.format("smem"), "cp.async", bits=128),
        "256 threads, 64 values, legal": build("(128,128):(1,128)", "(128,128):(1,128)", **tile),
        "16 threads, 512 values, wrong": build("(128,64):(1,128)", "(128,64):(64,1)", **scattered),
    }
    return {name: copy for name, (copy, _) in made.items()}


def median(run: Callable[[], object]) -> float:
    run()
    times = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def main() -> None:
    from layoutcheck.dsl.session import DslUnavailable, Session
    from layoutcheck.dsl.verifier import verify

    rows = [
        (name, median(lambda c=c: check(c)), median(lambda c=c: predict(c)), c)
        for name, c in copies().items()
    ]
    try:
        with Session() as session:
            batch = 200
            verified = [
                median(lambda c=c: verify([c] * batch, session=session, bare=True)) / batch for *_, c in rows
            ]
    except DslUnavailable as error:
        print(f"the verifier is not here to compare with: {error}")
        verified = [None] * len(rows)
    print(
        f"{'copy':34} {'check':>10} {'predict':>10} {'verifier':>10} {'check/ver.':>11} {'predict/ver.':>13}"
    )
    for (name, full, alone, _), peer in zip(rows, verified, strict=True):
        ratios = f"{full / peer:>10.1f}x {alone / peer:>12.2f}x" if peer else ""
        asked = f"{peer * 1e6:>7.0f} us" if peer else " " * 10
        print(f"{name:34} {full * 1e6:>7.0f} us {alone * 1e6:>7.0f} us {asked} {ratios}")


if __name__ == "__main__":
    main()
