"""Loads and stores that are not copies: a case a kernel, what is said of it and at which line."""

from __future__ import annotations

from pathlib import Path

import pytest

from layoutcheck.dsl.lowered.resolve import Lowering
from layoutcheck.dsl.trace import trace_script
from layoutcheck.gate import NO_GATE
from layoutcheck.reports.style import Style
from layoutcheck.reports.trace import render, render_json
from layoutcheck.sources.trace_lines import from_lines, to_lines
from layoutcheck.tracing import judge, status

pytest.importorskip("cutlass", reason="the CuTe DSL (nvidia-cutlass-dsl) is not installed")

SCRIPT = """
import sys
import cutlass
from cutlass import Float32, const_expr, cute
from cutlass.cute.runtime import make_fake_tensor
N = 1000
@cute.kernel
def k(x: cute.Tensor, y: cute.Tensor, case: cutlass.Constexpr):
    t, b = cute.arch.thread_idx()[0], cute.arch.block_idx()[0]
    alloc = cutlass.memory.SmemAllocator()
    a = alloc.allocate_tensor(Float32, cute.make_layout((4096,)), 128)
    s = alloc.allocate_tensor(Float32, cute.make_layout((64,)), 128)
    i = b * 128 + t
    if const_expr(case == "halo"):
        if i < N + 1:
            a[t] = x[i - 1]  # halo
    elif const_expr(case == "no_load"):
        a[t] = x[i]  # no_load
    else:
        if i < N:
            a[t] = x[i]
    s[t % 64] = Float32(0.0) if const_expr(case != "race") else x[t]  # race
    cute.arch.sync_threads()
    if const_expr(case == "conflict"):
        v = a[t * 32]  # conflict
    elif const_expr(case == "scattered"):
        v = a[t] + x[t * 7]  # scattered
    elif const_expr(case == "leaves"):
        v = s[t]  # leaves
    elif const_expr(case == "misaligned"):
        v = Float32(cute.arch.load(x.iterator + t, cutlass.Float64))  # misaligned
    else:
        v = a[t] + s[t % 64]
    if const_expr(case == "atomic"):
        cute.arch.atomic_add((y.iterator + i).llvm_ptr, v)  # atomic
    elif const_expr(case == "no_store"):
        y[i] = v  # no_store
    else:
        if i < N:
            y[i] = v
@cute.jit
def host(x: cute.Tensor, y: cute.Tensor, case: cutlass.Constexpr):
    k(x, y, case).launch(grid=(8, 1, 1), block=(128, 1, 1))
@cute.kernel
def dynamic(x: cute.Tensor, asked: cutlass.Constexpr):
    t = cute.arch.thread_idx()[0]
    p = cute.arch.get_dyn_smem(Float32, alignment=128)
    s = cute.make_tensor(p, cute.make_layout((256,)))
    for i in cutlass.range(t, 256, 128, unroll=1):
        s[i] = x[i]  # asked
@cute.jit
def small(x: cute.Tensor, asked: cutlass.Constexpr):
    dynamic(x, asked).launch(grid=(1, 1, 1), block=(128, 1, 1), smem=asked)
if __name__ == "__main__":
    z = make_fake_tensor(Float32, (N,), stride=(1,), assumed_align=16)
    for case in sys.argv[1:]:
        if case.isdigit():
            cute.compile(small, z, int(case))
        else:
            cute.compile(host, z, z, case)
"""
CASES = {  # case: code and severity of what is found at the line that bears its name
    "right": None, "no_load": ("LC204", "wrong"), "no_store": ("LC204", "wrong"), "race": ("LC210", "wrong"),
    "conflict": ("LC301", "slow"), "scattered": ("LC302", "slow"), "leaves": ("LC204", "wrong"),
    "halo": ("LC204", "wrong"), "misaligned": ("LC202", "wrong"),
    "atomic": ("LC204", "wrong"), "1024": None, "1020": ("LC204", "wrong"),
}  # fmt: skip


def test_elements(tmp_path: Path) -> None:
    """Each fault at its line, nothing else, and nothing of the right ones."""
    script = tmp_path / "elements.py"
    script.write_text(SCRIPT)
    lines = SCRIPT.splitlines()
    with Lowering() as lowering:
        found = trace_script(
            str(script), list(CASES), launch=False, arch="sm_90a", timeout_s=200, lowering=lowering
        )
    assert not found.failures, found.failures
    seen = dict(zip(CASES, found.elements, strict=True))  # in the order in which they were built
    for case, expected in CASES.items():
        told = {(one.code, one.severity, one.places[0].where.line) for one in seen[case].findings}
        mark = "# asked" if case.isdigit() else f"# {case}"
        line = next((i for i, text in enumerate(lines, 1) if text.endswith(mark)), 0)
        assert told == ({(*expected, line)} if expected else set()), case
        assert seen[case].known == seen[case].accesses > 0
    judged = judge(found)
    wrong = sum(expected is not None and expected[1] == "wrong" for expected in CASES.values())
    assert sum(dict(one.verdicts).get("wrong", 0) for one in found.elements) == wrong
    text = render(judged, Style(width=100))
    assert "the access reads outside its own allocation" in text
    assert f"{wrong} wrong" in text
    assert status(judged, False, NO_GATE) == 1
    assert '"elements": {"kernel"' in render_json(judged, Style())
    assert from_lines(to_lines(found)).elements == found.elements
