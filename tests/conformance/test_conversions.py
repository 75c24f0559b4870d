"""What threads convert in registers is what the DSL compiles."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest

from layoutcheck.machine.arch import parse_arch
from layoutcheck.machine.conversions import converts
from layoutcheck.machine.dtypes import class_name, dtype
from tests.forking import printed

pytest.importorskip("cutlass", reason="needs nvidia-cutlass-dsl, the judge of these tests")

WHOLE = ("f64", "f32", "tf32", "f16", "bf16")
BYTES = ("f8E4M3FN", "f8E5M2", "f8E8M0FNU", "f8E4M3")
INTEGERS = ("ui8", "i16", "i32", "i64", "ui32")


def disagreements(arch: str, pairs: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """The pairs of which the DSL says something else."""
    asked = json.dumps([[class_name(dtype(name)) for name in pair] for pair in pairs])
    told = printed("-m", "tests.conformance.conversions", arch, arch=arch, given=asked)
    answers = [json.loads(line) for line in told.splitlines()]
    assert len(answers) == len(pairs)
    return [
        (a, b)
        for (a, b), answer in zip(pairs, answers, strict=True)
        if converts(dtype(a), dtype(b), parse_arch(arch)) != answer
    ]


def test_bytes_of_floats_are_converted_where_the_architecture_has_it() -> None:
    pairs = [
        ("f32", "f8E4M3FN"), ("f8E5M2", "bf16"), ("f8E4M3FN", "f8E5M2"), ("f32", "f8E8M0FNU"),
        ("i32", "f8E4M3FN"), ("f16", "f8E4M3"), ("f8E4M3", "f32"), ("ui8", "bf16"),
    ]  # fmt: skip
    assert disagreements("sm_90a", pairs) == []
    assert disagreements("sm_80", pairs[:2]) == []


@pytest.mark.sweep
@pytest.mark.parametrize("arch", ["sm_80", "sm_89", "sm_90a", "sm_100", "sm_100a", "sm_120a"])
def test_every_pair_of_types(arch: str) -> None:
    every = (*WHOLE, *BYTES, *INTEGERS)
    pairs = [(a, b) for a in every for b in every if a != b]
    assert disagreements(arch, pairs) == []
    print(f"{arch}: {len(pairs)} conversions")
