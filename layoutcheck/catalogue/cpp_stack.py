"""The errors of a C++ compile, each with the instantiations that led to it, as nvcc prints them.

    FILE(LINE): error: MESSAGE ... detected during:
        instantiation of "CALL [with Name=type, ...]" at line LINE of FILE

The innermost instantiation stands first. The first one outside of the headers of CuTe, CUTLASS and the system is the user's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from layoutcheck.catalogue import cpp_types
from layoutcheck.catalogue.cpp_types import Type

MOST_FAILURES = 12  # those below follow from the first ones
_ERROR = re.compile(r"(?P<file>[^\s\"()]{1,300})\((?P<line>[0-9]+)\): (?:fatal )?error(?: #[\w-]+)?: ")
_CALL = re.compile(
    r"instantiation of (?:\w+ )?\"(?P<call>[^\"]{1,60000})\" at line (?P<line>[0-9]+)(?: of (?P<file>[^\s\"]{1,300}))?"
)
_HEADER = re.compile(
    r"(?:^|/)(?:cute|cutlass)/[\w./]*\.(?:hpp|h|inl|cuh)$|/include/c\+\+/|/cuda/std/|/cccl/|/thrust/"
)
_DURING = re.compile(r"(?:\^ )?detected during:? |(?=\binstantiation of )")
_MOST_SAID = 400


# The row of meanings/instantiations.txt that says a failure's cause, and what its sentences name; None where it is not this kind.
Says = tuple[str, dict[str, str]] | None


class Frame(NamedTuple):
    """One instantiation: the function or class with its namespaces, its signature, its template parameters, where it is used."""

    name: str
    signature: str
    given: dict[str, str]
    file: str
    line: int

    def type(self, *names: str) -> Type | None:
        """The type that the first of these parameters is given; None where none of them is, or the text is cut there."""
        found = next((self.given[name] for name in names if name in self.given), "")
        return cpp_types.parse(f"tuple{found}" if found.startswith("<") else found) if found else None

    def shown(self, *names: str) -> str:
        """The same as a layout or a shape in CuTe's notation; "" for any other type."""
        found = self.type(*names)
        return (cpp_types.notation_of(found) if found else None) or ""


class Failure(NamedTuple):
    """One error: where it is, its message with the line of source below, and the instantiations, innermost first."""

    file: str
    line: int
    message: str
    frames: tuple[Frame, ...]

    @property
    def place(self) -> str | None:
        """The "file:line" in the user's own code that leads to the error."""
        if not is_header(self.file):
            return f"{self.file}:{self.line}"
        return next((f"{one.file}:{one.line}" for one in self.frames if not is_header(one.file)), None)

    def giving(self, *parameters: str) -> Frame | None:
        """The innermost instantiation that has all of these template parameters."""
        return next((one for one in self.frames if all(name in one.given for name in parameters)), None)


def is_header(file: str) -> bool:
    """Whether a file is a header of CuTe, CUTLASS, CUDA or the C++ library."""
    return _HEADER.search(file) is not None


def failures(folded: str) -> Iterator[Failure]:
    """The errors of a text whose white space is folded, in its order."""
    found = list(_ERROR.finditer(folded))
    ends = [*(one.start() for one in found[1:]), len(folded)]
    for error, end in zip(found[:MOST_FAILURES], ends, strict=False):
        part = folded[error.end() : end]
        during = _DURING.search(part)
        message = part[: during.start() if during else len(part)][:_MOST_SAID]
        calls = _CALL.finditer(part, during.end()) if during else iter(())
        frames = (
            Frame(
                _name(head),
                head,
                dict(cpp_types.given(call["call"], 0)),
                call["file"] or error["file"],
                int(call["line"]),
            )
            for call in calls
            for head in [call["call"].partition(" [with ")[0]]
        )
        yield Failure(error["file"], int(error["line"]), message.strip(), tuple(frames))


def _name(signature: str) -> str:
    """`cute::Copy_Atom::call` of a signature: what stands before its arguments, without template arguments."""
    depth, kept = 0, list[str]()
    for letter in signature.replace("operator()", "operator_call").replace("decltype(auto)", "auto"):
        depth += (letter == "<") - (letter == ">")
        if letter == "(" and depth == 0:
            break
        if depth == 0 and letter != ">":
            kept.append(letter)
    return "".join(["", *"".join(kept).split()][-1:])
