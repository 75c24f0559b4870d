"""What a tile shape costs: registers a thread, shared memory, CTAs a multiprocessor, waves.

Register counts from fragments are lower bounds: addresses, predicates and temporaries come on top, and only
the compiler knows how many. Where its count is known (`registers`), occupancy follows exactly.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

from layoutcheck.errors import InputError
from layoutcheck.numerics.formats import fmt


@dataclass(frozen=True, slots=True)
class Device:
    """Limits of one multiprocessor (CUDA programming guide, technical specifications by compute capability).

    `reserved_smem_bytes` of every CTA's shared memory is the system's.
    """

    name: str
    arch: str
    multiprocessors: int
    smem_bytes: int
    threads: int
    ctas: int
    registers: int = 65536
    register_unit: int = 256  # registers are given to warps in units of this many
    smem_unit_bytes: int = 128
    reserved_smem_bytes: int = 1024


DEVICES = {
    device.name: device
    for device in (
        Device("V100", "sm_70", 80, 96 * 1024, 2048, 32, smem_unit_bytes=256, reserved_smem_bytes=0),
        Device("A100", "sm_80", 108, 164 * 1024, 2048, 32),
        Device("L40S", "sm_89", 142, 100 * 1024, 1536, 24),
        Device("H100", "sm_90", 132, 228 * 1024, 2048, 32),
        Device("H200", "sm_90", 132, 228 * 1024, 2048, 32),
        Device("B200", "sm_100", 148, 228 * 1024, 2048, 32),
    )
}


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
    registers: int | None = None,
) -> Kernel:
    """A FlashInfer-like decode (v0.2.0), f16: one CTA a request and KV head, four warps.

    With tensor cores the CTA runs the prefill kernel: a 16-row Q tile, 128 keys, each warp its own part of
    the keys with a whole f32 O tile. Without, a thread holds 8 of the head's elements, so that 128 threads
    take 1024 / `head_dim` rows of K and V at a time, in two stages, beside 128 page pointers; its parts of Q
    and O stay in registers.
    """
    if tensor_cores:
        rows, keys = 16, 128
        s = Fragment("S = Q K^T, a warp's 32 keys", rows * keys // 4, "f32", 32)
        fragments = (s, Fragment("O, whole in each warp", rows * head_dim, "f32", 32))
        buffers = (Buffer("Q", (rows, head_dim), 16), Buffer("K and V", (2, keys, head_dim), 16))
    else:
        q = Fragment("Q, eight elements a thread", 8 * 128, "f32", 128)
        fragments = (q, Fragment("O, eight elements a thread", 8 * 128, "f32", 128))
        tiles = Buffer("K and V", (2, 1024 // head_dim, head_dim), 16, stages=2)
        buffers = (tiles, Buffer("pointers", (128,), 64))
    name = "prefill kernel, tensor cores" if tensor_cores else "decode kernel, CUDA cores"
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
    """A tiled GEMM with an f32 accumulator in registers and `stages` of A and B in shared memory."""
    m, n, k = tile
    bits = fmt(inputs).bits
    return Kernel(
        f"gemm {m}x{n}x{k}",
        threads,
        (Fragment("C", m * n, "f32", threads),),
        (Buffer("A", (m, k), bits, stages), Buffer("B", (n, k), bits, stages)),
        ctas,
        registers,
    )


def resources(kernel: Kernel, device: str | Device = "H200") -> dict[str, Any]:
    """Registers, shared memory, resident CTAs and waves of `kernel` on `device`.

    `waves` is CTAs over what all multiprocessors hold at once. Raises InputError for an unknown device, for
    sizes that are not positive, and where one CTA does not fit.
    """
    if isinstance(device, str):
        if device not in DEVICES:
            raise InputError(f"no device '{device[:40]}'", expected=f"one of {', '.join(DEVICES)}")
        device = DEVICES[device]
    if kernel.threads < 1 or kernel.ctas < 1 or any(buffer.size_bytes < 1 for buffer in kernel.buffers):
        raise InputError(f"{kernel.name}: threads, CTAs and tiles are positive numbers")
    bound = sum(fragment.registers for fragment in kernel.fragments)
    used = max(bound, 1) if kernel.registers is None else kernel.registers
    smem = sum(buffer.size_bytes for buffer in kernel.buffers)
    warps = -(-kernel.threads // 32)
    per_warp = _up(32 * used, device.register_unit)
    limits = {
        "registers": device.registers // (per_warp * warps),
        "shared memory": device.smem_bytes // _up(smem + device.reserved_smem_bytes, device.smem_unit_bytes),
        "threads": device.threads // (32 * warps),
        "ctas": device.ctas,
    }
    limit = min(limits, key=lambda name: limits[name])
    resident = limits[limit]
    if used > 255 or resident < 1:
        raise InputError(
            f"{kernel.name}: one CTA does not fit on {device.name} ({limit}; {used} registers a thread)"
        )
    return {
        "kernel": kernel.name,
        "device": device.name,
        "threads": kernel.threads,
        "registers_lower_bound": bound,
        "registers": kernel.registers,
        "fragments": {fragment.name: fragment.registers for fragment in kernel.fragments},
        "smem_bytes": smem,
        "buffers": {buffer.name: buffer.size_bytes for buffer in kernel.buffers},
        "ctas": kernel.ctas,
        "ctas_per_multiprocessor": resident,
        "limited_by": limit,
        "waves": kernel.ctas / (resident * device.multiprocessors),
    }


def _up(value: int, step: int) -> int:
    return -(-value // step) * step
