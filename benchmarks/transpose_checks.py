"""The transposes of kernels/ against the input, bit for bit, on a device."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from itertools import product
from typing import Any

import torch
from cuda.bindings.driver import CUstream
from cutlass import cute
from cutlass.cute.runtime import from_dlpack

from kernels.transpose import VARIANTS, fastest
from kernels.transpose.common import Kernel

GUARD = 64
"""Elements of the fence on either side of an output."""

Launch = Callable[[], None]


def random_bits(
    m: int, n: int, dtype: torch.dtype = torch.bfloat16, pitch: int | None = None
) -> torch.Tensor:
    """An (m, n) tensor of random bit patterns, rows `pitch` elements apart."""
    whole = torch.empty((m, pitch or n), dtype=bits_of(dtype), device="cuda")
    whole.random_(torch.iinfo(whole.dtype).min, torch.iinfo(whole.dtype).max)
    return whole[:, :n].view(dtype)


def bits_of(dtype: torch.dtype) -> torch.dtype:
    """The integers as wide."""
    return {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}[dtype.itemsize]


def stream() -> CUstream:
    return CUstream(torch.cuda.current_stream().cuda_stream)


def as_cute(t: torch.Tensor) -> Any:
    """`t` (M,N) or (batch,M,N), as the kernels take it: a batch is the last mode."""
    batched = t.permute(1, 2, 0) if t.dim() == 3 else t
    return from_dlpack(batched, assumed_align=alignment(t)).mark_layout_dynamic(leading_dim=1)


def alignment(t: torch.Tensor) -> int:
    """Bytes that a kernel may assume the base of `t` to be a multiple of."""
    return 16 if t.data_ptr() % 16 == 0 else t.element_size()


class Compiled:
    """A kernel of kernels/, compiled at its first launch for tensors of a rank and an alignment."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel, self.functions = kernel, {}

    def launch(self, x: torch.Tensor, y: torch.Tensor) -> Launch:
        args = as_cute(x), as_cute(y)
        key = x.dim(), alignment(x), alignment(y)
        if key not in self.functions:
            self.functions[key] = cute.compile(self.kernel.host, *args, stream())
        function = self.functions[key]
        return lambda: function(*args, stream())


def fastest_launch(x: torch.Tensor, y: torch.Tensor) -> Launch:
    return lambda: fastest.transpose(x, y, torch.cuda.current_stream().cuda_stream)


def wrong_elements(
    run: Callable[[torch.Tensor, torch.Tensor], Launch], x: torch.Tensor, pitch: int | None = None
) -> int:
    """Elements of the output, guard zones included, that differ from `x` transposed."""
    m, n = x.shape
    pitch = pitch or m
    bits = bits_of(x.dtype)
    right = torch.full((GUARD + n * pitch + GUARD,), 0x5A5A, dtype=bits, device="cuda")
    inside = right[GUARD : GUARD + n * pitch].view(n, pitch)[:, :m]
    inside.copy_(x.view(bits).t())
    y = right.clone()
    out = y[GUARD : GUARD + n * pitch].view(n, pitch)[:, :m]
    out.copy_(~inside)
    run(x, out.view(x.dtype))()
    torch.cuda.synchronize()
    return int((y != right).sum())


def check_variants() -> dict[str, Any]:
    """Each variant once: `rejected`, or how many elements it gets wrong."""
    found: dict[str, Any] = {}
    for name, variant in VARIANTS.items():
        most = variant.most or (5 * 64, 3 * 128)
        m, n = min(5 * 64, most[0]), min(3 * 128, most[1])
        about = {"expected": variant.verdict, "note": variant.note}
        if name == "broken_at_run_time":
            found[name] = {**about, **run_in_child()}
            continue
        dtype = torch.float32 if name == "fp32_elementwise" else torch.bfloat16
        kernel = Compiled(variant.builder())
        try:
            pitches = (n, n) if n == most[1] and variant.most else (n, n + 64)
            wrong = [wrong_elements(kernel.launch, random_bits(m, n, dtype, p)) for p in pitches]
        except Exception as error:
            found[name] = {**about, "rejected": plain(error)}
            continue
        found[name] = {**about, "elements": m * n, "wrong_elements": wrong}
        if name == "broken_silently":
            found[name]["corrupts_as_predicted"] = corrupts_as_predicted(kernel)
    return found


def corrupts_as_predicted(kernel: Compiled) -> bool:
    """One cp.async puts 8 elements of a row of x side by side in a row of y, where only the first belongs."""
    m, n = 5 * 64, 3 * 128
    x, y = random_bits(m, n), torch.empty((n, m), dtype=torch.bfloat16, device="cuda")
    kernel.launch(x, y)()
    torch.cuda.synchronize()
    xt = x.view(torch.int16).t()
    # y[8a, 8b + i] = xt[8a + i, 8b]
    predicted = xt[:, ::8].reshape(n // 8, 8, m // 8).permute(0, 2, 1).reshape(n // 8, m)
    return bool((y.view(torch.int16)[::8] == predicted).all())


def run_in_child() -> dict[str, Any]:
    """A fault ends the CUDA context, so the variant that faults gets a process of its own."""
    args = [sys.executable, "-m", "benchmarks.bench_transpose", "--stages", "fault"]
    child = subprocess.run(args, capture_output=True, text=True, timeout=120, check=False)
    lines = [
        line
        for line in (child.stdout + child.stderr).splitlines()
        if "isaligned" in line or "MISALIGNED" in line
    ]
    return {"exit": child.returncode, "fault": lines[-1][:200] if lines else child.stderr[-400:]}


def fault() -> None:
    x = random_bits(5 * 64, 3 * 128)
    print(wrong_elements(Compiled(VARIANTS["broken_at_run_time"].builder()).launch, x))


def check_shapes(run: Callable[[torch.Tensor, torch.Tensor], Launch]) -> list[dict[str, Any]]:
    """`fastest` over tails, odd sizes, strided and misaligned inputs and padded outputs."""
    found = []
    extents = [1, 2, 7, 8, 9, 63, 64, 65, 127, 128, 136, 200, 257, 1000, 1031]
    cases = [(m, n, n, m, 0) for m, n in product(extents, extents)]
    cases += [
        (m, n, n + 8 - n % 8 + 40, m + 8 - m % 8, 0) for m, n in product((5, 64, 129, 1031), (3, 72, 1001))
    ]
    cases += [(m, n, n + 3, m + 5, 1) for m, n in product((64, 129), (72, 1001))]
    cases += [(4096, 4100, 4100, 4096, 0), (4100, 4096, 4096, 4100, 0), (4104, 4096, 4160, 4104, 8)]
    cases += [
        (2, 4_200_000, 4_200_000, 2, 0),
        (8, 4_200_008, 4_200_008, 8, 0),
        (4_200_008, 8, 8, 4_200_008, 0),
    ]
    for m, n, pitch, out_pitch, skip in cases:
        x = random_bits(m, n + skip, pitch=pitch + skip)[:, skip:]
        found.append({"m": m, "n": n, "ld": pitch + skip, "ld_out": out_pitch, "skip": skip})
        found[-1]["wrong_elements"] = wrong_elements(run, x, out_pitch)
    for m, n in ((200, 264), (129, 77)):
        found.append({"m": m, "n": n, "input": "x.t()"})
        found[-1]["wrong_elements"] = wrong_elements(run, random_bits(n, m).t())
    for m, n in ((200, 264), (129, 77)):
        found.append({"m": m, "n": n, "input": "x[::2, ::2]"})
        found[-1]["wrong_elements"] = wrong_elements(run, random_bits(2 * m, 2 * n)[::2, ::2])
    return found


def plain(error: BaseException) -> str:
    """The verifier's own sentence out of the DSL's coloured message."""
    text = " ".join(re.sub(r"\x1b\[[0-9;]*m", "", str(error)).split())
    found = re.search(r"'cute\.copy' op .*?'!\S[^']*'", text)
    return found.group(0) if found else text[:300]
