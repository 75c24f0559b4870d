"""The architecture that a program wants: in the DSL's words, and in those of tests that skip themselves."""

from __future__ import annotations

from typing import Any

import pytest

from layoutcheck import tracing
from layoutcheck.dsl.trace import Script
from layoutcheck.sources.traced import Kernel, Trace, TraceFailure
from layoutcheck.sources.wanted_arch import other_arch, wanted_arch, without_refusals

ONE_OF = "DSLUserCodeError: error: expects arch to be one of [base_dsl.Arch.sm_100a, base_dsl.Arch.sm_100f]"
ONE = "DSLUserCodeError: error: expects arch to be sm_90a, but got sm_100a --> a.py:3"
KERNELS = (Kernel("k", "sm_90a", 1),)
WANTS = TraceFailure("raised", "RuntimeError: GEMM requires SM100/SM110/SM120. Got 9.0.")
COMPLAINTS = [  # of programs that were run for sm_90a
    ("Only Blackwell GPUs (SM100/SM103) are supported, got compute capability sm_90.", "sm_100a"),
    ("AssertionError: current GPU: sm_90, but the kernel needs compute capability >= 10.0", "sm_100a"),
    ("Only SM 12.x is supported; this device is Hopper (SM90)", "sm_120a"),
    ("requires SM100, found a GPU of SM90", "sm_100a"),
    ("SM100 or SM90 have no such type", ""),
    ("compute capability 9.0 or compute capability 10.0", ""),
]


@pytest.mark.parametrize(("said", "arch"), [(ONE_OF, "sm_100a"), (ONE, "sm_90a"), ("expects sm_100a", "")])
def test_an_error_names_it(said: str, arch: str) -> None:
    assert wanted_arch(said) == arch


@pytest.mark.parametrize(
    ("trace", "other"),
    [
        (Trace(failures=(TraceFailure("uncompiled", ONE_OF),)), "sm_100a"),
        (Trace(kernels=KERNELS, failures=(TraceFailure("test", ONE_OF),)), "sm_100a"),
        (Trace(failures=(TraceFailure("uncompiled", ONE),)), ""),  # the one that it was run for
        (Trace(failures=(TraceFailure("timeout", ONE_OF),)), ""),
        (Trace(skipped=(("", "requires SM120/SM100"),)), "sm_100a"),
        (Trace(skipped=(("t", "Blackwell alone"), ("u", "two cards"))), "sm_100a"),
        (Trace(skipped=(("t", "SM90 or SM100"),)), ""),
        (Trace(skipped=(("t", "two cards"),)), ""),
        (Trace(kernels=KERNELS, skipped=(("t", "SM100"),)), ""),
        (Trace(failures=(TraceFailure("raised", "KeyError"),), skipped=(("t", "SM100"),)), ""),
        (Trace(failures=(WANTS,)), "sm_100a"),
        (Trace(kernels=KERNELS, failures=(WANTS,)), ""),
        (Trace(failures=(WANTS, TraceFailure("raised", "KeyError"))), ""),
        (Trace(failures=(TraceFailure("raised", "for SM90 and SM100"),)), ""),
        (Trace(failures=(TraceFailure("test", WANTS.message), WANTS)), "sm_100a"),
        (Trace(failures=(TraceFailure("test", WANTS.message), TraceFailure("test", "KeyError"))), ""),
        (Trace(failures=(TraceFailure("exited", WANTS.message),)), ""),
        *((Trace(failures=(TraceFailure("raised", said),)), arch) for said, arch in COMPLAINTS),
    ],
)
def test_a_program_asks_for_another(trace: Trace, other: str) -> None:
    assert other_arch(trace, "sm_90a") == other


def test_what_was_refused_for_the_architecture_goes() -> None:
    kept = TraceFailure("raised", "KeyError: 'sm_100a'")
    told = TraceFailure("uncompiled", ONE_OF)
    notes = ("this kernel is for another architecture: --arch sm_100a", "more")
    left = without_refusals(Trace(kernels=KERNELS, failures=(told, kept), notes=notes), "sm_90a")
    assert left == Trace(kernels=KERNELS, failures=(kept,), notes=("more",))
    assert without_refusals(Trace(failures=(WANTS,)), "sm_90a") == Trace()
    assert without_refusals(Trace(failures=(WANTS,)), "sm_100a").failures == (WANTS,)


def test_a_trace_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = Trace(failures=(TraceFailure("test", WANTS.message),))
    monkeypatch.setattr(tracing, "run_traced", lambda script: seen)

    def notes(**given: Any) -> tuple[str, ...]:
        return tracing.traced(Script("k.py", **given), lowered=False, order=False).trace.notes

    assert notes(launch=False) == ("this kernel is for another architecture: --arch sm_100a",)
    assert notes(launch=False, arch="sm_100a") == ()
    assert not any("architecture" in note for note in notes())
