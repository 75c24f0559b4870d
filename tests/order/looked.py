"""The kernels of a script of this folder, each with its lowered module and the check of its order."""

from __future__ import annotations

from pathlib import Path

from layoutcheck.dsl.lowered.resolve import Lowering
from layoutcheck.dsl.trace import trace_script
from layoutcheck.order import check_module
from layoutcheck.sources.traced import OrderReport
from layoutcheck.sources.traced_module import TracedModule


def looked(script: Path) -> list[tuple[TracedModule, str, OrderReport]]:
    """In the order in which they are built for sm_90a; no run of the script may fail."""
    seen: list[tuple[TracedModule, str, OrderReport]] = []

    def look(module: TracedModule, lowered: str, problem: str) -> OrderReport:
        seen.append((module, lowered, check_module(module, lowered, problem)))
        return seen[-1][2]

    with Lowering(copies=False, order=look) as lowering:
        found = trace_script(str(script), launch=False, arch="sm_90a", timeout_s=120, lowering=lowering)
    assert not found.failures, found.failures
    return seen
