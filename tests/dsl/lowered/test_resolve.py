"""Copies whose layouts cannot be followed, judged by the addresses of the compiler's own lowering."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from layoutcheck.check import Report
from layoutcheck.dsl.lowered.resolve import Lowering
from layoutcheck.dsl.trace import trace_script
from layoutcheck.judge import judge_traced
from layoutcheck.reports.style import Style
from layoutcheck.reports.trace import render, summary
from layoutcheck.settings import LOWERED, Settings, find, wants_lowered
from layoutcheck.sources.trace_lines import from_lines, to_lines
from layoutcheck.sources.traced import Trace
from layoutcheck.tracing import judge
from tests.dsl.lowered.conftest import Traced
from tests.dsl.lowered.modules import ADDRESSES, UNVERIFIABLE
from tests.environment import python_path
from tests.lowering import SharedLowering

cutlass = pytest.importorskip("cutlass", reason="the CuTe DSL (nvidia-cutlass-dsl) is not installed")

NAMES = ("clean", "pairs", "pitch", "misaligned", "outside", "race", "same", "apart",
         "promised", "short", "gathered")  # fmt: skip
FOUND = {
    "pairs": {"LC302"},
    "pitch": {"LC301"},
    "misaligned": {"LC202"},
    "outside": {"LC204"},
    "race": {"LC210"},
    "same": {"LC301"},  # lanes of a cp.async that write one address take turns (docs/banks.md)
    "apart": {"LC302"},
    "short": {"LC202"},
}


@pytest.fixture(scope="module")
def trace(traced: Traced) -> Trace:
    found = traced(ADDRESSES)
    assert not found.failures and len(found.copies) == len(NAMES), found.failures
    return found


def reports(trace: Trace) -> dict[str, Report]:
    found = {}
    for name, one in zip(NAMES, trace.copies, strict=True):
        report = judge_traced(one, fixes_for=())
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
    short = found["short"]
    assert short and (short.where.thread, short.evidence["address"], short.evidence["width_bytes"]) == (
        1,
        24,
        16,
    )
    assert pitch and (pitch.evidence["ways"], pitch.evidence["rests_on"]) == (4, "static")
    assert off and (off.where.thread, off.evidence["address"], off.evidence["width_bytes"]) == (1, 24, 16)
    assert outside and (outside.where.thread, outside.evidence["shared_bytes"]) == (1, 32 * 128 * 2)
    assert outside.evidence["address"] == 32 * 128 * 2
    assert race and (race.where.thread, race.evidence["other_thread"]) == (0, 1)
    assert apart and (apart.evidence["sectors"], apart.evidence["ideal_sectors"]) == (128, 64)


def test_data_is_not_known_and_said_so(trace: Trace) -> None:
    known_by = [one.address_source for one in trace.copies]
    assert known_by == ["lowered"] * (len(NAMES) - 1) + ["types"]
    assert "each thread loads" in trace.copies[-1].missing
    judged = judge(trace)
    counts = summary(judged)["pictures"]
    assert counts == {"layouts": 0, "lowered": len(NAMES) - 1, "types": 1}
    told = " ".join(render(judged, Style()).split())
    assert f"{len(NAMES) - 1} by the compiler's lowering; for one thread, by types only: 1" in told


def test_a_trace_is_read_back_with_its_addresses(trace: Trace) -> None:
    assert from_lines(to_lines(trace)).copies == trace.copies


def test_a_program_that_is_not_changed_hears_of_its_addresses(tmp_path: Path) -> None:
    (tmp_path / "addresses.py").write_text(ADDRESSES)
    code = "import sys, runpy, layoutcheck.auto; runpy.run_path(sys.argv[0], run_name='__main__')"
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.argv = ['addresses.py', 'misaligned']; {code}"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": python_path(), "CUTE_DSL_ARCH": "sm_90a"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert "wrong[LC202]" in done.stderr
    assert "for all threads: 1 by the compiler's lowering order" in " ".join(done.stderr.split())


def test_one_setting_is_heard_everywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool.layoutcheck]\nlowered = false\n")
    assert wants_lowered(Settings()) and not wants_lowered(find(tmp_path))
    monkeypatch.setenv(LOWERED, "1")
    assert wants_lowered(find(tmp_path))
    monkeypatch.setenv(LOWERED, "0")
    assert not wants_lowered(Settings())


def test_a_module_is_lowered_once_and_time_is_limited(trace: Trace) -> None:
    one = trace.copies[0]
    bare = type(one)(one.copy, one.operation, one.where, one.stack, one.kernel, one.arch, missing="m")
    with Lowering(seconds=0.0) as lowering:
        for _ in range(2):  # no module, which costs time all the same
            (found,) = lowering.resolve("none", [bare], "sm_90a")
            assert found.missing.startswith("m; lowered: the module does not verify")
        (late,) = lowering.resolve("another", [bare], "sm_90a")
        assert late.missing == "m; lowered: lowering all of them takes more than 0 s"


def test_without_a_dsl_to_ask_the_types_stand(trace: Trace) -> None:
    with SharedLowering() as lowering:
        lowering.problem = "the CuTe DSL is not installed"
        one = trace.copies[0]
        bare = type(one)(one.copy, one.operation, one.where, one.stack, one.kernel, one.arch, missing="m")
        (found,) = lowering.resolve("", [bare], "sm_90a")
    assert (found.address_source, found.missing) == ("types", "m; lowered: the CuTe DSL is not installed")


def test_what_the_dsl_compiles_is_lowered_though_it_does_not_verify(tmp_path: Path) -> None:
    """The DSL runs its passes without the verifier, so that a bulk copy of a misaligned source compiles."""
    script = tmp_path / "bulk.py"
    script.write_text(UNVERIFIABLE)
    with SharedLowering() as lowering:
        (one,) = trace_script(
            str(script), launch=False, arch="sm_90a", timeout_s=100, lowering=lowering
        ).copies
    assert one.address_source == "lowered"
    report = judge_traced(one, fixes_for=())
    assert report is not None
    (found,) = (f for f in report.findings if f.code == "LC220")
    assert found.severity == "wrong"
