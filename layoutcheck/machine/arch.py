"""GPU architectures: their names, which copy atoms they have, and the limits that copies meet.

Sources: [CPG] CUDA C++ Programming Guide 13, "Compute Capabilities", table of technical specifications;
[PTX] PTX ISA 9, "Target ISA Notes" of each instruction; [DSL] CuTe DSL 4.8.1's own capacity table.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from layoutcheck.errors import InputError
from layoutcheck.machine.atoms import Atom, BulkCopy, CpAsync, DsmemStore, LdMatrix, StMatrix

BANKS = 32  # shared memory: banks, and
BANK_BYTES = 4  # successive 32-bit words in successive banks [CPG]
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

_NAME = re.compile(r"(?:sm_?|compute_?)?(\d{1,2})\.?(\d)([af]?)\Z", re.IGNORECASE)


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


def first_arch(atom: Atom) -> Arch:
    """The first architecture that has the instruction of `atom`.

    cp.async: sm_80. ldmatrix: sm_75; its .m16n16 and .m8n16 (8-, 6- and 4-bit) shapes: sm_100a.
    stmatrix: sm_90; its .m16n8.b8 shape: sm_100a. cp.async.bulk and st.async: sm_90, .cp_mask sm_100. Plain
    loads and stores: everywhere. [PTX]
    """
    if isinstance(atom, CpAsync):
        return Arch(80)
    if isinstance(atom, BulkCopy):
        return Arch(100) if atom.byte_mask else Arch(90)
    if isinstance(atom, DsmemStore):
        return Arch(90)
    if isinstance(atom, LdMatrix):
        return Arch(75) if atom.mode == (8, 8) else Arch(100, "a")
    if isinstance(atom, StMatrix):
        return Arch(90) if atom.mode == (8, 8) else Arch(100, "a")
    return Arch(70)


def has_atom(arch: Arch, atom: Atom) -> bool:
    """Whether `arch` has the instruction of `atom`.

    The sm_100a forms exist on every later architecture too, but only under an architecture- or
    family-specific target (suffix a or f) [PTX].
    """
    first = first_arch(atom)
    return arch.number >= first.number and (not first.suffix or bool(arch.suffix))
