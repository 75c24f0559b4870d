"""Options that several commands share."""

from __future__ import annotations

from dataclasses import MISSING, fields
from pathlib import Path
from typing import Annotated

from layoutcheck.cli.arguments import Group, Option
from layoutcheck.formats import FORMATS, listed
from layoutcheck.request import Given, help_of, kind_of

Output = Annotated[Path | None, Option("write the report to this file; '-' is stdout")]
Strict = Annotated[bool, Option("exit 1 on slow and unknown too", "--strict")]
FailOn = Annotated[
    str | None,
    Option(
        "exit 2 on any of these: case-failed,no-kernels,unreadable (the default), types-only, tests-skipped; "
        "or none"
    ),
]
Coverage = Annotated[float | None, Option("exit 2 if less than this percentage of the copy sites is reached")]
Known = Annotated[
    float | None, Option("exit 2 if less than this percentage of the copies is known for all threads")
]
NoLowered = Annotated[
    bool, Option("judge copies of unknown layouts by their types, without lowering", "--no-lowered")
]
NoOrder = Annotated[
    bool, Option("leave the order of accesses (waits, barriers, fences, phases) unchecked", "--no-order")
]
Compiler = Annotated[bool, Option("ask the installed DSL as well", "--compiler")]
MMA = Group(
    {
        name: (str | None, Option(f"of --mma: {text}" if name != "mma" else text), None)
        for name, text in (
            ("mma", "a tensor-core MMA: code, a printed type, or a name such as mma.m16n8k16.f32.bf16"),
            ("a", "what A's registers hold (a thread-value layout, a tiled copy, make_tiled_copy_A, "
             "'ldmatrix LAYOUT'), or A's shared layout"),
            ("b", "the same of B"),
            ("c", "the same of C"),
            ("atom_layout", "atoms over (M,N,K), '(2,2,1)'"),
            ("permutation", "permutation of (M,N,K), '(32,32,16)'"),
        )
    }
)  # fmt: skip


def format_of(command: str, more: str = "") -> Option:
    """`--format` of a command; its help says `more` behind the formats."""
    return Option(f"{listed(command)}{more}", "--format", values=FORMATS[command])


def group_of(request: type[Given], *positional: str) -> Group:
    """The options of a request, one for each field, all of which may be left out."""
    return Group(
        {
            one.name: (
                kind if (kind := kind_of(one) or str) is bool else kind | None,
                Option(help_of(one), positional=one.name in positional),
                None if one.default is MISSING else one.default,
            )
            for one in fields(request)  # type: ignore[arg-type]
        }
    )
