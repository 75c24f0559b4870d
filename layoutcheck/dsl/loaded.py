"""Kernels that were compiled earlier and are loaded: they are not traced.

A compiled file of the DSL, and GPU code that a program gives the driver: by CUDA's bindings, by ctypes, or by
a package that does so for it. The DSL's is known by the names of its kernels; other code has no copies of the
DSL.
"""

from __future__ import annotations

import contextlib
import ctypes
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
_BINDINGS = (
    "cuda.bindings.driver", "cuda.bindings.runtime", "cuda.bindings.nvrtc", "cuda.cuda", "cuda.cudart",
    "cuda.nvrtc",
)  # fmt: skip
_LOADS = re.compile(r"cu(?:da)?(?:Module|Library)Load|cuLinkAdd|nvrtcCompileProgram")
_BY_NAME = "cuGetProcAddress"  # gives a function of the driver whose name it is told
_WRAPPERS = {  # of packages whose calls of the driver are compiled code
    "cupy": ("RawKernel", "RawModule"),
    "pycuda.compiler": ("SourceModule", "DynamicModule"),
    "pycuda.driver": ("module_from_buffer", "module_from_file"),
}
_FOR_OTHERS = re.compile(r"(?:site|dist)-packages[\\/](?:cuda|cupyx?|numba|numba_cuda|pycuda|torch)[\\/]")
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

    def wrappers(module: Any, names: tuple[str, ...]) -> None:
        for name in filter(partial(hasattr, module), names):
            put(module, name, partial(_subclass_or_function, f"{module.__name__}.{name}", record))

    for name in _BINDINGS:
        undo.callback(when_imported(name, driver))
    for name, names in _WRAPPERS.items():
        undo.callback(when_imported(name, partial(wrappers, names=names)))
    put(ctypes.CDLL, "__getitem__", partial(_found, record))
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
        _heard(name, (*args, *named.values()), record)
        return load(*args, **named)

    return loading


def _subclass_or_function(name: str, record: Record, load: Any) -> Any:
    """What stands for a function, or for a class, whose instances stay its own."""
    if not isinstance(load, type):
        return _told(name, record, load)

    def __init__(self: Any, *args: Any, **named: Any) -> None:  # noqa: N807
        _heard(name, (*args, *named.values()), record)
        load.__init__(self, *args, **named)

    return type(load.__name__, (load,), {"__init__": __init__, "__module__": load.__module__})


def _found(record: Record, find: Any) -> Any:
    """`CDLL.__getitem__`, by which a library's functions are found, for those that load GPU code."""

    def __getitem__(self: Any, key: Any) -> Any:  # noqa: N807
        function = find(self, key)
        if not isinstance(key, str) or not (_LOADS.match(key) or key.startswith(_BY_NAME)):
            return function

        def __call__(loader: Any, *args: Any) -> Any:  # noqa: N807
            if _LOADS.match(key) or (args and _LOADS.match(_text(args[0]))):
                _heard(key, args[_LOADS.match(key) is not None :], record)
            return kind.__call__(loader, *args)

        kind: Any = type(function)
        same = {
            one: getattr(kind, one) for one in ("_flags_", "_restype_")
        }  # ctypes looks in the class itself
        made = type(kind.__name__, (kind,), {**same, "__call__": __call__})((key, self))
        made.__name__ = key
        return made

    return __getitem__


def _text(given: Any) -> str:
    """A C string of ctypes, or the bytes of one."""
    text = getattr(given, "value", given)
    return text.decode(errors="replace") if isinstance(text, bytes) else ""


def _heard(name: str, given: tuple[Any, ...], record: Record) -> None:
    """Tell of a call at the program's own line; none of the DSL's, nor of Python's."""
    frame: Any = sys._getframe(2)
    while frame is not None and _FOR_OTHERS.search(frame.f_code.co_filename):
        frame = frame.f_back
    if frame is not None and not in_library(frame.f_code.co_filename):
        with contextlib.suppress(Exception):
            _tell(name, given, f"{frame.f_code.co_filename}:{frame.f_lineno}", record)


def _tell(name: str, given: tuple[Any, ...], where: str, record: Record) -> None:
    """Of an address nothing is known but that something is loaded from it."""
    if not given or given[0] is None:
        return
    texts = [getattr(one, "value", one) for one in given]  # as ctypes has them
    files = [os.fsdecode(one) for one in texts if isinstance(one, (bytes, str)) and os.path.isfile(one)]  # noqa: PTH113
    if "File" in name or name == "cuModuleLoad":
        files = [os.fsdecode(next(one for one in texts if isinstance(one, (bytes, str))))]
    for path in files:
        record(Loaded(path, not _made_by_the_dsl(path)))
    if not files:
        images = [bytes(one) for one in given if isinstance(one, (bytes, bytearray, memoryview))]
        kept = (getattr(one, "raw", getattr(one, "_objects", None)) for one in given)  # of ctypes
        images += [one for one in kept if isinstance(one, bytes)]
        others = (one for one in given if not isinstance(one, memoryview))
        images += [one.tobytes() for one in others if hasattr(one, "tobytes")]
        record(Loaded(f"{name} at {where}", not any(_OF_THE_DSL in one for one in images)))


def _made_by_the_dsl(path: str) -> bool:
    with contextlib.suppress(OSError):
        return _OF_THE_DSL in read_regular(Path(path), _MOST_BYTES)
    return False
