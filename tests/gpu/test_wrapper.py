"""The PTX harness around a copy: its text, its refusals, and (where ptxas is installed) that it assembles."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from layoutcheck.gpu.prepare import prepare
from layoutcheck.gpu.wrapper import UnexpectedPtx, wrap
from tests.miscompiles import MISCOMPILES

KERNEL = """.visible .entry k0(
\t.param .align 8 .b8 k0_param_0[16],
\t.param .b32 k0_param_1
)
.reqntid 1
{
\tret;
}"""


def test_the_kernel_becomes_a_function_with_a_harness_around_it() -> None:
    text, sizes = wrap(KERNEL, "sm_90a")
    assert sizes == [16, 4]
    assert text.count(".visible .entry harness(") == text.count(".visible .entry") == 1
    assert ".func k0(" in text and ".reqntid" not in text
    assert ".target sm_90a" in text
    assert len(re.findall(r"st\.param\.b32", text)) == 5  # every word of both parameters
    assert re.search(r"mul\.wide\.u32 %offset, %thread, 20;", text)  # a thread's record


def test_scalars_are_passed_as_words_and_a_barrier_is_announced_and_waited_for() -> None:
    kernel = """.visible .entry k0(
\t.param .align 4 .b8 k0_param_0[4],
\t.param .u32 .ptr .shared .align 8 k0_param_1,
\t.param .u16 k0_param_2
)
{
\tret;
}"""
    text, sizes = wrap(kernel, "sm_90a", "barrier")
    assert sizes == [4, 4, 4] and ".ptr" not in text
    assert text.index("mbarrier.arrive.expect_tx") < text.index("call.uni") < text.index("mbarrier.try_wait")
    assert "add.u32 %i, %thread, 2;" in text  # the barrier's own words are no part of the image
    assert ".reqnctapercluster" not in text
    grouped, _ = wrap(kernel, "sm_90a", "group")
    assert "cp.async.bulk.wait_group 0;" in grouped and "mbarrier" not in grouped
    between, _ = wrap(kernel.replace("ret;", "st.async.weak; ret;"), "sm_90a", "barrier")
    assert ".reqnctapercluster 1, 1, 1" in between


@pytest.mark.parametrize("text", ["", "no kernel here", ".visible .entry k0(", ".func k0() { ret; }"])
def test_what_is_no_kernel_is_refused(text: str) -> None:
    with pytest.raises(UnexpectedPtx):
        wrap(text, "sm_90a")


@pytest.mark.skipif(shutil.which("ptxas") is None, reason="ptxas (CUDA toolkit) is not installed")
def test_harnesses_assemble(tmp_path: Path) -> None:
    pytest.importorskip("cutlass", reason="the copies are compiled by nvidia-cutlass-dsl")
    for one in prepare(
        [
            (name, MISCOMPILES[name][0])
            for name in ("h01", "h18", "h23", "h10", "h21", "h21-store", "h21-cluster", "h45")
        ]
    ):
        assert one.task is not None
        path = tmp_path / f"{one.name}.ptx"
        path.write_text(one.task.ptx)
        done = subprocess.run(
            ["ptxas", "--gpu-name", "sm_90a", "-o", str(tmp_path / "out.cubin"), str(path)],
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
