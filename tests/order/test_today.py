"""The kernels of today.py: the right ones are silent, and each fault is told as its code."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

from layoutcheck.dsl.trace import trace_script
from layoutcheck.order import check_module
from tests.lowering import SharedLowering

pytest.importorskip("cutlass", reason="kernels are traced through the installed DSL")
pytestmark = pytest.mark.skipif(sys.version_info < (3, 11), reason="lines of calls need Python 3.11")

TREE = ast.parse(Path(__file__).with_name("today.py").read_text())
TOLD, SM100 = (
    ast.literal_eval(node.value)
    for node in TREE.body
    if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) in ("TOLD", "SM100")
)


@pytest.mark.sweep
@pytest.mark.parametrize("arch", ["sm_90a", "sm_100a"])
def test_what_is_told(arch: str) -> None:
    names = [name for name in TOLD if (name in SM100) == (arch == "sm_100a")]
    with SharedLowering(copies=False, order=check_module) as lowering:
        trace = trace_script(
            "-m", ["tests.order.today", *names], launch=False, arch=arch, timeout_s=500, lowering=lowering
        )
    assert not trace.failures
    orders = iter(trace.orders)
    for name in names:
        right = next(orders)
        assert right.problem == "" and not [f for f in right.findings if f.severity == "wrong"], name
        for how, code in enumerate(TOLD[name], 1):
            found = {finding.code for finding in next(orders).findings}
            assert (code in found) if code else not found, (name, how)
    assert not list(orders)
