"""The kernels of today, roles and styles: the right ones are silent, and each fault is told as its code."""

from __future__ import annotations

import ast
import sys
from pathlib import Path
from typing import Any

import pytest

from layoutcheck.dsl.trace import trace_script
from layoutcheck.order import check_module
from tests.lowering import SharedLowering

pytest.importorskip("cutlass", reason="kernels are traced through the installed DSL")
pytestmark = pytest.mark.skipif(sys.version_info < (3, 11), reason="lines of calls need Python 3.11")


def written(module: str, name: str) -> object:
    """What a script of kernels says of itself, without being run."""
    tree = ast.parse(Path(__file__).with_name(f"{module}.py").read_text())
    return next(
        ast.literal_eval(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == name
    )


@pytest.mark.sweep
@pytest.mark.parametrize(
    ("module", "arch"),
    [
        ("today", "sm_90a"),
        ("today", "sm_100a"),
        ("roles", "sm_90a"),
        ("styles", "sm_90a"),
        ("styles", "sm_100a"),
    ],
)
def test_what_is_told(module: str, arch: str) -> None:
    told: Any = written(module, "TOLD")
    others: Any = written(module, "SM100") if module != "roles" else ()
    names = [name for name in told if (name in others) == (arch == "sm_100a")]
    with SharedLowering(copies=False, order=check_module) as lowering:
        trace = trace_script(
            "-m", [f"tests.order.{module}", *names], launch=False, arch=arch, timeout_s=500, lowering=lowering
        )
    assert not trace.failures
    orders = iter(trace.orders)
    for name in names:
        right = next(orders)
        assert right.problem == "" and not [f for f in right.findings if f.severity == "wrong"], name
        for how, code in enumerate(told[name], 1):
            found = {finding.code for finding in next(orders).findings}
            assert (code in found) if code else not found, (name, how)
    assert not list(orders)
