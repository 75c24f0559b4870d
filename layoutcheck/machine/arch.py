"""GPU architectures: their names, which copy atoms they have, and the limits that copies meet.

Sources: [CPG] CUDA C++ Programming Guide 13, "Compute Capabilities", table of technical specifications;
[PTX] PTX ISA 9, "Target ISA Notes" of each instruction; [DSL] CuTe DSL's own capacity table.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NamedTuple, Protocol

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
        known = ", ".join(f"sm_{n}" for n in sorted(_SMEM_PER_SM_KIB) if n not in _RENAMED)
        raise InputError(
            f"unknown architecture '{name[:40]}'", text=name, end=len(name), expected=f"one of {known}"
        )
    return Arch(number, found[3].lower())


class Needs(NamedTuple):
    """Where an instruction exists: from `first` on, in `families` only (major numbers; empty: in all).

    With a suffix in `first` only under architecture- or family-specific targets, `a` or `f`.
    """

    first: Arch
    families: tuple[int, ...] = ()


EVERYWHERE = Needs(Arch(70))
BLACKWELL_FORMS = Needs(Arch(100, "a"))  # every later architecture, as sm_100a, sm_103f, sm_120a, ...
TENSOR_MEMORY = Needs(Arch(100, "a"), (10, 11))  # not the sm_120 family

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


class Instruction(Protocol):
    """What knows where it exists, as atoms do."""

    @property
    def needs(self) -> Needs:
        """Where."""


def first_arch(atom: Instruction) -> Arch:
    """The first architecture that has the instruction of `atom`."""
    return atom.needs.first


def has_atom(arch: Arch, atom: Instruction) -> bool:
    """Whether `arch` has the instruction of `atom`."""
    return has(arch, atom.needs)


def has(arch: Arch, need: Needs) -> bool:
    """Whether `arch` has what needs this."""
    return (
        arch.number >= need.first.number
        and (not need.first.suffix or bool(arch.suffix))
        and (not need.families or arch.number // 10 in need.families)
    )
