"""The parts of CUTLASS, by the paths of their headers: what each asks of its template arguments."""

from __future__ import annotations

from layoutcheck.catalogue import meanings, refused

ROOMS = meanings.read("headers")
# kinds that say less than the part of CUTLASS does
_VAGUE = "choice", "argument", "size", "unhandled", "division", "architecture"


def helps(path: str) -> str:
    """What the code of a header takes, by the header's path."""
    room = meanings.first(ROOMS, path)
    return room.helps if room else "Read the condition in the header's line"


def cause(message: str, path: str, alone: bool = True) -> str:
    """Why an assertion of a header fails: by what the header asks for, and by the kind of a message that stands alone, without its condition."""
    kind, room = refused.kind(message), meanings.first(ROOMS, path)
    told = refused.OTHER if kind is None else "" if room and kind.name in _VAGUE else kind.cause
    return " ".join(filter(None, (told if alone else "", room.cause if room else "")))
