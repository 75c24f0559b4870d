"""Buffers of several stages: the strides of a layout that has more modes than the tile of a copy."""

from __future__ import annotations

import pytest

import layoutcheck as lc
from layoutcheck.patching.edit import apply
from layoutcheck.patching.program import Program
from layoutcheck.patching.stages import spaced, staged
from layoutcheck.patching.strides import calls_at
from layoutcheck.patching.wraps import wrapped

TEXT = """pitch = 70
rows = 4 * 8
shape = (rows, 64, 2)
buffer = cute.make_layout({})
tile = allocate_tensor(kind, buffer, 16)
cute.copy(atom, own, tile[None, None, 0])
"""


def changed(layout: str, old: str, new: str) -> list[str]:
    """The lines that each edit changes, for a tile laid out anew."""
    text = TEXT.format(layout)
    program = Program({"k.py": text})
    [place] = calls_at(program, "k.py", 4)
    return lines(text, staged(program, place, lc.parse_layout(old), lc.parse_layout(new)))


def lines(text: str, edits: object) -> list[str]:
    found = [apply({"k.py": text}, one)["k.py"].splitlines() for one in edits]  # type: ignore[attr-defined]
    return ["; ".join(line for line in one if line not in text.splitlines()) for one in found]


@pytest.mark.parametrize(
    ("layout", "old", "new", "wanted"),
    [
        # The one number that all strides follow from, then the strides themselves.
        ("shape, stride=(pitch, 1, rows * pitch)", "(32,64):(70,1)", "(32,64):(72,1)",
         ["pitch = 72", "buffer = cute.make_layout(shape, stride=(72, 1, 2304))"]),
        # The stages move apart where the tile grows, and stay where it still fits.
        ("(32, 64, 2), stride=(64, 1, 2048)", "(32,64):(64,1)", "(32,64):(72,1)",
         ["buffer = cute.make_layout((32, 64, 2), stride=(72, 1, 2304))"]),
        ("(32, 64, 2), stride=(1, 32, 2048)", "(32,64):(1,32)", "(32,64):(64,1)",
         ["buffer = cute.make_layout((32, 64, 2), stride=(64, 1, 2048))"]),
        ("(32, 64, 2, 3), stride=(64, 1, 2048, 4096)", "(32,64):(64,1)", "(32,64):(72,1)",
         ["buffer = cute.make_layout((32, 64, 2, 3), stride=(72, 1, 2304, 4608))"]),
        # Another tile, no further mode, or a stride that the text does not tell: nothing.
        ("(32, 64, 2), stride=(64, 1, 2048)", "(32,64):(70,1)", "(32,64):(72,1)", []),
        ("(32, 64), stride=(70, 1)", "(32,64):(70,1)", "(32,64):(72,1)", []),
        ("(32, 64, 2), stride=(70, 1, given)", "(32,64):(70,1)", "(32,64):(72,1)", []),
    ],
)  # fmt: skip
def test_a_stage_is_laid_out_otherwise(layout: str, old: str, new: str, wanted: list[str]) -> None:
    assert changed(layout, old, new) == wanted


@pytest.mark.parametrize(
    ("layout", "wanted"),
    [
        ("shape, stride=(72, 1, 72 * 32 + 4)",
         ["buffer = cute.make_layout(shape, stride=(72, 1, 72 * 32 + 8))",
          "buffer = cute.make_layout(shape, stride=(72, 1, 2312))"]),
        ("shape, stride=(pitch, 1, rows * pitch)",
         ["pitch = 72", "buffer = cute.make_layout(shape, stride=(72, 1, 2304))"]),
        ("shape, stride=(72, 1, 2304)", []),
        ("shape, stride=(72, 1, given)", []),
        ("shape", []),
    ],
)  # fmt: skip
def test_stages_begin_at_multiples_of_the_vector(layout: str, wanted: list[str]) -> None:
    text = TEXT.format(layout)
    program = Program({"k.py": text})
    site = program.copy_at("k.py", 6)
    assert site is not None
    start = program.argument(site, "dst")
    assert start is not None
    assert lines(text, spaced(program, start, 8)) == wanted


RING = """STAGES = 3
layout = cute.make_layout((8, 8, STAGES), stride=(1, 8, 64))
def kernel(given):
    ring = smem.allocate_tensor(kind, layout, 16)
    at = 0
    for k in range(8):
        {}
        a = ring[None, INDEX]
        b = given[k, nxt]
        {}
"""


@pytest.mark.parametrize(
    ("before", "index", "after", "wanted"),
    [
        ("at = k", "at", "pass", ["at = k % STAGES", "a = ring[None, at % STAGES]"]),
        ("pass", "at", "at += 1", ["at = (at + 1) % STAGES", "a = ring[None, at % STAGES]"]),
        ("pass", "at", "at = at + 1", ["at = (at + 1) % STAGES", "a = ring[None, at % STAGES]"]),
        # What is used elsewhere stays: only the index is wrapped.
        ("nxt = k + 2", "nxt", "pass", ["a = ring[None, nxt % STAGES]"]),
        ("pass", "k + 2", "pass", ["a = ring[None, (k + 2) % STAGES]"]),
        ("pass", "k % (STAGES - 1)", "pass", ["a = ring[None, k % STAGES]"]),
        ("pass", "2", "pass", []),
    ],
)  # fmt: skip
def test_the_index_of_a_stage_is_wrapped(before: str, index: str, after: str, wanted: list[str]) -> None:
    text = RING.replace("INDEX", index).format(before, after)
    found = lines(text, [edits for _, edits in wrapped(Program({"k.py": text}), "k.py", 8)])
    assert [one.strip() for one in found] == wanted
    flat = text.replace("(8, 8, STAGES), stride=(1, 8, 64)", "(64, STAGES), stride=(1, 64)")
    assert bool([*wrapped(Program({"k.py": flat}), "k.py", 8)]) == (
        "% STAGES" in flat
    )  # may be a row's length
    assert [*wrapped(Program({"k.py": flat + "at = at % STAGES"}), "k.py", 8)] or not wanted


@pytest.mark.parametrize(
    ("old", "new", "wanted"),
    [("STAGES = 3", "STAGES = 2", ["a = ring[None, k % STAGES]"]),
     ("STAGES = 3", "STAGES = 1", []),
     ("    at = 0", "    STAGES = 5", ["a = ring[None, k % 3]"])],  # a name that is another number there
)  # fmt: skip
def test_an_index_is_wrapped_by_the_number_of_stages(old: str, new: str, wanted: list[str]) -> None:
    text = RING.replace("INDEX", "k").format("pass", "pass").replace(old, new)
    found = lines(text, [edits for _, edits in wrapped(Program({"k.py": text}), "k.py", 8)])
    assert [one.strip() for one in found] == wanted
