"""What a copy is compiled for, and which machines may run it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from layoutcheck.gpu.confirm import _for_machine
from layoutcheck.gpu.outcome import Task
from layoutcheck.gpu.prepare import Prepared, target
from layoutcheck.sources.request import build

OLD = build("(8):(1)", "(8):(1)", "cp.async", bits=128, dtype="bf16", arch="sm_80")[0]
LDMATRIX = build(
    '!cute.memref<i8, smem, align<16>, "((16,1),1):((1,0),0)">',
    '!cute.memref<i8, rmem, align<32>, "((16,1),1):((1,0),0)">',
    "ldmatrix.x1",
    arch="sm_100a",
)[0]


@pytest.mark.parametrize(
    ("machine", "expected"),
    [(None, "sm_80"), ("sm_90", "sm_90a"), ("sm_86", "sm_86"), ("sm_100a", "sm_100a")],
)
def test_a_copy_is_compiled_for_the_machine_that_runs_it(machine: str | None, expected: str) -> None:
    assert target(OLD, machine) == expected


def test_an_instruction_that_the_machine_lacks_is_compiled_for_the_copys_own() -> None:
    newer = replace(LDMATRIX, atom=replace(LDMATRIX.atom, mode=(16, 16)))
    assert target(newer, "sm_90") == "sm_100a"
    assert target(newer, None) == "sm_100a"


@pytest.mark.parametrize(
    ("compiled", "machine", "runs"),
    [
        ("sm_90a", "sm_90", True),
        ("sm_80", "sm_90", True),
        ("sm_100a", "sm_90", False),
        ("sm_90a", "sm_100", False),
        ("sm_90", "sm_80", False),
    ],
)
def test_only_what_the_machine_understands_is_run(compiled: str, machine: str, runs: bool) -> None:
    one = Prepared("x", OLD, "legal", (), "accepted", Task(OLD, "", ()), "", compiled)
    found = _for_machine(one, machine)
    assert (found.task is not None) == runs
    assert runs or machine[:5] in found.note
