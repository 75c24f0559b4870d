"""Registered cases: found in the text, traced apart from each other, held against what they expect."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import layoutcheck
from layoutcheck.cli import run
from layoutcheck.findings import BY_LOWERING
from layoutcheck.lint import cases
from layoutcheck.lint.finding import LintFinding
from layoutcheck.lint.judged import judge
from layoutcheck.lint.result import Counts, Result
from layoutcheck.reports import lint as reports
from layoutcheck.reports.style import Style
from layoutcheck.sources.request import build
from layoutcheck.sources.traced import (
    Frame,
    KernelFinding,
    KernelPlace,
    OrderReport,
    Trace,
    TracedCopy,
    TraceFailure,
    address_sources,
)
from tests.environment import interruptible

ROOT = Path(__file__).parents[2]
HEAD = "import layoutcheck\n"


def found(text, arch="sm_90a"):
    return cases.find((HEAD + text).encode(), "k.py", arch)


def test_the_decorator_changes_nothing():
    def build():
        return 1

    assert layoutcheck.case(build) is build
    assert layoutcheck.case(arch="sm_80", expect=["LC101"], name="x")(build) is build


def test_a_case_is_found_by_its_text():
    (case,) = found(
        '@layoutcheck.case(arch="sm_80", expect="rejected", name="b")\ndef broken():\n    1 / 0\n'
    )
    assert (case.function, case.name, case.arch, case.expect, case.line) == (
        "broken",
        "b",
        "sm_80",
        ("rejected",),
        3,
    )
    assert case.problem == ""
    (plain,) = found("@layoutcheck.case\ndef f(): ...\n", "sm_100a")
    assert (plain.name, plain.arch, plain.expect) == ("f", "sm_100a", ())
    both = found('@layoutcheck.case(arch=["sm_80", "sm_90a"])\ndef f(): ...\n')
    assert [case.name for case in both] == ["f[sm_80]", "f[sm_90a]"]


@pytest.mark.parametrize(
    "text",
    [
        "from layoutcheck import case\n@case()\ndef f(): ...\n",
        "import layoutcheck as lc\n@lc.case\ndef f(): ...\n",
    ],
)
def test_whatever_it_is_imported_as(text):
    assert len(cases.find(text.encode(), "k.py", "sm_90a")) == 1


@pytest.mark.parametrize(
    "text",
    [
        "def case(): ...\n@case\ndef f(): ...\n",
        "class A:\n    @layoutcheck.case\n    def f(self): ...\n",
        "x = (\n",
    ],
)
def test_other_functions_are_none(text):
    assert found(text) == []


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("@layoutcheck.case(expect=V)\ndef f(): ...\n", "'expect' is not a literal"),
        ('@layoutcheck.case(expect="bad")\ndef f(): ...\n', "neither a verdict nor a code"),
        ("@layoutcheck.case()\ndef f(x): ...\n", "without parameters"),
        ("@layoutcheck.case()\nasync def f(): ...\n", "without parameters"),
    ],
)
def test_an_unusable_case_says_why(text, problem):
    (case,) = found(text)
    assert problem in case.problem and cases.unusable(case).code == "LC915"


def made(expect, *address_source):
    where = Frame("k.py", 1)
    copies = tuple(TracedCopy(None, "", where, (), "k", "sm_90a", each) for each in address_source)
    return cases.CaseRun(cases.RegisteredCase("k.py", "f", 1, "f", "sm_90a", expect), Trace(copies))


@pytest.mark.parametrize(
    ("expect", "verdict", "codes", "surprised"),
    [
        ((), "rejected", {"LC101"}, False),
        (("rejected",), "rejected", {"LC101"}, False),
        (("rejected",), "legal", set(), True),
        (("legal",), "wrong", {"LC201"}, True),
        (("LC101",), "rejected", {"LC101", "LC102"}, False),
        (("LC101",), "rejected", {"LC102"}, True),
        (("rejected", "LC101"), "wrong", {"LC101"}, True),
        (("wrong", "rejected"), "wrong", {"LC201"}, False),
        (("slow",), "legal", set(), True),
    ],
)
def test_expectations_are_checked(expect, verdict, codes, surprised):
    said = cases.unexpected(made(expect, "threads"), verdict, frozenset(codes))
    assert (said is not None) == surprised
    if said is not None:
        assert said.code == "LC913" and verdict in said.title


def test_costs_are_not_denied_by_types_alone():
    assert cases.unexpected(made(("slow",), "threads", "types"), "legal", frozenset()) is None
    assert cases.undecided(made(("slow",), "types"), "legal")
    assert not cases.undecided(made(("rejected",), "types"), "legal")


@pytest.mark.parametrize(
    ("expect", "code", "severity", "meant"),
    [
        (("rejected",), "LC101", "rejected", True),
        (("rejected",), "LC301", "slow", True),
        (("slow",), "LC301", "slow", True),
        (("slow",), "LC201", "wrong", False),
        (("LC201",), "LC201", "wrong", True),
        (("LC201",), "LC301", "slow", False),
        ((), "LC301", "slow", False),
    ],
)
def test_what_is_meant_is_not_reported(expect, code, severity, meant):
    case = cases.RegisteredCase("k.py", "f", 1, "f", "sm_90a", expect)
    assert cases.meant(case, LintFinding(code, severity, "k.py", 1, 1, "")) == meant


def test_a_failure_is_one_line():
    at, caller = (
        Frame(str(Path.cwd() / name), line, function=name) for name, line in (("k.py", 7), ("t.py", 3))
    )
    failure = TraceFailure("killed", "the process died of\nSIGABRT", at, (caller,))
    (finding,) = cases.failures(
        cases.CaseRun(cases.RegisteredCase("k.py", "f", 3, "f", "sm_90a"), Trace(failures=(failure,)))
    )
    assert finding.title == "case 'f' died at k.py:7: the process died of SIGABRT"
    assert finding.message.endswith(" Called from t.py:3.")


def test_the_variants_of_the_transpose_are_registered():
    pytest.importorskip("cutlass", reason="kernels/ needs nvidia-cutlass-dsl")
    from kernels.transpose import VARIANTS

    path = ROOT / "kernels" / "transpose" / "cases.py"
    registered = {case.name: case.expect for case in cases.find(path.read_bytes(), "cases.py", "sm_90a")}
    assert registered == {name: (variant.verdict,) for name, variant in VARIANTS.items()}


@pytest.fixture
def repo(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pyproject.toml").write_text('[tool.layoutcheck]\npaths = ["."]\ntimeout = 3\n')
    return tmp_path


def test_the_summary_counts_what_is_known_for_all_threads():
    trace = trace_of(["threads", "lowered", "lowered", "types"])
    judged = judge([cases.CaseRun(cases.RegisteredCase("k.py", "f", 3, "f", "sm_90a"), trace)])
    known_by = address_sources(judged.address_sources.elements())
    counts = Counts(cases=1, copies=judged.copies, address_sources=known_by)
    found = LintFinding("LC302", "slow", "k.py", 7, 1, "title", f"Why. {BY_LOWERING} Called from a.py:3.")
    result = Result((found,), counts)
    told = reports.text(result, Style())
    assert "for all threads: 1 by their layouts, 2 by the compiler's lowering; for one thread, by" in told
    assert "    Why. Called from a.py:3.\n" in told  # of which each finding need not say it
    assert BY_LOWERING in reports.renderer("json")(result, Style())
    counts = Counts(cases=1, copies=1, address_sources={"layouts": 0, "lowered": 0, "types": 1})
    assert "\nfor one thread, by types only: 1.\n" in reports.text(Result((), counts), Style())


def trace_of(known: list[str]) -> Trace:
    """One copy that cannot be read for each way of being known."""
    frame = Frame("k.py", 7)
    return Trace(tuple(TracedCopy(None, "cute.copy", frame, (), "k", "sm_90a", one) for one in known))


MISBEHAVING = """
import os, signal, socket, time
import layoutcheck

@layoutcheck.case
def raises():
    raise ValueError("on purpose")

@layoutcheck.case
def hangs():
    open("started", "w").write(str(os.getpid()))
    time.sleep(600)

@layoutcheck.case
def dies():
    os.kill(os.getpid(), signal.SIGABRT)

@layoutcheck.case
def reaches_out():
    socket.create_connection(("127.0.0.1", 9), 1)

@layoutcheck.case
def does_nothing():
    pass
"""


def test_a_case_that_misbehaves_costs_itself(repo, capsys):
    pytest.importorskip("cutlass", reason="tracing needs nvidia-cutlass-dsl")
    (repo / "k.py").write_text(MISBEHAVING)
    (repo / "a.py").write_text(
        "from cutlass import cute\n\n\ndef f(x):\n    return cute.assume(x * 8 + 4, divby=8)\n"
    )
    assert run(["lint", "."]) == 1
    text = capsys.readouterr().out
    assert "a.py:5:12: wrong[LC267]" in text
    for said in (
        "'raises' raised",
        "on purpose",
        "'hangs' ran too long",
        "'dies' died",
        "SIGABRT",
        "'reaches_out' raised",
    ):
        assert said in text
    assert "'does_nothing' built no kernel" in text
    assert text.count("[LC911]") == 5
    assert "5 cases traced" in text
    pid = int((repo / "started").read_text())
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_only_where_it_is_asked_for(repo, capsys):
    (repo / "k.py").write_text(HEAD + "open('ran', 'w')\n\n@layoutcheck.case\ndef f():\n    pass\n")
    assert run(["lint", ".", "--static"]) == 0
    assert "1 registered case not traced: --static" in capsys.readouterr().out
    (repo / "pyproject.toml").write_text('[tool.layoutcheck]\npaths = ["kernels"]\n')
    assert run(["lint", "."]) == 0
    assert "no file of theirs is under" in capsys.readouterr().out
    assert not (repo / "ran").exists()


def test_without_the_dsl_it_says_so(repo, capsys, monkeypatch):
    (repo / "k.py").write_text(HEAD + "@layoutcheck.case\ndef f():\n    pass\n")
    monkeypatch.setattr(cases, "installed", lambda: "")
    assert run(["lint", "."]) == 2
    said = capsys.readouterr()
    assert "nvidia-cutlass-dsl is not installed" in said.out
    assert "not seen: case-failed: 1 run not seen to the end" in said.err
    assert run(["lint", ".", "--fail-on", "none"]) == 0
    capsys.readouterr()
    assert run(["confirm", "."]) == 2
    assert "nvidia-cutlass-dsl is not installed" in capsys.readouterr().err


def test_an_interrupt_leaves_nothing_behind(repo):
    pytest.importorskip("cutlass", reason="tracing needs nvidia-cutlass-dsl")
    (repo / "k.py").write_text(MISBEHAVING.replace("600", "60"))
    (repo / "pyproject.toml").write_text('[tool.layoutcheck]\npaths = ["."]\ntimeout = 50\n')
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    child = subprocess.Popen(
        [sys.executable, "-m", "layoutcheck", "lint", ".", "--workers", "5"],
        cwd=repo,
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=interruptible,
    )
    started = repo / "started"
    until = time.monotonic() + 30
    while not (started.exists() and started.read_text()) and time.monotonic() < until:
        time.sleep(0.05)
    child.send_signal(signal.SIGINT)
    _, error = child.communicate(timeout=20)
    assert child.returncode == 130 and "Traceback" not in error
    with pytest.raises(ProcessLookupError):
        os.kill(int(started.read_text()), 0)


def test_an_upgraded_dependency_is_traced_again(repo, tmp_path_factory, monkeypatch):
    """What a case imports from outside of the repository counts as much as the repository's own text."""
    pytest.importorskip("cutlass", reason="tracing needs nvidia-cutlass-dsl")
    lib = tmp_path_factory.mktemp("lib")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(lib), str(ROOT)]))
    (repo / "pyproject.toml").write_text('[tool.layoutcheck]\npaths = ["."]\ncache = ".kept"\n')
    (repo / "k.py").write_text(
        HEAD + "@layoutcheck.case\ndef f():\n    import dep\n    open('ran', 'a').write(dep.VERSION)\n"
    )

    def ran(version):
        (lib / "dep.py").write_text(f"VERSION = {version!r}\n")
        os.utime(lib / "dep.py", (1_000_000, 1_000_000 + int(version)))
        run(["lint", "."])
        return (repo / "ran").read_text()

    assert [ran("1"), ran("1"), ran("2"), ran("2"), ran("1")] == ["1", "1", "12", "12", "121"]


def test_a_copy_beyond_its_tile_is_mended_before_waits_are_added():
    """What it writes there may meet an access by that alone."""
    tile = "(32,16,2):(16,1,512)"
    both = {"src": tile, "dst": tile, "atom": "cp.async", "bits": 128, "dtype": "bf16", "val": "(1,8)"}
    copy, reader = Frame("k.py", 3, 5, "load"), Frame("k.py", 9, 1, "use")

    def message(threads, kernel="k", code="LC501"):
        loads = TracedCopy(build(**both, thr=threads)[0], "cute.copy", copy, (), "k", "sm_90a")
        places = (KernelPlace("copies (cp.async)", Frame("k.py", 3)), KernelPlace("reads", reader))
        said = KernelFinding(
            code,
            "wrong",
            "t",
            "It reads it. Missing: a wait.",
            places,
            {"kernel": kernel, "missing": "a wait"},
        )
        order = OrderReport(kernel, "sm_90a", (said,))
        case = cases.RegisteredCase("k.py", "f", 1, "f", "sm_90a")
        found = judge([cases.CaseRun(case, Trace((loads,), orders=(order,)))]).findings
        (one,) = (one for one in found if one.code == code)
        assert ("missing" in one.evidence) == ("Missing" in one.message)
        return one.message

    assert message("(64,2):(2,1)").startswith("It reads it. First mend LC211 at k.py:3: the copy moves more")
    for other in (("(32,2):(2,1)",), ("(64,2):(2,1)", "other"), ("(64,2):(2,1)", "k", "LC405")):
        assert message(*other) == "It reads it. Missing: a wait."
