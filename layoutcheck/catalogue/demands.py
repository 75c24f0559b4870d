"""What a library asks for where it refuses a call: the kind of its message, by words that libraries have in common.

The message is the statement. What is added is why such a condition stands in a GPU library, and what makes it hold.
"""

from __future__ import annotations

import re

from layoutcheck.catalogue import meanings
from layoutcheck.catalogue.literals import Words
from layoutcheck.catalogue.meanings import Meaning

DEMANDS, COMPILED = meanings.read("demands"), meanings.read("compiled")
INNER = Meaning(
    Words(r"unsupported AST node|[Pp]ass (?:pipeline|manager)|PassManager|see current operation|\berror: (?:'[a-z_]+\.[\w.]+' op |operand #[0-9]+ does not dominate|failed to (?:verify|legalize))"),
    "One of its own steps stops: it meets the program in a form that it does not handle, as a tile too small or of unusual shape for the instruction, a number of warps, or an operation that the target does not have. No argument of the call is at fault by itself.",
    "Change the tile, stages, warps or options to find the statement that the message is about; take a newer release, and report the program with its IR (Triton: TRITON_KERNEL_DUMP=1, MLIR_ENABLE_DUMP=1)",
)  # fmt: skip
# The same of a compiler of graphs or of MLIR itself, which has no tiles of the program's.
LOWERING = INNER._replace(
    cause="One of its own steps meets an operation that it does not turn into the next form: there is no lowering of it for this target or these types, or the pass that has one was left out. No tile and no layout of the program is at fault.",
    helps="Look at the operation that the message names: decompose it before, keep it out of the program, or add the pass that lowers it; take a newer release, and report the smallest module that shows it",
)
REFUSED = INNER._replace(
    cause="The operation's own check refuses it: the program, or a pass before, made it of operands, shapes or attributes that it does not take. No tile and no layout of a kernel is at fault.",
    helps="Look at that operation in the module as it was before the pass: its types, shapes and attributes; take a newer release, and report the smallest module that shows it",
)
# What Python's own exceptions mean where no message tells more.
EXCEPTIONS = {one.name: (one.cause, one.helps) for one in meanings.read("exceptions")}
_DIVISOR = re.compile(r"(?:divisible by|multiples? of) (?P<number>[0-9]+)", re.IGNORECASE)
_MOST = re.compile(
    r"(?:at most|<=|no more than|up to|maximum(?: of| is)?|less than or equal to) ?(?P<number>[0-9]+)",
    re.IGNORECASE,
)
_GOT = re.compile(
    r"\b(?:got|found|received|given|actual|instead of|but|has|have|is)\b(?P<values>[^;]{1,120})$",
    re.IGNORECASE,
)
_COMPARED = re.compile(
    r"(?:\bassert |^)(?P<have>[0-9.]+(?:e[-+]?[0-9]+)?) ?<=? ?\(*(?:(?P<times>[0-9.]+) \* )?(?P<most>[0-9.]+(?:e[-+]?[0-9]+)?)"
)
_NO_ROUNDING = 100  # times what is allowed
_NUMBER = re.compile(r"(?<![\w.])[0-9]{1,9}(?![\w.])")


def broken(said: str) -> tuple[str, ...]:
    """Which of the values that a message prints are not what it asks for, as far as its own numbers tell."""
    got = _GOT.search(said)
    asked = said[: got.start()] if got else ""
    values = list(dict.fromkeys(int(one) for one in _NUMBER.findall(got["values"]))) if got else []
    told = [
        f"{value} is no multiple of {divisor}: the next is {-(-value // divisor) * divisor}"
        for divisor in dict.fromkeys(int(one["number"]) for one in _DIVISOR.finditer(asked))
        for value in values
        if divisor and value % divisor
    ]
    compared = _COMPARED.search(said)
    if compared and (allowed := float(compared["most"]) * float(compared["times"] or 1)) > 0:
        ratio = float(compared["have"]) / allowed
        if ratio > _NO_ROUNDING:
            told.append(
                f"{compared['have']} is {ratio:,.0f} times the {allowed:.2g} that is allowed: a wrong result, not rounding"
            )
    most = _MOST.search(asked)
    told += [
        f"{value} is more than {most['number']}" for value in values if most and value > int(most["number"])
    ]
    return tuple(told[:3])


DIFFERS = next(one for one in DEMANDS if one.cause.startswith("A test compares a result"))


def demand(said: str) -> Meaning | None:
    """The kind of demand that the message makes; None where its words tell none."""
    return meanings.first((INNER, *DEMANDS), said)


def of_lines(said: str, beside: list[str]) -> Meaning | None:
    """The demand of a message; that of a line beside it, where that one's is more particular."""
    found = [one for one in map(demand, (said, *beside)) if one and said]
    return min(found, key=(INNER, *DEMANDS).index, default=None)


def compiled(said: str) -> Meaning | None:
    """The kind of a C++ compiler's error; None where its words tell none."""
    return meanings.first(COMPILED, said)
