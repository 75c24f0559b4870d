"""Kernels without products: what they move is replayed, and held against its places.

of_copies(module, lowered, seconds, views)    # -> findings, bytes that arrive in order
"""

from __future__ import annotations

from contextlib import suppress

from layoutcheck.copies.cluster import MOST_BLOCKS
from layoutcheck.dsl.lowered import SURPRISES, argument_types
from layoutcheck.errors import InputError
from layoutcheck.order import Undecided
from layoutcheck.order.budget import Budget, OutOfTime
from layoutcheck.order.events import WatchedKernel, kernels
from layoutcheck.provenance.displaced import Arrived, alike, arrived, brought_twice, displaced
from layoutcheck.provenance.examine import names_of, prepared
from layoutcheck.provenance.instances import USUAL, Instance
from layoutcheck.provenance.judged import Breach, Names
from layoutcheck.provenance.moved import Moves, misplaced
from layoutcheck.provenance.replay import Replay
from layoutcheck.provenance.tell import told
from layoutcheck.sources.traced import KernelFinding
from layoutcheck.sources.traced_module import TracedModule

_SECONDS = 3.0  # of processor time that other tiles than the first may take


def of_copies(
    module: TracedModule, lowered: str, seconds: float, views: bool
) -> tuple[list[KernelFinding], int]:
    """Tiles of a module without products that are put elsewhere, or by `views` written and read differently.

    Beside them the bytes that arrive in order. What cannot be followed is left: nothing is claimed of such
    kernels.
    """
    in_order = [0]

    def exchanged(kernel: WatchedKernel, instance: Instance) -> list[Breach]:
        moves = Moves()
        replay, names = _replayed(kernel, module.text, Budget(seconds), instance, moves)
        found = [] if replay.lost else misplaced(moves, names, module.text)
        in_order.append(moves.in_order if instance == USUAL else 0)
        return found

    def elsewhere(kernel: WatchedKernel, instance: Instance) -> list[Breach]:
        return _put_elsewhere(kernel, module.text, Budget(_SECONDS), instance)

    found: list[KernelFinding] = []
    every: list[WatchedKernel] = []
    with suppress(InputError, *SURPRISES):
        every = [one for one in kernels_of(module, lowered) if blocks_of(one) <= MOST_BLOCKS]
    for check in (exchanged, elsewhere) if views else (elsewhere,):
        with suppress(InputError, OutOfTime, Undecided, *SURPRISES):
            for kernel in every:
                breaches = check(kernel, USUAL)
                again = check(kernel, USUAL.larger()) if breaches else []
                found += [told(one, module) for one in breaches if any(map(one.like, again))]
    return found, sum(in_order)


def _put_elsewhere(kernel: WatchedKernel, text: str, budget: Budget, instance: Instance) -> list[Breach]:
    """The tiles that some of a kernel's blocks put elsewhere. Raises OutOfTime and Undecided.

    The first block that is followed is not on the diagonal of the grid: if all of its elements are at their
    places, so are those of the others.
    """
    launched = instance.of(kernel)
    twins = alike(names_of(launched, text, instance)[0])
    if not twins:
        return []
    every: list[Arrived] = []
    for one in instance.several(launched):
        replay, names = _replayed(kernel, text, budget, one, Moves())
        stored = None if replay.lost or replay.moves is None else arrived(replay.moves, replay.pairs)
        if stored is None:
            return []
        if not every:
            found = list(brought_twice(replay, stored, names))
            if found or not stored.moves(twins):
                return found
        every.append(stored)
    return displaced(every, names)


def _replayed(
    kernel: WatchedKernel, text: str, budget: Budget, instance: Instance, moves: Moves
) -> tuple[Replay, Names]:
    """A cluster of a kernel without products, run to its end. Raises OutOfTime and Undecided."""
    replay, order, names = prepared(kernel, text, budget, moves, instance)
    for step in order:
        budget.check()
        replay.run(*step)
    return replay, names


def blocks_of(kernel: WatchedKernel) -> int:
    """How many blocks a cluster has."""
    x, y, z = kernel.launch.cluster
    return x * y * z


def kernels_of(module: TracedModule, lowered: str) -> list[WatchedKernel]:
    """The kernels of a lowered module. Raises InputError."""
    return kernels(lowered, argument_types(module.text))
