"""composition, complement and logical_divide beside pycute and tensor-layouts, in one process and one run.

    python benchmarks/bench_algebra.py

pycute is in CUTLASS's python/ directory (put it on PYTHONPATH), tensor-layouts on PyPI; a peer that is not
installed is skipped. Every library gets the same layouts, built beforehand, and its answers are compared with
ours before the clock starts. Times are the best of `ROUNDS` rounds, the libraries taking turns in each.
"""

from __future__ import annotations

import importlib
import importlib.util
import time
from collections.abc import Callable
from typing import Any

from layoutcheck import algebra

ROUNDS = 15
REPEATS = 200  # calls a round and case

COMPOSITIONS = [
    (((8, 8), (8, 1)), ((4, 4), (1, 8))),
    (((6, 2), (8, 2)), ((4, 3), (3, 1))),
    (((128, 64), (64, 1)), ((16, 8), (1, 128))),
    ((((4, 2), (8, 2)), ((1, 64), (4, 256))), ((8, 16), (16, 1))),
    (((4, 8, 2, 16), (1, 32, 4, 512)), (((4, 8), (2, 16)), ((1, 4), (32, 64)))),
    (((2, 2, 2, 2, 2, 2, 2), (64, 1, 32, 2, 16, 4, 8)), ((8, 16), (16, 1))),
    (((128, 64), (1, 128)), (128, 64)),
]
COMPLEMENTS = [
    ((4, 1), 64),
    ((4, 2), 64),
    (((2, 2), (1, 6)), 24),
    (((2, 4, 8), (1, 16, 128)), 4096),
    ((((4, 2), (8, 2)), ((1, 64), (4, 256))), 8192),
    (((8, 4), (64, 1)), 1024),
]
DIVISIONS = [
    ((64, 1), (4, 2)),
    (((8, 8), (8, 1)), ((2, 2), (1, 8))),
    (((128, 64), (64, 1)), (16, 1)),
    (((128, 64), (1, 128)), ((16, 4), (1, 128))),
    ((((4, 2), (8, 2)), ((1, 64), (4, 256))), (8, 1)),
]

# A peer's name, its module, and what it calls composition.
PEERS = (
    ("pycute", "pycute", "composition"),
    ("tensor-layouts", "tensor_layouts", "compose"),
)


def operations(module: Any, composition: str) -> dict[str, list[tuple[Callable[..., Any], tuple[Any, ...]]]]:
    """Every case as a function and its operands, built by the library itself."""
    layout = module.Layout
    compose = getattr(module, composition)
    return {
        "composition": [(compose, (layout(*a), layout(*b))) for a, b in COMPOSITIONS],
        "complement": [(module.complement, (layout(*a), n)) for a, n in COMPLEMENTS],
        "logical_divide": [(module.logical_divide, (layout(*a), layout(*t))) for a, t in DIVISIONS],
    }


def answer(f: Callable[..., Any], operands: tuple[Any, ...]) -> str:
    """A result as text that does not depend on the library."""
    r = f(*operands)
    return f"{r.shape}:{r.stride}"


def seconds(cases: list[tuple[Callable[..., Any], tuple[Any, ...]]]) -> float:
    """Seconds a call, over all cases."""
    start = time.perf_counter()
    for f, operands in cases:
        for _ in range(REPEATS):
            f(*operands)
    return (time.perf_counter() - start) / (REPEATS * len(cases))


def main() -> None:
    libraries = {"layoutcheck": operations(algebra, "composition")}
    for name, module, composition in PEERS:
        if importlib.util.find_spec(module) is None:
            print(f"{name}: not installed, skipped")
        else:
            libraries[name] = operations(importlib.import_module(module), composition)
    for operation in ("composition", "complement", "logical_divide"):
        ours = libraries["layoutcheck"][operation]
        for name, cases in libraries.items():
            for mine, theirs in zip(ours, cases[operation], strict=True):
                if answer(*mine) != answer(*theirs):
                    operands = " ".join(map(str, mine[1]))
                    print(f"{operation} {operands}: {answer(*mine)}, {name} {answer(*theirs)}")
        best = dict.fromkeys(libraries, float("inf"))
        for _ in range(ROUNDS):
            for name, cases in libraries.items():
                best[name] = min(best[name], seconds(cases[operation]))
        line = f"{operation:15} layoutcheck {best['layoutcheck'] * 1e6:6.2f} us a call"
        for name in libraries:
            if name != "layoutcheck":
                ratio = best[name] / best["layoutcheck"]
                line += f"; {name} {best[name] * 1e6:6.2f} us, {ratio:.2f}x our time"
        print(line)


if __name__ == "__main__":
    main()
