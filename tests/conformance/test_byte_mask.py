"""Bulk stores with a byte mask, which only Blackwell has: compiled, assembled, and reported as such."""

from __future__ import annotations

import subprocess
from pathlib import Path
from shutil import which

import pytest

import layoutcheck as lc
from layoutcheck.analysis.instantiation import DST_REGION, SRC_REGION
from layoutcheck.atoms.bulk import BulkCopy
from layoutcheck.atoms.execution import execution
from layoutcheck.copies.copy import Copy
from layoutcheck.machine.dtypes import dtype
from tests.miscompiles import g, s

pytest.importorskip("cutlass", reason="the CuTe DSL is not installed")
from layoutcheck.dsl.lower import lower
from layoutcheck.dsl.session import Session

_BF16 = dtype("bf16")
COPIES = [
    Copy(BulkCopy("s2g", _BF16, width, byte_mask=True), s(src), g(dst), arch="sm_100a")
    for width, src, dst in ((0, "(64):(1)", "(64):(1)"), (256, "(64,4):(1,72)", "(64,4):(1,64)"))
]


def test_the_emitted_instructions_are_masked_and_as_many_and_long_as_predicted(dsl: Session) -> None:
    for copy, made in zip(COPIES, lower(COPIES, "sm_100a", session=dsl), strict=True):
        assert made.error is None and made.ptx is not None
        lines = [line for line in made.ptx.splitlines() if "cp.async.bulk" in line]
        (access,) = execution(copy, SRC_REGION, DST_REGION).dst_accesses
        assert len(lines) == access.addresses.shape[0] and all(".cp_mask" in line for line in lines)
        assert f"{access.width_bytes};" in made.ptx or f", {access.width_bytes}" in made.ptx


def test_the_compiler_refuses_them_for_hopper_and_so_do_we(dsl: Session) -> None:
    (made,) = lower(COPIES[:1], "sm_90a", session=dsl)
    assert made.error
    report = lc.check("(64):(1)", "(64):(1)", "bulk.s2g.mask", dtype="bf16", arch="sm_90a")
    assert report.verdict == "rejected" and report.findings[0].code == "LC108"


@pytest.mark.skipif(which("ptxas") is None, reason="ptxas (CUDA toolkit) is not installed")
@pytest.mark.parametrize("target", ["sm_100", "sm_100a", "sm_103a", "sm_120"])
def test_ptxas_assembles_them(target: str, tmp_path: Path, dsl: Session) -> None:
    for copy, made in zip(COPIES, lower(COPIES, "sm_100a", session=dsl), strict=True):
        assert made.ptx is not None
        path = tmp_path / "kernel.ptx"
        path.write_text(f".version 9.0\n.target {target}\n.address_size 64\n{made.ptx}")
        command = ["ptxas", "--gpu-name", target, "-o", str(tmp_path / "out"), str(path)]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, (copy, done.stderr)


def test_the_report_says_that_no_gpu_ran_it() -> None:
    report = lc.check("(64):(1)", "(64):(1)", "bulk.s2g.mask", dtype="bf16")
    (note,) = report.findings
    assert report.verdict == "legal" and note.code == "LC258"
    assert "all bytes of the mask" in note.message
