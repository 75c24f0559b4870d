"""Turns of loops, read from machine code that is written here; no DSL is needed."""

from __future__ import annotations

import struct

import pytest

from layoutcheck.dsl.tasks.machine_code import Turn, guarded, turn
from layoutcheck.synthesis.compiled import Compiled

OPCODES = {
    "LDG": 0x981, "STS": 0x388, "STG": 0x986, "BAR": 0xB1D, "LDS": 0x984, "BRA": 0x947, "BULK": 0x5B4,
    "ADD": 0x210, "STL": 0x387, "BRA.U": 0x547,
}  # fmt: skip
ALWAYS = 7


def cubin(code: bytes) -> bytes:
    """An ELF file with these instructions."""
    strings = b"\0.strtab\0.text.kernel\0"
    sections = [(1, 64, len(strings)), (9, 64 + len(strings), len(code))]
    header = bytearray(b"\x7fELF\x02\x01".ljust(64, b"\0"))
    struct.pack_into("<Q", header, 40, 64 + len(strings) + len(code))
    struct.pack_into("<HHH", header, 58, 64, len(sections), 0)
    table = b"".join(
        struct.pack("<IIQQQQ", name, 0, 0, 0, at, size).ljust(64, b"\0") for name, at, size in sections
    )
    return bytes(header) + strings + code + table


def code(*words: str, loop: int | None = None) -> bytes:
    """Instructions `NAME key=value ...`; a branch goes `to` that number, one at the end to `loop`.

    `stall`, the scoreboards that it `writes` and `reads`, a mask of those that it `waits` for, its `guard`.
    """
    if loop is not None:
        words = (*words, f"BRA to={loop}")
    found = b""
    for at, word in enumerate(words):
        name, *texts = word.split()
        given = {"stall": 1, "writes": 7, "reads": 7, "waits": 0, "guard": ALWAYS} | {
            key: int(value) for key, _, value in (text.partition("=") for text in texts)
        }
        low = OPCODES[name] | given["guard"] << 12
        high = (4 if name in ("LDG", "STL") else 0) << 9
        if "to" in given:
            units = 4 * (given["to"] - at - 1)
            low |= (units & 0xFF) << 16 | (units >> 8 & (1 << 30) - 1) << 34
            high |= units >> 8 >> 30 & (1 << 18) - 1
        high |= given["stall"] << 41 | given["writes"] << 46 | given["reads"] << 49 | given["waits"] << 52
        found += struct.pack("<QQ", low, high)
    return cubin(found)


def pairs(*boards: int) -> list[str]:
    """For each a load that holds a scoreboard, and a store that waits for it."""
    return [word for board in boards for word in (f"LDG writes={board}", f"STS waits={1 << board}")]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (pairs(0), 1),
        (pairs(0, 0, 1), 3),  # each begins when the one before has come
        (["LDG writes=0", "LDG writes=1", "STS waits=1", "STS waits=2"], 1),  # together
        (["LDG writes=0"] * 32 + ["STS waits=1"] * 8, 1),
        (["STS waits=1", "LDG writes=0", "ADD", "STS"], 1),  # a loop that begins in the middle
        (["LDG writes=0"], 0),  # nothing waits for it
        (["LDS writes=0", "STG waits=1"], 0),
    ],
)
def test_what_waits_for_a_load_is_behind_it_by_a_latency(words: list[str], expected: int) -> None:
    assert turn(code(*words, loop=0), False).rounds == pytest.approx(expected, abs=0.01)


def test_a_loop_may_end_by_a_branch_on_a_uniform_predicate() -> None:
    """Its guard always says that it is under none. The second one is around what one warp executes."""
    inside = ["BRA.U to=4", "BULK", "ADD", "BAR", "LDG writes=0", "STS waits=1", "BRA.U to=1"]
    found = turn(code("LDG", *inside), False)
    assert (found.instructions, found.alone, found.barriers, found.loaded) == (5, 2, 1, 4)


def test_a_turn_takes_its_stalls_and_what_it_waits_for_shared_memory() -> None:
    """30 cycles until shared memory answers, 15 until a store has read its registers (docs/banks.md)."""
    found = turn(
        code("LDS writes=2 stall=2", "ADD stall=4 waits=4", "ADD stall=5", "BAR stall=1", loop=0), False
    )
    assert found == Turn(instructions=5, alone=0, cycles=30 + 4 + 5 + 1 + 1, rounds=0, barriers=1, loaded=0)
    assert turn(code("STS reads=3", "ADD waits=8", loop=0), False).cycles == 15 + 1 + 1


def test_what_is_around_the_loop_and_loops_inside_of_it_do_not_count() -> None:
    before, inside = ["LDG writes=0", "STS waits=1", "BAR"], ["LDS writes=1", "BRA to=4 guard=0"]
    found = turn(code(*before, "LDG", *inside, "STS", loop=3), False)
    assert (found.instructions, found.barriers, found.loaded) == (3, 0, 4)
    assert turn(code(*before, "LDG", "STS"), False).instructions == 5  # no loop: all
    far = ["LDG"] * 300
    assert turn(code(*before, *far, "STS", loop=3), False).loaded == 1200


def test_what_registers_do_not_hold_is_told() -> None:
    """ncu: a plan of 64 x 64 halves that spilled wrote 38 % more sectors, and took 18 % longer."""
    assert turn(code("STL", "STL", "LDG", "STS", loop=0), False).spilled == 8
    once = turn(code("STL", "LDG", "STS", loop=1), False)
    assert (once.spilled, once.once) == (0, 4)


def test_bulk_copies_are_started_by_one_warp_which_all_others_wait_for() -> None:
    words = ["BRA to=4 guard=0", "ADD stall=9", "BULK stall=9", "ADD stall=9", "BAR", "LDS", "STG"]
    found = turn(code(*words, loop=0), False)
    assert (found.instructions, found.alone, found.cycles) == (5, 3, 5 + 27)
    loads = turn(code("BRA to=4 guard=0", "LDG", "STS", "ADD", "BAR", loop=0), False)
    assert (loads.instructions, loads.alone) == (6, 0)


def test_what_is_stored_only_to_look_at_registers_is_left_out() -> None:
    words = ["LDG writes=0", "BRA to=4 guard=0", "ADD", "STG", "BAR"]
    assert turn(code(*words, loop=0), True).instructions == 4
    assert turn(code(*words, loop=0), False).instructions == 6


def test_a_turn_of_an_unrolled_loop_takes_as_many_tiles_as_its_barriers_say() -> None:
    made = Compiled(32, 400, alone=40, barriers=8, cycles=800.0, rounds=4.0, loaded=64)
    found = made.of_a_tile(2, 0)
    assert (found.instructions, found.alone, found.cycles, found.rounds) == (100, 10, 200, 1)
    assert made.of_a_tile(0, 32).instructions == 200  # without barriers: the bytes that a thread loads
    assert made.of_a_tile(0, 0).instructions == made.of_a_tile(16, 0).instructions == 400


@pytest.mark.parametrize(("guard", "found"), [(7, False), (0, True), (8, True), (6, True)])
def test_a_copy_under_a_predicate_is_told_from_one_that_always_runs(guard: int, found: bool) -> None:
    """P0 is 0, !P0 is 8, and PT, which is always true, is 7."""
    words = [(OPCODES["LDG"], 0), (0xFAE | guard << 12, 0)]
    assert guarded(cubin(b"".join(struct.pack("<QQ", *word) for word in words))) == found
