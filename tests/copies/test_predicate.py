# ruff: noqa: E501 (messages as they are printed)
"""Which mode a predicate has too much, in words; and which of its entries guards a vector."""

from __future__ import annotations

from typing import Any

import pytest

from layoutcheck.atoms.universal import UniversalCopy
from layoutcheck.atoms.universal.execution import plan as universal_plan
from layoutcheck.copies.predicate import surplus
from layoutcheck.sources.diagnostics import Diagnostic, read_errors
from layoutcheck.sources.messages import explain
from layoutcheck.sources.request import build


@pytest.mark.parametrize(
    ("want", "got", "said"),
    [
        ((1, (3,)), (1, (2, 3)), "Mode 1 is (2,3), 6 entries for 3 of the data: it still has a mode of 2"),
        ((2, (1, 1)), (((2, 4), 2), (1, 1)), "Mode 0 is ((2,4),2): it still has the 8 elements of one"),
        ((1, 4, 5), (1, (2, 4, 3), 5), "it still has a mode of 2 x 3"),
        ((2, 4), ((2, 8), 4), "Mode 0 is (2,8), 16 entries for 2 of the data: it still has a mode of 8"),
        ((8, 2), (8, 2), ""),
        ((8, 2), (4, 2), ""),  # less
        ((8, 2), (64, 2), ""),  # no mode of it is 8
        ((8, 2), (8, 2, 3), ""),  # of another rank, which is told by another message
    ],
)
def test_the_mode_that_a_predicate_has_too_much(want: Any, got: Any, said: str) -> None:
    told = surplus(want, got)
    assert said in told and bool(said) == bool(told)


def test_a_message_without_types_tells_the_mode() -> None:
    words = "expects pred to have compatible shape with: (1,(3)) but got actual predShape: (1,(2,3))"
    known = explain(words)
    assert known is not None and "by which the data is sliced" in known.meaning
    cut = explain(words[:-4])
    assert cut is not None and "by which" not in cut.meaning


@pytest.mark.parametrize(
    ("have", "atom", "said", "never"),
    [
        (16, "simt_async_copy<f16, cache = always, 128 b>", "A single element's alignment", "a row's pitch"),
        (64, "simt_async_copy<f16, cache = always, 128 b>", "8 bytes, 4 elements", "A single element's"),
        (64, "simt_async_copy<f16, cache = always, 128 b>", "Pad it, or move 64 bits at once. ", ""),
        (64, 'ldsm<val_type = f16, mode = <"(8,8)">>', "is no multiple of 8 elements. Pad it. ", "at once"),
        (
            8,
            "simt_async_copy<f16, cache = always, 128 b>",
            "The compiler believes types",
            "element's alignment is",
        ),
    ],
)
def test_an_alignment_says_what_it_comes_from(have: int, atom: str, said: str, never: str) -> None:
    words = f"src ptr alignment ({have} bits) does not meet requirement (128 bits) of atom '!cute_nvgpu.atom.{atom}'"
    known = explain(words)
    assert known is not None and said in known.meaning and (not never or never not in known.meaning)


def test_a_swizzled_layout_that_is_no_tile_is_compared_with_it() -> None:
    known = explain(
        "expected top-level shape equivalence between the SMEM layout and the CTA V-map, but got "
        "'!cute.composed_layout<\"S<3,4,3> o 0 o (128,64):(64,1)\">' and '!cute.layout<\"(64,64):(1@0,1@1)\">'"
    )
    assert known is not None
    assert known.meaning.startswith("Mode 0 is 128 (128 elements) in the shared layout and 64 (64 elements)")


def test_an_operation_whose_operands_are_left_out_is_read() -> None:
    memref = '!cute.memref<bf16, {0}, align<16>, "((8,1),3):((1,0),8)">'
    (found,) = read_errors(
        "error: 'cute.copy' op expects pred to have compatible shape with: (1,(3)) but got actual predShape: "
        '(1,(2,3))\nnote: see current operation: "cute.copy"(...) : '
        "(!cute_nvgpu.atom.universal_copy<bf16, 128 b>, "
        f"{memref.format('gmem')}, {memref.format('rmem')}) -> ()"
    )
    assert isinstance(found, Diagnostic) and found.copy is not None and found.copy.src.space == "gmem"


@pytest.mark.parametrize(
    ("v", "vector", "entries", "asked"),
    [
        ("(4,8)", 8, 32, [0, 1, 2, 3]),  # one for each element: one for each vector in turn
        ("(4,8)", 8, 8, [0, 2, 4, 6]),
        ("(4,8)", 16, 8, [0, 4]),
        ("(1,16)", 8, 16, [0, 1]),
        ("(1,16)", 8, 2, [0, 8]),  # past its end
    ],
)
def test_which_entry_guards_a_vector(v: str, vector: int, entries: int, asked: list[int]) -> None:
    first = v.strip("()").split(",")[0]
    side = f'!cute.memref<i8, {{}}, align<16>, "({v}):((1,{first}))">'
    copy = build(
        src=side.format("smem"),
        dst=side.format("rmem"),
        atom="universal",
        bits=8 * vector,
        pred=f'!cute.memref<i8, gmem, align<1>, "({entries}):(1)">',
        op="copy_atom_call",
    )[0]
    assert isinstance(copy.atom, UniversalCopy)
    found = universal_plan(copy, copy, copy.atom).pred
    assert found is not None and found.tolist() == asked
