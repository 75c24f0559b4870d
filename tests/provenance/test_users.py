"""The kernels of users.py: nothing wrong is told of the right ones, and each fault is told as `TOLD` says."""

from __future__ import annotations

from typing import Any

import pytest

from layoutcheck.dsl.lowered.resolve import Lowering
from layoutcheck.dsl.trace import Trace, trace_script
from layoutcheck.order import check_module
from layoutcheck.provenance import check_products
from layoutcheck.tracing import judge
from tests.lowering import SharedLowering
from tests.users import ROOT, Kernel, kernels, traced

pytest.importorskip("cutlass", reason="kernels are traced through the installed DSL")
PRODUCTS, COPIES, STYLES = "tests.provenance.users", "tests.dsl.lowered.users", "tests.dsl.lowered.styles"
# kernel, architecture, variants, what is told of each
FEW = (
    ("warps", "sm_80", "6 16 17 18 19", (("LC612",), ("LC613",), ("LC604",), (), ())),
    ("groups", "sm_90a", "0 4 8", ((), ("LC612",), ("LC604",))),
    ("blocks", "sm_100a", "6 7", (("LC610",), ("LC250",))),
    ("scaled4", "sm_100a", "2", (("LC603",),)),
)


@pytest.mark.parametrize(("name", "arch", "hows", "told"), FEW, ids=lambda one: str(one).split(" ")[0])
def test_products(name: str, arch: str, hows: str, told: tuple[tuple[str, ...], ...]) -> None:
    """Sums that nothing stores, warps with one result at two places, tensor memory that nothing wrote."""
    with SharedLowering(copies=False, products=check_products) as lowering:
        found = trace_script(
            "-m", [PRODUCTS, name, *hows.split()], launch=False, arch=arch, cwd=str(ROOT), lowering=lowering
        )
    assert not found.failures
    assert tuple(tuple(one.code for one in report.findings) for report in found.operands) == told
    levels = {(one.code, one.severity) for report in found.operands for one in report.findings}
    assert levels == {(code, "note" if code == "LC613" else "wrong") for codes in told for code in codes}
    assert all(report.followed == report.products for report in found.operands)
    scales = [any("scale factors of" in words for words in report.unchecked) for report in found.operands]
    assert scales == [name == "scaled4"] * len(told)


@pytest.mark.parametrize(("name", "how", "left"), [("tail", 0, 0), ("tail", 4, 4129), ("batches", 3, 18432)])
def test_what_a_grid_leaves_of_a_tensor(name: str, how: int, left: int) -> None:
    """All but the first tile of 51 x 91 elements, and three quarters of four batches of 64 x 96."""
    with SharedLowering() as lowering:
        found = trace_script(
            "-m", [COPIES, name, str(how)], launch=False, arch="sm_90a", cwd=str(ROOT), lowering=lowering
        )
    notes = lc203(found)
    assert [one.evidence["left_elements"] for one in notes] == [left] * bool(left)


READ = (
    (COPIES, "boxes", "0 1 2 5", (
        ("unread_elements", 8192, "8,192 beyond its end. Nothing reads 8,192, the first at (128, 0)"),
        ("unused_argument", 1, "Argument 1 of the compiled function"),
        ("unread_elements", 12288, "4,096 of them more than once. Nothing reads 12,288, the first at"),
    )),
    (COPIES, "buffers", "3", (("unread_elements", 1024, "Nothing reads 1,024, the first at (0, 7)"),)),
    (STYLES, "dequant", "2", (("unread_elements", 256, "16 times as many as the tensor has, 512"),)),
    (STYLES, "rotary", "6", ()),
)  # fmt: skip


@pytest.mark.parametrize(("script", "name", "hows", "told"), READ, ids=lambda one: str(one).split(" ")[0])
def test_what_is_never_read(
    script: str, name: str, hows: str, told: tuple[tuple[str, int, str], ...]
) -> None:
    """Tiles in the place of others, boxes beyond the end, a tensor not used; long tables are right."""
    with SharedLowering() as lowering:
        found = trace_script(
            "-m", [script, name, *hows.split()], launch=False, arch="sm_90a", cwd=str(ROOT),
            lowering=lowering,
        )  # fmt: skip
    assert not found.failures
    notes = lc203(found)
    assert len(notes) == len(told)
    for key, count, words in told:
        assert any(one.evidence.get(key) == count and words in " ".join(one.message.split()) for one in notes)


def lc203(trace: Trace) -> list[Any]:
    """The notes of that code."""
    judged = judge(trace)
    reports = [report for _, report in judged.reports if report is not None]
    every = [one for report in (*reports, *judged.trace.told) for one in report.findings]
    notes: list[Any] = [one for one in every if one.code == "LC203"]
    assert all(one.severity == "note" for one in notes)
    return notes


@pytest.mark.sweep
@pytest.mark.parametrize("one", list(kernels()), ids=lambda one: one.name)
def test_what_is_told(one: Kernel) -> None:
    with Lowering(order=check_module, products=check_products) as lowering:
        right = traced(one, 0, lowering)
        assert not right.wrong and not right.refused
        for how, answer in enumerate(one.told, 1):
            said = traced(one, how, lowering).beside(right, one.named)
            assert said == ("" if answer == "right" else answer), how
