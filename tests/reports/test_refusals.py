# ruff: noqa: E501 (messages as they are printed)
"""A kernel that is not compiled, as a trace tells it."""

from __future__ import annotations

import pytest

from layoutcheck.reports.trace import refusal
from layoutcheck.sources.traced import TraceFailure


def test_a_limit_of_our_own_is_told_in_its_own_words() -> None:
    said = "host_kernel: the launch fails: it allocates 327680 B of shared memory, a block of sm_90a has 232448 B"
    found = refusal(TraceFailure("uncompiled", said))
    assert (
        found.title
        == "the launch fails: it allocates 327680 B of shared memory, a block of sm_90a has 232448 B"
    )
    assert "host_kernel" in found.message and "does not say why" not in found.message


@pytest.mark.parametrize(
    ("message", "code", "title", "said"),
    [
        (
            "ValueError: Expected source and destination tensors to have the same size in mode-1, but got 8 and 4",
            "LC105",
            "after V the source has 8 atoms, the destination 4",
            "said: ValueError: Expected source",
        ),
        (
            'MLIRError: error: failed to construct a valid coordinate from #cute.coord<"(?,?,0)"> resulting',
            "LC100",
            "the coordinate (?,?,0) does not have the modes of the layout",
            "what helps: Give one coordinate for each mode",
        ),
        ("some words of a compiler", "LC100", "the compiler does not compile this kernel", "some words of a"),
    ],
)
def test_a_refusal_is_told_as_a_pasted_one(message: str, code: str, title: str, said: str) -> None:
    found = refusal(TraceFailure("uncompiled", message))
    assert (found.code, found.title) == (code, title) and said in found.message
