"""Enormous extents and thousands of modes: symbolic, quick, and without recursion."""

from __future__ import annotations

import time

import pytest

from layoutcheck.algebra import (
    Layout,
    coalesce,
    complement,
    composition,
    cosize,
    crd2idx,
    filter_zeros,
    flat_divide,
    flatten_layout,
    idx2crd,
    image,
    left_inverse,
    logical_divide,
    logical_product,
    make_identity_layout,
    max_alignment,
    max_common_vector,
    nullspace,
    parse_layout,
    raked_product,
    recast_is_exact,
    recast_layout,
    right_inverse,
    size,
    slice_,
    tile_to_shape,
    zipped_divide,
)
from layoutcheck.algebra import filter as filtered
from layoutcheck.errors import InputError

BILLION = 10**9
HUGE = parse_layout("(1000000000,1000000000):(1,1000000000)")
PADDED = parse_layout("(1000000000,1000000000):(1,1000000001)")
LEAVES = 4096
MANY = Layout((2,) * LEAVES, tuple(3 * 2**i for i in range(LEAVES)))  # one run
GAPS = Layout((2,) * LEAVES, tuple(4**i for i in range(LEAVES)))  # nothing merges


def test_billions() -> None:
    assert size(HUGE) == cosize(HUGE) == BILLION**2
    assert coalesce(HUGE) == Layout(BILLION**2, 1)
    assert composition(HUGE, Layout(BILLION, BILLION)) == Layout(BILLION, BILLION)
    assert str(zipped_divide(PADDED, (128, 64))) == (
        "((128,64),(7812500,15625000)):((1,1000000001),(128,64000000064))"
    )
    assert complement(Layout(BILLION, 2), BILLION**2) == Layout((2, BILLION // 2), (1, 2 * BILLION))
    assert right_inverse(PADDED) == Layout(BILLION, 1)
    assert str(left_inverse(PADDED)) == "(1000000001,1000000000):(1,1000000000)"
    assert max_common_vector(HUGE, PADDED) == BILLION
    assert recast_is_exact(32, 16, PADDED) is False
    assert crd2idx(BILLION**2 - 1, PADDED) == BILLION**2 - 1 + BILLION - 1
    with pytest.raises(InputError, match="too many to enumerate"):
        image(HUGE)


def test_thousands_of_modes_take_well_under_a_second_each() -> None:
    tasks = {
        "coalesce": lambda: coalesce(GAPS),
        "composition": lambda: composition(GAPS, Layout((2,) * LEAVES)),
        "composition of one mode": lambda: composition(GAPS, Layout(2**LEAVES, 1)),
        "complement": lambda: complement(GAPS, 4**LEAVES),
        "right_inverse": lambda: right_inverse(MANY),
        "left_inverse": lambda: left_inverse(GAPS),
        "logical_divide": lambda: logical_divide(GAPS, Layout(2**100, 1)),
        "flat_divide": lambda: flat_divide(GAPS, (1, 2) * (LEAVES // 2)),
        "logical_product": lambda: logical_product(GAPS, Layout((2,) * 64)),
        "raked_product": lambda: raked_product(MANY, Layout(2)),
        "tile_to_shape": lambda: tile_to_shape(GAPS, (4,) * LEAVES),
        "recast": lambda: recast_layout(16, 32, GAPS),
        "recast_is_exact": lambda: recast_is_exact(16, 32, GAPS),
        "filter": lambda: filtered(filter_zeros(GAPS)),
        "nullspace": lambda: nullspace(GAPS),
        "slice": lambda: slice_(GAPS, (None, 1) * (LEAVES // 2)),
        "idx2crd": lambda: idx2crd(12345, GAPS.shape),
        "crd2idx": lambda: crd2idx(12345, GAPS),
        "cosize": lambda: cosize(GAPS),
        "max_alignment": lambda: max_alignment(MANY),
        "identity": lambda: composition(make_identity_layout(GAPS.shape), Layout(2**50, 2)),
    }
    for name, task in tasks.items():
        start = time.process_time()
        task()
        took = time.process_time() - start
        assert took < 1, (name, took)


def test_results_are_right_at_that_size() -> None:
    r = composition(GAPS, Layout((2,) * LEAVES, tuple(2**i for i in reversed(range(LEAVES)))))
    assert r.stride == tuple(reversed(GAPS.stride))
    assert coalesce(MANY) == composition(MANY, Layout(2**LEAVES, 1)) == Layout(2**LEAVES, 3)
    assert left_inverse(right_inverse(Layout((2,) * LEAVES))) == Layout(2**LEAVES, 1)


def test_nesting_of_every_legal_depth() -> None:
    a = Layout(2, 1)
    for _ in range(31):
        a = Layout((a.shape, 2), (a.stride, 2 * size(a)))
    assert flatten_layout(a).shape == (2,) * 32
    assert size(a) == size(coalesce(a)) == size(filtered(a)) == 2**32
    assert composition(a, a)(12345) == a(a(12345))
    assert parse_layout(str(a)) == a
    for f in (right_inverse, nullspace, filter_zeros):
        f(a)
