"""Sums that begin with what nothing has written, on a GPU: `python -m tests.gpu.first_sums --out FILE`.

Each variant of `tests.provenance.first_sums` runs five times, after a kernel that leaves other numbers in
registers. What is counted is elements of C that are not A B.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import cutlass.cute as cute
import torch
from cutlass import Float16, Float32, Int32

from benchmarks.evidence import head, write
from tests.provenance.first_sums import run

VARIANTS = (*(("warps", how) for how in range(6)), ("warpgroup", 0), ("warpgroup", 1))
RUNS = 5


def _pointer(kind: Any, tensor: torch.Tensor) -> Any:
    return cute.runtime.make_ptr(kind, tensor.data_ptr(), cute.AddressSpace.gmem, assumed_align=128)


def counted(kind: str, how: int) -> list[int]:
    """The wrong elements of 64 x 64, of each run."""
    found, made = [], None
    for seed in range(RUNS):
        torch.manual_seed(seed)
        a, b = (torch.randn(64, 32, device="cuda").half() for _ in "ab")
        c, flag = torch.zeros(64, 64, device="cuda"), torch.ones(1, dtype=torch.int32, device="cuda")
        given = _pointer(Float16, a), _pointer(Float16, b), _pointer(Float32, c), _pointer(Int32, flag)
        made = made or cute.compile(run, *given, kind, how)
        other = torch.randn(2048, 2048, device="cuda")
        (other @ other).exp().sum()
        made(*given)
        torch.cuda.synchronize()
        wrong = ((c - a.float() @ b.float().T).abs() > 0.25) | c.isnan()
        found.append(int(wrong.sum()))
    return found


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path)
    out = parser.parse_args().out
    rows = [{"kind": kind, "how": how, "wrong": counted(kind, how)} for kind, how in VARIANTS]
    for row in rows:
        print(row)
    write(head("tests.gpu.first_sums", "torch", elements=4096, rows=rows), out)


if __name__ == "__main__":
    main()
