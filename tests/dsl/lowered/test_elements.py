"""Loads and stores that are not copies: a case a kernel, what is said of it and at which line."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree.ElementTree import fromstring as parsed

import pytest

from layoutcheck.dsl.trace import trace_script
from layoutcheck.gate import NO_GATE
from layoutcheck.order.memory_map import MemoryMap, memory_maps
from layoutcheck.reports import memory_map
from layoutcheck.reports.style import Style
from layoutcheck.reports.trace import render, render_json
from layoutcheck.sources.trace_lines import from_lines, to_lines
from layoutcheck.sources.traced import OrderReport
from layoutcheck.sources.traced_module import TracedModule
from layoutcheck.tracing import judge, status
from tests.lowering import SharedLowering

pytest.importorskip("cutlass", reason="the CuTe DSL (nvidia-cutlass-dsl) is not installed")

SCRIPT = """
import sys
import cutlass
import numpy
from cutlass import Float32, const_expr, cute
from cutlass.cute.runtime import from_dlpack, make_fake_tensor
from cutlass.experimental import primitives
N, ROW = 1000, primitives.MMALayout.ROW
@cute.kernel
def k(x: cute.Tensor, y: cute.Tensor, case: cutlass.Constexpr):
    t, b = cute.arch.thread_idx()[0], cute.arch.block_idx()[0]
    alloc = cutlass.memory.SmemAllocator()
    s = alloc.allocate_tensor(Float32, cute.make_layout((64,)), 128)
    a = alloc.allocate_tensor(Float32, cute.make_layout((4096,)), 128)
    i = b * 128 + t
    if const_expr(case == "halo"):
        if i < N + 1:
            a[t] = x[i - 1]  # halo
    elif const_expr(case == "no_load"):
        a[t] = x[i]  # no_load
    else:
        if i < N:
            a[t] = x[i]
    if const_expr(case == "overlap"):
        other = cute.make_tensor(a.iterator + 64, cute.make_layout((128,)))
        other[t] = x[t]  # overlap
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
@cute.kernel
def rows(x: cute.Tensor, matrices: cutlass.Constexpr):
    t = cute.arch.thread_idx()[0]
    s = cutlass.Array(Float32, (8, 4), space=cutlass.AddressSpace.smem, alignment=128)
    s[t // 4, t % 4] = x[t]
    cute.arch.sync_threads()
    p = cutlass.inttoptr(s.data_ptr().toint(), mem_space=3, dtype=cutlass.Float16) + t * 8
    primitives.stmatrix(p, primitives.ldmatrix(p, matrices, ROW), ROW)  # x2
@cute.jit
def warp(x: cute.Tensor, matrices: cutlass.Constexpr):
    rows(x, matrices).launch(grid=(1, 1, 1), block=(32, 1, 1))
@cute.kernel
def walk(x: cute.Tensor, y: cute.Tensor, turned: cutlass.Constexpr):
    t = cute.arch.thread_idx()[0]
    if const_expr(turned == "called"):
        y[t] = x[t, 1]  # called
    elif const_expr(turned):
        y[t] = x[t, 0]  # turned
    else:
        y[t] = x[0, t]
@cute.jit
def matrix(x: cute.Tensor, y: cute.Tensor, turned: cutlass.Constexpr):
    walk(x, y, turned).launch(grid=(1, 1, 1), block=(128, 1, 1))
if __name__ == "__main__":
    z = make_fake_tensor(Float32, (N,), stride=(1,), assumed_align=16)
    for case in sys.argv[1:]:
        if case.isdigit():
            cute.compile(small, z, int(case))
        elif case in ("guessed", "turned", "called"):  # of the first nobody says which mode is adjacent
            steps = cute.sym_int(), 1 if case == "turned" else cute.sym_int()
            x = make_fake_tensor(Float32, (128, 128), stride=steps)
            made = cute.compile(matrix, x, z, case != "guessed" and case)
            if case == "called":
                made(*(from_dlpack(numpy.zeros(shape, "float32")) for shape in ((128, 128), (N,))))
        elif case in ("x1", "x2"):
            cute.compile(warp, z, int(case[1]))
        else:
            cute.compile(host, z, z, case)
"""
CASES = {  # case: code and severity of what is found at the line that bears its name
    "right": None, "overlap": None, "race": ("LC210", "wrong"),
    "no_load": ("LC204", "wrong"), "no_store": ("LC204", "wrong"),
    "conflict": ("LC301", "slow"), "scattered": ("LC302", "slow"), "leaves": ("LC204", "wrong"),
    "halo": ("LC204", "wrong"), "misaligned": ("LC202", "wrong"),
    "atomic": ("LC204", "wrong"), "1024": None, "1020": ("LC204", "wrong"),
    "guessed": None, "turned": ("LC302", "slow"), "called": ("LC302", "slow"),
    "x1": None, "x2": ("LC204", "wrong"),  # lanes from 8, or 16, give addresses that nothing reads
}  # fmt: skip


def test_elements(tmp_path: Path) -> None:
    """Each fault at its line, nothing else, and nothing of the right ones."""
    script = tmp_path / "elements.py"
    script.write_text(SCRIPT)
    lines = SCRIPT.splitlines()
    maps: list[MemoryMap] = []

    def look(module: TracedModule, text: str, problem: str) -> OrderReport:
        maps.extend(memory_maps(module, text, problem))
        return OrderReport(module.kernel, module.arch)

    with SharedLowering(order=look) as lowering:
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
        assert not line or (str(script), line) in seen[case].lines
        untold = [why for why, _ in seen[case].unchecked if why.startswith("cost in global memory: ")]
        assert len(untold) == (case == "guessed"), case  # nor is it called free
    (slow,) = seen["conflict"].findings
    assert "Rows of 132 B instead of 128 B would take 1 wavefront there instead of 32;" in slow.message
    judged = judge(found)
    wrong = sum(expected is not None and expected[1] == "wrong" for expected in CASES.values())
    wrong += 1  # of x2 the load and the store
    assert sum(dict(one.verdicts).get("wrong", 0) for one in found.elements) == wrong
    text = render(judged, Style(width=100))
    assert "the access reads outside its own allocation" in text
    assert f"{wrong} wrong" in text
    assert status(judged, False, NO_GATE) == 1
    assert '"elements": {"kernel"' in render_json(judged, Style())
    assert from_lines(to_lines(found)).elements == found.elements
    _memory(dict(zip(CASES, maps, strict=True)))


def _memory(maps: dict[str, MemoryMap]) -> None:
    """The map: allocations as asked for, the bytes of each line, partial overlaps, the dynamic part."""
    right = maps["right"]
    assert [(one.name, one.start, one.size, one.align) for one in right.regions] == [
        ("0", 0, 256, 128), ("1", 256, 16384, 128),
    ]  # fmt: skip
    uses = {(use.region, use.low, use.high, bool(use.reads), bool(use.writes)) for use in right.uses}
    assert uses == {
        ("0", 0, 256, False, True), ("1", 256, 768, False, True), ("0", 0, 256, True, False),
        ("1", 256, 768, True, False),
    }  # fmt: skip
    assert right.complete and not right.aliases and right.most == 232448
    assert [(a.low, a.high, b.low, b.high) for a, b in maps["overlap"].aliases] == [(256, 768, 512, 1024)]
    assert (maps["1020"].asked, maps["1020"].used("dynamic"), maps["1024"].asked) == (1020, 1024, 1024)
    style = Style(width=100)
    text = memory_map.render([maps["overlap"], maps["1020"]], "text", style)
    assert "both write bytes 512 to 768" in " ".join(text.split())
    assert "1,024 B of the dynamic part are used, the launch asks for 1,020 B" in " ".join(text.split())
    row = json.loads(memory_map.render([maps["overlap"]], "json", style))
    assert [[row["uses"][i]["low"] for i in pair] for pair in row["aliases"]] == [[256, 512]]
    picture = parsed(memory_map.render([right], "svg", style))
    assert len([node for node in picture.iter() if node.get("data-low")]) == len(right.uses)
