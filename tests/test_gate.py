"""What the exit status promises: 0 only where all that was asked for was seen, and nothing is wrong."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from layoutcheck.dsl.trace import trace_script
from layoutcheck.errors import InputError
from layoutcheck.gate import DEFAULT, NO_GATE, Gate, gate
from layoutcheck.lint.finding import LintFinding
from layoutcheck.lint.result import Counts, Ran, Result
from layoutcheck.reports.trace import JudgedTrace, refusal
from layoutcheck.sources.traced import (
    UNCOMPILED,
    ElementReport,
    Frame,
    Kernel,
    KernelFinding,
    KernelPlace,
    OperandReport,
    OrderReport,
    Trace,
    TraceFailure,
)
from layoutcheck.tracing import judge, status
from tests.forking import traced_in_forks
from tests.lowering import SharedLowering

__all__ = ["traced_in_forks"]

KERNELS = """
import multiprocessing, unittest
import cutlass
import pytest
from cutlass import cute
from cutlass.cute.runtime import make_fake_tensor
@cute.kernel
def narrow(a: cute.Tensor):
    f = cute.make_rmem_tensor(cute.make_layout(4), cutlass.Float16)
    cute.copy(cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), cutlass.Float32), a, f)
@cute.kernel
def good(a: cute.Tensor):
    f = cute.make_rmem_tensor(cute.make_layout(4), cutlass.Float32)
    cute.autovec_copy(a, f)
    cute.autovec_copy(f, a)
@cute.jit
def refused(a: cute.Tensor):
    narrow(a).launch(grid=[1, 1, 1], block=[1, 1, 1])
@cute.jit
def fine(a: cute.Tensor):
    good(a).launch(grid=[1, 1, 1], block=[1, 1, 1])
@cute.jit
def behind(a: cute.Tensor):
    good(a).launch(grid=[1, 1, 1], block=[1, 1, 1])
@cute.jit
def own(a: cute.Tensor):
    raise ValueError("head dimension 4 is not supported")
TABLE = {}
@cute.jit
def of_a_table(a: cute.Tensor):
    look_up()
def look_up():
    try:
        TABLE[4]
    except KeyError:
        if True: raise ValueError("not supported")
@cute.kernel
def without_a_name(a: cute.Tensor):
    cute.copy(cute.no_such_name, a, a)
@cute.jit
def broken(a: cute.Tensor):
    without_a_name(a).launch(grid=[1, 1, 1], block=[1, 1, 1])
def view():
    return make_fake_tensor(cutlass.Float32, (4,), stride=(1,), assumed_align=16)
def test_refused():
    cute.compile(refused, view())
def test_refused_as_expected():
    with pytest.raises(TypeError):
        cute.compile(refused, view())
    cute.compile(fine, view())
def swallowed(function):
    try:
        cute.compile(function, view())
    except Exception:
        return
def test_swallowed():
    swallowed(broken)
def test_refused_by_the_program_itself():
    swallowed(own)
@cute.jit
def tuned(a: cute.Tensor, width: cutlass.Constexpr):
    if cutlass.const_expr(width == 3):
        cute.zipped_divide(a, (width, width, width))
    good(a).launch(grid=[1, 1, 1], block=[1, 1, 1])
def test_an_autotuner():
    for width in (3, 4):
        try:
            cute.compile(tuned, view(), width)
        except Exception:
            continue
def test_refused_by_the_program_behind_an_error():
    swallowed(of_a_table)
def test_none_of_several_is_built_as_expected():
    with pytest.raises(RuntimeError):
        swallowed(broken)
        raise RuntimeError("no configuration is left")
def test_skipped_behind_it():
    try:
        cute.compile(broken, view())
    except Exception:
        pytest.skip("not here")
class TestExpected(unittest.TestCase):
    def test_it(self):
        with self.assertRaises(Exception):
            cute.compile(broken, view())
        with pytest.raises(Exception):
            cute.compile(broken, view())
def test_result():
    cute.compile(fine, view())()
    assert 0 == 1
    raise ValueError("no row is left")
def test_result_and_more():
    cute.compile(fine, view())()
    assert 0 == 2
    cute.compile(behind, view())
@pytest.fixture(scope="module")
def launched():
    return cute.compile(fine, view())()
def test_of_a_fixture(launched):
    assert launched == 3
def test_of_the_same_fixture(launched):
    assert launched == 4
def test_loop(launched, monkeypatch):
    monkeypatch.setattr("layoutcheck.dsl.passed_over._SECONDS", 0.0)
    turns = 0
    while launched != 5:
        assert turns < 3, "too many turns"
        turns += 1
def test_wait(launched, monkeypatch):
    monkeypatch.setattr("layoutcheck.dsl.passed_over._IDLE_SECONDS", 0.2)
    assert launched == 6
    while launched != 7:
        pass
def test_of_another_process():
    process = multiprocessing.get_context("fork").Process(target=cute.compile, args=(fine, view()))
    process.start()
    process.join()
    assert process.exitcode == 8
def test_early():
    cute.compile(fine, view())
    assert 1 == 2
def test_own():
    cute.compile(fine, view())
    cute.compile(own, view())
@pytest.mark.skip
def test_skipped():
    cute.compile(fine, view())
@pytest.mark.xfail
def test_known():
    cute.compile(fine, view())
    raise AssertionError
"""


MMA = """
import cutlass
from cutlass import cute
from cutlass.cute.nvgpu import warp
from cutlass.cute.runtime import make_fake_tensor
@cute.kernel
def kern(a: cute.Tensor, load: cute.TiledCopy, mma: cute.TiledMma):
    tid = cute.arch.thread_idx()[0]
    smem = cutlass.memory.SmemAllocator()
    s = smem.allocate_tensor(cutlass.BFloat16, cute.make_layout((64, 64), stride=(64, 1)), 128)
    part = mma.get_slice(tid).partition_A(s)
    registers = mma.make_fragment_A(part)
    cute.autovec_copy(part, cute.make_rmem_tensor_like(part))
    cute.copy(load, load.get_slice(tid).partition_S(s)[None, None, 0], registers[None, None, 0])
@cute.jit
def host(a: cute.Tensor):
    op = warp.MmaF16BF16Op(cutlass.BFloat16, cutlass.Float32, (16, 8, 16))
    mma = cute.make_tiled_mma(op, cute.make_layout((2, 2, 1)), permutation_mnk=(32, 32, 16))
    atom = cute.make_copy_atom(warp.LdMatrix8x8x16bOp(False, 4), cutlass.BFloat16)
    kern(a, cute.make_tiled_copy_A(atom, mma), mma).launch(grid=(1, 1, 1), block=(128, 1, 1))
if __name__ == "__main__":
    cute.compile(host, make_fake_tensor(cutlass.BFloat16, (64, 64), stride=(64, 1), assumed_align=16))
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("cutlass", reason="the CuTe DSL is not installed")
    made = tmp_path_factory.mktemp("gate")
    (made / "test_kernels.py").write_text(KERNELS)
    return made


def test_a_suite_that_cannot_be_imported(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text("import layoutcheck_has_no_such_module\ndef test(): ...\n")
    found = trace_script("-m", ["pytest", "-q", "test_it.py"], launch=False, timeout_s=60, cwd=str(tmp_path))
    (failure,) = found.failures
    assert failure.kind == "test" and failure.where is not None and failure.where.line == 1
    assert failure.message == (
        "no test is collected: ModuleNotFoundError: No module named 'layoutcheck_has_no_such_module'"
    )


def test_a_suite(folder: Path) -> None:
    """A test that failed before it launched anything hides kernels; one that failed after it had does not.

    So does one that goes on behind a build that failed, unless it expects that or refuses it itself.
    It goes on behind its own assertions, also where a fixture launches, for all tests that take it, and
    not for ever.
    """
    found = trace_script(
        "-m", ["pytest", "-W", "error", "-q", "-p", "no:cacheprovider", "test_kernels.py"], launch=False,
        arch="sm_90a", timeout_s=100, cwd=str(folder),
    )  # fmt: skip
    (caught,) = [one for one in found.failures if one.kind == "caught"]
    assert caught.where is not None and KERNELS.splitlines()[caught.where.line - 1].endswith(
        "no_such_name, a, a)"
    )
    assert "no_such_name" in caught.message and "went on behind a build that failed" in caught.message
    others = [one for one in found.failures if one is not caught]
    said = {one.message.partition(":")[2].lstrip(":").partition(":")[0]: one for one in others}
    assert {name: one.kind for name, one in said.items()} == {
        "test_refused": "uncompiled", "test_early": "test", "test_own": "test",
    }  # fmt: skip
    assert said["test_refused"].where is not None and said["test_refused"].where.line == 10
    assert "head dimension 4" in said["test_own"].message
    *notes, tried = found.notes
    assert tried.startswith("1 build failed, of what was built with other arguments at ")
    assert "test_kernels.py:" in tried and "ValueError: Expected rank(target)" in tried
    assert notes == [
        f"{what} for want of what a kernel computes, such as test_kernels.py::{test}"
        for what, test in (
            ("3 tests failed", "test_result: AssertionError: assert 0 == 1"),
            (
                "4 tests went on behind an assertion that fails",
                "test_result_and_more: AssertionError: assert 0 == 2",
            ),
        )
    ]
    assert any("behind" in kernel.name for kernel in found.kernels)
    assert not any("layoutcheck" not in one.name for one in (folder / "__pycache__").glob("test_kernels.*"))


def test_a_kernel_that_kills_the_compiler_is_no_legal_one(folder: Path) -> None:
    """Traced and verified it is; its passes die of the last copy (LLVM: "Failed to infer result type(s)").

    The model says so of the copy; of the other one nothing is known.
    """
    script = folder / "mma.py"
    script.write_text(MMA)
    with SharedLowering() as lowering:
        found = judge(trace_script(str(script), launch=False, arch="sm_80", timeout_s=100, lowering=lowering))
    (failure,) = found.uncompiled
    assert "the compiler dies of SIGABRT: LLVM ERROR: Failed to infer result type(s)" in failure.message
    line = MMA[: MMA.index("cute.copy(load")].count("\n") + 1
    assert failure.where is not None and failure.where.line == line
    assert found.verdicts() == {"rejected": 1, "unknown": 1} and status(found, False, Gate()) == 1
    assert "Print both operands before the line" in refusal(failure).message


CLEAN = Trace(kernels=(Kernel("k", "sm_90a", 0),))
BROKEN = TraceFailure("exited", "status 3")


def code(trace: Trace, asked: Gate, strict: bool = False) -> int:
    return status(JudgedTrace(trace, ()), strict, asked)


@pytest.mark.parametrize(("severity", "plain", "strict"), [("note", 0, 0), ("slow", 0, 1), ("wrong", 1, 1)])
def test_what_is_found_beside_the_copies_decides(severity: str, plain: int, strict: int) -> None:
    findings = (KernelFinding("LC301", severity, "", "", (KernelPlace("reads", Frame("k.py", 1)),)),)
    for found in (
        replace(CLEAN, orders=(OrderReport("k", "sm_90a", findings),)),
        replace(CLEAN, elements=(ElementReport("k", "sm_90a", findings),)),
        replace(CLEAN, operands=(OperandReport("k", "sm_90a", findings),)),
    ):
        assert (code(found, Gate()), code(found, Gate(), strict=True)) == (plain, strict)
        # what is found comes before what is unseen
        assert code(replace(found, failures=(BROKEN,)), Gate()) == (1 if plain else 2)


def test_a_trace_that_was_not_seen_to_its_end_fails() -> None:
    assert code(CLEAN, Gate(), strict=True) == 0
    assert code(Trace(), Gate()) == 2 and code(Trace(), NO_GATE) == 0
    assert code(replace(CLEAN, failures=(BROKEN,)), Gate()) == 2
    assert code(replace(CLEAN, failures=(BROKEN,)), Gate(("no-kernels",))) == 0
    skipped = replace(CLEAN, skipped=(("test_a", "why"),))
    assert (code(skipped, Gate()), code(skipped, Gate(("tests-skipped",)))) == (0, 2)
    for kind in UNCOMPILED:  # found, whatever is asked for
        assert code(Trace(failures=(TraceFailure(kind, "why"),)), NO_GATE) == 1


RAN = Ran("t", "t.py", "sm_90a", 1, 4, 1.0, False, program=True)
SEEN = Counts(cases=1, kernels=1, sites=4, traced=3, copies=4, address_sources={"layouts": 4})


@pytest.mark.parametrize(
    ("changed", "severity", "rule", "asked", "plain", "strict"),
    [
        ({}, "", "", Gate(), 0, 0),
        ({}, "note", "LC290", Gate(), 0, 0),
        ({}, "slow", "LC301", Gate(), 0, 1),
        ({}, "unknown", "LC911", NO_GATE, 0, 1),
        ({}, "unknown", "LC911", Gate(), 2, 1),
        ({}, "unknown", "LC915", Gate(("case-failed",)), 2, 1),
        ({}, "unknown", "LC910", Gate(), 2, 1),
        ({}, "unknown", "LC910", Gate(("case-failed", "no-kernels")), 0, 1),
        ({}, "rejected", "LC101", NO_GATE, 1, 1),
        ({}, "wrong", "LC203", Gate(), 1, 1),
        ({"unknown": {"why": 1}}, "", "", Gate(), 0, 1),
        ({"untraced": 1}, "", "", Gate(), 2, 2),
        ({"untraced": 1}, "", "", Gate(("no-kernels",)), 0, 0),
        ({"kernels": 0}, "", "", Gate(), 2, 2),
        ({"kernels": 0}, "", "", Gate(("case-failed",)), 0, 0),
        ({"kernels": 0, "cases": 0}, "", "", Gate(), 0, 0),  # a lint of source alone
        ({"address_sources": {"types": 1}}, "", "", Gate(), 0, 0),
        ({"address_sources": {"types": 1}}, "", "", Gate(("types-only",)), 2, 2),
        ({"skipped": {"why": 1, "also": 2}}, "", "", Gate(), 0, 0),
        ({"skipped": {"why": 1, "also": 2}}, "", "", Gate(("tests-skipped",)), 2, 2),
        ({}, "", "", Gate((), 75), 0, 0),
        ({}, "", "", Gate((), 76), 2, 2),
    ],
)
def test_each_row_of_the_contract(
    changed: dict[str, Any], severity: str, rule: str, asked: Gate, plain: int, strict: int
) -> None:
    findings = (LintFinding(rule, severity, "t.py", 1, 1, ""),) if rule else ()
    found = Result(findings, replace(SEEN, **changed), (), (RAN,))
    assert (found.status(False, asked), found.status(True, asked)) == (plain, strict)


def test_what_was_looked_for_and_what_was_ended_count() -> None:
    none = replace(SEEN, cases=0, kernels=0)
    assert Result((), none, wanted=True).status(False, Gate()) == 2
    ended = replace(RAN, failures=("ended: SIGTERM",))
    assert Result((), SEEN, (), (RAN, ended)).status(False, NO_GATE) == 2  # whatever --fail-on says
    wrong = LintFinding("LC203", "wrong", "t.py", 1, 1, "")
    assert Result((wrong,), SEEN, (), (RAN, ended)).status(False, NO_GATE) == 1


def test_the_conditions_are_those_that_are_asked_for() -> None:
    assert gate(None, None) == Gate(DEFAULT, 0.0) and gate("none", 0) == Gate((), 0.0)
    for condition, numbers in {
        "case-failed": (1, 1, 0),
        "no-kernels": (0, 0, 0),
        "types-only": (0, 1, 1),
    }.items():
        (reason,) = gate(condition, None).unseen(*numbers, 3, 4)
        assert reason.startswith(condition)
        others = ",".join({"case-failed", "no-kernels", "types-only"} - {condition})
        assert gate(others, None).unseen(*numbers, 3, 4) == []
    assert gate("none", 75).unseen(0, None, 0, 3, 4) == []
    assert gate("none", 75.1).unseen(0, None, 0, 3, 4) == ["coverage: 75 % seen (3 of 4), 75.1 % required"]
    assert gate("none", 1).unseen(0, None, 0, 0, 0) == ["coverage: none seen (0 of 0), 1 % required"]


@pytest.mark.parametrize(
    ("conditions", "share"), [("types", None), ("none,types-only", None), (None, 101), (None, -1)]
)
def test_what_is_no_condition_is_refused(conditions: str | None, share: float | None) -> None:
    with pytest.raises(InputError):
        gate(conditions, share)
