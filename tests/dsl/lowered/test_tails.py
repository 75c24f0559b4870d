"""Random kernels with tails, predicates and offsets: out of bounds exactly where brute force says."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from layoutcheck.dsl.lowered.resolve import Lowering
from layoutcheck.dsl.trace import trace_script
from layoutcheck.sources.traced import Trace
from tests.dsl.lowered.tails import Spec, faults, generate

pytest.importorskip("cutlass", reason="the CuTe DSL (nvidia-cutlass-dsl) is not installed")

COUNT, PART = 2000, 100


@pytest.mark.sweep
@pytest.mark.parametrize("first", range(0, COUNT, PART))
def test_random_tails(first: int, tmp_path: Path) -> None:
    """Block, thread and byte of an access outside where there is one; else nothing."""
    specs = [generate(seed) for seed in range(first, first + PART)]
    wrong, differ = compared(specs, tmp_path)
    print(f"seeds {first} to {first + PART - 1}: {PART} kernels, {wrong} outside, {len(differ)} differ")
    assert not differ, differ[:5]
    assert wrong


def compared(specs: list[Spec], folder: Path) -> tuple[int, list[str]]:
    """How many leave their tensor, and where prediction and brute force differ."""
    listed = folder / "specs.json"
    listed.write_text(json.dumps(specs))
    with Lowering() as lowering:
        found = trace_script(
            "-m", ["tests.dsl.lowered.tail_kernels", str(listed)], launch=False, arch="sm_90a",
            timeout_s=900, cwd=str(Path(__file__).parents[3]), lowering=lowering,
        )  # fmt: skip
    assert not found.failures, found.failures
    wrong, differ = 0, []
    for spec, one in zip(specs, predicted(found, specs), strict=True):
        expected = faults(spec)
        wrong += bool(expected)
        if one not in (expected or {None}):
            differ.append(f"{spec}: {one}, not one of {len(expected)}")
    return wrong, differ


def predicted(found: Trace, specs: list[Spec]) -> list[tuple[str, int, int] | str | None]:
    """Of each specification: (block, thread, byte) of its fault, why it is not judged, or None for none."""
    out: list[tuple[str, int, int] | str | None] = []
    copies, elements = iter(found.copies), {one.kernel: one for one in found.elements}
    assert len(found.kernels) == len(specs)
    for spec, kernel in zip(specs, found.kernels, strict=True):
        fault: tuple[str, int, int] | str | None = None
        if spec["mode"] == "element":
            report = elements[kernel.name]
            for one in report.findings:
                if one.code == "LC204":
                    fault = one.evidence["block"], one.evidence["thread"], one.evidence["address"]
            fault = str(report.unchecked) if report.unchecked else fault
        else:
            copy = next(copies)
            assert kernel.copies == 1
            for beyond in copy.addresses.faults if copy.addresses is not None else ():
                if beyond.kind == "beyond":
                    fault = beyond.block, beyond.thread, beyond.address
            fault = copy.unbounded or fault
        out.append(fault)
    return out
