"""f64 fused multiply-adds against exact fractions, integers against Python's."""

from __future__ import annotations

import re
from fractions import Fraction

import numpy as np
import pytest

from layoutcheck import numerics
from layoutcheck.cli import run as cli
from layoutcheck.errors import InputError
from layoutcheck.numerics import decode, encode, unit
from layoutcheck.numerics.accuracy import of_arrays
from layoutcheck.numerics.formats import IntegerFormat, fmt
from layoutcheck.numerics.paths import path, run
from layoutcheck.numerics.plain import fma


def exact_fma(a: float, b: float, c: float) -> float:
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    return exact.numerator / exact.denominator


@pytest.mark.parametrize("spread", [0, 3, 60, 300])
def test_an_fma_rounds_once(spread: int) -> None:
    rng = np.random.default_rng(spread)
    a, b, c = (rng.standard_normal(2000) * 2.0 ** rng.integers(-spread, spread + 1, 2000) for _ in range(3))
    c[::2] = -(a * b)[::2] * (1 + 2.0**-52 * rng.integers(-2, 3, 1000))
    c[1::4] = np.ldexp(a * b, -53)[1::4]
    got = fma(a, b, c)
    assert got.tolist() == [exact_fma(*x) for x in zip(a.tolist(), b.tolist(), c.tolist(), strict=True)]
    assert (got != a * b + c).mean() > 0.05


def test_specials_and_the_ends_of_the_range() -> None:
    a = np.array([1e300, np.inf, 0.0, 5e-324, 2.0**-1000, np.nan, -0.0])
    b = np.array([1e300, 0.0, 3.0, 0.5, 2.0**-60, 1.0, 1.0])
    c = np.array([-1.0, 1.0, 7.0, 5e-324, 1.0, 1.0, -0.0])
    got = fma(a, b, c)
    assert got[0] == np.inf and np.isnan(got[1]) and got[2] == 7 and got[3] == 1e-323 and got[4] == 1
    assert np.isnan(got[5]) and np.signbit(got[6])


def test_a_chain_takes_k_in_order() -> None:
    f64 = unit("mma.m8n8k4.f64.f64", "sm_90a")
    a, b, zero = np.array([[1.0, 2.0**-53, 2.0**-53]]), np.ones((3, 1)), np.zeros((1, 1))
    assert f64.chain(a, b, zero) == 1.0
    assert f64.chain(a[:, ::-1], b, zero) == 1 + 2.0**-52
    assert f64.chain(np.array([[1e300, 1e300]]), np.array([[-1e300], [1e300]]), zero) == -np.inf
    assert fma(np.array([1e200]), np.array([1e200]), np.array([-np.inf]))[0] == -np.inf


def words(rng: np.random.Generator, name: str, shape: tuple[int, ...]) -> np.ndarray:
    type_ = fmt(name)
    assert isinstance(type_, IntegerFormat)
    return rng.integers(int(type_.least), int(type_.largest) + 1, shape)


@pytest.mark.parametrize(
    ("name", "arch"),
    [
        ("mma.m16n8k32.s32.s8.u8", "sm_80"),
        ("mma.m8n8k16.s32.u8.s8.satfinite", "sm_75"),
        ("mma.m16n8k64.s32.s4.u4", "sm_120"),
        ("wgmma.m64n48k32.s32.s8", "sm_90a"),
        ("tcgen05.m128n64k32.s32.u8.s8.satfinite", "sm_100"),
    ],
)
def test_an_integer_unit_is_pythons_integers(name: str, arch: str) -> None:
    u, rng = unit(name, arch), np.random.default_rng(1)
    assert u.name == name
    types = u.instruction.a.name, u.instruction.b.name
    a, b = words(rng, types[0], (6, 3 * u.k)), words(rng, types[1], (3 * u.k, 5))
    c = rng.choice([-(2**31), 2**31 - 1, 0, -5], (6, 5))
    b[: u.k, 0] = fmt(types[1]).largest

    def added(total: int, ks: slice, i: int, j: int) -> int:
        total += sum(int(x) * int(y) for x, y in zip(a[i, ks], b[ks, j], strict=True))
        if u.instruction.saturate:
            return min(max(total, -(2**31)), 2**31 - 1)
        return (total + 2**31) % 2**32 - 2**31

    got = decode(u.matmul(encode(a, types[0]), encode(b, types[1]), encode(c, "s32")), "s32")
    for i in range(6):
        for j in range(5):
            total = int(c[i, j])
            for at in range(0, 3 * u.k, u.k):
                total = added(total, slice(at, at + u.k), i, j)
            assert got[i, j] == total
    one = u.fma(encode(a[:, : u.k], types[0]), encode(b[: u.k, 0], types[1]), encode(c[:, 0], "s32"))
    assert decode(one, "s32").tolist() == [added(int(c[i, 0]), slice(u.k), i, 0) for i in range(6)]


@pytest.mark.parametrize("name", ["s8", "u8", "s4", "u4"])
def test_integers_decode_as_they_were_encoded_and_clamp(name: str) -> None:
    type_ = fmt(name)
    codes = np.arange(1 << type_.bits, dtype=np.uint8)
    assert encode(decode(codes, name), name).tolist() == codes.tolist()
    low, high = (
        (-(2 ** (type_.bits - 1)), 2 ** (type_.bits - 1) - 1) if name[0] == "s" else (0, 2**type_.bits - 1)
    )
    assert decode(codes, name).min() == low and decode(codes, name).max() == high
    assert decode(encode([-1e9, 1e9, 1.5, 2.5, np.nan], name), name).tolist() == [low, high, 2, 2, 0]


def test_an_f64_unit_is_a_chain_of_fused_multiply_adds() -> None:
    u, rng = unit("mma.m16n8k8.f64.f64"), np.random.default_rng(2)
    a, b, c = (
        rng.standard_normal(shape) * 2.0 ** rng.integers(-9, 9, shape) for shape in ((4, 12), (12, 3), (4, 3))
    )
    got = decode(u.matmul(encode(a, "f64"), encode(b, "f64"), encode(c, "f64")), "f64")
    for i in range(4):
        for j in range(3):
            total = c[i, j]
            for k in range(12):
                total = exact_fma(float(a[i, k]), float(b[k, j]), float(total))
            assert got[i, j] == total
    assert (got != a @ b + c).any()
    specials = decode(
        u.fma(encode([np.inf] + [1.0] * 7, "f64"), encode([1.0] * 8, "f64"), encode(0.0, "f64")), "f64"
    )
    assert specials == np.inf


def test_the_f64_bound_holds_of_exact_fractions_and_is_near() -> None:
    """Each addition of half a step is a tie that stays: 255 halves are lost, of 257 that the bound allows."""
    a, b = np.full((1, 256), 2.0**-53), np.ones((256, 1))
    a[0, 0] = 1.0
    chosen = path("dot(mma.m8n8k4.f64.f64)", "sm_80")
    got = run(chosen, a[None], b[None], "sm_80")[0, 0, 0]
    exact = sum(map(Fraction, a[0].tolist()))
    assert got == 1.0 and exact - 1 == Fraction(255, 2**53)
    for order, most in (("ascending", 260), ("any", 325)):  # any: 64 parts may be added
        found = of_arrays(chosen, a[None], b[None], "sm_80", order)
        assert abs(Fraction(got) - exact) <= Fraction(float(found.allowed[0, 0, 0])) < Fraction(most, 2**53)
    rng = np.random.default_rng(3)
    for spread in (0, 200):
        a, b = (
            rng.standard_normal(s) * 2.0 ** rng.integers(-spread, spread + 1, s) for s in ((3, 40), (40, 2))
        )
        got, found = run(chosen, a[None], b[None], "sm_80")[0], of_arrays(chosen, a[None], b[None], "sm_80")
        for i, j in np.ndindex(3, 2):
            exact = sum(
                Fraction(x) * Fraction(y) for x, y in zip(a[i].tolist(), b[:, j].tolist(), strict=True)
            )
            assert abs(Fraction(float(got[i, j])) - exact) <= Fraction(float(found.allowed[0, i, j]))


def test_right_integer_kernels_pass_and_a_skipped_k_fails() -> None:
    rng = np.random.default_rng(4)
    a, b = rng.integers(-128, 128, (8, 64), np.int8), rng.integers(0, 256, (64, 8), np.uint8)
    exact = a.astype(np.int32) @ b.astype(np.int32)
    for check in (numerics.assert_within, numerics.assert_bits):
        check(exact, a, b)
        with pytest.raises(AssertionError):
            check(exact + np.eye(8, dtype=np.int32), a, b)
    with pytest.raises(AssertionError, match="k = 3 skipped"):
        numerics.assert_within(exact - np.outer(a[:, 3], b[3].astype(np.int32)), a, b)
    with pytest.raises(InputError, match="a is s8, and b is f16"):
        numerics.assert_within(exact, a, b.astype(np.float16))
    with pytest.raises(InputError, match="b holds fractions"):
        numerics.assert_within(exact, a, b / 2.5, path="dot(wgmma.m64n8k32.s32.s8.u8)")
    with pytest.raises(InputError, match="b holds 0 to 254: beyond s8"):
        numerics.assert_within(exact, a, b, path="dot(wgmma.m64n8k32.s32.s8)")
    f64 = "dot(mma.m16n8k16.f64.f64)"
    x, y = rng.standard_normal((8, 64)), rng.standard_normal((64, 8))
    numerics.assert_within((x[:, ::-1] @ y[::-1]), x, y, path=f64)
    with pytest.raises(AssertionError):
        numerics.assert_within((x @ y) * (1 + 2.0**-44), x, y, path=f64)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ("tol -K 512 --in s8 --scale 127", "use atol=0 rtol=0"),
        ("tol -K 512 --in s8 --scale 127", "sum |a b| <= 2147483647: tolerance 0"),
        ("tol -K 512 --in f64 --arch sm_80", "c1 = (1 + 2^-53)^512 - 1"),
        (
            "path dot(mma.m16n8k32.s32.s8) dot(mma.m16n8k32.s32.s8,split=2) --data uniform --scale 99",
            "not bit-equal: 0 ",
        ),
        ("units --arch sm_120", "mma.m8n8k4.f64.f64"),
        ("units --arch sm_100", "tcgen05.m128n8k32.s32.s8"),
    ],
)
def test_the_commands_know_them(arguments: str, told: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli(["numerics", *arguments.split()]) == 0
    assert told in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ("tol -K 512 --in s8 --data normal", "expected uniform data, and a scale from 1 to 127"),
        ("tol -K 512 --in s8 --scale 200", "up to 127|to 127"),
        ("tol -K 131072 --in u8 --scale 255", "may overflow"),
        ("tol -K 64 --in f64 --arch sm_75", "has no mma.m8n8k4.f64.f64"),
        ("tol -K 64 --in s4 --arch sm_70", "has no"),
        ("probe mma.m8n8k4.f64.f64 --arch sm_80", "aligns nothing"),
        ("path dot(mma.m16n8k4.f64.f64) fma(f32) --arch sm_80", "m8n8k4"),
        ("path dot(mma.m16n8k32.s32.s8.u4) fma(f32)", "s32.s8.u8"),
        ("path dot(mma.m16n8k16.f32.f16.satfinite) fma(f32)", "only integer sums saturate"),
        ("path dot(wgmma.m64n40k32.s32.s8) fma(f32)", "has no wgmma.m64n40k32"),
        ("path dot(tcgen05.m128n64k32.s32.s8) fma(f32) --arch sm_103", "has no tcgen05"),
        ("attention --in s8", "no attention in s8"),
        ("attention --p f64", "no attention in f64"),
        ("units --arch sm_61", "one of sm_70"),
    ],
)
def test_what_they_are_not_is_an_input_error(
    arguments: str, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli(["numerics", *arguments.split()]) == 2
    assert re.search(told, capsys.readouterr().err)
