"""Formats: decode and encode against numpy's own types and against exact rational arithmetic."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from layoutcheck.errors import InputError
from layoutcheck.numerics.formats import FORMATS, ZERO_EXPONENT, Format, exponents, fmt, round_to, ulp

NUMPY = {"f16": np.float16, "f32": np.float32}
SMALL = [name for name, format_ in FORMATS.items() if format_.bits <= 16]


def test_f16_is_numpys_f16_code_for_code() -> None:
    codes = np.arange(1 << 16, dtype=np.uint16)
    np.testing.assert_array_equal(FORMATS["f16"].decode(codes), codes.view(np.float16).astype(np.float64))


def test_f32_is_numpys_f32() -> None:
    codes = np.random.default_rng(0).integers(0, 1 << 32, 20000, dtype=np.uint32)
    with np.errstate(invalid="ignore"):
        values = codes.view(np.float32).astype(np.float64)
    np.testing.assert_array_equal(FORMATS["f32"].decode(codes), values)


@pytest.mark.parametrize(
    ("name", "code", "value"),
    [
        ("f8E4M3FN", 0x7E, 448.0),
        ("f8E4M3FN", 0x01, 2.0**-9),
        ("f8E4M3FN", 0x08, 2.0**-6),
        ("f8E4M3FN", 0xFF, None),
        ("f8E5M2", 0x7B, 57344.0),
        ("f8E5M2", 0x7C, np.inf),
        ("f8E5M2", 0xFC, -np.inf),
        ("f8E5M2", 0x01, 2.0**-16),
        ("bf16", 0x3F80, 1.0),
        ("bf16", 0x0001, 2.0**-133),
        ("tf32", 0x3F801FFF, 1.0),
        ("tf32", 0x3F802000, 1 + 2.0**-10),
    ],
)
def test_known_codes(name: str, code: int, value: float | None) -> None:
    format_ = FORMATS[name]
    got = float(format_.decode(np.array(code, format_.raw_dtype)))
    assert np.isnan(got) if value is None else got == value


@pytest.mark.parametrize("name", SMALL)
def test_every_code_survives_the_round_trip(name: str) -> None:
    format_ = FORMATS[name]
    codes = np.arange(1 << format_.bits, dtype=format_.raw_dtype)
    values = format_.decode(codes)
    numbers = ~np.isnan(values)
    np.testing.assert_array_equal(format_.encode(values)[numbers], codes[numbers])
    assert (format_.encode(values)[~numbers] == format_.nan).all()


@given(st.floats(allow_nan=False), st.sampled_from(sorted(NUMPY)))
def test_rounding_to_nearest_is_ieee(value: float, name: str) -> None:
    with np.errstate(over="ignore"):
        expected = float(NUMPY[name](value))
    assert float(round_to(np.array(value), FORMATS[name])) == expected


@given(st.floats(-1e38, 1e38), st.sampled_from(["f32", "f16", "bf16", "tf32"]))
def test_rounding_to_zero_is_the_largest_value_not_beyond(value: float, name: str) -> None:
    format_ = FORMATS[name]
    cut = float(round_to(np.array(value), format_, "RZ"))
    if not np.isfinite(cut):
        assert abs(value) > format_.largest
        return
    step = Fraction(float(ulp(cut, format_)))
    assert abs(Fraction(cut)) <= abs(Fraction(value)) < abs(Fraction(cut)) + step
    assert (Fraction(cut) / Fraction(format_.smallest)).denominator == 1


@pytest.mark.parametrize("name", SMALL)
def test_exponents_bound_the_values(name: str) -> None:
    format_ = FORMATS[name]
    values = format_.decode(np.arange(1 << format_.bits, dtype=format_.raw_dtype))
    values = values[np.isfinite(values) & (values != 0)]
    significands = np.abs(values) / np.ldexp(1.0, exponents(values, format_).astype(int))
    subnormal = np.abs(values) < 2.0**format_.min_exponent
    assert ((significands >= 1) & (significands < 2))[~subnormal].all()
    assert (significands[subnormal] < 1).all()


def test_overflow_is_an_infinity_even_when_cutting() -> None:
    f16: Format = FORMATS["f16"]
    assert f16.encode(np.array([65536.0, -1e9]), "RZ").tolist() == [0x7C00, 0xFC00]
    assert f16.encode(np.array([65519.0, 65520.0])).tolist() == [0x7BFF, 0x7C00]
    assert FORMATS["f8E4M3FN"].encode(np.array([1e4])).tolist() == [0x7F]


def test_unusable_arrays_and_names_are_input_errors() -> None:
    with pytest.raises(InputError, match="unsigned integers"):
        FORMATS["f16"].decode(np.array([1.0]))
    with pytest.raises(InputError, match="not a 16-bit"):
        FORMATS["f16"].decode(np.array([1 << 16]))
    with pytest.raises(InputError, match="no arithmetic"):
        fmt("f8E8M0FNU")
    with pytest.raises(InputError, match="unknown rounding"):
        round_to(np.array(1.0), FORMATS["f16"], "RU")


def test_what_is_not_finite_has_the_exponent_of_zero() -> None:
    found = exponents(np.array([np.inf, -np.inf, np.nan, 0.0, 1.0, 2.0**-30]), FORMATS["f16"])
    assert found.tolist() == [*[ZERO_EXPONENT] * 4, 0, -14]
