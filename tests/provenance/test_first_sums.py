"""Products that read accumulators or operands which nothing has written (LC609), and their right twins."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from layoutcheck.dsl.trace import trace_script
from layoutcheck.provenance import check_products
from layoutcheck.provenance.unset import Unset, sources
from layoutcheck.sources.mlir import Operation, Value, parse
from layoutcheck.sources.traced import OperandReport
from layoutcheck.sources.traced_module import TracedModule
from tests.lowering import SharedLowering

PROGRAM = Path(__file__).with_name("first_sums.py")
ROOT = str(PROGRAM.parents[2])
needs_dsl = pytest.mark.skipif(importlib.util.find_spec("cutlass") is None, reason="needs nvidia-cutlass-dsl")


def _reports(kind: str, arch: str, hows: range) -> list[tuple[list[tuple[str, int]], OperandReport]]:
    """The operand and the thread of each finding in each variant of a kernel, with its whole report."""
    found: list[OperandReport] = []

    def look(module: TracedModule, lowered: str, problem: str) -> OperandReport:
        found.append(check_products(module, lowered, problem))
        return found[-1]

    with SharedLowering(copies=False, products=look) as lowering:
        args = [kind, *map(str, hows)]
        trace_script(str(PROGRAM), args, launch=False, arch=arch, cwd=ROOT, lowering=lowering)
    assert len(found) == len(hows)
    told = []
    for report in found:
        assert {(one.code, one.severity) for one in report.findings} <= {("LC609", "wrong")}
        told.append([(one.evidence["operand"], one.evidence["thread"]) for one in report.findings])
    return list(zip(told, found, strict=True))


@needs_dsl
def test_what_a_product_of_warps_finds_unwritten() -> None:
    """A fill by some threads, or that a run decides on, says nothing. An H200 is wrong for 1, 3 and 5."""
    told, reports = zip(*_reports("warps", "sm_80", range(6)), strict=True)
    assert told == ([], [("C", 0)], [], [("A", 0)], [], [("C", 0)])
    assert all(report.products == report.followed == 1 for report in reports)
    assert "Clear them first: `acc.fill(0.0)`." in reports[1].findings[0].message
    (place,) = reports[1].findings[0].places
    assert "cute.gemm(mma, sums" in PROGRAM.read_text().splitlines()[place.where.line - 1]


@needs_dsl
@pytest.mark.parametrize(
    ("kind", "arch", "products"), [("warpgroup", "sm_90a", 2), ("tcgen05", "sm_100a", 4)]
)
def test_the_first_product_of_a_sum_must_not_add(kind: str, arch: str, products: int) -> None:
    (right, report), (told, broken) = _reports(kind, arch, range(2))
    assert right == [] and report.followed == report.products == products
    assert told == [("C", 0)]
    message = broken.findings[0].message
    assert ("tensor memory" in message) == (kind == "tcgen05")
    assert f"The first {'wgmma' if kind == 'warpgroup' else 'tcgen05.mma'} of this sum" in message
    assert "ACCUMULATE to False" in message and "fill" not in message


def _kernel(more: str = "") -> Operation:
    """A kernel that loads two numbers from an array of registers, and takes one of them."""
    text = f"""
"gpu.func"() ({{
^bb0(%given: !llvm.ptr, %flag: i1):
  %n = "arith.constant"() <{{value = 1 : i32}}> : () -> i32
  %array = "llvm.alloca"(%n) <{{elem_type = f32}}> : (i32) -> !llvm.ptr
  %at = "llvm.getelementptr"(%array, %n) : (!llvm.ptr, i32) -> !llvm.ptr
  %two = "llvm.load"(%at) : (!llvm.ptr) -> vector<2xf32>
  %a, %b = "vector.to_elements"(%two) : (vector<2xf32>) -> (f32, f32)
  %c = "arith.mulf"(%a, %a) : (f32, f32) -> f32
  {more}
}}) : () -> ()
"""
    (kernel,) = parse(text).operations
    return kernel


def _made(kernel: Operation, name: str) -> list[Value]:
    return next(op for op in kernel.walk() if op.name == name).results


def test_values_come_from_loads_by_moves_alone() -> None:
    kernel = _kernel()
    two, parts = _made(kernel, "llvm.load"), _made(kernel, "vector.to_elements")
    assert sources(parts) == sources(two) == tuple(two)
    assert sources([*parts, *_made(kernel, "arith.mulf")]) == ()
    assert sources([kernel.regions[0].blocks[0].arguments[1]]) == ()


def test_bytes_are_unwritten_until_a_thread_writes_one() -> None:
    kernel = _kernel()
    (two,), (other,) = _made(kernel, "llvm.load"), _made(kernel, "arith.mulf")
    unset = Unset(kernel, 4)
    unset.of(0, 8)[1, 4] = True
    unset.loads[two] = ~unset.of(0, 8).any(1)
    assert unset.threads_of((two,)).tolist() == [True, False, True, True]
    assert not unset.threads_of(()).any()
    assert not unset.threads_of((two, other)).any()  # a load that was not met


@pytest.mark.parametrize(
    ("more", "executed", "certain"),
    [
        ("", True, True),
        ('"llvm.store"(%a, %at) : (f32, !llvm.ptr) -> ()', True, True),
        ('"llvm.store"(%a, %at) : (f32, !llvm.ptr) -> ()', False, False),
        ('"llvm.store"(%a, %given) : (f32, !llvm.ptr) -> ()', False, True),  # of the caller
        ('"llvm.store"(%at, %given) : (!llvm.ptr, !llvm.ptr) -> ()', True, False),
        ('"llvm.call"(%at) : (!llvm.ptr) -> ()', False, False),
        ('%p = "arith.select"(%flag, %at, %given) : (i1, !llvm.ptr, !llvm.ptr) -> !llvm.ptr', False, False),
        ('"llvm.br"(%given)[^next] : (!llvm.ptr) -> ()\n^next(%q: !llvm.ptr):\n'
         '  "llvm.store"(%a, %q) : (f32, !llvm.ptr) -> ()', False, True),
    ],
)  # fmt: skip
def test_an_array_is_certain_if_executed_stores_alone_reach_it(
    more: str, executed: bool, certain: bool
) -> None:
    kernel = _kernel(more)
    unset = Unset(kernel, 4)
    unset.stores |= {op for op in kernel.walk() if op.name == "llvm.store"} if executed else set()
    assert unset.certain(_made(kernel, "llvm.load")) == certain
    assert not unset.certain([])
