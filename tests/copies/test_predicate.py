"""Which mode a predicate has too much, in words."""

from __future__ import annotations

from typing import Any

import pytest

from layoutcheck.copies.predicate import surplus
from layoutcheck.sources.diagnostics import Diagnostic, read_errors
from layoutcheck.sources.messages import explain


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


def test_an_operation_whose_operands_are_left_out_is_read() -> None:
    memref = '!cute.memref<bf16, {0}, align<16>, "((8,1),3):((1,0),8)">'
    (found,) = read_errors(
        "error: 'cute.copy' op expects pred to have compatible shape with: (1,(3)) but got actual predShape: "
        '(1,(2,3))\nnote: see current operation: "cute.copy"(...) : '
        "(!cute_nvgpu.atom.universal_copy<bf16, 128 b>, "
        f"{memref.format('gmem')}, {memref.format('rmem')}) -> ()"
    )
    assert isinstance(found, Diagnostic) and found.copy is not None and found.copy.src.space == "gmem"
