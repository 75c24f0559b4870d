"""What a tile shape costs: registers a thread, shared memory, CTAs a multiprocessor, waves.

Register counts from fragments are lower bounds: addresses, predicates and temporaries come on top, and only
the compiler knows how many. Where its count is known (`registers`), occupancy follows exactly; where it is
not, the CTAs a multiprocessor are an upper bound and the waves a lower one.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

from layoutcheck.errors import InputError
from layoutcheck.numerics.formats import fmt
from layoutcheck.numerics.occupancy import MAX_THREADS, Device, device, occupancy

MOST_REGISTERS = 255  # a thread, that a compiler gives


@dataclass(frozen=True, slots=True)
class Fragment:
    """A tile held in registers, spread over `threads` threads: `elements` of `format_` in all."""

    name: str
    elements: int
    format_: str
    threads: int

    @property
    def registers(self) -> int:
        """32-bit registers a thread."""
        return -(-self.elements * fmt(self.format_).bits // (32 * self.threads))


@dataclass(frozen=True, slots=True)
class Buffer:
    """A shared-memory buffer of `stages` tiles of that shape."""

    name: str
    shape: tuple[int, ...]
    bits: int
    stages: int = 1

    @property
    def size_bytes(self) -> int:
        """Bytes of all stages."""
        return -(-prod(self.shape) * self.bits * self.stages // 8)


@dataclass(frozen=True, slots=True)
class Kernel:
    """A launch: threads a CTA, what it holds, how many CTAs; `registers` a thread if the compiler told."""

    name: str
    threads: int
    fragments: tuple[Fragment, ...]
    buffers: tuple[Buffer, ...]
    ctas: int
    registers: int | None = None


def decode_attention(
    *,
    batch: int,
    kv_heads: int,
    head_dim: int = 128,
    tensor_cores: bool,
    query_rows: int = 16,
    depth: int = 1,
    registers: int | None = None,
) -> Kernel:
    """A FlashInfer-like decode (v0.2.0), f16: one CTA a request and KV head, four warps.

    With tensor cores the CTA runs the prefill kernel: a Q tile of `query_rows` (CTA_TILE_Q), 128 keys, K
    and V `depth` deep, each warp its own part of the keys with a whole f32 O tile. FlashInfer has 16 rows,
    the M of its instruction; 8 rows would keep the M of 16 and hold the other half of each fragment as
    placeholders that need no registers. Without tensor cores a thread holds 8 of the head's elements, so
    that 128 threads take 1024 / `head_dim` rows of K and V at a time, in two stages, beside 128 page
    pointers; its parts of Q and O stay in registers. Raises InputError for sizes that such a kernel cannot
    have.
    """
    _positive(batch=batch, kv_heads=kv_heads, head_dim=head_dim, depth=depth)
    if tensor_cores:
        if query_rows != 8 and (query_rows < 16 or query_rows % 16):
            raise InputError(f"a Q tile of {query_rows} rows", expected="8, or a multiple of 16")
        if head_dim % 16:
            raise InputError(f"head_dim = {head_dim} with tensor cores", expected="a multiple of 16")
        keys = 128
        s = Fragment("S = Q K^T, a warp's 32 keys", query_rows * keys // 4, "f32", 32)
        fragments = (s, Fragment("O, whole in each warp", query_rows * head_dim, "f32", 32))
        buffers = (
            Buffer("Q", (query_rows, head_dim), 16),
            Buffer("K and V", (2, keys, head_dim), 16, stages=depth),
        )
    else:
        if 1024 % head_dim or head_dim < 8:
            raise InputError(f"head_dim = {head_dim}", expected="a power of two from 8 to 1024")
        q = Fragment("Q, eight elements a thread", 8 * 128, "f32", 128)
        fragments = (q, Fragment("O, eight elements a thread", 8 * 128, "f32", 128))
        tiles = Buffer("K and V", (2, 1024 // head_dim, head_dim), 16, stages=2)
        buffers = (tiles, Buffer("pointers", (128,), 64))
    name = "prefill kernel, tensor cores" if tensor_cores else "decode kernel, CUDA cores"
    name += f", head dimension {head_dim},"
    return Kernel(name, 128, fragments, buffers, batch * kv_heads, registers)


def gemm(
    *,
    tile: tuple[int, int, int],
    inputs: str,
    stages: int,
    threads: int,
    ctas: int,
    registers: int | None = None,
) -> Kernel:
    """A tiled GEMM with an f32 accumulator in registers and `stages` of A and B in shared memory.

    Raises InputError for sizes that are not positive.
    """
    m, n, k = tile
    _positive(M=m, N=n, K=k, stages=stages, threads=threads, ctas=ctas)
    bits = fmt(inputs).bits
    return Kernel(
        f"gemm {m}x{n}x{k} of {fmt(inputs)}",
        threads,
        (Fragment(f"C, over all {threads} threads", m * n, "f32", threads),),
        (Buffer("A", (m, k), bits, stages), Buffer("B", (n, k), bits, stages)),
        ctas,
        registers,
    )


def _positive(**sizes: int) -> None:
    for name, size in sizes.items():
        if size < 1:
            raise InputError(f"{name} = {size}", expected="a positive number")


def resources(kernel: Kernel, on: str | Device = "H200") -> dict[str, Any]:
    """Registers, shared memory, resident CTAs and waves of `kernel` on a device.

    `waves` is CTAs over what all multiprocessors hold at once. Where the compiler's register count is
    unknown, `exact` is False: then `ctas_per_multiprocessor` is at most, `waves` at least. Raises
    InputError for an unknown device, for counts that no launch has, and where one CTA does not fit.
    """
    on = device(on) if isinstance(on, str) else on
    _positive(threads=kernel.threads, ctas=kernel.ctas)
    if kernel.threads > MAX_THREADS:
        raise InputError(f"{kernel.name}: {kernel.threads} threads a CTA", expected=f"at most {MAX_THREADS}")
    if kernel.registers is not None and not 1 <= kernel.registers <= MOST_REGISTERS:
        raise InputError(
            f"{kernel.name}: {kernel.registers} registers a thread", expected=f"1 to {MOST_REGISTERS}"
        )
    bound = sum(fragment.registers for fragment in kernel.fragments)
    used = max(bound, 1) if kernel.registers is None else kernel.registers
    smem = sum(buffer.size_bytes for buffer in kernel.buffers)
    found = occupancy(on, kernel.threads, used, smem)
    if found.ctas < 1 or used > MOST_REGISTERS:
        cause = "registers" if used > MOST_REGISTERS else " and ".join(found.limited_by)
        raise InputError(
            f"{kernel.name}: one CTA does not fit on {on.name} ({cause}): {kernel.threads} threads of "
            f"{used} registers, {smem} bytes of shared memory"
        )
    return {
        "kernel": kernel.name,
        "device": on.name,
        "threads": kernel.threads,
        "registers_lower_bound": bound,
        "registers": kernel.registers,
        "fragments": {fragment.name: fragment.registers for fragment in kernel.fragments},
        "smem_bytes": smem,
        "buffers": {buffer.name: buffer.size_bytes for buffer in kernel.buffers},
        "ctas": kernel.ctas,
        "exact": kernel.registers is not None,
        "ctas_per_multiprocessor": found.ctas,
        "limited_by": found.limited_by[0],
        "waves": kernel.ctas / (found.ctas * on.multiprocessors),
    }
