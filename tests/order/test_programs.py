"""The replay against all interleavings of small random programs: it tells exactly those that can go wrong."""

from __future__ import annotations

import random
from collections import Counter

import numpy as np
import pytest

from layoutcheck.dsl.lowered.machine import Launch
from layoutcheck.order.describe import describe
from layoutcheck.order.engine import run
from layoutcheck.order.meaning import Meaning
from layoutcheck.order.watched import Event, Watched
from layoutcheck.sources.mlir import Operation, Value
from tests.order.programs import Program, TooMany, faulty, outcomes, pipeline

BARS = 1024  # where the mbarriers lie in shared memory
UNTOLD = (
    "no-proxy-fence-before-overwrite",
    "initialisation-not-fenced",
    "exit-while-copied",
    "fence-by-reader",
)


def watched(program: Program) -> Watched:
    """The events of a program, warp by warp; mbarriers are initialised by warp 0 before a barrier."""
    threads = 32 * len(program.warps)
    out = Watched(Launch((threads, 1, 1)), shared_bytes=2048)

    def add(warp: int | None, lane: bool, kind: str, *values: int, **facts: object) -> None:
        mask = np.zeros(threads, bool)
        first = 0 if warp is None else 32 * warp
        mask[first : threads if warp is None else first + (1 if lane else 32)] = True
        size, count = facts.pop("size", 0), facts.pop("count", 0)
        space = "smem" if values else ""
        pointers = [Value("%p", "!llvm.ptr<3>")] * len(values)
        meaning = Meaning(
            kind, pointers, space, size, count, {k: str(v) for k, v in facts.items()}, "", Operation(kind)
        )
        out.events.append(Event(meaning, values, mask, (), False, False, len(out.events)))

    for bar, count in enumerate(program.counts):
        add(0, True, "mbar_init", BARS + 8 * bar, count)
    add(None, False, "fence_init")
    add(None, False, "barrier", id="", threads="")
    for warp, steps in enumerate(program.warps):
        for kind, *given in steps:
            if kind in ("write", "read"):
                add(warp, True, kind, 16 * given[0], size=16)
            elif kind == "copy":
                add(warp, True, "cp_async", 16 * given[0], size=16)
            elif kind == "load":
                add(warp, True, "bulk_load", 16 * given[0], BARS + 8 * given[2], size=16)
            elif kind == "commit":
                add(warp, False, "cp_commit")
            elif kind == "wait":
                add(warp, False, "cp_wait", count=given[0])
            elif kind == "barrier":
                add(warp, False, "barrier", id="", threads="")
            elif kind == "arrive":
                add(warp, True, "mbar_arrive", BARS + 8 * given[0], 16 * given[1], form="tx")
            elif kind == "phase":
                add(warp, False, "mbar_wait", BARS + 8 * given[0], given[1])
    return out


def told(program: Program) -> set[str]:
    """The kinds of problems that the replay tells of, forwards and backwards."""
    found = set()
    for backwards in (False, True):
        outcome = run([watched(program)], {}, backwards)
        assert outcome.undecided is None
        found |= {problem.kind for problem in outcome.problems}
    return found - set(UNTOLD)


def compare(count: int, seed: int) -> Counter[str]:
    """Random programs, right ones and faulty ones, held against all their interleavings."""
    chance = random.Random(seed)
    seen: Counter[str] = Counter()
    while sum(seen.values()) < count:
        program = pipeline(chance)
        fault = chance.random() < 0.75
        if fault:
            program = faulty(program, chance)
        try:
            ends, hangs = outcomes(program)
        except TooMany:
            continue
        wrong = hangs or len(ends) > 1
        kinds = told(program)
        assert fault or not wrong, program
        assert bool(kinds) == wrong, (program, kinds, ends, hangs)
        seen["wrong" if wrong else "right"] += 1
    return seen


def test_the_replay_agrees_with_all_interleavings() -> None:
    seen = compare(150, 1)
    assert min(seen["wrong"], seen["right"]) > 30


@pytest.mark.sweep
def test_the_replay_agrees_in_thousands() -> None:
    print(compare(2000, 2))


@pytest.mark.parametrize(
    ("name", "attribute", "text"),
    [
        (
            "nvvm.inline_ptx",
            "ptxCode",
            "st.async.shared::cluster.mbarrier::complete_tx::bytes.f32 [a], b, [c];",
        ),
        ("llvm.inline_asm", "asm_string", "bar.red.popc.u32 $0, 3, p;"),
    ],
)
def test_inline_ptx_that_orders_is_not_passed_over(name: str, attribute: str, text: str) -> None:
    meaning = describe(Operation(name, attributes={attribute: f'"{text}"'}))
    assert meaning is not None and meaning.kind == "unknown" and meaning.facts["name"] == text.split()[0]
    arithmetic = Operation(name, attributes={attribute: '"tanh.approx.f32 $0, $1;"'})
    assert describe(arithmetic) is None


def test_an_operation_on_shared_memory_that_nobody_knows_is_not_passed_over() -> None:
    there = [Value("%p", "!llvm.ptr<3>")]
    meaning = describe(Operation("nvvm.store.unknown", operands=there))
    assert meaning is not None and meaning.kind == "unknown"
    assert describe(Operation("nvvm.mapa", operands=there)) is None
