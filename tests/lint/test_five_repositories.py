"""`init`, then `ci`, in five made-up repositories of different layout, as a maintainer would type them."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from layoutcheck.cli import run

KERNELS = """\
import cutlass
from cutlass import cute
from cutlass.cute.runtime import make_fake_tensor
@cute.kernel
def kernel(a: cute.Tensor):
    f = cute.make_rmem_tensor(cute.make_layout(4), cutlass.Float32)
    cute.autovec_copy(a, f)
@cute.jit
def launch(a: cute.Tensor):
    kernel(a).launch(grid=[1, 1, 1], block=[1, 1, 1])
def build():
    cute.compile(launch, make_fake_tensor(cutlass.Float32, (4,), stride=(1,), assumed_align=16))
"""
TEST = "from {} import build\ndef test_build(): build()\n"
SCRIPT = "from {} import build\nif __name__ == '__main__':\n    build()\n"
CELL = {"cell_type": "code", "source": f"{KERNELS}build()\n"}
PROJECT = "[project]\nname = 'p'\nversion = '0'\n"
# Files, what `run` is, what the job installs, the folders that pip would put on the path, copy sites.
LAYOUTS = {
    "src": (
        {"src/pkg/__init__.py": "", "src/pkg/kernels.py": KERNELS, "pyproject.toml": PROJECT,
         "tests/test_k.py": TEST.format("pkg.kernels")},
        ["tests"], "--editable . pytest", [], 1,
    ),
    "flat": (
        {"kernels.py": KERNELS, "test_k.py": TEST.format("kernels"), "bench.py": SCRIPT.format("kernels")},
        ["test_k.py"], "pytest", [], 1,
    ),
    "monorepo": (
        {"a/pyproject.toml": PROJECT, "a/src/apkg/__init__.py": "", "a/src/apkg/kernels.py": KERNELS,
         "a/tests/test_it.py": TEST.format("apkg.kernels"), "b/pyproject.toml": PROJECT,
         "b/bpkg/__init__.py": "", "b/bpkg/kernels.py": KERNELS,
         "b/tests/test_it.py": TEST.format("bpkg.kernels")},
        ["a", "b"], "--editable ./a --editable ./b pytest", ["a/src", "b"], 2,
    ),
    "examples": (
        {"examples/gemm/kernels.py": KERNELS, "examples/gemm/gemm.py": SCRIPT.format("kernels"),
         "requirements.txt": "numpy\n"},
        ["examples"], "--requirement requirements.txt pytest", [], 1,
    ),
    "notebooks": ({"one.ipynb": json.dumps({"cells": [CELL], "nbformat": 4})}, None, "pytest", [], 1),
}  # fmt: skip


@pytest.fixture(params=LAYOUTS)
def layout(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> tuple[list[str] | None, str, int]:
    """In such a repository, after `init`: what `run` is to be, what the job installs, copy sites."""
    files, entries, installed, path, sites = LAYOUTS[request.param]
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    given = [str(tmp_path / each) for each in path]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([*given, os.environ.get("PYTHONPATH", "")]))
    assert run(["init", "--yes", "--requirement", "layoutcheck==1"]) == 0
    return entries, installed, sites


def test_init(layout: tuple[list[str] | None, str, int], capsys: pytest.CaptureFixture[str]) -> None:
    entries, installed, sites = layout
    assert (f"run = {json.dumps(entries)}\n" in Path("pyproject.toml").read_text()) == (entries is not None)
    job = Path(".github/workflows/layoutcheck.yml").read_text()
    assert f"      - run: pip install {installed}\n" in job
    capsys.readouterr()
    assert run(["ci", "--list"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == (0 if entries is None else sites)


@pytest.mark.sweep
def test_ci(layout: tuple[list[str] | None, str, int], capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("cutlass", reason="the CuTe DSL is not installed")
    entries, _, sites = layout
    capsys.readouterr()
    status = run(["ci", "--yes", "--format", "json", "--no-lowered", "--no-order", "--workers", "1"])
    counts = json.loads(capsys.readouterr().out)["counts"]
    assert counts["sites"] == sites
    if entries is None:  # nothing can be run: that is not seen
        assert (status, counts["traced"]) == (2, 0)
    else:
        assert (status, counts["traced"], counts["kernels"]) == (0, sites, sites)
