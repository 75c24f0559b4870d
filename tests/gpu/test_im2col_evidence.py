"""The committed im2col evidence says what the rules and the model say: every run as predicted."""

from __future__ import annotations

import json
from pathlib import Path

from layoutcheck.check import check
from layoutcheck.copies.copy import Im2col
from layoutcheck.sources.request import build
from tests.im2col_miscompiles import IM2COL_MISCOMPILES

FOLDER = Path(__file__).parents[2] / "docs" / "evidence"
EVIDENCE = json.loads((FOLDER / "tma_im2col.json").read_text(encoding="utf-8"))
FRESH = FOLDER / "tma_im2col_seed_91.json"


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


def test_a_tile_that_a_cut_corner_leaves_alone_is_said_to_be() -> None:
    """Of a fresh seed: the map is one that the driver refuses, and the bytes of two tiles are as asked."""
    found = json.loads(FRESH.read_text(encoding="utf-8"))
    assert found["ran"] - found["agree"] == len(found["disagreements"]) == 2
    for one in found["disagreements"]:
        assert one["codes"] == ["LC246"] and one["as_predicted"] and one["as_asked"]
    last = found["disagreements"][-1]
    given = {name: tuple(value) for name, value in last["im2col"].items()}
    copy, _ = build(
        src=last["src"], dst=last["dst"], atom="im2col_tma_load", tiler=tuple(last["tiler"]),
        coord=tuple(last["coord"]), im2col=Im2col(**given), arch="sm_90a",
    )  # fmt: skip
    (finding,) = check(copy).findings
    assert finding.code == "LC246" and "though this one does not" in finding.message


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
