"""Rounds of loads, read from machine code that is written here; no DSL is needed."""

from __future__ import annotations

import struct

import pytest

from layoutcheck.dsl.tasks.machine_code import guarded, rounds
from layoutcheck.synthesis.compiled import Compiled

OPCODES = {"LDG": 0x981, "STS": 0x388, "STG": 0x986, "BAR": 0xB1D, "LDS": 0x984}


def cubin(code: bytes) -> bytes:
    """An ELF file with these instructions."""
    strings = b"\0.strtab\0.text.kernel\0"
    sections = [(1, 64, len(strings)), (9, 64 + len(strings), len(code))]
    header = bytearray(64)
    struct.pack_into("<Q", header, 40, 64 + len(strings) + len(code))
    struct.pack_into("<HHH", header, 58, 64, len(sections), 0)
    table = b"".join(
        struct.pack("<IIQQQQ", name, 0, 0, 0, at, size).ljust(64, b"\0") for name, at, size in sections
    )
    return bytes(header) + strings + code + table


def instructions(text: str, back_to: int | None = None) -> bytes:
    """`LDG4 STS1 ...`, and a branch back to the instruction of that number."""
    names = [word[:3] for word in text.split() for _ in range(int(word[3:]))]
    words = [(OPCODES[name], 0) for name in names]
    if back_to is not None:
        units = 4 * (back_to - len(words) - 1)
        upper = units >> 8
        low = 0x947 | (units & 0xFF) << 16 | (upper & (1 << 30) - 1) << 34
        words.append((low, upper >> 30 & (1 << 18) - 1))
    return b"".join(struct.pack("<QQ", *word) for word in words)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("LDG32 STS8", 1),
        ("LDG4 STS1 LDG4 STS1 LDG4 STS2", 3),
        ("LDG8 STS1 LDG4 STS2", 2),  # the second store's loads came with the first's
        ("STS1 LDG4 STS3", 1),  # a loop that begins in the middle
        ("LDG4 STG4 LDG4 STG4", 2),
        ("LDG2 STS2 BAR1 LDS2 STG2", 1),
        ("LDS8 STG8", 1),
    ],
)
def test_a_store_waits_for_its_loads_and_what_is_behind_begins_then(text: str, expected: int) -> None:
    assert rounds(cubin(instructions(text)))[0] == expected


def test_what_is_before_the_loop_does_not_count() -> None:
    before = "LDG4 STS1 LDG4 STS1 LDG4 STS1 BAR1 "
    looped = instructions(before + "LDG8 STS2", back_to=16)
    assert rounds(cubin(instructions(before + "LDG8 STS2")))[0] > 3
    assert rounds(cubin(looped)) == (1, 8)
    assert rounds(cubin(instructions(before + "LDG300 STS2 LDG300 STS2", back_to=16))) == (2, 600)


@pytest.mark.parametrize(
    ("text", "of_a_tile"), [("LDG2 STG1 LDG2 STG1 LDG2 STG1 LDG2 STG1", 1), ("LDG8 STG4", 0.25)]
)
def test_a_turn_of_an_unrolled_loop_takes_several_tiles(text: str, of_a_tile: float) -> None:
    """A tile takes two loads of a thread: four tiles wait one after the other, or all together."""
    assert Compiled(32, 40, *rounds(cubin(instructions(text)))).rounds_of(2) == of_a_tile


@pytest.mark.parametrize(("guard", "found"), [(7, False), (0, True), (8, True), (6, True)])
def test_a_copy_under_a_predicate_is_told_from_one_that_always_runs(guard: int, found: bool) -> None:
    """P0 is 0, !P0 is 8, and PT, which is always true, is 7."""
    words = [(OPCODES["LDG"], 0), (0xFAE | guard << 12, 0)]
    assert guarded(cubin(b"".join(struct.pack("<QQ", *word) for word in words))) == found
