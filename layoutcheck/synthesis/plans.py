"""What a synthesis returns: plans, best first, each with its proof and its program; and what was searched."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

from layoutcheck.atoms.as_dict import copy_to_dict
from layoutcheck.check import Report
from layoutcheck.copies.copy import Copy
from layoutcheck.digits import many
from layoutcheck.display import Text
from layoutcheck.errors import InputError
from layoutcheck.machine.cost import Counts
from layoutcheck.progress import Progress
from layoutcheck.synthesis import words
from layoutcheck.synthesis.candidates import as_wide
from layoutcheck.synthesis.compiled import Compiled
from layoutcheck.synthesis.copies import Judged, Step, counted_again, judged
from layoutcheck.synthesis.demand import Demand, demand
from layoutcheck.synthesis.pace import pace
from layoutcheck.synthesis.program import program
from layoutcheck.synthesis.search import Deadline, Found, Refused, Search, Space, kind_of, space_of
from layoutcheck.synthesis.shared import Shared
from layoutcheck.synthesis.tma import Tma
from layoutcheck.synthesis.wanted import Wanted
from layoutcheck.synthesis.words import lack

MOST = 8
"""Plans that are judged and returned."""
SEARCH_SECONDS, MOST_SECONDS = 6.0, 7.2
"""Of the processor, after which the search ends, and no other plan is judged: a busy machine gives an idle
one's answer, later."""
BUSY = 8.0
"""How many times as long by the clock both may take on a busy machine."""
NOT_JUDGED = "not judged: the time was up"
MOST_ROUNDS = 6
"""Searches, each without what `check` refused before."""


@dataclass(frozen=True, eq=False)
class Plan:
    """One way of the whole tile, every copy of it `legal` or `slow` by `check`.

    `counts` are warp instructions, wavefronts, sectors and runs of one tile; `cycles` the predicted time of
    an SM for a tile (`synthesis.pace`); `made` what the compiler made of it, if it was asked.
    """

    found: Found
    wanted: Wanted
    steps: list[list[Step]]
    reports: list[Report]
    made: Compiled | None = None

    def __repr__(self) -> str:
        return f"<Plan {self.verdict} {self.kind}>"

    @property
    def kind(self) -> str:
        """What it does, in words."""
        return kind_of(self.found.shared, self.found.moves)

    @property
    def shared(self) -> Shared | None:
        """The layout of a stage; None where the tile does not go through shared memory."""
        return self.found.shared

    @property
    def as_wide(self) -> bool:
        """Whether every access is as wide as alignment and tile allow."""
        return all(as_wide(move, self.found.shared, self.wanted) for move in self.found.moves)

    @property
    def counts(self) -> Counts:
        """Of one tile."""
        return self.found.counts

    @cached_property
    def demand(self) -> Demand:
        """What it asks of an SM, by the counts and by its `made` registers and instructions."""
        return demand(self.found, self.wanted, self.made)

    @property
    def cycles(self) -> float:
        """Predicted, of an SM for a tile (`synthesis.pace`)."""
        return pace(self.demand)[0]

    @property
    def bound(self) -> str:
        """The busiest of `pace.pipes`."""
        return pace(self.demand)[1]

    @property
    def order(self) -> tuple[Any, ...]:
        """Best first: time, shared bytes, instructions, then simplicity."""
        return round(self.cycles, 1), *self.found.key[1:]

    @property
    def shared_bytes(self) -> int:
        """Of all stages."""
        return 0 if self.shared is None else self.shared.size * self.wanted.stages

    @property
    def verdict(self) -> str:
        """The worst of its copies': "legal" or "slow"."""
        return "slow" if any(report.verdict == "slow" for report in self.reports) else "legal"

    @property
    def costs(self) -> tuple[float, int, int]:
        """Time, bytes and instructions."""
        return self.cycles, self.shared_bytes, self.counts.instructions

    @cached_property
    def code(self) -> str:
        """A CuTe DSL program: `kernel` and `launch`."""
        return program(self.found, self.steps, self.wanted)

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        shared = self.shared
        return {
            "kind": self.kind,
            "verdict": self.verdict,
            "cycles": self.cycles,
            "bound": self.bound,
            "compiled": None if self.made is None else self.made._asdict(),
            "shared_bytes": self.shared_bytes,
            "shared": None if shared is None else str(shared.memref),
            "canonical": shared.kind if shared is not None else "",
            "counts": {one.name: getattr(self.counts, one.name) for one in fields(Counts)},
            "steps": [
                {"role": step.role, "copy": copy_to_dict(step.copy)} for move in self.steps for step in move
            ],
            "code": self.code,
        }


@dataclass(frozen=True, eq=False)
class Synthesis(Text):
    """The plans for a request, best first, at least one; `dropped`: kinds that are left out, and why.

    `looked_at` layouts of the space were searched: fewer than there are where the time was up before. `kinds`
    are those that were found, best first by their counts, of which `MOST` are judged.
    """

    wanted: Wanted
    plans: tuple[Plan, ...]
    dropped: tuple[tuple[str, str], ...]
    searched: Space
    looked_at: int
    kinds: tuple[str, ...]

    def __repr__(self) -> str:
        return f"<Synthesis {many(len(self.plans), 'plan')}, best: {self.best.kind}>"

    @property
    def best(self) -> Plan:
        """The first."""
        return self.plans[0]

    @property
    def cut(self) -> bool:
        """Whether the time was up before all was searched and judged: nothing is called the best then."""
        late = any(reason == NOT_JUDGED for _, reason in self.dropped)
        return late or self.looked_at < len(self.searched.layouts)

    @cached_property
    def pareto(self) -> tuple[Plan, ...]:
        """The plans that no other equals or beats in time, shared bytes and instructions."""
        return tuple(
            one
            for n, one in enumerate(self.plans)
            if not any(
                _no_worse(other.costs, one.costs, n > m) for m, other in enumerate(self.plans) if m != n
            )
        )

    @property
    def why(self) -> str:
        """Two sentences: what the best plan is bound by, and what the next one asks more."""
        return words.why(self)

    @cached_property
    def notes(self) -> tuple[str, ...]:
        """What an operand leaves over, kinds of plan that are not shown, and engines that none has: why."""
        return words.notes(self)

    @property
    def space(self) -> tuple[str, ...]:
        """What was searched, in words: the best plan is the best of these."""
        return words.space(self)

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "tile": list(self.wanted.tile),
            "dtype": str(self.wanted.dtype),
            "to": [str(one) for one in self.wanted.consumers],
            "arch": str(self.wanted.arch),
            "threads": self.wanted.threads,
            "stages": self.wanted.stages,
            "space": list(self.space),
            "cut": self.cut,
            "why": self.why,
            "plans": [{**one.to_dict(), "pareto": one in self.pareto} for one in self.plans],
            "notes": list(self.notes),
            "dropped": [{"kind": kind, "reason": reason} for kind, reason in self.dropped],
        }


def _no_worse(a: Sequence[float], b: Sequence[float], ties: bool) -> bool:
    return all(x <= y for x, y in zip(a, b, strict=True)) and (ties or tuple(a) != tuple(b))


Compiler = Callable[[Sequence[tuple[Found, list[list[Step]]]], Wanted], list[Compiled]]


def synthesize(
    wanted: Wanted, progress: Progress | None = None, compiler: Compiler | None = None
) -> Synthesis:
    """The best plan of every kind, judged, best first, by what `compiler` makes of them if it is given.

    Raises InputError where no plan works, with the reason of the best that does not; and what `compiler`
    raises.
    """
    searched_until, until = (Deadline(most, BUSY * most) for most in (SEARCH_SECONDS, MOST_SECONDS))
    space = space_of(wanted)
    searching = Search(space, wanted.stages, wanted.arch.smem_per_block_bytes)
    refused: Refused = set()
    known: dict[tuple[Any, ...], Judged] = {}
    checked: dict[Copy, Report] = {}
    reasons: dict[str, str] = {}  # the first of each kind
    for _ in range(MOST_ROUNDS):
        searched = searching.run(progress, refused, searched_until)
        plans: list[Plan] = []
        before = len(refused)
        for n, one in enumerate(searched.found):
            if len(plans) == MOST:
                break
            if plans and until.passed:
                late = searched.found[n : n + MOST - len(plans)]
                reasons |= {kind_of(other.shared, other.moves): NOT_JUDGED for other in late}
                break
            if progress is not None:
                progress("checks", n, min(len(searched.found), MOST))
            key = one.shared, *one.moves
            answer = known[key] = known.get(key) or _judged(one, wanted, checked)
            if not answer.refusal:
                plans.append(Plan(one, wanted, answer.steps, answer.reports))
                continue
            reasons.setdefault(kind_of(one.shared, one.moves), answer.refusal)
            guilty = answer.guilty
            if guilty is not None:
                whatever = one.shared is None or isinstance(guilty, Tma)
                refused.add((guilty, None if whatever or one.shared is None else one.shared.layout))
        if len(refused) == before or searched_until.passed:
            break
    dropped = tuple(one for one in reasons.items() if one[0] not in {plan.kind for plan in plans})
    if not plans:
        raise _none(wanted, space, dropped, searched.layouts if searched_until.passed else None)
    if compiler is not None:
        made = compiler([(plan.found, plan.steps) for plan in plans], wanted)
        plans = [replace(plan, made=one) for plan, one in zip(plans, made, strict=True)]
    plans.sort(key=lambda plan: plan.order)
    all_kinds = tuple(kind_of(one.shared, one.moves) for one in searched.found)
    return Synthesis(wanted, tuple(plans), dropped, space, searched.layouts, all_kinds)


def _judged(one: Found, wanted: Wanted, checked: dict[Copy, Report]) -> Judged:
    """As `judged`; and refused where the search and the judge's own analysis count differently."""
    answer = judged(one, wanted, checked)
    if not answer.refusal and counted_again(one, wanted) != one.counts:
        return answer._replace(refusal="the search and the judge count it differently: please report this")
    return answer


def _none(
    wanted: Wanted, space: Space, dropped: Sequence[tuple[str, str]], reached: int | None
) -> InputError:
    """No plan works: why. `reached` layouts, where the time was up."""
    said = f"no plan of the space works for a tile of {wanted.title}: "
    if dropped:
        reasons = "; ".join(f"{kind}: {reason}" for kind, reason in dropped[:2])
        return InputError(said + reasons, expected="other extents, threads, stages, engines or target")
    if reached is not None:
        late = f"the time was up after {reached} of {len(space.layouts)} layouts"
        return InputError(said + late, expected="a smaller tile, or one --engine")
    found = lack(space, wanted)
    return InputError(said + found.said, expected=found.expected)
