"""Runs that prove nothing: nobody stored what they load, or they are of other sizes and not followed."""

from __future__ import annotations

import numpy as np
import pytest

from layoutcheck.dsl.lowered.machine import Launch
from layoutcheck.order.budget import Budget
from layoutcheck.order.engine import run
from layoutcheck.order.meaning import Meaning
from layoutcheck.order.problems import Undecided
from layoutcheck.order.replays import Replays
from layoutcheck.order.runs import Run
from layoutcheck.order.watched import Event, Watched


@pytest.mark.parametrize(("loaded", "found"), [(1, [64]), (2, [])])
@pytest.mark.parametrize("ordered", [True, False])
def test_a_run_that_loads_what_nothing_stored_proves_nothing(
    loaded: int, found: list[int], ordered: bool
) -> None:
    """A warp stores a tile's number, 1, which another loads; behind it both reach bytes 64 to 67, unordered.

    A run in which it was taken to load 2 goes on as no real one does: only the load itself, where nothing
    orders it, is told.
    """
    first = np.arange(64) < 32

    def event(kind: str, mine: bool, address: int, words: tuple[int, ...] = ()) -> Event:
        return Event(
            Meaning(kind, space="smem", size=4),
            (address,),
            first if mine else ~first,
            (),
            False,
            False,
            words=words,
        )

    meet = [Event(Meaning("barrier"), (0, 64), None, (), False, False)] if ordered else []
    tile = [event("write", True, 0, (1,)), *meet, event("read", False, 0, (loaded,))]
    events = [*tile, *meet, event("write", True, 64), event("read", False, 64)]
    outcome = run([Watched(Launch(block=(64, 1, 1)), events, shared_bytes=1024)], {})
    assert outcome.agree is (loaded == 1) and not outcome.stopped
    told = [problem.second.address for problem in outcome.problems if problem.second is not None]
    assert told == (found if ordered else [0])


@pytest.mark.parametrize("first", [True, False])
def test_only_the_run_as_launched_makes_a_kernel_unchecked(first: bool) -> None:
    """Of another size, such as that of no work, another one that cannot be followed takes nothing away."""

    class Said:
        def undecided(self, error: Undecided) -> str:
            return str(error)

    strange = Event(Meaning("unknown", facts={"name": "strange"}), (), None, (), False, False)
    replays = Replays(Said(), {}, Budget())  # type: ignore[arg-type]
    cluster = None  # not asked for
    replays.take(Run([Watched(Launch(block=(64, 1, 1)), [strange], shared_bytes=1024)], cluster, first))  # type: ignore[arg-type]
    assert replays.problem == ("'strange' is not modelled" if first else "")
