"""What a family of atoms provides, each part in a module of its folder, and how it is found.

    layoutcheck/atoms/FAMILY/
        __init__.py     the atoms: frozen dataclasses on `copies.atom.Atom`, printed as the DSL prints them
        reading.py      READING: how they are read, and what they are called
        compiler.py     COMPILER: what the compiler says of their copies
        execution.py    plan or execute: which bytes one thread moves, or all of them; and
                        intent: what is asked, where that is not element i to element i of each thread

A part is imported when it is first asked for, so that a copy loads its own family's and no other. Nothing
lists the families: a folder under `layoutcheck/atoms` is one.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from functools import cache, cached_property
from typing import Any, NamedTuple, TypeAlias

from layoutcheck import atoms
from layoutcheck.atoms.reading import Reading
from layoutcheck.copies.compiler.prediction import Prediction
from layoutcheck.copies.copy import Copy
from layoutcheck.copies.moves import Execution, Intent
from layoutcheck.copies.plan import Plan

# The functions of the DSL that choose an atom themselves.
CHOOSING = ("autovec_copy", "basic_copy", "basic_copy_if")

Check: TypeAlias = Callable[[Any, Copy], Prediction | None]


class Compiler(NamedTuple):
    """What the compiler says of the copies of a family; each function returns what stops it, or None.

    - `checks` of the verifier, in its order: of the atom and the copy, operands as the verifier has them
    - `check_type`: what the atom's type itself refuses
    - `default`: the atom with the width that its type takes for none
    - `descriptors`: whether operands may be descriptors instead of tensors in memory
    - `wants_strides`: whether this copy needs plain layouts, and so none that is composed
    - `flat_predicate`: what is asked beside a predicate where V is not (atom, rest) on both sides
    - `through_python`: the answer of a function that chooses its own atom, from its first Python line on
    - `whole`: the answer where nothing of this applies, from the operands' kinds on
    """

    checks: tuple[Check, ...] = ()
    check_type: Callable[[Any], Prediction | None] = lambda _atom: None
    default: Callable[[Any], Any] = lambda atom: atom
    descriptors: bool = False
    wants_strides: Callable[[Copy], bool] = lambda _copy: False
    flat_predicate: Check = lambda _atom, _copy: None
    through_python: Callable[[Copy], Prediction] | None = None
    whole: Callable[[Copy], Prediction] | None = None


class Family:
    """One folder under `layoutcheck/atoms`, whose `name` is the `family` of its atoms."""

    def __init__(self, name: str) -> None:
        self.name = name

    @cached_property
    def reading(self) -> Reading | None:
        """How its atoms are read; None where none is read under a name of its own."""
        return self._part("reading", "READING")

    @cached_property
    def compiler(self) -> Compiler:
        """What the compiler says of its copies."""
        found: Compiler | None = self._part("compiler", "COMPILER")
        return found or Compiler()

    @cached_property
    def plan(self) -> Callable[[Copy, Copy, Any], Plan] | None:
        """`plan(copy, instance, atom)`: the chunks that one thread moves."""
        return self._part("execution", "plan")

    @cached_property
    def execute(self) -> Callable[[Copy, Copy, Any, int, int], Execution] | None:
        """`execute(copy, instance, atom, src_base, dst_base)`, where one thread's chunks do not tell it."""
        return self._part("execution", "execute")

    @cached_property
    def intent(self) -> Callable[[Copy, Any, int, int], Intent] | None:
        """`intent(copy, atom, src_base, dst_base)`; None where element i of V goes to element i."""
        return self._part("execution", "intent")

    def _part(self, module: str, name: str) -> Any:
        """What a module of the folder calls `name`; None where the folder has none, or no such module."""
        path = f"{atoms.__name__}.{self.name}.{module}"
        try:
            return getattr(importlib.import_module(path), name, None)
        except ModuleNotFoundError as error:
            if error.name != path:
                raise
            return None


@cache
def family(name: str) -> Family:
    """The family of that name."""
    return Family(name)


@cache
def folder_names() -> tuple[str, ...]:
    """The names of all families."""
    return tuple(sorted(module.name for module in pkgutil.iter_modules(atoms.__path__) if module.ispkg))


def families() -> tuple[Family, ...]:
    """Every family, by name."""
    return tuple(map(family, folder_names()))


def family_of(copy: Copy) -> Family:
    """The family that answers for a copy: its atom's, or "autovec" where a function chooses the atom.

    Raises InputError for a copy that needs an atom and has none.
    """
    if copy.op in CHOOSING and not copy.needs_map:
        return family("autovec")
    return family(copy.needed_atom.family)
