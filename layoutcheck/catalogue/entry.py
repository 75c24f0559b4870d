"""One error that users of CuTe meet, as data: how it is recognised, why it is raised, and what repairs it."""

from __future__ import annotations

import re
from dataclasses import dataclass

ELSEWHERE = "elsewhere"  # the level of an error that another tool answers
UNKNOWN = "unknown"  # the level of a text that tells no error, of which it is said what rules it
CLEAN = "clean"  # the level of a text in which a tool reports nothing wrong


@dataclass(frozen=True, slots=True, eq=False)
class Known:
    """An error of the catalogue.

    - `name`: stable, unique, printed in the report and the catalogue's page
    - `pattern`: searched in the pasted text, in which every run of white space is one space
    - `title`: one line; `{group}` stands for a named group of the pattern
    - `cause`: why the error is raised; `remedy`: what to change or to run
    - `level`: "rejected" (it does not compile or launch), "wrong" (it runs and fails), "slow", "clean" (nothing is wrong), "unknown" (the text tells no error), or "elsewhere"
    - `rule`: the code of the rule that finds the same fault before the compile, if there is one
    - `general`: whether it answers only where no other entry does
    - `defined`: groups of the pattern, one of which the installed DSL must define; "" where it is not asked
    - `instead_of`: names of entries that it answers better where both are recognised
    - `fill`: how its sentences are filled beyond the pattern's groups, one of `filling.WAYS`; "" by what they name
    - `examples`: texts as they are printed, each with the public report or the source that prints it
    """

    name: str
    pattern: re.Pattern[str]
    title: str
    cause: str
    remedy: str
    level: str = "rejected"
    rule: str | None = None
    general: bool = False
    defined: str = ""
    instead_of: tuple[str, ...] = ()
    fill: str = ""
    examples: tuple[tuple[str, str], ...] = ()


def known(name: str, pattern: str, title: str, cause: str, remedy: str, *examples: tuple[str, str],
          level: str = "rejected", rule: str | None = None, general: bool = False, defined: str = "",
          instead_of: tuple[str, ...] = (), fill: str = "") -> Known:  # fmt: skip
    """An entry whose pattern is given as text; `examples` are pairs of a printed text and where it is from."""
    return Known(
        name,
        re.compile(pattern),
        title,
        cause,
        remedy,
        level,
        rule,
        general,
        defined,
        instead_of,
        fill,
        examples,
    )


def issue(number: int, repository: str = "NVIDIA/cutlass") -> str:
    """The address of a public report."""
    return f"https://github.com/{repository}/issues/{number}"


EVALUATE = (
    "Print both operands before the line, or evaluate the same call without the DSL: layoutcheck.crd2idx, "
    "slice_, composition, logical_divide and their kin name the mode that is wrong"
)
TRACE = "`layoutcheck trace --no-launch SCRIPT` judges every copy of the script's kernels without a GPU"
