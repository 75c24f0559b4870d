"""A fix says what it does: its code, run on the given copy, makes the very copies that were checked."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest

from layoutcheck.check import Fix, check
from layoutcheck.copies.changes import changes
from layoutcheck.copies.copy import Copy
from layoutcheck.copies.memref import Memref
from layoutcheck.copies.opaque import OtherOperand
from layoutcheck.errors import InputError
from layoutcheck.fixes import propose
from layoutcheck.fixes.edit import with_tensors
from tests.conformance.generate import random_copy
from tests.fixes.replay import made_by
from tests.fixes.tiles import random_tile
from tests.miscompiles import MISCOMPILES

ELSEWHERE = (
    "tma",
    "match-repetition",
    "in-cluster",
)  # host code, tensor memory, other blocks: tests of their own


def essence(copy: Copy) -> tuple[object, ...]:
    """What makes two copies the same: registers have no address."""
    return (
        copy.atom,
        _tensor(copy.src),
        _tensor(copy.dst),
        copy.pred and copy.pred.layout.shape,
        _tiling(copy),
    )


def _tensor(memref: Memref) -> tuple[object, ...]:
    if isinstance(memref, OtherOperand):
        return (memref.text,)
    align = 0 if memref.space == "rmem" else memref.proved_align_bytes
    return (memref.dtype, memref.space, memref.layout, align, memref.swizzle)


def _tiling(copy: Copy) -> object:
    tiling = copy.tiling
    if tiling is None:
        return None
    return tiling.tiled, _tensor(tiling.src), _tensor(tiling.dst), tiling.block_threads


def problems(given: Copy, fix: Fix) -> str:
    """What is wrong with a fix; "" where nothing is."""
    count = len(fix.copies) - (fix.strategy == "transpose-in-ldmatrix")
    if not fix.changes or fix.changes != changes(given, fix.copies[:count]):
        return f"changes {fix.changes}"
    if fix.strategy in ELSEWHERE:
        return ""
    try:
        made = made_by(given, fix.code)
    except Exception as error:
        return f"{type(error).__name__}: {error}\n{fix.code}"
    for have, want in zip(made, fix.copies[:count], strict=False):
        staged = len(made) > 1
        a, b = essence(have), essence(want)
        if staged:  # one after the other: their tilings stand for the two halves
            a, b = a[:3], b[:3]
        if a != b:
            return f"{fix.code}\nmakes {a}\nnot   {b}"
    return "" if len(made) == count else f"{len(made)} copies, not {count}"


def bad_fixes(copies: list[Copy]) -> tuple[int, list[str]]:
    """How many fixes there are, and what is wrong with them."""
    found, wrong = 0, []
    for copy in copies:
        fixes, _ = propose(check(copy))
        for fix in fixes:
            found += 1
            said = problems(copy, fix)
            if said:
                wrong.append(f"{fix.strategy} of {copy.atom}, {copy.src} -> {copy.dst}: {said}")
    return found, wrong


def test_the_code_of_a_fix_makes_the_copies_that_were_checked() -> None:
    rng = Random(14)
    copies = [random_copy(rng) for _ in range(200)] + [random_tile(rng) for _ in range(90)]
    found, wrong = bad_fixes(copies)
    assert wrong == []
    assert found > 220


@pytest.mark.sweep
def test_thousands_of_them() -> None:
    rng = Random(2320)
    found, wrong = bad_fixes([random_copy(rng) if n % 3 else random_tile(rng) for n in range(6000)])
    assert wrong == []
    assert found > 6000


@pytest.mark.parametrize("name", MISCOMPILES)
def test_so_does_that_of_every_hole(name: str) -> None:
    assert bad_fixes([MISCOMPILES[name][0]])[1] == []


def test_the_replay_notices_what_the_code_does_not_do() -> None:
    """A checked copy with an alignment of its own is not what the code makes."""
    copy = MISCOMPILES["h04"][0]
    fixes, _ = propose(check(copy))
    fix = fixes[0]
    assert problems(copy, fix) == ""
    dst = replace(fix.copies[0].dst, align_bytes=512)
    other = replace(fix, copies=(fix.copies[0].with_side("dst", dst),))
    assert problems(copy, other).startswith("changes")
    assert "makes" in problems(copy, replace(other, changes=changes(copy, other.copies)))


def test_an_equal_copy_is_no_change() -> None:
    for broken, _, _ in MISCOMPILES.values():
        assert changes(broken, (broken,)) == ()
        if broken.tiling is not None:
            try:
                same = with_tensors(broken, broken.tiling.src, broken.tiling.dst)
            except InputError:
                continue
            assert changes(broken, (same,)) == ()
