"""`confirm --order` without a GPU: what is planned, what comes into the PTX, and what is refused."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import tempfile
import threading
import time
from pathlib import Path

import pytest

from layoutcheck.confirming import confirmed_order
from layoutcheck.dsl.trace import end
from layoutcheck.errors import InputError
from layoutcheck.gpu.process import no_gpu
from layoutcheck.gpu.races import USUAL_RUNS, confirm_order, plan, run_delayed
from layoutcheck.reports.races import render, render_json
from layoutcheck.reports.style import Style
from layoutcheck.sources.traced import Frame, Kernel, KernelFinding, KernelPlace, OrderReport, Trace

FOLDER = Path(__file__).parents[1] / "order"
# A program that "fails" where the delays of its PTX sleep: it launches nothing, and reads their rows itself.
PROGRAM = """
import ctypes, glob, os, re, sys
os.environ.update(CUTE_DSL_KEEP="ptx", CUTE_DSL_DUMP_DIR={dump!r}, CUTE_DSL_ARCH="sm_90a")
sys.path[:0] = [{folder!r}, {root!r}]
import kernels
from cutlass import Int32
import cutlass.cute as cute
from cutlass.cute.runtime import make_ptr
pointers = [make_ptr(Int32, 1 << 24, cute.AddressSpace.gmem, assumed_align=128) for _ in range(2)]
cute.compile(kernels.run_neighbours, *pointers, int(sys.argv[1]))
texts = [open(name).read() for name in glob.glob({dump!r} + "/*.ptx")]
rows = [int(row) for text in texts for row in re.findall("mov.b64 t, ([0-9]+);", text)]
sleeps = sum(ctypes.c_uint32.from_address(row + 8).value > 0 for row in rows)
print(len(rows), "delays")
sys.exit(f"{{sleeps}} sleeps" if sleeps else 0)
"""


def finding(*lines: int) -> KernelFinding:
    places = tuple(KernelPlace("reads", Frame("/k.py", line)) for line in lines)
    return KernelFinding("LC504", "wrong", "a race", "nothing orders them", places)


def test_a_seed_gives_the_same_delays_at_one_line_or_both() -> None:
    plans = [plan(finding(3, 9), seed) for seed in range(60)]
    assert plans == [plan(finding(3, 9), seed) for seed in range(60)]
    assert {tuple(one.line for one in delays) for delays in plans} == {(3,), (9,), (3, 9)}
    assert len(set(plans)) > 30 and all(0 < d.warps <= 0xFFFFFFFF for delays in plans for d in delays)
    assert plan(finding(3), random.randrange(9))[0].line == 3


def test_a_program_runs_again_and_again_until_it_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "one.py").write_text(
        "import inspect, os, sys\n"
        "with open('runs', 'a') as file: file.write('x')\n"
        "runs = os.path.getsize('runs')\n"
        "print('run', runs, sys.argv[1], inspect.currentframe().f_code.co_filename)\n"
        "if runs == 3: sys.exit(7)\n"
    )
    runs = run_delayed(["one.py", "a b"], [()] * 5, timeout_s=60)
    where = tmp_path / "one.py"  # absolute, as of the places of findings
    assert [(run.status, run.said, run.failed) for run in runs] == [
        (0, f"run 1 a b {where}", False), (0, f"run 2 a b {where}", False), (7, f"run 3 a b {where}", True)
    ]  # fmt: skip


def test_a_run_over_its_limit_hangs_and_one_that_dies_has_its_status(tmp_path: Path) -> None:
    program = tmp_path / "one.py"
    program.write_text("import sys, time\nprint('sleeps', flush=True)\ntime.sleep(float(sys.argv[1]))")
    (hangs,) = run_delayed([str(program), "60"], [(), ()], timeout_s=0.7)
    assert hangs.status is None and hangs.failed and hangs.said in ("", "sleeps") and hangs.seconds < 30
    program.write_text("import os\nprint('goes', flush=True)\nos._exit(5)")
    (died,) = run_delayed([str(program)], [(), ()], timeout_s=60)
    assert (died.status, died.said) == (5, "goes")


@pytest.fixture
def program(tmp_path: Path) -> str:
    pytest.importorskip("cutlass", reason="needs the DSL")
    file = tmp_path / "program.py"
    (tmp_path / "dump").mkdir()
    file.write_text(
        PROGRAM.format(dump=str(tmp_path / "dump"), root=str(FOLDER.parents[1]), folder=str(FOLDER))
    )
    return str(file)


def test_a_process_that_no_signal_ends_is_left_and_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "sleeps.py"
    program.write_text("import time; time.sleep(20)")
    left: list[subprocess.Popen[bytes]] = []

    def kept(process: subprocess.Popen[bytes]) -> bool:
        left.append(process)
        return False

    monkeypatch.setattr("layoutcheck.gpu.races.end", kept)
    (hangs,) = run_delayed([str(program)], [()], timeout_s=0.7)
    assert hangs.stuck and hangs.status is None
    assert end(left[0]) and left[0].returncode is not None


def test_ctrl_c_ends_the_runs_of_all_findings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of four findings two are run at a time, and each run takes a minute."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sitecustomize.py").write_text(
        "import layoutcheck.dsl.delays as delays\n"
        "delays.Table = type('Table', (), dict(address=0, __init__=lambda *_: None, set=lambda *_: None))\n"
    )
    (tmp_path / "one.py").write_text(
        "import os, time\n"
        "with open('pids', 'a') as file: print(os.getpid(), file=file)\n"
        f"if len(open('pids').read().split()) > {USUAL_RUNS}: time.sleep(60)\n"
    )
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}:{FOLDER.parents[1]}")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    order = OrderReport("k", "sm_90a", tuple(finding(line, line + 1) for line in range(4)))
    seen = Trace(kernels=(Kernel("k", "sm_90a", 0),), orders=(order,))
    monkeypatch.setattr("layoutcheck.gpu.races.trace_script", lambda *_, **__: seen)
    pids = tmp_path / "pids"

    def interrupt() -> None:
        while not pids.exists() or len(pids.read_text().split()) < USUAL_RUNS + 2:
            time.sleep(0.02)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt, daemon=True).start()
    told: list[tuple[str, int, int]] = []
    with pytest.raises(KeyboardInterrupt):
        confirm_order("one.py", {}, seeds=[0], workers=2, progress=lambda *step: told.append(step))
    assert told == [("trace", 0, 1), ("trace", 1, 1), ("run", 0, 4)]
    assert not [pid for pid in pids.read_text().split() if Path("/proc", pid).exists()]
    assert list(tmp_path.glob("layoutcheck-*")) == []


@pytest.mark.sweep
def test_delays_come_into_the_ptx_and_are_told(program: str) -> None:
    if not no_gpu():
        pytest.skip("the rows of delays are in the GPU's memory")
    races = confirm_order(f"{program} 1", {"name": "none"}, seeds=[5, 7], workers=1)
    (tried,) = races.tried
    assert [(run.status, run.said) for run in races.usual] == [(0, "0 delays")] * 2 and races.status == 1
    assert tried.shown is not None and tried.shown.put == 4 and tried.shown.said == "4 sleeps"
    assert len(tried.runs) == 1 and tried.shown.delays == plan(tried.finding, 5)
    text = render(races, Style(width=200))
    assert "without delays: 0 of 2 runs fail" in text and "shows with seed 5" in text
    assert "--seed 5" in text and f"sleep {tried.shown.delays[0].nanoseconds:,} ns before" in text
    assert '"shown": 5' in render_json(races, Style())


@pytest.mark.sweep
def test_a_right_kernel_has_nothing_to_confirm(program: str) -> None:
    races = confirm_order(f"{program} 0", {}, seeds=[0])
    assert races.status == 0 and races.usual == () and "nothing to confirm" in render(races, Style())


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("nothing.py", "no program 'nothing.py'"),
        ("'", "cannot be split"),
        ("", "no program"),
        (__file__, "compiled no kernel"),
    ],
)
def test_what_cannot_be_run_is_an_input_error(given: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        confirm_order(given, {}, seeds=[0])


def test_options_out_of_range_and_no_gpu() -> None:
    for options in ({"workers": 0}, {"seeds": 0}, {"timeout": 0}, {"seed": -1}, {"seed": 1, "seeds": 2}):
        with pytest.raises(InputError):
            confirmed_order("program.py", **options)
    with pytest.raises(InputError, match=r"no program 'program\.py'"):
        confirmed_order("program.py")
    if no_gpu():
        with pytest.raises(InputError, match="nothing can be run"):
            confirmed_order(__file__)
