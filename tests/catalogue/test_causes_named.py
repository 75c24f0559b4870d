"""Texts of ours whose answer named another cause, or another repair, than their words do."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from layoutcheck.catalogue import answers

# {"text", "entry": the one that answers alone, "says": parts of the answer, "never": what it must not say}
LINES = (
    (Path(__file__).parent.parent / "data" / "causes_named.jsonl").read_text(encoding="utf-8").splitlines()
)
TEXTS: list[dict[str, Any]] = [json.loads(line) for line in LINES]


FIRST = {one["entry"]: at for at, one in reversed(list(enumerate(TEXTS)))}
CASES = [
    pytest.param(
        one,
        id=f"{at}-{one['entry']}",
        marks=() if FIRST[one["entry"]] == at else pytest.mark.sweep,
    )
    for at, one in enumerate(TEXTS)
]


@pytest.mark.parametrize("case", CASES)  # in the normal run one text for each entry
def test_the_words_of_the_text_decide_its_one_answer(case: dict[str, Any]) -> None:
    found = answers(case["text"])
    assert [one.entry.name for one in found] == [case["entry"]]
    told = " ".join((found[0].title, found[0].cause, *found[0].facts, found[0].remedy))
    assert [part for part in case["says"] if part not in told] == []
    assert [part for part in case["never"] if part in told] == []


def test_a_deadlock_of_a_data_base_is_no_kernels() -> None:
    text = "ERROR:  deadlock detected\nDETAIL:  Process 1 waits for ShareLock on transaction 6."
    assert not any("mbarrier" in one.cause + one.remedy for one in answers(text))
    (hung,) = answers("the GEMM kernel runs into a deadlock on the GPU")
    assert "mbarrier" in hung.cause + hung.remedy
