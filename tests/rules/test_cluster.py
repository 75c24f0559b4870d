"""Copies between the blocks of a cluster: what they name, who waits, and what is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest

import layoutcheck as lc
from layoutcheck.copies.cluster import Cluster
from layoutcheck.errors import InputError
from layoutcheck.gpu.completion import STALLED, fields, mapped
from layoutcheck.gpu.make_job import make_job
from layoutcheck.gpu.wrapper import wrap
from layoutcheck.reports.html import render as page
from layoutcheck.reports.reproducer import arguments
from layoutcheck.reports.style import Style
from layoutcheck.reports.text import render
from layoutcheck.sources.records import read_record
from layoutcheck.sources.request import build
from tests.cluster_miscompiles import CLUSTER_MISCOMPILES, to
from tests.gpu.test_wrapper import KERNEL


@pytest.mark.parametrize("name", CLUSTER_MISCOMPILES)
def test_holes_are_flagged_and_repaired_and_their_twins_legal(name: str) -> None:
    broken, fixed, code, _ = CLUSTER_MISCOMPILES[name]
    report = lc.check(**broken)
    assert report.verdict == "wrong" and code in [finding.code for finding in report.findings]
    first = next(finding for finding in report.findings if finding.code == code)
    assert {"field", "value", "demand", "source"} <= first.evidence.keys()
    assert report.fixes and all(fix.verdict == "legal" for fix in report.fixes)
    twin = lc.check(**fixed)
    assert twin.verdict == "legal" and not twin.findings


@pytest.mark.parametrize("name", CLUSTER_MISCOMPILES)
def test_what_the_machine_does_of_them_is_predicted(name: str) -> None:
    broken, fixed = (make_job(build(**one)[0]) for one in CLUSTER_MISCOMPILES[name][:2])
    assert broken.fault in ("launch failure", STALLED, "misaligned") and not fixed.fault
    assert len(fixed.expect) == 4 * fixed.blocks


def test_blocks_of_masks_and_ranks() -> None:
    assert Cluster(4, mcast_mask=0b1101).receivers == (0, 2, 3)
    assert Cluster(2, mcast_mask=0b101).outside == (2,) and Cluster(2, mcast_mask=0b101).receivers == ()
    assert Cluster(4, cta_rank=3).told == (3,) and Cluster(4, cta_rank=3, waits_rank=1).told == (1,)
    assert Cluster(2, mcast_mask=0).told == (0,)


def test_what_is_told_and_mapped() -> None:
    copy, _ = build(**to("bulk.g2s.multicast", mcast_mask="0b1010", blocks=4, expect_bytes=128))
    told = make_job(copy).expect
    assert [int.from_bytes(told[i : i + 4], "little") for i in range(0, 16, 4)] == [0, 128, 0, 128]
    assert fields(copy) == [("barrier", 0), ("number", 0b1010)] and mapped(copy) == {}
    copy, _ = build(**to("st.async", "(8,2):(1,8)", blocks=4, cta_rank=3))
    assert mapped(copy) == {1: 3, 2: 3}
    copy, _ = build(**to("bulk.s2s", cta_rank=1))
    assert mapped(copy) == {} and fields(copy) == [("barrier", 0), ("number", 1)]


def test_the_harness_of_a_cluster() -> None:
    text, _ = wrap(KERNEL, "sm_90a", "barrier", Cluster(4, cta_rank=2), {1: 2})
    assert ".reqnctapercluster 4, 1, 1" in text and "mapa.shared::cluster.u32 %v, %v, 2;" in text
    assert text.count("barrier.cluster.wait") == 2
    assert text.index("@%p bra CALLED") < text.index("call.uni") < text.index("CALLED:")


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"atom": "cp.async", "cluster": 2}, "^cluster is for copies between the blocks of a cluster"),
        ({"atom": "cp.async", "cta_rank": 1}, "^cta_rank is for copies between the blocks of a cluster"),
        ({"atom": "bulk.s2s", "cluster": 2}, "cluster and cta_rank"),
        ({"atom": "bulk.s2s", "cta_rank": 1}, "cluster and cta_rank"),
        ({"atom": "bulk.s2s", "cluster": 2, "mcast_mask": 1}, "takes no mcast_mask"),
        ({"atom": "bulk.g2s.multicast", "cluster": 2, "cta_rank": 1}, "takes no cta_rank"),
        (
            {"atom": "bulk.g2s.multicast", "cluster": 2, "mcast_mask": 1, "waits_rank": 0},
            "takes no waits_rank",
        ),
        ({"atom": "bulk.g2s.multicast", "cluster": 2, "mcast_mask": "0b12"}, "mcast_mask is a number"),
        ({"atom": "bulk.g2s.multicast", "cluster": 2, "mcast_mask": True}, "mcast_mask is a number"),
        ({"atom": "bulk.g2s.multicast", "cluster": 2, "mcast_mask": 1 << 16}, "mcast_mask is at least 0"),
        ({"atom": "bulk.s2s", "cluster": 17, "cta_rank": 1}, "cluster is at least 1"),
        ({"atom": "bulk.s2s", "cluster": 2, "cta_rank": 1, "waits_rank": 2}, "waits_rank is at least 0"),
        ({"atom": "tma_store.multicast"}, "unknown option"),
    ],
)
def test_what_is_refused(more: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        lc.check("(64):(1)", "(64):(1)", dtype="bf16", **more)


@pytest.mark.parametrize("more", [{"cluster": 2}, {"mcast_mask": 1}, {"expect_bytes": 64}])
def test_what_no_tiled_copy_has_is_refused(more: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=r"blocks|barrier"):
        lc.check(
            "(64,8):(8,1)",
            "(64,8):(8,1)",
            "cp.async",
            dtype="bf16",
            bits=128,
            thr="64:1",
            val="(1,8)",
            **more,
        )


@pytest.mark.parametrize("pred", [None, "(2):(1)"])
def test_a_wait_of_another_block_never_ends_whatever_a_predicate_says(pred: str | None) -> None:
    """An H200 hung so on a copy with a predicate, called legal."""
    copy = {
        "src": "((2,2)):((1,2))",
        "dst": "((2,2)):((1,2))",
        "atom": "st.async",
        "bits": 32,
        "dtype": "f16",
    }
    block = {"cluster": 2, "cta_rank": 1, "pred": pred}
    assert [one.code for one in lc.check(**copy, **block, waits_rank=0).findings] == ["LC298"]
    assert lc.check(**copy, **block, waits_rank=1).verdict == "legal"


def test_the_cluster_is_told() -> None:
    copy = {"src": "(64):(1)", "dst": "(64):(1)", "dtype": "bf16"}
    mask = lc.check(**copy, atom="bulk.g2s.multicast", cluster=2, mcast_mask=3)
    assert "cluster of 2, mcast_mask 0b11\n" in render([mask], Style())
    assert "of 2, mcast_mask 0b11" in page([mask], Style())
    rank = lc.check(**copy, atom="bulk.s2s", cluster=2, cta_rank=1, waits_rank=0)
    assert "cluster of 2, cta_rank 1, waits_rank 0\n" in render([rank], Style())


@pytest.mark.parametrize("mask", [3, "3", "0x3", "0b11"])
def test_masks_as_numbers_and_text(mask: Any) -> None:
    line = json.dumps(to("bulk.g2s.multicast", mcast_mask=mask))
    copy = read_record(line).copy
    assert copy.cluster == Cluster(2, mcast_mask=3)
    assert build(**arguments(copy))[0] == copy
    assert lc.check(**to("bulk.g2s.multicast", mcast_mask=mask)).to_dict()["copy"]["issue"]["cluster"] == {
        "blocks": 2,
        "mcast_mask": 3,
        "cta_rank": None,
        "waits_rank": None,
    }


def test_a_multicast_of_unknown_cluster_is_told_to_be_launched_as_one() -> None:
    report = lc.check("(64):(1)", "(64):(1)", "bulk.g2s.multicast", dtype="bf16")
    assert report.verdict == "legal" and [finding.code for finding in report.findings] == ["LC228"]
