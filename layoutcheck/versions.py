"""Versions of the CuTe DSL: the one that the model speaks for, and everything else that depends on one.

"The DSL" and "measured" mean `MODELLED` wherever no version is named. What each other version answers
differently is in docs/versions.md, which `python -m tests.conformance.versions` measures. A newer DSL gets
one warning and works.
"""

from __future__ import annotations

import contextlib
import re
import warnings

MODELLED = "4.8.1"  # its verifier, its lowering and its PTX are what predictions are held against
OLDEST_TRACED = "4.2"  # the oldest that was tried (4.2.1)

# What DSL 4.8.1's `Compiler.compile` asks of the pass `cute-to-nvvm`, and the version that has each first.
LOWERING = (
    ("check-inline-asm=false", "4.6"),
    ("cubin-format=bin", ""),
    ("opt-level=3", ""),
    ("enable-pyir=false", "4.7"),
    ("rdc=false", "4.6"),
    ("enable-assertions=false", ""),
    ("preserve-line-info=false", ""),
    ("enable-cuda-dialect=true", ""),
    ("cuda-dialect-external-module=true", ""),
)

# What stands around messages and in them, white space left out, and the versions that print it so.
FRAMES = (("error[INTERNAL]", "4.8"),)
ALIGNMENT = (("ptralignment(", "4.5 or later"), ("ptralignmentdoesnotmeet", "before 4.5"))

_warned: set[str] = set()


class NewerDsl(UserWarning):
    """The installed DSL is newer than the one that the model speaks for."""


def installed() -> str:
    """The installed DSL's version, "" where there is none; the DSL is not imported."""
    return _of("nvidia-cutlass-dsl", "nvidia-cutlass-dsl-libs-base")


def own() -> str:
    """layoutcheck's own version; where it is not installed, and its source is on Python's path, that."""
    return _of("layoutcheck") or "from source"


def _of(*names: str) -> str:
    from importlib import metadata  # slow to import, and not needed by most who import this module

    for name in names:
        with contextlib.suppress(metadata.PackageNotFoundError):
            return metadata.version(name)
    return ""


def numbers(version: str) -> tuple[int, ...]:
    """(4, 8, 1) of "4.8.1" and of "4.8.1.dev3"; () of what is no version."""
    found = re.match(r"[0-9]{1,6}(?:\.[0-9]{1,6})*", version)
    return tuple(map(int, found[0].split(".")))[:3] if found else ()


def is_newer(version: str) -> bool:
    """Whether a DSL is newer than the one that the model speaks for; a version that cannot be read is not."""
    return numbers(version) > numbers(MODELLED)


def newer(version: str) -> str:
    """What to say of a newer DSL, "" of any other."""
    if not is_newer(version):
        return ""
    return f"CuTe DSL {version} is newer than {MODELLED}, the one that the model speaks for"


def warn_once(version: str) -> None:
    """Warn of a newer DSL (`NewerDsl`), once in this process for each version."""
    text = newer(version)
    if text and version not in _warned:
        _warned.add(version)
        warnings.warn(text, NewerDsl, stacklevel=2)


def lowering(version: str) -> str:
    """The options of `cute-to-nvvm` that this DSL has; of a version that cannot be read, all."""
    have = numbers(version) or numbers(MODELLED)
    return " ".join(option for option, since in LOWERING if have >= numbers(since))


def untraceable(version: str) -> str:
    """Why builds of this DSL cannot be watched, "" where they can."""
    if numbers(version) >= numbers(OLDEST_TRACED):
        return ""
    return f"CuTe DSL {version or 'of unknown version'} cannot be traced: {OLDEST_TRACED} and later can"


def printed_by(text: str, message: str) -> str | None:
    """Which DSL prints such a message in such a text; None where neither tells."""
    for wording, versions in FRAMES:  # a text may be long: it is looked at as it is
        if wording in text:
            return versions
    squeezed = "".join(message.split())
    return next((versions for wording, versions in ALIGNMENT if wording in squeezed), None)
