"""Atoms that are recognised by name but whose copies are not modelled yet; a check of them says so."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from layoutcheck.copies.atom import Atom


@dataclass(frozen=True, slots=True)
class OtherAtom(Atom):
    """`name` as printed after `!cute_nvgpu.atom.`, of a later DSL's family, say; `text` the whole type."""

    family: ClassVar[str] = "other"
    modelled: ClassVar[bool] = False

    name: str
    text: str

    def __str__(self) -> str:
        return self.text

    @property
    def phrase(self) -> str:
        """The name."""
        return self.name
