"""GPU architectures: their names, which copy atoms they have, and the limits that copies meet.

Sources: [CPG] CUDA C++ Programming Guide 13, "Compute Capabilities", table of technical specifications;
[PTX] PTX ISA 9, "Target ISA Notes" of each instruction; [DSL] CuTe DSL's own capacity table.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NamedTuple

from layoutcheck.errors import InputError

BANKS = 32  # of shared memory, successive 32-bit words in successive banks [CPG]
SECTOR_BYTES = 32  # global memory moves in sectors [CUDA C++ Best Practices Guide, 10.2.1]
LINE_BYTES = 128  # L1 line: four sectors
WARP = 32
MAX_BLOCK_THREADS = 1024  # [CPG], every compute capability
RESERVED_SMEM_BYTES = 1024  # of every block, for the system; sm_80 and later [CPG]

# Shared memory an SM has for its blocks, in KiB [CPG]; sm_107 from [DSL].
_SMEM_PER_SM_KIB = {
    70: 96, 72: 96, 75: 64, 80: 164, 86: 100, 87: 164, 88: 100, 89: 100, 90: 228, 100: 228, 101: 228,
    103: 228, 107: 328, 110: 228, 120: 100, 121: 100,
}  # fmt: skip

# PTX targets that are later names of another [PTX 9.0: sm_101 was renamed sm_110].
_RENAMED = {101: 110}

_NAME = re.compile(r"(?:sm_?|compute_?)?([0-9]{1,2})\.?([0-9])([af]?)\Z", re.IGNORECASE)
_FIRST_WITH = {"": 0, "a": 90, "f": 100}  # targets with this suffix [PTX, .target]

# What people call them, for a message [developer.nvidia.com/cuda-gpus].
_CALLED = {
    "v100 volta": "sm_70", "t4 turing 2060 2070 2080": "sm_75", "a100 a800 ampere": "sm_80",
    "a10 a40 3060 3070 3080 3090": "sm_86", "orin": "sm_87", "l4 l40 l40s 4060 4070 4080 4090 ada": "sm_89",
    "h100 h200 h800 h20 gh200 hopper": "sm_90a", "b100 b200 gb200 blackwell": "sm_100a",
    "b300 gb300": "sm_103a", "thor": "sm_110a", "5060 5070 5080 5090": "sm_120a", "gb10 spark": "sm_121a",
}  # fmt: skip


@dataclass(frozen=True, slots=True, order=True)
class Arch:
    """`number` is major * 10 + minor (90 for sm_90a); `suffix` is "a", "f" or ""."""

    number: int
    suffix: str = ""

    def __str__(self) -> str:
        return f"sm_{self.number}{self.suffix}"

    @property
    def smem_per_sm_bytes(self) -> int:
        """Shared memory of one SM."""
        return _SMEM_PER_SM_KIB[self.number] * 1024

    @property
    def smem_per_block_bytes(self) -> int:
        """The most that one block can have, after opting in: from sm_80 on 1 KiB less than the SM's [CPG]."""
        return self.smem_per_sm_bytes - (RESERVED_SMEM_BYTES if self.number >= 80 else 0)

    @property
    def widest_access_bits(self) -> int:
        """The widest access of one thread: 128; 256 in global memory from sm_100 on [PTX, ld: .v8.b32]."""
        return 256 if self.number >= 100 else 128


def parse_arch(name: str) -> Arch:
    """An architecture from `sm_90a`, `sm90`, `90a`, `9.0`, `compute_100f` and the like.

    Raises InputError for anything else and for architectures that are not known.
    """
    found = _NAME.match(name.strip())
    number = int(found[1] + found[2]) if found else 0
    number = _RENAMED.get(number, number)
    if found is None or number not in _SMEM_PER_SM_KIB:
        expected = called(name)
        if expected is None:
            known = ", ".join(f"sm_{n}" for n in numbers())
            expected = f"one of {known}"
        raise InputError(f"unknown architecture '{name[:40]}'", text=name, end=len(name), expected=expected)
    suffix = found[3].lower()
    if number < _FIRST_WITH[suffix]:
        raise InputError(
            f"sm_{number} has no target with the suffix '{suffix}'",
            text=name,
            end=len(name),
            expected=f"sm_{number}a" if number >= _FIRST_WITH["a"] else f"sm_{number}",
        )
    return Arch(number, suffix)


def called(name: str) -> str | None:
    """The architecture of a GPU or a generation: sm_90a of "H100", "hopper", "NVIDIA H100 80GB"."""
    words = re.findall(r"[a-z]*[0-9]*[a-z]*", name.lower())
    found = (target for each in words for known, target in _CALLED.items() if each in known.split())
    return next(found, None)


def numbers() -> list[int]:
    """The compute capabilities that are known, as major * 10 + minor."""
    return sorted(number for number in _SMEM_PER_SM_KIB if number not in _RENAMED)


def most_shared(number: int) -> int:
    """The shared memory in bytes that a block can have on sm_{number}; 0 where that is not known."""
    return Arch(number).smem_per_block_bytes if number in _SMEM_PER_SM_KIB else 0


class Needs(NamedTuple):
    """Where an instruction exists: from `first` on, in `families` only (major numbers; empty: in all).

    With a suffix in `first` only under architecture- or family-specific targets, `a` or `f`.
    """

    first: Arch
    families: tuple[int, ...] = ()


EVERYWHERE = Needs(Arch(70))
BLACKWELL_FORMS = Needs(Arch(100, "a"))  # every later architecture, as sm_100a, sm_103f, sm_120a, ...
TENSOR_MEMORY = Needs(Arch(100, "a"), (10, 11))  # not the sm_120 family

# Where CUTLASS keeps what a guard CUTE_ARCH_... stands around, by words of its name, the particular first:
# what it calls SM90's every later target with a suffix has, but for wgmma [CUTLASS 4, cute/arch/config.hpp].
GUARDS = {
    "MMA_SM90A": Needs(Arch(90, "a"), (9,)),
    "SM120": Needs(Arch(120), (12,)),
    "TCGEN05": TENSOR_MEMORY,
    "SM100": TENSOR_MEMORY,
    "SM90": Needs(Arch(90, "a")),
}

# The architectures of a page or a message, in order.
TARGETS = (
    "sm_80",
    "sm_89",
    "sm_90",
    "sm_90a",
    "sm_100",
    "sm_100a",
    "sm_103a",
    "sm_110a",
    "sm_120",
    "sm_120a",
)


def has(arch: Arch, need: Needs) -> bool:
    """Whether `arch` has what needs this."""
    return (
        arch.number >= need.first.number
        and (not need.first.suffix or bool(arch.suffix))
        and (not need.families or arch.number // 10 in need.families)
    )
