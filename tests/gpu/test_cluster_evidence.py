"""docs/evidence/cluster.json and cluster_probes.json hold what is claimed of copies between blocks."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from layoutcheck.gpu.completion import STALLED
from tests.cluster_miscompiles import CLUSTER_MISCOMPILES

_FOLDER = Path(__file__).parents[2] / "docs" / "evidence"
EVIDENCE = json.loads((_FOLDER / "cluster.json").read_text(encoding="utf-8"))
PROBES: dict[str, dict[str, Any]] = json.loads((_FOLDER / "cluster_probes.json").read_text(encoding="utf-8"))[
    "probes"
]
NAME, VERDICT, EXPECTED, FAULT, AS_PREDICTED, AS_ASKED, GUARD = range(7)
FAILED, ILLEGAL = "CUDA_ERROR_LAUNCH_FAILED", "CUDA_ERROR_ILLEGAL_INSTRUCTION"


def test_none_disagrees() -> None:
    assert EVIDENCE["disagreements"] == [] and EVIDENCE["ran"] == EVIDENCE["agree"]
    assert EVIDENCE["device"]["name"] == "NVIDIA H200"


def test_bytes_land_in_the_blocks_that_execution_names_and_in_no_other() -> None:
    """At least forty of each kind's random copies, most of them to another block than their own."""
    about = EVIDENCE["copies"]
    fine = [
        row
        for row in EVIDENCE["random"]
        if row[FAULT] == "" and row[AS_PREDICTED] and row[AS_ASKED] and row[GUARD]
    ]
    kinds = Counter(about[row[NAME]]["kind"] for row in fine)
    assert set(kinds) == {"st.async", "s2s", "multicast", "tma"} and min(kinds.values()) >= 30
    elsewhere = [row for row in fine if any(rank > 0 for rank in about[row[NAME]]["to"])]
    assert len(elsewhere) >= 80
    assert {about[row[NAME]]["cluster"] for row in elsewhere} == {2, 4}
    assert all(row[VERDICT] in ("legal", "slow") for row in fine if row[EXPECTED] == "")


def test_the_ways_of_going_wrong_all_ran() -> None:
    for expected, fault in (("launch failure", FAILED), (STALLED, STALLED)):
        rows = [row for row in EVIDENCE["random"] if row[EXPECTED] == expected and row[FAULT] == fault]
        assert len(rows) >= 3 and all(row[VERDICT] == "wrong" for row in rows)


@pytest.mark.parametrize("name", CLUSTER_MISCOMPILES)
def test_every_reproducer_and_its_twin_ran(name: str) -> None:
    ran = {row["name"]: row for row in EVIDENCE["holes"] if row["ran"] == "gpu"}
    broken, fixed = ran[f"{name}-broken"], ran[f"{name}-fixed"]
    assert broken["verdict"] == "wrong" and broken["agrees"] and broken["fault"]
    assert fixed["verdict"] == "legal" and fixed["agrees"] and not fixed["fault"]


@pytest.mark.parametrize("name", ["st.async-to-1", "s2s-to-1", "g2s-to-1"])
def test_the_receiving_blocks_barrier_counts_whichever_is_named(name: str) -> None:
    assert PROBES[f"{name}-barrier-of-0"] == PROBES[name]
    assert PROBES[name] == {"fault": "", "barriers": ["completes"] * 2, "written": ["nothing", "source"]}


def test_a_block_that_is_not_there_ends_the_kernel() -> None:
    for name in ("multicast-outside", "multicast-only-outside", "st.async-outside", "s2s-outside"):
        assert PROBES[name]["fault"] == FAILED
    for name in ("st.async-peer-gone", "s2s-peer-gone", "multicast-peer-gone"):
        assert PROBES[name]["fault"] == FAILED


def test_without_a_cluster_they_are_illegal_instructions() -> None:
    for name in ("st.async-no-cluster", "s2s-no-cluster", "s2s-to-1-of-a-grid-without-cluster"):
        assert PROBES[name]["fault"] == ILLEGAL
    assert PROBES["multicast-3-no-cluster"]["fault"] == ILLEGAL
    assert PROBES["multicast-1-no-cluster"]["written"] == ["source"]


def test_an_empty_mask_copies_nothing() -> None:
    assert PROBES["multicast-0"] == {
        "fault": "",
        "barriers": ["waits", "completes"],
        "written": ["nothing", "nothing"],
    }
