"""Where nothing is wrong the answer says so, with what was read, and status 0; a sign of an error ends it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from layoutcheck.catalogue import answers
from layoutcheck.catalogue.entry import CLEAN
from layoutcheck.cli import run

NOTHING = [
    ("========= RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)", "0 (RACECHECK SUMMARY)"),
    ("========= COMPUTE-SANITIZER\n========= ERROR SUMMARY: 0 errors", "0 (ERROR SUMMARY)"),
    ("t.py::test_error_is_raised PASSED\n=== 3 passed, 1 skipped in 2.00s ===", "3 passed, 1 skipped"),
    ("ptxas info    : Used 168 registers, used 9 barriers, 400 bytes cmem[0]", "168 registers a thread"),
    (
        "ptxas info    : Function properties for k\n"
        "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads",
        "no register is spilled",
    ),
    ("  Status: Success\n  Verification: ON\n  Disposition: Passed", "they agree"),
    ("[  PASSED  ] 42 tests.", "42 tests passed"),
    ("100% tests passed, 0 tests failed out of 17", "17 tests passed"),
    ("max abs error: 0.00012, allclose: True", "they agree"),
    ("PASS  cudnn\nPASS  flash\nPASS  mem_eff\nPASS  default\ncudnn: 92500", "tests that pass"),
    (
        "GPU: NVIDIA B200\nfp4in 4096 4096 8.34 us 9.01 us\nfp4in 6144 4096 9.14 us 10.25 us",
        "rows of numbers",
    ),
    ('k.cu(66): warning #177-D: variable "f" was declared but never referenced', "never referenced"),
]
WRONG = [
    "=== 1 failed, 3 passed in 3s ===",
    "========= ERROR SUMMARY: 3 errors",
    "t.py::test_a PASSED\nt.py::test_b FAILED\n=== 1 failed, 1 passed in 2s ===",
    "Disposition: Passed\nRuntimeError: the next problem crashes",
    "ptxas info    : Used 255 registers\n 8 bytes stack frame, 16 bytes spill stores, 16 bytes spill loads",
    "allclose: False",
    "0 errors in the headers\nk.cu(3): error: identifier is undefined",
    "4.2 gives wrong output, while 4.1 gives correct output. Without the if the output is correct.",
]


@pytest.mark.parametrize(("text", "says"), NOTHING)
def test_a_text_without_an_error_is_clean(
    text: str, says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pasted = tmp_path / "log.txt"
    pasted.write_text(text)
    assert run(["explain", str(pasted)]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert (
        said.startswith(("clean: nothing in this text is an error: ", "clean: no error, ")) and says in said
    )
    assert run(["explain", str(pasted), "--format", "json", "--strict"]) == 0
    assert json.loads(capsys.readouterr().out.splitlines()[0])["verdict"] == "clean"


@pytest.mark.parametrize("text", WRONG)
def test_one_sign_of_an_error_ends_it(text: str) -> None:
    assert all(answer.entry.level != CLEAN for answer in answers(text))
