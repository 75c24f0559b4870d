"""The code of fixes can be pasted: the DSL compiles it, with nothing around it but what the user has."""

from __future__ import annotations

import json
from itertools import repeat
from typing import Any

import pytest

import layoutcheck as lc
from layoutcheck.check import Fix
from layoutcheck.copies.copy import Copy
from layoutcheck.copies.memref import Memref
from layoutcheck.fixes import code
from tests.forking import printed

pytest.importorskip("cutlass", reason="needs nvidia-cutlass-dsl, the judge of these tests")

ROWS = {"thr": "(16,8):(8,1)", "val": "(1,8)"}
COPIES: dict[str, dict[str, Any]] = {
    "transposed": {
        "src": "(128,64):(1,128)", "dst": "(128,64):(64,1)", "atom": "cp.async", "bits": 128, "dtype": "bf16",
        "thr": "(16,8):(8,1)", "val": "(8,1)",
    },
    "odd pitch": {
        "src": "(128,64):(68,1)", "dst": "(128,64):(64,1)", "atom": "cp.async", "bits": 128, "dtype": "bf16",
        **ROWS,
    },
    "run-time stride of V": {
        "src": "(8,4):(?,64)", "dst": "(8,4):(1,8)", "atom": "cp.async", "bits": 128, "dtype": "f16",
    },
    "swizzle of a long period": {
        "src": "(64,64):(64,1)", "dst": "(64,64):(1,64)", "atom": "universal", "bits": 32, "dtype": "f32",
        "thr": "(2,64):(64,1)", "val": "(1,1)",
    },
    "4-bit vectors": {"src": "(32):(1)", "dst": "(32):(1)", "atom": "universal", "bits": 128, "dtype": "fp4"},
}  # fmt: skip


def operand(memref: Memref) -> str:
    """The tensor that the user has."""
    element, layout = code.dtype_code(memref.dtype), code.layout_code(memref.layout, repeat("ld"))
    if memref.space == "smem":
        return f"allocator.allocate_tensor({element}, {layout}, byte_alignment=128)"
    return f"cute.make_tensor(cute.recast_ptr(m.iterator, dtype={element}), {layout})"


def pasted(copy: Copy, fix: Fix) -> str:
    """The fix's code, and the copy with the names that it sets."""
    assert copy.atom is not None
    lines = [f"atom = {code.atom_code(copy.atom)}", "dst_tile = dst", "src_tile = src"]
    if copy.tiling is not None:  # the user has one already, which a fix may take its threads from
        tiled = copy.tiling.tiled
        tiler = ", ".join(code.layout_code(mode) for mode in tiled.tiler)
        lines.append(
            f"tiled_copy = cute.make_tiled_copy(atom, {code.layout_code(tiled.layout_tv)}, ({tiler},))"
        )
    lines.append(fix.code)
    if "cute.copy(" in fix.code or "FP32" in fix.title:  # whose tensors come from the host
        return "\n".join(lines)
    if "tiled_copy = " in fix.code:
        lines.append("own = tiled_copy.get_slice(tidx)")
        lines.append("cute.copy(atom, own.partition_S(src), own.partition_D(dst))")
    elif copy.tiling is None:
        lines.append("cute.copy(atom, src, dst)")
    return "\n".join(lines)


def test_the_code_of_fixes_compiles() -> None:
    kernels = []
    for name, arguments in COPIES.items():
        report = lc.check(**arguments)
        src, dst = (
            (report.copy.tiling.src, report.copy.tiling.dst)
            if report.copy.tiling
            else (report.copy.src, report.copy.dst)
        )
        kernels += [
            [f"{name}: {fix.strategy}", operand(src), operand(dst), pasted(report.copy, fix)]
            for fix in report.fixes
            if fix.strategy != "tma"  # half of it is host code, for which this kernel has no place
        ]
    lines = printed(
        "-m", "tests.conformance.pasted_fixes", arch="sm_90a", given=json.dumps(kernels)
    ).splitlines()
    said = dict(json.loads(line) for line in lines if line.startswith("["))
    assert len(said) == len(kernels) >= 10
    assert {name: error for name, error in said.items() if error is not None} == {}
