"""The committed im2col evidence says what the rules and the model say: every run as predicted."""

from __future__ import annotations

import json
from pathlib import Path

from tests.im2col_miscompiles import IM2COL_MISCOMPILES

EVIDENCE = json.loads(
    (Path(__file__).parents[2] / "docs" / "evidence" / "tma_im2col.json").read_text(encoding="utf-8")
)


def test_every_copy_did_what_was_predicted() -> None:
    assert EVIDENCE["ran"] == EVIDENCE["agree"] >= 200
    assert EVIDENCE["disagreements"] == []
    right = EVIDENCE["right"]
    assert right["kind"]["im2col_tma_load"] >= 100
    assert right["kind"]["im2col_tma_store"] >= 20
    assert set(right["rank"]) == {"3", "4", "5"}
    assert {"none", "32B", "64B", "128B"} <= set(right["swizzle"])
    assert len(right["dtype"]) >= 6
    assert min(EVIDENCE["right_features"].values()) >= 20
    assert len(EVIDENCE["right_features"]) == 5


def test_every_hole_went_wrong_and_its_twin_right() -> None:
    found = {hole["name"]: hole for hole in EVIDENCE["holes"]}
    assert set(found) == {f"{name}-{side}" for name in IM2COL_MISCOMPILES for side in ("broken", "fixed")}
    for name, (_, _, code, _, _) in IM2COL_MISCOMPILES.items():
        broken, fixed = found[f"{name}-broken"], found[f"{name}-fixed"]
        assert code in broken["codes"]
        assert broken["fault"] or not (broken["as_asked"] and broken["guard_untouched"])
        assert fixed["verdict"] == "legal"
        assert fixed["as_asked"]


def test_the_driver_writes_the_same_words_and_refuses_what_breaks_a_limit() -> None:
    maps = EVIDENCE["driver_maps"]
    assert set(maps["maps"]) == {"the same words", "refused, as the limits say"}
    assert min(maps["maps"].values()) >= 50
    assert maps["differ"] == []
