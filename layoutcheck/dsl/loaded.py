"""Kernels that were compiled earlier and are loaded: they are not traced.

A compiled file of the DSL, and GPU code that a program gives the driver by CUDA's bindings. The DSL's is
known by the names of its kernels; other code has no copies of the DSL.
"""

from __future__ import annotations

import contextlib
import os
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from layoutcheck.dsl.imports import when_imported
from layoutcheck.places import in_library
from layoutcheck.regular import read_regular

_FILES = {  # classes and functions that load what the DSL has compiled, by module
    "cutlass.base_dsl.export.external_binary_module": ("ExternalBinaryModule", "__init__"),
    "tvm_ffi.module": (None, "load_module"),
}
_BINDINGS = ("cuda.bindings.driver", "cuda.bindings.runtime", "cuda.cuda", "cuda.cudart")
_LOADS = re.compile(r"cu(?:da)?(?:Module|Library)Load|cuLinkAdd")
_OF_THE_DSL = b"kernel_cutlass_"  # in the name of each of its kernels
_MOST_BYTES = 1 << 28


@dataclass(frozen=True, slots=True)
class Loaded:
    """A compiled file, or the call of the driver that loads one; `foreign` if it has no kernel of the DSL."""

    path: str
    foreign: bool = False


Record = Callable[[Loaded], None]


def watch_loads(record: Record, internal: Callable[[Any], Any]) -> Callable[[], None]:
    """Call `record` for what is loaded from here on; returns what calls that off.

    `internal` makes a function one whose frames no error shows.
    """
    undo = contextlib.ExitStack()

    def put(holder: Any, name: str, made: Callable[[Any], Any]) -> None:
        undo.callback(setattr, holder, name, getattr(holder, name))
        setattr(holder, name, made(getattr(holder, name)))

    def files(module: Any, owner: str | None, name: str) -> None:
        put(
            getattr(module, owner) if owner else module,
            name,
            lambda load: internal(_read(load, owner, record)),
        )

    def driver(module: Any) -> None:
        for name in filter(_LOADS.match, dir(module)):
            put(module, name, partial(_told, name, record))

    for name, (owner, function) in _FILES.items():
        undo.callback(when_imported(name, partial(files, owner=owner, name=function)))
    for name in _BINDINGS:
        undo.callback(when_imported(name, driver))
    return undo.close


def _read(load: Any, owner: str | None, record: Record) -> Any:
    """A file is read; any that the DSL's own class reads is the DSL's."""

    def loading(*args: Any, **named: Any) -> Any:
        with contextlib.suppress(Exception):
            given = (*args[owner is not None :], *named.values())
            path = str(next(iter(given), "a compiled file"))
            if owner or _made_by_the_dsl(path):
                record(Loaded(path))
        return load(*args, **named)

    return loading


def _told(name: str, record: Record, load: Any) -> Any:
    def loading(*args: Any, **named: Any) -> Any:
        frame = sys._getframe(1)
        if not in_library(frame.f_code.co_filename):
            with contextlib.suppress(Exception):
                _tell(name, (*args, *named.values()), f"{frame.f_code.co_filename}:{frame.f_lineno}", record)
        return load(*args, **named)

    return loading


def _tell(name: str, given: tuple[Any, ...], where: str, record: Record) -> None:
    """Of an address nothing is known but that something is loaded from it."""
    if not given or given[0] is None:
        return
    if "File" in name or name == "cuModuleLoad":
        path = os.fsdecode(next(one for one in given if isinstance(one, (bytes, str))))
        record(Loaded(path, not _made_by_the_dsl(path)))
        return
    images = [bytes(one) for one in given if isinstance(one, (bytes, bytearray, memoryview))]
    images += [one.tobytes() for one in given if hasattr(one, "tobytes") and not isinstance(one, memoryview)]
    record(Loaded(f"{name} at {where}", not any(_OF_THE_DSL in one for one in images)))


def _made_by_the_dsl(path: str) -> bool:
    with contextlib.suppress(OSError):
        return _OF_THE_DSL in read_regular(Path(path), _MOST_BYTES)
    return False
