"""Tolerances: the printed numbers hold for right kernels, name their data, and see what can be seen."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from layoutcheck.errors import InputError
from layoutcheck.numerics.data import data as distribution
from layoutcheck.numerics.formats import FORMATS, Floats
from layoutcheck.numerics.paths import path, run
from layoutcheck.numerics.sample import error_over_size, rms_error
from layoutcheck.numerics.sensitivity import exact_integer_limit
from layoutcheck.numerics.tolerance import derive, rounded_up
from layoutcheck.numerics.units import default_unit, unit
from tests.thinned import thinned

F16, F32 = FORMATS["f16"], FORMATS["f32"]


def outside(x: Floats, y: Floats, suggested: dict[str, float]) -> int:
    """Outputs that torch.testing would reject."""
    return int((np.abs(x - y) > suggested["atol"] + suggested["rtol"] * np.abs(y)).sum())


def drawn(data: str, scale: float, m: int, n: int, k: int, name: str = "f16") -> tuple[Floats, Floats]:
    return distribution(data, scale).draw((1, m, n, k), FORMATS[name], FORMATS[name], 11)


@pytest.mark.parametrize(("k", "n"), [(512, 256), (256, 128)])
def test_report_001_two_right_kernels_pass_the_printed_tolerance(k: int, n: int) -> None:
    """One chain against split-K 2 on a V100: the bound of one kernel alone failed hundreds of outputs."""
    a, b = drawn("uniform", 1.0, 256, n, k)
    chain, split = (
        run(path(f"dot(mma.m8n8k4.f32.f16{pieces}) round(f16)"), a, b, "sm_70") for pieces in ("", ",split=2")
    )
    found = derive(k, "f16", "f16", arch="sm_70")
    assert (chain != split).sum() > 50
    assert outside(chain, split, found.suggested) == 0
    assert outside(chain, split, found.suggested_exact) > 0
    assert found.suggested["rtol"] < 1e-3


KERNELS = [
    ("sm_70", "f16", "f16"),
    ("sm_80", "bf16", "bf16"),
    ("sm_90a", "f16", "f32"),
    ("sm_90a", "e4m3", "f32"),
    ("sm_90a", "e5m2", "bf16"),
    ("sm_90a", "f32", "f32"),
    ("sm_100", "e4m3", "f16"),
]


@pytest.mark.parametrize("scale", thinned([2.0**-12, 0.02, 1.0, 8.0], 2))
@pytest.mark.parametrize(("arch", "inputs", "output"), thinned(KERNELS, 2))
@pytest.mark.parametrize("data", ["uniform", "normal"])
def test_right_kernels_pass_at_every_scale(
    arch: str, inputs: str, output: str, data: str, scale: float
) -> None:
    found = derive(320, inputs, output, arch=arch, data=data, scale=scale)
    a, b = drawn(data, scale, 24, 24, 320, found.inputs.name)
    one = run(found.path, a, b, arch)
    for pieces in (",split=2", ",split=3", ",promote=64"):
        dot, *rest = map(str, found.path.steps)
        other = run(path(" ".join([dot.replace(")", f"{pieces})"), *rest]), arch), a, b, arch)
        assert outside(one, other, found.suggested) == 0
    back = run(found.path, a[:, :, ::-1], b[:, ::-1], arch)
    assert outside(one, back, found.suggested) == 0
    assert outside(one, a @ b, found.suggested_exact) == 0
    assert distribution(data, scale).kind in found.data and f"{scale:g}" in found.data


@pytest.mark.parametrize(("arch", "inputs", "output"), thinned(KERNELS, 2))
@pytest.mark.parametrize("data", ["uniform", "normal"])
def test_the_printed_numbers_pass_their_own_check(arch: str, inputs: str, output: str, data: str) -> None:
    for against in ("kernel", "exact"):
        first = derive(256, inputs, output, arch=arch, data=data, against=against)
        again = derive(256, inputs, output, arch=arch, data=data, against=against, **first.suggested)
        assert again.user is not None
        assert again.user["below_bound"] == 0.0
        assert not any(finding.code in ("LC402", "LC404") for finding in again.findings)


@given(st.floats(1e-40, 1e30), st.integers(1, 6))
def test_rounding_up_never_goes_below_and_stays_within_a_digit(value: float, digits: int) -> None:
    printed = rounded_up(value, digits)
    assert value <= printed <= value * (1 + 2 * 10.0 ** (1 - digits))
    assert float(f"{printed:.{digits}g}") == printed


@pytest.mark.parametrize(
    ("arch", "inputs", "name"),
    [
        ("sm_70", "f16", "mma.m8n8k4.f32.f16"),
        ("sm_75", "f16", "mma.m16n8k8.f32.f16"),
        ("sm_80", "tf32", "mma.m16n8k8.f32.tf32"),
        ("sm_89", "f8E4M3FN", "mma.m16n8k32.f32.e4m3"),
        ("sm_90a", "f8E4M3FN", "wgmma.m64n8k32.f32.e4m3"),
        ("sm_90a", "f16", "wgmma.m64n8k16.f32.f16"),
        ("sm_100", "f16", "tcgen05.m128n8k16.f32.f16"),
    ],
)
def test_the_default_unit_is_what_a_gemm_uses(arch: str, inputs: str, name: str) -> None:
    assert default_unit(FORMATS[inputs], arch).name == name
    asked = "f32" if inputs == "tf32" else inputs
    assert str(derive(64, asked, "f32", arch=arch).path.steps[0]) == f"dot({name})"


def test_a_right_fp8_kernel_is_inside_the_default_tolerance() -> None:
    """wgmma loses 6.6 % on uniform data; the bound of emulated mma.sync rejected all of its outputs."""
    found = derive(4096, "e4m3", "f32")
    a, b = drawn("uniform", 1.0, 8, 8, 4096, "f8E4M3FN")
    got = run(path("fp8-wgmma"), a, b)
    assert outside(got, a @ b, found.suggested_exact) == 0
    mma = derive(4096, "e4m3", "f32", name="mma.m16n8k32.f32.e4m3")
    assert outside(got, a @ b, mma.suggested_exact) == got.size


def test_the_users_arrays_give_each_output_its_bound() -> None:
    a, b = drawn("normal", 1.0, 40, 30, 512)
    a = a * np.geomspace(1e-3, 1e3, 40)[None, :, None]
    a = F16.decode(F16.encode(a))
    for order in ("any", "ascending"):
        found = derive(None, "f16", "f32", a=a[0], b=b[0], order=order, against="exact")
        got = run(found.path, a, b)[0]
        assert found.allowed().shape == (40, 30)
        assert (np.abs(got - a[0] @ b[0]) <= found.allowed()).all()
        assert outside(got, a[0] @ b[0], found.suggested) == 0
        assert found.allowed().max() > 1e5 * found.allowed().min()
    loose = derive(None, "f16", "f32", a=a[0], b=b[0], against="exact").allowed()
    assert np.median(loose / found.allowed()) > 3


def test_a_skipped_block_is_caught_and_blindness_is_always_reported() -> None:
    a, b = drawn("normal", 1.0, 32, 32, 1024)
    found = derive(None, "f16", "f16", a=a[0], b=b[0])
    right, wrong = run(found.path, a, b)[0], run(found.path, a[:, :, 64:], b[:, 64:])[0]
    assert outside(wrong, right, found.suggested) > 0
    assert found.blind["block_of_64_at_every_output"] == 0.0
    assert 0 <= found.blind["one_k"] <= 1
    fp8 = derive(4096, "e4m3", "f32")
    assert fp8.blind["block_of_64"] == 1.0


def test_against_another_path() -> None:
    """bf16 tensor cores against f32 FMAs on the same data."""
    found = derive(512, steps="dot(wgmma.m64n8k16.f32.bf16) round(bf16)", against="fma(f32)")
    a, b = drawn("uniform", 1.0, 16, 16, 512, "bf16")
    assert outside(run(found.path, a, b), run(path("fma(f32)"), a, b), found.suggested) == 0
    assert found.suggested["rtol"] < 2 * 2.0**-8


def test_tf32_covers_raw_f32_and_rounded_inputs() -> None:
    """Hardware cuts raw f32, cvt.rna rounds: one tolerance covers both."""
    found = derive(256, "f32", "f32", against="exact", name="mma.m16n8k8.f32.tf32")
    a = np.full((1, 8, 256), 0.5 * (1 + 2.0**-10 - 2.0**-22))
    b = a.transpose(0, 2, 1)
    raw = run(found.path, a, b)[0]
    assert np.abs(raw - (a @ b)[0]).max() > 1.9 * 2 * 2.0**-11 * (a @ b).max()
    yours = derive(None, "f32", "f32", a=a[0], b=b[0], against="exact", name="mma.m16n8k8.f32.tf32")
    assert (np.abs(raw - (a @ b)[0]) <= yours.allowed()).all()


@pytest.mark.parametrize(
    ("name", "output", "limit"),
    [
        ("mma.m16n8k16.f32.f16", "f32", 2**24),
        ("mma.m16n8k16.f32.f16", "f16", 2**11),
        ("mma.m16n8k16.f32.f16", "bf16", 2**8),
        ("wgmma.m64n8k32.f32.e4m3", "f32", 2**14),
        ("mma.m16n8k16.f16.f16", "f16", 2**11),
    ],
)
def test_integers_are_exact_up_to_the_limit_and_not_beyond(name: str, output: str, limit: int) -> None:
    u, out = unit(name), FORMATS[output]
    assert exact_integer_limit(u, out) == limit
    steps = path(f"dot({name}) round({output})")
    ones = np.ones((1, 1, limit)) if limit <= 1 << 14 else None
    if ones is not None:
        assert run(steps, ones, ones.transpose(0, 2, 1))[0, 0, 0] == limit
        more = np.ones((1, 1, limit + 1))
        assert run(steps, more, more.transpose(0, 2, 1))[0, 0, 0] != limit + 1
    rng = np.random.default_rng(0)
    a, b = rng.integers(-3, 4, (1, 32, 200)), rng.integers(-3, 4, (1, 200, 32))
    small = np.abs(a) @ np.abs(b) <= limit
    assert (run(steps, a.astype(float), b.astype(float)) == a @ b)[small].all()


def test_report_001s_tolerance_is_a_bit_equality_test() -> None:
    for n in (1024, 512, 256, 128):
        found = derive(n, "f16", "f16", arch="sm_70", atol=1e-2, rtol=0.0)
        assert found.findings[0].code == "LC402"
        assert found.findings[0].severity == "wrong"
        assert found.user is not None
        assert found.user["below_one_step"] == 1.0


def test_torchs_f16_tolerance_is_no_error_and_is_blind_at_large_k() -> None:
    found = derive(4096, "f16", "f16", atol=1e-5, rtol=1e-3)
    assert ("LC403", "note") in [(finding.code, finding.severity) for finding in found.findings]
    assert found.to_dict()["verdict"] == "legal"


def test_a_tolerance_below_the_bound_that_correct_kernels_miss_is_wrong() -> None:
    found = derive(4096, "f16", "f32", atol=0.0, rtol=1e-5)
    assert ("LC404", "wrong") in [(finding.code, finding.severity) for finding in found.findings]
    roomy = derive(4096, "f16", "f32", atol=0.0, rtol=1e-4)
    assert ("LC404", "note") in [(finding.code, finding.severity) for finding in roomy.findings]


def test_the_error_of_a_chain_grows_with_k_not_its_root() -> None:
    bias = [-derive(k, "f16", "f32").measured["mean_error_over_S"] for k in (256, 1024, 4096)]
    assert bias[1] / bias[0] > 3.5
    assert bias[2] / bias[1] > 3.5


def test_promotion_shrinks_the_tolerance() -> None:
    whole = derive(4096, "e4m3", "f32")
    promoted = derive(4096, "e4m3", "f32", promote=128)
    assert promoted.suggested["atol"] < whole.suggested["atol"] / 30
    assert [finding.code for finding in promoted.findings] == ["LC403", "LC405"]


def test_metrics() -> None:
    exact = np.array([1.0, 0.0])
    assert error_over_size(np.array([1.5, 0.0]), exact, np.array([2.0, 0.0])).tolist() == [0.25, 0.0]
    assert rms_error(np.array([2.0, 0.0]), exact) == 1.0
    assert rms_error(exact, np.zeros(2)) == 0.0


def test_sums_that_overflow_are_an_input_error_at_once() -> None:
    with pytest.raises(InputError, match="may overflow"):
        derive(1 << 17, "f16", "f16")
    with pytest.raises(InputError, match="out of range"):
        derive(1 << 20, "f16", "f32")
    with pytest.raises(InputError, match="may overflow"):
        derive(4096, "f16", "f32", name="mma.m16n8k16.f16.f16", scale=10)
    assert math.isfinite(derive(4096, "f16", "f16").suggested["atol"])


@pytest.mark.parametrize(
    "arguments",
    [
        {"k": 0},
        {"k": None},
        {"k": 4096, "atol": -1.0},
        {"k": 4096, "rtol": -1e-3},
        {"k": 64, "inputs": "i64"},
        {"k": 64, "data": "cauchy"},
        {"k": 64, "scale": "much"},
        {"k": 64, "scale": "1,2,3"},
        {"k": 64, "scale": 0},
        {"k": 64, "name": "mma.m16n8k16.f32.bf16"},
        {"k": 64, "rtol": float("nan")},
        {"k": 64, "promote": 0},
        {"k": 64, "against": "torch"},
        {"k": 64, "steps": "fma(f32) add(f32)"},
        {"a": np.ones((2, 3)), "b": np.ones((4, 2))},
        {"a": np.ones(3), "b": np.ones(3)},
        {"a": np.full((2, 3), np.nan), "b": np.ones((3, 2))},
        {"a": np.ones((2, 3)), "b": np.ones((3, 2)), "order": "sorted"},
        {"k": 64, "order": "ascending"},
        {"k": 64, "a": np.ones((2, 64))},
        {"k": "64"},
        {"k": 64, "arch": 90},
        {"k": 64, "inputs": 16},
        {"a": np.ones((2, 3)), "b": np.ones((3, 2), complex)},
    ],
)
def test_unusable_numbers_are_input_errors(arguments: dict[str, object]) -> None:
    with pytest.raises(InputError):
        derive(**arguments)  # type: ignore[arg-type]
