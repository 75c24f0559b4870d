"""Order: whether data is there when it is read, and a buffer free when it is written.

    check_module(module, lowered, problem) -> OrderReport

A traced kernel, lowered by the DSL's own passes, is run by the evaluator for all threads of a block (of all
blocks of a cluster); what moves or orders memory is written down (`events`), and replayed with vector clocks
(`engine`). What nothing orders becomes a finding with both places in the user's source (`rules`). The memory
model, and what is not modelled: docs/order.md.
"""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from typing import Any, TypeAlias

from layoutcheck.copies.cluster import MOST_BLOCKS
from layoutcheck.dsl.lowered import SURPRISES, argument_types, unreadable
from layoutcheck.dsl.lowered.arguments import INTEGER, Numbers
from layoutcheck.dsl.lowered.calls import numbers_of
from layoutcheck.dsl.lowered.instructions import tma_transfers
from layoutcheck.errors import InputError
from layoutcheck.order.between import TITLE, between_blocks
from layoutcheck.order.boxes import loaded_again, outside_boxes
from layoutcheck.order.budget import Budget, OutOfTime
from layoutcheck.order.crowded import crowded
from layoutcheck.order.early import begins_early
from layoutcheck.order.events import WatchedKernel, kernels
from layoutcheck.order.lanes import lanes_apart
from layoutcheck.order.never_read import never_read
from layoutcheck.order.never_written import never_written
from layoutcheck.order.other_blocks import other_blocks
from layoutcheck.order.overlap import lost_stores
from layoutcheck.order.problems import Undecided
from layoutcheck.order.read_swizzled import read_swizzled
from layoutcheck.order.recorder import TooManyEvents
from layoutcheck.order.register_limits import register_limits
from layoutcheck.order.replays import Replays
from layoutcheck.order.runs import Run, left_over, runs
from layoutcheck.order.stored_early import stored_early
from layoutcheck.order.tell import Teller
from layoutcheck.order.tensor_memory import tensor_memory
from layoutcheck.order.trips import left_out, trips
from layoutcheck.sources.mlir import Operation
from layoutcheck.sources.traced import OrderReport
from layoutcheck.sources.traced_module import TracedModule

Calls: TypeAlias = "tuple[Numbers | None, ...]"
_MODULE = '"gpu.module"'  # what kernels are in; a function of the host alone has none
TRIPS_SECONDS = 2.0  # of processor time, after which no further trip count is tried


def check_module(module: TracedModule, lowered: str, problem: str, seconds: float = math.inf) -> OrderReport:
    """The order of accesses in a traced module. Raises nothing; says what is not checked.

    `seconds` of processor time are what it may take; what was found until then is kept.
    """
    start, budget = time.monotonic(), Budget(seconds)
    if problem:
        return OrderReport(module.kernel, module.arch, problem=problem)
    try:
        types = argument_types(module.text)
        watched = kernels(lowered, types)
        calls = numbers_of(module.calls, types, [kernel.name for kernel in watched])
        alone = len(watched) == 1
        found = [_sized(kernel, module, budget, calls, alone) for kernel in watched]
        if not found:
            why = "the DSL's passes leave no kernel of it" if _MODULE in module.text else ""
            return OrderReport(module.kernel, module.arch, problem=why)
    except (InputError, *SURPRISES) as error:
        return OrderReport(module.kernel, module.arch, problem=unreadable(error))
    return OrderReport(
        module.kernel, module.arch,
        tuple(f for one in found for f in one.findings),
        next((one.problem for one in found if one.problem), ""),
        _once(s for one in found for s in one.assumed),
        _once(s for one in found for s in one.unchecked),
        max((one.threads for one in found), default=0),
        max((one.blocks for one in found), default=0),
        sum(one.events for one in found),
        tuple(sorted({n for one in found for n in one.trips})),
        time.monotonic() - start,
    )  # fmt: skip


def _sized(
    kernel: WatchedKernel, module: TracedModule, budget: Budget, calls: Calls, alone: bool
) -> OrderReport:
    """The order in a kernel; in the program's own call if made-up sizes make it do more than is followed."""
    call = next((one for one in calls if one is not None), None)
    try:
        return _kernel(replace(kernel, whole=call is not None), module, budget, calls, alone)
    except TooManyEvents:
        smaller = None if call is None else kernel.with_numbers(call, INTEGER)
    if call is None or smaller is None:
        return _kernel(kernel, module, budget, calls, alone)
    found = _kernel(smaller, module, budget, calls, alone)
    return replace(found, unchecked=(*found.unchecked, f"sizes other than {call.name}"))


def _kernel(
    kernel: WatchedKernel, module: TracedModule, budget: Budget, calls: Calls, alone: bool
) -> OrderReport:
    """The order in a kernel; `alone`: no other kernel of the module writes what the calls' tensors hold.

    Raises TooManyEvents of a kernel that is `whole`.
    """
    name, arch = module.kernel, module.arch
    kernel = _in_clusters(kernel, calls)
    size = math.prod(kernel.launch.cluster)
    threads = kernel.launch.threads
    if size > MOST_BLOCKS:
        why = f"a cluster of {size} blocks; up to {MOST_BLOCKS} are simulated"
        return OrderReport(name, arch, problem=why, threads=threads)
    if threads > 1024:
        return OrderReport(name, arch, problem=f"a block of {threads} threads", threads=threads)
    replays = Replays(Teller(module), tma_transfers(module.text), budget, calls)
    late, assumed = "", set[str]()
    try:
        early, unknown = begins_early(kernel, budget)
        replays.tell(early)
        replays.unchecked |= unknown
        _between(kernel, replays)
        _lanes(kernel, replays, Budget(replays.budget.left() / 4))
        if any(one.within for one in kernel.meanings.values()) or _crowded(kernel, budget):
            replays.unchecked |= set(_never(kernel))
            shorter = _all_runs(kernel, module, replays, assumed)
            bare = (None if call is None else replace(call, contents=()) for call in calls)
            _other_runs(kernel, calls if alone else tuple(bare), replays)
            if not replays.problem:
                _notes(kernel, replays, calls)
                _left_over(kernel, replays, shorter)
            replays.unchecked |= set(_unreached(kernel, replays.met))
    except OutOfTime:
        late = f"the time budget of {budget.seconds:g} s was used up"
        part = f"; part of {replays.events:,} accesses and synchronisations was looked at"
        late += part if replays.events else ""
    return OrderReport(
        name, arch, replays.kept(), replays.problem or late, tuple(sorted(assumed)),
        tuple(sorted(replays.unchecked)), threads, size, replays.events,
        trips=tuple(sorted(set(replays.trips))),
    )  # fmt: skip


def _in_clusters(kernel: WatchedKernel, calls: Calls) -> WatchedKernel:
    """The kernel; where an integer of the host makes its cluster too large, as in a call or of two blocks."""
    if math.prod(kernel.launch.cluster) <= MOST_BLOCKS:
        return kernel
    tried = [*((call, INTEGER) for call in calls if call is not None), (None, 2)]
    found = (kernel.with_numbers(numbers, integer) for numbers, integer in tried)
    return next((one for one in found if one is not None), kernel)


def _between(kernel: WatchedKernel, replays: Replays) -> None:
    """Global memory between blocks, within a part of the time. Raises OutOfTime."""
    try:
        between = between_blocks(kernel, replays.teller, Budget(replays.budget.left() / 4))
    except OutOfTime:
        replays.budget.check()
        replays.unchecked.add(f"{TITLE}: it takes too long")
        return
    replays.unchecked |= between.unchecked
    replays.tell(between.problems)


def _lanes(kernel: WatchedKernel, replays: Replays, budget: Budget, *where: Any) -> None:
    """What the lanes of a warp execute together, within `budget`. Raises OutOfTime once all time is used."""
    try:
        replays.tell(lanes_apart(kernel, budget, *where))
    except OutOfTime:
        replays.budget.check()
        replays.unchecked.add("shuffles and ldmatrix in branches of some lanes: it takes too long")


def _all_runs(
    kernel: WatchedKernel, module: TracedModule, replays: Replays, assumed: set[str]
) -> dict[str, Run]:
    """Replay every run; those with other numbers while nothing is wrong, and for a limited time.

    The first run in place of a longer one, by what is said of that.
    """
    began, shorter = 0.0, dict[str, Run]()
    for run in runs(kernel, replays.budget):
        if run.first:
            assumed |= {sentence for block in run.blocks for sentence in block.assumed}
            _replayed(kernel, replays, run)
            if not replays.trips:
                replays.tell(lost_stores(run.blocks[0], module))
                replays.tell(register_limits(run.blocks[0]))
                replays.tell(loaded_again(run.blocks[0]))
                replays.tell(read_swizzled(run.blocks[0], module))
                replays.tell(never_read(kernel, run.blocks))
                replays.tell(never_written(kernel, run.blocks, module, replays.transfers))
                replays.tell(stored_early(kernel, run.blocks, replays.transfers, replays.budget))
                replays.trips.append(trips(run.blocks))
            if run.usual is not None and (fewer := left_out(run.usual, run.blocks)) is not None:
                shorter.setdefault(f"all {fewer[0]:,} turns of its loops: {fewer[1]} are followed", run)
                replays.unchecked |= shorter.keys()
            if replays.problem:  # of the kernel as it is launched: nothing takes it back
                return shorter
            continue
        began = max(began, replays.budget.left())
        if replays.problem or replays.wrong or began - replays.budget.left() > TRIPS_SECONDS:
            break
        replays.trips.append(trips(run.blocks))
        with contextlib.suppress(*SURPRISES, ArithmeticError):  # numbers that no caller would give
            _replayed(kernel, replays, run)
    return shorter


def _left_over(kernel: WatchedKernel, replays: Replays, shorter: dict[str, Run]) -> None:
    """Replay what shorter runs left out, while nothing is wrong; what is said of these goes with it."""
    if replays.wrong:
        return
    with contextlib.suppress(OutOfTime, TooManyEvents):
        for said, one in shorter.items():
            for run in left_over(one, replays.budget):
                _replayed(kernel, replays, run)
                replays.unchecked.discard(said)


def _replayed(kernel: WatchedKernel, replays: Replays, run: Run) -> None:
    replays.take(run)
    replays.tell(tensor_memory(kernel, run.blocks[0]))


def _other_runs(kernel: WatchedKernel, calls: Calls, replays: Replays) -> None:
    """Replay blocks that go another way, and tails, while nothing is wrong and for a limited time."""
    if replays.problem or replays.wrong:
        return
    with contextlib.suppress(*SURPRISES, ArithmeticError):  # numbers that no kernel was looked at with before
        followed = replays.first[0] if replays.first is not None else []
        others = other_blocks(kernel, calls, followed, replays.budget, replays.unchecked)
        for case, launched, run in others:
            if replays.wrong:
                break
            replays.case = case
            replays.take(run)
            _lanes(launched, replays, run.cluster.budget, run.cluster.first, launched is not kernel)
    replays.case = ""


def _notes(kernel: WatchedKernel, replays: Replays, calls: Calls) -> None:
    """What takes more evaluations or replays, and is told as notes only; while there is time."""
    found = kernel.meanings.values()
    with contextlib.suppress(OutOfTime, *SURPRISES, ArithmeticError):
        if any(len(meaning.box) > 1 for meaning in found):
            block = kernel.watch(budget=replays.budget)
            replays.tell(outside_boxes(kernel, block, calls, replays.budget), launched=True)
        scopes = kernel.launch.cluster != (1, 1, 1) and any(meaning.facts.get("scope") for meaning in found)
        if scopes:
            replays.tell(replays.narrow(), launched=True)


def _crowded(kernel: WatchedKernel, budget: Budget) -> bool:
    """Whether warps of a block meet in global memory. Raises OutOfTime."""
    kinds = [m.kind for m in kernel.meanings.values() if m.space == "gmem"]
    if len(kinds) < 2 or "write" not in kinds:
        return False
    crowd = crowded(kernel.watch(budget=budget))
    return bool(crowd.cells.size or crowd.unsure)


def _never(kernel: WatchedKernel) -> Iterator[str]:
    """What the replay does not model of the kernel's operations."""
    if kernel.launch.cluster != (1, 1, 1):
        yield "scopes: fences, arrivals and waits are taken to reach the whole cluster"
    if any(m.kind == "tc_copy" for m in kernel.meanings.values()):
        yield "tensor memory that tcgen05.cp writes: its source is followed, its destination is not"


def _unreached(kernel: WatchedKernel, met: Collection[Operation | None]) -> Iterator[str]:
    """That most of a kernel stands behind branches that no run takes, as they rest on what it loads."""
    within = [op for op, m in kernel.meanings.items() if any(one.space != "gmem" for one in m.all)]
    left = sum(op not in met for op in within)
    if 2 * left > len(within):
        many = f"{left:,} of {len(within):,} accesses and synchronisations within a block"
        yield f"{many}: no run that was followed comes to them"


def _once(sentences: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(sentences))


__all__ = ["OrderReport", "Undecided", "check_module"]
