"""Registers that nothing has written, stored on a GPU: `python -m tests.gpu.unset_values --out FILE`.

Each variant of `tests.provenance.unset_values` runs five times, after a kernel that leaves other numbers in
registers, into a tensor of one number. Counted are elements that it writes otherwise than the right variant
does, and those that only the right variant writes.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import cutlass.cute as cute
import torch
from cutlass import Float32, Int32

from benchmarks.evidence import head, write
from tests.provenance.unset_values import COLUMNS, KERNELS, ROWS, SHORT, run

RUNS, BEFORE = 5, -7.0
_OTHERS = (("choice", 2), ("transpose", 2))  # a flag decides what they store
_ALL = KERNELS | SHORT
VARIANTS = [
    (name, how) for name, (_, count) in _ALL.items() for how in range(count) if (name, how) not in _OTHERS
]


def _pointer(kind: Any, tensor: torch.Tensor) -> Any:
    return cute.runtime.make_ptr(kind, tensor.data_ptr(), cute.AddressSpace.gmem, assumed_align=128)


def written(name: str, how: int) -> list[torch.Tensor]:
    """What a variant writes in each run."""
    found, made = [], None
    for seed in range(RUNS):
        torch.manual_seed(seed)
        x, flag = (
            torch.randn(ROWS, COLUMNS, device="cuda"),
            torch.full((1,), 2, dtype=torch.int32, device="cuda"),
        )
        y = torch.full((ROWS, COLUMNS), BEFORE, device="cuda")
        given = _pointer(Float32, x), _pointer(Float32, y), _pointer(Int32, flag)
        made = made or cute.compile(run, *given, name, how)
        other = torch.randn(2048, 2048, device="cuda")
        (other @ other).exp().sum()
        made(*given)
        torch.cuda.synchronize()
        found.append(y)
    return found


def row(name: str, how: int, right: list[torch.Tensor]) -> dict[str, object]:
    """The wrong elements of each run, and those that are left as they were."""
    pairs = list(zip(written(name, how), right, strict=True))
    wrong = [int(((y != BEFORE) & ~torch.isclose(y, z, rtol=1e-4, atol=1e-5)).sum()) for y, z in pairs]
    left = [int(((y == BEFORE) & (z != BEFORE)).sum()) for y, z in pairs]
    return {"kernel": name, "how": how, "wrong": wrong, "left": left}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path)
    out = parser.parse_args().out
    rights = {name: written(name, 0) for name in _ALL}
    rows = [row(name, how, rights[name]) for name, how in VARIANTS]
    for one in rows:
        print(one)
    write(head("tests.gpu.unset_values", "torch", elements=ROWS * COLUMNS, rows=rows), out)


if __name__ == "__main__":
    main()
