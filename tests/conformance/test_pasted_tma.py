"""The code of TMA fixes, host part and kernel part, compiled by the DSL."""

from __future__ import annotations

import json
from typing import Any

import pytest

import layoutcheck as lc
from layoutcheck.atoms.tma.plan import gmem_side
from layoutcheck.fixes.code import dtype_code, layout_code
from tests.forking import printed
from tests.im2col_miscompiles import IM2COL_MISCOMPILES
from tests.rules.test_tma_rows import MISCOMPILES as ROW_MISCOMPILES
from tests.tma_miscompiles import TMA_MISCOMPILES

pytest.importorskip("cutlass", reason="the CuTe DSL is not installed")

TILES = ("box-skips", "t3", "t4", "short-rows-store")
CONVOLUTIONS = ("two-taps", "pitch", "wide-row")
ROWS = ("long-rows", "long-rows-store", "six-rows", "transposed")


def kernels(requests: list[tuple[str, dict[str, Any]]]) -> list[list[str]]:
    """What `pasted_tma` takes, of every TMA fix of the copies."""
    found = []
    for name, request in requests:
        report = lc.check(**request)
        for fix in report.fixes:
            if fix.strategy == "tma":
                copy = fix.copies[0]
                gmem = report.copy.side(gmem_side(copy))
                assert copy.tma is not None
                coord = f"({', '.join(['0'] * len(copy.tma.tiler))})"
                if copy.tma.im2col is not None:  # the DSL dies on a place known when it compiles
                    coord = "cute.arch.block_idx()[:2]"
                element = dtype_code(gmem.dtype).removeprefix("cutlass.")
                found.append([f"{name}: {fix.title}", element, layout_code(gmem.layout), coord, fix.code])
    return found


@pytest.mark.parametrize(
    ("arch", "requests"),
    [
        (
            "sm_90a",
            [
                *((name, TMA_MISCOMPILES[name][0]) for name in TILES),
                *((name, IM2COL_MISCOMPILES[name][0]) for name in CONVOLUTIONS),
            ],
        ),
        ("sm_100a", [(name, ROW_MISCOMPILES[name][0]) for name in ROWS]),
    ],
)
def test_the_code_compiles(arch: str, requests: list[tuple[str, dict[str, Any]]]) -> None:
    pasted = kernels(requests)
    lines = printed(
        "-m", "tests.conformance.pasted_tma", arch, arch=arch, given=json.dumps(pasted)
    ).splitlines()
    said = dict(json.loads(line) for line in lines if line.startswith("["))
    assert len(said) == len(pasted) >= len(requests)
    assert {name: error for name, error in said.items() if error is not None} == {}
