"""What the program gives a kernel's host function when it calls it: shapes and strides of tensors, integers.

Of a small tensor of integers its elements as well, where these are real (`true_integers`). Calls are told
apart by these alone, and at most `MOST` of each module are kept. `Compiled` hears those of the functions that
`cute.compile` returned.
"""

from __future__ import annotations

import contextlib
import re
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field, fields, is_dataclass
from enum import Enum
from typing import Any, TypeAlias

from layoutcheck.dsl.true_integers import address_of, integers, launched
from layoutcheck.places import in_library

MOST = 16
_INTEGER = re.compile(r"U?[Ii]nt(?:8|16|32|64)")  # the DSL's types, which hold a number outside of a kernel
only_calls: ContextVar[bool] = ContextVar("layoutcheck_only_calls", default=False)
"""Whether functions are called by a benchmark, which may build a kernel in very many ways (`Benchmarks`)."""
MOST_MEASURED = 4  # modules of one host function that benchmarks have judged, whatever is in them
MOST_FRUITLESS = 8  # builds of it in turn, after these, that reach no line which no module has
MEASURED = "what a benchmark calls"  # begins a note: more would be built on a GPU
_LINE = re.compile(r'"([^"\n]+)":([0-9]+)')  # in a location that the DSL prints


class NotMeasured(Exception):
    """Ends a benchmark's call that would build one module more."""


class Benchmarks:
    """Which builds of benchmarks are kept: the first of each function, and those that reach new lines."""

    def __init__(self) -> None:
        self.spared = 0
        self._lines: set[tuple[str, str]] = set()
        self._built: dict[Any, tuple[int, int]] = {}  # by a function's code: its builds, the last fruitless
        self._code: Any = None

    def begin(self, code: Any) -> None:
        """A function of that code is built. Raises NotMeasured where its builds have led to nothing."""
        if only_calls.get() and self._built.get(code, (0, 0))[1] >= MOST_FRUITLESS:
            raise NotMeasured
        self._code = code

    def keep(self, places: Iterable[str]) -> bool:
        """Whether the module that was built, whose operations stand at these places, is to be judged."""
        stacks = map(_LINE.findall, places)  # the innermost frame first
        lines = {next((line for line in stack if not in_library(line[0])), ("", "")) for stack in stacks}
        new = not lines <= self._lines
        self._lines |= lines
        built, fruitless = self._built.get(self._code, (0, 0))
        kept = new or built < MOST_MEASURED or not only_calls.get()
        self._built[self._code] = built + 1, 0 if kept else fruitless + 1
        self.spared += not kept
        return kept


benchmarks = Benchmarks()  # of this process


Elements: TypeAlias = "tuple[int, ...] | None"
Given: TypeAlias = "tuple[tuple[int, ...], tuple[int, ...], Elements] | tuple[Elements] | int"
"""A tensor's shape and strides, nested ones flattened, and its elements if they are known; what a pointer
points to, if that is known; or an integer."""


class Guessed:
    """Whether the program was given tensors of guessed shapes: numbers of its calls may come from them."""

    any = False


@dataclass(frozen=True, slots=True)
class Called:
    """A call of the host function of the module `number`; None where not all that it gives has numbers."""

    number: int
    given: tuple[Given, ...] | None


@dataclass
class Calls:
    """Tells each call of one module once; `number` is None where the module was not recorded.

    `writes` says that the module may write integers to global memory.
    """

    number: int | None
    tell: Callable[[Called], None]
    writes: bool = True
    seen: set[tuple[Given, ...] | None] = field(default_factory=set)

    def take(self, arguments: Sequence[Any], named: Mapping[str, Any]) -> None:
        """A call with these arguments; what it may write is not known to hold what it did."""
        try:
            self._tell(arguments, named)
        finally:
            launched(values_of((*arguments, *named.values())), self.writes)

    def _tell(self, arguments: Sequence[Any], named: Mapping[str, Any]) -> None:
        if self.number is None or len(self.seen) >= MOST:
            return
        given = None
        with contextlib.suppress(Exception):  # an observer's trouble is no reason for a call to fail
            given = None if Guessed.any else tuple(_leaves((*arguments, *named.values())))
        if given not in self.seen:
            self.seen.add(given)
            self.tell(Called(self.number, given))


class Compiled:
    """Compiled functions whose calls are told; `undo` leaves their classes as they were."""

    def __init__(self, internal: Callable[[Any], Any]) -> None:
        """`internal` makes a function one whose frames no error shows."""
        self._internal = internal
        self._told: weakref.WeakKeyDictionary[Any, Calls] = weakref.WeakKeyDictionary()
        self._was: dict[type, Any] = {}

    def hear(self, function: Any, told: Calls) -> None:
        """Tell the calls of a compiled function, which goes on as it is."""
        if told.number is None:  # from the DSL's cache: its calls are told already, if they can be
            return
        with contextlib.suppress(TypeError):  # no weak reference, or a class that nobody can change
            self._told[function] = told
            self._wrap(type(function))

    def _wrap(self, owner: type) -> None:
        if owner in self._was:
            return
        told, call = self._told, getattr(owner, "__call__")  # noqa: B004, B009 - that of the class

        @self._internal
        def __call__(self: Any, *args: Any, **named: Any) -> Any:  # noqa: N807
            calls = told.get(self)
            if calls is not None:
                calls.take(args, named)
            return call(self, *args, **named)

        before = vars(owner).get("__call__")
        type.__setattr__(owner, "__call__", __call__)
        self._was[owner] = before

    def undo(self) -> None:
        """Hear nothing more."""
        for owner, call in self._was.items():
            if call is None:
                type.__delattr__(owner, "__call__")
            else:
                type.__setattr__(owner, "__call__", call)
        self._was.clear()


def values_of(values: Iterable[Any]) -> Iterator[Any]:
    """What arguments hold, one after the other."""
    for value in values:
        if isinstance(value, (tuple, list)):
            yield from values_of(value)
        elif is_dataclass(value) and not isinstance(value, type) and not hasattr(value, "stride"):
            yield from values_of([getattr(value, one.name) for one in fields(value)])
        else:
            yield value


def _leaves(values: Iterable[Any]) -> Iterator[Given]:
    """Raises TypeError or ValueError for a tensor without numbers."""
    for value in values_of(values):
        if isinstance(value, (bool, Enum)) or value is None:
            continue
        if _INTEGER.fullmatch(type(value).__name__):
            value = getattr(value, "value", None)
        if isinstance(value, int):
            yield int(value)
        elif hasattr(value, "shape") and hasattr(value, "stride"):
            stride = value.stride() if callable(value.stride) else value.stride
            yield _numbers(value.shape), _numbers(stride), integers(value)
        elif address_of(value) is not None:
            yield (integers(value),)


def _numbers(tree: Any) -> tuple[int, ...]:
    if isinstance(tree, (tuple, list)):
        return tuple(leaf for part in tree for leaf in _numbers(part))
    if not isinstance(tree, int):
        raise TypeError
    return (int(tree),)
