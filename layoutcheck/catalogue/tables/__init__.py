"""The entries, by who prints the error. Where two begin at one place of a text, the table that stands first answers.

A table is a text file in this folder; `catalogue.rows` says how it is written, `catalogue.entry` what a row means.
"""

from __future__ import annotations

from functools import cache

from layoutcheck.catalogue.entry import Known, known
from layoutcheck.catalogue.rows import rows

_BY_NAME: dict[str, Known] = {}


@cache
def _table(file: str) -> tuple[Known, ...]:
    every = tuple(known(row) for row in rows(f"tables/{file}.txt"))
    _BY_NAME.update((entry.name, entry) for entry in every)
    return tuple(entry for entry in every if entry.words.text)


def of(*files: str) -> tuple[Known, ...]:
    """The entries of these tables that are found by their words."""
    return tuple(entry for file in files for entry in _table(file))


def called(name: str) -> Known:
    """The entry of this name, which code refers to. Raises KeyError where there is none."""
    return _BY_NAME[name]


def meaning(number: int) -> str:
    """What the table of codes says of an error of CUDA; "" for a number that is not in it."""
    named = (entry.title for entry in reversed(of("cuda_codes")) if number in entry.numbers)
    return next(named, _OTHERS.get(number, ""))


_OTHERS = {  # numbers that stand in other tables
    2: "the GPU has no memory left",
    209: "the program holds no code for this GPU",
    100: "there is no GPU here",
}

CALLS = of("calls")  # Python's own errors about the DSL
DSL = of("installation", "instructions", "operations", "layouts", "arguments", "host_calls", "values",
         "control_flow", "compiler")  # fmt: skip
CPP = of("cpp_copies", "cpp_tensors", "cpp_kernels", "cpp_headers", "cpp_templates")
MACHINE = of("driver", "cuda_codes", "ptxas", "sanitizers", "profilers")
ELSEWHERE = of("linking", "elsewhere", "cuda_libraries", "machine_setup", "configure", "packages", "builds")
NOTHING_WRONG = of("clean")
SYMPTOMS = of("symptoms")  # looked for where none of ENTRIES answers

ENTRIES = (*CALLS, *DSL, *CPP, *MACHINE, *ELSEWHERE, *NOTHING_WRONG)
