"""What a message of ptxas says where no entry is about it: the kind of its words, with what stands wrong in the PTX."""

from __future__ import annotations

from layoutcheck.catalogue import meanings

KINDS = meanings.read("ptx")
OTHER = (
    "ptxas does not accept the PTX that the compiler or inline assembly wrote.",
    "Look the instruction up in the PTX ISA for this target",
)


def meaning(said: str) -> tuple[str, str]:
    """(why ptxas prints it, what helps)."""
    found = meanings.first(KINDS, said)
    return (found.cause, found.helps) if found else OTHER
