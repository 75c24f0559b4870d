"""What `fastest` has to beat: torch, torch.compile, tuned Triton, cuBLAS sgeam."""

from __future__ import annotations

import ctypes
from itertools import product
from pathlib import Path

import torch

from benchmarks.transpose_checks import Launch


@torch.compile(dynamic=False)
def compiled(x: torch.Tensor, y: torch.Tensor) -> None:
    y.copy_(x.transpose(-1, -2))


def compiled_launches(sets: list[tuple[torch.Tensor, torch.Tensor]]) -> list[Launch]:
    """Compiled at the first launch of a kind of tensors, for its sizes."""
    torch._dynamo.config.recompile_limit = torch._dynamo.config.accumulated_recompile_limit = 1000
    return [lambda x=x, y=y: compiled(x, y) for x, y in sets]


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
