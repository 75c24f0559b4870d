"""`predict_verifier` beside the DSL's recorded verdicts and messages, without the DSL."""

from __future__ import annotations

import json

import pytest

from layoutcheck.atoms.compiler import predict_verifier
from tests.conformance.recorded_verdicts import FILE, GENERATORS, copies, digest

RECORDED = json.loads(FILE.read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", GENERATORS)
def test_every_verdict_is_the_dsls(name: str) -> None:
    asked, verdicts = copies(name), RECORDED["verdicts"][name]
    assert [digest(copy) for copy in asked] == [verdict[0] for verdict in verdicts], (
        "the generators make other copies: run python -m tests.conformance.recorded_verdicts"
    )
    accepted = 0
    for copy, (_, outcome, number) in zip(asked, verdicts, strict=True):
        found = predict_verifier(copy)
        accepted += found.accepted
        assert found.outcome == outcome, f"{copy}: {found.message}"
        assert outcome != "rejected" or found.message == RECORDED["messages"][number], str(copy)
    assert 0.15 < accepted / len(asked) < 0.9
