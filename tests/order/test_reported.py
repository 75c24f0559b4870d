"""Kernels with and without a fault, of public reports (reported.py) and of other kinds (more.py)."""

from __future__ import annotations

import linecache
import re
import sys
from pathlib import Path

import pytest

from layoutcheck.dsl.trace import trace_script
from layoutcheck.order import check_module
from layoutcheck.sources.traced import KernelFinding, OrderReport, Trace
from tests.lowering import SharedLowering

pytest.importorskip("cutlass", reason="kernels are traced through the installed DSL")
pytestmark = pytest.mark.skipif(sys.version_info < (3, 11), reason="lines of calls need Python 3.11")

SCRIPT = Path(__file__).with_name("reported.py")
# Of each kernel: code, words of the first line, words of the second.
TOLD = {
    name: (code, first, second)
    for name, code, first, second in re.findall(
        r'^    "(\w+)": Report\(\n.*\n        \("(LC\d+)", "(.*?)", "(.*?)"\)',
        SCRIPT.read_text(),
        re.MULTILINE,
    )
}


OTHERS = Path(__file__).with_name("more.py")
OTHERS_TOLD = {
    name: (code, first, second)
    for name, code, first, second in re.findall(
        r'^    "(\w+)": \("(LC\d+)", "(.*?)", "(.*?)", \d\),', OTHERS.read_text(), re.MULTILINE
    )
}
USUAL = [name for i, name in enumerate(TOLD) if i % 5 == 1]  # the others with the sweeps


@pytest.fixture(scope="module")
def traced(request: pytest.FixtureRequest) -> Trace:
    asked = {item.callspec.params["name"] for item in request.session.items if item.path == Path(__file__)
             and hasattr(item, "callspec")}  # fmt: skip
    with SharedLowering(copies=False, order=check_module) as lowering:
        return trace_script(
            "-m", ["tests.order.reported", *sorted(asked)], launch=False, arch="sm_90a", timeout_s=300,
            lowering=lowering,
        )  # fmt: skip


@pytest.fixture(scope="module")
def others() -> Trace:
    with SharedLowering(copies=False, order=check_module) as lowering:
        return trace_script(
            "-m", ["tests.order.more"], launch=False, arch="sm_90a", timeout_s=300, lowering=lowering
        )


def report(trace: Trace, name: str, how: int) -> OrderReport:
    """The report on one variant."""
    (found,) = [order for order in trace.orders if order.kernel.endswith(f"_{name}_{how}")]
    assert found.problem == "" and found.events > 0
    return found


def words(finding: KernelFinding) -> list[str]:
    """The lines of a finding, and of its callers."""
    return ["\n".join(linecache.getline(f.file, f.line) for f in (p.where, *p.stack)) for p in finding.places]


def test_every_report_has_a_kernel() -> None:
    assert len(TOLD) == SCRIPT.read_text().count(": Report(") >= 20


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name in USUAL else [pytest.mark.sweep]) for name in TOLD]
)
def test_it_is_told_before_the_fix_and_not_after(traced: Trace, name: str) -> None:
    code, first, second = TOLD[name]
    wanted = "note" if code > "LC519" else "wrong"
    found = [f for f in report(traced, name, 1).findings if f.code == code and f.severity == wanted]
    assert any(first in words(f)[0] and second in words(f)[:2][-1] for f in found), [f.title for f in found]
    after = report(traced, name, 0).findings
    assert not [f.title for f in after if f.severity == "wrong" or f.code == code]


@pytest.mark.sweep
@pytest.mark.parametrize("name", OTHERS_TOLD)
def test_other_kinds(others: Trace, name: str) -> None:
    code, first, second = OTHERS_TOLD[name]
    wanted = "note" if code > "LC519" else "wrong"
    found = [f for f in report(others, name, 1).findings if f.code == code and f.severity == wanted]
    assert any(first in words(f)[0] and second in words(f)[:2][-1] for f in found), [f.title for f in found]
    after = report(others, name, 0).findings
    assert not [f.title for f in after if f.severity == "wrong" or f.code == code]


def test_every_other_kernel_is_tested() -> None:
    assert len(OTHERS_TOLD) == OTHERS.read_text().count("@cute.kernel") >= 12
