"""Provenance: which element of which global tensor every register and byte holds, and whether products fit.

    check_products(module, lowered, problem) -> OperandReport

The lowering of a traced kernel is evaluated for block 0 (all blocks of a cluster), with dynamic extents made
small (`follow`); its copies are replayed on shared memory whose bytes say what they are copies of (`replay`);
what reaches the tensor cores is held against the contract of a product (`contract`). Bytes that nothing has
written are looked for apart, and sums that count fills: `suspects` finds who could notice, and `unset` runs
what decides it.
docs/operands.md says what is followed and what is not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import cast

from layoutcheck.copies.cluster import MOST_BLOCKS
from layoutcheck.dsl.lowered import SURPRISES, argument_types, unreadable
from layoutcheck.dsl.lowered.calls import numbers_of
from layoutcheck.dsl.lowered.evaluate import kernels_in, name_of, parse_once, tag
from layoutcheck.dsl.lowered.grid import Grid
from layoutcheck.errors import InputError
from layoutcheck.operands import check_operands, keeps_values, multiplies, rearranges
from layoutcheck.order import Undecided
from layoutcheck.order.budget import Budget, OutOfTime
from layoutcheck.order.events import WatchedKernel
from layoutcheck.order.trips import GRID
from layoutcheck.provenance.copied import blocks_of, kernels_of, of_copies
from layoutcheck.provenance.epilogue import astray
from layoutcheck.provenance.examine import confirmed, examine, followed
from layoutcheck.provenance.further import TILES_SECONDS, by_rows, left_short, of_last, of_more
from layoutcheck.provenance.instances import OTHERS, USUAL, Instance, by_block, unequal
from layoutcheck.provenance.judged import NEUTRAL, NOT_MET, Breach, Judged
from layoutcheck.provenance.matrix import BLOCK_SCALED, is_product
from layoutcheck.provenance.plain import unproven
from layoutcheck.provenance.products import Products
from layoutcheck.provenance.tell import meant, told, told_beyond, told_sums, told_unset
from layoutcheck.provenance.tiles import Mode, no_more, place_tiles
from layoutcheck.provenance.unset import Unset, odd_sums, unset_values
from layoutcheck.sources.mlir import Operation
from layoutcheck.sources.traced import Frame, KernelFinding, OperandReport
from layoutcheck.sources.traced_module import TracedModule

SECONDS = 10.0  # of processor time that a kernel may take
RUNNING = "sums of products go on from tile to tile of one operand: if running sums are meant"
BESIDE = "results are combined with elements of another tile in another block: if that is meant"
AGAIN = "two blocks store one result at two places of C: if that is meant"
_TILES = "tiles of C beside the first"
_UNSET, _SUMS = "registers that nothing may have written", "sums that may count what was filled in"


def check_products(
    module: TracedModule, lowered: str, problem: str, seconds: float = SECONDS
) -> OperandReport:
    """The products and registers of a traced module. Raises nothing: what cannot be checked says so."""
    report = _products_of(module, lowered, problem, seconds)
    known = not problem and (multiplies(module) or rearranges(module) or keeps_values(module))
    findings, left = _of_numbers(module, lowered, seconds) if known else ([], [])
    return replace(report, findings=(*report.findings, *findings), unchecked=(*report.unchecked, *left))


def _of_numbers(module: TracedModule, lowered: str, seconds: float) -> tuple[list[KernelFinding], list[str]]:
    """What nothing has written, and sums that count fills; and what is not known of them."""
    try:
        types = argument_types(module.text)
        every = kernels_in(parse_once(lowered))
        calls = numbers_of(module.calls, types, [name_of(op) for op in every])
        grids = [Grid(op, types) for op in every]
    except SURPRISES as error:
        return [], [f"{_UNSET}: {_why(error, seconds)}"]
    unset, sums, lanes = (
        [_ended(partial(check, grid, calls, Budget(seconds)), seconds) for grid in grids]
        for check in (unset_values, partial(odd_sums, left=False), partial(odd_sums, left=True))
    )
    left = [f"{_UNSET}: {why}" for one in unset for why in one.left]
    left += [f"{_SUMS}: {why}" for one in sums for why in one.left]
    found, counted = ([use for one in kept for use in one.found] for kept in (unset, sums + lanes))
    notes = [told_beyond(one, module) for each in unset for one in each.beyond]
    return [*told_unset(found, module), *told_sums(counted, module), *notes], list(dict.fromkeys(left))


def _ended(check: Callable[[], Unset], seconds: float) -> Unset:
    """What a check of a kernel finds; why it ended, where it did before its end: the others may know more."""
    try:
        return check()
    except (OutOfTime, *SURPRISES) as error:
        return Unset(left=(_why(error, seconds),))


def _why(error: Exception, seconds: float) -> str:
    if isinstance(error, OutOfTime):
        return f"the time budget of {seconds:g} s was used up"
    if isinstance(error, Undecided):
        return f"the order of warps is not known: {error}"
    return unreadable(error)


def _products_of(module: TracedModule, lowered: str, problem: str, seconds: float) -> OperandReport:
    by_types = check_operands(module)
    if not multiplies(module):
        if problem:
            return by_types
        found, in_order = of_copies(module, lowered, seconds, rearranges(module))
        return replace(by_types, findings=(*by_types.findings, *found), in_order=in_order)
    if problem:
        return replace(by_types, unchecked=(*by_types.unchecked, f"elements of products: {problem}"))
    one_row: set[tuple[str, Frame]] = set()
    try:
        every = kernels_of(module, lowered)
    except InputError as error:
        reason = f"elements of products: {_why(error, seconds)}"
        return replace(by_types, unchecked=(*by_types.unchecked, reason))
    budgets = ((kernel, Budget(seconds)) for kernel in every)
    found = [_tried(kernel, module, budget, one_row) for kernel, budget in budgets]
    return _together(by_types, [one for one in found if one.products], one_row)


def _tried(
    kernel: WatchedKernel, module: TracedModule, budget: Budget, one_row: set[tuple[str, Frame]]
) -> OperandReport:
    """The products of one kernel; where it cannot be followed they are counted, and the report says why."""
    try:
        return _checked(kernel, module, budget, one_row)
    except (OutOfTime, Undecided, *SURPRISES) as error:
        unchecked = (f"elements of products: {_why(error, budget.seconds)}",)
    count = len({_site(op) for op in kernel.operation.walk() if is_product(op)})
    return OperandReport(module.kernel, module.arch, (), unchecked, count)


def _together(
    by_types: OperandReport, found: list[OperandReport], one_row: set[tuple[str, Frame]]
) -> OperandReport:
    """Both checks of a module. What the elements that were followed contradict does not count.

    `one_row` are operands, with their products' places, of which another order of rows changes nothing.
    """
    if not found:
        return by_types
    kept = [f for f in by_types.findings if (f.evidence.get("operand"), f.places[-1].where) not in one_row]
    by_types = replace(by_types, findings=tuple(kept))
    findings = [finding for one in found for finding in one.findings]
    whole = all(one.followed == one.products and not one.unchecked for one in found)
    if by_types.findings and not (whole and not findings):
        seen = {one.places[-1].where for one in by_types.findings}
        findings = [*by_types.findings, *(f for f in findings if f.places[0].where not in seen)]
    return replace(
        by_types, findings=tuple(findings),
        unchecked=tuple(dict.fromkeys(sentence for one in found for sentence in one.unchecked)),
        products=sum(one.products for one in found), followed=sum(one.followed for one in found),
    )  # fmt: skip


def _checked(
    kernel: WatchedKernel, module: TracedModule, budget: Budget, one_row: set[tuple[str, Frame]]
) -> OperandReport:
    every = list(dict.fromkeys(_site(op) for op in kernel.operation.walk() if is_product(op)))
    made = OperandReport(module.kernel, module.arch, products=len(every))
    size = blocks_of(kernel)
    if not every:
        return made
    if size > MOST_BLOCKS:
        why = f"a cluster of {size} blocks; up to {MOST_BLOCKS} are followed"
        return replace(made, unchecked=(f"elements of products: {why}",))
    judged, lost, problem = _instances(kernel, module, budget)
    one_row |= _one_row(kernel, module, judged)
    reasons: dict[str, str] = {}
    for op in kernel.operation.walk():
        if is_product(op) and op not in judged.followed:
            reasons.setdefault(_site(op), judged.reasons.get(op, NOT_MET))
    broken = {_site(one.op) for one in judged.breaches if one.kind != "place"}
    counted = Counter(why for site, why in reasons.items() if site not in broken)
    unchecked = [f"elements of {n} of {len(every)} products: {why}" for why, n in counted.items()]
    scaled = {_site(op) for op in judged.followed if op.name == BLOCK_SCALED}
    unchecked += [f"scale factors of {len(scaled)} of {len(every)} products"] if scaled else []
    unchecked += [f"copies: {why}" for why in sorted(lost) if counted]
    unchecked += [f"elements of products: {problem}"] if problem else []
    left = judged.left if all(map(judged.knows, _products(kernel))) else {}
    breaches = [*judged.breaches, *(_unused(judged, op, others) for op, others in left.items() if others)]
    breaches += [] if judged.breaches else judged.idle.values()
    if one_tensor := len({_site(op) for op in judged.one_tensor}):
        spare = sorted({n for op, others in left.items() if op in judged.one_tensor for n in others})
        but = f", and nothing uses argument {spare[0]}" if spare else ""
        which = f"A and B of {one_tensor} of {len(every)} products"
        unchecked.append(f"{which} are elements of one tensor{but}: if that is meant")
    if judged.beside:
        which = " and ".join(map(str, sorted(judged.beside)))
        unchecked.append(f"which elements of argument {which} results are combined with")
    if judged.stored > judged.placed and all(one.kind != "place" for one in breaches):
        part = f"{judged.stored - judged.placed:,} of {judged.stored:,} bytes of results"
        unchecked.append(f"where {part} are stored: {'; '.join(judged.unplaced)}")
    elif judged.met and not judged.stored and not lost:
        unchecked.append("where results are stored: none was seen to reach global memory")
    findings: dict[object, KernelFinding] = {}
    for one in (told(breach, module) for breach in breaches if not meant(breach, module)):
        findings.setdefault((one.code, *(p.where for p in one.places)), one)
    return replace(
        made, findings=tuple(findings.values()), unchecked=tuple(unchecked),
        followed=len(every) - len(set(reasons) - broken),
    )  # fmt: skip


def _unused(judged: Judged, op: Operation, others: Collection[int]) -> Breach:
    """A product of one tensor with itself, or with another product's, while the kernel is given `others`."""
    alone = op in judged.one_tensor
    tensor = judged.one_tensor.get(op) or judged.serving[op]
    facts = (("tensor", tensor), ("own", 0), ("left", tuple(sorted(others))), ("products", 1 if alone else 2))
    return Breach("tensor", op, "", facts)


def _one_row(kernel: WatchedKernel, module: TracedModule, judged: Judged) -> set[tuple[str, Frame]]:
    """The operands of products that have one row in every instruction that brings them elements."""
    found: dict[tuple[str, Frame], bool] = {}
    for op in kernel.operation.walk():
        frames = module.frames(tag(op)) if is_product(op) else None
        for letter in "AB" if frames else "":
            key = letter, (frames or [Frame("", 0)])[0]
            if (op, letter) in judged.broadcast:
                found[key] = found.get(key, True) and judged.broadcast[op, letter]
    return {key for key, all_of_them in found.items() if all_of_them}


def _instances(kernel: WatchedKernel, module: TracedModule, budget: Budget) -> tuple[Judged, set[str], str]:
    """What several blocks and sizes say of one kernel; why copies were not followed; what stopped it.

    Raises OutOfTime and Undecided of the first.
    """
    judged, lost, problem, text = Judged(), set[str](), "", module.text
    usual: Products | None = None
    every = _products(kernel)
    for number, instance in enumerate(chain((USUAL, *OTHERS), unequal(kernel, text))):
        if instance.argument >= 0 and all(map(judged.knows, every)):
            break
        try:
            products, one = examine(kernel, text, budget, instance)
        except (OutOfTime, Undecided, *SURPRISES):
            if number:
                break
            raise
        usual = usual or products
        problem = problem or (RUNNING if products.running else "")
        one = confirmed(kernel, text, budget.seconds, instance, products, one)
        judged.add(one if instance.argument < 0 else one.of([op for op in every if not judged.knows(op)]))
        lost |= set(products.replay.lost)
        problem = problem or next((b.problem for b in products.replay.blocks if b.problem), "")
        left = [op for op in every if op not in judged.followed]
        if judged.breaches or not any(judged.reasons.get(op, NOT_MET) in NEUTRAL for op in left):
            break
    by_index = not _persistent(kernel) and any(map(by_block, every))
    short = [] if usual is None or lost else left_short(usual, judged, every)
    if judged.followed and not judged.breaches and (by_index or short):
        found, short, why = of_last(kernel, text, budget, short)
        judged.breaches += found
        problem = problem or (why if by_index else "")
    else:
        short = []
    if usual is not None and judged.followed and not judged.breaches:
        found, why = _of_tiles(kernel, text, budget, usual)
        judged.breaches += found
        problem = problem or why
        if any("modes" in dict(one.facts) and not _no_more(kernel, module, one) for one in found):
            judged.breaches = [one for one in judged.breaches if one not in found]
            problem = problem or AGAIN
    if usual is not None and judged.followed and not judged.breaches:
        found, why = of_more(kernel, text, budget, usual, every)
        judged.breaches += found
        problem = problem or why
    reasons = {one: unproven(one, kernel.operation, usual) or by_rows(kernel, text, budget, one)
               for one in short if usual is not None}  # fmt: skip
    problem = problem or next((why for one, why in reasons.items() if why and not one["guessed"]), "")
    judged.breaches += [one for one, why in reasons.items() if not why]
    return judged, lost, problem


def _persistent(kernel: WatchedKernel) -> bool:
    """Whether a block goes over all tiles: its turns depend on the size of the grid."""
    return any(GRID in op.name for op in kernel.operation.walk())


def _no_more(kernel: WatchedKernel, module: TracedModule, breach: Breach) -> bool:
    """Whether C is known to have no tiles for copies of a result that two blocks store."""
    one, other = cast("tuple[Mode | None, Mode | None]", breach["modes"])
    types = argument_types(module.text)
    calls = numbers_of(module.calls, types, [kernel.name])
    return bool(one and other and no_more(kernel, calls, one, other))


def _of_tiles(kernel: WatchedKernel, text: str, budget: Budget, first: Products) -> tuple[list[Breach], str]:
    """What is wrong from one tile of results to another, of one block or of several; why that is not known.

    `first` is the first cluster, as usual.
    """
    try:
        tiles = _tiles_of_one if _persistent(kernel) else _tiles_of_several
        found, why = tiles(kernel, text, Budget(min(TILES_SECONDS, budget.left())), USUAL, [first])
        again = tiles(kernel, text, Budget(budget.seconds), USUAL.larger(), [])[0] if found else []
    except OutOfTime:
        return [], f"{_TILES} could not be compared in {TILES_SECONDS:g} s"
    except (Undecided, *SURPRISES):
        return [], f"{_TILES} could not be followed"
    return [one for one in found if any(map(one.like, again))], why


def _tiles_of_one(
    kernel: WatchedKernel, text: str, budget: Budget, instance: Instance, _known: list[Products]
) -> tuple[list[Breach], str]:
    """The same of a block that goes over all tiles. Raises OutOfTime and Undecided."""
    products, judged = examine(kernel, text, budget, instance._replace(clusters=1))
    found = [one for one in judged.breaches if one.kind != "tensor"]
    return found, RUNNING if products.running else ""


def _tiles_of_several(
    kernel: WatchedKernel, text: str, budget: Budget, instance: Instance, known: list[Products]
) -> tuple[list[Breach], str]:
    """The same of the first blocks along the grid, the first of which may be known. Raises as above."""
    clusters = list(instance.neighbours(instance.of(kernel)))
    left = clusters[len(known) :]
    every = [*known, *(followed(kernel, text, budget, one) for one in left)] if len(clusters) > 1 else []
    found = place_tiles(every, every[0].names) if every else []
    found += [] if found or not every else astray(every, every[0].names)
    sure = [one for one in found if not dict(one.facts).get("guessed")]
    return sure, "" if sure == found else BESIDE


def _products(kernel: WatchedKernel) -> list[Operation]:
    return [op for op in kernel.operation.walk() if is_product(op)]


def _site(op: Operation) -> str:
    return tag(op) or f"#{op.start}"


__all__ = ["check_products", "kernels_of"]
