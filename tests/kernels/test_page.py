"""docs/kernels.md is what the evidence says."""

from pathlib import Path

from benchmarks.transpose_page import main

DOCS = Path(__file__).parents[2] / "docs"


def test_the_page_is_up_to_date():
    assert (DOCS / "kernels.md").read_text() == main(DOCS / "evidence" / "transpose.json")
