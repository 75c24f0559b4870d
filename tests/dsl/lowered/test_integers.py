"""Integer arithmetic on all threads at once, against Python's own, width by width."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from layoutcheck.dsl.lowered.integers import BINARY, compare, high_signed, high_unsigned
from layoutcheck.dsl.lowered.most import most
from layoutcheck.dsl.lowered.values import Reasons, unsigned, wrap
from layoutcheck.sources.mlir import parse

widths = st.sampled_from([1, 8, 16, 32, 64])


def signed(value: int, bits: int) -> int:
    value &= (1 << bits) - 1
    return value - (1 << bits) if bits > 1 and value >> (bits - 1) else value


def up(a: int, bits: int) -> int:
    return a & ((1 << bits) - 1)


def trunc(a: int, b: int) -> int:
    q = abs(a) // abs(b)
    return q if (a < 0) == (b < 0) else -q


REFERENCE = {
    "arith.addi": lambda a, b, w: a + b,
    "arith.subi": lambda a, b, w: a - b,
    "arith.muli": lambda a, b, w: a * b,
    "arith.andi": lambda a, b, w: a & b,
    "arith.ori": lambda a, b, w: a | b,
    "arith.xori": lambda a, b, w: a ^ b,
    "arith.shli": lambda a, b, w: up(a, w) << b if 0 <= b < w else 0,
    "arith.shrui": lambda a, b, w: up(a, w) >> b if 0 <= b < w else 0,
    "arith.shrsi": lambda a, b, w: a >> min(max(b, 0), w - 1),
    "arith.divsi": lambda a, b, w: trunc(a, b) if b else 0,
    "arith.remsi": lambda a, b, w: a - b * trunc(a, b) if b else 0,
    "arith.divui": lambda a, b, w: up(a, w) // up(b, w) if b else 0,
    "arith.remui": lambda a, b, w: up(a, w) % up(b, w) if b else 0,
    "arith.floordivsi": lambda a, b, w: a // b if b else 0,
    "arith.ceildivsi": lambda a, b, w: -(-a // b) if b else 0,
    "arith.ceildivui": lambda a, b, w: -(-up(a, w) // up(b, w)) if b else 0,
    "arith.minsi": lambda a, b, w: min(a, b),
    "arith.maxsi": lambda a, b, w: max(a, b),
    "arith.minui": lambda a, b, w: min(a, b, key=lambda n: up(n, w)),
    "arith.maxui": lambda a, b, w: max(a, b, key=lambda n: up(n, w)),
}


@st.composite
def operands(draw: st.DrawFn) -> tuple[int, list[int], list[int]]:
    bits = draw(widths)
    numbers = st.one_of(
        st.integers(-4, 70), st.integers(-(1 << 63), (1 << 63) - 1), st.just(1 << (bits - 1))
    ).map(lambda n: signed(n, bits))
    count = draw(st.integers(1, 4))
    return bits, draw(st.lists(numbers, min_size=count, max_size=count)), draw(
        st.lists(numbers, min_size=count, max_size=count)
    )  # fmt: skip


@pytest.mark.filterwarnings("ignore:overflow")  # the least number by -1: it wraps
@pytest.mark.parametrize("name", sorted(REFERENCE))
@given(operands())
def test_one_thread_and_many_agree_with_python(name: str, case: tuple[int, list[int], list[int]]) -> None:
    bits, a, b = case
    expected = [signed(REFERENCE[name](x, y, bits), bits) for x, y in zip(a, b, strict=True)]
    function = BINARY[name]
    assert [function(x, y, bits) for x, y in zip(a, b, strict=True)] == expected
    left, right = np.array(a, np.int64), np.array(b, np.int64)
    assert np.asarray(function(left, right, bits)).tolist() == expected
    mixed = [signed(REFERENCE[name](x, b[0], bits), bits) for x in a]
    assert np.broadcast_to(function(left, b[0], bits), left.shape).tolist() == mixed
    mixed = [signed(REFERENCE[name](a[0], y, bits), bits) for y in b]
    assert np.broadcast_to(function(a[0], right, bits), right.shape).tolist() == mixed


@given(operands(), st.integers(0, 9))
def test_comparisons(case: tuple[int, list[int], list[int]], predicate: int) -> None:
    bits, a, b = case

    def holds(x: int, y: int) -> bool:
        if predicate >= 6:
            x, y = up(x, bits), up(y, bits)
        names = (
            "__eq__",
            "__ne__",
            "__lt__",
            "__le__",
            "__gt__",
            "__ge__",
            "__lt__",
            "__le__",
            "__gt__",
            "__ge__",
        )
        return bool(getattr(x, names[predicate])(y))

    expected = [int(holds(x, y)) for x, y in zip(a, b, strict=True)]
    assert [compare(predicate, x, y, bits) for x, y in zip(a, b, strict=True)] == expected
    found = compare(predicate, np.array(a, np.int64), np.array(b, np.int64), bits)
    assert np.asarray(found).tolist() == expected


@given(operands())
def test_upper_halves_of_products(case: tuple[int, list[int], list[int]]) -> None:
    bits, a, b = case
    left, right = np.array(a, np.int64), np.array(b, np.int64)
    for function, number in ((high_signed, lambda n: n), (high_unsigned, lambda n: up(n, bits))):
        expected = [signed((number(x) * number(y)) >> bits, bits) for x, y in zip(a, b, strict=True)]
        assert [function(x, y, bits) for x, y in zip(a, b, strict=True)] == expected
        assert np.asarray(function(left, right, bits)).tolist() == expected


@given(st.integers(-(1 << 80), 1 << 80), widths)
def test_wrapping_keeps_the_low_bits(value: int, bits: int) -> None:
    found = wrap(value, bits)
    assert found == signed(value, bits)
    assert unsigned(found, bits) == up(value, bits)


@pytest.mark.parametrize("name", ["arith.divsi", "arith.remui"])
def test_a_number_of_numpy_is_divided_as_one_of_python(name: str) -> None:
    for pair in ((np.int64(7), 2), (7, np.int64(2))):
        assert BINARY[name](*pair, 64) == BINARY[name](7, 2, 64)


@pytest.mark.parametrize(
    ("made", "bound"),
    [
        ("minsi(%n, %c)", 5),
        ("minsi(%n, %less)", -3),
        ("maxsi(%n, %c)", inf),
        ("maxsi(%at_most, %c)", 5),
        ("minui(%n, %c)", 5),
        ("minui(%n, %less)", inf),  # a negative number is a large one without its sign
        ("minui(%at_most, %c)", 5),
        ("minui(%at_most, %at_most)", 5),
        ("minui(%remainder, %c)", 5),  # a remainder may be negative
        ("addi(%at_most, %c)", 10),
        ("addi(%at_most, %less)", 2),
        ("addi(%at_most, %at_most)", 10),
        ("addi(%n, %c)", inf),
        ("addi(%at_most, %far)", inf),  # wraps around below
        ("addi(%remainder, %far)", 4 - (2**31 - 7)),
        ("minsi(%over, %c)", 5),
        ("addi(%over, %less)", inf),  # wrapped around above: no small number, for all that is known
        ("index_cast(%wide_least)", inf),  # what is cut to 32 bits
        ("index_cast(%wide_five)", 5),
        ("remsi(%n, %c)", 4),
        ("andi(%n, %c)", 5),
        ("select(%slt, %n, %c)", 5),
        ("select(%slt, %c, %n)", inf),
        ("select(%sgt, %c, %n)", 5),
        ("select(%sgt, %n, %c)", inf),
        ("select(%ult, %n, %c)", 5),
        ("select(%eq, %c, %n)", inf),  # which is %n
        ("select(%ne, %n, %c)", inf),  # which is %n
        ("select(%wide, %n, %less)", inf),
    ],
)
def test_what_constants_bound(made: str, bound: float) -> None:
    compared = "\n".join(
        f'%{name} = "arith.cmpi"(%n, {other}) <{{predicate = {i} : i64}}> : (i32, i32) -> i1'
        for name, i, other in (
            ("eq", 0, "%c"), ("ne", 1, "%c"), ("slt", 2, "%c"), ("sgt", 4, "%c"), ("ult", 6, "%c"),
            ("wide", 6, "%less"),
        )
    )  # fmt: skip
    name, operands = made.rstrip(")").split("(")
    kinds = {"select": "i1, i32, i32", "index_cast": "i64"}.get(name, "i32, i32")
    text = f"""
        "func.func"() <{{function_type = (i32) -> (), sym_name = "f"}}> ({{
        ^bb0(%n: i32):
          %c = "arith.constant"() <{{value = 5 : i32}}> : () -> i32
          %less = "arith.constant"() <{{value = -3 : i32}}> : () -> i32
          %far = "arith.constant"() <{{value = {7 - 2**31} : i32}}> : () -> i32
          %largest = "arith.constant"() <{{value = 2147483647 : i32}}> : () -> i32
          %over = "arith.addi"(%largest, %c) : (i32, i32) -> i32
          %wide_least = "arith.constant"() <{{value = -5000000000 : i64}}> : () -> i64
          %wide_five = "arith.constant"() <{{value = 5 : i64}}> : () -> i64
          %at_most = "arith.minsi"(%n, %c) : (i32, i32) -> i32
          %remainder = "arith.remsi"(%n, %c) : (i32, i32) -> i32
          {compared}
          %made = "arith.{name}"({operands}) : ({kinds}) -> i32
          "func.return"() : () -> ()
        }}) : () -> ()
    """
    *_, op, _ = (one for one in parse(text).walk() if one.name != "func.func")
    assert most(op.results[0]) == bound


def test_what_a_bit_stood_for_in_an_earlier_run_is_forgotten() -> None:
    reasons = Reasons()
    bit = reasons.bit("data", "loaded")
    assert reasons.guessed(bit) and reasons.worst(bit) == "data"
    reasons.restart({})
    assert reasons.bit("arguments", "given") == bit
    assert not reasons.guessed(bit) and reasons.worst(bit) == "arguments"
    reasons.taken = frozenset(("read",))
    assert not reasons.guessed(reasons.bit("data", "read")) and reasons.guessed(reasons.bit("data", "other"))
