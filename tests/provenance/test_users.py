"""The kernels of users.py: nothing wrong is told of the right ones, and each fault is told as `TOLD` says."""

from __future__ import annotations

import pytest

from layoutcheck.dsl.lowered.resolve import Lowering
from layoutcheck.dsl.trace import trace_script
from layoutcheck.order import check_module
from layoutcheck.provenance import check_products
from layoutcheck.provenance.place import SUMS
from layoutcheck.tracing import judge
from tests.lowering import SharedLowering
from tests.users import ROOT, Kernel, kernels, traced

pytest.importorskip("cutlass", reason="kernels are traced through the installed DSL")
PRODUCTS, COPIES = "tests.provenance.users", "tests.dsl.lowered.users"
SHORT = "LC613"
# of `warps` and `groups`: whether it is wrong, which k are left, which come twice
K_LEFT = {
    ("warps", 16): ("note", [96, 127], []), ("warps", 20): ("wrong", [16, 127], [0, 111]),
    ("warps", 24): ("wrong", [96, 127], []), ("warps", 25): ("wrong", [224, 255], []),
    ("warps", 31): ("note", [224, 255], []), ("groups", 19): ("wrong", [48, 191], []),
}  # fmt: skip
# kernel, architecture, variants, what is told of each
FEW = (
    (
        "warps",
        "sm_80",
        "6 16 18 20 29 31 32 33",
        (("LC612",), (SHORT,), (), (SHORT,), ("LC603",), (SHORT,), (), ("LC614",)),
    ),
    pytest.param(
        "warps",
        "sm_80",
        "22 23 24 25 26 28 30",
        ((), (), (SHORT,), (SHORT,), (), (), ()),
        marks=pytest.mark.sweep,
    ),
    ("groups", "sm_90a", "0 4 8 19", ((), ("LC612",), ("LC604",), (SHORT,))),
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
    assert all(report.followed == report.products for report in found.operands)
    short = [one for report in found.operands for one in report.findings if one.code == SHORT]
    kept = [(one.severity, one.evidence["left"], one.evidence["twice"]) for one in short]
    assert kept == [K_LEFT[name, int(how)] for how in hows.split() if (name, int(how)) in K_LEFT]
    sums = [any(SUMS in words for words in report.unchecked) for report in found.operands]
    assert sums == [name == "warps" and how == "34" for how in hows.split()]
    scales = [any("scale factors of" in words for words in report.unchecked) for report in found.operands]
    assert scales == [name == "scaled4"] * len(told)


@pytest.mark.parametrize(
    ("name", "hows", "left"),
    [
        ("tail", "0 4", [4129]),
        ("batches", "3", [18432]),
        ("slabs", "0 2", [2048]),
        ("sums", "0 1 2 3", [1024, 1024]),
    ],
)
def test_what_a_grid_leaves_of_a_tensor(name: str, hows: str, left: list[int]) -> None:
    """All but the first tile of 51 x 91 elements, three of four batches of 64 x 96, one of 8 tiles by TMA.

    And of four chunks that are summed the last, or the first.
    """
    with SharedLowering() as lowering:
        found = trace_script(
            "-m", [COPIES, name, *hows.split()], launch=False, arch="sm_90a", cwd=str(ROOT), lowering=lowering
        )
    reports = [report for _, report in judge(found).reports if report is not None]
    notes = [one for report in reports for one in report.findings if one.code == "LC203"]
    assert [one.evidence["left_elements"] for one in notes] == left
    assert all(one.severity == "note" for one in notes)


@pytest.mark.sweep
@pytest.mark.parametrize("one", list(kernels()), ids=lambda one: one.name)
def test_what_is_told(one: Kernel) -> None:
    with Lowering(order=check_module, products=check_products) as lowering:
        right = traced(one, 0, lowering)
        assert not right.wrong and not right.refused
        for how, answer in enumerate(one.told, 1):
            said = traced(one, how, lowering).beside(right, one.named)
            assert said == ("" if answer == "right" else answer), how
