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
EXCEPTIONS = {
    "CalledProcessError": ("A program that the code starts ends with an error. What it printed stands above, and not in this exception.", "Read the lines above for that program's first error; start the command by hand. Triton and torch.compile start gcc: it must be installed, with Python's headers"),
    "UnboundLocalError": ("A variable is read that no statement has set on this path: it is assigned only in a branch, a loop or a try that did not run.", "Look at the function of that name for where the variable is set; in the library's code it is a fault of the library, and another option or version avoids it"),
    "NameError": ("A name is used that is not defined or imported there.", "Import or define it; in a library's code it is a fault of that version"),
    "KeyError": ("A dictionary has no entry of this key: a configuration, an architecture, a shape or a type that its table does not have.", "Print the keys of the table in that line; a newer version of the library may have the entry"),
    "IndexError": ("An index is beyond the end of a list, a tuple or a tensor.", "Print the length and the index before that line"),
    "ZeroDivisionError": ("A divisor is 0: a size, a count or a tile that came out empty.", "Print the operands before that line"),
    "NotImplementedError": ("The library has no code for this combination of arguments.", "Take another option or back end, or a newer version"),
    "RecursionError": ("A function calls itself without end.", "Look at the frames that repeat in the traceback"),
    "FileNotFoundError": ("A file, a folder or a program is not where the code looks for it.", "Look at the path in the message, and at the variables that set it (CUDA_HOME, PATH, cache folders)"),
    "PermissionError": ("This user may not read, write or run a file.", "Point caches and temporary folders to a folder of your own (XDG_CACHE_HOME, TMPDIR)"),
    "TimeoutError": ("A wait ends without what it waits for.", "Look at what the other side does: another process, a download, a kernel"),
    "AttributeError": ("The object does not have this member: it is None or of another kind, or the library is of another version than the code.", "Print the object's type before that line, and compare versions with the requirements"),
    "TypeError": ("A call has other arguments than the function takes, or an operation meets a type that it does not have.", "Compare the call with help(FUNCTION) of the installed version"),
    "ImportError": ("A module or a name of it cannot be imported: it is missing, of another version, or its own import fails.", "Import it alone, python -c 'import MODULE', and read the first error"),
    "OSError": ("The system refuses a file, a library or a device.", "The words behind it name what"),
    "JSONDecodeError": ("A file or an answer that should be JSON is empty or cut off.", "Look at the file; a cache that is written by several processes is deleted"),
    "AssertionError": ("A condition that the code relies on is false.", "Print both sides of the condition before that line"),
}  # fmt: skip


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
