"""Root causes: copies that fail for one statement are one report."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import layoutcheck as lc
from layoutcheck.check import Report
from layoutcheck.patching.causes import causes
from layoutcheck.reports.style import Style
from layoutcheck.reports.trace import JudgedTrace, render, summary
from layoutcheck.sources.traced import Distinct, Frame, Trace, TracedCopy

TEXT = """layout = cute.make_layout((128, 64), stride=(68, 1))
tile = allocator.allocate_tensor(kind, layout)
cute.copy(load, own.partition_S(src), own.partition_D(tile))
cute.copy(store, own.partition_S(tile), held)
kernel(load).launch(grid=(1, 1, 1), block=(256, 1, 1))
cute.copy(other, a, b)
cute.copy(other, c, d)
"""
ROWS: dict[str, Any] = {"bits": 128, "thr": "(16,8):(8,1)", "val": "(1,8)"}
GMEM, SMEM, RMEM = ('!cute.memref<bf16, {}, align<32>, "(128,64):({},1)">'.format(space, "{}")
                    for space in ("gmem", "smem", "rmem"))  # fmt: skip


def seen(
    path: Path, line: int, src: str, dst: str, atom: str = "universal", **more: Any
) -> tuple[Distinct, Report | None]:
    report = lc.check(src, dst, atom, **ROWS, **more)
    one = TracedCopy(report.copy, "", Frame(str(path), line), (), "kernel", "sm_90a")
    return Distinct(one, 1, ("kernel",)), report


def reports(path: Path) -> list[tuple[Distinct, Report | None]]:
    path.write_text(TEXT)
    pitch = SMEM.format(68)
    return [
        seen(path, 3, GMEM.format(64), pitch, "cp.async"),
        seen(path, 4, pitch, RMEM.format(64)),
        seen(path, 6, GMEM.format(64), RMEM.format(64), block=256),
        seen(path, 7, GMEM.format(64), RMEM.format(64)),
    ]


def test_copies_of_one_layout_are_one_cause(tmp_path: Path) -> None:
    """The copy whose threads are too many has a cause of its own, and the legal one has none."""
    path = tmp_path / "kernel.py"
    [one] = causes(reports(path))
    assert (one.where.line, one.copies) == (1, (0, 1))
    assert one.text == "layout = cute.make_layout((128, 64), stride=(68, 1))"


def test_the_causes_line_comes_first_and_one_report_follows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    given = reports(tmp_path / "kernel.py")
    judged = JudgedTrace(Trace(tuple(one.first for one, _ in given)), given, causes(given))
    text = render(judged, Style())
    assert text.startswith("cause: ") and "kernel.py:1: layout = " in text.split("\n", 1)[0]
    assert text.count("rejected[") == 1  # of the first copy alone
    assert "kernel.py:4: rejected: " in text and "kernel.py:6" in text
    assert render(judged, Style(everything=True)).count("rejected[") == 2
    [told] = summary(judged)["causes"]
    assert [where["line"] for where in told["copies"]] == [3, 4]


def test_no_cause_without_sources_or_with_one_copy(tmp_path: Path) -> None:
    path = tmp_path / "kernel.py"
    given = reports(path)
    assert causes(given[:1]) == ()
    path.write_text("%magic\n" + TEXT)
    assert causes(given) == ()
    path.unlink()
    assert causes(given) == ()


ALIKE = """def run(layout):
    tile = allocator.allocate_tensor(kind, layout)
    cute.copy(load, own.partition_S(src), own.partition_D(tile))
def host():
    run(cute.make_layout((128, 64), stride=(68, 1)))
"""


def test_functions_of_one_name_in_other_files_are_others(tmp_path: Path) -> None:
    """Each copy fails for the layout of its own file, which the other's `run` does not get."""
    given = []
    for name in ("first.py", "second.py"):
        (tmp_path / name).write_text(ALIKE)
        given.append(seen(tmp_path / name, 3, GMEM.format(64), SMEM.format(68), "cp.async"))
    assert all(report is not None and report.verdict == "rejected" for _, report in given)
    assert causes(given) == ()
