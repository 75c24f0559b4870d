"""The kernels of a script, each with its lowered module and the check of its order."""

from __future__ import annotations

from pathlib import Path

import pytest

from layoutcheck.dsl.trace import trace_script
from layoutcheck.order import check_module
from layoutcheck.sources.traced import OrderReport
from layoutcheck.sources.traced_module import TracedModule
from tests.lowering import SharedLowering


def looked(script: Path, arch: str = "sm_90a") -> list[tuple[TracedModule, str, OrderReport]]:
    """In the order in which they are built for `arch`, not judged; no run of the script may fail."""
    seen: list[tuple[TracedModule, str, OrderReport]] = []

    def look(module: TracedModule, lowered: str, problem: str) -> OrderReport:
        seen.append((module, lowered, check_module(module, lowered, problem)))
        return seen[-1][2]

    with SharedLowering(copies=False, order=look) as lowering:
        found = trace_script(str(script), launch=False, arch=arch, timeout_s=120, lowering=lowering)
    assert not found.failures, found.failures
    built = {id(order): number for number, order in enumerate(found.orders)}
    return sorted(seen, key=lambda one: built[id(one[2])])


def orders_of(kernels: str, folder: Path, count: int, arch: str = "sm_90a") -> tuple[OrderReport, ...]:
    """The checks of a script with this text, put into `folder`: so many, each of them followed."""
    pytest.importorskip("cutlass", reason="kernels are traced through the installed DSL")
    script = folder / "kernels.py"
    script.write_text(kernels)
    orders = tuple(report for *_, report in looked(script, arch))
    assert [order.problem for order in orders] == [""] * count
    return orders
