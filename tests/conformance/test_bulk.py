"""Bulk copies, DSMEM stores and 4-bit ldmatrix against the installed DSL: its verifier, and the PTX it emits.

By default 1,500 verdicts and 30 lowered copies; `-m sweep` takes 60,000 and 3,000.
"""

from __future__ import annotations

import random
from collections import Counter

import pytest

from layoutcheck.analysis import Analysis
from layoutcheck.atoms.compiler import predict_verifier
from layoutcheck.atoms.matrix import LdMatrix
from layoutcheck.copies.copy import Copy
from layoutcheck.dsl.lower import lower
from layoutcheck.dsl.session import Session
from layoutcheck.dsl.verifier import verify
from layoutcheck.machine.dtypes import dtype
from layoutcheck.rules.bulk import run_of_v
from layoutcheck.sources.request import build
from tests.conformance import drawn
from tests.conformance.emitted import differences
from tests.conformance.generate_bulk import random_copy
from tests.conformance.ptx_sweep import compare, small, text
from tests.miscompiles import memref

cutlass = pytest.importorskip("cutlass", reason="the CuTe DSL (nvidia-cutlass-dsl) is not installed")

# What the DSL's own algebra rounds in a composition that has no answer; its common run is then another.
ROUNDED = 1e-4


def verdicts(session: Session, count: int, seed: int) -> Counter:
    rng = random.Random(seed)
    copies = [random_copy(rng) for _ in range(count)]
    seen: Counter = Counter()
    wrong = []
    for copy, theirs in zip(copies, verify(copies, session=session, bare=True), strict=True):
        ours = predict_verifier(copy)
        seen[type(copy.atom).__name__, ours.outcome, ours.kind] += 1
        if ours.outcome != theirs.outcome or (ours.outcome == "rejected" and ours.message != theirs.message):
            wrong.append(f"{copy.atom}\n  {copy.src}\n  {copy.dst}\n  {ours.message}\n  {theirs.message}")
    print(f"{count} copies, {len(wrong)} disagree")
    assert len(wrong) <= count * ROUNDED, "\n".join(wrong[:5])
    return seen


def test_every_verdict(dsl):
    seen = verdicts(dsl, 1_500, 1)
    kinds = {kind for _, _, kind in seen}
    assert {
        "",
        "bulk_minimum",
        "bulk_width",
        "bulk_grain",
        "space",
        "mode_size",
        "static_strides_one",
    } <= kinds
    for family in ("BulkCopy", "DsmemStore"):
        assert seen[family, "accepted", ""] >= 50


@pytest.mark.sweep
def test_sweep_verdicts(dsl):
    print(verdicts(dsl, 60_000, 2))


@pytest.mark.parametrize(("seed", "count"), [(3, 16), pytest.param(4, 3000, marks=pytest.mark.sweep)])
def test_what_is_emitted(dsl, seed, count):
    """Every copy's PTX does what `execution` says; where it says that the compiler fails, it fails."""
    seen, differ = compare(small(drawn.bulk, random.Random(seed), 256, count), random.Random(seed), dsl)
    print(seen)
    assert not differ, "\n".join(text(*one) for one in differ[:5])
    assert seen["BulkCopy", "agrees"] >= count // 3 and seen["DsmemStore", "agrees"] >= count // 8


# Two layouts whose modes overlap, and the elements that they keep together in this order and in the other.
ORDERED = [
    ("(4,4,16):(1,1,4)", "(4,4,16):(4,1,0)", 4, 1),
    ("(6,8,8):(1,96,6)", "(6,8,8):(1,6,6)", 6, 48),
    ("(16,6):(6,1)", "(16,6):(1,1)", 1, 6),
    ("(16,16):(1,1)", "(16,16):(16,1)", 16, 1),
    ("(4,1,16):(1,8,1)", "(4,1,16):(2,64,1)", 16, 1),
    ("(8,4,16):(1,128,1)", "(8,4,16):(16,8,1)", 16, 1),
]


def test_the_common_run_is_of_source_and_destination_in_this_order(dsl):
    copies, runs = [], []
    for src, dst, run, turned in ORDERED:
        for sides, expected in (((src, dst), run), ((dst, src), turned)):
            gmem, smem = (f"({text.replace(':', '):(')})" for text in sides)
            made = build(
                f'!cute.memref<i8, gmem, align<128>, "{gmem}">',
                f'!cute.memref<i8, smem, align<128>, "{smem}">',
                "bulk.g2s",
                bits=128,
            )
            copies.append(made[0])
            runs.append(expected)
    taken = []
    for copy, run, said in zip(copies, runs, verify(copies, session=dsl, bare=True), strict=True):
        assert run_of_v(Analysis(copy)) == run
        assert said.accepted == (run % 16 == 0)
        assert said.accepted or said.message.endswith(f"max possible copy bits ({8 * run})")
        taken += [copy] if said.accepted else []
    assert len(taken) == 4
    for i, (copy, lowered) in enumerate(zip(taken, lower(taken, "sm_100a", session=dsl), strict=True)):
        assert differences(lowered.ptx, copy, random.Random(i)) is None


@pytest.mark.parametrize("count", [1, 2, 4])
def test_four_bit_ldmatrix(dsl, count):
    """ldmatrix moves rows of 16 bytes, whatever they hold: 32 elements of 4 bits."""
    n = 8 * count
    src = memref("f4E2M1FN smem align<16> S<2,4,3> ((32,1),2):((1,0),4096)")
    dst = memref(f"f4E2M1FN rmem align<16> (({n},1),2):((1,0),{n})")
    copy = Copy(LdMatrix(dtype("f4E2M1FN"), count), src, dst)
    assert differences(lower([copy], session=dsl)[0].ptx, copy, random.Random(count)) is None
