"""Products that read accumulators or operands which nothing has written (LC609), and their right twins."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from layoutcheck.dsl.trace import trace_script
from layoutcheck.order import recorder
from layoutcheck.provenance import check_products
from layoutcheck.provenance.follow import writes_tensor
from layoutcheck.sources.mlir import Operation
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
    assert [(report.products, report.followed) for report in reports] == [(1, how != 3) for how in range(6)]
    assert "Clear them first: `acc.fill(0.0)`." in reports[1].findings[0].message
    (place,) = reports[1].findings[0].places
    assert "cute.gemm(mma, sums" in PROGRAM.read_text().splitlines()[place.where.line - 1]


@needs_dsl
def test_a_kernel_that_does_more_than_is_followed_is_not_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorder, "MOST_EVENTS", 10)
    ((told, report),) = _reports("warps", "sm_80", range(1))
    assert (told, report.products, report.followed) == ([], 1, 0)
    assert any("accesses and synchronisations" in why for why in report.unchecked)


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


@pytest.mark.parametrize(
    ("ptx", "written"),
    [
        ("tcgen05.mma.cta_group::2.kind::f16 [$0], [$1], $2, $3, p;", True),
        ("tcgen05.cp.cta_group::1.128x256b [$0], $1;", True),
        ("tcgen05.ld.sync.aligned.32x32b.x1.b32 {$0}, [$1];", False),
        ("add.f32x2 $0, $1, $2;", False),
    ],
)
def test_ptx_may_begin_a_sum_in_tensor_memory(ptx: str, written: bool) -> None:
    """As ffpa-attn's gemm_ptx_w_idx does (_dk_d512_sm100.py:2064), before the products that are followed."""
    for name in ("asm_string", "ptxCode"):
        assert writes_tensor([Operation("llvm.inline_asm", attributes={name: ptx})]) == written
