"""The fixes of a traced copy, ranked with the time of who else uses the tile that they lay out otherwise.

A tile that suits its writer may be slow for its reader. The other copies of a tile are those whose operands
come from the same allocation and have the same layout; each is judged with the tile of the fix. One that is
known by a thread's view alone, or regroups what it gets, has no time: a fix says so.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from layoutcheck.check import Fix, Report, check
from layoutcheck.copies.copy import Copy
from layoutcheck.copies.memref import Memref
from layoutcheck.copies.opaque import OtherOperand
from layoutcheck.errors import InputError
from layoutcheck.fixes import cycles, spent, times
from layoutcheck.fixes.edit import partitioned, with_tensors
from layoutcheck.patching.program import Program
from layoutcheck.sources.traced import Distinct
from layoutcheck.syntax import name_of

NO_TIME = math.nan
Reports = Sequence[tuple[Distinct, "Report | None"]]
SIDES = ("src", "dst")
_MADE_BY = ("allocate_tensor", "allocate_array", "get_tensor", "allocate")


def ranked(program: Program, reports: Reports, one: Distinct, report: Report) -> list[Fix]:
    """The fixes by the cycles of all copies of a tile: what takes half more than the least comes later."""
    users = [_users(program, reports, one, report.copy, fix) for fix in report.fixes]
    if not any(users):
        return list(report.fixes)
    fixes = [_told(fix, others) for fix, others in zip(report.fixes, users, strict=True)]
    total = [
        spent(fix)[0] + sum(after for _, after in _timed(others))
        for fix, others in zip(fixes, users, strict=True)
    ]
    least = min(total)

    def key(i: int) -> tuple[float, ...]:
        harms = total[i] == math.inf
        return harms, fixes[i].verdict == "slow", 0 if harms else times(total[i], least)

    return [fixes[i] for i in sorted(range(len(fixes)), key=key)]


def _told(fix: Fix, users: Sequence[tuple[float, float]]) -> Fix:
    """The fix with what it does to the others, where they get dearer or their time is not known."""
    before, after = (sum(one[i] for one in _timed(users)) for i in range(2))
    notes = [fix.note] if fix.note else []
    if after > before:
        how = "are refused or wrong" if after == math.inf else f"take {after:g} cycles instead of {before:g}"
        notes.append(f"the tile's other copies {how}")
    unknown = len(users) - len(_timed(users))
    if unknown:
        which = "another copy" if unknown == 1 else f"{unknown} other copies"
        notes.append(f"{which} of the tile: time not known, as only one thread's view is")
    return replace(fix, note="; ".join(notes))


def _timed(users: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Those whose time is known."""
    return [one for one in users if not math.isnan(one[0])]


def _users(
    program: Program, reports: Reports, one: Distinct, copy: Copy, fix: Fix
) -> list[tuple[float, float]]:
    """The cycles of every other copy of the tiles that a fix lays out otherwise, before and after.

    NO_TIME stands for both where one thread's view is all that is known.
    """
    found: list[tuple[float, float]] = []
    for side in SIDES if len(fix.copies) == 1 else ():
        old, new = copy.whole(side), fix.copies[0].whole(side)
        if isinstance(old, OtherOperand) or isinstance(new, OtherOperand) or old.space != "smem":
            continue
        if (old.layout, old.swizzle) == (new.layout, new.swizzle):
            continue
        home = allocated_at(program, one, side)
        for other, report in reports if home is not None else ():
            if other is one or report is None:
                continue
            if not _is_cut(report.copy):
                if any(allocated_at(program, other, theirs) == home for theirs in SIDES):
                    found.append((NO_TIME, NO_TIME))
                continue
            found += [
                (cycles(report.execution), _with(report.copy, theirs, new))
                for theirs in SIDES
                if report.execution
                if report.copy.whole(theirs) == old and allocated_at(program, other, theirs) == home
            ]
    return found


def _is_cut(copy: Copy) -> bool:
    """Whether its views are what its tiled copy cuts from its tiles: `autovec_copy` groups them anew."""
    views = {side: partitioned(copy, side) for side in SIDES if copy.side(side).space != "rmem"}
    return copy.tiling is not None and all(
        view is not None and view.layout == copy.side(side).layout for side, view in views.items()
    )


def _with(copy: Copy, side: str, tile: Memref) -> float:
    """The cycles of a copy with another tile on one side; infinitely many where it does not work."""
    src, dst = (tile if one == side else copy.whole(one) for one in SIDES)
    try:
        report = check(with_tensors(copy, src, dst))
    except InputError:
        return math.inf
    return cycles(report.execution) if report.verdict in ("legal", "slow") and report.execution else math.inf


def allocated_at(program: Program, one: Distinct, side: str) -> tuple[str, int, int] | None:
    """Where the tile of an operand is allocated."""
    site = program.copy_at(one.first.where.file, one.first.where.line)
    made = () if site is None else program.reached_by(site, side)
    found = next((place for place in made if name_of(place.call) in _MADE_BY), None)
    return None if found is None else (found.path, found.node.lineno, found.node.col_offset)
