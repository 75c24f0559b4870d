"""Tolerances: the bound holds and is not vacuous, the reports' tolerances are judged as they deserve."""

from __future__ import annotations

import numpy as np
import pytest

from layoutcheck.errors import InputError
from layoutcheck.numerics.formats import FORMATS
from layoutcheck.numerics.paths import draw
from layoutcheck.numerics.tolerance import (
    bound,
    derive,
    error_over_size,
    exact_integer_limit,
    rms_error,
)
from layoutcheck.numerics.units import unit

UNITS = [
    ("mma.m8n8k4.f32.f16", "sm_70"),
    ("mma.m16n8k16.f32.f16", "sm_80"),
    ("mma.m16n8k16.f32.f16", "sm_90"),
    ("mma.m16n8k16.f16.f16", "sm_90"),
    ("mma.m16n8k8.f32.tf32", "sm_90"),
    ("wgmma.m64n8k16.f32.bf16", "sm_90"),
    ("wgmma.m64n8k32.f32.e4m3", "sm_90"),
    ("wgmma.m64n8k32.f16.e5m2", "sm_90"),
    ("mma.m16n8k32.f32.e4m3", "sm_90"),
    ("mma.m16n8k32.f16.e4m3", "sm_90"),
]


@pytest.mark.parametrize(("name", "arch"), UNITS)
@pytest.mark.parametrize("data", ["uniform", "normal"])
def test_the_bound_holds(name: str, arch: str, data: str) -> None:
    u = unit(name, arch)
    for k in (64, 1024):
        a, b = (part[0] for part in draw(data, 1, 16, 16, k, 3, u.instruction.a))
        if u.rule.accumulator.bits == 16:
            a = a / 8  # stay away from f16's largest value
        over = error_over_size(u.chain(a, b, np.zeros((16, 16))), a @ b, np.abs(a) @ np.abs(b))
        assert over.max() <= bound(u, k).c1


@pytest.mark.parametrize(("name", "arch"), UNITS)
def test_the_bound_is_within_its_factor_on_uniform_data(name: str, arch: str) -> None:
    """f32 accumulators: within 30 of the largest error (cutting is a bias, so it nearly adds up)."""
    found = derive(1024, unit(name, arch).instruction.a.name, "f32", name=name, arch=arch, data="uniform")
    factor = found.bound.c1 / found.measured["max_error_over_S"]
    assert 1 <= factor <= (30 if unit(name, arch).rule.accumulator.bits == 32 else 60)


def test_the_bound_is_attained_up_to_a_small_factor_by_adversarial_data() -> None:
    """One large term sets the alignment, the others lose almost a whole unit each: half of the cut's part."""
    u = unit("mma.m16n8k16.f32.f16")
    a, b = np.full((1, 16), 2.0**-13), np.full((16, 1), 2.0**-12 * (2 - 2.0**-10))
    a[0, 0] = b[0, 0] = 1.0
    over = error_over_size(u.chain(a, b, np.zeros((1, 1))), a @ b, a @ b)
    assert over.max() > bound(u, 16).c1 / 3


def test_known_bounds() -> None:
    for arch, name in (
        ("sm_70", "mma.m8n8k4.f32.f16"),
        ("sm_80", "mma.m16n8k8.f32.f16"),
        ("sm_90", "mma.m16n8k16.f32.f16"),
    ):
        u = unit(name, arch)
        assert bound(u, u.k).eps == 5 * 2.0**-23
    assert bound(unit("mma.m16n8k16.f32.f16"), 4096).c1 == pytest.approx(1.526e-4, rel=1e-3)
    assert bound(unit("mma.m16n8k16.f32.f16", "sm_80"), 4096).c1 == pytest.approx(3.052e-4, rel=1e-3)
    assert bound(unit("mma.m8n8k4.f32.f16", "sm_70"), 4096).c1 == pytest.approx(6.105e-4, rel=1e-3)


def test_the_error_of_a_chain_grows_with_k_not_its_root() -> None:
    bias = []
    for k in (256, 1024, 4096):
        found = derive(k, "f16", "f32", data="uniform")
        bias.append(-found.measured["mean_error_over_S"])
    assert bias[1] / bias[0] > 3.5
    assert bias[2] / bias[1] > 3.5


@pytest.mark.parametrize(
    ("name", "arch", "limit"),
    [
        ("mma.m16n8k16.f32.f16", "sm_90", 2**24),
        ("mma.m8n8k4.f32.f16", "sm_70", 2**24),
        ("wgmma.m64n8k32.f32.e4m3", "sm_90", 2**14),
        ("mma.m16n8k16.f16.f16", "sm_90", 2**11),
    ],
)
def test_integers_are_exact_up_to_the_limit_and_not_beyond(name: str, arch: str, limit: int) -> None:
    u = unit(name, arch)
    assert exact_integer_limit(u) == limit
    acc = u.rule.accumulator
    zero, one = np.zeros(u.k), np.zeros(u.k)
    one[0] = 1.0
    encode_a, encode_b = u.instruction.a.encode, u.instruction.b.encode

    def plus_one(c: int) -> float:
        return float(acc.decode(u.fma(encode_a(one), encode_b(one), acc.encode(float(c)))))

    assert plus_one(limit - 1) == limit
    assert plus_one(limit + 2) != limit + 3
    assert float(acc.decode(u.fma(encode_a(zero), encode_b(zero), acc.encode(float(limit))))) == limit


def test_report_001s_tolerance_is_a_bit_equality_test() -> None:
    for n in (1024, 512, 256, 128):
        found = derive(n, "f16", "f16", arch="sm_70", atol=1e-2, rtol=0.0)
        assert found.findings[0].code == "LC402"
        assert found.findings[0].severity == "wrong"
        assert found.user is not None
        assert found.user["below_one_step"] == 1.0


def test_torchs_f16_tolerance_passes_and_is_blind_at_large_k() -> None:
    found = derive(4096, "f16", "f16", atol=1e-5, rtol=1e-3)
    assert [(finding.code, finding.severity) for finding in found.findings] == [("LC403", "note")]
    assert found.to_dict()["verdict"] == "legal"


def test_a_tolerance_below_the_bound_that_correct_kernels_miss_is_wrong() -> None:
    found = derive(4096, "f16", "f32", atol=0.0, rtol=1e-5)
    assert [(finding.code, finding.severity) for finding in found.findings] == [("LC404", "wrong")]
    roomy = derive(4096, "f16", "f32", atol=0.0, rtol=1e-4)
    assert [(finding.code, finding.severity) for finding in roomy.findings] == [("LC404", "note")]


def test_the_suggestion_passes_its_own_verdict() -> None:
    for inputs, out in (("f16", "f16"), ("bf16", "f32"), ("e4m3", "f32"), ("f32", "f32")):
        first = derive(256, inputs, out)
        again = derive(
            256, inputs, out, atol=first.suggested["atol"] * 1.01, rtol=first.suggested["rtol"] * 1.01
        )
        assert again.user is not None
        assert again.user["below_bound"] == 0.0
        assert not any(finding.code in ("LC402", "LC404") for finding in again.findings)


def test_promotion_shrinks_the_bound() -> None:
    u = unit("wgmma.m64n8k32.f32.e4m3")
    assert bound(u, 4096, promote=128).c1 < bound(u, 4096).c1 / 30
    found = derive(4096, "e4m3", "f32", name=u.name, promote=128)
    assert found.measured["max_error_over_S"] < found.bound.c1
    assert [finding.code for finding in found.findings] == ["LC405"]


def test_metrics() -> None:
    exact = np.array([1.0, 0.0])
    assert error_over_size(np.array([1.5, 0.0]), exact, np.array([2.0, 0.0])).tolist() == [0.25, 0.0]
    assert rms_error(np.array([2.0, 0.0]), exact) == 1.0
    assert rms_error(exact, np.zeros(2)) == 0.0


def test_unusable_numbers_are_input_errors() -> None:
    for arguments in (
        {"k": 0},
        {"k": 4096, "atol": -1.0},
        {"k": 64, "inputs": "i8"},
        {"k": 64, "data": "cauchy"},
        {"k": 64, "name": "mma.m16n8k16.f32.bf16"},
        {"k": 64, "rtol": float("nan")},
    ):
        with pytest.raises(InputError):
            derive(**arguments)
    with pytest.raises(InputError):
        bound(unit("mma.m16n8k16.f32.f16"), 64, promote=0)
    assert FORMATS["f16"].unit_roundoff == 2.0**-11
