"""Registers in memory against a plain array of bytes."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from layoutcheck.dsl.lowered.memory import Memory, _stored
from layoutcheck.dsl.lowered.registers import Registers
from layoutcheck.dsl.lowered.types import parse_type
from layoutcheck.dsl.lowered.values import number

SIZE, THREADS = 32, 3

stores = st.tuples(
    st.sampled_from([1, 2, 4, 8]),
    st.integers(0, 3),
    st.lists(st.integers(-128, 127), min_size=THREADS, max_size=THREADS),
    st.none() | st.lists(st.booleans(), min_size=THREADS, max_size=THREADS),
)


def little(value: int, size: int) -> list[int]:
    return list((value & ((1 << (8 * size)) - 1)).to_bytes(size, "little"))


@given(
    st.lists(stores, max_size=12), st.sampled_from([1, 2, 4, 8]), st.tuples(*[st.integers(0, 3)] * THREADS)
)
def test_what_is_stored_is_loaded(steps: list, size: int, slots: tuple[int, ...]) -> None:
    """By each thread at a place of its own, or by all at one."""
    registers = Registers()
    base = registers.allocate(SIZE)
    memory = [[0] * SIZE for _ in range(THREADS)]
    registers.store(base, [(1, 0)] * SIZE, 0, None)
    for width, place, values, mask in steps:
        at = place * width
        active = None if mask is None else np.array(mask)
        registers.store(base + at, [(width, np.array(values, np.int64))], 0, active)
        for t in range(THREADS):
            if active is None or active[t]:
                memory[t][at : at + width] = little(values[t], width)
    value, _, known = registers.load(base + np.array(slots) * size, size)
    if not known:
        return
    for t, slot in enumerate(slots):
        found = little(int(np.broadcast_to(number(value), (THREADS,))[t]), size)
        assert found == memory[t][slot * size : (slot + 1) * size]


@pytest.mark.parametrize(
    ("kind", "value", "stored"),
    [
        ("vector<4xi4>", (1, -2, 3, 7), [(1, -31), (1, 0x73)]),
        ("vector<8xi1>", (1, 0, 1, 0, 0, 0, 1, 0), [(1, 0x45)]),
        ("vector<4xi4>", 5, [(1, 0x55), (1, 0x55)]),
        ("vector<4xi4>", 0, [(1, 0), (1, 0)]),
        ("vector<2xi16>", (1, -2), [(2, 1), (2, -2)]),
        ("vector<2xi16>", 9, [(2, 9), (2, 9)]),
        ("i4", 5, [(1, 5)]),
    ],
)
def test_elements_below_a_byte_are_stored_in_bytes(kind: str, value: object, stored: list) -> None:
    """Little end first, as LLVM keeps vectors: an FP4 epilogue's registers."""
    assert _stored(value, parse_type(kind)) == stored  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", ["vector<4xi4>", "vector<4xi8>", "vector<4xi32>"])
def test_a_vector_comes_back_as_its_elements(kind: str) -> None:
    registers = Registers()
    base = registers.allocate(SIZE)
    memory: Memory = SimpleNamespace(machine=SimpleNamespace(registers=registers))  # type: ignore[assignment]
    registers.store(base, _stored((1, -2, 3, 7), parse_type(kind)), 0, None)
    assert Memory._from_registers(memory, base, parse_type(kind)) == ((1, -2, 3, 7), 0, True)
