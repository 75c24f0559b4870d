"""Vectors that leave the registers they are loaded into: what the compiler keeps of them, by its PTX."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

from layoutcheck.analysis import Analysis
from layoutcheck.check import check
from layoutcheck.sources.traced import Trace
from layoutcheck.tracing import Script, traced
from tests.forking import printed

pytest.importorskip("cutlass", reason="needs nvidia-cutlass-dsl, the judge of these tests")

PROGRAM = '''
import glob, json, os, sys
import cutlass
from cutlass import cute

def view(where, tensor, layout):
    """The whole of an allocation, or the first part of one of 64 elements, or its last 8."""
    if where == "registers":
        return cute.make_rmem_tensor(layout, cutlass.BFloat16)
    if where == "part":
        return cute.make_tensor(cute.make_rmem_tensor(64, cutlass.BFloat16).iterator, layout)
    if where == "last":
        return cute.make_tensor(cute.make_rmem_tensor(64, cutlass.BFloat16).iterator + 56, layout)
    if where == "shared":
        made = cutlass.memory.SmemAllocator().allocate_tensor(cutlass.BFloat16, cute.make_layout(1024), 128)
        return cute.make_tensor(made.iterator, layout)
    return cute.make_tensor(tensor.iterator, layout)

@cute.kernel
def kernel(given: cute.Tensor, out: cute.Tensor, case: cutlass.Constexpr):
    bits, v, rest, source, target = case
    layout = cute.make_layout((v, rest), stride=(1, v))
    atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), cutlass.BFloat16, num_bits_per_copy=bits)
    thread = cute.arch.thread_idx()[0]
    src, dst = view(source, given, layout), view(target, given, layout)
    if cutlass.const_expr(source == "registers"):
        for i in cutlass.range_constexpr(v * rest):
            src[i] = out[i]
    if cutlass.const_expr(source == "shared" and rest == 8):  # each thread its own, without a barrier
        src = cute.make_tensor(src.iterator + cute.assume(thread * 8, divby=8), layout)
        for i in cutlass.range_constexpr(8):
            src[i] = out[thread * 8 + i]
    cute.copy(atom, src, dst)
    if cutlass.const_expr(target in ("registers", "part", "last")):
        for i in cutlass.range_constexpr(v * rest):
            out[512 + thread * 64 + i] = dst[i]

@cute.jit
def host(given: cute.Tensor, out: cute.Tensor, case: cutlass.Constexpr):
    kernel(given, out, case).launch(grid=(1, 1, 1), block=(64 if case[3] == "shared" else 1, 1, 1))

found = []
for case in json.loads(sys.argv[1]):
    tensor = cute.runtime.make_fake_compact_tensor(cutlass.BFloat16, (65536,), assumed_align=16)
    cute.compile(host, tensor, tensor, tuple(case))
    for ptx in glob.glob(os.environ.get("CUTE_DSL_DUMP_DIR", "/dev/null") + "/*.ptx"):
        found.append(open(ptx).read())
        os.remove(ptx)
print(json.dumps(found))
'''
CASES = {  # what the copy comes to, and whether threads meet each other's elements
    (128, 1, 8, "shared", "registers"): ("", False),
    (128, 1, 8, "shared", "part"): ("", False),  # nothing reads the registers behind the part
    (128, 1, 8, "shared", "last"): ("", False),
    (128, 1, 8, "global", "registers"): ("", False),
    (128, 1, 8, "global", "last"): ("", False),
    (64, 2, 4, "global", "registers"): ("", False),
    (128, 12, 4, "global", "registers"): ("LC203", False),  # the last vector begins in the registers
    (128, 12, 1, "global", "registers"): ("LC203", False),
    (128, 1, 4, "global", "registers"): ("LC203", False),  # the first one does not fit
    (64, 2, 4, "registers", "shared"): ("LC204", False),
    (64, 2, 4, "global", "shared"): ("LC204", False),
}
_LOAD = re.compile(r"ld\.global(?:\.v(\d))?\.b(\d+)\s+[^;]*\[%rd\d+(?:\+(\d+))?\];")


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("removed") / "copies.py"
    path.write_text(PROGRAM)
    return path


@pytest.fixture(scope="module")
def trace(script: Path) -> Trace:
    return traced(Script(str(script), (json.dumps(list(CASES)),), launch=False, arch="sm_90a")).trace


def test_verdicts(trace: Trace) -> None:
    assert len(trace.copies) == len(trace.orders) == len(CASES)
    for copy, order, (code, meets) in zip(trace.copies, trace.orders, CASES.values(), strict=True):
        assert copy.copy is not None
        told = {one.code for one in check(copy.copy).findings if one.severity in ("wrong", "rejected")}
        assert told == ({code} if code else set()), copy.copy
        assert {one.code for one in order.findings if one.severity == "wrong"} == (
            {"LC504"} if meets else set()
        )


def test_what_is_read_is_what_the_ptx_reads(script: Path, trace: Trace, tmp_path: Path) -> None:
    """From global memory into registers: the very bytes."""
    cases = {case: one.copy for case, one in zip(CASES, trace.copies, strict=True) if case[3] == "global"}
    env = {"CUTE_DSL_KEEP": "ptx", "CUTE_DSL_DUMP_DIR": str(tmp_path)}
    texts = json.loads(printed(str(script), json.dumps(list(cases)), arch="sm_90a", env=env).split("\n")[-2])
    assert len(texts) == len(cases) == 7
    for text, copy in zip(texts, cases.values(), strict=True):
        assert copy is not None
        read = {
            int(at or 0) + i
            for count, bits, at in _LOAD.findall(text)
            for i in range(int(count or 1) * int(bits) // 8)
        }
        run = Analysis(copy).runs[-1]
        assert read == set(np.unique(run.execution.src - run.src_base).tolist()), copy
