"""What the H200 made of operand layouts (docs/evidence/canonical.json), against what is said of them."""

from __future__ import annotations

import json
from pathlib import Path

from layoutcheck.machine.canonical import canonical

EVIDENCE = json.loads(
    (Path(__file__).parents[2] / "docs" / "evidence" / "canonical.json").read_text(encoding="utf-8")
)


def test_every_verdict_is_what_the_gpu_showed() -> None:
    for one in EVIDENCE["layouts"]:
        found = canonical(one["layout"], "bf16", one["major"], one["swizzle"])
        assert found.decision.accepted
        assert (found.verdict == "legal") == one["is_the_product"], one
        assert one["is_what_the_descriptor_says"]


def test_the_page_has_the_evidences_numbers() -> None:
    page = (Path(__file__).parents[2] / "docs" / "canonical.md").read_text(encoding="utf-8")
    summary = EVIDENCE["summary"]
    assert f"every one of the {summary['legal']['products']} called `legal`" in page
    assert f"none of the {summary['wrong']['layouts']} called `wrong`" in page
    assert summary["legal"]["layouts"] == summary["legal"]["products"]
    assert summary["wrong"]["products"] == 0
