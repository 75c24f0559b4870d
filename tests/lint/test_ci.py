"""`layoutcheck ci`: a repository's own programs run and judged; who may run them; what it leaves behind."""

from __future__ import annotations

import json
import os
import pickle
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree as Xml

import pytest

from layoutcheck.cli import _Interrupt, run
from layoutcheck.dsl import spool
from layoutcheck.dsl.observe import Built
from layoutcheck.dsl.terminated import Terminated, sigterm_raises, unseen
from layoutcheck.dsl.trace import _process, trace_script
from layoutcheck.gate import NO_GATE
from layoutcheck.lint.cache import Cache, tool_version
from layoutcheck.lint.cases import CaseRun, RegisteredCase, failures
from layoutcheck.lint.finding import LintFinding
from layoutcheck.lint.judged import _alike
from layoutcheck.lint.kept import imports_of, unchanged
from layoutcheck.lint.run import _silent, _skipped
from layoutcheck.lint.runs import shorten, trace
from layoutcheck.settings import Settings
from layoutcheck.sources.traced import ElementReport, Kernel, Trace, TraceFailure
from layoutcheck.tracing import Script, status, traced
from layoutcheck.whole import MARK
from tests.forking import Forked, run_here
from tests.test_streams import lives, until
from tests.thinned import thinned

__all__ = ["run_here"]

KERNEL = """\
from cutlass import cute
import cutlass
from cutlass.cute.runtime import make_fake_tensor
@cute.kernel
def k(a: cute.Tensor):
    f = cute.make_rmem_tensor(cute.make_layout(4), cutlass.Float32)
    cute.copy(cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), cutlass.Float32, num_bits_per_copy=128), a, f)
@cute.jit
def f(a: cute.Tensor):
    k(a).launch(grid=[1, 1, 1], block=[1, 1, 1])
def build(align):
    cute.compile(f, make_fake_tensor(cutlass.Float32, (4,), stride=(1,), assumed_align=align))
"""
REFUSED = "kernels.py:7"  # the copy, which needs 16 bytes
FAST = ["--no-lowered", "--no-order", "--workers", "1"]


def pool_of(
    submit: Callable[[object], object], has_begun: Callable[[object], bool] = bool
) -> Callable[..., object]:
    """In place of `runs._pool`."""

    @contextmanager
    def pool(*_: object) -> Iterator[tuple[object, object, object]]:
        yield submit, threading.Event(), has_begun

    return pool


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A kernel that a test builds well, and a script that builds it with half the alignment."""
    (tmp_path / "kernels.py").write_text(KERNEL)
    test = "from kernels import build\ndef test_good(): build(16)\n"
    (tmp_path / "test_kernels.py").write_text(test)
    (tmp_path / "half.py").write_text("from kernels import build\nif __name__ == '__main__':\n    build(8)\n")
    (tmp_path / "pyproject.toml").write_text("[tool.layoutcheck]\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_nothing_is_run_without_a_word(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (repository / "half.py").write_text(
        "import kernels\nkernels.f\nif __name__ == '__main__':\n    open('ran', 'w')\n"
    )
    assert run(["ci"]) == 2
    assert "this would run 2 programs" in capsys.readouterr().err
    assert run(["ci", "--list"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "half.py  (sm_90a)", "-m pytest -q test_kernels.py  (sm_90a)",
    ]  # fmt: skip
    assert not (repository / "ran").exists()


@pytest.mark.usefixtures("run_here")
def test_a_repository_is_checked(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Two programs, one refused copy at its line; the second time from what is kept."""
    pytest.importorskip("cutlass")
    words = [
        "ci",
        "--yes",
        "--format",
        "json",
        "--html",
        "p.html",
        "--sarif",
        "s.json",
        "--junit",
        "j.xml",
        *FAST,
    ]
    assert run(words) == 1
    found = json.loads(capsys.readouterr().out)
    assert [(f["code"], f"{f['path']}:{f['line']}", f["evidence"]["cases"]) for f in found["findings"]] == [
        ("LC101", REFUSED, ["half.py"])
    ]
    assert (found["counts"]["kernels"], found["counts"]["copies"], found["counts"]["traced"]) == (2, 2, 1)
    assert [(each["name"], each["kernels"], each["cached"]) for each in found["runs"]] == [
        ("half.py", 1, False), ("test_kernels.py", 1, False),
    ]  # fmt: skip
    result = json.loads(Path("s.json").read_text())["runs"][0]["results"]
    assert [each["ruleId"] for each in result] == ["LC101"]
    suites = Xml.parse("j.xml").getroot()
    assert [(suite.get("name"), suite.get("tests"), suite.get("failures")) for suite in suites] == [
        ("programs", "2", "0"), ("source", "1", "1"),
    ]  # fmt: skip
    page = Path("p.html").read_text()
    assert "LC101" in page and "half.py" in page and re.search(r"<mark>\s+7  ", page)

    assert run(words) == 1
    again = json.loads(capsys.readouterr().out)
    assert [each["cached"] for each in again["runs"]] == [True, True]
    assert again["findings"] == found["findings"]
    assert {note.split(" was ")[0] for note in again["notes"]} >= {
        "the order of accesses", "the compiler's lowering"
    }  # fmt: skip


def test_a_kept_run_outlives_an_installation_of_the_same_tool(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each job of a CI service installs it anew, with other times; another rule has another digest."""
    package, info = tmp_path / "other_name", tmp_path / "other_name-1.dist-info"
    (package / "lint").mkdir(parents=True)
    info.mkdir()
    (info / "METADATA").write_text("Name: other_name\nVersion: 1\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr("layoutcheck.lint.cache.__file__", str(package / "lint" / "cache.py"))
    version = tool_version.__wrapped__
    seen = []
    for recorded, at in (("a", 1), ("a", 2), ("b", 2), ("", 2), ("", 3)):
        for each in (package / "lint" / "cache.py", package / "x.py"):
            each.touch()
            os.utime(each, (at, at))
        lines = f"other_name/x.py,sha256={recorded},9\nother_name/x.pyc,,\n" * bool(recorded)
        (info / "RECORD").write_text(f"{lines}../bin/x,sha256={at},9\n")
        seen.append(version())
    assert seen[0] == seen[1] and len(set(seen)) == 4


@pytest.mark.parametrize("large", [0, 1 << 20])
def test_a_program_is_run_again_when_something_that_it_imports_has_other_content(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, large: int
) -> None:
    monkeypatch.setattr("layoutcheck.lint.kept._LARGE_BYTES", large)
    module, store = tmp_path / "m.py", Cache(tmp_path / "kept", "traces")
    module.write_text("a = 1")
    kept = imports_of([str(module), str(tmp_path / "later.py")], store)
    os.utime(module, (1, 1))  # as in a fresh checkout
    assert unchanged(kept, store)
    store.save()
    monkeypatch.setattr("layoutcheck.lint.kept._contents", {})
    again = Cache(tmp_path / "kept", "traces")
    for key in list(again._entries):
        if key != kept["imported"]:
            again.put(key, 5)  # which is no digest
    assert unchanged(kept, again)
    (tmp_path / "later.py").write_text("")
    assert not unchanged(kept, store)
    (tmp_path / "later.py").unlink()
    (tmp_path / "later.py").mkdir()
    assert not unchanged(kept, store)
    (tmp_path / "later.py").rmdir()
    module.write_text("a = 2")
    assert not unchanged(kept, store)


@pytest.mark.parametrize("imported", [True, False])
def test_a_run_whose_imports_are_unknown_is_not_kept(
    repository: Path, monkeypatch: pytest.MonkeyPatch, imported: bool
) -> None:
    """A process that calls os._exit before it builds a kernel has not said what it imported."""
    case = RegisteredCase("half.py", "", 1, "half.py", "sm_90a", command=("half.py",))
    seen: Future[tuple[Trace, float]] = Future()
    seen.set_result((Trace(imported=("kernels.py",) if imported else ()), 0.0))

    monkeypatch.setattr("layoutcheck.lint.runs._pool", pool_of(lambda _case: seen))
    store, settings = Cache(repository / "kept", "traces"), Settings(root=repository)
    assert [trace([case], settings, store)[0].cached for _ in range(2)] == [False, imported]


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("os._exit(0)", ["a test ended pytest with status 0: later ones did not run"]),
        ("os.fork() or os._exit(0)", []),
    ],
)
def test_a_test_that_ends_pytest_leaves_the_others_unseen(tmp_path: Path, body: str, told: list[str]) -> None:
    (tmp_path / "test_it.py").write_text(f"import os\ndef test_a(): {body}\ndef test_b(): ...\n")
    found = trace_script(
        "-m", ["pytest", "-q", "-p", "no:cacheprovider", "test_it.py"], launch=False, cwd=str(tmp_path),
        output=subprocess.DEVNULL,
    )  # fmt: skip
    assert [one.message for one in found.failures if "pytest" in one.message] == told
    assert str(tmp_path / "test_it.py") in found.imported


_BEFORE = "pytest ended with status 0 before its tests"
PYTEST_ENDS = {  # a file beside the tests, of which the last fails, and what is said
    "conftest exits": ("conftest.py", "import sys\nsys.exit(0)", _BEFORE),
    "configure exits": (
        "conftest.py", "import pytest\ndef pytest_configure(): pytest.exit('', returncode=0)", _BEFORE
    ),
    "a test exits": (
        "conftest.py", "import pytest\ndef pytest_runtest_setup(item): pytest.exit('', returncode=0)",
        "a test ended pytest with status 0: later ones did not run",
    ),
    "conftest raises": ("conftest.py", "raise RuntimeError", "the script ended with status 4"),
    "an option is missing": ("pytest.ini", "[pytest]\naddopts = --nope", "the script ended with status 4"),
    "no tests": ("pytest.ini", "[pytest]\naddopts = -k nothing", "pytest ran no test: 3 tests skipped"),
    "the first failure": ("pytest.ini", "[pytest]\naddopts = -x", "test_it.py::test_c: ValueError"),
    "only collected": ("pytest.ini", "[pytest]\naddopts = --co", "test_it.py::test_c: ValueError"),
    "one step": (
        "pytest.ini", "[pytest]\naddopts = --sw", "a test ended pytest with status 2: later ones did not run"
    ),
}  # fmt: skip
_QUICK = ("conftest exits", "a test exits", "the first failure")


def suite(folder: Path, body: str, process: Any = Forked) -> Trace:
    """A file of tests run as `ci` runs it, by a fork that has imported pytest."""
    (folder / "test_it.py").write_text(f"import os, pytest\n{body}\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("layoutcheck.dsl.trace._process", process)
        return trace_script(
            "-m", ["pytest", "-q", "test_it.py"], launch=False, spread=True, cwd=str(folder),
            output=subprocess.DEVNULL,
        )  # fmt: skip


@pytest.mark.parametrize(
    "deed", [one if one in _QUICK else pytest.param(one, marks=pytest.mark.sweep) for one in PYTEST_ENDS]
)
def test_a_suite_that_ends_before_its_last_test_is_not_seen(tmp_path: Path, deed: str) -> None:
    name, text, said = PYTEST_ENDS[deed]
    (tmp_path / name).write_text(text)
    tests = "def test_a(): ...\ndef test_b(): raise ValueError\ndef test_c(): raise ValueError"
    found = suite(tmp_path, tests)
    assert any(one.message.startswith(said) for one in found.failures)


def test_tests_behind_one_that_replaces_its_process_are_run(tmp_path: Path) -> None:
    """What the process before it had taken counts as run by another."""
    again = "os.execve(sys.executable, [sys.executable, *'-m pytest -q'.split()], os.environ | {'AGAIN': ''})"
    tests = f"import sys\ndef test_a(): 'AGAIN' in os.environ or {again}\ndef test_b(): raise KeyError(1)"
    assert [one.message for one in suite(tmp_path, tests).failures] == ["test_it.py::test_b: KeyError: 1"]


def test_tests_that_did_not_run_are_told(tmp_path: Path) -> None:
    """What is skipped, or fails as it is expected to, is no failure."""
    found = suite(
        tmp_path,
        "def test_skip(): pytest.skip('no card')\n"
        "@pytest.mark.xfail(reason='known')\ndef test_xfail(): raise ImportError\n"
        "@pytest.mark.xfail(False, reason='no')\n"
        'def test_fails(): raise ImportError(\'it:\\n"k"("k.py":1:2 to :3): why\')\n'
        "def test_now(): pytest.xfail('later')\n"
        "@pytest.mark.xfail(run=False)\ndef test_never(): os._exit(0)\n",
    )
    assert dict(found.skipped) == {
        "test_it.py::test_skip": "no card", "test_it.py::test_xfail": "xfail known",
        "test_it.py::test_now": "xfail later", "test_it.py::test_never": "xfail [NOTRUN]",
    }  # fmt: skip
    assert [one.message for one in found.failures] == ["test_it.py::test_fails: ImportError: it: why"]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("conftest.py", "def pytest_collection_modifyitems(items): del items[1:]"),
        ("pytest.ini", "[pytest]\naddopts = -k test_a"),
    ],
)
def test_tests_that_are_taken_away_are_told(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    found = suite(tmp_path, "def test_a(): ...\ndef test_b(): ...\nclass TestC:\n    def test_c(self): ...")
    said = "deselected by pytest's settings or by a conftest.py"
    assert dict(found.skipped) == {"test_it.py::test_b": said, "test_it.py::TestC::test_c": said}
    assert not found.failures


def test_a_test_that_a_hook_says_it_has_run_is_told(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(
        "def pytest_runtest_protocol(item): return True if 'b' in item.name else None"
    )
    found = suite(tmp_path, "def test_a(): ...\ndef test_b(): ...\ndef test_c(): pytest.skip('why')")
    assert dict(found.skipped) == {
        "test_it.py::test_b": "a hook of pytest's took it, and nothing was reported of it",
        "test_it.py::test_c": "why",
    }  # fmt: skip
    (tmp_path / "conftest.py").write_text("def pytest_runtestloop(session): return True")
    assert len(suite(tmp_path, "def test_a(): ...\ndef test_b(): ...").skipped) == 2


@pytest.mark.parametrize(("deed", "kinds"), [("1 / 0", []), ("assert 0", []), ("[][0]", ["test"])])
def test_a_test_fails_of_values_that_were_left_out(tmp_path: Path, deed: str, kinds: list[str]) -> None:
    """Of torch's work, before it launches anything; another error may be the test's own."""
    left = "from layoutcheck.dsl.observe import NotLaunched\ndef test_a():\n    NotLaunched.left_out += 1\n"
    assert [one.kind for one in suite(tmp_path, f"{left}    {deed}").failures] == kinds


@pytest.mark.parametrize("outcome", ["passed", "skipped", "rerun"])
def test_a_test_that_raises_has_failed_whatever_a_hook_says(tmp_path: Path, outcome: str) -> None:
    """But for one that is run again, and where it says so of all that comes before the call."""
    hook = f"def pytest_runtest_makereport():\n    (yield).get_result().outcome = '{outcome}'\n"
    (tmp_path / "conftest.py").write_text(f"import pytest\n@pytest.hookimpl(hookwrapper=True)\n{hook}")
    found = suite(tmp_path, "def test_a(): raise ImportError('x')\ndef test_b(): ...")
    said = ["test_it.py::test_a: ImportError: x"] * (outcome == "passed")
    assert [one.message for one in found.failures] == said
    assert len(found.skipped) == 2 * (outcome != "passed")


def test_what_a_hook_around_a_test_keeps_is_told(tmp_path: Path) -> None:
    """Its last call counts, if the hook calls it again, or runs the test again (as pytest-rerunfailures)."""
    (tmp_path / "conftest.py").write_text(
        "import pytest\nfrom _pytest.runner import runtestprotocol\n"
        "def pytest_pyfunc_call(pyfuncitem): return True if 'instead' in pyfuncitem.name else None\n"
        "def pytest_runtest_protocol(item, nextitem):\n"
        "    if 'rerun' not in item.name: return None\n"
        "    runtestprotocol(item, nextitem=nextitem, log=False)[1].outcome = 'rerun'\n"
        "    for one in runtestprotocol(item, nextitem=nextitem, log=False):\n"
        "        item.ihook.pytest_runtest_logreport(report=one)\n"
        "    return True\n"
        "@pytest.hookimpl(hookwrapper=True)\n"
        "def pytest_runtest_call(item):\n"
        "    made = yield\n"
        "    if 'again' in item.name: item.runtest()\n"
        "    if 'rerun' not in item.name: made.force_result(None)\n"
    )
    found = suite(
        tmp_path,
        "n = []\ndef test_a(): raise ImportError('x')\n"
        "def test_again():\n    n.append(0)\n    if len(n) < 2: raise OSError\n"
        "def test_rerun():\n    n.append(0)\n    if len(n) < 4: raise OSError\n"
        "def test_instead(): raise OSError\ndef test_skip(): pytest.skip('why')\n"
        "def test_inner(tmp_path):\n    text = 'def test_in(): raise OSError'\n"
        "    (tmp_path / 'test_in.py').write_text(text), pytest.main([str(tmp_path)])\n",
    )
    own = [one.message for one in found.failures if "test_in.py" not in one.message]
    assert own == ["test_it.py::test_a: ImportError: x"]
    assert dict(found.skipped) == {
        "test_it.py::test_skip": "why",
        "test_it.py::test_instead": "a hook of pytest's stands for the call of its function",
    }


JUNK = """\
def test_it():
    there = os.environ["LAYOUTCHECK_SPOOL"] + "/0000000"
    os.mkfifo(f"{there}1.json"), os.symlink("/dev/zero", f"{there}2.json"), os.mkdir(f"{there}3.json")
    for number, text in enumerate(("[1", "[1]", "{}")):
        open(f"{there}{number + 4}.json", "w").write(text)
"""


def test_what_a_program_leaves_among_its_events_is_told(tmp_path: Path) -> None:
    found = suite(tmp_path, JUNK)
    assert {one.message for one in found.failures} == {"the program wrote into layoutcheck's own folder"}
    assert len(found.failures) == 6


def test_a_process_that_a_program_stops_goes_on(tmp_path: Path) -> None:
    """Its own, and ours that waits for it."""
    for whom in ("getpid", "getppid"):
        text = f"import os, signal\nos.kill(os.{whom}(), signal.SIGSTOP)\nprint('on')\n"
        (tmp_path / f"{whom}.py").write_text(text)
    words = ["-m", "layoutcheck", "ci", "--yes", "--workers", "1", "--no-cache", "--format", "json"]
    (tmp_path / "pyproject.toml").write_text("[tool.layoutcheck]\nrun = ['getpid.py', 'getppid.py']\n")
    done = subprocess.run([sys.executable, *words], cwd=tmp_path, timeout=60, capture_output=True, text=True)
    assert done.returncode == 2
    assert [one["failures"] for one in json.loads(done.stdout)["runs"]] == [[], []]


DAEMON = """\
{imports}
import os, time
def test_it():
    if os.fork():
        return
    os.setsid()
    if os.fork():
        os._exit(0)
    open("pid", "w").write(str(os.getpid()))
    time.sleep(100)
"""


@pytest.mark.parametrize("imports", ["", "import cutlass.cute"])
def test_a_daemon_is_ended_and_told(tmp_path: Path, imports: str) -> None:
    """One that has loaded the DSL may build kernels that nobody sees."""
    if imports:
        pytest.importorskip("cutlass")
    found = suite(tmp_path, DAEMON.format(imports=imports), _process)  # a fork has loaded the DSL
    told = [one.message for one in found.failures] if imports else list(found.notes)
    assert len(told) == 1 and told[0].startswith("a process that it left running was ended: ")
    assert bool(found.failures) == bool(imports)
    assert until(lambda: not lives(int((tmp_path / "pid").read_text())), 5)


def test_modules_of_a_repository_do_not_stand_before_those_of_our_processes(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its own programs import what they find first."""
    pytest.importorskip("cutlass")
    (repository / "half.py").unlink()
    (repository / "layoutcheck").mkdir()
    (repository / "layoutcheck" / "__init__.py").write_text("")
    (repository / "mimetypes.py").write_text("raise SystemExit(0)\n")
    (repository / "pickletools.py").write_text("raise SystemExit(0)\n")
    own = "import os\nif 'LAYOUTCHECK_SPOOL' not in os.environ: os._exit(0)\n"
    (repository / "pickle.py").write_text(f"{own}exec(open({pickle.__file__!r}).read())\n")
    command = [Path(sys.executable).with_name("layoutcheck"), "ci", "--yes", "--workers", "1", "--no-cache"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done
    assert "1 kernel" in done.stdout


def test_a_file_whose_name_begins_with_a_dash_is_no_option(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (repository / "half.py").rename(repository / "-V.py")
    (repository / "test_kernels.py").rename(repository / "-h_test.py")
    assert run(["ci", "--list"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "./-V.py  (sm_90a)", "-m pytest -q ./-h_test.py  (sm_90a)",
    ]  # fmt: skip


def test_slow_copies_of_a_place_that_differ_in_numbers_are_one_finding() -> None:
    """The worst one; another side, another line, and what is wrong have their own."""

    def found(title: str, line: int = 7, severity: str = "slow", case: str = "a") -> LintFinding:
        ratio = int(title[0])
        return LintFinding(
            "LC301", severity, "k.py", line, 5, title, "Why.", evidence={"ratio": ratio, "cases": [case]}
        )

    titles = [f"{ways}-way conflict: {n} for 8" for ways, n in ((2, 16), (4, 32), (2, 64), (2, 8), (3, 9))]
    worst, *others = _alike(
        [found(one, case=case) for one, case in zip(titles, "abcda", strict=True)]
        + [found(titles[0], line=8), found("2-way conflict there: 16 for 8")]
        + [found(one, severity="wrong") for one in titles[:2]]
    )
    assert worst.title == titles[1] and worst.evidence["cases"] == ["a", "b", "c", "d"]
    assert worst.evidence["alike"] == sorted([titles[0], *titles[2:]])
    assert worst.message == f"Why. 4 copies more there: {'; '.join(worst.evidence['alike'][:3])}; ..."
    assert [(one.line, one.severity, one.message) for one in others] == [
        (8, "slow", "Why."), (7, "slow", "Why."), (7, "wrong", "Why."), (7, "wrong", "Why."),
    ]  # fmt: skip


def test_a_test_counts_as_skipped_that_ran_for_no_architecture() -> None:
    def ran(arch: str, *skipped: tuple[str, str]) -> CaseRun:
        case = RegisteredCase("test_it.py", "", 1, "it", arch, command=("-m", "pytest", "test_it.py"))
        return CaseRun(case, Trace(skipped=skipped))

    both, one = ("test_a", "two cards"), ("test_b", "sm_90 alone")
    assert _skipped([ran("sm_100a", both, one), ran("sm_90a", both)]) == {"two cards": 1}
    assert _skipped([ran("sm_100a", both, one)]) == {"two cards": 1, "sm_90 alone": 1}
    assert _silent(ran("sm_90a", one)) == "it (sm_90 alone)"
    silent = replace(ran("sm_90a", one), case=replace(ran("sm_90a").case, named=True))
    assert [f.message for f in failures(silent)] == ["It ran for sm_90a; its tests are skipped: sm_90 alone."]


@pytest.mark.parametrize(
    ("body", "told"),
    [
        pytest.param(  # as tests/test_contract.py, which asks `ci`
            "pytest.importorskip('nothing_here')", ["a test was skipped, and no kernel was built"],
            marks=pytest.mark.sweep,
        ),
        pytest.param("pytest.skip('no B200', allow_module_level=True)", [], marks=pytest.mark.sweep),
        pytest.param(
            "def test_a(): pytest.importorskip('nothing_here')\ndef test_b(): test_a()",
            ["2 tests were skipped, and no kernel was built"], marks=pytest.mark.sweep,
        ),
    ],
)  # fmt: skip
def test_a_suite_that_wants_a_module_is_not_seen(tmp_path: Path, body: str, told: list[str]) -> None:
    """One that skips itself, for another card, has said so."""
    found = suite(tmp_path, body)
    assert found.skipped
    assert [one.message.partition(":")[0] for one in found.failures] == told


@pytest.mark.usefixtures("run_here")
def test_sites_that_no_program_reached_are_told_with_the_reason(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Behind a condition, in a function that nothing calls, and in one that a program would have called."""
    pytest.importorskip("cutlass")
    copy = "cute.copy(cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), cutlass.Float32), a, f)"
    (repository / "kernels.py").write_text(
        KERNEL.replace(
            "@cute.jit",
            f"    if cutlass.const_expr(a.element_type is cutlass.Int8):\n        {copy}\n@cute.jit",
        )
        + f"@cute.kernel\ndef alone(a: cute.Tensor):\n    {copy}\n"
        + f"@cute.kernel\ndef late(a: cute.Tensor):\n    {copy}\n"
    )
    (repository / "half.py").unlink()
    cell = {"cell_type": "code", "source": f"import cutlass\nfrom cutlass import cute\n{copy}\n"}
    (repository / "n.ipynb").write_text(json.dumps({"cells": [cell], "nbformat": 4}))
    (repository / "test_kernels.py").write_text(
        "import kernels\ndef test_good():\n    kernels.build(16)\n    if not kernels:\n        kernels.late\n"
    )
    assert run(["ci", "--yes", *FAST]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "5 copy sites: 1 traced (20 %, 33 % of the 3 that a program may reach), 4 never traced." in said
    assert "1 kernel, 1 of 1 copy checked." in said
    uncalled = "kernels.py:alone, n.ipynb:cell 1"
    assert f"never traced: 2 of 4 in functions that no program calls, or in notebooks: {uncalled}" in said
    assert "never traced: 1 of 4 behind conditions that no kernel met: kernels.py " in said
    why = "no program that imports its file built its kernel"
    assert f"never traced: kernels.py:20: {why}" in said


def test_what_a_site_names_is_run_for_it(
    repository: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its programs once more; what fails only there is told, and fails nothing."""
    text = "@cute.kernel\ndef sm100_k(a: cute.Tensor):\n    cute.copy(a, a, a)\n"
    (repository / "kernels.py").write_text(f"{KERNEL}{text}{text.replace('sm100', 'sm120')}")
    (repository / "half.py").unlink()
    (repository / "test_kernels.py").write_text(
        "import kernels\ndef test_good():\n    kernels.build(16), kernels.sm100_k, kernels.sm120_k\n"
    )
    file, asked = str(repository / "kernels.py"), []
    lines = {"sm_90a": 7, "sm_100a": 15}

    def traced(cases: list[RegisteredCase], *_: object, **__: object) -> Iterator[CaseRun]:
        for case in cases:
            asked.append(case.arch)
            failures = (TraceFailure("test", "it asks for another GPU"),)
            if line := lines.get(case.arch):
                copied = ElementReport("k", case.arch, lines=((file, line),))
                found = Trace(kernels=(Kernel("k", case.arch, 1),), imported=(file,), elements=(copied,))
                yield CaseRun(case, found)
            else:
                yield CaseRun(case, Trace(failures=failures, imported=(file,)))

    monkeypatch.setattr("layoutcheck.lint.runs.trace", traced)
    assert run(["ci", "--yes", *FAST]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert asked == ["sm_90a", "sm_100a", "sm_120a"]
    assert "3 copy sites: 2 traced (66 %), 1 never traced." in said
    assert "2 runs for sm_100a, sm_120a, which copy sites name that no other run reached" in said
    assert "test_kernels.py[sm_120a] failed, and nobody asked for it: test: it asks for another GPU" in said
    assert run(["ci", "--yes", "--arch", "sm_90a", *FAST]) == 0
    assert asked[3:] == ["sm_90a"]


CASES = """\
import unittest
class T(unittest.TestCase):
    def test_a(self):
        with self.subTest(): raise LookupError
    @unittest.expectedFailure
    def test_b(self): raise LookupError
    def test_c(self): self.skipTest("why")
    def test_d(self): ...
"""
_ASIDE = "in a thread or process that it started"
_DIED = "a process that it started died of a signal"
_USED = [
    "_thread",
    "asyncio",
    "atexit",
    "multiprocessing",
    "subprocess",
    "sys",
    "threading",
    "time",
    "unittest",
]
_EXECUTORS = [f"concurrent.futures.{one}PoolExecutor(1) as it" for one in ("Thread", "Process")]


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("atexit.register(os._exit, 0); raise KeyError", ["KeyError"]),
        ("sys.excepthook = lambda *_: os._exit(0); raise KeyError", ["KeyError"]),
        ("t = threading.Thread(target=fail); t.start(); t.join()", [_ASIDE]),
        ("p = multiprocessing.get_context('spawn').Process(target=fail); p.start(); p.join()",
         [_ASIDE]),
        ("subprocess.run([sys.executable, 'fails.py'])", [_ASIDE]),
        ("subprocess.run([sys.executable, 'fails.py'], env={})", [_ASIDE]),
        ("subprocess.run([sys.executable, '-c', 'import nothing_here'])", []),  # a question
        ("subprocess.run([sys.executable, '-c', 'import ctypes; ctypes.string_at(0)'])",
         [_DIED]),
        ("os._exit(0)", []),
        *((f"with {what}: it.submit(fail)", [_ASIDE]) for what in _EXECUTORS),
        *((f"with {what}: it.submit(fail).exception()", []) for what in _EXECUTORS),
        ("p = multiprocessing.Pool(1); p.apply_async(fail); p.close(); p.join()", [_ASIDE]),
        ("p = multiprocessing.Pool(1); p.map_async(fail, '1'); p.close(); p.join()", [_ASIDE]),
        ("p = multiprocessing.Pool(1); a = p.apply_async(fail); a.wait(); a.successful()", []),
        ("p = multiprocessing.Pool(1); p.apply_async(fail, error_callback=print); p.close(); p.join()", []),
        ("p = os.fork() or os.kill(os.getpid(), 9); os.waitpid(p, 0)", [_DIED]),
        ("p = multiprocessing.Process(target=killed); p.start(); p.join()", [_DIED]),
        ("p = multiprocessing.get_context('spawn').Process(target=killed); p.start(); p.join()", [_DIED]),
        ("p = multiprocessing.Process(target=time.sleep, args=(9,)); p.start(); p.kill(); p.join()", []),
        ("subprocess.run(['sh', '-c', 'kill -9 $$'])", []),  # no Python
        ("p = multiprocessing.Pool(1); p.imap_unordered(fail, '1'); p.close(); p.join()\n"
         "    with concurrent.futures.ProcessPoolExecutor(1, initializer=fail) as it: it.submit(print)",
         [_ASIDE] * 2),
        ("asyncio.run(left()); _thread.start_new_thread(fail, ()); time.sleep(.1); atexit.register(fail)",
         [_ASIDE] * 3),
        ("subprocess.Popen([sys.executable, 'fails.py']); os.fork() or (time.sleep(.2), fail())",  # it ends
         [_ASIDE] * 2),
        ("unittest.main('cases', exit=False)", ["cases.T.test_a (<subtest>)"]),
        ("os.environ.clear(); subprocess.run([sys.executable, 'fails.py'])", [_ASIDE]),
        ("for word in ('-I', '-u'): subprocess.run([sys.executable, word, 'loads.py'])",
         ["a process was not watched, and has loaded the DSL"]),
    ],
)  # fmt: skip
def test_what_a_script_starts_is_not_forgotten(tmp_path: Path, body: str, told: list[str]) -> None:
    (tmp_path / "fails.py").write_text("raise LookupError\n")
    (tmp_path / "cases.py").write_text(CASES)
    (tmp_path / "nvidia_cutlass_dsl").mkdir()
    (tmp_path / "nvidia_cutlass_dsl" / "library").write_text("x")
    (tmp_path / "loads.py").write_text(
        "import mmap, time\nfile = open('nvidia_cutlass_dsl/library', 'r+b')\n"
        "there = mmap.mmap(file.fileno(), 0)\ntime.sleep(1)\n"
    )
    used = [name for name in ("concurrent.futures", *_USED) if re.search(rf"\b{name}\.", body)]
    (tmp_path / "s.py").write_text(
        f"import {', '.join(['os', *used])}\n"
        "def fail(*_): raise LookupError\ndef killed(): os.kill(os.getpid(), 9)\n"
        "async def failing(): fail()\n"
        "async def left(): asyncio.ensure_future(failing()); await asyncio.sleep(0)\n"
        f"if __name__ == '__main__':\n    {body}\n"
    )
    found = trace_script("s.py", launch=False, cwd=str(tmp_path), output=subprocess.DEVNULL, timeout_s=60)
    assert [one.message.partition(":")[0] for one in found.failures] == told
    if "cases" in body:
        assert dict(found.skipped) == {"cases.T.test_b": "xfail", "cases.T.test_c": "why"}


@pytest.mark.parametrize("other", ["...", "raise KeyError"])
def test_what_a_test_starts_is_not_forgotten(tmp_path: Path, other: str) -> None:
    """Where a test fails, that may be why."""
    body = "def test_a():\n    t = threading.Thread(target=fail); t.start(); t.join()\n"
    text = f"import threading\ndef fail(): raise LookupError\n{body}def test_b(): {other}\n"
    (failure,) = suite(tmp_path, text).failures
    assert (failure.kind, _ASIDE in failure.message) == (
        ("raised", True) if other == "..." else ("test", False)
    )


def test_what_a_program_reads_is_told(tmp_path: Path) -> None:
    """Files below its folder that it does not write, and variables that Python itself does not ask for."""
    for name in ("read.json", "both.json"):
        (tmp_path / name).write_text("1")
    (tmp_path / "s.py").write_text(
        "import os, pathlib, tempfile\nos.environ.get('MINE'), os.getenv('OURS')\nopen('read.json')\n"
        "pathlib.Path('both.json').read_text()\nopen('both.json', 'w')\nopen('made', 'w')\nopen('made')\n"
        "tempfile.gettempdir()\nopen('/etc/hostname')\n"
    )
    found = trace_script(
        "s.py", launch=False, network=False, cwd=str(tmp_path), output=subprocess.DEVNULL, timeout_s=60
    )
    below = {name.removeprefix(f"{tmp_path}/") for name in found.imported if not name.endswith(".py")}
    assert {name for name in below if not name.startswith("/")} == {"read.json", "$MINE", "$OURS"}


@pytest.mark.parametrize("how", ["{**os.environ}", "os.environ.copy()", "[*os.environ.items()]"])
def test_a_copy_of_the_environment_does_not_hang_on_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    """A CI service numbers its runs: none would do for the next. What is asked for by name counts."""
    for name in ("GITHUB_RUN_ID", "GITHUB_REF", "BUILD_NUMBER", "MINE"):
        monkeypatch.setenv(name, "7")
    (tmp_path / "s.py").write_text(
        f"import os\n{how}\nos.environ['GITHUB_REF']\n'BUILD_NUMBER' in os.environ\n"
    )
    with (tmp_path / "s.py").open("a") as script:
        script.write("try:\n    import own_or_none.part\nexcept ImportError:\n    pass\n")
    found = trace_script(
        "s.py", launch=False, network=False, cwd=str(tmp_path), output=subprocess.DEVNULL, timeout_s=60
    )
    read = {name for name in found.imported if name.startswith(("$GITHUB", "$BUILD", "$MINE"))}
    assert read == {"$GITHUB_REF", "$MINE"} and "$PATH" in found.imported
    lacked = {Path(name).name for name in found.imported if "own_or_none" in name}
    assert lacked >= {"own_or_none", "own_or_none.py"}  # the run is not taken again once there is one


def test_a_kept_run_hangs_on_variables_configuration_and_interpreter(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each is changed in turn: a run that was kept before is not taken again."""
    (repository / "tests").mkdir()
    case = RegisteredCase(
        "tests/test_a.py", "", 1, "a", "sm_90a", command=("-m", "pytest", "tests/test_a.py")
    )
    seen: Future[tuple[Trace, float]] = Future()
    seen.set_result((Trace(imported=("$MINE",)), 0.0))

    monkeypatch.setattr("layoutcheck.lint.runs._pool", pool_of(lambda _case: seen))
    store, settings = Cache(repository / "kept", "traces"), Settings(root=repository)
    packages = repository / "site-packages"
    packages.mkdir()
    monkeypatch.syspath_prepend(str(packages))

    def kept() -> bool:
        trace([case], settings, store)
        return trace([case], settings, store)[0].cached

    def again() -> bool:
        return trace([case], settings, store)[0].cached

    assert kept()
    for change in (
        lambda: monkeypatch.setenv("MINE", "1"),
        lambda: monkeypatch.setenv("PYTHONPATH", "/elsewhere"),
        lambda: monkeypatch.setattr(sys, "prefix", "/another"),
        lambda: (packages / "__editable__.other-1.pth").touch(),
        lambda: (repository / "conftest.py").write_text(""),
        lambda: (repository / "tests" / "conftest.py").write_text(""),
        lambda: (repository / "tests" / "pytest.ini").write_text(""),
    ):
        change()
        assert not again()
        assert again()
    key = [key for key, kept in store._entries.items() if isinstance(kept, dict)][-1]
    whole = store.get(key)
    for broken in (
        3,
        [whole],
        {},
        {"imported": [], "state": 0},
        *({**whole, "lines": x} for x in (["{"], [1], 0)),
    ):
        store.put(key, broken)
        assert not again()
        assert again()


def test_long_output_does_not_stay_on_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("layoutcheck.lint.runs._MOST_LOG_BYTES", 1 << 16)
    with tempfile.TemporaryFile() as log:
        log.write(bytes(1 << 17))
        log.flush()
        shorten(log)
        assert os.fstat(log.fileno()).st_blocks == 0
        log.write(b"the end")
        log.flush()
        shorten(log)
        log.seek(-7, os.SEEK_END)
        assert log.read() == b"the end"


def test_what_a_process_has_imported_is_told_with_its_kernels(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each file once: a forked child of the process ends without its last word."""
    monkeypatch.setattr(spool, "_named", set())
    for now in (["a.py"], ["a.py", "b.py"], ["a.py", "b.py"]):
        monkeypatch.setattr(spool, "imported", lambda now=now: now)
        spool._record(str(tmp_path), Built(1, "k", "sm_90a", "module", ()))
    events = list(spool.read(tmp_path))
    assert [each["kind"] for each in events] == ["built", "imported", "built", "imported", "built"]
    assert [each["files"] for each in events if each["kind"] == "imported"] == [["a.py"], ["b.py"]]


def test_a_script_with_relative_imports_is_run_as_a_module(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = repository / "02_layout"  # no __init__.py
    folder.mkdir()
    (folder / "sizes.py").write_text("ALIGN = 8\n")
    (folder / "it.py").write_text(
        "import kernels\nfrom .sizes import ALIGN\nif __name__ == '__main__':\n    kernels.build(ALIGN)\n"
    )
    assert run(["ci", "--list"]) == 0
    assert "-m 02_layout.it  (sm_90a)" in capsys.readouterr().out.splitlines()


UNRULY = {  # what a program does after the import, and whether it is then seen to its end
    "exit at once": ("build(8); os._exit(0)", True),
    "fork": ("p = os.fork()\n    if not p: build(8); os._exit(0)\n    os.waitpid(p, 0)", True),
    "close the descriptors": (
        "os.write(1, bytes(range(256)) * 99); os.close(1); os.close(2); build(8)", True
    ),
    "leave the folder": ("os.chdir('/'); build(8)", True),
    "drop the environment": ("os.environ.clear(); sys.stdout = sys.excepthook = None; build(8)", True),
    "thread": ("t = threading.Thread(target=build, args=(8,)); t.start(); t.join()", True),
    "spawn": (
        "p = multiprocessing.get_context('spawn').Process(target=build, args=(8,)); p.start(); p.join()", True
    ),
    "alarm": ("build(16); signal.alarm(1); time.sleep(60)", False),
    "hang in C": ("build(16); ctypes.CDLL(None).pause()", False),
    "crash": ("build(16); ctypes.string_at(0)", False),
    "exit before": ("os._exit(0); build(8)", False),
}  # fmt: skip


@pytest.mark.sweep
@pytest.mark.parametrize("deed", UNRULY)
def test_nothing_of_an_unruly_program_is_passed_over(
    repository: Path, deed: str, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("cutlass")
    body, seen = UNRULY[deed]
    (repository / "half.py").write_text(
        "import ctypes, multiprocessing, os, signal, sys, threading, time\nfrom kernels import build\n"
        f"if __name__ == '__main__':\n    {body}\n"
    )
    status = run(["ci", "half.py", "--yes", "--timeout", "30", *FAST])
    said = capsys.readouterr()
    assert status == (1 if seen else 2)
    assert (REFUSED in said.out) == seen
    assert ("not seen:" in said.err) != seen


def test_a_worker_that_fails_leaves_its_program_unseen(
    repository: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    failed: Future[object] = Future()
    failed.set_exception(OverflowError("too large"))
    monkeypatch.setattr("layoutcheck.lint.runs._pool", pool_of(lambda _case: failed))
    assert run(["ci", "half.py", "--yes", *FAST]) == 2
    said = capsys.readouterr()
    assert "layoutcheck itself failed on this program: OverflowError: too large" in " ".join(said.out.split())
    assert "case-failed: 1 run" in said.err


def test_where_processes_share_no_semaphores_it_is_said(
    repository: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A container without /dev/shm: no program can be run; much source is read by one process."""
    pytest.importorskip("cutlass")

    def lock(*_: object, **__: object) -> None:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr("multiprocessing.synchronize.SemLock.__init__", lock)
    monkeypatch.setattr("layoutcheck.lint.files._ENOUGH_BYTES", 0)
    assert run(["lint", ".", "--static"]) == 0
    assert run(["ci", "--yes", "--workers", "2", *FAST[:2]]) == 2
    assert "share semaphores here: [Errno 30] Read-only file system" in capsys.readouterr().err


@pytest.mark.parametrize("number", thinned([signal.SIGINT, signal.SIGHUP], 2))
def test_who_interrupts_it_keeps_the_earlier_reports(repository: Path, number: signal.Signals) -> None:
    """Programs of two processes are ended, and what is on the disk stays."""
    pytest.importorskip("cutlass")
    for name in ("one", "two"):
        (repository / f"{name}.py").write_text(
            f"import os, time\nopen('{name}', 'w').write(str(os.getpid()))\ntime.sleep(100)\n"
        )
    (repository / "pyproject.toml").write_text("[tool.layoutcheck]\nrun = ['one.py', 'two.py']\n")
    kept = {"--output": "found.json", "--html": "page.html", "--sarif": "log.sarif", "--junit": "junit.xml"}
    for name in kept.values():
        (repository / name).write_text(MARK)
    command = [sys.executable, "-m", "layoutcheck", "ci", "--yes", "--workers", "2", "--no-cache"]
    options = [word for pair in kept.items() for word in pair]
    process = subprocess.Popen(
        [*command, *options], stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    deadline = time.monotonic() + 60
    pids = [repository / name for name in ("one", "two")]
    while not all(pid.exists() and pid.read_text() for pid in pids):
        assert time.monotonic() < deadline, "the programs do not run"
        time.sleep(0.05)
    process.send_signal(number)
    said = process.communicate(timeout=20)[1]
    assert process.returncode == 128 + number and said.splitlines()[-1] == f"error: ended by {number.name}"
    assert {(repository / name).read_text() for name in kept.values()} == {MARK}
    assert list(repository.glob(".layoutcheck-*")) == []
    while any(Path("/proc", pid.read_text()).exists() for pid in pids):
        assert time.monotonic() < deadline, "a program still runs"
        time.sleep(0.05)


@pytest.mark.parametrize("group", thinned([True, False], 2))
def test_sigterm_leaves_a_report_of_what_was_seen(repository: Path, group: bool) -> None:
    """A program that built a kernel and hangs, and one that has not begun."""
    pytest.importorskip("cutlass")
    hangs = "    finally: open('built', 'w')\n    time.sleep(100)\n"
    (repository / "half.py").write_text(
        f"import time\nfrom kernels import build\nif __name__ == '__main__':\n    try: build(8)\n{hangs}"
    )
    command = [
        sys.executable,
        "-m",
        "layoutcheck",
        "ci",
        "--yes",
        "--format",
        "json",
        "--output",
        "found.json",
    ]
    process = subprocess.Popen(
        [*command, "--fail-on", "none", *FAST], stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    deadline = time.monotonic() + 60
    while not (repository / "built").exists():
        assert time.monotonic() < deadline, "no kernel was built"
        time.sleep(0.05)
    (os.killpg if group else os.kill)(process.pid, signal.SIGTERM)
    if group:  # `timeout` sends its signal to the process, and then to its group
        time.sleep(0.05)
        os.killpg(process.pid, signal.SIGTERM)
    assert "SIGTERM came before 2 of 2 runs had ended" in process.communicate(timeout=60)[1]
    assert process.returncode == 1  # the copy; a run that has ended so never gives 0
    found = json.loads((repository / "found.json").read_text())
    assert [(f["code"], f["path"]) for f in found["findings"]] == [
        ("LC911", "half.py"), ("LC101", "kernels.py"), ("LC911", "test_kernels.py"),
    ]  # fmt: skip


def test_sigterm_waits_for_no_worker_that_has_to_start(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[Future[object]] = []
    waited: list[object] = []

    def submit(_case: object) -> Future[object]:
        if len(given) == 2:
            os.kill(os.getpid(), signal.SIGTERM)
        given.append(Future())
        return given[-1]

    def waits(futures: list[object], _seconds: float) -> object:
        waited.extend(futures)
        return SimpleNamespace(done=set())

    monkeypatch.setattr("layoutcheck.lint.runs._pool", pool_of(submit, lambda one: one is given[1]))
    monkeypatch.setattr("layoutcheck.lint.runs.wait", waits)
    cases = [
        RegisteredCase("half.py", "", 1, name, "sm_90a", command=("half.py", name))
        for name in ("a", "b", "c")
    ]
    found = trace(cases, Settings(root=repository), Cache(None, "traces"))
    assert waited == given[1:] and not any(one.cancelled() for one in given)  # else its pool's thread raises
    assert [one.trace.failures[0].kind for one in found] == ["ended"] * 3


def test_sigterm_leaves_a_trace_of_what_was_seen(repository: Path) -> None:
    """A script that built a kernel and hangs: its copy is judged, and the status is never 0."""
    pytest.importorskip("cutlass")
    (repository / "half.py").write_text("import time\nfrom kernels import build\nbuild(8)\ntime.sleep(100)\n")

    def progress(kernels: int, copies: int) -> None:
        if copies:
            os.kill(os.getpid(), signal.SIGTERM)

    script = Script("half.py", launch=False, progress=progress)
    found = traced(script, lowered=False, order=False)
    assert [one.message for one in found.trace.failures] == ["SIGTERM came before it had ended"]
    assert found.verdicts() == {"rejected": 1} and status(found, False, NO_GATE) == 1
    nothing = replace(found, trace=unseen(), reports=())
    assert nothing.unseen(NO_GATE) == ["SIGTERM came before it had ended"]
    assert status(nothing, False, NO_GATE) == 2


def test_sigterm_behind_the_last_run_lets_the_report_be_written(monkeypatch: pytest.MonkeyPatch) -> None:
    """In the command line's own process; elsewhere the handler is the one that was there."""
    before, heard, at_exit = signal.getsignal(signal.SIGTERM), list[int](), list[object]()
    monkeypatch.setattr("layoutcheck.dsl.terminated.atexit.register", lambda *call: at_exit.append(call))
    try:
        for theirs in (signal.SIG_DFL, lambda number, _: heard.append(number)):
            signal.signal(signal.SIGTERM, theirs)
            with sigterm_raises():
                pass
            assert signal.getsignal(signal.SIGTERM) == theirs
            with pytest.raises(Terminated), sigterm_raises():
                os.kill(os.getpid(), signal.SIGTERM)
            assert signal.getsignal(signal.SIGTERM) == theirs
        os.kill(os.getpid(), signal.SIGTERM)
        assert heard == [signal.SIGTERM]
        assert not at_exit
        signal.signal(signal.SIGTERM, _Interrupt())
        with sigterm_raises():
            pass
        os.kill(os.getpid(), signal.SIGTERM)  # would raise Interrupted
        assert at_exit == [(signal.signal, signal.SIGTERM, signal.SIG_IGN)]  # Python ends without our handler
    finally:
        signal.signal(signal.SIGTERM, before)


def test_parts_share_the_programs(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shared = []
    for part in ("1/3", "2/3", "3/3"):
        assert run(["ci", "--list", "--shard", part]) == 0
        shared += capsys.readouterr().out.splitlines()
    assert run(["ci", "--list"]) == 0
    assert sorted(shared) == sorted(capsys.readouterr().out.splitlines()) and len(shared) == 2


def test_an_empty_part_asks_for_nothing(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One of a repository without programs does, as the whole."""
    pytest.importorskip("cutlass")
    assert run(["ci", "--yes", "--shard", "3/3", *FAST]) == 0
    said = capsys.readouterr().out
    assert "no program is in part 3 of 3" in said and "never traced" not in said  # others may reach them
    for name in ("test_kernels.py", "half.py"):
        (repository / name).unlink()
    assert run(["ci", "--yes", "--shard", "3/3", *FAST]) == 2
    assert "no-kernels" in capsys.readouterr().err


@pytest.mark.parametrize(
    "words", [["0/2"], ["3/2"], ["1"], ["1/2/3"], ["a/2"], ["1/1001"], ["1/2", "--require-coverage", "9"]]
)
def test_a_part_that_is_none_is_refused(
    repository: Path, words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["ci", "--yes", "--shard", *words]) == 2
    assert "--shard" in capsys.readouterr().err


@pytest.mark.parametrize("network", [True, False])
def test_programs_and_what_they_start_have_no_network(tmp_path: Path, network: bool) -> None:
    """A shell's connection to a socket of this process, which Python's own sockets have no part in."""
    script = tmp_path / "s.py"
    script.write_text(
        "import subprocess, sys, socket\n"
        "own = socket.create_server(('127.0.0.1', 0))\nsocket.create_connection(own.getsockname())\n"
        "print('status', subprocess.call(['bash', '-c', 'exec 3<>/dev/tcp/127.0.0.1/' + sys.argv[1]]))\n"
    )
    with socket.create_server(("127.0.0.1", 0)) as server, (tmp_path / "log").open("w+") as log:
        port = str(server.getsockname()[1])
        found = trace_script(str(script), [port], launch=False, network=network, output=log, timeout_s=60)
        log.seek(0)
        said = log.read()
    if any("no network namespace here" in note for note in found.notes):
        pytest.skip("Linux makes no network namespace here, and the trace says so")
    assert found.failures == ()
    assert ("status 0" in said) is network


def test_where_linux_makes_no_namespace_it_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = tmp_path / "s.py"
    script.write_text("import socket\ntry:\n    socket.create_connection(('127.0.0.1', 9))\n"
                      "except OSError as error:\n    print(error)\n")  # fmt: skip
    preload = tmp_path / "sitecustomize.py"
    libc = "{'unshare': lambda s, f: -1, 'prctl': lambda s, *a: 0}"
    preload.write_text(f"import ctypes\nctypes.CDLL = lambda *a, **k: type('C', (), {libc})()\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with (tmp_path / "log").open("w+") as log:
        found = trace_script(str(script), launch=False, network=False, output=log, timeout_s=60)
        log.seek(0)
        assert "without network" in log.read()
    assert "only Python's sockets were cut off" in found.notes[0]
