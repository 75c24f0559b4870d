"""The arrays of one check take the pages of the last: no page of memory is asked for again at each check."""

from __future__ import annotations

import platform
import subprocess
import sys

import pytest

CHECKS = """
import resource
from layoutcheck.check import check
from layoutcheck.sources.request import build

memref, tile = '!cute.memref<bf16, {}, align<16>, "((8,1),4):((1,0),64)">', "(128,128):(1,128)"
view, _ = build(memref.format("gmem"), memref.format("smem"), "cp.async", bits=128)
copy, _ = build(tile, tile, atom="cp.async", bits=128, dtype="bf16", thr="(16,16):(1,16)", val="(8,1)")
for one in [view] * 20 + [copy] * 3:
    check(one)
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(10):
    check(copy)
print((resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before) // 10)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="of the GNU C library")
def test_a_check_faults_in_no_pages_anew() -> None:
    run = subprocess.run(
        [sys.executable, "-c", CHECKS], capture_output=True, text=True, check=True, timeout=60
    )
    assert int(run.stdout) < 16  # one array of such a copy is 32 pages
