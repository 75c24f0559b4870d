"""The child process that asks the DSL: it survives what kills the compiler, and leaves nothing behind."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

cutlass = pytest.importorskip("cutlass", reason="needs nvidia-cutlass-dsl, which these tests ask")

from layoutcheck.atoms.cp_async import CpAsync  # noqa: E402
from layoutcheck.atoms.matrix import LdMatrix  # noqa: E402
from layoutcheck.atoms.other import OtherAtom  # noqa: E402
from layoutcheck.atoms.universal import UniversalCopy  # noqa: E402
from layoutcheck.copies.copy import Copy  # noqa: E402
from layoutcheck.dsl import session as session_module  # noqa: E402
from layoutcheck.dsl.lower import lower  # noqa: E402
from layoutcheck.dsl.session import DslUnavailable, Session, environment  # noqa: E402
from layoutcheck.dsl.verifier import item, verify  # noqa: E402
from layoutcheck.errors import LayoutcheckError  # noqa: E402
from layoutcheck.machine.dtypes import dtype  # noqa: E402
from tests.environment import ROOT  # noqa: E402
from tests.miscompiles import memref  # noqa: E402

BF16 = dtype("bf16")
U128 = UniversalCopy(BF16, 128)
GOOD = Copy(U128, memref("bf16 gmem align<16> (8,4):(1,8)"), memref("bf16 smem align<16> (8,4):(1,8)"))
BAD = replace(GOOD, src=memref("bf16 gmem align<8> (8,4):(1,8)"))
DEADLY = Copy(U128, memref("bf16 gmem align<16> (3,4):(1,4)"), memref("bf16 smem align<16> (3,4):(1,4)"))


@pytest.fixture(scope="module")
def dsl() -> Iterator[Session]:
    with Session() as session:
        yield session


def all_gone(pid: int) -> bool:
    """Whether nothing of the session is left; a killed fork may take a moment to die."""
    for _ in range(100):
        if not descendants(pid):
            return True
        time.sleep(0.05)
    return False


def descendants(pid: int) -> set[int]:
    """The living processes of the session that `pid` leads."""
    found = set()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                stat = (entry / "stat").read_text()
            except OSError:  # it ended meanwhile
                continue
            state, _parent, _group, session, *_ = stat.rpartition(")")[2].split()
            if int(session) == pid and state not in "XZ":
                found.add(int(entry.name))
    return found


@pytest.mark.parametrize("bare", [True, False])
def test_answers_stay_in_order_around_what_kills_the_compiler(dsl: Session, bare: bool) -> None:
    copies = [GOOD, DEADLY, BAD, DEADLY, DEADLY, GOOD, BAD, DEADLY]
    said = verify(copies, session=dsl, bare=bare)
    want = {id(GOOD): "accepted", id(BAD): "rejected", id(DEADLY): "aborts"}
    assert [answer.outcome for answer in said] == [want[id(copy)] for copy in copies]
    assert said[1].evidence == {"signal": "SIGABRT"}
    assert said[1].message == "the compiler dies of SIGABRT"


def test_a_fork_goes_on_with_the_next_question_and_one_that_was_ended_meanwhile_costs_no_answer() -> None:
    with Session() as session:
        assert session.pid is not None
        assert verify([GOOD], session=session)[0].accepted
        (fork,) = descendants(session.pid) - {session.pid}
        assert verify([BAD], session=session)[0].outcome == "rejected"
        assert fork in descendants(session.pid)
        os.kill(fork, signal.SIGKILL)
        while fork in descendants(session.pid):
            time.sleep(0.01)
        assert verify([GOOD], session=session)[0].accepted
        assert verify([DEADLY, GOOD], session=session)[1].accepted


def test_no_copies_no_answers(dsl: Session) -> None:
    assert verify([], session=dsl) == []
    assert lower([], session=dsl) == []


def test_closing_ends_the_worker_its_forks_and_its_folder() -> None:
    with Session() as session:
        assert session.version == cutlass.__version__
        process, folder = session._process, session._folder.name
        assert process is not None
        verify([GOOD], session=session)
        assert process.pid in descendants(process.pid)
        assert Path(folder).is_dir()
    assert all_gone(process.pid)
    assert not Path(folder).exists()
    with pytest.raises(DslUnavailable, match="closed"):
        verify([GOOD], session=session)


def test_running_out_of_time_closes_the_session() -> None:
    with Session() as session:
        process = session._process
        assert process is not None
        with pytest.raises(DslUnavailable, match="did not answer in time"):
            lower([GOOD] * 200, timeout=0.05, session=session)
        assert all_gone(process.pid)


def test_a_worker_that_is_killed() -> None:
    with Session() as session:
        assert session._process is not None
        os.kill(session._process.pid, signal.SIGKILL)
        with pytest.raises(DslUnavailable, match="ended unexpectedly"):
            verify([GOOD], session=session)


def stand_in(folder: Path, monkeypatch: pytest.MonkeyPatch, files: dict[str, str]) -> None:
    """Put another `cutlass` in the DSL's place; the DSL's .pth file puts `dsl_packages` before everything."""
    package = folder / "nvidia_cutlass_dsl"
    modules = package / "dsl_packages" / "cutlass"
    for path, text in {package / "__init__.py": "", **{modules / k: v for k, v in files.items()}}.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    monkeypatch.setattr(sys, "path", [str(folder), *sys.path])


def test_without_the_dsl(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in(tmp_path, monkeypatch, {"__init__.py": "", "_mlir/__init__.py": "raise ImportError('no such')"})
    monkeypatch.setattr(session_module, "installed", lambda: "")
    with pytest.raises(DslUnavailable) as caught, Session():
        pass
    assert isinstance(caught.value, LayoutcheckError)
    assert str(caught.value) == "the CuTe DSL is not installed (pip install 'layoutcheck[dsl]'): no such"


IR = """
class MLIRError(Exception):
    error_diagnostics = []
class Context:
    def __enter__(self): return self
    def __exit__(self, *_): pass
    def enable_multithreading(self, _): pass
class Location:
    unknown = Context
class Module:
    @staticmethod
    def parse(text): raise MLIRError("unknown op cute.copy")
"""


@pytest.mark.filterwarnings("ignore::layoutcheck.versions.NewerDsl")  # told once, whichever test is the first
def test_a_dsl_that_reads_another_dialect(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = {"__init__.py": "__version__ = '9.9'", "_mlir/__init__.py": "", "_mlir/ir.py": IR}
    stand_in(tmp_path, monkeypatch, files)
    with pytest.raises(DslUnavailable, match=r"9\.9 refuses a plain copy.*unknown op cute\.copy"), Session():
        pass


def test_a_dsl_whose_python_cannot_be_imported_still_verifies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its own code runs when a task calls it: `build` does, `verify` does not."""
    accepting = IR.replace('raise MLIRError("unknown op cute.copy")', "pass")
    missing = "__version__ = '4.8.1'\nraise ImportError('no such thing')"
    files = {"__init__.py": missing, "_mlir/__init__.py": "", "_mlir/ir.py": accepting}
    stand_in(tmp_path, monkeypatch, files)
    with Session() as session:
        assert session.version == "4.8.1"
        assert verify([GOOD], session=session, bare=True)[0].accepted
        with pytest.raises(DslUnavailable, match=r"4\.8\.1 cannot be imported: no such thing"):
            verify([GOOD], session=session, bare=False)
        with pytest.raises(DslUnavailable, match="closed"):
            verify([GOOD], session=session)


@pytest.mark.parametrize(
    "text", ["", "}", '!cute.memref<"', "x" * 10_000, "%a, %b", "\x00", "!cute.ptr<bf16>"]
)
def test_rubbish_is_an_error_not_a_death(dsl: Session, text: str) -> None:
    rubbish = replace(GOOD, atom=OtherAtom("rubbish", text or "!"))
    for bare in (True, False):
        assert verify([rubbish, GOOD], session=dsl, bare=bare)[1].accepted
        assert verify([rubbish], session=dsl, bare=bare)[0].outcome == "rejected"


# ---- lowering ----


def test_operands_are_parameters_in_order(dsl: Session) -> None:
    """Base, then dynamic strides; smem bases have 32 bits; the pointer's swizzle acts on the address."""
    copy = Copy(
        U128,
        memref("bf16 gmem align<16> (8,4):(1,?{i64})"),
        memref("bf16 smem align<16> S<3,4,3> (8,4):(1,64)"),
    )
    ptx = lower([copy], session=dsl)[0].ptx
    assert ptx is not None
    assert ".param .align 8 .b8 k0_param_0[16]" in ptx
    assert ".param .align 4 .b8 k0_param_1[4]" in ptx
    assert "ld.param.b64 \t%rd1, [k0_param_0+8]" in ptx
    assert re.search(r"ld\.global", ptx)
    assert re.search(r"st\.shared", ptx)
    assert re.search(r"xor\.b32", ptx)


def test_a_predicate_is_the_third_parameter(dsl: Session) -> None:
    copy = Copy(
        CpAsync(BF16, 128, "global"),
        memref("bf16 gmem align<16> ((8,1),2):((1,0),8)"),
        memref("bf16 smem align<16> ((8,1),2):((1,0),8)"),
        memref("i8 rmem align<1> (1,2):(0,1)"),
    )
    ptx = lower([copy], session=dsl)[0].ptx
    assert ptx is not None
    assert "k0_param_2" in ptx
    assert len(re.findall(r"cp\.async\.cg\.shared\.global .*, 16, %r\d+;", ptx)) == 2


def test_one_bad_copy_does_not_spoil_its_module(dsl: Session) -> None:
    copies = [GOOD, BAD, DEADLY, *[GOOD] * 20]
    said = lower(copies, session=dsl)
    assert [one.error is None for one in said] == [True, False, False, *[True] * 20]
    assert said[1].error is not None
    assert "src ptr alignment" in said[1].error.replace("S ptr", "src ptr")
    assert said[2].error == "the compiler dies of signal 6"
    assert all(
        one.ptx and len(re.findall(r"ld\.global\S*\.v4", one.ptx)) == 4 for one in (said[0], *said[3:])
    )


def test_what_the_target_lacks_is_an_error(dsl: Session) -> None:
    byte = dtype("i8")
    matrix = LdMatrix(byte, 2, True, (16, 16), "u8")
    copy = Copy(matrix, memref("i8 smem align<16> (16):(1)"), memref("i8 rmem align<16> (16):(1)"))
    on_hopper, on_blackwell = (lower([copy], arch, session=dsl)[0] for arch in ("sm_90a", "sm_100a"))
    assert on_hopper.error
    assert on_blackwell.error is None
    assert on_blackwell.ptx is not None
    assert "ldmatrix" in on_blackwell.ptx


@pytest.mark.parametrize("op", ["autovec_copy", "basic_copy"])
def test_copies_that_choose_their_own_atom(dsl: Session, op: str) -> None:
    copy = replace(GOOD, atom=None, op=op)
    assert item(copy)["call"] == op
    ptx = lower([copy], session=dsl)[0].ptx
    assert ptx is not None
    assert len(re.findall(r"ld\.global", ptx)) == (4 if op == "autovec_copy" else 32)


def test_a_folder_of_the_repository_stands_before_no_library(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`python -m` has the working directory first on its path; CUTLASS's examples have a `jax`."""
    monkeypatch.chdir(tmp_path)
    for first in ("", str(tmp_path)):
        monkeypatch.setattr(sys, "path", [first, "/one", "/two"])
        assert environment()["PYTHONPATH"].split(os.pathsep) == ["/one", "/two", str(tmp_path)]


@pytest.mark.parametrize(
    ("version", "said"), [("4.4.2", "4.4.2 cannot be imported: No"), ("", "is not installed")]
)
def test_a_dsl_that_cannot_be_imported_is_not_called_missing(
    version: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session_module, "installed", lambda: version)
    monkeypatch.setattr(Session, "_answer", lambda *_: {"missing": "No module named 'jax.numpy'"})
    with pytest.raises(DslUnavailable, match=said):
        Session()._greet()


IMPORTED = """
import sys
from importlib import import_module
from pathlib import Path
from layoutcheck.dsl import worker
from layoutcheck.dsl.imports import bare
_, complete = bare("cutlass")
import_module("cutlass._mlir.ir")
items = [{"module": Path("tests/data/traced.mlir").read_text()}]
for _ in range(2):
    worker.prepare(items, "passes")
    before = set(sys.modules)
    answer = worker.TASKS["passes"](items[0])
    print("lowered" in answer, sorted(name for name in set(sys.modules) - before if "cutlass" in name))
    worker.forget()
    assert None not in sys.modules.values()
    complete()
"""


def test_a_fork_imports_no_dialect() -> None:
    """What a task needs is there before its fork, with MLIR alone as with the whole DSL."""
    done = subprocess.run(
        [sys.executable, "-c", IMPORTED], cwd=ROOT, env=environment(), capture_output=True, text=True
    )
    assert done.stdout.split("\n")[:2] == ["True []"] * 2, done


PILED_UP = """
import os
from layoutcheck.dsl import worker
seen = []
def task(item):
    seen.append(item)
    if len(seen) > item["most"]:
        os._exit(0) if item["quiet"] else os.abort()
    return {"answer": len(seen)}
worker.TASKS["verify"] = task
for most, quiet in ((1, False), (1, False), (0, False), (1, True), (1, True), (0, True)):
    answers = worker.forked([{"most": most, "quiet": quiet}], "verify")
    print([one.get("answer", one.get("died")) for one in answers], flush=True)
worker.end_fork()
"""


def test_what_dies_of_earlier_questions_is_asked_again_alone() -> None:
    """An item is said to kill the compiler if it kills a fork of its own, however that ends."""
    done = subprocess.run(
        [sys.executable, "-c", PILED_UP],
        cwd=ROOT,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.stdout.split("\n")[:-1] == ["[1]", "[1]", "[6]", "[1]", "[1]", "[1]"], done
