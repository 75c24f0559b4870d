"""Extensions in C++ that a project builds itself, where they were not built: stand-ins that compute nothing.

Only in a run that launches nothing. A package that imports such a module unasked cannot be imported without
it, nor can its kernels in Python be. Where the program is ready for the module to be missing (an import in a
`try`, `importlib.util.find_spec`, `pytest.importorskip`), it is missing.
"""

from __future__ import annotations

import ast
import contextlib
import dis
import importlib.abc
import importlib.machinery
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from types import CodeType, FrameType, ModuleType
from typing import Any

from layoutcheck.dsl.called import Guessed
from layoutcheck.dsl.imports import when_imported
from layoutcheck.dsl.observe import NotLaunched
from layoutcheck.places import SOURCES
from layoutcheck.regular import read_regular

_DECLARATIONS = {  # of a module, by the file that builds the project; {} is the last word of its name
    "setup.py": r"Extension\w*\(\s*(?:name\s*=\s*)?f?[\"']{package}{}[\"']",
    "CMakeLists.txt": r"(?:add_module|add_library|Python\w*_add_library)\s*\(\s*{}\b",
    "meson.build": r"extension_module\(\s*'{}'",
}
# Last words that torch's tutorials and users give extensions.
_NATIVE = re.compile(r"(?:^|_)C$|_(?:cuda|cpp)$")
_READY = ("ImportError", "ModuleNotFoundError", "OSError", "RuntimeError", "Exception", "BaseException")
_UNDECLARED = (
    "is not installed, and no build of the project names it: if it is a dependency, install it; what it "
    "would build is not seen"
)
_MOST_BYTES = 1 << 20
_UNUSED = ("POP_TOP", "POP_JUMP", "TO_BOOL", "UNARY_NOT", "IS_OP")
_FILLING = ("CACHE", "EXTENDED_ARG", "NOP")
_COMMENT = re.compile(r"^\s*#.*$", re.MULTILINE)

Tell = Callable[[str], None]
Miss = Callable[[str, str, int], None]  # what is missed, and the file and line that import it


def stand_in(root: Path, tell: Tell, miss: Miss, below: Sequence[Path] = ()) -> None:
    """From here on, stand in for what the project in `root`, or one `below`, builds; `tell` hears of it.

    `miss` hears of one that no build of the project has, and that may be a dependency which is not installed.
    What the project does not have installed is found in its folders of sources, behind all else.
    """
    sys.path += sources(root)
    sys.meta_path.append(_Unbuilt(root, tell, miss, below))
    when_imported("torch", lambda torch: _libraries(torch, root, tell))
    when_imported("torch.utils.cpp_extension", lambda module: _compiled(module, tell))


def sources(root: Path) -> list[str]:
    """The folders of a project that hold its packages, where these are not at its root."""
    return [str(root / each) for each in SOURCES if (root / each).is_dir()]


class _Unbuilt(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """The last finder that is asked."""

    def __init__(self, root: Path, tell: Tell, miss: Miss, below: Sequence[Path] = ()) -> None:
        self.root, self.tell, self.miss, self.below = root, tell, miss, below

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """A module of nothing, if it is the project's to build and the importer is not ready to miss it.

        The project declares its name, or imports one that is an extension's by its last word. Such a name
        may be declared nowhere: a fork keeps the Python of what it no longer builds. If it is of no package
        of the project, it may as well be a dependency, whose kernels are not seen.
        """
        del target
        own = path is None or any(Path(one).resolve().is_relative_to(self.root) for one in path)
        folders = tuple(Path(one).resolve() for one in path or ())
        above = [each for one in folders for each in (one, *one.parents) if each.is_relative_to(self.root)]
        known = any(_declares(each, name) for each in (self.root, *self.below, *above))
        known = known or any(_generates(self.root, folder, name) for folder in folders)
        asking = None if known or _NATIVE.search(name) is None else _asking(sys._getframe(1), self.root)
        if not own or not (known or asking) or _missed(sys._getframe(1)):
            return None
        if asking is not None and path is None:
            self.miss(f"{name} {_UNDECLARED}", asking.f_code.co_filename, asking.f_lineno)
        return importlib.machinery.ModuleSpec(name, self)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        """The stand-in."""
        return _Nothing(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Nothing to run."""
        self.tell(f"{module.__name__} is not built here: what the program calls of it does nothing")


class _Nothing(ModuleType):
    """Whatever is asked of it is a function that does nothing, and so is what is asked of that."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        made = _LeftOut(name)
        setattr(self, name, made)
        return made


class _LeftOut(_Nothing):
    """Its result is like the first tensor that it is given, one for each name that takes them.

    It holds zeros, the next time ones, and so on: what a program decides by it goes both ways. What the
    program makes of them has no true extents, so that its calls are not known from there on.
    """

    def __call__(self, *args: Any, **named: Any) -> Any:
        NotLaunched.left_out += 1
        torch = sys.modules.get("torch")
        given = [] if torch is None else [v for v in (*args, *named.values()) if isinstance(v, torch.Tensor)]
        names = _taken_by(sys._getframe(1)) if given else 0
        if not names:
            return None
        Guessed.any = True
        self.turns = 1 - self.__dict__.get("turns", 1)
        made = tuple(given[0].new_full(given[0].shape, self.turns) for _ in range(names))
        return made if names > 1 else made[0]


def _taken_by(frame: FrameType | None) -> int:
    """How many names take the result of the call that a frame is in, through functions that return it.

    0 where it is not used, or only tested.
    """
    while frame is not None:
        name, count = _behind(frame.f_code, frame.f_lasti)
        if name.startswith("UNPACK"):
            return (count & 0xFF) + (count >> 8)
        if name != "RETURN_VALUE":
            return 0 if name.startswith(_UNUSED) or "JUMP_IF" in name else 1
        frame = frame.f_back
    return 0


@lru_cache(maxsize=1024)
def _behind(code: CodeType, call: int) -> tuple[str, int]:
    """The instruction behind a call, and its argument."""
    found = (one for one in dis.get_instructions(code) if one.offset > call)
    return next(((one.opname, one.arg or 0) for one in found if one.opname not in _FILLING), ("POP_TOP", 0))


@lru_cache(maxsize=256)
def _declares(root: Path, name: str) -> bool:
    """Whether what builds the project has an extension of a name, or of its last word."""
    package, _, last = name.rpartition(".")
    words = {"package": r"(?:[\w.{}]*\.)?" if package else ""}
    for file, pattern in _DECLARATIONS.items():
        with contextlib.suppress(OSError):
            text = read_regular(root / file, _MOST_BYTES).decode("utf-8", "replace")
            if re.search(pattern.format(re.escape(last), **words), _COMMENT.sub("", text)):
                return True
    return False


@lru_cache(maxsize=256)
def _generates(root: Path, folder: Path, name: str) -> bool:
    """Whether the build of a kernel for the Hub makes a module: `_ops`, in the package of `torch-ext`.

    See https://huggingface.co/docs/kernels/builder/writing-kernels.
    """
    if name.rpartition(".")[2] != "_ops" or folder.parent.name != "torch-ext":
        return False
    return folder.is_relative_to(root) and (folder.parents[1] / "build.toml").is_file()


def _asking(frame: FrameType | None, root: Path) -> FrameType | None:
    """The frame that imports, past those of importlib, if it is of a file of the project."""
    while frame is not None and frame.f_code.co_filename.startswith("<frozen importlib"):
        frame = frame.f_back
    inside = frame is not None and Path(frame.f_code.co_filename).resolve().is_relative_to(root)
    return frame if inside else None


def _missed(frame: FrameType | None) -> bool:
    """Whether somebody on the way to an import is ready for a module that is missing."""
    while frame is not None:
        file = frame.f_code.co_filename
        if frame.f_globals.get("__name__") in ("importlib.util", "_pytest.outcomes"):
            return True
        if not file.startswith("<") and any(frame.f_lineno in lines for lines in _guards(file)):
            return True
        frame = frame.f_back
        name = "" if frame is None else str(frame.f_globals.get("__name__"))
        if name.partition(".")[0] in ("_pytest", "pluggy", "runpy") and name != "_pytest.outcomes":
            return False  # who runs the program is ready for everything
    return False


@lru_cache(maxsize=1024)
def _guards(file: str) -> tuple[range, ...]:
    """The lines of a file in the bodies of `try` and of `suppress` that catch a failed import."""
    try:
        tree = ast.parse(Path(file).read_bytes())
    except (OSError, SyntaxError, ValueError):
        return ()
    return tuple(
        range(node.body[0].lineno, (node.body[-1].end_lineno or node.body[-1].lineno) + 1)
        for node in ast.walk(tree)
        if (isinstance(node, ast.Try) and any(_catches(one) for one in node.handlers))
        or (isinstance(node, ast.With) and any(_suppresses(one.context_expr) for one in node.items))
    )


def _catches(handler: ast.ExceptHandler) -> bool:
    if not _goes_on(handler.body):
        return False  # it only says it otherwise
    return handler.type is None or any(name in _READY for name in _names(handler.type))


def _goes_on(body: Sequence[ast.stmt]) -> bool:
    """Whether the program may go on behind these statements, or leave them without an error."""
    for node in body:
        if isinstance(node, ast.Raise):
            return False
        if isinstance(node, (ast.Return, ast.Break, ast.Continue)):
            return True
        called = node.value if isinstance(node, ast.Expr) else None
        if isinstance(called, ast.Call) and {*_names(called.func)} & {"exit", "_exit"}:
            return False
        ways = [node.body, node.orelse] if isinstance(node, ast.If) else []
        if isinstance(node, ast.Try):
            ways = [[*node.body, *node.orelse], *(each.body for each in node.handlers)]
        if isinstance(node, ast.With):
            ways = [node.body]
        if ways and not any(map(_goes_on, ways)):
            return False
    return True


def _suppresses(call: ast.expr) -> bool:
    called = isinstance(call, ast.Call) and "suppress" in _names(call.func)
    return called and any(name in _READY for one in call.args for name in _names(one))


def _names(kind: ast.expr) -> Iterator[str]:
    for node in ast.walk(kind):
        if isinstance(node, (ast.Name, ast.Attribute)):
            yield node.id if isinstance(node, ast.Name) else node.attr


def _libraries(torch: Any, root: Path, tell: Tell) -> None:
    """torch loads a library of operators; if the project's own is not there, it has no operators."""
    for owner in (torch.ops, torch.classes):
        load = owner.load_library

        def load_library(path: Any, load: Any = load) -> None:
            file = Path(path)
            if file.exists() or not file.resolve().is_relative_to(root) or _missed(sys._getframe(1)):
                load(path)
            else:
                tell(f"{file.name} is not built here: its operators are not there")

        owner.load_library = load_library


def _compiled(module: Any, tell: Tell) -> None:
    """An extension that a program compiles itself: with code for a GPU it is left out."""

    def without_cuda(build: Any) -> Any:
        def instead(name: str, *args: Any, **named: Any) -> Any:
            given = [*args, named.get("sources")]
            lists = [one for one in given if isinstance(one, (list, tuple))]
            cuda = any(str(file).endswith((".cu", ".cuh")) for files in lists for file in files)
            if not (cuda or named.get("with_cuda") or named.get("cuda_sources")):
                return build(name, *args, **named)
            tell(f"{name} is not compiled here: what the program calls of it does nothing")
            return _Nothing(name)

        return instead

    for name in ("load", "load_inline"):
        setattr(module, name, without_cuda(getattr(module, name)))
