"""Pipelines with and without a fault (pipelines.py): each broken variant is told, no right one is."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from layoutcheck.dsl.lowered.resolve import Lowering
from layoutcheck.dsl.trace import trace_script
from layoutcheck.order import check_module

NAMES = ["stages", "store_ring", "persistent", "to_and_fro", "tail_groups", "initialised",
         "staged_epilogue", "one_lane", "cluster_ring"]  # fmt: skip


def test_every_kernel_is_named() -> None:
    tree = ast.parse(Path(__file__).with_name("pipelines.py").read_text())
    kernels = [f.name for f in tree.body if isinstance(f, ast.FunctionDef) and "kernel" in ast.dump(f)]
    assert [name for name in kernels if name in NAMES] == NAMES


@pytest.mark.sweep
def test_broken_variants_are_told_and_right_ones_are_not() -> None:
    pytest.importorskip("cutlass", reason="kernels are traced through the installed DSL")
    from tests.order.pipelines import TOLD

    with Lowering(copies=False, order=check_module) as lowering:
        trace = trace_script(
            "-m", ["tests.order.pipelines"], launch=False, arch="sm_90a", timeout_s=500, lowering=lowering
        )
    assert trace.failures == ()
    found = {order.kernel.rpartition("Ptrgmem_")[2]: order for order in trace.orders}
    assert len(found) == sum(len(codes) + 1 for codes, _, _ in TOLD.values())
    missed, alarms = [], []
    for name, (codes, _, _) in TOLD.items():
        for how, code in enumerate(("", *codes)):
            order = found[f"{name}_{how}"]
            assert order.problem == "" and order.events > 0, (name, how, order.problem)
            told = [f.code for f in order.findings if f.severity == "wrong" or f.code == "LC524"]
            if how and not any(re.fullmatch(code, one) for one in told):
                missed.append((name, how, code, told))
            if not how and told:
                alarms.append((name, told))
    assert not missed and not alarms
