"""Numbers as text."""

import pytest

from layoutcheck.digits import many


@pytest.mark.parametrize(
    ("number", "words", "said"),
    [
        (0, ("copy", "copies"), "0 copies"), (1, ("copy", "copies"), "1 copy"), (2, ("file",), "2 files"),
        (1, ("element access",), "1 element access"), (12345, ("element access",), "12,345 element accesses"),
    ],
)  # fmt: skip
def test_a_number_and_what_it_counts(number: int, words: tuple[str, ...], said: str) -> None:
    assert many(number, *words) == said
