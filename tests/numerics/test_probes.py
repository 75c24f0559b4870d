"""Probes: the published battery, what its defects hide, and identification of parameters from answers."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from layoutcheck.errors import InputError
from layoutcheck.numerics.battery import BATTERY
from layoutcheck.numerics.block_unit import Unit
from layoutcheck.numerics.probes import Probe, conclusions, identify, predict, probes, stacked, summary
from layoutcheck.numerics.units import unit


@cache
def _published(arch: str) -> list[tuple[Unit, Probe]]:
    shape = "m8n8k4" if arch == "sm_70" else "m16n8k16"
    units = [unit(f"mma.{shape}.{acc}.f16", arch) for acc in ("f32", "f16")]
    return [(u, probe) for u in units for probe in probes(u) if probe.printed is not None]


def _misses(arch: str, **change: object) -> list[str]:
    found = []
    for u, probe in _published(arch):
        answer = int(predict(u.with_rule(**change), [probe])[0])
        if answer != probe.printed:
            found.append(probe.name)
    return found


def test_ada_prints_what_the_battery_printed_26_of_26() -> None:
    assert len(_published("sm_89")) == len(BATTERY) == 26
    assert _misses("sm_89") == []


@pytest.mark.parametrize(
    ("arch", "misses"),
    [("sm_70", ["align.1", "norm.sub", "mono.2", "mono.1+"]), ("sm_80", []), ("sm_90", ["mono.2+"])],
)
def test_other_architectures_differ_where_their_kept_bits_do(arch: str, misses: list[str]) -> None:
    assert _misses(arch) == misses


def test_wrong_kept_bits_and_roundings_fail_the_battery() -> None:
    assert len(_misses("sm_89", fraction_bits=23)) >= 4
    assert _misses("sm_89", fraction_bits=25) == ["mono.2+"]
    assert "rnd.f16" in _misses("sm_89", rounding="RZ")


def test_the_battery_cannot_see_the_block_and_five_cases_see_nothing() -> None:
    for block in (4, 8, 16):
        assert _misses("sm_89", block=block) == []
    vacuous = [probe for _, probe in _published("sm_89") if probe.vacuous]
    assert len(vacuous) == 5
    for probe in vacuous:  # every product is zero or one: no bit is there to lose
        u = unit("mma.m16n8k16.f32.f16", "sm_89")
        terms = u.instruction.a.decode(probe.a) * u.instruction.b.decode(probe.b)
        assert set(terms.tolist()) <= {0.0, 1.0}


def test_the_repaired_vectors_see_what_those_meant() -> None:
    answers = {}
    for arch in ("sm_89", "sm_90"):
        u = unit("mma.m16n8k16.f32.f16", arch)
        chosen = [probe for probe in probes(u) if probe.name.startswith("fix.add5")]
        answers[arch] = predict(u, chosen).tolist()
    assert answers == {"sm_89": [0x3F800000] * 5, "sm_90": [0x3F800001] * 5}


def test_the_repaired_tie_tells_truncation_from_rounding() -> None:
    u = unit("mma.m16n8k16.f32.f16", "sm_89")
    ties = [probe for probe in probes(u) if probe.name.startswith(("rnd.1", "rnd.tie_odd"))]
    nearest = u.with_rule(rounding="RNE")
    changed = [
        p.name for p, x, y in zip(ties, predict(u, ties), predict(nearest, ties), strict=True) if x != y
    ]
    assert changed == ["rnd.tie_odd", "rnd.tie_odd-"]


@pytest.mark.parametrize(
    ("name", "arch"),
    [
        ("mma.m8n8k4.f32.f16", "sm_70"),
        ("mma.m16n8k16.f32.bf16", "sm_80"),
        ("mma.m16n8k16.f16.f16", "sm_90"),
        ("mma.m16n8k4.f32.tf32", "sm_90"),
        ("mma.m16n8k32.f16.e4m3", "sm_90"),
        ("wgmma.m64n8k32.f32.e4m3", "sm_90"),
    ],
)
def test_answers_identify_the_parameters(name: str, arch: str) -> None:
    u = unit(name, arch)
    chosen = probes(u)
    found = summary(identify(u, chosen, predict(u, chosen)))
    rule = u.rule
    assert found["fraction_bits"] == [str(rule.fraction_bits)]
    assert found["block"] == [str(rule.block)]
    assert found["rounding"] == [rule.rounding]
    assert found["precision"] == [str(rule.precision)]
    assert found["chain"] == ["halves from zero, c last" if u.add_c_last else "c first"]
    assert str(rule.anchor_floor) in found["anchor_floor"]
    # Products of f16 or FP8 inputs never come near f32's smallest steps: there the floor cannot be seen.
    half = rule.accumulator.bits == 16
    visible = u.instruction.a.name in (("f16",) if half else ("bf16", "tf32"))
    assert (len(found["anchor_floor"]) == 1) == visible


def test_the_battery_alone_leaves_the_block_open() -> None:
    u = unit("mma.m16n8k16.f32.f16", "sm_89")
    battery = [probe for probe in probes(u) if probe.printed is not None]
    found = summary(identify(u, battery, np.array([probe.printed for probe in battery], np.uint32)))
    assert found["fraction_bits"] == ["24"]
    assert found["rounding"] == ["RZ"]
    assert set(found["block"]) == {"4", "8", "16"}


def test_impossible_answers_identify_nothing() -> None:
    u = unit("mma.m16n8k16.f32.f16")
    chosen = probes(u, battery=False)
    answers = predict(u, chosen)
    answers[0] ^= 1
    assert identify(u, chosen, answers) == ()


def test_probes_of_another_length_are_input_errors() -> None:
    u = unit("mma.m16n8k16.f32.f16")
    with pytest.raises(InputError):
        identify(u, probes(u), np.zeros(3, np.uint32))
    with pytest.raises(InputError):
        stacked(u, [])


@pytest.mark.parametrize(("arch", "monotone"), [("sm_89", "no: a larger"), ("sm_90", "not refuted")])
def test_the_battery_says_what_it_shows_in_words(arch: str, monotone: str) -> None:
    """Report 003's open questions: carry bits, order, normalisation and monotonicity, as conclusions."""
    u = unit("mma.m16n8k16.f32.f16", arch)
    chosen = probes(u)
    told = conclusions(chosen, predict(u, chosen), u.rule.accumulator)
    assert told["monotone"].startswith(monotone)
    assert told["carry bits"] == "at least three"
    assert told["order of additions"].startswith("none")
    assert told["rounding of the sum"].startswith("towards zero")
    assert told["normalisation"] == "once, at the end"
    nearest = u.with_rule(rounding="RNE", align="RNE")
    assert (
        conclusions(chosen, predict(nearest, chosen), u.rule.accumulator)["rounding of the sum"]
        == "to nearest"
    )
    half = unit("mma.m16n8k16.f16.f16", arch)
    words = conclusions(probes(half), predict(half, probes(half)), half.rule.accumulator)
    assert words["rounding to f16"].startswith("to nearest")
