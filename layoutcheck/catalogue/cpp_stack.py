"""The errors of a C++ compile, each with the instantiations that led to it, as nvcc, gcc and clang print them.

    FILE(LINE): error: MESSAGE ... detected during:
        instantiation of "CALL [with Name=type, ...]" at line LINE of FILE

    FILE: In instantiation of 'CALL [with Name = type; ...]':
    FILE:LINE:COLUMN:   required from 'CALL [with ...]'
    FILE:LINE:COLUMN:   required from here
    FILE:LINE:COLUMN: error: MESSAGE

    FILE:LINE:COLUMN: error: MESSAGE
    FILE:LINE:COLUMN: note: in instantiation of function template specialization 'CALL<type, ...>' requested here

The innermost instantiation stands first. The first one outside of the headers of CuTe, CUTLASS and the system is the user's.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from layoutcheck.catalogue import cpp_types
from layoutcheck.catalogue.cpp_types import Type
from layoutcheck.digits import is_number

MOST_FAILURES = 12  # those below follow from the first ones
_ERROR = re.compile(
    r"(?<=\S)(?:\((?P<line>[0-9]+)\)|:(?P<row>[0-9]+):[0-9]+): (?:fatal )?error(?: #[\w-]+)?: "
)
_CPP = re.compile(r"\.(?:cuh?|c|cc|cpp|cxx|h|hh|hpp|hxx|inl|inc)\Z")
_CALL = re.compile(
    r"instantiation of (?:\w+ )?\"(?P<call>[^\"]{1,60000})\" at line (?P<line>[0-9]+)(?: of (?P<file>[^\s\"]{1,300}))?"
)
_OF_GCC = re.compile(
    r"(?P<file>\S{1,300}?):(?P<line>[0-9]+):[0-9]+: (?:recursively )?required (?:from|by substitution of) (?:'(?P<call>[^']{1,60000})'|here)"
)
_OF_CLANG = re.compile(
    r"(?P<file>\S{1,300}?):(?P<line>[0-9]+):[0-9]+: note: in instantiation of [\w ]{4,60}? '(?P<call>[^']{1,60000})' requested here"
)
# what gcc prints above the errors of one instantiation, or of one function of the user's
_WHERE = re.compile(r": (?:In (?:instantiation|substitution) of '(?P<call>[^']{1,60000})'|(?:In|At) [a-z])")
_HEADER = re.compile(
    r"(?:^|/)(?:cute|cutlass)/[\w./]*\.(?:hpp|h|inl|cuh)$|/include/c\+\+/|/cuda/std/|/cccl/|/thrust/"
)
_DURING = re.compile(
    r"(?:\^ )?detected during:? |(?=\binstantiation of )|(?=\S{1,300}: (?:In (?:instantiation|substitution|function|member)|At global))"
)
_SOURCE = re.compile(r" static_assert\(| [0-9]+ \| | \^ ")  # the line of source below a message
_ASSERTED = re.compile(
    r"static assertion failed due to requirement '(?P<clang>[^'\n]{3,300})'"
    r"|(?:static_assert|CUTE_STATIC_ASSERT(?:_V)?) ?\( ?(?P<source>(?!decltype\(x\)|x\b| ?\^)[^\"]{3,300}?),? ?(?:\"|\^|detected during|\);|[0-9]+ \|(?!\|)|(?<!\|)\| )"
)
_OPERANDS = "TD DLayout TA ALayout TB BLayout TC CLayout"
_PARAMETERS = {
    "cute::copy": "CopyAtom TV Tiler SrcEngine SrcLayout DstEngine DstLayout",
    "cute::copy_unpack": "AnyCPYTraits SEngine SLayout DEngine DLayout",
    "cute::Copy_Atom::call": "SEngine SLayout DEngine DLayout",
    "cute::mma_unpack": f"AnyMMATraits {_OPERANDS}",
    "cute::MMA_Atom::call": _OPERANDS,
    "cute::MakeTensor::operator_call": "Arg0",
}  # as the headers name them
_MOST_SAID = 400
_LONGEST_PAIR = 160
_WORD = re.compile(r"\b[A-Za-z]\w+")
_TILE = re.compile(r"(?:Cta|CTA)?TileShape")


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
        return cpp_types.parse(cpp_types.packed(found)) if found else None

    def shown(self, *names: str) -> str:
        """The same as a layout or a shape in CuTe's notation; "" for any other type."""
        found = self.type(*names)
        return (cpp_types.notation_of(found) if found else None) or ""


class Failure(NamedTuple):
    """One error: where the text and the program have it, its message with the line of source below, the condition that is false, and the instantiations, innermost first."""

    at: int
    file: str
    line: int
    message: str
    condition: str
    frames: tuple[Frame, ...]

    @property
    def said(self) -> str:
        """The message without the line of source below."""
        return _SOURCE.split(self.message, maxsplit=1)[0]

    @property
    def place(self) -> str | None:
        """The "file:line" in the user's own code that leads to the error."""
        if self.file and not is_header(self.file):
            return f"{self.file}:{self.line}"
        return next((f"{one.file}:{one.line}" for one in self.frames if not is_header(one.file)), None)

    @property
    def call(self) -> str:
        """The call outside of the library that leads to it, with its layouts: "cute::copy at gemm.cu:5 (...)"."""
        outer = next((one for one in self.frames if not is_header(one.file)), None)
        if outer is None or not outer.name.startswith(("cute::", "cutlass::")):
            return ""
        shown = ", ".join(
            f"{name} = {one}"
            for name in outer.given
            if (one := outer.shown(name) or _numbers(outer.type(name))) not in ("", "0")
        )
        return f"{outer.name} at {outer.file}:{outer.line}" + (f" ({shown})" if shown else "")

    @property
    def types(self) -> dict[str, Type]:
        """What the innermost instantiation binds, by the names without a last `_`."""
        inner = self.frames[0] if self.frames else None
        found = {name.rstrip("_"): inner.type(name) for name in inner.given} if inner else {}
        return {name: type_ for name, type_ in found.items() if type_}

    @property
    def whole(self) -> str:
        """The condition; "" where its next line is not in the text."""
        return "" if self.condition.endswith(("||", "&&")) else self.condition

    @property
    def named(self) -> tuple[str, ...]:
        """The condition, and the template arguments that it or the message names; as printed.

        `BLK_K0` is the first mode of `BLK_K`, by its name; who speaks of a tile means the type of its shape.
        """
        names = {word.removesuffix("0") for word in _WORD.findall(f"{self.whole} {self.said}")}
        inner = self.frames[0].given if self.frames else {}
        pairs = (
            f"{name}={type_}"
            for name, type_ in inner.items()
            if name.rstrip("_").removesuffix("0") in names or ("tile" in names and _TILE.match(name))
            if type_ != name
        )
        shown = (f"the condition is {self.whole}",) if self.whole else ()
        return (*shown, *(pair for pair in pairs if len(pair) < _LONGEST_PAIR))

    def giving(self, *parameters: str) -> Frame | None:
        """The innermost instantiation that has all of these template parameters."""
        return next((one for one in self.frames if all(name in one.given for name in parameters)), None)


def _numbers(of: Type | None) -> str:
    """A type whose arguments are all numbers, GemmShape<128,128,32>; "" for any other."""
    numbers = [one.name for one in of.args] if of else []
    return (
        f"{of.name.rpartition('::')[2]}<{','.join(numbers)}>"
        if of and numbers and all(map(is_number, numbers))
        else ""
    )


def is_header(file: str) -> bool:
    """Whether a file is a header of CuTe, CUTLASS, CUDA or the C++ library."""
    return _HEADER.search(file) is not None


@lru_cache(maxsize=8)
def failures(folded: str) -> tuple[Failure, ...]:
    """The errors of a text whose white space is folded, in its order."""
    return tuple(_failures(folded))


def _failures(folded: str) -> Iterator[Failure]:
    marks = (one for one in _ERROR.finditer(folded) if _CPP.search(folded, 0, one.start()))
    found = list(itertools.islice(marks, MOST_FAILURES + 1))
    ends = [*(one.start() for one in found[1:]), len(folded)]
    frames: tuple[Frame, ...] = ()
    behind = 0
    for error, end in zip(found[:MOST_FAILURES], ends, strict=False):
        file = folded[folded.rfind(" ", 0, error.start()) + 1 : error.start()]
        part = folded[error.end() : end]
        where = list(_WHERE.finditer(folded, behind, error.start()))
        if where:  # gcc repeats nothing where the next error is of the same instantiation
            frames = tuple(_above(folded, where[-1], error.start()))
        yield _failure(error.start(), file, int(error["line"] or error["row"]), part, frames)
        behind = error.end()


def asserted(folded: str, end: int = 0) -> Failure | None:
    """The last failure before `end` whose condition the text has, or else the first, be it without the line that begins it."""
    known = [one for one in failures(folded) if one.condition]
    if known:
        return next((one for one in reversed(known) if one.at < end), known[0])
    found = _ASSERTED.search(folded)
    at = found.start() if found else folded.find("instantiation of ")
    return _failure(at, "", 0, folded[at:], ()) if at >= 0 else None


def place(folded: str, end: int) -> str | None:
    """The place in the user's own code that leads to the last error before `end`; None where the text has none."""
    return next((one.place for one in reversed(failures(folded)) if one.at < end), None)


def _failure(at: int, file: str, line: int, part: str, above: tuple[Frame, ...]) -> Failure:
    during, asserted = _DURING.search(part), _ASSERTED.search(part)
    condition = (asserted["clang"] or asserted["source"]).strip().rstrip(",").strip() if asserted else ""
    message = part[: during.start() if during else len(part)][:_MOST_SAID]
    frames = tuple(_below(part, file)) or above
    if not frames and (cut := cpp_types.given(part, 0)):  # before its end, which has the place
        frames = (Frame("", "", dict(cut), file, line),)
    return Failure(at, file, line, message.strip(), condition, frames)


def _below(part: str, file: str) -> Iterator[Frame]:
    """The instantiations that nvcc or clang prints below an error."""
    for found in _CALL.finditer(part) if "instantiation of" in part else ():
        yield _frame(found["call"], found["file"] or file, int(found["line"]))
    for found in _OF_CLANG.finditer(part) if "requested here" in part else ():
        yield _frame(found["call"], found["file"], int(found["line"]))


def _above(folded: str, where: re.Match[str], end: int) -> Iterator[Frame]:
    """The instantiations that gcc prints above an error: each is made at the place of the next one."""
    call = where["call"]
    for found in _OF_GCC.finditer(folded, where.end(), end) if call else ():
        if call:
            yield _frame(call, found["file"], int(found["line"]))
        call = found["call"]


def _frame(call: str, file: str, line: int) -> Frame:
    head = call.partition(" [with ")[0]
    name = _name(head)
    given = dict(cpp_types.given(call, 0)) if head != call else _by_position(name, head)
    return Frame(name, head, given, file, line)


def _by_position(name: str, call: str) -> dict[str, str]:
    """The template arguments of a call that clang prints without the parameters' names."""
    names, given = _PARAMETERS.get(name, "").split(), cpp_types.arguments(call)
    if name == "cute::copy" and len(given) != len(names):  # of another policy than a tiled copy
        names, given = names[-4:], given[-4:]
    return dict(zip(names, given, strict=True)) if len(names) == len(given) else {}


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
