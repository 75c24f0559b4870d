"""The fixes: strategies that turn a copy and its findings into repaired copies, each checked again.

One strategy a file; each has a `STRATEGY` name and `propose(analysis)`, which yields drafts without asking
whether they work. Here the quality of every draft's copies is checked, and only those that are `legal` or
`slow` become fixes.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator
from importlib import import_module
from typing import Any, NamedTuple

from layoutcheck.algebra.inttuple import is_static
from layoutcheck.algebra.layout import Layout
from layoutcheck.algebra.measure import cosize, size
from layoutcheck.analysis import Analysis
from layoutcheck.check import Fix, Report, quality
from layoutcheck.copies.changes import changes, moved_sides
from layoutcheck.copies.copy import Copy
from layoutcheck.copies.memref import Memref
from layoutcheck.copies.opaque import OtherOperand
from layoutcheck.copies.vectors import contiguous_mode
from layoutcheck.errors import InputError
from layoutcheck.fixes.code import folded
from layoutcheck.fixes.draft import Draft


def _modules(names: str) -> tuple[Any, ...]:
    return tuple(import_module(f"{__name__}.{name}") for name in names.split())


# Where two fixes cost the same, the one that changes less of the program comes first.
STRATEGIES = _modules(
    "tmem_view promise predicate launch regroup in_cluster bulk_run turn_operand retile static_stride fit_threads "
    "pad_pitch match_layout transpose_in_ldmatrix swizzle stage_through_registers narrow_copy copy_elements "
    "convert widen_copy tma tma_parts"
)

# What makes a working copy faster without asking more instructions of it.
FASTER = _modules("fit_threads match_layout recast swizzle widen_copy tma tma_parts")

WORTH = 1.05  # how much quicker a further fix has to be
MOST = 6  # shown: more would not be read

# The three ways out that the report behind the case `issue-2320` names; the first of them in its two forms.
REPORTED = ("match-layout", "transpose-in-ldmatrix", "narrow-copy", "stage-through-registers")


def propose(report: Report) -> tuple[tuple[Fix, ...], str | None]:
    """The fixes for a report that needs one, best first; else, or where none works, none and the reason.

    A `slow` copy works as it is: its fixes are those that are predicted to be faster.
    """
    if report.verdict not in ("rejected", "wrong", "slow"):
        return (), None
    if not _has_static_shapes(report.copy):
        return (
            (),
            "a shape is known only at run time: copy tiles of static shape, with predicates at the edges",
        )
    analysis = report.analysis
    found: list[tuple[int, Fix]] = []
    tried = 0
    seen: dict[Copy, Working | None] = {}
    slow = report.verdict == "slow"
    present = _cost(_predicted([analysis.issued])) if slow else ()
    for rank, strategy in enumerate(FASTER if slow else STRATEGIES):
        for draft in _drafts(strategy, analysis):
            tried += 1
            fix = _checked(draft, report.copy, seen)
            if fix is not None and (not slow or _cost(fix.predicted) < present):
                found.append((rank, fix))
                break  # a strategy yields what it prefers first
    fixes = _ranked(found, report.copy)
    if slow:
        return fixes, None
    return fixes, None if fixes else _obstacle(report, tried)


def _ranked(found: list[tuple[int, Fix]], given: Copy) -> tuple[Fix, ...]:
    """Best first: what wastes nothing, what takes no half more time or instructions than the best, least change.

    Of more fixes than are shown, the strategies of the original report stay.
    """
    if not found:
        return ()
    known = [spent(fix) for _, fix in found if not _is_tma(fix)]
    least = tuple(map(min, zip(*known, strict=True)))

    def key(one: tuple[int, Fix]) -> tuple[float, ...]:
        rank, fix = one
        # What TMA spends is not predicted; it is no slower than threads are.
        more = (0, 0) if _is_tma(fix) else tuple(map(times, spent(fix), least))
        asked = effort(fix) + _unpads(given, fix)
        return (fix.verdict == "slow", *more, asked, *_cost(fix.predicted), rank)

    ranked = [fix for _, fix in sorted(found, key=key)]
    shown = ranked[:MOST]
    for fix in ranked[MOST:]:
        if fix.strategy in REPORTED:
            last = max(i for i, one in enumerate(shown) if one.strategy not in REPORTED)
            shown = [*shown[:last], *shown[last + 1 :], fix]
    return tuple(shown)


def effort(fix: Fix) -> int:
    """What the fix asks of the program: its arguments, twice for one that others use too, ten times for another way.

    A change of threads or of an atom's width stays with the copy; a layout, a type or an alignment is everybody's
    who uses the tensor, and a note says what else must change.
    """
    arguments = {change.argument for change in fix.changes}
    if {"TMA tile", "barrier"} & arguments or len(fix.copies) > 1:
        return 10 + len(arguments)
    return (
        len(arguments)
        + len([name for name in arguments if name.startswith(("src ", "dst "))])
        + bool(fix.note)
    )


def _unpads(given: Copy, fix: Fix) -> bool:
    """Whether a shared tile loses padding, which its author put there for the tile's reader."""
    return any(
        old.space == new.space == "smem"
        and contiguous_mode(old.layout) == contiguous_mode(new.layout)
        and _slack(new.layout) < _slack(old.layout)
        for old, new in ((given.whole(side), fix.copies[0].whole(side)) for side in ("src", "dst"))
        if not isinstance(old, OtherOperand) and not isinstance(new, OtherOperand)
    )


def _slack(layout: Layout) -> int:
    """Elements between the first and the last of a static layout that are not its own; 0 of others."""
    return int(cosize(layout)) - int(size(layout)) if layout.is_static else 0  # type: ignore[arg-type]


def _is_tma(fix: Fix) -> bool:
    return fix.copies[0].needs_map


def spent(fix: Fix) -> tuple[float, float]:
    """Predicted cycles of a block (where they are not known, one a warp instruction), and its instructions."""
    predicted = fix.predicted
    instructions = predicted["instructions_per_thread"] * -(-predicted["threads"] // 32)
    return float(predicted.get("cycles", instructions)), float(instructions)


def times(cost: float, least: float) -> int:
    """How often by half more than the least."""
    return int(math.log(max(cost, 1) / max(least, 1), 1.5) + 1e-9)


def _has_static_shapes(copy: Copy) -> bool:
    """Whether every extent is known, as cute.copy demands and every strategy takes for granted."""
    tensors: tuple[Memref, ...] = (copy.src, copy.dst)
    if copy.needs_map:  # whose global tensor may have any extents
        tensors = tuple(memref for memref in tensors if memref.space == "smem")
    else:
        tensors += (copy.whole("src"), copy.whole("dst"))
    return all(is_static(memref.layout.shape) for memref in tensors)


def _drafts(strategy: Any, analysis: Analysis) -> Iterator[Draft]:
    """A strategy's drafts; one that cannot even be written down (a tile its threads do not divide) is none."""
    with contextlib.suppress(InputError):
        yield from strategy.propose(analysis)


_REGISTERS = (
    "the registers must be written and read with the same layouts; those of an MMA or ldmatrix differ"
)


class Working(NamedTuple):
    """A copy of a draft that works: its verdict, and what one thread issues."""

    verdict: str
    issued: dict[str, Any]


def faster(draft: Draft, cycles: float, report: Report, fixes: tuple[Fix, ...]) -> Fix | None:
    """A further draft, of which so many cycles are expected, as a fix that is checked as the others are.

    None where it does not work, or takes nearly as long as another that leaves the tensors as they are.
    """
    others = [_cost(one.predicted)[1] for one in fixes if not _moves_tensors(one, report.copy)]
    if report.verdict == "slow":
        others.append(_cost(_predicted([report.analysis.issued]))[1])
    least = min(others, default=math.inf)
    if least < WORTH * cycles:
        return None
    fix = _checked(draft, report.copy, {})
    return None if fix is None or least < WORTH * _cost(fix.predicted)[1] else fix


def _moves_tensors(fix: Fix, given: Copy) -> bool:
    """Whether others who use its tensors have to change, too."""
    return any(
        one.whole(side) != given.whole(side)
        for one in fix.copies[:1]
        for side in ("src", "dst")
        if one.whole(side).space != "rmem"
    )


def _checked(draft: Draft, broken: Copy, seen: dict[Copy, Working | None]) -> Fix | None:
    """The draft as a fix; None where it changes nothing, or its copies do not work.

    `seen` has the copies of other drafts, each judged once.
    """
    differing = changes(broken, draft.copies[: len(draft.copies) - draft.readers])
    if not differing or not draft.code:
        return None
    works = []
    for copy in draft.copies:
        if copy not in seen:
            seen[copy] = _working(copy)
        one = seen[copy]
        if one is None:
            return None
        works.append(one)
    return Fix(
        draft.strategy,
        draft.title,
        "slow" if any(one.verdict == "slow" for one in works) else "legal",
        folded(draft.code),
        draft.copies,
        differing,
        _predicted([one.issued for one in works[: len(works) - draft.readers]]),
        ("model",),
        "; ".join(filter(None, (draft.note, _REGISTERS if _hands_out_anew(draft, broken) else ""))),
        _VIEW if _is_of_a_view(draft, broken) else "",
    )


_VIEW = "of one thread's view; the tensor that it is cut from is not known"


def _is_of_a_view(draft: Draft, broken: Copy) -> bool:
    """Whether elements would lie elsewhere in a tensor of which only one thread's view is known."""
    if broken.tiling is not None or broken.needs_map or len(draft.copies) - draft.readers != 1:
        return False
    return next(moved_sides(broken, draft.copies[0]), None) is not None


def _working(copy: Copy) -> Working | None:
    """A copy that is `legal` or `slow`; None for any other."""
    analysis = Analysis(copy)
    verdict = quality(analysis)
    return None if verdict is None else Working(verdict, analysis.issued)


def _hands_out_anew(draft: Draft, broken: Copy) -> bool:
    """Whether threads get other registers of a tile than they had."""
    if broken.tiling is None or "rmem" not in (broken.src.space, broken.dst.space):
        return False
    layout = broken.tiling.tiled.layout_tv
    return any(copy.tiling is not None and copy.tiling.tiled.layout_tv != layout for copy in draft.copies)


def _predicted(issued: list[dict[str, Any]]) -> dict[str, Any]:
    """Counts of one thread over all copies of a fix, and the cycles of a block where they are known."""
    executions = [one for one in issued if one]
    predicted: dict[str, Any] = {
        "instructions_per_thread": sum(e["instructions_per_thread"] for e in executions),
        "width_bits": min((e["width_bits"] for e in executions), default=0),
        "threads": max((e["threads"] for e in executions), default=1),
        "bytes_per_thread": max((e["bytes_per_thread"] for e in executions), default=0),
    }
    if any("predicted_cycles" in e for e in executions):
        predicted["cycles"] = round(sum(map(cycles, executions)), 1)
        predicted["smem_wavefronts"] = sum(e.get("smem_wavefronts") or 0 for e in executions)
    return predicted


def cycles(execution: dict[str, Any]) -> float:
    """Predicted cycles of a block; where the addresses are not known, one a warp instruction."""
    if "predicted_cycles" in execution:
        return float(execution["predicted_cycles"])
    return float(execution["instructions_per_thread"] * -(-execution["threads"] // 32))


def _cost(predicted: dict[str, Any]) -> tuple[float, ...]:
    """Bytes that the block moves, then its cycles, its wavefronts, its instructions: all over all threads."""
    threads = predicted["threads"]
    instructions = predicted["instructions_per_thread"] * threads
    return (
        predicted["bytes_per_thread"] * threads,
        predicted.get("cycles", instructions / 32),
        predicted.get("smem_wavefronts", 0),
        instructions,
    )


def _obstacle(report: Report, tried: int) -> str:
    """What stands in the way, where no strategy works."""
    reason = report.findings[0].title if report.findings else report.compiler.message
    if tried:
        count = "the one repair tried is not" if tried == 1 else f"none of the {tried} repairs tried is"
        return f"{count} legal: {reason}"
    return f"no strategy applies: {reason}"
