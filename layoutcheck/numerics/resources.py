"""What a tile shape costs: registers a thread, shared memory, CTAs a multiprocessor, waves.

Register counts from fragments are lower bounds: addresses, predicates and temporaries come on top, and only
the compiler knows how many. Where its count is known (`registers`), occupancy follows exactly; where it is
not, the CTAs a multiprocessor are an upper bound and the waves a lower one.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

from layoutcheck.algebra.integers import round_up
from layoutcheck.errors import InputError
from layoutcheck.machine.arch import MAX_BLOCK_THREADS, WARP
from layoutcheck.numerics.formats import fmt

MAX_REGISTERS = 256  # a thread, by the header; compilers stop at 255
REGISTERS = 65536  # a multiprocessor, and the most a CTA may have
_REGISTER_UNIT = 256  # registers are given to warps in units of this many
_PARTITIONS = 4  # of a multiprocessor, each with its share of the registers


@dataclass(frozen=True, slots=True)
class Device:
    """Limits of one multiprocessor (CUDA programming guide, technical specifications by compute capability).

    `smem_bytes` is a multiprocessor's shared memory, `smem_cta_bytes` what one CTA may opt into, and
    `reserved_smem_bytes` of every CTA's is the system's, on top. `barriers` are a multiprocessor's, None
    where they limit nothing (before Hopper).
    """

    name: str
    arch: str
    multiprocessors: int
    smem_bytes: int
    smem_cta_bytes: int
    threads: int
    ctas: int
    smem_unit_bytes: int = 128
    reserved_smem_bytes: int = 1024
    barriers: int | None = None


_KIB = 1024
DEVICES = {
    device.name: device
    for device in (
        Device("V100", "sm_70", 80, 96 * _KIB, 96 * _KIB, 2048, 32, 256, 0),
        Device("T4", "sm_75", 40, 64 * _KIB, 64 * _KIB, 1024, 16, 256, 0),
        Device("A100", "sm_80", 108, 164 * _KIB, 163 * _KIB, 2048, 32),
        Device("A10", "sm_86", 72, 100 * _KIB, 99 * _KIB, 1536, 16),
        Device("L40S", "sm_89", 142, 100 * _KIB, 99 * _KIB, 1536, 24),
        Device("H100", "sm_90", 132, 228 * _KIB, 227 * _KIB, 2048, 32, barriers=64),
        Device("H200", "sm_90", 132, 228 * _KIB, 227 * _KIB, 2048, 32, barriers=64),
        Device("B200", "sm_100", 148, 228 * _KIB, 227 * _KIB, 2048, 32, barriers=64),
        Device("RTX 5090", "sm_120", 170, 100 * _KIB, 99 * _KIB, 1536, 24, barriers=24),
    )
}


def device(name: str) -> Device:
    """The device of that name; InputError for others."""
    if name not in DEVICES:
        raise InputError(f"no device '{name[:40]}'", expected=f"one of {', '.join(DEVICES)}")
    return DEVICES[name]


@dataclass(frozen=True, slots=True)
class Occupancy:
    """`ctas` resident at once (0: the launch fails), and `limits`: the CTAs that each resource allows."""

    ctas: int
    limits: dict[str, int]

    @property
    def limited_by(self) -> tuple[str, ...]:
        """The resources whose limit is `ctas`."""
        return tuple(name for name, limit in self.limits.items() if limit == self.ctas)


def occupancy(on: Device, threads: int, registers: int, smem_bytes: int, barriers: int = 1) -> Occupancy:
    """CTAs of `threads` threads, `registers` a thread and `smem_bytes` each that one multiprocessor holds.

    The rules are those of NVIDIA's `cuda_occupancy.h` (CUDA toolkit 13.0), read there and compared with it
    launch by launch: `benchmarks/occupancy_header.py` compiles the header where it is installed. The cache is
    left at its default carveout, and the kernel has opted into as much shared memory as it asks for. Clusters
    are not modelled.

    `barriers` counts the named barriers that a CTA uses. Raises InputError for counts below 1 (shared memory:
    below 0).
    """
    if threads < 1 or registers < 1 or barriers < 1 or smem_bytes < 0:
        raise InputError("threads, registers and barriers are at least 1, shared memory at least 0 bytes")
    warps = -(-threads // WARP)
    limits = {
        "registers": _by_registers(warps, registers),
        "shared memory": _by_shared_memory(on, smem_bytes),
        "threads": on.threads // WARP // warps if threads <= MAX_BLOCK_THREADS else 0,
        "CTAs": on.ctas,
    }
    if on.barriers is not None:
        limits["barriers"] = on.barriers // barriers
    return Occupancy(min(limits.values()), limits)


def _by_registers(warps: int, registers: int) -> int:
    """A warp's registers come from one partition; the launch check rounds its warps up to all partitions."""
    per_warp = round_up(WARP * registers, _REGISTER_UNIT)
    if registers > MAX_REGISTERS or per_warp * round_up(warps, _PARTITIONS) > REGISTERS:
        return 0
    return REGISTERS // _PARTITIONS // per_warp * _PARTITIONS // warps


def most_threads(registers: int) -> int:
    """The threads of the largest CTA in which each has as many registers; 0 where there is none."""
    warps = (one for one in range(MAX_BLOCK_THREADS // WARP, 0, -1) if _by_registers(one, registers))
    return WARP * next(warps, 0)


def most_registers(threads: int, blocks: int = 1) -> int:
    """The most registers of each thread with which a multiprocessor holds so many CTAs; 0 for none."""
    warps = -(-threads // WARP)
    every = range(MOST_REGISTERS, 0, -1)
    return next((one for one in every if _by_registers(warps, one) >= blocks), 0)


def _by_shared_memory(on: Device, smem_bytes: int) -> int:
    taken = round_up(smem_bytes + on.reserved_smem_bytes, on.smem_unit_bytes)
    if taken > on.smem_cta_bytes + on.reserved_smem_bytes:
        return 0
    return on.smem_bytes // taken if taken else on.ctas


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
    if kernel.threads > MAX_BLOCK_THREADS:
        raise InputError(
            f"{kernel.name}: {kernel.threads} threads a CTA", expected=f"at most {MAX_BLOCK_THREADS}"
        )
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
