"""How many CTAs of a launch a multiprocessor holds at once, and what limits them.

The rules are those of NVIDIA's `cuda_occupancy.h` (CUDA toolkit 13.0), read there and compared with it
launch by launch: `benchmarks/occupancy_header.py` compiles the header where it is installed. The cache is
left at its default carveout, and the kernel has opted into as much shared memory as it asks for. Clusters
are not modelled.
"""

from __future__ import annotations

from dataclasses import dataclass

from layoutcheck.errors import InputError

WARP = 32
MAX_THREADS = 1024  # a CTA
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

    `barriers` counts the named barriers that a CTA uses. Raises InputError for counts below 1 (shared memory:
    below 0).
    """
    if threads < 1 or registers < 1 or barriers < 1 or smem_bytes < 0:
        raise InputError("threads, registers and barriers are at least 1, shared memory at least 0 bytes")
    warps = -(-threads // WARP)
    limits = {
        "registers": _by_registers(warps, registers),
        "shared memory": _by_shared_memory(on, smem_bytes),
        "threads": on.threads // WARP // warps if threads <= MAX_THREADS else 0,
        "CTAs": on.ctas,
    }
    if on.barriers is not None:
        limits["barriers"] = on.barriers // barriers
    return Occupancy(min(limits.values()), limits)


def _by_registers(warps: int, registers: int) -> int:
    """A warp's registers come from one partition; the launch check rounds its warps up to all partitions."""
    per_warp = _up(WARP * registers, _REGISTER_UNIT)
    if registers > MAX_REGISTERS or per_warp * _up(warps, _PARTITIONS) > REGISTERS:
        return 0
    return REGISTERS // _PARTITIONS // per_warp * _PARTITIONS // warps


def _by_shared_memory(on: Device, smem_bytes: int) -> int:
    taken = _up(smem_bytes + on.reserved_smem_bytes, on.smem_unit_bytes)
    if taken > on.smem_cta_bytes + on.reserved_smem_bytes:
        return 0
    return on.smem_bytes // taken if taken else on.ctas


def _up(value: int, step: int) -> int:
    return -(-value // step) * step
