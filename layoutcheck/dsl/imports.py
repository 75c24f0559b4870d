"""Acting on a module as soon as it is imported, by this process or by anything it imports later."""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.util
import sys
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

Act = Callable[[ModuleType], None]


def when_imported(name: str, act: Act) -> Callable[[], None]:
    """Call `act` with the module `name`: now if it is loaded, else when it is. Returns what calls it off."""
    module = sys.modules.get(name)
    if module is not None:
        act(module)
        return lambda: None
    finder = _Finder(name, act)
    sys.meta_path.insert(0, finder)
    return finder.remove


class _Finder(importlib.abc.MetaPathFinder):
    """Sees one module being imported, lets the others find it, and acts when its code has run."""

    def __init__(self, name: str, act: Act) -> None:
        self.name = name
        self.act = act

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
            execute(module)
            self.act(module)

        loader.exec_module = exec_module
        return spec
