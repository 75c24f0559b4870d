"""The modules of a trace, shared out among those who look at them: this process, or several (`judges.py`).

Several begin while the program still runs; a module that is called after that is looked at again.
Modules with copies at new lines come first: the others of a suite are those of other parameters. Where
time is limited, the order of accesses, which takes longer, waits for the addresses in all of these; where it
will not do for all modules, the order in the others waits until the rest has been looked at.
What is found does not depend on who looks, nor on when an answer comes.
"""

from __future__ import annotations

import itertools
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeAlias

from layoutcheck.dsl.judges import Here, Judges
from layoutcheck.dsl.look import ADDRESSES, ORDER, Answer, Task
from layoutcheck.sources.traced import Frame, TracedCopy
from layoutcheck.sources.traced_module import TracedModule

Given: TypeAlias = "tuple[TracedModule, Sequence[TracedCopy]]"
_POLL_SECONDS = 0.1


class SharedOut:
    """`addresses` and `orders` are the answers on each part by the module's number, as far as they are there.

    With `order` the orders are looked at. `compiled`: the program itself has its modules compiled.
    """

    def __init__(self, judges: Here | Judges, *, order: bool, compiled: bool) -> None:
        self.addresses: dict[int, Answer] = {}
        self.orders: dict[int, Answer] = {}
        self._judges, self._order, self._compiled = judges, order, compiled
        self._given: dict[int, Given] = {}
        self._ids: dict[int, int] = {}  # of a module as it is now, by its number; others are of no use
        self._numbers: dict[int, int] = {}  # of a module, by its id
        self._next = itertools.count()
        self._places = set[tuple[str, Frame]]()  # of the copies in all of these
        self._fresh = set[int]()  # numbers of modules with a copy where no earlier one has any
        self._first, self._todo = deque[int](), deque[int]()  # ids: those of the fresh, and of the others
        self._orders, self._late = deque[int](), deque[int]()
        self._limited = False  # whether there is a deadline
        self._spent: dict[str, list[float]] = {ADDRESSES: [], ORDER: []}

    def add(self, number: int, module: TracedModule, copies: Sequence[TracedCopy]) -> None:
        """Have a module looked at, unless it was added as it is."""
        if self._given.get(number) == (module, copies):
            return
        places = {(module.arch, one.where) for one in copies}
        if number not in self._given and places - self._places:
            self._fresh.add(number)
        self._places |= places
        self._given[number] = module, copies
        self.addresses.pop(number, None)
        self.orders.pop(number, None)
        self._ids[number] = identity = next(self._next)
        self._numbers[identity] = number
        (self._first if number in self._fresh else self._todo).append(identity)

    def step(self, deadline: float | None = None) -> None:
        """Give out what can be given out now, and take the answers that are there.

        At the `deadline`, a time of `time.monotonic`, the program is ended.
        """
        self._limited = deadline is not None
        while self._give_one():
            pass
        for answer in self._judges.answers(0.0):
            self._take(answer, deadline)

    def finish(self, between: Callable[[], None] | None = None, deadline: float | None = None) -> None:
        """Look at all that was added; `between` is called now and then, and may raise.

        After the `deadline`, a time of `time.monotonic`, nothing is begun.
        """
        self._limited = deadline is not None
        while any(self._queues) or self._judges.busy:
            if between is not None:
                between()
            while (in_time := deadline is None or time.monotonic() <= deadline) and self._give_one():
                pass
            if not in_time and not self._judges.busy:
                return
            for answer in self._judges.answers(_POLL_SECONDS, deadline):
                self._take(answer, deadline)

    @property
    def _queues(self) -> tuple[deque[int], ...]:
        begun = (self._first, self._orders) if self._limited else (self._orders, self._first)
        return *begun, self._todo, self._late

    def _give_one(self) -> bool:
        queues = self._queues
        for queue in queues:
            while queue and not self._is_current(queue[0]):
                queue.popleft()
        waiting = [one for one in queues if one]
        if not waiting:
            return False
        queue = waiting[0]
        module, copies = self._given[self._numbers[queue[0]]]
        part = ORDER if queue is self._orders or queue is self._late else ADDRESSES
        task = Task(queue[0], module, copies, part, self._compiled)
        if not self._judges.give(task, sum(map(len, queues)) - 1):
            return False
        queue.popleft()
        return True

    def _is_current(self, identity: int) -> bool:
        return self._ids[self._numbers[identity]] == identity

    def _take(self, answer: Answer, deadline: float | None) -> None:
        if answer.late or not self._is_current(answer.number):
            return
        identity, answer = answer.number, replace(answer, number=self._numbers[answer.number])
        self._spent[answer.part].append(answer.seconds)
        if answer.part == ORDER:
            self.orders[answer.number] = answer
            return
        self.addresses[answer.number] = answer
        if self._order and not answer.broken:
            others, each = len(self._given) - len(self.addresses), _mean(self._spent[ADDRESSES])
            needed = _mean(self._spent[ORDER]) + each * others / (self._judges.busy + 1)
            enough = deadline is None or time.monotonic() + needed <= deadline
            (self._orders if enough or answer.number in self._fresh else self._late).append(identity)


def _mean(seconds: Sequence[float]) -> float:
    return sum(seconds) / len(seconds) if seconds else 0.0
