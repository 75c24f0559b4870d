"""Run units on the GPU, raw encodings in and out: memory through torch, kernels through CuTe DSL."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
import torch
from cutlass.base_dsl.common import DSLBaseError

from layoutcheck.errors import InputError
from layoutcheck.gpu.mma import operation, tiles
from layoutcheck.numerics.block_unit import Unit
from layoutcheck.numerics.formats import Raw


def available() -> bool:
    """Whether torch finds a GPU."""
    return bool(torch.cuda.is_available())


@cache
def _launcher(kind: str, n: int, k: int, a: str, b: str, accumulator: str) -> Callable[..., None]:
    return tiles(operation(kind, n, k, a, b, accumulator))


def launcher(unit: Unit, n: int | None = None) -> Callable[..., None]:
    """The compiled kernel of `unit`; `n` overrides the instruction's N (wgmma).

    InputError where the DSL cannot issue the instruction for this GPU.
    """
    i = unit.instruction
    short = {"f8E4M3FN": "e4m3", "f8E5M2": "e5m2"}
    a, b = (short.get(f.name, f.name) for f in (i.a, i.b))
    try:
        return _launcher(i.kind, n or i.n, i.k, a, b, i.accumulator.name)
    except DSLBaseError as error:
        raise InputError(f"the DSL cannot issue {unit.name} here: {error.message}") from None


def to_device(array: Raw) -> torch.Tensor:
    """The bytes of `array` on the GPU."""
    return torch.from_numpy(np.ascontiguousarray(array).view(np.uint8).reshape(-1).copy()).cuda()


def run_tiles(unit: Unit, a: Raw, b: Raw, c: Raw, n: int | None = None) -> Raw:
    """D = A B + C for A (L, M, K), B (L, N, K), C (L, M, N): encodings; the output is poisoned first."""
    run = launcher(unit, n)
    entries, rows, depth = a.shape
    columns = b.shape[1]
    da, db, dc = to_device(a), to_device(b), to_device(c)
    dd = torch.full((c.nbytes,), 0xA5, dtype=torch.uint8, device="cuda")
    run(da.data_ptr(), db.data_ptr(), dc.data_ptr(), dd.data_ptr(), rows, columns, depth, entries)
    torch.cuda.synchronize()
    return dd.cpu().numpy().view(c.dtype).reshape(c.shape)


def run_vectors(unit: Unit, a: Raw, b: Raw, c: Raw) -> Raw:
    """d = a . b + c for vectors a, b (V, k) and c (V,): eight vectors a tile, read off its diagonal."""
    count = len(c)
    entries = -(-count // 8)
    rows = unit.instruction.m
    at = np.arange(count)
    big_a = np.zeros((entries, rows, unit.k), a.dtype)
    big_b = np.zeros((entries, 8, unit.k), b.dtype)
    big_c = np.zeros((entries, rows, 8), c.dtype)
    big_a[at // 8, at % 8], big_b[at // 8, at % 8], big_c[at // 8, at % 8, at % 8] = a, b, c
    return run_tiles(unit, big_a, big_b, big_c)[at // 8, at % 8, at % 8]


def run_matmul(unit: Unit, a: Raw, b: Raw, c: Raw, n: int | None = None) -> Raw:
    """D = A B + C for A (M, K), B (K, N), C (M, N)."""
    return run_tiles(unit, a[None], np.ascontiguousarray(b.T)[None], c[None], n)[0]
