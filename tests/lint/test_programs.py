"""Which tests and scripts compile kernels: by their text, through imports, never by running anything."""

from __future__ import annotations

import os
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from layoutcheck.errors import InputError
from layoutcheck.lint import runs
from layoutcheck.lint.cache import Cache
from layoutcheck.lint.cases import CaseRun, RegisteredCase, failures
from layoutcheck.lint.outlines import outline
from layoutcheck.lint.programs import Repository, discover
from layoutcheck.lint.pytest_files import PytestFiles
from layoutcheck.settings import Settings
from layoutcheck.sources.traced import Frame, Trace, TraceFailure

KERNEL = "from cutlass import cute\n@cute.jit\ndef f(a): ...\n"
REPOSITORY = {
    "src/pkg/__init__.py": "from .ops import gemm\nfrom . import plain\nfrom .more import *\n"
    "from .same import same\n",
    "src/pkg/same/__init__.py": "from ..ops import gemm\ndef same(): gemm()\n",
    "tests/test_same.py": "from pkg import same\ndef test_it(): same()\n",
    "src/pkg/ops.py": "from .deep.kernels import f\ndef gemm(): f(1)\n",
    "src/pkg/deep/__init__.py": "",
    "src/pkg/deep/kernels.py": KERNEL,
    "src/pkg/plain.py": "def add(): ...\n",
    "src/pkg/more.py": "from pkg.deep import kernels\ndef starred(): ...\n",
    "tests/test_gemm.py": "from pkg import gemm\ndef test_it(): gemm()\n",
    "tests/test_attribute.py": "import pkg\ndef test_it(): pkg.gemm()\n",
    "tests/test_star.py": "from pkg import starred\nclass TestIt: ...\n",
    "tests/test_beside.py": "import helpers\ndef test_it(): helpers.run()\n",
    "tests/helpers.py": "def run():\n    import pkg.ops as ops\n    ops.gemm()\n",
    "tests/test_by_name.py": "import importlib\ndef test_it(): importlib.import_module('pkg.ops').gemm()\n",
    "tests/test_by_path.py": "import os\nfrom importlib import util\nFILE = util.spec_from_file_location(\n"
    "  'ops', os.path.join(os.path.dirname(__file__), '..', 'src', 'pkg', 'ops.py'))\ndef test_it(): FILE\n",
    "tests/test_by_named_path.py": "import runpy\nfrom pathlib import Path\n"
    "FILE = Path(__file__).parents[1] / 'src/pkg' / 'ops.py'\ndef test_it(): runpy.run_path(path_name=FILE)",
    "tests/test_by_path_plain.py": "import runpy\ndef test_it(): runpy.run_path('src/pkg/plain.py')\n",
    "tests/test_asked.py": "import pytest\nops = pytest.importorskip('pkg.ops')\ndef test_it(): ops.gemm()\n",
    "tests/test_of_a_name.py": "from importlib import import_module as get\nNAME = 'pkg.ops'\n"
    "def test_it(): get(NAME), print('pkg.ops')\n",
    "tests/test_plain.py": "from pkg import plain\nfrom pkg.plain import add\ndef test_it(): add()\n",
    "tests/test_bare.py": "import pkg\ndef test_it(): ...\n",
    "src/pkg/late/__init__.py": "from ..ops import gemm\ndef run(): gemm()\nNOTHING = 1\n",
    "tests/late_test.py": "from pkg.late import run\nclass Late(Case):\n    def test_it(self): run()\n",
    "tests/test_nothing.py": "from pkg.late import NOTHING\ndef test_it(): NOTHING\n",
    "other/ops.py": KERNEL,
    "tests/test_other.py": "import ops\ndef test_it(): ops.f(1)\n",
    "tests/no_tests.py": "from pkg import gemm\n",
    "src/pkg/script.py": "from .ops import gemm\nif __name__ == '__main__':\n    gemm()\n",
    "bench.py": "from pkg.ops import gemm\nif __name__ == '__main__':\n    gemm()\n",
    "setup.py": "import sys\nif __name__ == '__main__':\n    sys.exit()\n",
    "tests/test_broken.py": "from pkg.ops import gemm\ndef test_it(: gemm()\n",
    "tests/test_broken_plain.py": "from pkg.plain import add\ndef test_it(: add()\n",
    "tests/test_broken_bytes.py": "from pkg.ops import gemm\n\0def test_it(): gemm()\n",
    "tests/test_broken_import.py": "import json, pkg.ops as ops\nclass TestIt(:\n",
    "broken.py": "from cutlass import cute\ndef (:\n",
}
TESTS = [
    "tests/late_test.py",
    "tests/test_asked.py",
    "tests/test_attribute.py",
    "tests/test_beside.py",
    "tests/test_broken.py",
    "tests/test_broken_bytes.py",
    "tests/test_broken_import.py",
    "tests/test_by_name.py",
    "tests/test_by_named_path.py",
    "tests/test_by_path.py",
    "tests/test_gemm.py",
    "tests/test_same.py",
    "tests/test_star.py",
]


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    for path, text in REPOSITORY.items():
        file = tmp_path / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    monkeypatch.chdir(tmp_path)
    return Settings(root=tmp_path)


def commands(settings: Settings, *paths: str) -> list[str]:
    found = discover(paths or ["."], settings, Cache(None, "outlines"))
    return [" ".join(case.command) for case in found]


def test_tests_and_scripts_are_found_through_their_imports(repository: Settings) -> None:
    assert commands(repository) == ["bench.py", "-m pkg.script", *(f"-m pytest -q {path}" for path in TESTS)]


def test_programs_that_make_the_names_of_modules_are_told(repository: Settings) -> None:
    """They may compile kernels, which no text of theirs says."""
    for name, text in {
        "test_made": "def test_it(): get('pkg' + '.ops').gemm()",
        "made": "get('pkg' + '.ops')",
        "test_run": "from runpy import run_path\ndef test_it(name): run_path(name)",
    }.items():
        (repository.root / f"{name}.py").write_text(f"from importlib import import_module as get\n{text}\n")
    told: list[str] = []
    discover(["."], repository, Cache(None, "outlines"), told.append)
    assert len(told) == 1 and told[0].startswith(
        "3 programs not run, such as test_made.py: the names of modules"
    )


def test_each_way_to_a_kernel_counts(repository: Settings) -> None:
    """With the kernel gone nothing is left; so what was found was found through it."""
    (repository.root / "src/pkg/deep/kernels.py").write_text("def f(a): ...\n")
    assert commands(repository) == []


def test_paths_limit_what_is_run_and_not_what_is_followed(repository: Settings) -> None:
    found = commands(repository, "tests/test_gemm.py", "src")
    assert found == ["-m pkg.script", "-m pytest -q tests/test_gemm.py"]


@pytest.mark.parametrize("project", ["pyproject.toml", "setup.py", "setup.cfg", "pytest.ini", None])
def test_the_projects_of_one_repository_are_followed(tmp_path: Path, project: str | None) -> None:
    """A test that imports a module by its name, which only the root of its own project gives."""
    for path, text in {
        "one/alone.py": KERNEL, "two/src/within.py": KERNEL,
        "one/tests/test_alone.py": "import alone\ndef test_it(): alone.f(1)\n",
        "two/tests/test_within.py": "import within\ndef test_it(): within.f(1)\n",
        **({f"{name}/{project}": "" for name in ("one", "two")} if project else {}),
    }.items():  # fmt: skip
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    found = discover([str(tmp_path)], Settings(root=tmp_path), Cache(None, "outlines"))
    told = [case.command[-1] for case in found]
    assert told == (["one/tests/test_alone.py", "two/tests/test_within.py"] if project else [])


FIXTURES = """
import pytest, ops
@pytest.fixture
def built(): return ops.f
@pytest.fixture()
def deeper(built): return built
@pytest.fixture
def plain(): return 1
@pytest.fixture(name="other")
def _under_another_name(): return ops.f
"""


def test_a_fixture_of_a_conftest_stands_for_what_it_uses(tmp_path: Path) -> None:
    """Also by another fixture, and from the cache; the nearest one of its name counts."""
    for path, text in {
        "ops.py": KERNEL, "tests/conftest.py": FIXTURES, "tests/test_a.py": "def test_it(built): built(1)\n",
        "tests/a/test_b.py": "class TestIt:\n    def test_it(self, deeper): deeper(1)\n",
        "tests/test_c.py": "def test_it(plain): ...\n", "test_d.py": "def test_it(built): ...\n",
        "tests/b/conftest.py": "import pytest\n@pytest.fixture\ndef built(): ...\n",
        "tests/b/test_e.py": "def test_it(built): ...\n",
        "tests/test_f.py": "async def test_it(other): other(1)\n",
        "tests/test_g.py": "import pytest\n@pytest.fixture\ndef own(built): ...\ndef test_it(own): ...\n",
        "tests/c/conftest.py": "from shared import lent\n", "tests/c/test_h.py": "def test_it(lent): ...\n",
        "shared.py": FIXTURES.replace("built", "lent"),
        "tests/d/conftest.py": "import pytest\n@pytest.fixture\ndef built(built): ...\n",
        "tests/d/test_i.py": "def test_it(built): ...\n",
    }.items():  # fmt: skip
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    for _ in range(2):
        cache = Cache(tmp_path / "kept", "outlines")
        found = discover([str(tmp_path)], Settings(root=tmp_path), cache)
        assert [case.command[-1] for case in found] == [
            "tests/a/test_b.py", "tests/c/test_h.py", "tests/d/test_i.py", "tests/test_a.py",
            "tests/test_f.py", "tests/test_g.py",
        ]  # fmt: skip


PLUGIN = "import pytest, ops\n@pytest.fixture(autouse=True)\ndef warm(): ops.f\n"
CONFTEST = "import pytest\nfrom ops import f\n"
TAKEN = f"{CONFTEST}@pytest.fixture\ndef built(): return f\n"


@pytest.mark.parametrize(
    ("conftest", "test"),
    [
        (TAKEN, "import pytest\n@pytest.mark.usefixtures('built')\ndef test_it(): ...\n"),
        (TAKEN, "import pytest\npytestmark = [pytest.mark.usefixtures('x', 'built')]\ndef test_it(): ...\n"),
        (TAKEN, "def test_it(request): request.getfixturevalue('built')\n"),
        (TAKEN, "def test_it(request): request.getfixturevalue(argname=('bu' + 'ilt'))\n"),
        (TAKEN, "import pytest\nfrom pytest_lazy_fixtures import lf\n"
                "@pytest.mark.parametrize('x', [lf('built')])\ndef test_it(x): ...\n"),
        (f"{TAKEN}@pytest.fixture\ndef other(request): return request.getfixturevalue('built')\n",
         "def test_it(other): ...\n"),
        (f"{CONFTEST}@pytest.fixture(autouse=True, scope='module')\ndef built(): f(1)\n",
         "def test_it(): ...\n"),
        (f"{TAKEN}@pytest.fixture(autouse=True)\ndef other(built): ...\n",
         "class Test:\n def test(self): 1\n"),
        (f"{TAKEN}def pytest_collection_modifyitems(items):\n"
         " for item in items: item.add_marker(pytest.mark.usefixtures('built'))\n", "def test_it(): ...\n"),
        (f"{CONFTEST}def pytest_runtest_setup(item): f(1)\n", "def test_it(): ...\n"),
        (f"{CONFTEST}def pytest_generate_tests(metafunc): f(1)\n", "def test_it(): ...\n"),
        (f"{TAKEN}@pytest.fixture\ndef other(*, built): ...\n", "def test_it(*, other): ...\n"),
        (f"{CONFTEST}try:\n if f:\n  @pytest.fixture\n  def built(): f(1)\nexcept OSError: ...\n",
         "def test_it(built): ...\n"),
        ("from ops import f\nfrom pytest import fixture as fx\n@fx\ndef built(): return f\n",
         "def test_it(built): ...\n"),
        ("from ops import f\nfrom pytest import fixture as fx\n@fx(autouse=True)\ndef warm(): f(1)\n",
         "def test_it(): ...\n"),
        (f"{CONFTEST}from functools import partial\nlasting = partial(pytest.fixture, scope='module')\n"
         "@lasting()\ndef built(): return f\n", "def test_it(built): ...\n"),
        (f"{CONFTEST}from pytest import fixture\nfx = fixture\n@fx\ndef built(): return f\n",
         "def test_it(built): ...\n"),
        (f"{CONFTEST}NAME = 'built'\n@pytest.fixture(name=NAME)\ndef _built(): return f\n",
         "def test_it(built): ...\n"),
        (f"{CONFTEST}from names import NAME\n@pytest.fixture(name=NAME)\ndef _built(): return f\n"
         "@pytest.fixture(name=NAME + '2')\ndef _plain(): ...\n", "def test_it(built): ...\n"),
        *((f"{CONFTEST}{text}", f"def test_it({taken}): ...\n") for text, taken in (
            ("if f:\n @pytest.fixture\n def built(): f(1)\n"
             "else:\n @pytest.fixture\n def built(): 0\n", "built"),
            ("try:\n @pytest.fixture\n def built(): f(1)\n"
             "except OSError:\n @pytest.fixture\n def built(): 0\n", "built"),
            ("match f:\n case _:\n  @pytest.fixture\n  def built(): f(1)\n", "built"),
            ("X: object = pytest.fixture\n@X\ndef built(): f(1)\n", "built"),
            ("X = pytest.fixture(autouse=True)\n@X\ndef built(): f(1)\n", ""),
            ("X = pytest.fixture(name='built')\n@X\ndef it(): f(1)\n", "built"),
            ("X = {'name': 'built'}\n@pytest.fixture(**X)\ndef it(): f(1)\n", "built"),
            ("X = 'built'\n@pytest.fixture(name=X)\ndef it(): f(1)\nX = 'it'\n", "built"),
            ("def X(g): return pytest.fixture(g)\n@X\ndef built(): f(1)\n", "built"),
            ("it = pytest.fixture(name='built')(lambda: f(1))\n", "built"),
        )),
        (TAKEN, "from pytest import mark\nneeds = mark.usefixtures\n@needs('built')\ndef test_it(): ...\n"),
        ("try:\n import no\nexcept ImportError:\n pytest_plugins = ['plugin']\n", "def test_it(): ...\n"),
        ("import ops\nops.f(1)\n", "def test_it(): ...\n"),
        ("from make import made\nbuilt = made('built')\n", "def test_it(built): ...\n"),
        ("from plugin import warm\n", "def test_it(): ...\n"),
        ("from plugin import *\n", "def test_it(): ...\n"),
        ("pytest_plugins = 'plugin'\n", "def test_it(): ...\n"),
        ("pytest_plugins = ('pytester', 'between')\n", "def test_it(): ...\n"),
        ("pytest_plugins = ['beside']\n", "def test_it(): ...\n"),
        ("import os\npytest_plugins = [f'fixtures.{x}' for x in os.listdir('fixtures')]\n",
         "def test_it(): ...\n"),
        ("", "pytest_plugins = ['plugin']\ndef test_it(): ...\n"),
        ("[pytest]\nusefixtures = built\naddopts = -q -p plain\n", "def test_it(): ...\n"),
        ("[pytest]\naddopts = -p plugin\n", "def test_it(): ...\n"),
        ("[pytest]\naddopts = -v -pplugin\n", "def test_it(): ...\n"),
        ("[pytest]\naddopts = -m 'no end\nusefixtures = built\n", f"{TAKEN}def test_it(): ...\n"),
    ],
)  # fmt: skip
def test_fixtures_that_no_parameter_names_are_followed(tmp_path: Path, conftest: str, test: str) -> None:
    """Also where the settings or a plugin gives them; not to scripts, nor to tests of other folders."""
    files = {
        "ops.py": KERNEL, "plugin.py": PLUGIN, "between.py": "pytest_plugins = ['plugin']\n",
        "plain.py": TAKEN, "fixtures/one.py": PLUGIN, "make.py": f"{KERNEL}def made(name): ...\n",
        "tests/beside.py": PLUGIN, "tests/test_a.py": test,
        "tests/script.py": f"{test}if __name__ == '__main__': ...\n",
    }  # fmt: skip
    named = "pytest.ini" if conftest.startswith("[") else "tests/conftest.py"
    other = {} if conftest.startswith("[") else {"apart/test_b.py": "def test_it(): ...\n"}
    for path, text in {**files, **other, named: conftest}.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    told: list[str] = []
    found = discover([str(tmp_path)], Settings(root=tmp_path), Cache(None, "outlines"), told.append)
    tests = [case.command[-1] for case in found if "script" not in case.command[-1]]
    assert tests == ["tests/test_a.py"]
    assert not told


@pytest.mark.parametrize(
    ("conftest", "test", "said"),
    [
        ("import os\npytest_plugins = os.environ['PLUGINS'].split()\n", "def test_it(): ...\n", True),
        ("import os\npytest_plugins = [os.environ['PLUGIN']]\n", "def test_it(built): ...\n", True),
        ("pytest_plugins = [open('x').read()]\n", "import ops\ndef test_it(): ops.f(1)\n", False),
        (f"{CONFTEST}@pytest.fixture\ndef built(): f(1)\n", "def test_it(): ...\n", False),
        (f"{CONFTEST}def pytest_addoption(parser): f(1)\n", "def test_it(): ...\n", False),
        ("pytest_plugins = ['pytester']\n", "def test_it(): ...\n", False),
        (f"{CONFTEST}X = 'built'\n@pytest.fixture(name=X)\ndef it(): f(1)\n", "def test(it): 1\n", False),
        (f"{CONFTEST}X = pytest.fixture(scope='session')\n@X\ndef it(): f(1)\n", "def test(): 1\n", False),
        (f"pytest_plugins = {['other', *map(str, range(1000))]}\n", "def test_it(): ...\n", True),
    ],
)  # fmt: skip
def test_plugins_that_only_pytest_knows_are_said(
    tmp_path: Path, conftest: str, test: str, said: bool
) -> None:
    """Where tests may be missing for them; what is not used is not followed."""
    unnamed = f"{CONFTEST}@pytest.fixture(autouse=True)\ndef warm(): f(1)\n"
    files = {"ops.py": KERNEL, "other.py": unnamed, "tests/conftest.py": conftest, "tests/test_a.py": test}
    for path, text in files.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    told: list[str] = []
    found = discover([str(tmp_path)], Settings(root=tmp_path), Cache(None, "outlines"), told.append)
    assert bool(found) == ("ops" in test)
    assert [note.partition(":")[0] for note in told] == ["tests/conftest.py"] * said


def test_the_setting_names_programs(repository: Settings) -> None:
    run = ("tests", "bench.py --size '4 8'", "tests/test_plain.py -k it")
    named = replace(repository, run=run, run_arch=("sm_90a", "sm_100a"))
    found = discover(["."], named, Cache(None, "outlines"))
    assert [(case.name, case.command[-1], case.arch) for case in found if "bench" in case.name] == [
        ("bench.py --size 4 8[sm_90a]", "4 8", "sm_90a"),
        ("bench.py --size 4 8[sm_100a]", "4 8", "sm_100a"),
    ]
    assert {case.path for case in found} == {*TESTS, "bench.py", "tests/test_plain.py"}
    assert all(case.named for case in found)


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ("gone.py", "no such file"),
        ("..", "leaves the repository"),
        ("/etc/hosts", "leaves the repository"),
        ("tests -x", "takes no arguments"),
        ("a 'b", "quotation"),
    ],
)
def test_an_entry_that_cannot_be_used_is_named(repository: Settings, entry: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        discover(["."], replace(repository, run=(entry,)), Cache(None, "outlines"))


@pytest.mark.parametrize(
    ("files", "found"),
    [
        ({"pytest.ini": "[pytest]\npython_files = check_*.py late_test.py\n"}, ["check_gemm", "late_test"]),
        ({"pyproject.toml": "[tool.pytest.ini_options]\npython_files = ['tests/check_*']\n"}, ["check_gemm"]),
        ({"tox.ini": "[pytest]\npython_files = check_%.py\n    *_gemm.py\n"}, ["check_gemm", "test_gemm"]),
        ({"setup.cfg": "[tool:pytest]\npython_files=check_*\n"}, ["check_gemm"]),
        ({"pytest.ini": "", "setup.cfg": "[tool:pytest]\npython_files=check_*\n"}, None),
        ({"tox.ini": "[tox]\npython_files=check_*\n"}, None),
        ({"pytest.toml": "[pytest]\npython_files = ['check_*']\n"}, ["check_gemm"]),
        ({"pyproject.toml": "[tool.pytest]\npython_files = ['check_*']\n"}, ["check_gemm"]),
        ({"pyproject.toml": "tool = 1\n"}, None),
        ({"pyproject.toml": "[tool.pytest"}, None),
        ({"pyproject.toml": "[tool.pytest.ini_options]\npython_files = 7\n"}, None),
    ],
)
def test_pytest_says_which_files_hold_tests(
    repository: Settings, files: dict[str, str], found: list[str] | None
) -> None:
    (repository.root / "tests/check_gemm.py").write_text("from pkg import gemm\ndef test_it(): gemm()\n")
    for name, text in files.items():
        (repository.root / name).write_text(text)
    wanted = TESTS if found is None else [f"tests/{name}.py" for name in found]
    assert [c for c in commands(repository) if "pytest" in c] == [f"-m pytest -q {path}" for path in wanted]


def test_modules_are_found_where_pytest_and_the_environment_have_python_look(
    repository: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not in folders of other names, nor outside of the repository."""
    for name in ("near", "far", "else"):
        (repository.root / name).mkdir()
        (repository.root / name / f"in_{name}.py").write_text(KERNEL)
        test = f"from in_{name} import f\ndef test_it(): f()\n"
        (repository.root / f"tests/test_{name}.py").write_text(test)
    (repository.root / "pytest.ini").write_text("[pytest]\npythonpath = near\n")
    monkeypatch.setenv("PYTHONPATH", f"far{os.pathsep}..{os.pathsep}{repository.root}{os.pathsep}")
    found = {one for one in commands(repository) if "pytest" in one}
    assert found == {f"-m pytest -q {path}" for path in (*TESTS, "tests/test_far.py", "tests/test_near.py")}


def test_an_entry_may_be_written_in_any_way(repository: Settings) -> None:
    (repository.root / "link").symlink_to("tests", target_is_directory=True)
    for entry in ("tests/", "./tests", f"{repository.root}/tests", "src/../tests", "link"):
        assert commands(replace(repository, run=(entry,)), "tests") == [
            f"-m pytest -q {path}" for path in TESTS
        ]


def test_excluded_files_are_not_run(repository: Settings) -> None:
    left = commands(replace(repository, exclude=("tests/",)))
    assert left == ["bench.py", "-m pkg.script"]


@pytest.mark.parametrize(
    ("text", "kernels"),
    [
        ("import cutlass.cute as cute\ncute.compile(f)", True),
        ("import cutlass\n@cutlass.cute.kernel\ndef f(): ...", True),
        ("from cutlass.cute import jit as j\n@j\ndef f(): ...", True),
        ("import re\nre.compile('x')", False),
        ("import cutlass.cute as cute\ncute.size(3)", False),
    ],
)  # fmt: skip
def test_what_uses_the_builders(text: str, kernels: bool) -> None:
    assert outline(text.encode()).kernels is kernels


@pytest.mark.parametrize(
    ("text", "script"),
    [
        ("f(1)", True),
        ("g = cute.compile(f, 1)", True),
        ("for n in range(3):\n    cute.compile(f, n)", True),
        ("from pkg.ops import gemm\ngemm()", True),
        ("import pkg.ops\npkg.ops.gemm()", True),
        ("from pkg.plain import add\nadd()", False),
        ("g = f", False),
        ("cute.size(3)", False),
        ("x = f(1)", False),  # a table, perhaps, of a module that others import
        ("def g():\n    cute.compile(f, 1)", False),
        ("def g():\n    return cute.compile(f, 1)\nh = g()", True),
        ("f(1)\ndef test_it(): ...", False),  # pytest runs it
    ],
)
def test_a_script_may_do_without_a_guard(repository: Settings, text: str, script: bool) -> None:
    head = "from cutlass import cute\n@cute.jit\ndef f(n): ...\n"
    (repository.root / "acts.py").write_text(head + text)
    assert ("acts.py" in commands(repository)) is script
    for name in ("src/pkg/__init__.py", "conftest.py", "setup.py"):  # others run these
        (repository.root / name).write_text(head + text)
        assert not any(Path(name).stem in command for command in commands(repository))
    (repository.root / "user.py").write_text("import acts\nacts.f\n")  # then it is no script
    assert "acts.py" not in commands(repository)


@pytest.mark.parametrize("name", ["gemm", "add"])
def test_a_script_may_call_a_function_of_its_own(repository: Settings, name: str) -> None:
    """One of its functions uses another, which uses what compiles kernels elsewhere, or what does not."""
    module = "ops" if name == "gemm" else "plain"
    text = f"from pkg.{module} import {name}\ndef g(): {name}()\ndef main(): g()\nmain()\n"
    (repository.root / "acts.py").write_text(text)
    assert ("acts.py" in commands(repository)) is (name == "gemm")


def test_a_folder_that_cannot_be_read_is_named(repository: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests may be in it; one that is excluded was not asked for."""
    scan = os.scandir

    def scandir(path: str) -> object:
        if Path(path).name == "deep":
            raise PermissionError(13, "Permission denied", path)
        return scan(path)

    monkeypatch.setattr("os.scandir", scandir)
    with pytest.raises(InputError, match=r"'src/pkg/deep' cannot be read: Permission denied"):
        commands(repository)
    assert commands(replace(repository, exclude=("src/pkg/deep",))) == []


def test_outlines_are_kept(repository: Settings) -> None:
    store = Cache(repository.root / "kept", "outlines")
    first = discover(["."], repository, store)
    again = Cache(repository.root / "kept", "outlines")
    assert discover(["."], repository, again) == first
    assert not again._changed


@pytest.mark.parametrize(
    ("file", "place"),
    [
        ("{root}/kernels.py", ("kernels.py", 7)),
        ("{root}/.venv/lib/site-packages/a.py", ("run.py", 1)),
        ("/usr/lib/a.py", ("run.py", 1)),
    ],
)
def test_a_failure_stands_where_the_project_can_mend_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file: str, place: tuple[str, int]
) -> None:
    monkeypatch.chdir(tmp_path)
    where = Frame(file.format(root=tmp_path), 7)
    case = RegisteredCase("run.py", "", 1, "run.py", "sm_90a", command=("run.py",))
    (found,) = failures(CaseRun(case, Trace(failures=(TraceFailure("raised", "no", where),))))
    assert (found.path, found.line) == place
    assert ("a.py:7" in found.title) is (place == ("run.py", 1))


def test_the_reason_stands_in_the_title_behind_any_name() -> None:
    """The DSL names a compiled function after its arguments, in hundreds of characters."""
    case = RegisteredCase("run.py", "", 1, "run.py", "sm_90a", command=("run.py",))
    for name in ("kernel", "cutlass___call___" + "FakeTensorBFloat16div1_" * 20):
        failure = TraceFailure("uncompiled", f"{name}: it asks for 232496 B")
        (found,) = failures(CaseRun(case, Trace(failures=(failure,))))
        assert found.title.endswith("it asks for 232496 B") and f": {name[:40]}" in found.title


@pytest.mark.parametrize("rest", [b"\xff\xfe garbage \x80", b"def broken(:", b"\0"])
@pytest.mark.parametrize(("path", "run"), [("tests/test_a.py", True), ("notes.py", False)])
def test_a_test_file_that_python_refuses_is_run_and_fails(path: str, run: bool, rest: bytes) -> None:
    """Whatever it shows of tests: left out, the status would be 0."""
    known = outline(b"import cutlass.cute as cute\n" + rest + b"\ncute.make_copy_atom\n")
    repository = Repository({path: known}, PytestFiles(("test_*.py",)))
    assert repository.runs(path) is run


@pytest.mark.parametrize(
    ("message", "told"),
    [
        (
            "ModuleNotFoundError: No module named 'ours.kernels'",
            "'ours' is in b/src: put that folder into PY",
        ),
        ("ModuleNotFoundError: No module named 'theirs'", "`pip install --editable .` installs 'theirs'. "),
        ("no module 'pytest'", "Install 'pytest' in the environment that layoutcheck runs in. Seen in "),
        ("ValueError: no module", "Seen in "),
    ],
)
def test_a_missing_module_is_told_with_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, message: str, told: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "b" / "src" / "ours").mkdir(parents=True)
    (tmp_path / "b" / "pyproject.toml").write_text("[tool.layoutcheck]\n")
    (tmp_path / "theirs.py").touch()
    (tmp_path / "setup.py").touch()
    case = RegisteredCase("b/examples/it.py", "", 1, "it", "sm_90a", command=("b/examples/it.py",))
    (found,) = failures(CaseRun(case, Trace(failures=(TraceFailure("raised", message),))))
    assert found.message.startswith(told) and found.message.endswith("Seen in it.")


def test_a_program_that_cannot_be_started_is_not_our_failure(tmp_path: Path) -> None:
    case = RegisteredCase("gone.py", "", 1, "gone", "sm_90a", command=("gone.py",))
    (trace, _) = runs._run(case, Settings(root=tmp_path, lowered=False, order=False), None, threading.Event())  # type: ignore[arg-type]
    (failure,) = trace.failures
    assert (failure.kind, failure.message) == ("not run", "no script 'gone.py'")
