"""What `fastest` has to beat: torch, torch.compile, tuned Triton, cuBLAS sgeam."""

from __future__ import annotations

import ctypes
import statistics
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import torch

from benchmarks.transpose_checks import Launch, fastest_launch
from benchmarks.transpose_timing import DIRECT_BYTES, copy_launch, rotate, rows_of, time_us


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
        y.copy_(x.transpose(-1, -2))

    return [lambda x=x, y=y: function(x, y) for x, y in sets]


TILINGS = [
    (bm, bn, warps, group)
    for (bm, bn, warps), group in product(
        [
            *((32, 32, 2), (32, 64, 4), (64, 32, 4), (64, 64, 4), (64, 64, 8), (64, 128, 4), (64, 128, 8)),
            *((128, 64, 4), (128, 64, 8), (128, 128, 4), (128, 128, 8), (32, 128, 4), (128, 32, 4)),
        ],
        (1, 8),
    )
]
"""Tile along M and N, warps, and tiles along M in a strip: every tiling worth trying."""


def triton_launch(x: torch.Tensor, y: torch.Tensor, tiling: tuple[int, int, int, int]) -> Launch:
    from benchmarks.triton_transpose import transpose

    return lambda: transpose(x, y, *tiling)


def triton_launches() -> dict[str, Callable[[torch.Tensor, torch.Tensor], Launch]]:
    """A tiled Triton transpose in every tiling worth trying."""
    return {
        f"triton {t[0]}x{t[1]} warps={t[2]} group={t[3]}": lambda x, y, t=t: triton_launch(x, y, t)
        for t in TILINGS
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
        lda, ldc = x.stride(0), y.stride(0)

        def run(_kept: tuple[torch.Tensor, torch.Tensor] = (x, y)) -> None:
            self.call(
                self.blas.cublasSetStream_v2(self.handle, address(torch.cuda.current_stream().cuda_stream))
            )
            one, zero = ctypes.byref(self.one), ctypes.byref(self.zero)
            self.call(self.blas.cublasSgeam(self.handle, 1, 0, m, n, one, a, lda, zero, c, ldc, c, ldc))

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
