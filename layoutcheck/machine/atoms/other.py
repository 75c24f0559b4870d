"""Atoms that are recognised by name but whose copies are not modelled yet; a check of them says so."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class OtherAtom:
    """`name` as printed after `!cute_nvgpu.atom.`, of a later DSL's family, say; `text` the whole type."""

    name: str
    text: str

    def __str__(self) -> str:
        return self.text
