"""Why no edit of a program is safe for copies that fail in certain ways, by the code of the finding."""

from __future__ import annotations

from layoutcheck.algebra.inttuple import flatten, wrap
from layoutcheck.check import Report

REASONS = {
    "LC201": "the instruction takes adjacent elements: their writer would have to put them so",
    "LC209": "rows of odd length do not begin at a wide element: copy narrow ones, and recast the tile",
    "LC218": "no instruction moves less than a byte: unpack the elements in registers",
    "LC231": "the pitch is that of the caller's memory: its rows must be multiples of 16 B long",
    "LC234": "a tensor map takes adjacent elements, and the tensor has none: copy by threads",
    "LC235": "another address overwrites what lies before the tile, or leaves its allocation",
}
"""Their facts are on the rules' pages."""


def reason(report: Report) -> str:
    """The reason for the first finding that has one; "" where none has."""
    mapped = report.copy.mapped
    adjacent = mapped is not None and 1 in flatten(wrap(mapped.layout.stride))
    codes = [
        one.code for one in report.findings if one.code in REASONS and not (one.code == "LC234" and adjacent)
    ]
    return REASONS[codes[0]] if codes else ""
