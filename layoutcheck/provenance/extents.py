"""Extents that tensors have, not those that were made up: static ones, and those of the program's calls."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from layoutcheck.dsl.lowered.arguments import Numbers
from layoutcheck.order.events import WatchedKernel
from layoutcheck.order.tensor_maps import tensor_maps
from layoutcheck.provenance.instances import USUAL
from layoutcheck.provenance.judged import Names
from layoutcheck.provenance.tensors import tensors

Mode = tuple[int, int, int]
"""The number of a global object, which of the tensors there, and the place of a mode in its shape."""


def no_more(kernel: WatchedKernel, calls: Sequence[Numbers | None], one: Mode, other: Mode) -> bool | None:
    """Whether `one` has no more elements than `other` in all calls; None where that is not known."""
    found = [(_extent(names, one), _extent(names, other)) for names in _every(kernel, calls)]
    if not found or any(None in pair for pair in found) or (not calls and len(set(found)) > 1):
        return None
    return all(a is not None and b is not None and a <= b for a, b in found)


def _every(kernel: WatchedKernel, calls: Sequence[Numbers | None]) -> Iterator[Names]:
    """The tensors of each call; without calls those of two sizes, which static extents have in common."""
    launched = (
        [None if call is None else kernel.with_numbers(call, USUAL.extent) for call in calls]
        if calls
        else [one.of(kernel) for one in (USUAL, USUAL.larger())]
    )
    for one in launched:
        given = one.given[1] if one is not None and one.given else []
        known = {} if one is None else tensors(given, one.types, tensor_maps(given), frozenset())
        yield Names(known)


def _extent(names: Names, mode: Mode) -> int | None:
    number, which, place = mode
    every = names.known.get(number, [])
    if which >= len(every) or place >= every[which].rank:
        return None
    return next((one.extent for one in every[which].modes if one.place == place), 1)
