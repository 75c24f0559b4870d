"""Random small programs of a few warps, and an exhaustive run of all their interleavings.

A program is a list of steps for each warp. Every write stores a value of its own; an outcome is what every
read saw. A program is right if all interleavings end, with one outcome. `outcomes` tries them all: it knows
nothing of clocks; its cp.async copies and bulk loads arrive at any time between their start and their wait.
"""

from __future__ import annotations

import random
from typing import NamedTuple

Step = tuple  # (kind, ...): see `outcomes`
MOST_STATES = 60_000


class Program(NamedTuple):
    """Steps by warp; `counts` are those of the mbarriers."""

    warps: tuple[tuple[Step, ...], ...]
    counts: tuple[int, ...] = ()


class TooMany(Exception):
    """More states than are worth it."""


def outcomes(program: Program) -> tuple[set[tuple], bool]:
    """The outcomes of all interleavings, and whether some of them never ends."""
    size = len(program.warps)
    bars = tuple((count, 0, 0) for count in program.counts)  # pending arrivals, bytes, phase
    start = ((0,) * size, (0,) * 4, (), (), bars, ((),) * size, ())
    seen, stack = {start}, [start]
    ends: set[tuple] = set()
    hangs = False
    while stack:
        state = stack.pop()
        following = list(_following(program, state))
        if not following:
            if all(at == len(steps) for at, steps in zip(state[0], program.warps, strict=True)):
                ends.add(tuple(sorted(state[6])))
            else:
                hangs = True
        for one in following:
            if one not in seen:
                if len(seen) > MOST_STATES:
                    raise TooMany
                seen.add(one)
                stack.append(one)
    return ends, hangs


def _following(program: Program, state: tuple):
    at, memory, flying, waiting, bars, groups, reads = state
    for i, (_, cell, value, _, bar) in enumerate(flying):  # a copy arrives
        stored = (*memory[:cell], value, *memory[cell + 1 :])
        rest, after = flying[:i] + flying[i + 1 :], bars
        if bar >= 0:
            pending, size, phase = bars[bar]
            after = _settled(program, bars, bar, (pending, size - 1, phase))
        yield at, stored, rest, waiting, after, groups, reads
    for warp, steps in enumerate(program.warps):
        if at[warp] == len(steps) or warp in waiting:
            continue
        kind, *given = steps[at[warp]]
        moved = (*at[:warp], at[warp] + 1, *at[warp + 1 :])
        if kind == "write":
            cell, value = given
            yield moved, (*memory[:cell], value, *memory[cell + 1 :]), flying, waiting, bars, groups, reads
        elif kind == "read":
            seen = (*reads, (warp, at[warp], memory[given[0]]))
            yield moved, memory, flying, waiting, bars, groups, seen
        elif kind == "copy":
            cell, value = given
            started = (*flying, (warp, cell, value, len(groups[warp]), -1))
            yield moved, memory, started, waiting, bars, groups, reads
        elif kind == "load":
            cell, value, bar = given
            yield moved, memory, (*flying, (warp, cell, value, -1, bar)), waiting, bars, groups, reads
        elif kind == "commit":
            more = (*groups[:warp], (*groups[warp], 0), *groups[warp + 1 :])
            yield moved, memory, flying, waiting, bars, more, reads
        elif kind == "wait":
            last = len(groups[warp]) - given[0]
            if all(w != warp or bar >= 0 or group >= last for w, _, _, group, bar in flying):
                yield moved, memory, flying, waiting, bars, groups, reads
        elif kind == "barrier":
            if len(waiting) + 1 == len(program.warps):
                every = tuple(a + 1 for a in at)
                yield every, memory, flying, (), bars, groups, reads
            else:
                yield at, memory, flying, tuple(sorted((*waiting, warp))), bars, groups, reads
        elif kind == "arrive":
            bar, size = given
            pending, known, phase = bars[bar]
            after = _settled(program, bars, bar, (pending - 1, known + size, phase))
            yield moved, memory, flying, waiting, after, groups, reads
        elif kind == "phase":
            bar, parity = given
            if bars[bar][2] & 1 != parity:
                yield moved, memory, flying, waiting, bars, groups, reads


def _settled(program: Program, bars: tuple, bar: int, state: tuple) -> tuple:
    pending, size, phase = state
    if pending == 0 and size == 0:
        state = (program.counts[bar], 0, phase + 1)
    return (*bars[:bar], state, *bars[bar + 1 :])


def pipeline(chance: random.Random) -> Program:
    """A right pipeline of two or three warps: copies by cp.async and a barrier, or loads on mbarriers."""
    return _ring(chance) if chance.random() < 0.5 else _mbarriers(chance)


def _ring(chance: random.Random) -> Program:
    warps, stages, turns = chance.choice((2, 2, 3)), chance.choice((1, 2, 3)), chance.choice((2, 3))
    value = iter(range(1, 100))
    out = []
    for warp in range(warps):
        steps: list[Step] = []
        if warp == 0:
            for stage in range(stages - 1):
                steps += [("copy", stage, next(value)), ("commit",)]
        for turn in range(turns):
            ahead = turn + stages - 1
            if stages == 1:
                steps += [("copy", 0, next(value)), ("commit",), ("wait", 0)] if warp == 0 else []
                steps += [("barrier",), ("read", 0), ("barrier",)]
                continue
            steps += [("wait", stages - 2)] if warp == 0 else []
            steps += [("barrier",), ("read", turn % stages)]
            if warp == 0:
                steps += [("copy", ahead % stages, next(value))] if ahead < turns else []
                steps += [("commit",)]
        out.append(tuple(steps))
    return Program(tuple(out))


def _mbarriers(chance: random.Random) -> Program:
    stages, turns, readers = chance.choice((1, 2)), chance.choice((2, 3)), chance.choice((1, 1, 2))
    full, empty = range(stages), range(stages, 2 * stages)
    producer: list[Step] = []
    for turn in range(turns):
        stage, phase = turn % stages, turn // stages & 1
        producer += [("phase", empty[stage], 1 - phase), ("arrive", full[stage], 1)]
        producer += [("load", stage, turn + 1, full[stage])]
    consumer: list[Step] = []
    for turn in range(turns):
        stage, phase = turn % stages, turn // stages & 1
        consumer += [("phase", full[stage], phase), ("read", stage), ("arrive", empty[stage], 0)]
    counts = (1,) * stages + (readers,) * stages
    return Program((tuple(producer), *[tuple(consumer)] * readers), counts)


def faulty(program: Program, chance: random.Random) -> Program:
    """The program with one step of synchronisation left out or changed; a barrier leaves all warps."""
    warps = [list(steps) for steps in program.warps]
    places = [
        (w, i)
        for w, steps in enumerate(warps)
        for i, s in enumerate(steps)
        if s[0] not in ("read", "copy", "load")
    ]
    warp, at = chance.choice(places)
    kind, *given = warps[warp][at]
    if kind == "barrier":
        number = sum(step[0] == "barrier" for step in warps[warp][:at])
        for steps in warps:
            del steps[[i for i, step in enumerate(steps) if step[0] == "barrier"][number]]
    elif kind == "wait" and chance.random() < 0.5:
        warps[warp][at] = ("wait", given[0] + 1)
    elif kind == "phase" and chance.random() < 0.5:
        warps[warp][at] = ("phase", given[0], 1 - given[1])
    elif kind == "arrive" and given[1] and chance.random() < 0.5:
        warps[warp][at] = ("arrive", given[0], chance.choice((0, 2)))
    else:
        del warps[warp][at]
    return Program(tuple(map(tuple, warps)), program.counts)
