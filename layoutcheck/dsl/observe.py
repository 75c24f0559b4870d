"""Every kernel that the DSL builds in this process, as printed IR: the copies in it, with their places.

`watch(record)` wraps the DSL's `build_module`, which has kept its signature since 4.3.5 and runs between
tracing and the verifier, so that a copy about to be refused is seen too. Only the module's text is read:
touching the operands of a traced operation makes the DSL's casters emit operations of their own, which
corrupts the heap (4.8.1).
"""

from __future__ import annotations

import contextlib
import importlib.abc
import importlib.machinery
import importlib.util
import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from layoutcheck.errors import InputError
from layoutcheck.sources.balanced import span_end

HOME = "cutlass.base_dsl.dsl"
STACK = "CUTE_DSL_LOC_TRACEBACKS"  # Python frames kept with each operation; leaves the PTX as it is (4.8.1)

_OPERATION = re.compile(r'"cute\.copy(?:_atom_call)?"\(')
_PLACE = re.compile(r'"([^"\n]+)":(\d+):\d+')
_OWN = re.compile(r"[\\/]nvidia_cutlass_dsl[\\/]|^<")


@dataclass(frozen=True, slots=True)
class Seen:
    """A copy as the compiler printed it: `operation` with all its types, the user's "file:line", the arch."""

    operation: str
    location: str | None
    arch: str


Record = Callable[[str, list[Seen]], None]  # the kernel's name and the copies in it


@contextlib.contextmanager
def watch(record: Record) -> Iterator[None]:
    """Call `record` for every module built while this lasts, whether or not the DSL is imported by then."""
    before = os.environ.get(STACK)
    os.environ.setdefault(STACK, "24")
    undo: list[Callable[[], None]] = []
    finder = _Finder(lambda module: undo.append(_wrap(module, record)))
    if HOME in sys.modules:
        undo.append(_wrap(sys.modules[HOME], record))
    else:
        sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        if finder in sys.meta_path:
            sys.meta_path.remove(finder)
        for one in undo:
            one()
        if before is None:
            os.environ.pop(STACK, None)


def read(text: str, arch: str) -> list[Seen]:
    """The copies in a module printed in MLIR's generic form with locations, in order, repeats included."""
    found = []
    for line in text.splitlines():
        match = _OPERATION.search(line)
        if match is None:
            continue
        types = line.find(" : (", match.end())
        with contextlib.suppress(InputError):
            end = span_end(line, line.index("(", types)) if types >= 0 else len(line)
            found.append(Seen(line[match.start() : end] + " -> ()", _location(line[end:]), arch))
    return found


def _location(text: str) -> str | None:
    """The innermost frame outside the DSL."""
    return next((f"{path}:{row}" for path, row in _PLACE.findall(text) if not _OWN.search(path)), None)


def _wrap(module: ModuleType, record: Record) -> Callable[[], None]:
    """Put ourselves before `build_module`; the function that takes us away again."""
    owner: Any = module.BaseDSL
    original = owner.build_module

    def build_module(self: Any, built: Any, function_name: str) -> Any:
        with contextlib.suppress(Exception):  # an observer's trouble is no reason for a build to fail
            text = built.operation.get_asm(
                print_generic_op_form=True, enable_debug_info=True, use_local_scope=True
            )
            record(str(function_name), read(text, str(getattr(self.envar, "arch", "") or "sm_90a")))
        return original(self, built, function_name)

    owner.build_module = build_module

    def undo() -> None:
        owner.build_module = original

    return undo


class _Finder(importlib.abc.MetaPathFinder):
    """Sees the DSL's module being imported, lets the others find it, and acts when it is loaded."""

    def __init__(self, act: Callable[[ModuleType], None]) -> None:
        self.act = act

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """The spec that the other finders give, with `act` after the module's code."""
        if name != HOME:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec is None or spec.loader is None:
            return spec
        loader: Any = spec.loader
        execute = loader.exec_module

        def exec_module(module: ModuleType) -> None:
            execute(module)
            self.act(module)

        loader.exec_module = exec_module
        return spec
