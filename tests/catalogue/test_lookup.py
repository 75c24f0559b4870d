"""Which texts hold a run of words: as a search through all of them says."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from layoutcheck.catalogue.lookup import Lookup

WORDS = st.lists(st.text("abé", min_size=1, max_size=3), min_size=1, max_size=5)


@settings(max_examples=60)
@given(st.lists(WORDS.map(" ".join), max_size=6), st.lists(WORDS.map(tuple), min_size=1, max_size=6))
def test_the_texts_are_those_with_the_run_in_them(texts: list[str], runs: list[tuple[str, ...]]) -> None:
    lookup = Lookup(texts)
    for run in runs:
        assert list(lookup.holding(run)) == [i for i, text in enumerate(texts) if " ".join(run) in text]
