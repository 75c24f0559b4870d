"""Tracing scripts: real kernels in real child processes."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from layoutcheck.dsl import fake_cuda, observe, spool
from layoutcheck.dsl.passed_over import Enough, Passed
from layoutcheck.dsl.trace import (
    Ended,
    Script,
    _late,
    check_module,
    end,
    environment,
    trace_callable,
    trace_script,
)
from layoutcheck.errors import InputError
from layoutcheck.judge import judge_traced
from layoutcheck.sources.callers import called_from
from layoutcheck.sources.trace_lines import from_lines, to_lines
from layoutcheck.sources.traced import Trace, TracedCopy, distinct
from tests.dsl.lowered.compare import disagreement
from tests.environment import interruptible
from tests.forking import Forked
from tests.lowering import lower

pytest.importorskip("cutlass", reason="scripts are traced through the installed DSL")

COLUMN = 5 if sys.version_info >= (3, 11) else 1  # code objects of Python 3.10 have lines only

HELPER = """
import cutlass.cute as cute
def move(atom, x, y):
    cute.copy(
        atom, x, y)
"""
KERNEL = """
import sys
import cutlass, cutlass.cute as cute
from cutlass.cute.runtime import make_fake_tensor
from helper import move
@cute.kernel
def k(a: cute.Tensor, b: cute.Tensor):
    atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), cutlass.BFloat16, num_bits_per_copy=64)
    move(atom, a, b)
    for i in cutlass.range_constexpr(2):
        cute.copy(atom, b, a)
@cute.jit
def host(a: cute.Tensor, b: cute.Tensor):
    k(a, b).launch(grid=[1, 1, 1], block=[32, 1, 1])
def view(shape, stride):
    return make_fake_tensor(cutlass.BFloat16, shape, stride=stride, assumed_align=16)
good, refused = view((8, 4), (1, 8)), view((8, 4), (2, 16))
def case():
    return host, (good, good)
def argue():
    cute.compile(host, sys.argv, good)
if __name__ == "__main__":
    cute.compile(host, good, good)
    cute.compile(host, refused, refused)(1, 2)
    cute.compile(host, good, good)
    print(sys.argv)
    what = sys.argv[1]
    if what == "load":
        try:
            cute.runtime.load_module("cached/kernel.o")
        except Exception:
            pass
    if what == "raise":
        raise ValueError("on purpose")
    if what == "argument":
        argue()
    if what == "abort":
        import os; os.abort()
    if what == "hang":
        import time; time.sleep(600)
    if what == "spawn":
        import multiprocessing, helper_process
        child = multiprocessing.get_context("spawn").Process(target=helper_process.run)
        child.start(); child.join(); sys.exit(child.exitcode)
"""
DEPTHS = """
import json, sys, cutlass.cute as cute, kernel, subscripts
from layoutcheck.dsl import observe
made = {"copies": [], "others": []}
def look(dsl, built, name, record):
    def visit(op):
        made["copies" if op.name in observe.COPIES else "others"].append(str(op.location))
        return WalkResult.ADVANCE
    from cutlass._mlir.ir import WalkOrder, WalkResult
    built.operation.walk(visit, WalkOrder.PRE_ORDER)
observe._observe = look
with observe.watch(print, stop=True):
    cute.compile(kernel.host, kernel.good, kernel.good)
    cute.compile(subscripts.host, kernel.good)
assert not sys.modules[observe.OPERATIONS].copies_are_deep
print(json.dumps(made))
"""
SUBSCRIPTS = """
import patched, cutlass.cute as cute
@cute.kernel
def one(a: cute.Tensor):
    a[0] = a[1]
@cute.jit
def host(a: cute.Tensor):
    one(a).launch(grid=[1, 1, 1], block=[32, 1, 1])
"""
PATCHED = """
from cutlass.cute.tensor import _Tensor
from cutlass.cutlass_dsl import dsl_user_op
def patched(method):
    @dsl_user_op
    def called(*args, loc=None, ip=None):
        return method(*args, loc=loc, ip=ip)
    return called
_Tensor.__getitem__, _Tensor.__setitem__ = patched(_Tensor.__getitem__), patched(_Tensor.__setitem__)
"""
PROCESS = """
def run():
    import kernel, cutlass.cute as cute
    cute.compile(kernel.host, kernel.view((4, 4), (1, 4)), kernel.good)
"""


@pytest.fixture
def forked(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is traced is a fork: where nothing is asked of its process."""
    monkeypatch.setattr("layoutcheck.dsl.trace._process", Forked)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("traced")
    for name, text in (
        ("helper", HELPER),
        ("kernel", KERNEL),
        ("helper_process", PROCESS),
        ("depths", DEPTHS),
        ("patched", PATCHED),
        ("subscripts", SUBSCRIPTS),
    ):
        (made / f"{name}.py").write_text(text)
    return made


def traced(folder: Path, *args: str, timeout_s: float | None = 100) -> Trace:
    return trace_script(str(folder / "kernel.py"), args, launch=False, arch="sm_90a", timeout_s=timeout_s)


@pytest.fixture(scope="module")
def raising(folder: Path) -> Trace:
    return traced(folder, "raise")


def line_of(path: Path, text: str) -> int:
    return next(i for i, line in enumerate(path.read_text().splitlines(), 1) if text in line)


def test_copies_stand_at_the_users_line_with_their_callers(raising: Trace, folder: Path) -> None:
    helper, kernel = folder / "helper.py", folder / "kernel.py"
    through_helper = [one for one in raising.copies if one.where.file == str(helper)]
    assert {(one.where.line, one.where.column) for one in through_helper} == {(4, COLUMN)}
    assert through_helper[0].where.function == "move"
    callers = [(frame.file, frame.line) for frame in through_helper[0].stack]
    assert callers[0] == (str(kernel), line_of(kernel, "move(atom, a, b)"))
    assert any(line == line_of(kernel, "k(a, b).launch") for _, line in callers)
    unrolled = [one for one in raising.copies if one.where.line == line_of(kernel, "cute.copy(atom, b, a)")]
    assert len(unrolled) % 2 == 0 and all(one.where.file == str(kernel) for one in unrolled)
    assert not any(one.in_dsl or one.copy is None for one in raising.copies)


@pytest.mark.usefixtures("forked")
def test_copies_have_their_whole_stack_and_other_operations_their_line(folder: Path) -> None:
    """Whole stacks of everything would be half of what watching costs."""
    (folder / "depths.py").write_text(DEPTHS)
    done = subprocess.run(
        [sys.executable, folder / "depths.py"], capture_output=True, text=True, timeout=100, check=True
    )
    made = json.loads(done.stdout)
    copies = [place for place in made["copies"] if str(folder / "subscripts.py") not in place]
    assert len(copies) == 3
    assert all(f'"{folder / "kernel.py"}"' in place and "callsite(" in place for place in copies)
    ours = [place for place in made["others"] if str(folder / "kernel.py") in place]
    ours = [place for place in ours if str(folder / "subscripts.py") not in place]
    assert len(ours) > 3 and not any("callsite(" in place for place in ours)
    assert str(folder / "patched.py") not in done.stdout  # what it puts in place of the DSL's subscripts
    assert f'"{folder / "subscripts.py"}":5' in str(made["others"])


def test_every_refused_copy_is_reported_and_the_script_goes_on(raising: Trace) -> None:
    refused = [one for one in raising.copies if one.refused]
    assert all(one.verified for one in raising.copies)
    assert len(refused) == 3 and all("cannot vectorize" in (one.refused or "") for one in refused)
    report = judge_traced(refused[0])
    assert report is not None and report.verdict == "rejected" and report.asked is not None
    assert report.asked.message == report.compiler.message
    assert [kernel.copies for kernel in raising.kernels][:2] == [3, 3]


def test_a_script_that_raises_says_where(raising: Trace, folder: Path) -> None:
    # Nothing was launched, so what comes after a launch that did not happen is no finding.
    kernel = folder / "kernel.py"
    line = line_of(kernel, 'raise ValueError("on purpose")')
    assert not raising.failures
    assert any(f"{kernel}:{line}" in note and "on purpose" in note for note in raising.notes)


@pytest.mark.usefixtures("forked")
def test_an_argument_that_the_dsl_refuses_stands_at_the_users_call(folder: Path) -> None:
    """The DSL takes the first frame that is not its own for the user's: ours lie between."""
    (failure,) = traced(folder, "argument").failures
    kernel = folder / "kernel.py"
    assert failure.kind == "uncompiled"
    assert str(failure.where).startswith(f"{kernel}:{line_of(kernel, 'sys.argv, good')}")
    through = called_from(failure.stack, failure.where)
    assert through.startswith(f"called from {kernel}:{line_of(kernel, '    argue()')}")
    assert "expects argument #1 (a)" in failure.message and "-->" not in failure.message


def test_a_trace_is_written_and_read_back(raising: Trace) -> None:
    again = from_lines(list(to_lines(raising)))
    assert sorted(map(repr, again.copies)) == sorted(map(repr, raising.copies))
    assert (again.kernels, again.failures, again.notes) == (raising.kernels, raising.failures, raising.notes)
    assert sum(one.count for one in distinct(again)) == len(raising.copies)
    head = json.loads(next(to_lines(raising)))
    less = [[json.dumps({k: v for k, v in head.items() if k != gone})] for gone in ("skipped", "trace")]
    for broken in ([], ["{}"], ["[1]"], ['{"trace": 2}'], ["nonsense"], *less):
        with pytest.raises(InputError):
            from_lines(broken)


def test_a_process_that_dies_loses_nothing_seen_before(folder: Path) -> None:
    found = traced(folder, "abort")
    (failure,) = found.failures
    assert failure.kind == "killed" and "SIGABRT" in failure.message
    kernel = folder / "kernel.py"
    assert str(failure.where) == f"{kernel}:{line_of(kernel, 'os.abort()')}"
    assert sum(one.refused is not None for one in found.copies) == 3


@pytest.mark.usefixtures("forked")
def test_kernels_that_come_from_a_cache_are_said_to_be_missing(folder: Path) -> None:
    (failure,) = traced(folder, "load").failures
    assert failure.kind == "loaded"
    assert failure.message.startswith("1 compiled file, such as cached/kernel.o, not traced")


def test_a_script_that_hangs_is_ended(folder: Path) -> None:
    start = time.monotonic()
    found = traced(folder, "hang", timeout_s=2)
    assert time.monotonic() - start < 30
    assert found.failures[0].kind == "timeout"


@pytest.mark.usefixtures("forked")
def test_a_trace_ends_with_its_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not when it is looked for the next time."""
    monkeypatch.setattr("layoutcheck.dsl.trace._POLL_SECONDS", 20.0)
    (tmp_path / "ends.py").write_text("")
    start = time.monotonic()
    assert not trace_script(str(tmp_path / "ends.py")).failures
    assert time.monotonic() - start < 20


def test_processes_that_the_script_starts_take_part(folder: Path) -> None:
    found = traced(folder, "spawn")
    assert not found.failures, found.failures
    assert any("(4,(4))" in one.operation for one in found.copies)


@pytest.mark.usefixtures("forked")
def test_a_registered_function_is_called_and_what_it_returns_compiled(folder: Path) -> None:
    found = trace_callable(Script(str(folder / "kernel.py"), arch="sm_80", timeout_s=100), "case")
    assert not found.failures
    assert [one.arch for one in found.copies] == ["sm_80"] * 3


def test_ctrl_c_leaves_nothing_behind(folder: Path, tmp_path: Path) -> None:
    code = (
        "from layoutcheck.dsl.trace import trace_script\n"
        f"trace_script({str(folder / 'kernel.py')!r}, ['hang'], launch=False, output=None)"
    )
    path = os.pathsep.join([str(Path(observe.__file__).parents[2]), os.environ.get("PYTHONPATH", "")])
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        env={**os.environ, "TMPDIR": str(tmp_path), "PYTHONPATH": path},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        preexec_fn=interruptible,
    )
    assert process.stdout is not None
    assert b"hang" in process.stdout.readline()  # it sleeps now
    process.send_signal(signal.SIGINT)
    process.wait(20)
    left = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True).stdout
    assert str(folder / "kernel.py") + " hang" not in left
    assert not list(tmp_path.glob("layoutcheck*"))


@pytest.mark.parametrize(
    ("module", "said"),
    [
        ("no_such_module", "no module 'no_such_module'"), ("os.no", "no module 'os.no'"),
        ("inner.alone.no", "no module 'inner.alone.no'"), ("..inner", "no module '..inner'"),
        ("", "no module ''"), ("inner", "'inner' is a package without a module __main__"),
        ("inner.alone", ""), ("inner.run", ""), ("spread.part.alone", ""), ("pytest", ""), ("this", ""),
    ],
)  # fmt: skip
def test_a_module_that_python_would_not_find_is_one_error(tmp_path: Path, module: str, said: str) -> None:
    for file in ("inner/__init__.py", "inner/alone.py", "inner/run/__main__.py", "spread/part/alone.py"):
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_text("raise ValueError\n")  # which an import would raise
    with pytest.raises(InputError) if said else contextlib.nullcontext() as raised:
        check_module(module, str(tmp_path))
    assert raised is None or str(raised.value).startswith(said)


def test_no_script_is_an_input_error() -> None:
    with pytest.raises(InputError, match="no script"):
        trace_script("/nowhere/at/all.py")
    with pytest.raises(InputError, match="no module 'no_such_module'"):
        trace_script("-m", ["no_such_module"])


@pytest.mark.parametrize(
    ("version", "fine"),
    [
        ("4.3.5", True),
        ("4.8.1", True),
        ("4.10.0", True),
        ("5.0", True),
        ("4.2.1", True),
        ("4.1.0", False),
        ("", False),
    ],
)
def test_versions_that_were_not_tried_are_refused(
    version: str, fine: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(observe, "installed", lambda: version)
    assert (observe.unsupported() == "") is fine


def test_what_is_not_compiled_is_neither_kept_nor_taken_from_where_it_was_kept() -> None:
    """DSL 4.2 reads the IR of another version from its folder, and says that it fails."""
    given = environment("x", Script("x.py", launch=False))
    assert (given["CUTE_DSL_DISABLE_FILE_CACHING"], given["QUACK_CACHE_ENABLED"]) == ("1", "0")
    assert "QUACK_CACHE_ENABLED" not in environment("x", Script("x.py"))


def test_a_program_that_imports_auto_hears_of_its_copies_at_the_end(folder: Path) -> None:
    path = os.pathsep.join([str(Path(observe.__file__).parents[2]), os.environ.get("PYTHONPATH", "")])
    code = (
        "import layoutcheck.auto, kernel, cutlass.cute as cute\n"
        "cute.compile(kernel.host, kernel.refused, kernel.refused)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": path, "CUTE_DSL_ARCH": "sm_90a"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1  # the program's own
    assert "rejected[LC102]" in done.stderr and f"helper.py:4:{COLUMN}" in done.stderr
    assert "1 kernel, 3 copies at 2 places" in done.stderr and "Exception ignored" not in done.stderr


PARTITIONED = """
import cutlass, cutlass.cute as cute
from cutlass.cute.runtime import make_fake_tensor
from helper import move
@cute.kernel
def k(a: cute.Tensor, b: cute.Tensor, tiled: cute.TiledCopy, back: cute.TiledCopy, smem: cute.ComposedLayout):
    t, _, _ = cute.arch.thread_idx()
    bx, _, _ = cute.arch.block_idx()
    s = cutlass.utils.SmemAllocator().allocate_tensor(cutlass.BFloat16, smem, 16)
    ga, gb = (cute.local_tile(x, (64, 64), (bx, None)) for x in (a, b))
    load = tiled.get_slice(t)
    src, dst = load.partition_S(ga), load.partition_D(s)
    for i in cutlass.range(2):
        move(tiled, src[None, None, None, i], dst[None, None, None, i])
    store = back.get_slice(t % 64)
    out, there = store.partition_S(s), store.partition_D(gb)
    if t < 64:
        for m in cutlass.range_constexpr(cute.size(out, mode=[1])):
            fragment = cute.make_rmem_tensor_like(out[None, m, None, 0])
            cute.autovec_copy(out[None, m, None, 0], fragment)
            cute.copy(back, fragment, there[None, m, None, 0])
    half = back.get_slice(t % 32 + 32).partition_S(s)[None, 0, None, t // 64]
    cute.autovec_copy(half, cute.make_rmem_tensor_like(half))
    move(tiled, src[None, None, None, 0], tiled.get_slice(t ^ 32).partition_D(s)[None, None, None, 0])
@cute.jit
def host(a: cute.Tensor, b: cute.Tensor):
    g2s = cute.make_copy_atom(cute.nvgpu.cpasync.CopyG2SOp(), cutlass.BFloat16, num_bits_per_copy=128)
    any_ = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), cutlass.BFloat16, num_bits_per_copy=64)
    ordered = cute.make_ordered_layout
    tiled = cute.make_tiled_copy_tv(g2s, ordered((16, 8), (1, 0)), cute.make_layout((1, 8)))
    back = cute.make_tiled_copy_tv(any_, ordered((4, 16), (1, 0)), cute.make_layout((1, 4)))
    atom = cute.make_composed_layout(cute.make_swizzle(3, 3, 3), 0, ordered((8, 64), (1, 0)))
    smem = cute.tile_to_shape(atom, (64, 64, 2), (0, 1, 2))
    k(a, b, tiled, back, smem).launch(grid=[1, 1, 1], block=[128, 1, 1])
def view():
    pitch = cute.sym_int64(divisibility=8)
    return make_fake_tensor(cutlass.BFloat16, (64, 128), stride=(pitch, 1), assumed_align=16)
if __name__ == "__main__":
    cute.compile(host, view(), view())
"""


@pytest.mark.usefixtures("forked")
def test_the_addresses_of_all_threads_are_those_of_the_compilers_own_lowering(folder: Path) -> None:
    script = folder / "partitioned.py"
    script.write_text(PARTITIONED)
    modules: list[tuple[str, Sequence[TracedCopy]]] = []
    trace_script(
        str(script), launch=False, arch="sm_90a", timeout_s=100,
        observe=lambda text, _arch, copies: modules.append((text, copies)),
    )  # fmt: skip
    ((text, copies),) = modules
    (lowered,) = lower([text])
    *copies, crossed = copies
    assert crossed.missing == "a thread's views are those of two threads of its tiled copy"
    assert len(copies) == 1 + 2 * 16 + 1
    for number, one in enumerate(copies):
        assert one.address_source == "threads" and one.copy is not None, one.missing
        picture = lowered.op(f"cute.copy#{number}")
        assert picture is not None and disagreement(one.copy, picture, one.warps) == ""
        tiling = one.copy.tiling
        expected = (128, (0, 32, 64, 96)) if number == 0 else (64, (0, 32, -1, -1))
        if number == 33:  # flash_bwd_postprocess.py:563 of flash-attention: some threads, by turns, twice
            expected = None, (32,) * 4
            assert "of thread 32: the model says" in str(disagreement(one.copy, picture))
        assert tiling is not None and (tiling.block_threads, one.warps) == expected
    assert copies[0].where.file == str(folder / "helper.py")


def test_a_dsl_whose_frames_have_no_limit_is_left_alone(monkeypatch) -> None:
    """DSL 4.5 has no `ir._globals`: what is watched must import all the same."""
    monkeypatch.setitem(sys.modules, "cutlass._mlir.ir", SimpleNamespace(OpView=object))
    operations = SimpleNamespace()
    observe._deepen(operations)()
    assert not getattr(operations, "copies_are_deep", False)


def test_the_checkout_stands_before_what_is_installed_beside_us(folder: Path, tmp_path: Path) -> None:
    """PYTHONPATH is the user's, in the order that Python gives it; our own folder is not on it."""
    checkout = tmp_path / "checkout"
    checkout.mkdir()
    for name in ("numpy", "helper_of_mine"):
        (checkout / f"{name}.py").write_text("WHERE = 'checkout'\n")
    ours = Path(observe.__file__).parent / "site"
    script = folder / "paths.py"
    script.write_text(
        "import sys, numpy, helper_of_mine\n"
        "assert numpy.WHERE == helper_of_mine.WHERE == 'checkout'\n"
        f"at = sys.path.index({str(checkout)!r})\n"
        f"assert {str(ours.parents[2])!r} not in sys.path[:at], sys.path\n"
        f"assert sys.path.index({str(ours)!r}) < at, sys.path\n"
    )
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = str(checkout)
    try:
        found = trace_script(str(script), launch=False, timeout_s=60)
    finally:
        if before is None:
            del os.environ["PYTHONPATH"]
        else:
            os.environ["PYTHONPATH"] = before
    assert not found.failures, found.failures


@pytest.mark.parametrize(
    ("visible", "seen"),
    [(None, True), ("0", True), ("1,-1", True), ("", False), ("-1", False), (" -1,0", False)],
)
def test_a_hidden_gpu_is_pretended_like_one_that_is_not_there(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, visible: str | None, seen: bool
) -> None:
    """So that a kernel for another architecture is traced on a machine that has a GPU."""
    (tmp_path / "nvidia0").touch()
    monkeypatch.setattr(fake_cuda, "Path", lambda _dev: tmp_path)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    if visible is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    assert fake_cuda.has_gpu() is seen


@pytest.mark.parametrize(("gpu", "clusters"), [(True, 39), (False, 66)])
def test_no_compiled_kernel_is_asked_how_many_clusters_are_active(
    monkeypatch: pytest.MonkeyPatch, gpu: bool, clusters: int
) -> None:
    """Nothing is compiled without a launch, whether or not there is a GPU: its driver would crash."""

    class HardwareInfo:
        def get_device_multiprocessor_count(self) -> int:
            return 78

        def get_max_active_clusters(self, cluster_size: int) -> int:
            raise AssertionError("the driver was given a kernel that was never compiled")

    hooks: dict[str, list[Callable[[Any], None]]] = {}
    monkeypatch.setattr(fake_cuda, "has_gpu", lambda: gpu)
    monkeypatch.setattr(fake_cuda, "when_imported", lambda name, do: hooks.setdefault(name, []).append(do))
    monkeypatch.setattr(
        fake_cuda.fake_distributed, "install", lambda: None
    )  # this process keeps its variables
    fake_cuda.install("sm_90a", print)
    assert gpu == (list(hooks) == ["cutlass.utils.hardware_info"])  # all else is the GPU's own
    for hook in hooks["cutlass.utils.hardware_info"]:
        hook(SimpleNamespace(HardwareInfo=HardwareInfo))
    assert HardwareInfo().get_max_active_clusters(2) == clusters


@pytest.mark.dsl
@pytest.mark.parametrize(("asked", "said"), [("sm_100a", "sm_100a"), (None, "sm_80")])
def test_both_compilers_of_the_dsl_take_the_target_that_was_asked_for(
    asked: str | None, said: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """cute.experimental's reads a variable of its own; without it, it took that of the machine's GPU."""
    monkeypatch.setenv("CUTE_DSL_ARCH", "sm_80")
    if asked:
        monkeypatch.setenv("CUTE_EXPERIMENTAL_DSL_ARCH", "sm_90a")
    (folder / "targets.py").write_text(
        "import cutlass.cute; from cutlass.base_dsl import dsl\n"
        "print(*sorted({one.envar.arch for one in dsl.DSLSingletonMeta._instances.values()}))\n"
        "print(len(dsl.DSLSingletonMeta._instances))\n"
    )
    with (folder / "targets.txt").open("w+b") as output:
        trace_script(str(folder / "targets.py"), launch=False, arch=asked, output=output)
    targets, compilers = (folder / "targets.txt").read_text().splitlines()[:2]
    assert targets == said
    assert int(compilers) >= 2


@pytest.mark.usefixtures("forked")
def test_a_layout_of_the_host_in_a_kernel_is_refused_as_the_dsl_does(tmp_path: Path) -> None:
    """Each operation verifies, the module does not: a run that launches nothing must not take it as built."""
    script = tmp_path / "layout_of_the_host.py"
    script.write_text(
        "import cutlass, cutlass.cute as cute\n"
        "@cute.kernel\n"
        "def k(layout: cutlass.Constexpr, copied: cutlass.Constexpr):\n"
        "    tile = cutlass.utils.SmemAllocator().allocate_tensor(cutlass.BFloat16, layout, 16)\n"
        "    tile[0, 0] = cutlass.BFloat16(1)\n"
        "    if cutlass.const_expr(copied):\n"
        "        cute.autovec_copy(tile, cute.make_rmem_tensor(layout, cutlass.BFloat16))\n"
        "@cute.jit\n"
        "def host(copied: cutlass.Constexpr):\n"
        "    layout = cute.make_layout((8, 8), stride=(8, 1))\n"
        "    k(layout, copied).launch(grid=[1, 1, 1], block=[32, 1, 1])\n"
        "for copied in (False, True):\n"
        "    try:\n"
        "        cute.compile(host, copied)\n"
        "    except Exception as error:\n"
        "        print('refused:', 'could not build valid IR' in str(error))\n"
        "cute.compile(host, False)\n"
    )
    printed = tmp_path / "printed.txt"
    with printed.open("w") as out:
        failures = trace_script(str(script), launch=False, output=out).failures
    assert printed.read_text().count("refused: True") == 2
    assert [failure.kind for failure in failures] == ["unreadable", "raised"]
    assert "is never defined: another function made it" in failures[0].message
    assert "could not build valid IR" in failures[1].message


@pytest.mark.usefixtures("forked")
def test_a_call_is_held_to_the_alignment_that_was_promised_of_its_tensors(tmp_path: Path) -> None:
    """Of a compiled function, too, which is not launched: the DSL refuses to give it the address."""
    script = tmp_path / "promised.py"
    script.write_text(
        "import numpy, cutlass.cute as cute\n"
        "from cutlass.cute.runtime import from_dlpack\n"
        "@cute.jit\n"
        "def host(a: cute.Tensor):\n"
        "    pass\n"
        "whole = numpy.zeros(64, numpy.float32)\n"
        "at = -(whole.ctypes.data // 4) % 4\n"
        "inside = [from_dlpack(whole[at + i : at + i + 8], assumed_align=16) for i in (4, 1)]\n"
        "compiled = cute.compile(host, inside[0])\n"
        "compiled(inside[0])\n"
        "compiled(inside[1])\n"
    )
    (failure,) = trace_script(str(script), launch=False).failures
    assert (failure.kind, failure.where.line) == ("raised", 11)
    assert "not aligned to 16 bytes" in failure.message


LEAVING = """
import gc, os, sys
to = os.open("frozen", os.O_CREAT | os.O_WRONLY)

class Last:
    __file__ = None
    def __del__(self, frozen=gc.get_freeze_count, write=os.write, to=to):
        write(to, b"%d" % frozen())

sys.modules["last"] = Last()
"""


@pytest.mark.parametrize("launch", [False, True])
def test_the_end_of_a_process_that_launches_nothing_looks_through_nothing_for_garbage(
    launch: bool, tmp_path: Path
) -> None:
    """A tenth to a quarter of a second where the DSL is imported; what is launched may leave open files."""
    script = tmp_path / "leaving.py"
    script.write_text(LEAVING)
    assert trace_script(str(script), launch=launch, cwd=str(tmp_path)).failures == ()
    assert (int((tmp_path / "frozen").read_text()) > 10_000) == (not launch)


def test_a_run_is_ended_between_any_two_events(tmp_path: Path) -> None:
    """On a busy machine many wait; those that were not taken are left for after its end."""
    for number in range(3):
        spool.write(str(tmp_path), {"kind": "note", "message": str(number)})
    taken: list[dict[str, Any]] = []

    def shown() -> None:
        if len(taken) == 2:
            raise Ended("enough")

    collector: Any = SimpleNamespace(take=taken.extend)
    process: Any = SimpleNamespace(poll=lambda: None)
    with pytest.raises(Ended):
        _late(process, process, collector, tmp_path, None, shown)
    assert [one["message"] for one in (*taken, *spool.read(tmp_path))] == ["0", "1", "2"]
    assert len(taken) == 2


def test_a_test_that_has_run_pytest_itself_still_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """It goes on behind an assertion, builds nothing, and has called a test in its own process."""
    monkeypatch.setattr("layoutcheck.dsl.passed_over._IDLE_SECONDS", 0.1)
    Passed.begin()
    deadline = time.monotonic() + 10
    with pytest.raises(Enough), Passed.watched():
        with Passed.watched():
            pass
        assert Passed.goes_on(AssertionError())
        while time.monotonic() < deadline:
            pass
    Passed.begin()


class _Stubborn:
    """A process that SIGTERM does not end, and SIGKILL may; the clock goes while it is waited for."""

    clock = 0.0

    def __init__(self, pid: int, sent: list[tuple[int, int, float]], dies: bool) -> None:
        self.pid, self._sent, self._dies = pid, sent, dies

    def poll(self) -> int | None:
        killed = any(sent[:2] == (self.pid, signal.SIGKILL) for sent in self._sent)
        return -signal.SIGKILL if killed and self._dies else None

    def wait(self, seconds: float) -> None:
        if self.poll() is None:
            type(self).clock += seconds
            raise subprocess.TimeoutExpired("it", seconds)


@pytest.mark.parametrize("dies", [True, False])
def test_processes_that_stay_are_waited_for_together(monkeypatch: pytest.MonkeyPatch, dies: bool) -> None:
    """Each in turn would take a worker's whole time after SIGTERM, and what they showed would be lost."""
    sent: list[tuple[int, int, float]] = []
    monkeypatch.setattr(_Stubborn, "clock", 0.0)
    monkeypatch.setattr(time, "monotonic", lambda: _Stubborn.clock)
    monkeypatch.setattr(os, "killpg", lambda pid, number: sent.append((pid, number, _Stubborn.clock)))
    many: Any = [_Stubborn(pid, sent, dies) for pid in range(1, 8)]
    assert end(*many) == dies
    asked, killed = sent[:7], sent[7:]
    assert [one[:2] for one in asked] == [(pid, signal.SIGTERM) for pid in range(1, 8)]
    assert killed == [(pid, signal.SIGKILL, 5.0) for pid in range(1, 8)]
    assert _Stubborn.clock == (5.0 if dies else 25.0)
