"""The modules of a trace, shared out among those who look at them: this process, or several (`judges.py`).

Where the time will not do for all of every module, the order of accesses waits until the rest has been looked
at. What is found does not depend on who looks, nor on when an answer comes.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from layoutcheck.dsl.judges import Here, Judges
from layoutcheck.dsl.look import ADDRESSES, ORDER, Answer, Task
from layoutcheck.sources.traced import TracedCopy
from layoutcheck.sources.traced_module import TracedModule

_POLL_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class Looked:
    """The answers on each part, by the module's number; where there is none the time was up."""

    addresses: dict[int, Answer] = field(default_factory=dict)
    orders: dict[int, Answer] = field(default_factory=dict)


def look_at_all(
    modules: Sequence[tuple[TracedModule, Sequence[TracedCopy]]],
    judges: Here | Judges,
    looked: Looked,
    *,
    order: bool,
    compiled: bool,
    between: Callable[[], None] | None = None,
    deadline: float | None = None,
) -> None:
    """Fill `looked`, with `order` also the orders; `between` is called now and then, and may raise.

    After the `deadline`, a time of `time.monotonic`, nothing is begun.
    """
    todo, orders, late = deque(range(len(modules))), deque[int](), deque[int]()
    spent: dict[str, list[float]] = {ADDRESSES: [], ORDER: []}

    def give_one() -> bool:
        queue = orders or todo or late
        if not queue:
            return False
        module, copies = modules[queue[0]]
        task = Task(queue[0], module, copies, ADDRESSES if queue is todo else ORDER, compiled)
        if not judges.give(task, len(todo) + len(orders) + len(late) - 1):
            return False
        queue.popleft()
        return True

    def take(answer: Answer) -> None:
        spent[answer.part].append(answer.seconds)
        if answer.part == ORDER:
            looked.orders[answer.number] = answer
            return
        looked.addresses[answer.number] = answer
        if order and not answer.broken:
            others, each = len(modules) - len(looked.addresses), _mean(spent[ADDRESSES])
            needed = _mean(spent[ORDER]) + each * others / (judges.busy + 1)
            enough = deadline is None or time.monotonic() + needed <= deadline
            (orders if enough else late).append(answer.number)

    try:
        while todo or orders or late or judges.busy:
            if between is not None:
                between()
            while (in_time := deadline is None or time.monotonic() <= deadline) and give_one():
                pass
            if not in_time and not judges.busy:
                return
            for answer in judges.answers(_POLL_SECONDS, deadline):
                if not answer.late:
                    take(answer)
    finally:
        judges.rest()


def _mean(seconds: Sequence[float]) -> float:
    return sum(seconds) / len(seconds) if seconds else 0.0
