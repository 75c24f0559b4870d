"""Copies whose layouts cannot be followed, judged by the addresses of the compiler's own lowering."""

from __future__ import annotations

import pytest

from layoutcheck.api import check_traced
from layoutcheck.check import Report
from layoutcheck.dsl.lowered.settle import Lowering
from layoutcheck.dsl.trace import trace_script
from layoutcheck.reports.style import Style
from layoutcheck.reports.traced import render, summary
from layoutcheck.sources.traced import Trace, from_lines, to_lines
from layoutcheck.tracing import judge

cutlass = pytest.importorskip("cutlass", reason="the CuTe DSL (nvidia-cutlass-dsl) is not installed")

# One kernel a case: every thread copies 8 values from global to shared memory, from and to where it says.
SCRIPT = """import sys
import cutlass
from cutlass import cute
from cutlass.cute.runtime import make_fake_tensor
CASES = {
    "clean": lambda t, _: (t * 8, t * 8),
    "pairs": lambda t, _: (t * 16, t * 8),
    "pitch": lambda t, _: (t * 8, t * 32),
    "misaligned": lambda t, _: (t * 8, t * 12),
    "outside": lambda t, _: (t * 8, 32 * 128 - 8 + t * 8),
    "race": lambda t, _: (t * 8, t // 2 * 8),
    "same": lambda t, _: (t // 2 * 8, t // 2 * 8),
    "apart": lambda t, _: (t * 64, t * 8),
    "gathered": lambda t, index: (index[t], t * 8),
}
def places(case, t, index):
    return CASES[case](t, index)
def view(tensor, at, space):
    address = tensor.iterator.toint() + at * 2
    pointer = cute.make_ptr(cutlass.BFloat16, address, space, assumed_align=16)
    return cute.make_tensor(pointer, cute.make_layout((8, 1)))
@cute.kernel
def k(a: cute.Tensor, index: cute.Tensor, case: cutlass.Constexpr):
    tid = cute.arch.thread_idx()[0]
    s = cutlass.utils.SmemAllocator().allocate_tensor(cutlass.BFloat16, cute.make_layout(32 * 128), 128)
    source, target = places(case, tid, index)
    atom = cute.make_copy_atom(cute.nvgpu.cpasync.CopyG2SOp(), cutlass.BFloat16, num_bits_per_copy=128)
    cute.copy(
        atom, view(a, source, cute.AddressSpace.gmem), view(s, target, cute.AddressSpace.smem)
    )
@cute.jit
def host(a: cute.Tensor, index: cute.Tensor, case: cutlass.Constexpr):
    k(a, index, case).launch(grid=[1, 1, 1], block=[128, 1, 1])
if __name__ == "__main__":
    a = make_fake_tensor(cutlass.BFloat16, (1 << 16,), stride=(1,), assumed_align=16)
    index = make_fake_tensor(cutlass.Int32, (128,), stride=(1,), assumed_align=16)
    for case in CASES:
        cute.compile(host, a, index, case)
"""
NAMES = ("clean", "pairs", "pitch", "misaligned", "outside", "race", "same", "apart", "gathered")
FOUND = {
    "pairs": {"LC302"},
    "pitch": {"LC301"},
    "misaligned": {"LC202"},
    "outside": {"LC204"},
    "race": {"LC210"},
    "same": {"LC301"},  # lanes of a cp.async that write one address take turns (docs/banks.md)
    "apart": {"LC302"},
}


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Trace:
    script = tmp_path_factory.mktemp("settle") / "addresses.py"
    script.write_text(SCRIPT)
    with Lowering() as lowering:
        found = trace_script(str(script), launch=False, arch="sm_90a", timeout_s=100, lowering=lowering)
    assert not found.failures and len(found.copies) == len(NAMES), found.failures
    return found


def reports(trace: Trace) -> dict[str, Report]:
    found = {}
    for name, one in zip(NAMES, trace.copies, strict=True):
        report = check_traced(one, fixes=False)
        assert report is not None
        found[name] = report
    return found


def test_each_fault_is_found_and_nothing_else(trace: Trace) -> None:
    for name, report in reports(trace).items():
        assert {f.code for f in report.findings if f.severity != "note"} == FOUND.get(name, set()), name
        codes = FOUND.get(name, set())
        wanted = "legal" if not codes else "wrong" if min(codes) < "LC3" else "slow"
        assert report.verdict == wanted, name


def test_the_numbers_are_those_of_the_kernel(trace: Trace) -> None:
    """A 64 B pitch puts the 8 lanes of a phase in 2 banks' groups: 4 ways; 12 values are 24 B."""
    found = {
        name: {f.code: f for f in report.findings}.get(next(iter(FOUND.get(name, {""}))))
        for name, report in reports(trace).items()
    }
    pitch, off, outside, race, apart = (
        found[name] for name in ("pitch", "misaligned", "outside", "race", "apart")
    )
    assert pitch and (pitch.evidence["ways"], pitch.evidence["rests_on"]) == (4, "static")
    assert off and (off.where.thread, off.evidence["address"], off.evidence["width_bytes"]) == (1, 24, 16)
    assert outside and (outside.where.thread, outside.evidence["shared_bytes"]) == (1, 32 * 128 * 2)
    assert outside.evidence["address"] == 32 * 128 * 2
    assert race and (race.where.thread, race.evidence["other_thread"]) == (0, 1)
    assert apart and (apart.evidence["sectors"], apart.evidence["ideal_sectors"]) == (128, 64)


def test_data_is_not_known_and_said_so(trace: Trace) -> None:
    pictures = [one.picture for one in trace.copies]
    assert pictures == ["lowered"] * (len(NAMES) - 1) + ["types"]
    assert "each thread loads" in trace.copies[-1].missing
    judged = judge(trace)
    counts = summary(judged)["pictures"]
    assert counts == {"layouts": 0, "lowered": len(NAMES) - 1, "types": 1}
    told = " ".join(render(judged, Style()).split())
    assert f"{len(NAMES) - 1} by the compiler's lowering; for one thread, by types only: 1" in told


def test_a_trace_is_read_back_with_its_addresses(trace: Trace) -> None:
    assert from_lines(to_lines(trace)).copies == trace.copies


def test_without_a_dsl_to_ask_the_types_stand(trace: Trace) -> None:
    with Lowering() as lowering:
        lowering.problem = "the CuTe DSL is not installed"
        one = trace.copies[0]
        bare = type(one)(one.copy, one.operation, one.where, one.stack, one.kernel, one.arch, missing="m")
        (found,) = lowering.settle("", [bare], "sm_90a")
    assert (found.picture, found.missing) == ("types", "m; lowered: the CuTe DSL is not installed")
