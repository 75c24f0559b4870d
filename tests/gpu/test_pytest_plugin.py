"""The pytest plugin, run as a user runs it: suites of its own in processes of their own."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest

import layoutcheck as lc
import layoutcheck.pytest_plugin as plugin
from tests.dsl.lowered.modules import ADDRESSES
from tests.environment import python_path
from tests.reports.test_schemas import validator

INSTALLED = any(one.value == "layoutcheck.pytest_plugin" for one in entry_points(group="pytest11"))
LEGAL = '"(8):(1)", "(8):(1)", "cp.async", bits=128, dtype="bf16"'
WRONG = '"(8):(1)", "(8):(64)", "cp.async", bits=128, dtype="bf16"'

KERNEL = """
import cutlass, cutlass.cute as cute
from cutlass.cute.runtime import make_fake_tensor
@cute.kernel
def k(a: cute.Tensor, b: cute.Tensor):
    atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), cutlass.BFloat16, num_bits_per_copy=64)
    cute.copy(atom, a, b)
@cute.jit
def host(a: cute.Tensor, b: cute.Tensor):
    k(a, b).launch(grid=[1, 1, 1], block=[32, 1, 1])
def view(shape, stride):
    return make_fake_tensor(cutlass.BFloat16, shape, stride=stride, assumed_align=16)
"""
GOOD, BAD, REFUSED = "((8,4), (1,8))", "((7,4), (1,8))", "((8,4), (2,16))"


def suite(folder: Path, text: str, *options: str, **environment: str) -> tuple[int, str]:
    """Exit status and output of pytest on one test file."""
    (folder / "test_it.py").write_text(text)
    clean = {
        key: value
        for key, value in os.environ.items()
        if not key.startswith(("PYTEST", "CUTE_DSL")) or key == "PYTEST_ADDOPTS"  # tests/conftest.py sets it
    }
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *loaded(), *options, "test_it.py"],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
        env={
            **clean,
            "PYTHONPATH": python_path(),
            "CUTE_DSL_ARCH": "sm_90a",
            "COLUMNS": "200",
            **environment,
        },
    )
    return done.returncode, done.stdout + done.stderr


def loaded() -> tuple[str, ...]:
    return () if INSTALLED else ("-p", "layoutcheck.pytest_plugin")


def test_it_is_inert_until_used(tmp_path: Path) -> None:
    text = """
import sys, os
def test_nothing_was_imported():
    heavy = {"numpy", "cutlass", "layoutcheck.api", "layoutcheck.gpu.confirm"}
    assert not heavy & set(sys.modules)
    assert "CUTE_DSL_LOC_TRACEBACKS" not in os.environ
    assert os.environ["CUDA_VISIBLE_DEVICES"] == "0,1"
"""
    environment = {"PYTEST_XDIST_WORKER": "gw1", "CUDA_VISIBLE_DEVICES": "0,1"}
    alone = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}  # other plugins may import what they like
    status, out = suite(tmp_path, text, "-p", "layoutcheck.pytest_plugin", **environment, **alone)
    assert status == 0, out


def test_fixture_markers_and_cases(tmp_path: Path) -> None:
    good = {
        "src": "(8):(1)",
        "dst": "(8):(1)",
        "atom": "cp.async",
        "bits": 128,
        "dtype": "bf16",
        "id": "mine",
    }
    lines = [
        good,
        {**good, "dst": "(8):(64)", "id": "known", "expected": "wrong"},
        {**good, "dst": "(8):(64)", "id": "unknown"},
    ]
    (tmp_path / "copies.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    status, out = suite(
        tmp_path,
        f"""
import pytest
def test_legal(layoutcheck):
    assert layoutcheck.assert_legal({LEGAL}).verdict == "legal"
def test_wrong(layoutcheck):
    layoutcheck.assert_legal({WRONG})
def test_expected(layoutcheck):
    layoutcheck.assert_copy({WRONG}, expected="wrong")
def test_unexpected(layoutcheck):
    layoutcheck.assert_copy({LEGAL}, expected="wrong")
@pytest.mark.layoutcheck_gpu
def test_gpu():
    raise AssertionError
@pytest.mark.layoutcheck_cases("copies.jsonl")
def test_cases(layoutcheck, layoutcheck_case):
    layoutcheck.assert_copy(layoutcheck_case)
""",
        "-rA",
        "--strict-markers",
        CUDA_VISIBLE_DEVICES="",
    )
    assert status == 1, out
    for name in ("test_legal", "test_expected", "test_cases[mine]"):
        assert f"PASSED test_it.py::{name}" in out
    for name in ("test_wrong", "test_unexpected"):
        assert f"FAILED test_it.py::{name}" in out
    assert "PASSED test_it.py::test_cases[known]" in out and "3 failed" in out
    assert "SKIPPED [1]" in out and "no GPU can be used" in out

    explained = lc.check("(8):(1)", "(8):(64)", "cp.async", bits=128, dtype="bf16").text().split()
    failed = " ".join(line.removeprefix("E") for line in out.splitlines()).split()
    assert " ".join(explained) in " ".join(failed)


def test_a_broken_case_file_takes_one_line(tmp_path: Path) -> None:
    (tmp_path / "broken.jsonl").write_text("\n{}\n")
    text = """
import pytest
@pytest.mark.layoutcheck_cases("broken.jsonl")
def test_cases(layoutcheck, layoutcheck_case):
    layoutcheck.assert_copy(layoutcheck_case)
"""
    status, out = suite(tmp_path, text)
    assert status == 2 and out.count("broken.jsonl:2: no 'src'") == 2  # once in the summary
    assert "Traceback" not in out and "another exception" not in out


def test_compiles_are_checked_and_run_under_xdist(tmp_path: Path) -> None:
    pytest.importorskip("cutlass", reason="the tests of the suite compile kernels")
    pytest.importorskip("xdist", reason="workers are pytest-xdist's")
    text = f"""{KERNEL}
import pytest
def test_good():
    cute.compile(host, view(*{GOOD}), view(*{GOOD}))
def test_bad():
    cute.compile(host, view(*{BAD}), view(*{BAD}))
@pytest.mark.layoutcheck_allow("lc204", "LC203", reason="the point of this test")
def test_meant():
    cute.compile(host, view(*{BAD}), view(*{BAD}))
@pytest.mark.layoutcheck_allow("LC201", reason="another rule than the one that flags it")
def test_not_meant():
    cute.compile(host, view(*{BAD}), view(*{BAD}))
@pytest.mark.layoutcheck_allow("LC999")
def test_no_such_rule():
    pass
def test_refused():
    cute.compile(host, view(*{REFUSED}), view(*{GOOD}))
"""
    told = ("--layoutcheck-output", "told.jsonl", "--strict-markers")
    status, out = suite(tmp_path, text, "--layoutcheck=confirm", "-n1", "-rA", "--tb=short", *told)
    assert status == 1, out
    line = next(i for i, text_line in enumerate(text.splitlines(), 1) if "cute.copy(" in text_line)
    assert "PASSED test_it.py::test_good" in out and "PASSED test_it.py::test_meant" in out
    assert "FAILED test_it.py::test_not_meant" in out
    assert re.search("ERROR test_it.py::test_no_such_rule - Failed: layoutcheck_allow: no rule 'LC999'", out)
    assert "FAILED test_it.py::test_bad - Failed: layoutcheck: wrong[LC204]: the copy " in out
    assert f"\ntest_it.py:{line}: wrong[LC204]" in out  # relative, in the terminal's summary
    assert "FAILED test_it.py::test_refused" in out
    assert f"test_it.py:{line}: wrong[LC204]" in out and f"test_it.py:{line}: rejected[LC102]" in out
    assert "its neighbours are 4 B" in out  # the refused copy's explanation, beside the compiler's error
    assert re.search("5 kernels compiled, 5 copies, 3 distinct: .*1 rejected.* 1 wrong", out)
    seen = [json.loads(line) for line in (tmp_path / "told.jsonl").read_text().splitlines()]
    assert len(seen) == 3 and not any(
        error.message for one in seen for error in validator("pytest").iter_errors(one)
    )
    [wrong] = [one for one in seen if one["verdict"] == "wrong"]
    assert not validator("pytest").is_valid({**wrong, "confirmation": {**wrong["confirmation"], "other": 1}})
    assert [name.split("::")[1] for name in wrong["tests"]] == ["test_bad", "test_meant", "test_not_meant"]
    assert wrong["confirmation"]["ran"] in ("simulator", "gpu") and wrong["confirmation"]["agrees"]
    assert "no disagreement" in " ".join(out.split())


def test_the_dsl_is_watched_whenever_it_is_imported_and_unknown_layouts_by_their_addresses(
    tmp_path: Path,
) -> None:
    pytest.importorskip("cutlass", reason="the tests of the suite compile kernels")
    (tmp_path / "addresses.py").write_text(ADDRESSES)
    (tmp_path / "kernel.py").write_text(KERNEL)
    text = f"""
import runpy, sys, pytest
def test_late():
    assert "cutlass" not in sys.modules
    found = runpy.run_path({str(tmp_path / "kernel.py")!r})
    found["cute"].compile(found["host"], found["view"](*{GOOD}), found["view"](*{GOOD}))
@pytest.mark.parametrize("case", ["clean", "outside", "outside"])
def test_it(case):
    import cutlass
    from addresses import cute, host, make_fake_tensor
    a = make_fake_tensor(cutlass.BFloat16, (1 << 16,), stride=(1,), assumed_align=16)
    index = make_fake_tensor(cutlass.Int32, (128,), stride=(1,), assumed_align=16)
    cute.compile(host, a, index, case)
"""
    status, out = suite(tmp_path, text, "--layoutcheck=lint", "-rA")
    assert status == 1 and out.count("FAILED test_it.py::test_it[outside") == 2, out
    assert "PASSED test_it.py::test_late" in out and "4 kernels compiled" in out
    assert "[LC204]" in out
    assert "for all threads: 4 by the compiler's lowering\n" in out, out


def test_a_setting_that_cannot_be_used_takes_one_line(tmp_path: Path) -> None:
    status, out = suite(tmp_path, "", "--layoutcheck=lint", LAYOUTCHECK_LOWERED="perhaps")
    assert status == 4 and out.strip() == "ERROR: LAYOUTCHECK_LOWERED=perhaps; expected 0 or 1", out


@pytest.mark.parametrize(
    ("worker", "visible", "expected"),
    [("gw0", "2,3,5", "2"), ("gw4", "2,3,5", "3"), ("gw1", "7", "7"), ("master", "0,1", "0,1")],
)
def test_each_worker_takes_one_gpu(
    worker: str, visible: str, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTEST_XDIST_WORKER", worker)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    for _ in range(2):
        plugin._one_gpu_a_worker()
        assert os.environ["CUDA_VISIBLE_DEVICES"] == expected


def test_gpus_are_counted_by_their_device_files(tmp_path: Path) -> None:
    for name in ("nvidia0", "nvidia1", "nvidiactl", "nvidia-uvm"):
        (tmp_path / name).touch()
    assert plugin.gpu_names(tmp_path) == ["0", "1"]


def test_without_the_dsl_the_summary_says_so(tmp_path):
    text = """
from layoutcheck.pytest_plugin import observer
observer.installed = lambda: ""
def test_of_something_else(): ...
"""
    status, out = suite(tmp_path, text, "--layoutcheck", "-q")
    assert status == 0 and "nvidia-cutlass-dsl is not installed" in out


def test_our_modules_are_loaded_from_their_bytecode() -> None:
    """pytest would rewrite them, which takes a second for `assert_legal` where no bytecode can be kept."""
    from layoutcheck.copies import copy

    assert type(copy.__loader__).__name__ == "SourceFileLoader"
    assert type(sys.modules[__name__].__loader__).__name__ == "AssertionRewritingHook"
