"""layoutcheck: is this CuTe copy legal, correct and fast, why not, and how to repair it.

Everything public is imported when it is first used, so that `import layoutcheck` costs next to nothing:
`check`, `check_copy`, `check_error`, `check_mma`, `synthesize`, `Report`, `Finding`, `Fix`, `Copy`, `Memref`,
`InputError`, `DslUnavailable`, `case`, and
every name of `layoutcheck.algebra` (`Layout`, `Swizzle`, `composition`, `complement`, ...).
"""

from __future__ import annotations

import importlib
import sys
from importlib.util import find_spec
from types import ModuleType
from typing import TYPE_CHECKING, Any

from layoutcheck import display

if TYPE_CHECKING:
    from layoutcheck.algebra import *  # noqa: F403
    from layoutcheck.api import check as check
    from layoutcheck.api import check_copy as check_copy
    from layoutcheck.api import check_error as check_error
    from layoutcheck.api import synthesize as synthesize
    from layoutcheck.assertions import assert_legal as assert_legal
    from layoutcheck.assertions import assert_wavefronts as assert_wavefronts
    from layoutcheck.check import Fix as Fix
    from layoutcheck.check import Report as Report
    from layoutcheck.copies.copy import Copy as Copy
    from layoutcheck.copies.memref import Memref as Memref
    from layoutcheck.dsl.session import DslUnavailable as DslUnavailable
    from layoutcheck.errors import InputError as InputError
    from layoutcheck.findings import Finding as Finding
    from layoutcheck.machine.banks import shared_wavefronts as shared_wavefronts
    from layoutcheck.machine.best_swizzle import best_swizzle as best_swizzle
    from layoutcheck.machine.canonical import canonical as canonical
    from layoutcheck.machine.dtypes import DType as DType
    from layoutcheck.machine.dtypes import dtype as dtype
    from layoutcheck.machine.sectors import global_sectors as global_sectors
    from layoutcheck.machine.tiles import TileAccess as TileAccess
    from layoutcheck.machine.tiles import analyse_tile as analyse_tile
    from layoutcheck.machine.tiles import matrix_access as matrix_access
    from layoutcheck.machine.tiles import vector_access as vector_access
    from layoutcheck.operands import check_mma as check_mma
    from layoutcheck.registry import case as case
    from layoutcheck.synthesis.exchange import exchange as exchange

_HOMES = {
    "check_copy": "layoutcheck.api",
    "check_error": "layoutcheck.api",
    "synthesize": "layoutcheck.api",
    "exchange": "layoutcheck.synthesis.exchange",
    "assert_legal": "layoutcheck.assertions",
    "assert_wavefronts": "layoutcheck.assertions",
    "Fix": "layoutcheck.check",
    "Report": "layoutcheck.check",
    "Finding": "layoutcheck.findings",
    "Copy": "layoutcheck.copies.copy",
    "Memref": "layoutcheck.copies.memref",
    "InputError": "layoutcheck.errors",
    "DslUnavailable": "layoutcheck.dsl.session",
    "case": "layoutcheck.registry",
    "shared_wavefronts": "layoutcheck.machine.banks",
    "global_sectors": "layoutcheck.machine.sectors",
    "best_swizzle": "layoutcheck.machine.best_swizzle",
    "canonical": "layoutcheck.machine.canonical",
    "DType": "layoutcheck.machine.dtypes",
    "dtype": "layoutcheck.machine.dtypes",
    "check_mma": "layoutcheck.operands",
    "TileAccess": "layoutcheck.machine.tiles",
    "analyse_tile": "layoutcheck.machine.tiles",
    "matrix_access": "layoutcheck.machine.tiles",
    "vector_access": "layoutcheck.machine.tiles",
}


# What does the work of a command, where it has another name.
_COMMANDS = {
    "explain": "check for a copy, check_error for a pasted error",
    "banks": "analyse_tile",
    "draw": "a Layout or a Report, which a notebook draws",
    "synth": "synthesize",
}

display.drawn_by(
    lambda value, form: importlib.import_module("layoutcheck.reports.notebook").show(value, form)
)


class _Package(ModuleType):
    """`layoutcheck.check` is the function; the module's names come by `from layoutcheck.check import ...`."""

    @property
    def check(self) -> Any:
        """`api.check`."""
        from layoutcheck.api import check

        return check

    @check.setter
    def check(self, module: ModuleType) -> None:
        """Importing the submodule binds its name here; the function keeps it."""


sys.modules[__name__].__class__ = _Package


def _public(name: str) -> Any:
    """A module's attribute that is not there yet."""
    if name.startswith("_") or (name not in _HOMES and find_spec(f"layoutcheck.{name}") is not None):
        # `from layoutcheck import rules` asks here first, and then imports the module without our help.
        raise AttributeError(f"module 'layoutcheck' has no attribute '{name}'")
    algebra = importlib.import_module("layoutcheck.algebra")
    if name in _HOMES:
        value = getattr(importlib.import_module(_HOMES[name]), name)
    elif name in getattr(algebra, "__all__", ()):
        value = getattr(algebra, name)
    else:
        hint = f"; expected {_COMMANDS[name]}" if name in _COMMANDS else ""
        raise AttributeError(f"module 'layoutcheck' has no attribute '{name}'{hint}")
    globals()[name] = value
    return value


if not TYPE_CHECKING:  # to a type checker it would mean that every name is there
    __getattr__ = _public


def __dir__() -> list[str]:
    algebra = importlib.import_module("layoutcheck.algebra")
    return sorted({"check", *_HOMES, *getattr(algebra, "__all__", ())})
