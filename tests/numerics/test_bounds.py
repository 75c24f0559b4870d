"""The bounds: never exceeded by the bit-exact model under attack, and nearly reached by it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from kernels.numerics.attack import UNITS, Dots, attack, shares
from layoutcheck.numerics import bounds
from layoutcheck.numerics.accuracy import of_arrays
from layoutcheck.numerics.bounds import Sums
from layoutcheck.numerics.formats import FORMATS, fmt, round_to
from layoutcheck.numerics.paths import path, run
from layoutcheck.numerics.units import unit
from tests.thinned import thinned

F16 = FORMATS["f16"]


@pytest.mark.parametrize(("name", "arch"), thinned(UNITS, 2))
def test_an_attack_stays_below_the_bounds(name: str, arch: str) -> None:
    for found in attack(unit(name, arch), 4000, 7, batch=400).values():
        assert found["over"] == 0
        assert 0.4 < found["largest"] <= 1


@pytest.mark.sweep
@pytest.mark.parametrize(("name", "arch"), UNITS)
def test_a_long_attack_reaches_four_fifths(name: str, arch: str) -> None:
    found = attack(unit(name, arch), 1_000_000, 1)
    assert found["ascending"]["over"] == found["any order"]["over"] == 0
    assert found["ascending"]["largest"] > 0.75


def test_underflow_is_counted_in_every_block() -> None:
    """Half an f16 step a block, a tie each time: the error is 32 halves, where a bound had counted one."""
    a, b = np.zeros((1, 512)), np.zeros((1, 512))
    a[0, ::16], b[0, ::16] = 2.0**-12, 2.0**-13
    computed = run(path("dot(mma.m16n8k16.f16.f16)"), a[None], b.T[None])[0, 0, 0]
    assert abs(computed - a[0] @ b[0]) == 32 * 2.0**-25
    share = shares(unit("mma.m16n8k16.f16.f16"), Dots(a, b))
    assert 0.8 < share["any order"][0] <= 1


def test_subnormal_inputs_count_as_the_smallest_normal_number() -> None:
    """A subnormal factor sets the anchor that 2^-14 would: small products beside it vanish."""
    u = unit("mma.m16n8k16.f32.f16")
    a, b = np.full((1, 16), 2.0**-12 * (1 - 2.0**-11)), np.full((1, 16), 2.0**-12)
    a[0, 0], b[0, 0] = 2.0**-24, 2.0**15
    computed = run(path("dot(mma.m16n8k16.f32.f16)"), a[None], b.T[None])[0, 0, 0]
    error = abs(computed - (a * b).sum())
    assert error > 500 * bounds.rates(u).eps * (a * b).sum()
    share = shares(u, Dots(a, b))
    assert 0.7 < share["any order"][0] <= 1


def test_the_bound_of_one_block_is_the_proofs() -> None:
    for arch, name in (
        ("sm_70", "mma.m8n8k4.f32.f16"),
        ("sm_80", "mma.m16n8k8.f32.f16"),
        ("sm_90", "mma.m16n8k16.f32.f16"),
    ):
        rate = bounds.rates(unit(name, arch))
        assert rate.align + rate.unit == 5 * 2.0**-23
        assert rate.grain == {23: 2.0**-23, 24: 2.0**-24, 25: 2.0**-25}[unit(name, arch).rule.fraction_bits]
        assert rate.eps == pytest.approx(rate.align - rate.grain + rate.unit, rel=1e-5)
    assert bounds.rates(unit("mma.m16n8k16.f16.f16")).grain == 0
    assert float(bounds.rates(unit("mma.m16n8k16.f32.f16")).grown(256)) == pytest.approx(1.45e-4, rel=1e-3)


@pytest.mark.parametrize(
    ("name", "most"), [("e2m1", 3 / 4), ("e5m2", 30 / 32), ("e4m3", 126 / 128), ("f16", 1)]
)
def test_a_cut_leaves_less_of_a_product_of_short_significands(name: str, most: float) -> None:
    """Against every product of two numbers of the format, cut at every place."""
    format_ = fmt(name)
    assert bounds.remainder(format_, format_) == most
    if format_.bits <= 8:
        numbers = np.unique(np.abs(format_.decode(np.arange(1 << format_.bits, dtype=np.uint8))))
        numbers = numbers[np.isfinite(numbers)]
        products = np.unique(np.multiply.outer(numbers, numbers))
        places = 2.0 ** np.arange(-33, 32)[:, None]
        assert (products % places / places).max() == most


def test_only_the_first_addition_of_a_promoted_chain_is_exact() -> None:
    """FP8 through mma.sync: q instructions make q - 1 additions, whatever the split."""
    rate = bounds.rates(unit("mma.m16n8k32.f16.e4m3"))
    sums = Sums(np.float64(1.0), np.float64(1.0), np.float64(1.0))
    once, twice = (float(bounds.any_order(rate, k, sums)) for k in (32, 64))
    assert once == pytest.approx(float(rate.grown(2)), rel=1e-9)
    assert twice - once == pytest.approx(rate.adds * (1 + once), rel=1e-2)


def test_a_sum_that_may_overflow_has_no_bound() -> None:
    rate = bounds.rates(unit("mma.m16n8k16.f16.f16"))
    sums = Sums(
        np.array([10.0, 60000.0, 10.0]), np.array([20.0, 60000.0, 140000.0]), np.array([1.0, 60.0, 300.0])
    )
    assert np.isfinite(bounds.any_order(rate, 64, sums)).tolist() == [True, True, False]


@pytest.mark.parametrize("order", ["any", "ascending"])
@pytest.mark.parametrize(
    "steps",
    [
        "dot(mma.m16n8k16.f16.f16) add(f16)",
        "dot(mma.m16n8k16.f32.f16) round(f16) add(f32)",
        "round(f16) dot(mma.m16n8k16.f32.f16) add(f32)",
        "fma(f32) add(f32)",
        "fma(f32) round(bf16)",
        "dot(wgmma.m64n8k32.f32.e4m3,promote=64)",
        "dot(mma.m16n8k32.f32.e4m3,split=3) round(f16)",
        "dot(mma.m16n8k8.f32.tf32)",
    ],
)
def test_a_paths_results_are_within_its_accuracy(steps: str, order: str) -> None:
    rng = np.random.default_rng(3)
    chosen = path(steps)
    for spread in (0, 6):
        a = rng.standard_normal((3, 9, 200)) * 2.0 ** rng.integers(-spread, spread + 1, (3, 9, 200))
        b = rng.standard_normal((3, 200, 7)) * 2.0 ** rng.integers(-spread, spread + 1, (3, 200, 7))
        a, b = (round_to(x / 8, FORMATS["f32"]) for x in (a, b))
        found = of_arrays(chosen, a, b, order=order)
        error = np.abs(run(chosen, a, b) - found.exact)
        assert (error <= found.allowed).all()
        assert np.isfinite(found.allowed).any()
        assert (error > 1e-4 * found.allowed).any()


def test_every_split_costs_an_addition_and_the_first_one_nothing() -> None:
    u = unit("mma.m16n8k16.f32.f16", "sm_90a")
    rate, sums = bounds.rates(u), Sums(1.0, 64.0, 1.0)
    exact = replace(rate, joins=0.0)
    assert bounds.any_order(rate, 64, sums) > bounds.any_order(exact, 64, sums)
    assert bounds.any_order(rate, 16, sums) == bounds.any_order(exact, 16, sums)
    adds = bounds.Rates(0.0, 0.0, 2.0**-126, 2.0**127, length=16, adds=2.0**-24)
    step = bounds.Step(0.0, 1.0, 1.0, 1.0, 1.0)
    assert bounds.running(adds, iter([step])) == 0 < bounds.running(adds, iter([step, step]))
