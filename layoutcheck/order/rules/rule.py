"""`OrderRule`: a rule about the order of accesses, and the words that such rules share.

Its page is in docs/rules, as everywhere, and has its severity.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from layoutcheck.markdown import by_page
from layoutcheck.order.problems import Party, Problem
from layoutcheck.sources.traced import KernelPlace

Places = Sequence[KernelPlace]
Tell = Callable[[Problem, Places], tuple[str, str]]


@dataclass(frozen=True, slots=True)
class OrderRule:
    """`tell` gives title and message of a problem of one of `kinds`, whose parties stand at the places given."""

    code: str
    severity: str
    kinds: frozenset[str]
    tell: Tell


def ordered(code: str, kinds: Iterable[str], tell: Tell) -> OrderRule:
    """The rule of that code, as its page has it."""
    return OrderRule(code, by_page(code).severity, frozenset(kinds), tell)


def make_rule(*kinds: str) -> Callable[[Tell], OrderRule]:
    """Makes a function the rule of the code that its name is."""
    return lambda tell: ordered(tell.__name__.upper(), kinds, tell)


def line(place: KernelPlace) -> str:
    """`kernel.py:12`."""
    if not place.where.file:
        return "an unknown line"
    return f"{Path(place.where.file).name}:{place.where.line}"


def who(place: KernelPlace) -> str:
    """Thread, block and turns of one party."""
    block = f" of block {place.block} of the cluster" if place.block else ""
    turns = f" (turn {'.'.join(map(str, place.turns))})" if place.turns else ""
    return f"thread {place.thread}{block}{turns}"


def does(place: KernelPlace) -> str:
    """`thread 32 (turn 1) reads at kernel.py:12`."""
    return f"{who(place)} {place.what} at {line(place)}"


def where_bytes(problem: Problem) -> str:
    """The bytes of shared memory that two accesses meet in."""
    if problem.facts.get("memory"):
        return f"the same {problem.facts['memory']} memory"
    at: Party | None = (
        problem.second if problem.second is not None and problem.second.address >= 0 else problem.first
    )
    if at is None or at.address < 0:
        return "shared memory"
    last = at.address + max(1, at.size) - 1
    return (
        f"bytes {at.address} to {last} of shared memory"
        if last > at.address
        else f"byte {at.address} of shared memory"
    )


def two(problem: Problem, places: Places) -> str:
    """Both parties in one sentence each."""
    first, second = map(does, places[:2])
    return f"{first[:1].upper()}{first[1:]}; {second}; both access {where_bytes(problem)}."


def alone(places: Places, whose: str) -> str:
    """What one line lacks that several of `whose` ("thread", "block") execute; "" where there are two lines."""
    first, second = places[0], places[1]
    at, other = ((p.where.file, p.where.line, p.turns) for p in (first, second))
    if at != other:
        return ""
    by = " an atomic operation," if first.what != second.what else ""
    return f"Missing: a place for each {whose},{by} or a condition by which one {whose} does it."


def same_warp(problem: Problem) -> bool:
    """Whether both parties are of one warp."""
    a, b = problem.first, problem.second
    return a is not None and b is not None and a.block == b.block and a.warp == b.warp
