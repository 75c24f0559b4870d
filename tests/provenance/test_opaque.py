"""Tensors whose coordinates rest on made-up extents say nothing; those of tiles do."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from layoutcheck.dsl.lowered.spaces import object_at
from layoutcheck.dsl.trace import trace_script
from layoutcheck.provenance import check_products
from layoutcheck.provenance.examine import opaque
from layoutcheck.provenance.judged import Names
from layoutcheck.provenance.tensors import Mode, Tensor
from layoutcheck.sources.mlir import Operation
from layoutcheck.sources.traced import OperandReport
from layoutcheck.sources.traced_module import TracedModule
from tests.lowering import SharedLowering

PROGRAM = Path(__file__).with_name("workspaces.py")


@pytest.mark.skipif(importlib.util.find_spec("cutlass") is None, reason="needs nvidia-cutlass-dsl")
def test_flat_regions_of_dynamic_tensors_have_no_rows_and_columns() -> None:
    """Stripes of fragments, as split-K keeps partial sums, and packed blocks; a tile out of order is told."""
    found: list[OperandReport] = []

    def look(module: TracedModule, lowered: str, problem: str) -> OperandReport:
        found.append(check_products(module, lowered, problem))
        return found[-1]

    with SharedLowering(copies=False, products=look) as lowering:
        trace_script(str(PROGRAM), launch=False, arch="sm_80", lowering=lowering)
    striped, exchanged, packed = found
    assert striped.findings == () and striped.followed == striped.products == 1
    assert striped.unchecked == (
        "where 16,384 of 16,384 bytes of results are stored:"
        " they are stored in no tensor that the kernel's arguments tell",
    )
    (finding,) = exchanged.findings
    assert finding.code == "LC604" and finding.evidence["differ"] == 2048
    assert packed.findings == () and packed.products == 0


def _followed(extent: int, pitch: int, guessed: bool = True) -> Any:
    """A block that stores 512 elements in a row, in a matrix of that many columns, and brings tiles of A.

    One instruction brings the first tile along k, another the last one, as behind a loop that is peeled.
    """
    known = {
        n: [Tensor(int(object_at(n)), 4, (Mode(1, 4 * pitch, 64), Mode(0, 4, extent)), 2, True, guessed)]
        for n in (1, 3)
    }
    tile = object_at(1) + 4 * (pitch * np.arange(16)[:, None] + np.arange(8))[None]
    b = SimpleNamespace(labels=0 * tile)
    tiles = [SimpleNamespace(labels=tile), SimpleNamespace(labels=tile + 4 * (extent - 8))]
    row = object_at(3) + 4 * np.arange(256)
    stored = [SimpleNamespace(op=op, block=0, at=row + 1024 * i) for i, op in enumerate(STORES)]
    return SimpleNamespace(
        executions=[
            SimpleNamespace(op=op, block=0, a=a, b=b) for op, a in zip(MULTIPLY, tiles, strict=True)
        ],
        replay=SimpleNamespace(stored=stored), names=Names(known),
    )  # fmt: skip


MULTIPLY = [Operation("nvvm.mma.sync") for _ in range(2)]
STORES = [Operation("llvm.store") for _ in range(2)]


def test_elements_that_move_with_the_extents_are_not_those_of_a_tile() -> None:
    """Each store alone fills one row of 256: only together do they go on in the next one."""
    assert opaque(_followed(256, 256), _followed(384, 384)) == {3}
    assert opaque(_followed(512, 512), _followed(768, 768)) == frozenset()  # it ends before the guess does
    assert opaque(_followed(256, 256, False), _followed(384, 384, False)) == frozenset()
