"""Whole kernels: what the check says of random operand paths, and the results that it predicts."""

from __future__ import annotations

import importlib.util
from collections import Counter

import pytest

from tests.gpu.operands import predicted
from tests.provenance.predict import Predicted

needs_dsl = pytest.mark.skipif(importlib.util.find_spec("cutlass") is None, reason="needs nvidia-cutlass-dsl")
# Of seed 1: wgmma and mma.sync that are right; A's swizzle differs, of each; C through another MMA.
RIGHT, BROKEN = (1, 3), {10: "LC602", 14: "LC603", 9: "LC603"}


@needs_dsl
def test_right_paths_predict_the_product_and_broken_ones_are_told() -> None:
    found = predicted(1, [*RIGHT, *BROKEN])
    assert set(found) == {*RIGHT, *BROKEN}
    for number in RIGHT:
        one, report = found[number]
        assert (one.result == one.right).all()
        assert report.findings == () and report.unchecked == ()
        assert report.followed == report.products > 0
    for number, code in BROKEN.items():
        one, report = found[number]
        assert (one.result != one.right).any()
        assert {f.code for f in report.findings} == {code}, number
        assert report.findings[0].places[0].where.file.endswith("paths.py")


@needs_dsl
def test_rows_in_another_order_are_no_fault_where_all_are_one_row() -> None:
    """B is broadcast along N, its fragment filled for another permutation of N: an H200 returns A B."""
    ((one, report),) = predicted(1, [10234]).values()
    assert (one.result == one.right).all() and report.findings == ()


@needs_dsl
@pytest.mark.sweep
def test_many_paths() -> None:
    """No right path is told; of the broken ones each is told, or what was not followed is said."""
    counts: Counter[str] = Counter()
    for first in range(1000, 1240, 40):
        for number, (one, report) in predicted(2, range(first, first + 40)).items():
            counts[_agrees(number, one, bool(report.findings), report.unchecked)] += 1
    print(dict(counts))
    assert counts["told"] >= 60 and counts["right"] >= 60
    assert counts["not followed"] <= counts["told"] // 20


def _agrees(number: int, one: Predicted, told: bool, unchecked: tuple[str, ...]) -> str:
    right = bool((one.result == one.right).all())
    assert not (right and told), number
    assert right or told or unchecked, number
    return "right" if right else "told" if told else "not followed"
