"""What further blocks and sizes say of a kernel's products: the last cluster, more k-tiles, other extents."""

from __future__ import annotations

from layoutcheck.dsl.lowered import SURPRISES
from layoutcheck.order import Undecided
from layoutcheck.order.budget import Budget, OutOfTime
from layoutcheck.order.events import WatchedKernel
from layoutcheck.provenance.examine import confirmed, examine
from layoutcheck.provenance.follow import TENSOR_LOAD
from layoutcheck.provenance.gaps import COPY
from layoutcheck.provenance.instances import OTHERS, USUAL, Instance
from layoutcheck.provenance.judged import Breach, Judged
from layoutcheck.provenance.plain import GIVEN, unproven
from layoutcheck.provenance.products import Products
from layoutcheck.sources.mlir import Operation

TILES_SECONDS = 3.0  # of the processor time that a kernel may take, for other tiles than the first


def left_short(usual: Products, judged: Judged, every: list[Operation]) -> list[Breach]:
    """What the sums of a cluster leave of k, where all that it multiplies is followed to the end."""
    blocks = ((one.problem, one.watched) for one in usual.replay.blocks)
    whole = all(not problem and watched.complete and not watched.cut for problem, watched in blocks)
    return judged.short if whole and all(op in judged.followed for op in every) else []


def _at(
    kernel: WatchedKernel, text: str, budget: Budget, instance: Instance, what: str
) -> tuple[Products | None, Judged, str]:
    """One more cluster: its products, what is wrong with them, and why `what` is not known."""
    try:
        products, judged = examine(kernel, text, Budget(min(TILES_SECONDS, budget.left())), instance)
        return products, confirmed(kernel, text, budget.seconds, instance, products, judged), ""
    except OutOfTime:
        return None, Judged(), f"{what} take more than {TILES_SECONDS:g} s"
    except (Undecided, *SURPRISES):
        return None, Judged(), f"{what} could not be followed"


def of_last(
    kernel: WatchedKernel, text: str, budget: Budget, short: list[Breach], instance: Instance = USUAL
) -> tuple[list[Breach], list[Breach], str]:
    """What is wrong in the last cluster of the grid, whose sums have other turns; why that is not known.

    Between them, of `short`, what this cluster's sums leave of k as well.
    """
    last = instance.last(instance.of(kernel))
    _, judged, why = _at(kernel, text, budget, last, "the sums of the last block")
    found = [one for one in judged.breaches if one.kind != "tensor"]
    return found, [] if found else [one for one in short if one in judged.short], why


def of_more(
    kernel: WatchedKernel, text: str, budget: Budget, usual: Products, every: list[Operation]
) -> tuple[list[Breach], str]:
    """What is wrong with more k-tiles than stages, if copies wait for a free one; why that is not known."""
    left = {op for op in kernel.operation.walk() if op.name in (TENSOR_LOAD, COPY)} - usual.replay.done
    for instance in OTHERS[::2] if left else ():
        products, judged, why = _at(kernel, text, budget, instance, "k-tiles that wait for a free stage")
        if products is None:
            return [], why
        if left.isdisjoint(products.replay.done):
            continue
        found = [one for one in judged.breaches if one.kind != "tensor"]
        short = [one for one in left_short(products, judged, every) if not one["guessed"]]
        short = of_last(kernel, text, budget, short, instance)[1] if short and not found else []
        unsure = [unproven(one, kernel.operation, products) or by_rows(kernel, text, budget, one, instance)
                  for one in short]  # fmt: skip
        found += [one for one, why in zip(short, unsure, strict=True) if not why]
        left -= products.replay.done
        if found or not left:
            return found, next(filter(None, unsure), "")
    return [], ""


def by_rows(
    kernel: WatchedKernel, text: str, budget: Budget, short: Breach, instance: Instance = USUAL
) -> str:
    """Why nothing is said of k that are left, where their place may rest on the extent of another mode.

    Of a guessed extent as many have to be left at the same end of a larger one.
    """
    if short["guessed"]:
        larger = _at(kernel, text, budget, OTHERS[0], "")[1].short
        return "" if any(map(short.as_many, larger)) else GIVEN
    if not short["twice"] and not short["unread"]:
        return ""
    judged = _at(kernel, text, budget, instance._replace(rows=2 * instance.extent), "")[1]
    return "" if any(one.facts == short.facts for one in judged.short) else GIVEN
