"""A project's own extensions that were not built: a stand-in, unless the program is ready to miss them."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, cast

import pytest

from layoutcheck.dsl.called import Called, Calls, Guessed
from layoutcheck.dsl.observe import NotLaunched
from layoutcheck.dsl.trace import trace_script
from layoutcheck.dsl.unbuilt import _compiled, _declares, _libraries, _Unbuilt
from layoutcheck.errors import InputError

SETUP = """\
setup(name="pkg", ext_modules=[CUDAExtension(
    name="pkg.native", sources=["csrc/a.cu"])])
# CUDAExtension(name="pkg.other")
"""
USES = "import pkg.native as native\nassert native.sums(1) is None\n"
SAID_OTHERWISE = """\
try:
    import pkg.native
except ImportError as error:
    raise RuntimeError("build it") from error
"""
ENDS_IN_ANY_CASE = """\
try:
    import pkg.native
except ImportError as error:
    if len(str(error)) > 9:
        try:
            raise RuntimeError("build it")
        finally:
            print(error)
    elif error:
        with open("log") as log:
            raise
    else:
        sys.exit(1)
"""
UNDECLARED = "import pkg_cuda as native, pkg._ops_C\nassert native.sums(1) is None\n"  # in no setup.py
TOLD = "pkg.native is not built here: what the program calls of it does nothing"
MISSING = (
    ("import pkg.other", ModuleNotFoundError),  # in a comment alone
    ("import native", ModuleNotFoundError),  # not of the package
    ("import pkg.name", ModuleNotFoundError),  # of no extension
    ("try:\n    import pkg.native\nexcept ImportError:\n    raised = True\nassert raised", None),
    ("try:\n    import pkg.inner\nexcept Exception as error:\n    said = str(error)\nassert said", None),
    (
        "try:\n    import pkg.native\nexcept ImportError:\n    if not __name__:\n        raise\n"
        "    raised = 1\nassert raised",
        None,
    ),
    ("try:\n    import pkg.native\nexcept ImportError:\n    def f():\n        raise\nassert f", None),
    ("import contextlib as c\nwith c.suppress(ImportError):\n    import pkg.native\n    assert False", None),
    ("import importlib.util\nassert importlib.util.find_spec('pkg.native') is None", None),
    ("import pytest\npytest.importorskip('pkg.native')", pytest.skip.Exception),
)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "setup.py").write_text(SETUP)
    package = tmp_path / "pkg"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "inner.py").write_text("from pkg import native\n")
    return tmp_path


def test_a_module_that_the_project_builds_does_nothing_in_a_run_without_launches(project: Path) -> None:
    (project / "s.py").write_text(USES)
    found = trace_script("s.py", launch=False, cwd=str(project), timeout_s=60)
    assert found.notes == (TOLD,) and not found.failures
    launched = trace_script("s.py", launch=True, cwd=str(project), timeout_s=60)
    assert "No module named 'pkg.native'" in launched.failures[0].message and not launched.notes


def test_what_is_an_extension_by_its_name_needs_no_declaration(
    project: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    missed: list[tuple[str, str, int]] = []
    told = run(project, UNDECLARED, monkeypatch, missed=missed)
    assert [one.partition(" ")[0] for one in told] == ["pkg_cuda", "pkg._ops_C"]
    assert [(said.partition(" ")[0], *at) for said, *at in missed] == [("pkg_cuda", str(project / "s.py"), 1)]
    elsewhere = tmp_path_factory.mktemp("installed")
    (elsewhere / "other.py").write_text("import other_cuda\n")
    monkeypatch.syspath_prepend(str(elsewhere))
    with pytest.raises(ModuleNotFoundError, match="other_cuda"):  # another package's, which is incomplete
        run(project, "import other", monkeypatch)
    with pytest.raises(ModuleNotFoundError, match="pkg_cudart"):
        run(project, "import pkg_cudart", monkeypatch)


def test_an_extension_that_no_build_names_is_not_seen(project: Path) -> None:
    """It may be a dependency with kernels of its own: the program goes on, and the run does not pass."""
    (project / "s.py").write_text(f"{UNDECLARED}import os\nos.fork()\nimport other_cpp\n")
    found = trace_script("s.py", launch=False, cwd=str(project), timeout_s=60)
    told = [(one.kind, one.message.partition(" ")[0], one.where and one.where.line) for one in found.failures]
    assert told == [("missing", "pkg_cuda", 1), ("missing", "other_cpp", 5)]


def test_a_package_of_the_checkout_needs_no_install_where_nothing_is_launched(tmp_path: Path) -> None:
    """It stands behind all else on the path."""
    package = tmp_path / "src" / "own"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "main.py").write_text("import sys\nassert sys.path[-1].endswith('src')\n")
    assert not trace_script("-m", ["own.main"], launch=False, cwd=str(tmp_path), timeout_s=60).failures
    with pytest.raises(InputError, match=r"no module 'own\.main'"):
        trace_script("-m", ["own.main"], launch=True, cwd=str(tmp_path), timeout_s=60)


def test_a_project_below_the_root_has_its_own_sources_and_builds(tmp_path: Path) -> None:
    """A repository of several, of which none is installed."""
    package = tmp_path / "below" / "src" / "own"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package.parents[1] / "setup.py").write_text("CUDAExtension(name='own_cuda', sources=[])\n")
    (package.parents[1] / "test_s.py").write_text("import own, own_cuda\ndef test_it(): own_cuda.sums(1)\n")
    (package.parents[1] / "conftest.py").write_text("import own_cuda\n")  # pluggy catches what it raises
    command = ["pytest", "-q", "below/test_s.py"]
    found = trace_script("-m", command, launch=False, cwd=str(tmp_path), timeout_s=60, spread=True)
    assert not found.failures
    assert found.notes == (TOLD.replace("pkg.native", "own_cuda"),)
    (package / "main.py").write_text(
        "from . import __name__ as name\nimport own_cuda\nassert name == 'own'\n"
    )
    file = "below/src/own/main.py"
    found = trace_script(
        "-m", ["own.main"], launch=False, cwd=str(tmp_path), timeout_s=60, spread=True, file=file
    )
    assert not found.failures and len(found.notes) == 1


def run(
    project: Path,
    script: str,
    monkeypatch: pytest.MonkeyPatch,
    names: dict[str, Any] | None = None,
    missed: list[tuple[str, str, int]] | None = None,
) -> list[str]:
    """Run a script with a stand-in in this process; what it told, its `names`, and what it `missed`."""
    told: list[str] = []
    keep: list[tuple[str, str, int]] = [] if missed is None else missed
    finder = _Unbuilt(project.resolve(), told.append, lambda *one: keep.append(one))
    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path, finder])
    monkeypatch.syspath_prepend(str(project))
    path = project / "s.py"
    path.write_text(script)
    with contextlib.ExitStack() as after:
        for name in ("pkg", "pkg.native", "pkg.inner", "pkg._ops", "pkg._ops_C", "pkg_cuda", "other"):
            after.callback(sys.modules.pop, name, None)
        exec(compile(script, str(path), "exec"), {} if names is None else names)
    return told


@pytest.mark.parametrize(("script", "error"), MISSING)
def test_it_stays_missing(
    project: Path, script: str, error: type[BaseException] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    with contextlib.nullcontext() if error is None else pytest.raises(error):
        assert run(project, script, monkeypatch) == []


@pytest.mark.parametrize("script", [USES, SAID_OTHERWISE, ENDS_IN_ANY_CASE])
def test_what_is_called_of_it_counts_as_left_out(
    project: Path, script: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = NotLaunched.left_out
    assert run(project, script, monkeypatch) == [TOLD]
    assert NotLaunched.left_out - before == script.count("sums(")


@pytest.mark.parametrize(
    ("file", "text", "name", "there"),
    [
        ("setup.py", 'Extension("a.b._C", [])', "a.b._C", True),
        ("setup.py", 'setup(name="pkg")', "pkg", False),
        ("setup.py", 'CppExtension(f"{NAME}._ops", [])', "pkg._ops", True),
        ("CMakeLists.txt", "nanobind_add_module(_C\n  src/a.cc)", "pkg._C", True),
        ("CMakeLists.txt", "project(pkg)\n# pybind11_add_module(pkg", "pkg", False),
        ("meson.build", "py.extension_module('_core', 'a.c')", "pkg._core", True),
    ],
)
def test_what_builds_a_project_names_its_extensions(
    tmp_path: Path, file: str, text: str, name: str, there: bool
) -> None:
    (tmp_path / file).write_text(text)
    assert _declares(tmp_path, name) is there


def test_a_build_file_beside_the_package_names_its_extensions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "python" / "pkg"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package.parent / "CMakeLists.txt").write_text("pybind11_add_module(\n    _compiled_module\n    a.cpp)\n")
    monkeypatch.syspath_prepend(str(package.parent))
    script = "import importlib\nimportlib.import_module('.{}', 'pkg').pygraph()\n"
    told = run(tmp_path, script.format("_compiled_module"), monkeypatch)
    assert told == [TOLD.replace("native", "_compiled_module")]
    with pytest.raises(ModuleNotFoundError):
        run(tmp_path, script.format("_other_module"), monkeypatch)


@pytest.mark.parametrize("built", [False, True])
def test_a_kernel_for_the_hub_has_the_operators_of_its_build(
    tmp_path: Path, built: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`torch-ext/pkg/_ops.py`, where the kernel's folder, of this project, has a `build.toml`."""
    package = tmp_path / "one" / "torch-ext" / "pkg"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    if built:
        (tmp_path / "one" / "build.toml").touch()
    monkeypatch.syspath_prepend(str(package.parent))
    script = "from pkg._ops import ops, prefix\nassert ops.inner.sums(1) is prefix('f') is None\n"
    before = NotLaunched.left_out
    with contextlib.nullcontext() if built else pytest.raises(ModuleNotFoundError):
        assert run(tmp_path, script, monkeypatch) == [TOLD.replace("native", "_ops")]
    assert NotLaunched.left_out - before == 2 * built
    with pytest.raises(ModuleNotFoundError):
        run(tmp_path, "import pkg._other", monkeypatch)


def test_a_library_of_operators_has_none(tmp_path: Path) -> None:
    loaded, told = list[str](), list[str]()
    torch = SimpleNamespace(ops=SimpleNamespace(), classes=SimpleNamespace(load_library=loaded.append))
    torch.ops.load_library = loaded.append
    _libraries(torch, tmp_path, told.append)
    (tmp_path / "there.so").touch()
    torch.ops.load_library(str(tmp_path / "there.so"))
    torch.classes.load_library(str(tmp_path / "pkg.so"))
    torch.ops.load_library("/nowhere/pkg.so")
    with contextlib.suppress(OSError):
        torch.ops.load_library(str(tmp_path / "pkg.so"))
    assert told == ["pkg.so is not built here: its operators are not there"]
    assert loaded == [str(tmp_path / "there.so"), "/nowhere/pkg.so", str(tmp_path / "pkg.so")]


def test_an_extension_with_code_for_a_gpu_is_not_compiled() -> None:
    told, built = list[str](), list[str]()

    def build(name: str, *_args: object, **_named: object) -> str:
        built.append(name)
        return name

    module = SimpleNamespace(load=build, load_inline=build)
    _compiled(module, told.append)
    assert module.load("a", ["a.cpp", "a.cu"]).sums(1) is None
    assert module.load_inline("b", cpp_sources="", cuda_sources="x").sums(1) is None
    assert module.load("c", sources=["c.cpp"], with_cuda=True).sums(1) is None
    assert (module.load("d", ["d.cpp"]), module.load_inline(name="e", cpp_sources="x")) == ("d", "e")
    assert built == ["d", "e"] and [one.partition(" ")[0] for one in told] == ["a", "b", "c"]


RESULTS = """\
import torch
from pkg import native
given = torch.Tensor((2, 3))
def through():
    return native.more(1, like=given)
a, b, (c, *d) = native.some(given)
one = native.one(0, given)
first, second = through()
native.into(given)
assert not native.ready(given) and native.nothing(3) is None
found = [a.shape, b.shape, c, one.shape, first.shape, second is not first]
turns = [list(native.count(given))[0] for _ in range(3)]
"""


class Tensor:
    """As much of torch's as is asked of one."""

    def __init__(self, shape: tuple[int, ...], fill: int = 0) -> None:
        self.shape, self.fill = shape, fill

    def new_full(self, shape: tuple[int, ...], fill: int) -> Tensor:
        """Another one."""
        return Tensor(shape, fill)

    def __iter__(self) -> Iterator[int]:
        return iter([self.fill] * 3)


def test_a_result_is_like_a_tensor_that_was_given_one_for_each_name(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not where the result is left unused, or tested: see `_taken_by`."""
    monkeypatch.setitem(sys.modules, "torch", cast("ModuleType", SimpleNamespace(Tensor=Tensor)))
    monkeypatch.setattr(Guessed, "any", False)
    before, told, names = NotLaunched.left_out, list[Called](), dict[str, Any]()
    Calls(1, told.append).take([3], {})
    run(project, RESULTS, monkeypatch, names)
    Calls(1, told.append).take([3], {})  # a number that may be one of a result
    assert [one.given for one in told] == [(3,), None]
    assert names["found"] == [(2, 3), (2, 3), 0, (2, 3), (2, 3), True]
    assert names["turns"] == [0, 1, 0]  # what the program decides by it goes both ways
    assert NotLaunched.left_out - before == 9


def test_what_is_not_compiled_has_no_code_to_show() -> None:
    """As the DSL's own functions without the option that keeps it."""
    made = NotLaunched()
    assert (made.__ptx__, made.__cubin__, made.__mlir__) == (None, None, None)
    assert made.kernel.anything is made
    with pytest.raises(AttributeError):
        _ = made.__wrapped__
