"""`check` beside the real verifier, on the same copies in one run: `python -m benchmarks.bench_check`.

The verifier answers one question (accepted or not) of one thread's types; `check` answers three, of every
thread. The DSL is asked in a child process, whose start is not counted. All times are processor time.
"""

from __future__ import annotations

from typing import Any

from benchmarks.measure import calls, quantiles, spent_by
from layoutcheck.atoms.compiler import predict
from layoutcheck.check import check
from layoutcheck.copies.copy import Copy
from layoutcheck.sources.request import build

ROUNDS = 200
BATCH = 4000  # copies of one question to the verifier, whose time is known to 0.01 s


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


def rows() -> list[dict[str, Any]]:
    """Of each copy the processor times of `check`, `predict` and the verifier (None without the DSL)."""
    from layoutcheck.dsl.session import DslUnavailable, Session
    from layoutcheck.dsl.verifier import verify

    out: list[dict[str, Any]] = []
    for name, copy in copies().items():
        out.append(
            {
                "copy": name,
                "check": quantiles(calls(lambda c=copy: check(c), ROUNDS)),
                "predict": quantiles(calls(lambda c=copy: predict(c), ROUNDS)),
                "verifier": None,
            }
        )
    try:
        with Session() as session:
            for row, copy in zip(out, copies().values(), strict=True):
                spent = []
                for count in (100, BATCH):
                    verify([copy] * count, session=session, bare=True)
                    verify([copy], session=session, bare=True)  # by now the forks of the batch are counted
                    spent.append(spent_by(session.pid))
                row["verifier"] = (spent[1] - spent[0]) / BATCH
    except DslUnavailable as error:
        print(f"the verifier is not here to compare with: {error}")
    return out


def main() -> None:
    print(
        f"{'copy':34} {'check':>10} {'predict':>10} {'verifier':>10} {'check/ver.':>11} {'predict/ver.':>13}"
    )
    for row in rows():
        full, alone, peer = row["check"]["p50"], row["predict"]["p50"], row["verifier"]
        ratios = f"{full / peer:>10.1f}x {alone / peer:>12.2f}x" if peer else ""
        asked = f"{peer * 1e6:>7.0f} us" if peer else " " * 10
        print(f"{row['copy']:34} {full * 1e6:>7.0f} us {alone * 1e6:>7.0f} us {asked} {ratios}")


if __name__ == "__main__":
    main()
