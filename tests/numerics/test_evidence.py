"""The evidence files say what the documentation says, and the documentation's examples run."""

from __future__ import annotations

import doctest
import json
from pathlib import Path

from kernels.numerics.tables import DOCS, EVIDENCE, page
from layoutcheck.numerics.names import instruction

MEASURED, PUBLISHED, TOLERANCES, ATTACK, MMASIM, SCALED, ATTENTION, SPEED = (
    json.loads((DOCS / "evidence" / name).read_text()) for name in (*EVIDENCE, "numerics_speed.json")
)


def test_the_page_shows_the_evidence() -> None:
    text = (DOCS / "numerics-measured.md").read_text()
    assert page(text) == text


def test_every_vector_and_output_was_bit_equal() -> None:
    assert len(MEASURED["instructions"]) >= 18
    for row in MEASURED["instructions"].values():
        assert sum(n for _, n in row.values()) >= 20000
        assert all(ok == n for ok, n in row.values())
    assert all(row["equal"] == row["outputs"] for row in MEASURED["gemms"])
    assert PUBLISHED["equal"] == PUBLISHED["vectors"] == 240000


def test_the_instructions_are_those_the_names_say() -> None:
    assert all(instruction(name).name == name for name in MEASURED["instructions"])


def test_predictions_were_right_on_the_device() -> None:
    assert all(row["differ"] == [] for row in MEASURED["probes"].values())
    for pair, row in MEASURED["report000"].items():
        if "/" in pair:
            assert row["predicted"] == row["measured"]
            assert row["predicted_bits_differ"] == row["measured_bits_differ"]
    for label in ("report", "larger"):
        for row in MEASURED["report001"][label]["problems"]:
            for kind in ("grouped", "split 2", "torch"):
                assert row[kind]["equal_to_model"][0] == row[kind]["equal_to_model"][1]
                assert row[kind]["least_bound_over_error"] >= 1
    for row in MEASURED["torch_paths"].values():
        assert max(row["equal"].values()) == row["outputs"]


def test_the_recommended_tolerances_held_on_the_device() -> None:
    rows = TOLERANCES["rows"]
    assert len(rows) == 160
    assert not [row for row in rows if "failed" in row]
    assert sum(row.get("outputs", 0) for row in rows) > 25_000_000
    for row in rows:
        if "no tolerance" not in row:
            assert row["outside"] == row["outside_exact"] == row["outside_own"] == 0
            assert row["catchable_caught"] == row["catchable"]
    assert sum(row.get("catchable", 0) for row in rows) > 250


def test_no_attack_passed_a_bound_and_mmasim_agrees() -> None:
    for row in ATTACK["units"].values():
        assert all(bound["over"] == 0 and bound["largest"] >= 0.8 for bound in row.values())
    for row in (*SCALED["units"].values(), *ATTENTION["units"].values()):
        assert row["over"] == 0 and row["largest"] >= 0.8 and row["vectors"] >= 1_000_000
    assert MMASIM["equal"] == MMASIM["vectors"] > 400_000
    assert max(row["wall_s"] for name, row in SPEED.items() if name.startswith("layoutcheck")) < 1


def test_the_record_names_its_machine() -> None:
    for run in (PUBLISHED, TOLERANCES, ATTACK, MMASIM, SPEED, SCALED, ATTENTION):
        assert run["date"] and run["command"] and run["numpy"]
    for key in ("date", "device", "driver", "torch", "cuda", "nvidia-cutlass-dsl", "command", "seed"):
        assert MEASURED[key] not in ("", None)


def test_the_pages_examples_run() -> None:
    results = doctest.testfile(str(Path(DOCS / "numerics.md").resolve()), module_relative=False)
    assert results.attempted >= 4
    assert results.failed == 0
