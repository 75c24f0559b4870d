"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from layoutcheck.cli.arguments import Option

Format = Annotated[str, Option("text, json, github, sarif, html or svg", "--format")]
Output = Annotated[Path | None, Option("write the report to this file")]
Strict = Annotated[bool, Option("exit 1 on slow and unknown too", "--strict")]
FailOn = Annotated[
    str | None,
    Option("what exits 2: case-failed, no-kernels, types-only, or none (default case-failed,no-kernels)"),
]
Coverage = Annotated[float | None, Option("exit 2 if less than this percentage of the copies is seen")]
NoLowered = Annotated[
    bool,
    Option("judge copies of unknown layouts by their types, without lowering", "--no-lowered"),
]
NoOrder = Annotated[
    bool, Option("leave the order of accesses (waits, barriers, fences, phases) unchecked", "--no-order")
]
Compiler = Annotated[bool, Option("ask the installed DSL as well", "--compiler")]
