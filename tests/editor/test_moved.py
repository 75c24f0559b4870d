"""Lines of an edited text, against a search for lines that occur once."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from layoutcheck.editor.seen import Moved


@given(st.integers(0, 30), st.data())
def test_a_line_keeps_its_text_and_what_was_not_touched_keeps_its_place(
    count: int, data: st.DataObject
) -> None:
    before = [f"line {n}" for n in range(count)]
    start = data.draw(st.integers(0, count))
    stop = data.draw(st.integers(start, count))
    now = [
        *before[:start],
        *data.draw(st.lists(st.sampled_from(["new", "other"]), max_size=5)),
        *before[stop:],
    ]
    moved = Moved(before, now)
    for line in range(1, count + 1):
        found = moved.line(line)
        assert found is None or now[found - 1] == before[line - 1]
        assert (found is None) == (start < line <= stop)
