"""Copy atoms: what one `cute.copy` instruction is asked to be. One family a file.

Each prints as the DSL prints it. `widths`, `modes` and the like come from the PTX ISA or from the
DSL's own type checks; the source stands beside each.
"""

from __future__ import annotations

from typing import TypeAlias

from layoutcheck.machine.atoms.bulk import BulkCopy
from layoutcheck.machine.atoms.cp_async import CpAsync
from layoutcheck.machine.atoms.dsmem import DsmemStore
from layoutcheck.machine.atoms.matrix import LdMatrix, StMatrix
from layoutcheck.machine.atoms.other import OtherAtom
from layoutcheck.machine.atoms.register import RegisterCopy
from layoutcheck.machine.atoms.s2t import S2TCopy
from layoutcheck.machine.atoms.tma import TmaCopy
from layoutcheck.machine.atoms.tmem import TmemLoad, TmemStore
from layoutcheck.machine.atoms.universal import UniversalCopy

Atom: TypeAlias = (
    UniversalCopy
    | CpAsync
    | RegisterCopy
    | LdMatrix
    | StMatrix
    | BulkCopy
    | DsmemStore
    | TmaCopy
    | TmemLoad
    | TmemStore
    | S2TCopy
    | OtherAtom
)

__all__ = [
    "Atom",
    "BulkCopy",
    "CpAsync",
    "DsmemStore",
    "LdMatrix",
    "OtherAtom",
    "RegisterCopy",
    "S2TCopy",
    "StMatrix",
    "TmaCopy",
    "TmemLoad",
    "TmemStore",
    "UniversalCopy",
]
