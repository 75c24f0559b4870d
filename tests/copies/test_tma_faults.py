"""Which TMA instructions fault: the model beside what an H200 did with the same map and coordinates."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from layoutcheck.atoms.tma.execution import _fault
from layoutcheck.sources.request import build
from tests.gpu.tma_probes import PLAIN, probes
from tests.tma_miscompiles import g, load, s

EVIDENCE = Path(__file__).parents[2] / "docs" / "evidence" / "tma_probes.json"
MEASURED = json.loads(EVIDENCE.read_text(encoding="utf-8"))["probes"]
# What other places say: the address in shared memory, and that no store begins before the tensor.
ELSEWHERE = ("smem-", "negative-", "stride-negative")
COPY = build(**load(g(), s()))[0]


@pytest.mark.parametrize("name", [name for name in probes() if not name.startswith(ELSEWHERE)])
def test_the_model_faults_where_the_machine_did(name: str) -> None:
    probe = probes()[name]
    predicted = _fault(COPY, probe.map, np.array([probe.coords], dtype=np.int64))
    assert bool(predicted) == bool(MEASURED[name]["fault"])


def test_one_box_of_many_is_enough() -> None:
    """The second of two boxes begins at byte 8 of a row of whole 16 bytes."""
    assert _fault(COPY, PLAIN, np.array([[0, 0], [4, 0]])) == "illegal instruction"
    assert _fault(COPY, PLAIN, np.array([[0, 0], [8, 3]])) == ""


def test_elements_of_four_bits_need_blackwell() -> None:
    nibbles = replace(PLAIN, format="U4", box=(128, 8))
    at = np.array([[128, 0]])
    assert _fault(COPY, nibbles, at) == "illegal instruction"
    assert _fault(replace(COPY, arch="sm_100a"), nibbles, at) == ""
    assert _fault(replace(COPY, arch="sm_100a"), nibbles, np.array([[16, 0]])) == "illegal instruction"
