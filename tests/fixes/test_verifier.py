"""The DSL's verifier takes every fix that is shown: differentially, on single views near the boundary."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest

from layoutcheck.check import Fix, check
from layoutcheck.copies.copy import Copy
from layoutcheck.dsl.session import Session
from layoutcheck.dsl.verifier import verify
from layoutcheck.fixes import propose
from tests.conformance.generate import random_copy
from tests.fixes.replay import made_by
from tests.fixes.test_replay import ELSEWHERE

pytest.importorskip("cutlass", reason="needs nvidia-cutlass-dsl, the judge of these tests")


def replayed(count: int, seed: int) -> list[tuple[Copy, Fix, Copy]]:
    """(given, fix, copy that the fix's code makes) of random single views; host code as the fix has it."""
    rng = Random(seed)
    found = []
    for _ in range(count):
        copy = random_copy(rng)
        for fix in propose(check(copy))[0]:
            made = (
                fix.copies
                if fix.strategy in ELSEWHERE or fix.copies[0].needs_map
                else made_by(copy, fix.code)
            )
            found += [(copy, fix, one) for one in made if not one.needs_map]
    return found


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
