"""`check --compare`: a verdict or a cost that became worse fails, what became better does not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from layoutcheck.cli import run

GOOD = {"src": "(32,64):(64,1)", "dst": "(32,64):(64,1)", "atom": "universal", "bits": 128, "dtype": "f16",
        "thr": "(32,8):(8,1)", "val": "(1,8)", "src_space": "gmem", "dst_space": "smem",
        "id": "load"}  # fmt: skip
NARROW = {**GOOD, "bits": 16, "val": "(1,1)"}
BROKEN = {**GOOD, "src": "(32,64):(1,32)"}


def compared(
    folder: Path, capsys: pytest.CaptureFixture[str], old: list[dict[str, Any]], new: list[dict[str, Any]]
) -> tuple[int, str]:
    """The exit status and the text of a comparison."""
    for name, copies in (("old", old), ("new", new)):
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(one) + "\n" for one in copies))
    run(["check", "--jsonl", str(folder / "old.jsonl"), "--output", str(folder / "old.json")])
    capsys.readouterr()
    words = ["--compare", str(folder / "old.json"), "--format", "text"]
    status = run(["check", "--jsonl", str(folder / "new.jsonl"), *words])
    return status, capsys.readouterr().out


def test_what_is_worse_fails(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert compared(tmp_path, capsys, [GOOD], [GOOD]) == (0, "0 differences, 0 worse\n")
    status, said = compared(tmp_path, capsys, [GOOD], [NARROW])
    assert status == 1 and "load: instructions per thread 2 -> 16 (worse)" in said
    status, said = compared(tmp_path, capsys, [NARROW], [GOOD])
    assert status == 0 and "load: instructions per thread 16 -> 2 (better)" in said
    status, said = compared(tmp_path, capsys, [GOOD], [BROKEN])
    assert status == 1 and "load: verdict legal -> rejected (worse)" in said


def test_copies_are_matched_by_subject_and_order(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = {**GOOD, "id": "store"}
    status, said = compared(tmp_path, capsys, [GOOD, GOOD, other], [GOOD, NARROW])
    assert status == 1 and "store: is gone" in said and "load (2): instructions" in said
    status, said = compared(tmp_path, capsys, [GOOD], [other, GOOD])
    assert status == 0 and said == "store: is new\n1 differences, 0 worse\n"


def test_what_is_no_run_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "new.jsonl").write_text(json.dumps(GOOD) + "\n")
    (tmp_path / "old.json").write_text('{"a": 1}\n')
    words = ["check", "--jsonl", str(tmp_path / "new.jsonl"), "--compare", str(tmp_path / "old.json")]
    assert run(words) == 2 and "line 1 is no report" in capsys.readouterr().err
