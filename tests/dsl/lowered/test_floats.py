"""Floats that indices are computed by, against Python's own arithmetic."""

from __future__ import annotations

import math
import struct
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from layoutcheck.dsl.lowered.machine import Launch, Machine
from layoutcheck.dsl.lowered.operations import _constant
from layoutcheck.dsl.lowered.steps import Steps, floats
from layoutcheck.sources.mlir import parse


def bits(number: float) -> int:
    return int(struct.unpack("<i", struct.pack("<f", number))[0])


def run(name: str, types: str, result: str, *values: Any, attributes: str = "") -> Any:
    """What an operation gives: of operands with these values."""
    names = [f"%{i}" for i in range(len(values))]
    made = "\n".join(f'{n} = "a"() : () -> {kind}' for n, kind in zip(names, types.split(), strict=True))
    text = f'{made}\n%9 = "{name}"({", ".join(names)}) {attributes}: ({", ".join(types.split())}) -> {result}'
    op = list(parse(text).walk())[-1]
    slots = {v: i for i, v in enumerate((*op.operands, *op.results))}
    machine = Machine(Launch(), [*values, None], [*(1 << i for i in range(len(values))), 0])
    step = floats.step(Steps(machine, slots), op)
    assert step is not None
    step()
    assert machine.provenance[-1] == (1 << len(values)) - 1
    return machine.values[-1]


@given(st.integers(0, 1 << 16))
def test_the_row_of_a_triangle_is_found_through_a_square_root(index: int) -> None:
    """As schedulers of symmetric products do: the row r with r (r + 1) / 2 <= index."""
    wide = run("arith.sitofp", "i32", "f32", 2 * index)
    wide = run("arith.addf", "f32 f32", "f32", wide, _constant("2.250000e+00 : f32"))
    root = run(
        "llvm.call_intrinsic", "f32", "f32", wide, attributes='<{intrin = "llvm.nvvm.sqrt.approx.f"}> '
    )
    less = run("arith.subf", "f32 f32", "f32", root, bits(0.5))
    row = run("arith.fptosi", "f32", "i32", run("math.ceil", "f32", "f32", less)) - 1
    assert row == (math.isqrt(8 * index + 1) - 1) // 2


def test_threads_have_numbers_of_their_own_and_signs() -> None:
    threads = np.arange(-3, 4, dtype=np.int64)
    halves = run("arith.mulf", "f32 f32", "f32", run("arith.sitofp", "i32", "f32", threads), bits(0.5))
    assert run("arith.fptosi", "f32", "i32", halves).tolist() == [-1, -1, 0, 0, 0, 1, 1]
    assert run("arith.sitofp", "i32", "f32", -1) == bits(-1.0)
    assert run("arith.uitofp", "i32", "f32", -1) == bits(2.0**32)
    assert run("arith.divf", "f32 f32", "f32", bits(1.0), bits(3.0)) == bits(1 / 3)


@pytest.mark.parametrize("text", ["0xFF800000 : f32", "-1.500000e+00 : f32", "3 : i32", "true"])
def test_constants_are_their_bits(text: str) -> None:
    expected = {"0xFF8": 0xFF800000, "-1.50": bits(-1.5), "3 : i": 3, "true": 1}[text[:5]]
    assert _constant(text) == expected


def test_vectors_and_doubles_are_left() -> None:
    for kind in ("vector<2xf32>", "f64"):
        op = list(
            parse(f'%0 = "a"() : () -> {kind}\n%1 = "arith.addf"(%0, %0) : ({kind}, {kind}) -> {kind}').walk()
        )[-1]
        assert floats.step(Steps(SimpleNamespace(values=[], provenance=[]), {}), op) is None  # type: ignore[arg-type]
