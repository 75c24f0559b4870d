"""The picture of a finding about order: lanes, rows from top to bottom, and the edge that is missing."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest

from layoutcheck.reports.pictures.order import drawn_order, drawn_text, moments, order_picture
from layoutcheck.sources.traced import Frame, KernelFinding, KernelPlace


def moment(role: str, warp: int, what: str, line: int, asynchronous: bool = False, block: int = 0) -> dict:
    return {"role": role, "what": what, "file": "/home/k.py", "line": line, "block": block, "warp": warp,
            "thread": 32 * warp, "turns": [2] if role == "second" else [],
            "asynchronous": asynchronous}  # fmt: skip


def finding(*rows: dict, missing: str = "a barrier <both> execute") -> KernelFinding:
    places = (
        KernelPlace("writes", Frame("/home/k.py", 5)),
        KernelPlace("reads", Frame("/home/k.py", 9), thread=64),
    )
    evidence = {"timeline": list(rows), "missing": missing} if rows else {}
    return KernelFinding("LC504", "wrong", "k.py:9 reads", "...", places, evidence)


ROWS = (moment("first", 0, "writes", 5), moment("between", 0, "waits at a barrier", 6),
        moment("between", 2, "waits for an mbarrier", 8), moment("second", 2, "reads", 9))  # fmt: skip


def test_lanes_are_warps_and_the_edge_goes_from_the_first_to_the_second_access() -> None:
    root = ElementTree.fromstring(drawn_order(finding(*ROWS)).svg())
    kind = {
        one: [e for e in root.iter() if one in (e.get("class") or "").split()]
        for one in ("lc-lane", "lc-hot", "lc-gap")
    }
    assert len(kind["lc-lane"]) == 2 and len(kind["lc-hot"]) == 2
    (gap,) = kind["lc-gap"]
    ends = [(gap.get(f"x{i}"), gap.get(f"y{i}")) for i in (1, 2)]
    assert ends == [(dot.get("cx"), dot.get("cy")) for dot in kind["lc-hot"]]
    assert float(ends[0][1] or 0) < float(ends[1][1] or 0)  # time runs downwards
    assert "a barrier <both> execute" in "".join(root.itertext())


def test_what_a_warp_started_has_a_lane_of_its_own() -> None:
    lanes, rows = moments(finding(moment("first", 1, "loads by TMA", 3, asynchronous=True), ROWS[3]))
    assert lanes == ["warp 1", "warp 1, asynchronous", "warp 2"]
    assert [(row.lane, row.role) for row in rows] == [(0, "between"), (1, "first"), (2, "second")]


def test_blocks_are_named_where_there_are_two() -> None:
    lanes, _ = moments(finding(ROWS[0], moment("second", 0, "reads", 9, block=1)))
    assert lanes == ["warp 0, block 0", "warp 0, block 1"]


def test_a_finding_without_a_timeline_shows_its_places() -> None:
    lanes, rows = moments(finding())
    assert lanes == ["warp 0", "warp 2"] and [row.role for row in rows] == ["first", "second"]


def test_one_place_has_no_edge() -> None:
    picture = order_picture(finding(ROWS[3]))
    assert "lc-gap" not in picture and picture.count("lc-hot") == 1


@pytest.mark.parametrize("width", [40, 80, 200])
def test_text_has_a_column_for_each_lane_and_fits(width: int) -> None:
    lines = drawn_text(finding(*ROWS), width)
    assert len(lines) == 1 + len(ROWS) and all(len(line) <= width for line in lines)
    column = lines[0].index("warp 2")
    assert [bool(re.match(r"x :\d", line[4:])) for line in lines[1:]] == [True, False, False, False]
    assert lines[4][column : column + 4] == "x :9" and lines[3][4] == "|"
    assert (lines[1][column] == "|") == (width > 40)  # words run over the lanes beside them
    assert any(line.endswith(":8 waits for an mbarrier") for line in lines)  # all of it


def test_a_long_label_takes_the_room_that_a_short_one_leaves() -> None:
    rows = (moment("first", 0, "copies (cp.async)", 3, asynchronous=True), *ROWS[1:])
    lines, narrow = (drawn_text(finding(*rows), width) for width in (90, 60))
    (waits,) = (line for line in lines if ":6" in line)
    assert ":6 waits at a barrier  " in waits
    said = [re.findall(r"[|x] (:[^|]*[^| ])", " ".join(each[1:])) for each in (narrow, lines)]
    assert said[0] == said[1] and len(said[0]) == len(narrow) - 1
    assert narrow[-1].index("x :9") == narrow[0].index("warp 2") < lines[0].index("warp 2")
