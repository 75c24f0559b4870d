"""What is looked at in a traced module beside its copies' types, in two parts.

    look(lowering, Task(0, module, copies, ADDRESSES))  -> Answer
    look(lowering, Task(0, module, copies, ORDER))      -> Answer

An answer does not depend on which process looks, nor on what it has looked at before: `judges.py` sends tasks
to other processes, and gets answers back.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from layoutcheck.dsl.lowered.refusals import Refusal
from layoutcheck.dsl.lowered.resolve import Lowering
from layoutcheck.errors import fault
from layoutcheck.operands import check_operands
from layoutcheck.sources.traced import ElementReport, OperandReport, OrderReport, TracedCopy
from layoutcheck.sources.traced_module import TracedModule

# The parts: copies, elements, products and refusals; and what is left.
ADDRESSES, ORDER = "addresses", "order"


@dataclass(frozen=True, slots=True)
class Task:
    """A part of what is looked at in the module `number`; `copies` are its copies.

    `compiled`: the program has the compiler compile it itself.
    """

    number: int
    module: TracedModule
    copies: Sequence[TracedCopy]
    part: str
    compiled: bool = False


@dataclass(frozen=True, slots=True)
class Answer:
    """What a task came to. `problem` is why copies are known by their types: the DSL cannot be asked.

    `broken` says why there is no answer. `late`: because the time was up.
    """

    number: int
    part: str
    copies: Sequence[TracedCopy] = ()
    operands: OperandReport | None = None
    elements: ElementReport | None = None
    refusal: Refusal | None = None
    order: OrderReport | None = None
    problem: str = ""
    broken: str = ""
    late: bool = False
    seconds: float = field(default=0.0, compare=False)


def look(lowering: Lowering | None, task: Task) -> Answer:
    """Do it. What goes wrong in it is the answer's."""
    start = time.monotonic()
    try:
        found = _addresses(lowering, task) if task.part == ADDRESSES else _order(lowering, task)
    except MemoryError:
        found = Answer(task.number, task.part, broken="there is not enough memory for it")
    except Exception as error:
        found = Answer(task.number, task.part, broken=fault(error))
    if lowering is not None:
        lowering.recover()
    return replace(found, seconds=time.monotonic() - start)


def _addresses(lowering: Lowering | None, task: Task) -> Answer:
    module = task.module
    if lowering is None:
        return Answer(task.number, task.part, task.copies, check_operands(module))
    operands = lowering.check_products(module)
    copies = lowering.resolve(module.text, task.copies, module.arch, module.calls)
    elements = lowering.elements(module)
    refused = any(one.refused for one in copies)
    refusal = None if refused else lowering.refusal(module.text, module.arch, task.compiled)
    return Answer(task.number, task.part, copies, operands, elements, refusal, problem=lowering.problem)


def _order(lowering: Lowering | None, task: Task) -> Answer:
    order = None if lowering is None else lowering.check_order(task.module)
    return Answer(task.number, task.part, order=order)
