"""The DSL's verifier takes every fix that is shown: differentially, on single views near the boundary.

Copies whose predicate is of a type that the DSL has no name for (`i24`) are left out: no program has one, and
the process of the DSL dies of the type itself.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from random import Random

import pytest

from layoutcheck.check import Fix, check
from layoutcheck.copies.copy import Copy
from layoutcheck.copies.memref import Memref
from layoutcheck.dsl.session import Session
from layoutcheck.dsl.verifier import verify
from layoutcheck.errors import InputError
from layoutcheck.fixes import propose
from layoutcheck.fixes.code import dtype_code
from tests.conformance.generate import random_copy
from tests.fixes.replay import made_by
from tests.fixes.test_replay import ELSEWHERE

pytest.importorskip("cutlass", reason="needs nvidia-cutlass-dsl, the judge of these tests")


def replayed(count: int, seed: int) -> list[tuple[Copy, Fix, Copy]]:
    """(given, fix, copy that the fix's code makes) of random single views; host code as the fix has it."""
    rng = Random(seed)
    found = []
    for copy in (random_copy(rng) for _ in range(count)):
        if copy.pred is not None and not named(copy.pred):
            continue
        for fix in propose(check(copy))[0]:
            made = (
                fix.copies
                if fix.strategy in ELSEWHERE or fix.copies[0].needs_map
                else made_by(copy, fix.code)
            )
            found += [(copy, fix, replace(one, tiled=None)) for one in made if not one.needs_map]
    return found


def named(tensor: Memref) -> bool:
    """Whether a program can make the tensor: the DSL has a name for its elements."""
    try:
        return bool(dtype_code(tensor.dtype))
    except InputError:
        return False


def refused(found: list[tuple[Copy, Fix, Copy]], dsl: Session | None = None) -> list[str]:
    """The fixes that the verifier does not take, in words."""
    answers = verify([made for _, _, made in found], session=dsl)
    return [
        f"{fix.strategy} of {given.atom}, {given.src} -> {given.dst}: {answer.message}"
        for (given, fix, _), answer in zip(found, answers, strict=True)
        if not answer.accepted
    ]


def test_the_verifier_takes_every_fix(dsl: Session) -> None:
    found = replayed(120, 5)
    assert len({fix.strategy for _, fix, _ in found}) >= 6 and len(found) > 60
    assert refused(found, dsl) == []
    assert refused([(given, fix, given) for given, fix, _ in found[:20]], dsl)  # as they were


@pytest.mark.sweep
@pytest.mark.parametrize("part", range(12))
def test_the_verifier_takes_every_fix_of_thousands(part: int) -> None:
    found = replayed(500, 6000 + part)
    print(len(found), Counter(fix.strategy for _, fix, _ in found))
    assert refused(found) == []
