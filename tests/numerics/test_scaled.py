"""Block-scaled units against exact rational arithmetic, written out from the rule, and their names."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from kernels.numerics.attack_scaled import attack
from layoutcheck.errors import InputError
from layoutcheck.numerics.formats import FORMATS
from layoutcheck.numerics.scaled import ScaledUnit, decode_scale, scaled_unit

NAMES = [
    ("tcgen05.m128n64k32.mxf8f6f4.block32.f32.e4m3.e4m3.ue8m0", "sm_100"),
    ("tcgen05.m128n64k32.mxf8f6f4.block32.f32.e5m2.e2m1.ue8m0", "sm_100"),
    ("tcgen05.m128n64k64.mxf4.block32.f32.e2m1.e2m1.ue8m0", "sm_100"),
    ("tcgen05.m128n64k64.mxf4nvf4.block16.f32.e2m1.e2m1.ue4m3", "sm_100"),
    ("mma.m16n8k32.mxf8f6f4.block32.f32.e3m2.e2m3.ue8m0", "sm_120"),
    ("mma.m16n8k64.mxf4nvf4.block16.f32.e2m1.e2m1.ue8m0", "sm_120"),
]


def _exponent(value: float, least: int) -> int:
    return max(int(np.frexp(value)[1]) - 1, least)


def _cut(value: Fraction, unit: Fraction) -> Fraction:
    steps = abs(value) // unit
    return (steps if value >= 0 else -steps) * unit


def _expected(
    u: ScaledUnit, a: np.ndarray, b: np.ndarray, c: float, one: np.ndarray, other: np.ndarray
) -> float:
    """The rule once more, in fractions: a term and its exponent each, cut, summed, cut to 24 bits."""
    formats, block = (u.instruction.a, u.instruction.b), u.instruction.scale_block
    least = -6 if u.instruction.scales == "ue4m3" else -127
    packed = u.instruction.scaling != "mxf8f6f4"
    exponents = [-139 if packed else -133]
    terms = [Fraction(c)]
    if c:
        exponents.append(_exponent(c, -126))
    for start in range(0, u.k, 16 if packed else 1):
        ks = slice(start, start + (16 if packed else 1))
        x, y = one[start // block], other[start // block]
        total = sum((Fraction(p) * Fraction(q) for p, q in zip(a[ks], b[ks], strict=True)), Fraction(0))
        terms.append(total * Fraction(x) * Fraction(y))
        if not (a[ks] * b[ks]).any() or not x * y:
            continue
        scale = _exponent(x, least) + _exponent(y, least)
        own = (
            0
            if packed
            else sum(
                _exponent(value, f.min_exponent)
                for value, f in zip((a[start], b[start]), formats, strict=True)
            )
        )
        exponents.append(scale + own)
    unit = Fraction(2) ** (max(exponents) - u.rule.fraction_bits)
    exact = sum((_cut(term, unit) for term in terms), Fraction(0))
    if not exact:
        return 0.0
    top = max(int(np.frexp(float(exact))[1]) - 1, -126)
    return float(_cut(exact, Fraction(2) ** (top - 23)))


@pytest.mark.parametrize(("name", "arch"), NAMES)
def test_a_scaled_unit_is_its_rule(name: str, arch: str) -> None:
    u, count = scaled_unit(name, arch), 60
    assert u.name == name
    rng = np.random.default_rng(1)
    codes = [
        np.where(np.isfinite(f.decode(x)), x, 0)
        for f in (u.instruction.a, u.instruction.b)
        for x in (rng.integers(0, 1 << f.bits, (count, u.k)).astype(np.uint8),)
    ]
    near = u.instruction.scales == "ue8m0"
    scales = [rng.integers(120 if near else 0, 135 if near else 127, (count, u.scales)) for _ in range(2)]
    c = FORMATS["f32"].encode(rng.standard_normal(count) * 2.0 ** rng.integers(-20, 20, count))
    got = FORMATS["f32"].decode(u.fma(codes[0], codes[1], c, *scales))
    values = [f.decode(x) for f, x in zip((u.instruction.a, u.instruction.b), codes, strict=True)]
    decoded = [decode_scale(x, u.instruction.scales) for x in scales]
    for i in range(count):
        args = values[0][i], values[1][i], float(FORMATS["f32"].decode(c)[i]), decoded[0][i], decoded[1][i]
        assert got[i] == _expected(u, *args)
    assert len(set(got.tolist())) > count // 2


def test_a_nan_scale_makes_nan() -> None:
    u = scaled_unit(*NAMES[0])
    one = np.zeros((1, 32), np.uint8)
    got = u.fma(one, one, np.zeros(1, np.uint32), [[255]], [[127]])
    assert got.tolist() == [0x7FFFFFFF]


@pytest.mark.parametrize(
    ("name", "arch"),
    [
        ("tcgen05.m128n64k32.f32.e4m3", "sm_100"),
        ("tcgen05.m128n64k64.mxf4.block32.f32.e2m1.e2m1.ue8m0", "sm_90"),
        ("tcgen05.m64n64k64.mxf4.block32.f32.e2m1.e2m1.ue8m0", "sm_100"),
        ("tcgen05.m128n64k64.mxf4.block16.f32.e2m1.e2m1.ue4m3", "sm_100"),
        ("tcgen05.m128n64k32.mxf4.block32.f32.e2m1.e2m1.ue8m0", "sm_100"),
        ("tcgen05.m128n64k64.mxf4.block32.f32.e4m3.e4m3.ue8m0", "sm_100"),
        ("mma.m16n8k32.mxf8f6f4.block32.f32.f16.f16.ue8m0", "sm_120"),
    ],
)
def test_other_names_are_input_errors(name: str, arch: str) -> None:
    with pytest.raises(InputError):
        scaled_unit(name, arch)


def test_wrong_shapes_are_input_errors() -> None:
    u = scaled_unit(*NAMES[3])
    codes, c = np.zeros((2, 64), np.uint8), np.zeros(2, np.uint32)
    with pytest.raises(InputError, match="scale_a"):
        u.fma(codes, codes, c, np.zeros((2, 2), np.uint8), np.zeros((2, 4), np.uint8))
    with pytest.raises(InputError, match="4-bit"):
        u.fma(codes + 16, codes, c, np.zeros((2, 4), np.uint8), np.zeros((2, 4), np.uint8))


@pytest.mark.parametrize(("name", "arch"), NAMES)
def test_an_attack_stays_below_the_bound(name: str, arch: str) -> None:
    found = attack(scaled_unit(name, arch), 6000, 3, batch=400)["any order"]
    assert found["over"] == 0
    assert 0.4 < found["largest"] <= 1


def test_a_scale_alone_sets_the_anchor_of_a_packed_kind() -> None:
    """Sixteen products that cancel leave their scales' exponent: what lies 35 bits below it is lost."""
    u = scaled_unit(*NAMES[2])
    a, scale = np.zeros((1, 64)), np.ones((1, 2))
    a[0, 0], a[0, 1], a[0, 32] = 1.0, -1.0, 1.0
    scale[0] = 2.0**20, 2.0**-20
    exact, allowed = u.allowed(a, np.ones((64, 1)), scale, np.ones((2, 1)))
    codes = FORMATS["f4E2M1FN"].encode(a)
    scales = (np.log2(scale) + 127).astype(np.uint8)
    ones = FORMATS["f4E2M1FN"].encode(np.ones((1, 64)))
    got = FORMATS["f32"].decode(u.fma(codes, ones, np.zeros(1, np.uint32), scales, [[127, 127]]))
    assert exact[0, 0] == 2.0**-20 and got[0] == 0
    assert allowed[0, 0] >= 2.0**-20


def test_a_bound_of_other_shapes_is_an_input_error() -> None:
    u = scaled_unit(*NAMES[0])
    with pytest.raises(InputError, match="a scale for each 32 k"):
        u.allowed(np.ones((2, 64)), np.ones((64, 2)), np.ones((2, 1)), np.ones((2, 2)))
