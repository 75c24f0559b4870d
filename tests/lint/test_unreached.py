"""Why a copy site was not reached: the surest reason that the runs give."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from layoutcheck.dsl.outcomes import FOR_WANT
from layoutcheck.lint.cases import CaseRun, RegisteredCase
from layoutcheck.lint.unreached import _other_arch, _Runs, reasons
from layoutcheck.sources.traced import Frame, Kernel, Trace, TraceFailure

SOURCE = """\
class Gemm:
    def load(self):
        copy_here
    def store(self):
        and_here

def sm90_epilogue():
    copy_there
"""
TEST = "import kernels\ndef test_it():\n    kernels.Gemm().load().store(); kernels.sm90_epilogue()\n"


def told(*traces: Trace, line: int = 3, arch: str = "sm_100a") -> str:
    """The reason of the site in a line of `kernels.py`, after runs of `test_it.py`."""
    listed = ["kernels.py", "test_it.py"]
    case = RegisteredCase(listed[1], "", 1, "test_it.py", arch, command=("-m", "pytest", "-q", "test_it.py"))
    runs = [CaseRun(case, trace) for trace in traces]
    found = reasons({listed[0]: [line]}, set(), [case], set(), listed, runs)
    assert not (found.uncalled or found.untaken)
    ((reason, lines),) = found.because[listed[0]].items()
    assert lines == (line,)
    return reason


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "kernels.py").write_text(SOURCE)
    (tmp_path / "test_it.py").write_text(TEST)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_each_reason(folder: Path) -> None:
    file = str(folder / "kernels.py")

    def trace(kind: str = "", message: str = "", at: int = 0, **more: object) -> Trace:
        where = Frame(file, at) if at else None
        failures = (TraceFailure(kind, message, where),) if kind else ()
        return Trace(failures=failures, imported=(file,), **more)  # type: ignore[arg-type]

    name = "test_it.py"
    assert told(trace()) == "no program that imports its file built its kernel"
    for note in (
        "the script ended at k.py:1, 2 launches into a run",
        f"2 tests failed {FOR_WANT}, such as it",
    ):
        assert told(trace(notes=(note,))).endswith("; others that import it did not end")
    refused = trace("uncompiled", "no such atom", at=5)
    assert told(refused) == "the DSL refuses its kernel: no such atom (line 5)"  # of its class
    assert told(refused, line=8, arch="sm_90a") == f"{name} failed in its file: no such atom (line 5)"
    assert told(trace("test", "TypeError: it", at=2)) == f"{name} failed in it: TypeError: it (line 2)"
    gone = "AttributeError: module 'cutlass.cute' has no attribute 'make_fragment'"
    had = "CuTe DSL had cutlass.cute.make_fragment from 4.2.0 to 4.5.3, and not in 4.6.0"
    assert told(trace("raised", gone)).startswith(f"{name} failed: {gone}; {had}")
    without = TraceFailure("missing", "x_cuda is not installed")
    both = Trace(failures=(without, TraceFailure("test", "TypeError: it", Frame(file, 2))), imported=(file,))
    assert told(both, line=8, arch="sm_90a") == f"{name} failed in its file: TypeError: it (line 2)"
    assert told(trace("missing", "x_cuda is not installed")) == f"{name} failed: x_cuda is not installed"
    assert told(trace("timeout", "more than 60 s")) == f"the time limit ended {name}"
    judging = trace("timeout", "3 of 4 kernels were left to their types: time is up")
    assert told(judging) == "no program that imports its file built its kernel"
    skipped = trace(skipped=(("a", "no B200"), ("b", "no B200"), ("c", "slow")))
    assert told(skipped) == "2 skipped tests may reach it: no B200"
    assert told(trace(skipped=(("c", "slow"),))) == "1 skipped test may reach it: slow"


@pytest.mark.parametrize("late", [False, True])
def test_a_condition_is_met_by_no_kernel_of_programs_that_came_to_their_ends(
    folder: Path, late: bool
) -> None:
    failures = (TraceFailure("timeout", "more than 60 s"),) if late else ()
    case = RegisteredCase(
        "test_it.py", "", 1, "test_it.py", "sm_100a", command=("-m", "pytest", "test_it.py")
    )
    run = CaseRun(case, Trace(failures=failures, imported=(str(folder / "kernels.py"),)))
    listed = ["kernels.py", "test_it.py"]
    found = reasons({"kernels.py": [3]}, {("kernels.py", 2)}, [case], set(), listed, [run])
    said = "behind a condition that no kernel met; the time limit ended test_it.py"
    assert found.because == ({"kernels.py": {said: (3,)}} if late else {})
    assert found.untaken == ({} if late else {"kernels.py": (3,)})


def test_a_name_of_another_architecture(folder: Path) -> None:
    runs = Trace(imported=(str(folder / "kernels.py"),))
    assert told(runs, line=8) == "its name says sm_90, and programs ran for sm_100a"
    assert told(runs, line=8, arch="sm_90a") == "no program that imports its file built its kernel"
    asked = replace(runs, kernels=(Kernel("k", "sm_90a", 1),))  # which the DSL builds for it all the same
    assert told(asked, line=8) == "no program that imports its file built its kernel"
    late = replace(runs, failures=(TraceFailure("timeout", "late"),))
    assert told(late, line=8).startswith("the time limit ended ")
    broken = replace(runs, failures=(TraceFailure("test", "no test is collected"),))
    assert told(broken, line=8).endswith(" failed: no test is collected")
    built = replace(late, kernels=(Kernel("k", "sm_100a", 1),))
    assert told(built, line=8) == "its name says sm_90, and programs ran for sm_100a"


@pytest.mark.parametrize(
    ("note", "again"), [("", ["sm_90a"]), ("kernels that ask for sm_90a were built for it", [])]
)
def test_a_program_runs_once_for_an_architecture(folder: Path, note: str, again: list[str]) -> None:
    command = ("-m", "pytest", "-q", "test_it.py")
    case = RegisteredCase("test_it.py", "", 1, "test_it.py", "sm_100a", command=command, free=True)
    found = Trace(imported=(str(folder / "kernels.py"),), notes=(note,))
    never, listed = {"kernels.py": [8]}, ["kernels.py", "test_it.py"]
    told = reasons(never, set(), [case], set(), listed, [CaseRun(case, found)])
    assert [(one.arch, one.more, one.free) for one in told.elsewhere] == [
        (arch, True, False) for arch in again
    ]


def test_the_nearest_program_has_the_word(folder: Path) -> None:
    """Packages import all of their modules: a program of another folder says little of a file."""
    file = str(folder / "kernels.py")

    def run(path: str, *failures: TraceFailure) -> CaseRun:
        return CaseRun(
            RegisteredCase(path, "", 1, path, "sm_90a"), Trace(imported=(file,), failures=failures)
        )

    far = run("other/deep/far.py", TraceFailure("timeout", "late"))
    near, own = run("near.py", TraceFailure("raised", "it")), run("kernels.py")
    assert _Runs([far, near]).why("kernels.py", []) == "near.py failed: it"
    assert _Runs([far, near, own]).why("kernels.py", []).startswith("the file itself was run, to its end")
    ended = "the file itself was run, to its end, and did not build its kernel"
    assert _Runs([own]).why("kernels.py", []) == ended
    assert _Runs([far, own]).why("kernels.py", []) == f"{ended}; others that import it did not end"
    assert _Runs([far]).why("kernels.py", []) == "the time limit ended other/deep/far.py"
    late = run("late.py", TraceFailure("test", "one of many"), TraceFailure("timeout", "late"))
    assert _Runs([near, late]).why("kernels.py", []) == "the time limit ended late.py"  # as near


@pytest.mark.parametrize(
    ("name", "said"),
    [("Sm90Epilogue", "sm_90a"), ("BlackwellGemm", "sm_100a"), ("gemm_sm_120a", "sm_120a"), ("prism900", "")],
)
def test_names_of_architectures(name: str, said: str) -> None:
    run = CaseRun(RegisteredCase("t.py", "", 1, "t.py", "sm_80"), Trace())
    assert _other_arch(f"k.py {name}", [run]) == ((said, "sm_80") if said else ("", ""))


def test_a_file_that_no_program_imported(folder: Path) -> None:
    lost = Trace(failures=(TraceFailure("test", "ModuleNotFoundError: No module named 'native'"),))
    assert told(lost) == "test_it.py failed: ModuleNotFoundError: No module named 'native'"
    runs = [CaseRun(RegisteredCase("far.py", "", 1, f"far.py {n}", "sm_90a"), lost) for n in range(2)]
    built = replace(runs[0], trace=replace(lost, kernels=(Kernel("k", "sm_90a", 1),)))
    first = "no program imported its file"
    assert _Runs([built]).why("kernels.py", [], lambda _: False) == first
    assert _Runs(runs).why("kernels.py", [], lambda _: False) == (
        f"{first}; far.py 0 and 1 more failed before: ModuleNotFoundError: No module named 'native'"
    )


def test_the_program_that_would_reach_it_has_the_word(folder: Path) -> None:
    """One that imports the file and uses nothing of it says less, though it is nearer and fails, too."""
    (folder / "deep").mkdir()
    (folder / "deep" / "uses.py").write_text("import kernels\nkernels.Gemm().load()\n")
    (folder / "imports.py").write_text("import kernels\nkernels.sm90_epilogue()\n")
    paths = ("imports.py", "deep/uses.py")
    cases = [RegisteredCase(one, "", 1, one, "sm_90a", command=(one,)) for one in paths]
    words = TraceFailure("raised", "the near one"), TraceFailure("exited", "it needs arguments")
    imported = (str(folder / "kernels.py"),), ()
    runs = [
        CaseRun(case, Trace(failures=(one,), imported=files))
        for case, one, files in zip(cases, words, imported, strict=True)
    ]
    found = reasons({"kernels.py": [3, 8]}, set(), cases, set(), ["kernels.py", *paths], runs)
    assert found.because == {
        "kernels.py": {
            "deep/uses.py failed: it needs arguments": (3,),
            "imports.py failed: the near one": (8,),
        }
    }
