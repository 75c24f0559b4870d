"""The committed TMA evidence says what the rules and the model say: every run as predicted."""

from __future__ import annotations

import json
from pathlib import Path

EVIDENCE = Path(__file__).parents[2] / "docs" / "evidence"


def test_every_copy_did_what_was_predicted() -> None:
    found = json.loads((EVIDENCE / "tma.json").read_text(encoding="utf-8"))
    assert found["ran"] >= 200
    assert found["agree"] == found["ran"]
    assert found["disagreements"] == []
    assert {"1", "2", "3", "4", "5"} <= set(found["by_rank"])
    assert {"none", "32B", "64B", "128B"} <= set(found["by_swizzle"])
    assert all(hole["agrees"] for hole in found["holes"])


def test_every_probe_is_as_modelled_or_faults_as_documented() -> None:
    probes = json.loads((EVIDENCE / "tma_probes.json").read_text(encoding="utf-8"))["probes"]
    for name, one in probes.items():
        kind, _, rest = name.partition("-")
        size = int(rest.split("-")[0]) if rest.split("-")[0].isdigit() else 0
        faults = (
            kind in ("row", "wide", "U4", "U4_UNPACK_U8")
            or name == "stride-negative"
            or (kind == "smem" and size % 128 != 0)
            or (kind == "coordinate" and size % 8 != 0)
            or (kind == "negative" and name.endswith("store"))
        )
        assert bool(one["fault"]) == faults, name
        assert faults or one["as_modelled"], name
