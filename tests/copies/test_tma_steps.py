"""Coordinates of a TMA copy that step by more than one element along dimension 0, which a box does not."""

from __future__ import annotations

import pytest

import layoutcheck as lc

ATOM = (
    "!cute_nvgpu.atom.tma_load<f16, copy_bits = 65536, mode = tiled, num_cta = 1, "
    'g_stride = <"()"> tma_gbasis = <"{basis}">>'
)
HERE = '!cute.memref<f16, smem, align<1024>, S<3,4,3>, "((4096,2),(1)):((1,4096),(0))">'


def _codes(coordinates: str, basis: str = "(64,64):(1@0,1@1)") -> set[str]:
    there = f'!cute.coord_tensor<"(0,?)", "{coordinates}">'
    report = lc.check(there, HERE, ATOM.format(basis=basis), arch="sm_90a")
    return {one.code for one in report.findings if one.severity == "wrong"}


@pytest.mark.parametrize("rest", ["65536@0", "?{i64 div=8192}@0", "64@1", "?@1"])
@pytest.mark.parametrize(
    ("step", "codes"), [("1@0", set()), ("?@0", set()), ("2@0", {"LC232"}), ("?{i64 div=128}@0", {"LC232"})]
)
def test_a_box_takes_neighbours(step: str, codes: set[str], rest: str) -> None:
    """What DSL 4.8.1 makes of a K-major tensor and an MN-major tile, whatever leads to the next box."""
    assert _codes(f"(((64,64),2),(1)):((({step},1@1),{rest}),(0))") == codes


def test_modes_of_one_dimension() -> None:
    """Scale factors as CUTLASS loads them on sm_103: two run-time steps lie within one box."""
    there = '!cute.coord_tensor<"(0,?,?)", "(((16,32,3),1),(1)):(((1@0,?@1,?@1),0),(0))">'
    here = '!cute.memref<i8, smem, align<512>, "((1536,1),(1)):((1,0),(0))">'
    atom = ATOM.replace("<f16", "<i8").replace("65536", "12288").format(basis="(16,(32,3)):(1@0,(1@1,1@1@1))")
    assert lc.check(there, here, atom, arch="sm_100a").verdict == "legal"
