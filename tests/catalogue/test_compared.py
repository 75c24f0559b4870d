"""Two layouts that a text asks about, beside `crd2idx` at each index; and ranks that a message asks for."""

import re

import pytest

import layoutcheck as lc
from layoutcheck.catalogue import answers, compared


def places(text: str) -> list[int]:
    layout = lc.parse_layout(text)
    return [lc.crd2idx(at, layout) for at in range(lc.size(layout))]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("(8,4):(1,8)", "32:1"),
        ("(4,(2,2)):(1,(4,8))", "(16):(1)"),
        ("(4,8):(8,1)", "(2,2,8):(16,8,1)"),
        ("(4,8):(8,1)", "(4,8):(1,4)"),
        ("(4,8):(8,1)", "(4,8):(16,1)"),
        ("(4,8):(8,1)", "(4,4):(8,1)"),
    ],
)
def test_two_layouts_are_one_function_or_differ_where_it_is_told(one: str, other: str) -> None:
    (said,) = compared.told(f"Are {one} and {other} the same layout?")
    first, second = places(one), places(other)
    found = re.search(
        r"index (\d+) .* lies at (\d+) in the first and at (\d+) in the second; (both reach)?", said
    )
    if len(first) != len(second):
        assert f"have {len(first)} and {len(second)} coordinates" in said
    elif first == second:
        assert "are one function" in said
    else:
        assert found is not None
        at = int(found[1])
        assert first[:at] == second[:at]
        assert (first[at], second[at]) == (int(found[2]), int(found[3])) and first[at] != second[at]
        assert bool(found[4]) == (sorted(first) == sorted(second))


@pytest.mark.parametrize(
    "text",
    [
        "(8,4):(1,8) and (4,8):(8,1)",  # nothing is asked
        "are (8,4):(1,8), (4,8):(8,1) and 32:1 the same?",
        "are (8,4):(1,8) and (8,?):(1,8) the same?",
        "different results: A is (64,64):(64,1), B is (64,64):(1,64)",
        "the same error. A is (64,64):(64,1), B is (64,64):(1,64)",
        "the same at 12:30 and 13:30",
        "is (8,4):(1,8) the same in kernel.py:32:1?",
    ],
)
def test_nothing_is_compared_where_it_is_not_asked_of_two(text: str) -> None:
    assert compared.told(text) == ()


def test_a_text_without_an_error_is_answered_by_the_comparison() -> None:
    (answer,) = answers("is the layout (8,4):(1,8) equal to 32:1 ?")
    assert answer.cause.startswith("(8,4):(1,8) and 32:1 are one function of an index from 0 to 31")
    assert not any("one function" in fact for fact in answer.facts)


@pytest.mark.parametrize(
    ("shape", "modes"), [("(1024):(1)", "1 mode"), ("(8,(4,2)):(1,(8,32))", ""), ("(8,4):(1,8)", "")]
)
@pytest.mark.parametrize("before", ["", 'File "cutlass/cute/atom.py", line 460, in partition_S\n'])
def test_a_rank_that_is_asked_for_is_compared_once(shape: str, modes: str, before: str) -> None:
    raised = f"ValueError: Expected tensor with rank >= 2, got tensor<ptr<f16, gmem> o {shape}>"
    (answer,) = answers(f"Traceback (most recent call last):\n  {before}{raised}" if before else raised)
    assert answer.cause.startswith(f"The shape (1024) has {modes}, and 2 are asked for. ") == bool(modes)
    assert "number of modes" in answer.cause
