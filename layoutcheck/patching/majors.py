"""The tile that several failing copies share, with its other mode contiguous: one edit at the cause.

Copies of a tile whose contiguous mode is the wrong one fail for that one reason. Each could be repaired by
itself, with narrower or transposed accesses; the tile laid out the other way round repairs them all.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from layoutcheck.algebra.layout import Layout
from layoutcheck.check import Report
from layoutcheck.copies.memref import Memref
from layoutcheck.copies.opaque import OtherOperand
from layoutcheck.patching.edit import Candidate
from layoutcheck.patching.layouts import laid_out
from layoutcheck.patching.program import Program
from layoutcheck.patching.readers import SIDES, Reports, allocated_at
from layoutcheck.patching.state import place_of
from layoutcheck.patching.words import flags
from layoutcheck.sources.traced import Distinct


def other_major(
    program: Program, bad: Reports, one: Distinct, report: Report
) -> Iterator[tuple[str, Candidate, list[Distinct]]]:
    """Each edit of the shared tile of a failing copy: what it does, the edit, its other bad copies."""
    site = program.copy_at(one.first.where.file, one.first.where.line)
    for side in SIDES if site is not None else ():
        old = report.copy.whole(side)
        new = None if isinstance(old, OtherOperand) else turned_over(old)
        start = program.argument(site, side)  # type: ignore[arg-type]
        made = None if new is None else allocated_at(program, one, side)
        if new is None or start is None or made is None:
            continue
        others = _of_the_same(program, bad, one, made)
        if others:
            title = f"match-layout: lay the shared tile out the other way round, {new.layout}"
            for edits in laid_out(program, start, old, new):
                yield title, edits, others


def other_flags(
    program: Program, bad: Reports, one: Distinct
) -> Iterator[tuple[str, Candidate, list[Distinct]]]:
    """Each True or False that a helper makes the tile's layout of, the other way round; as `other_major`."""
    site = program.copy_at(one.first.where.file, one.first.where.line)
    for side in SIDES if site is not None else ():
        start = program.argument(site, side)  # type: ignore[arg-type]
        made = allocated_at(program, one, side)
        others = [] if made is None else _of_the_same(program, bad, one, made)
        for title, edits in flags(program, start) if start is not None and others else ():
            yield title, edits, others


def _of_the_same(program: Program, bad: Reports, one: Distinct, made: tuple[str, int, int]) -> list[Distinct]:
    """The other failing copies of the tile that is allocated there."""
    return [
        other
        for other, _ in bad
        if place_of(other) != place_of(one) and made in [allocated_at(program, other, s) for s in SIDES]
    ]


def turned_over(tile: Memref) -> Memref | None:
    """A shared matrix with its other mode contiguous, as many elements apart beyond its extent as before.

    None for what is no matrix of two modes without a nested one, one of them contiguous.
    """
    shape, stride = tile.layout.shape, tile.layout.stride
    if tile.space != "smem" or not tile.layout.is_static or not isinstance(shape, tuple) or len(shape) != 2:
        return None
    (rows, columns), (down, along) = shape, stride
    numbers = (rows, columns, down, along)
    if any(type(number) is not int or number < 1 for number in numbers) or 1 not in (down, along):
        return None
    if down == 1 and along >= rows:
        return replace(tile, layout=Layout((rows, columns), (columns + along - rows, 1)))
    if along == 1 and down >= columns:
        return replace(tile, layout=Layout((rows, columns), (1, rows + down - columns)))
    return None
