"""Acting on imports: as soon as a module is there, without a package's own code, without collection."""

from __future__ import annotations

import contextlib
import gc
import importlib.abc
import importlib.machinery
import importlib.util
import sys
from collections.abc import Callable, Iterator, Sequence
from types import ModuleType
from typing import Any

Act = Callable[[ModuleType], object]
Around = Callable[[], contextlib.AbstractContextManager[None]]


@contextlib.contextmanager
def uncollected() -> Iterator[None]:
    """No garbage collection where none is made: with it an import of the DSL takes a quarter longer."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if not gc.get_freeze_count():  # what was made is old: the next collection need not look through it
            gc.freeze()
            gc.unfreeze()
        if enabled:
            gc.enable()


def bare(name: str) -> tuple[ModuleType, Callable[[], None]]:
    """The package without its own code, so that modules in it can be imported; and what runs that code.

    Raises ImportError where there is no such package.
    """
    spec = importlib.util.find_spec(name)
    if spec is None or spec.loader is None:
        raise ModuleNotFoundError(f"No module named '{name}'", name=name)
    package = importlib.util.module_from_spec(spec)
    sys.modules[name] = package
    return package, lambda: spec.loader.exec_module(package)


def when_imported(name: str, act: Act, around: Around = contextlib.nullcontext) -> Callable[[], None]:
    """Call `act` with the module `name`: now if it is loaded, else when it is. Returns what calls it off.

    A module that is not loaded yet is executed within `around`.
    """
    module = sys.modules.get(name)
    if module is not None:
        act(module)
        return lambda: None
    finder = _Finder(name, act, around)
    sys.meta_path.insert(0, finder)
    return finder.remove


class _Finder(importlib.abc.MetaPathFinder):
    """Sees one module being imported, lets the others find it, and acts when its code has run."""

    def __init__(self, name: str, act: Act, around: Around) -> None:
        self.name = name
        self.act = act
        self.around = around

    def remove(self) -> None:
        """Look no more."""
        if self in (sys.meta_path or ()):  # None while the interpreter shuts down
            sys.meta_path.remove(self)

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """The spec that the other finders give, with `act` after the module's code."""
        if name != self.name:
            return None
        self.remove()
        spec = importlib.util.find_spec(name)
        if spec is None or spec.loader is None:
            return spec
        loader: Any = spec.loader
        execute = loader.exec_module

        def exec_module(module: ModuleType) -> None:
            with self.around():
                execute(module)
            self.act(module)

        loader.exec_module = exec_module
        return spec
