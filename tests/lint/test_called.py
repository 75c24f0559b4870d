"""Which functions programs may call: by names, from what is run, with what is kept or handed on."""

from __future__ import annotations

import pytest

from layoutcheck.lint.called import Called

KERNELS = """\
import torch
from cutlass import cute
class Base:
    def __call__(self, x):
        return self.epilogue(x)
    def epilogue(self, x):
        cute.copy(a, b, c)
    def left(self):
        def inner():
            cute.copy(a, b, c)
        return inner
class Derived(Base):
    def mainloop(self):
        cute.copy(a, b, c)
class Module(torch.nn.Module):
    def forward(self):
        cute.copy(a, b, c)
@torch.library.custom_op("q::op", mutates_args=())
def registered():
    cute.copy(a, b, c)
@cute.jit
def renamed():
    cute.copy(a, b, c)
@cute.jit
def by_text():
    cute.copy(a, b, c)
@cute.jit
def argument():
    cute.copy(a, b, c)
def host(argument):
    return argument
__all__ = ["exported"]
def exported():
    cute.copy(a, b, c)
if __name__ == "__main__":
    exported()
"""
TEST = """\
import kernels
from kernels import renamed as other
def helper():
    return kernels.Derived()(1), other, getattr(kernels, "by_text"), kernels.Module
class TestIt:
    def test_it(self, made):
        self.host()
    def host(self):
        kernels.host(1)
@pytest.fixture
def made():
    helper()
"""
SITES = {
    7: "",  # by a method that a base calls
    10: "Base.left",
    14: "Derived.mainloop",
    17: "",  # torch calls it
    20: "",  # kept by its decorator
    23: "",  # imported under another name
    26: "",  # by `getattr`
    29: "argument",  # a parameter of this name is another thing
    34: "exported",  # `__all__` calls nothing, and the file is not run
}


@pytest.mark.parametrize("line", SITES)
def test_a_function_is_called_by_its_name(line: int) -> None:
    sources = {"kernels.py": KERNELS.encode(), "test_kernels.py": TEST.encode()}
    assert Called(sources, ["test_kernels.py"], []).uncalled("kernels.py", line) == SITES[line]


def test_an_import_calls_what_the_file_calls_and_what_a_decorator_keeps() -> None:
    sources = {"kernels.py": KERNELS.encode(), "test_kernels.py": TEST.encode(), "use.py": b"import kernels"}
    known = Called(sources, [], ["use.py"])
    assert {line: known.uncalled("kernels.py", line) for line in SITES} == {
        7: "Base", 10: "Base", 14: "Derived", 17: "Module", 20: "", 23: "renamed", 26: "by_text",
        29: "argument", 34: "exported",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("text", "imported"),
    [
        ("import pkg.deep.kernels as other", True),
        ("from pkg.deep import kernels", True),
        ("def test_it():\n    from .deep import *", False),  # of the package's own names
        ("def test_it(): run(['python', 'pkg/deep/kernels.py'])", True),
        ("import pkg.more", True),  # the package's `__init__` runs, and imports it
        ("import importlib\nimportlib.import_module('pkg.deep')", False),
        ("import importlib\nimportlib.import_module(f'pkg.deep.{name}')", True),
        ("def never():\n    import pkg.deep.kernels", False),
        ("import pkg.deep", False),
    ],
)
def test_a_file_that_no_program_imports_calls_nothing(text: str, imported: bool) -> None:
    files = {"pkg/__init__.py": "", "pkg/deep/__init__.py": "", "pkg/deep/kernels.py": KERNELS}
    more = {
        "pkg/more/__init__.py": "from pkg.more.one import f",
        "pkg/more/one.py": "import pkg.deep.kernels",
    }
    known = Called(
        {path: raw.encode() for path, raw in {**files, **more, "t.py": text}.items()}, ["t.py"], []
    )
    assert known.uncalled("pkg/deep/kernels.py", 20) == ("" if imported else "registered")


VENDORED = """\
from cutlass import cute
def copy(a):
    cute.copy(a)
def partition(a):
    cute.copy(a)
def store(a):
    cute.copy(a)
class Pack:
    def load(self):
        cute.copy(a)
    def both(self):
        cute.copy(a)
class Packed(Pack):
    def used(self):
        self.both()
"""
USER = """\
from cutlass import cute
from .mine import copy_utils
from . import vendored
class Kernel:
    def run(self):
        cute.copy(self.load(), vendored.name)
        store = copy_utils.partition(1)
        store()
        vendored.Packed().used()
    def load(self):
        pass
def test_it():
    Kernel().run()
"""


@pytest.mark.parametrize(
    ("line", "name"),
    [
        (3, "copy"),  # `cute.copy` is of another package
        (5, "partition"),  # the other file's
        (7, "store"),  # a variable of this name is another thing
        (10, "Pack.load"),  # of `self`, which is of another family
        (12, ""),
    ],
)
def test_an_attribute_is_that_of_what_it_is_asked_of(line: int, name: str) -> None:
    sources = {"p/vendored.py": VENDORED, "p/mine/copy_utils.py": VENDORED, "p/test_it.py": USER}
    known = Called({path: text.encode() for path, text in sources.items()}, ["p/test_it.py"], [])
    assert known.uncalled("p/vendored.py", line) == name
    assert known.uncalled("p/mine/copy_utils.py", 5) == ""


def test_a_script_runs_what_stands_below_its_main() -> None:
    known = Called({"kernels.py": KERNELS.encode()}, [], ["kernels.py"])
    assert known.uncalled("kernels.py", 34) == "" and known.uncalled("kernels.py", 29) == "argument"


def test_a_file_that_cannot_be_read_and_lines_of_no_function_are_not_said_to_be_uncalled() -> None:
    known = Called({"a.py": b"def (", "b.py": b"x = 1\n"}, [], [])
    assert known.uncalled("a.py", 1) == known.uncalled("b.py", 1) == known.uncalled("c.py", 1) == ""
    assert list(known.span("b.py", 1)) == []


def test_the_span_is_that_of_the_innermost_function() -> None:
    known = Called({"kernels.py": KERNELS.encode()}, [], [])
    assert known.span("kernels.py", 10) == range(9, 11) and known.span("kernels.py", 21) == range(21, 24)


PLUGIN = """\
import pytest
from cutlass import cute
@pytest.fixture(autouse=True)
def warm(deep):
    cute.copy(a, b, c)
@pytest.fixture
def deep():
    cute.copy(a, b, c)
@pytest.fixture(name="other")
def _under_another_name():
    cute.copy(a, b, c)
@pytest.fixture
def by_name():
    cute.copy(a, b, c)
def pytest_runtest_setup(item):
    cute.copy(a, b, c)
def left():
    cute.copy(a, b, c)
"""


@pytest.mark.parametrize(
    ("body", "uncalled"),
    [
        ("...", ["by_name", "left"]),
        ("request.getfixturevalue('by_name')", ["left"]),
        ("request.getfixturevalue('by_' + kind)", ["left"]),
    ],
)
def test_pytest_calls_the_fixtures_and_hooks_of_a_plugin(body: str, uncalled: list[str]) -> None:
    test = f"pytest_plugins = ['plugin']\ndef test_it(request, kind): {body}\n"
    known = Called({"plugin.py": PLUGIN.encode(), "test_it.py": test.encode()}, ["test_it.py"], [])
    lines = [n for n, line in enumerate(PLUGIN.splitlines(), 1) if "cute.copy" in line]
    assert [name for line in lines if (name := known.uncalled("plugin.py", line))] == uncalled


ALIKE = "class Gemm:\n    def __call__(self):\n        cute.copy(a, b)\ndef host():\n    Gemm()()\n"


@pytest.mark.parametrize(
    ("text", "called"),
    [
        ("from pkg import First\nFirst()", {"one"}),
        ("from pkg import *\nFirst()", {"one"}),  # by its name: `*` does not say what it brings
        ("from pkg.two import Gemm\nGemm()", {"two"}),
        ("from pkg import First, Second, Third\nThird()", {"three"}),
        ("from pkg.both import Either\nEither()", {"one", "two"}),
        ("from pkg.three import host\nhost()", {"three"}),
        ("import pkg\ngetattr(pkg, 'Second')()", {"two"}),
        ("import pkg\npkg.Third()", {"three"}),
        ("import pkg\ndef run(Gemm): Gemm()\nrun(2)", set()),
        ("import pkg\nfrom unknown import Gemm\nGemm()", {"one", "two", "three"}),
        ("from pkg.circle import Second\nSecond()", {"two"}),
        ("from pkg.star import host\nhost()", {"two"}),
        (
            "from pkg.one import Gemm as Other\nclass It:\n    def run(self): pass\n    def go(self): run()\n"
            "def run(): Other()\nIt().go()",
            {"one"},
        ),  # not the method: a class is no scope of its methods
    ],
)
def test_classes_of_one_name_are_told_apart(text: str, called: set[str]) -> None:
    """By what a file imports, through the packages that hand it on."""
    sources = {
        "pkg/__init__.py": "from .one import Gemm as First\nfrom .two import Gemm as Second\n"
        "from .deep import Third\n",
        "pkg/deep/__init__.py": "from ..three import *\nfrom ..three import Gemm as Third\n",
        "pkg/both.py": "try:\n    from .one import Gemm as Either\nexcept ImportError:\n"
        "    from .two import Gemm as Either\n",
        "pkg/circle.py": "from .back import *\nfrom . import Second\n",
        "pkg/star.py": "from .two import *\n",
        "pkg/back.py": "from .circle import *\n",
        "use.py": text,
    } | {f"pkg/{name}.py": ALIKE for name in ("one", "two", "three")}
    known = Called({path: raw.encode() for path, raw in sources.items()}, [], ["use.py"])
    assert {name for name in ("one", "two", "three") if not known.uncalled(f"pkg/{name}.py", 3)} == called
