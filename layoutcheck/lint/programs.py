"""Tests and scripts that compile kernels, found in a repository by its text alone.

A file compiles kernels if it uses `jit`, `kernel` or `compile` of the CuTe DSL, or a name of a file that
does. A package's `__init__.py` is followed by name: one kernel in it does not make one of every user.
"""

from __future__ import annotations

import fnmatch
import os
import shlex
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path, PurePosixPath

from layoutcheck import regular
from layoutcheck.digits import many
from layoutcheck.errors import InputError
from layoutcheck.lint import files
from layoutcheck.lint.cache import Cache
from layoutcheck.lint.cases import RegisteredCase
from layoutcheck.lint.outlines import ANY, COMPILE, Outline, kept_outline
from layoutcheck.lint.pytest_files import PytestFiles, pytest_files
from layoutcheck.places import PROJECT, SOURCES
from layoutcheck.settings import Settings

_OF_OTHERS = ("__init__.py", "conftest.py", "setup.py", "conf.py")  # run by an import, pytest, pip and Sphinx

_UNFOLLOWED = (
    "`pytest_plugins` is made while pytest runs, or names more than 1000 modules, so that tests whose "
    "kernels come from its fixtures may be missing; `run` in [tool.layoutcheck] names them"
)
_UNNAMED = (
    "the names of modules that they import are made while they run; `run` in [tool.layoutcheck] names those "
    "that compile kernels"
)


class Repository:
    """The outlines of a repository's files, by path below its root, and what their imports reach.

    `projects` are the folders below the root that hold a project of their own, `sources` those of modules, in
    the root or in a project.
    """

    def __init__(
        self, outlines: dict[str, Outline], configured: PytestFiles, projects: Sequence[str] = (),
        sources: Sequence[str] = SOURCES,
    ) -> None:  # fmt: skip
        self.outlines = outlines
        self._configured = configured
        self._modules: dict[str, list[str]] = {}
        self._uses: dict[str, list[str]] = {}  # what `_reached` found
        self._for_every: dict[str, list[str]] = {}  # what `_always` found
        self._by_name: dict[str, dict[str, tuple[str, ...]]] = {}  # what `_fixtures` found
        for path in outlines:
            for name in _module_names(path, outlines, projects, sources):
                self._modules.setdefault(name, []).append(path)

    def runs(self, path: str) -> bool:
        """Whether a file is a script, or a file of tests, that compiles kernels."""
        known = self.outlines[path]
        wanted = known.main or (known.tests and self.is_test(path)) or self._acts(path)
        return wanted and self.compiles(path)

    def _acts(self, path: str) -> bool:
        """Whether a file that no other imports calls, as it is imported, what compiles kernels."""
        known = self.outlines[path]
        if known.tests or path in self._imported or path.rpartition("/")[2] in _OF_OTHERS:
            return False
        for name in known.calls:
            if name in ("", COMPILE):
                if known.kernels:
                    return True
            elif any(self.compiles(file) for file in self._resolved(name, path)):
                return True
        return False

    @cached_property
    def _imported(self) -> set[str]:
        """The files that others import."""
        return {file for path in self.outlines for file in self._reached(path) if file != path}

    def is_test(self, path: str) -> bool:
        """Whether pytest looks for tests in a file, by its name."""
        return any(
            fnmatch.fnmatch(path if "/" in pattern else path.rpartition("/")[2], pattern)
            for pattern in self._configured.tests
        )

    def compiles(self, path: str) -> bool:
        """Whether a file compiles kernels, by itself or through what it imports."""
        seen, stack = {path}, [path]
        while stack:
            at = stack.pop()
            if self.outlines[at].kernels:
                return True
            for reached in self._reached(at):
                if reached not in seen:
                    seen.add(reached)
                    stack.append(reached)
        return False

    def _reached(self, path: str) -> list[str]:
        """The files that a file uses, or its tests by fixtures."""
        if path not in self._uses:
            found = (file for name in self.outlines[path].names for file in self._resolved(name, path))
            self._uses[path] = list(dict.fromkeys((*found, *self._fixture_uses(path))))
        return self._uses[path]

    def _fixture_uses(self, path: str) -> Iterator[str]:
        """What the fixtures use that a file's tests take, or that every test gets, of the files around it."""
        around, asked = self._fixture_files(path), [*self.outlines[path].takes]
        if self.outlines[path].tests and self.is_test(path):
            asked += [*self._configured.fixtures, *(name for file in around for name in self._always(file))]
            for file in around:
                yield from self._meant(self.outlines[file].calls, file)
        if ANY in asked:
            asked += [name for file in around for name, _ in self.outlines[file].gives]
        waiting, known = [*asked], set[str]()
        while waiting:
            name = waiting.pop()
            for file in around if name not in known else ():
                fixtures = self._fixtures(file)
                used = fixtures.get(name, fixtures.get(ANY))
                if used is not None:
                    waiting += [each[1:] for each in used if each[:1] == "@"]
                    yield from self._meant(used, file)
                    if name in fixtures and f"@{name}" not in used:  # the same, of a folder further out
                        break
            known.add(name)

    def _fixtures(self, file: str) -> dict[str, tuple[str, ...]]:
        """What a file's fixtures use, by name; under `ANY` that of those whose names it does not tell."""
        if file not in self._by_name:
            outline = self.outlines[file]
            found: dict[str, tuple[str, ...]] = {
                name: (dotted,) for name, dotted in outline.exports if dotted
            }
            for given in dict.fromkeys(name for name, _ in outline.gives):  # perhaps by several branches
                found[given] = tuple(each for name, used in outline.gives if name == given for each in used)
            self._by_name[file] = found
        return self._by_name[file]

    def _meant(self, names: Iterable[str], file: str) -> Iterator[str]:
        """The files that these names of a file stand for, "" and the DSL's `compile` for itself."""
        for name in names:
            yield from [file] if name in ("", COMPILE) else self._resolved(name, file)

    def _always(self, file: str) -> list[str]:
        """The fixtures and hooks for every test that a file makes, or imports from another."""
        if file in self._for_every:
            return self._for_every[file]
        found = self._for_every[file] = [*self.outlines[file].always]
        for name, dotted in self.outlines[file].exports:
            there = self._resolved(dotted, file) if dotted else ()
            if any(dotted.rpartition(".")[2] in self.outlines[other].always for other in there):
                found.append(name)
        return found

    def _fixture_files(self, path: str) -> list[str]:
        """The files whose fixtures a file's tests may take, the nearest first: also of pytest's plugins."""
        around = [f"{folder}/conftest.py".removeprefix("./") for folder in PurePosixPath(path).parents]
        waiting = [path, *(each for each in around if each in self.outlines)]
        waiting += [file for name in self._configured.plugins for file in self._plugin(name, "")]
        found: dict[str, None] = {}
        while waiting:
            file = waiting.pop(0)
            if file not in found:
                found[file] = None
                folder, outline = file.rpartition("/")[0], self.outlines[file]
                waiting[:0] = [each for name in outline.plugins for each in self._plugin(name, folder)]
                every = (name for name in outline.names if name.endswith(f".{ANY}"))
                waiting[:0] = [each for name in every for each in self._resolved(name, file)]
        del found[path]
        return list(found)

    def _plugin(self, name: str, folder: str) -> list[str]:
        """The files of a plugin that `pytest_plugins` of a file in this folder names."""
        if not name.endswith(ANY):
            return self._files(name.split("."), folder, relative=False)
        begin = name.removesuffix(ANY)
        return [file for known, files in self._modules.items() if begin and known.startswith(begin)
                for file in files]  # fmt: skip

    def unfollowed(self, paths: Iterable[str]) -> list[str]:
        """The files around those of these tests that are not run, whose text does not tell their plugins."""
        left = (path for path in paths if self.outlines[path].tests and self.is_test(path))
        around = {file for path in left if not self.runs(path) for file in (path, *self._fixture_files(path))}
        return sorted(file for file in around if ANY in self.outlines[file].plugins)

    def unnamed(self, paths: Iterable[str]) -> list[str]:
        """The tests and scripts of these that are not run, and import what their text does not tell."""
        unsure = (path for path in paths if ANY in self.outlines[path].names and not self.runs(path))
        return sorted(path for path in unsure if self.outlines[path].main or self.is_test(path))

    def _resolved(self, name: str, path: str, depth: int = 8) -> Iterator[str]:
        """The files that a dotted name, as `path` uses it, stands for."""
        level = len(name) - len(name.lstrip("."))
        parts = name.lstrip(".").split(".")
        folder = path.rpartition("/")[0]
        for _ in range(level - 1):
            folder = folder.rpartition("/")[0]
        for length in range(len(parts), 0, -1):
            found = self._files(parts[:length], folder, relative=bool(level))
            # A package may make a name of a module of its own.
            if found and 1 < length == len(parts) and depth:
                yield from self._made_above(parts, folder, bool(level), depth)
            for file in found:
                rest = parts[length:]
                if file.endswith("__init__.py"):
                    yield from self._of_package(file, rest, depth)
                else:
                    yield file
            if found:
                return
        if level and depth:  # `from . import name`, of a name that the package makes
            init = f"{folder}/__init__.py".lstrip("/")
            if init in self.outlines and init != path:
                yield from self._of_package(init, parts, depth)

    def _made_above(self, parts: Sequence[str], folder: str, relative: bool, depth: int) -> Iterator[str]:
        """What the package above gives this name: `from .gemm import gemm` hides the module."""
        for init in self._files(parts[:-1], folder, relative):
            made = dict(self.outlines[init].exports).get(parts[-1], "")
            if init.endswith("__init__.py") and made.lstrip("."):
                yield from self._resolved(made, init, depth - 1)

    def _files(self, parts: Sequence[str], folder: str, relative: bool) -> list[str]:
        beside = "/".join([folder, *parts] if folder else parts)
        near = [each for each in (f"{beside}.py", f"{beside}/__init__.py") if each in self.outlines]
        return near if near or relative else self._modules.get(".".join(parts), [])

    def _of_package(self, init: str, rest: Sequence[str], depth: int) -> Iterator[str]:
        """What `rest` of a package's `__init__.py` stands for; nothing if the package alone is imported."""
        made = self.outlines[init]
        if not rest or not depth:
            return
        exported = dict(made.exports)
        if rest[0] == "*":
            for name in made.names:
                yield from self._resolved(name, init, depth - 1)
        elif rest[0] in exported and exported[rest[0]].lstrip("."):
            yield from self._resolved(".".join([exported[rest[0]], *rest[1:]]), init, depth - 1)
        else:
            for name in made.names:
                if name.endswith(".*"):
                    yield from self._resolved(f"{name[:-1]}{'.'.join(rest)}", init, depth - 1)
            if made.kernels or exported.get(rest[0]) == "":
                yield init


def _module_names(
    path: str, outlines: dict[str, Outline], projects: Sequence[str], sources: Sequence[str]
) -> set[str]:
    """The names that a file may be imported by: from a root or its sources, and from above its package."""
    folder, _, last = path.rpartition("/")
    parts = [*folder.split("/"), last.rpartition(".")[0]] if folder else [last.rpartition(".")[0]]
    if parts[-1] == "__init__":
        parts.pop()
    whole = "/".join(parts)
    names = {whole, *(whole.removeprefix(f"{each}/") for each in projects)}
    names |= {name.removeprefix(f"{root}/") for name in names for root in sources}
    at = folder
    while at and f"{at}/__init__.py" in outlines:
        at = at.rpartition("/")[0]
    if at != folder:  # a file of no package is found by its name from its own folder alone
        names.add(whole.removeprefix(f"{at}/") if at else whole)
    return {name.replace("/", ".") for name in names if name}


def discover(
    paths: Sequence[str], settings: Settings, cache: Cache, tell: Callable[[str], None] | None = None
) -> list[RegisteredCase]:
    """The programs to run: those of the setting `run`, else the tests and scripts that compile kernels.

    With `run` only those below `paths` are wanted. `tell` hears what could not be followed. Raises InputError
    for an entry that cannot be used.
    """
    asked = files.collect(paths, settings)
    listed = sorted({*files.collect([str(settings.root)], settings), *asked})
    shown = {settings.inside(path): path for path in listed}
    outlines = {inside: kept_outline(path, cache) for inside, path in shown.items()}
    cache.save()
    configured = pytest_files(settings.root)
    sources = [*SOURCES, *_on_path(configured.path, settings.root)]
    repository = Repository(outlines, configured, projects(settings.root, outlines), sources)
    wanted = {settings.inside(path) for path in asked}
    found: list[RegisteredCase] = []
    if settings.run is None:
        for inside in sorted(wanted):
            if repository.runs(inside):
                found += _programs(inside, shown[inside], (), settings, repository)
        if tell is not None:
            for file in repository.unfollowed(wanted):
                tell(f"{file}: {_UNFOLLOWED}")
            if left := repository.unnamed(wanted):
                tell(f"{many(len(left), 'program')} not run, such as {left[0]}: {_UNNAMED}")
        return found
    for entry in settings.run:
        found += _entry(entry, wanted, shown, repository, settings)
    return list(dict.fromkeys(found))


def _on_path(given: Iterable[str], root: Path) -> Iterator[str]:
    """Folders below the root that Python looks for modules in: those given, and of PYTHONPATH."""
    top = os.path.realpath(root)
    for folder in (*given, *os.environ.get("PYTHONPATH", "").split(os.pathsep)):
        inside = os.path.relpath(os.path.realpath(Path(root, folder)), top)
        if inside != os.curdir and not inside.startswith(os.pardir):
            yield Path(inside).as_posix()


def projects(root: Path, inside: Iterable[str]) -> list[str]:
    """The folders of these files, below the root, that hold a project of their own."""
    folders = {str(folder) for path in inside for folder in PurePosixPath(path).parents} - {"."}
    return sorted(each for each in folders if any((root / each / name).is_file() for name in PROJECT))


def _entry(
    entry: str, wanted: set[str], shown: dict[str, str], repository: Repository, settings: Settings
) -> Iterator[RegisteredCase]:
    """The programs of one entry of `run`: a folder, or a file and its arguments."""
    try:
        path, *arguments = shlex.split(entry)
    except ValueError as error:
        raise InputError(
            f"run = '{entry[:80]}': {error}", expected="a path, and a script's arguments"
        ) from None
    inside = settings.inside(str(regular.inside(settings.root, path, "run")))
    if (settings.root / path).is_dir():
        if arguments:
            raise InputError(f"run = '{entry[:80]}': a folder takes no arguments")
        below = [p for p in sorted(wanted) if inside == "." or p.startswith(f"{inside}/")]
        for each in below:
            if repository.runs(each):
                yield from _programs(each, shown[each], (), settings, repository, named=True)
    elif (settings.root / path).is_file():
        if inside in wanted:
            yield from _programs(inside, shown[inside], tuple(arguments), settings, repository, named=True)
    else:
        raise InputError(f"run = '{entry[:80]}': no such file below {settings.root}")


def _programs(
    inside: str, path: str, arguments: tuple[str, ...], settings: Settings, repository: Repository,
    named: bool = False,
) -> Iterator[RegisteredCase]:  # fmt: skip
    """A program for each architecture."""
    known = repository.outlines[inside]
    word = f"./{inside}" if inside.startswith("-") else inside  # else Python and pytest read an option
    if known.tests and (repository.is_test(inside) or not known.main):
        command: tuple[str, ...] = ("-m", "pytest", "-q", word, *arguments)
    elif any(name.startswith(".") for name in known.names) and (module := _module(inside, settings.root)):
        command = ("-m", module, *arguments)  # it imports from its package by relative names
    else:
        command = (word, *arguments)
    archs = settings.run_arch or (settings.arch,)
    title = " ".join([inside, *arguments])
    for arch in archs:
        name = f"{title}[{arch}]" if len(archs) > 1 else title
        free = not settings.run_arch
        yield RegisteredCase(path, "", 1, name, arch, command=command, named=named, free=free)


def _module(inside: str, root: Path) -> str:
    """The dotted name that a file is run by: below its package, or below the root where it has none."""
    folder = (root / inside).parent
    top = folder
    while (top / "__init__.py").is_file():
        top = top.parent
    if top == folder:  # `python -m 02_layout.01_basic`: a folder without __init__.py is a package too
        top = root
    return ".".join((root / inside).with_suffix("").relative_to(top).parts) if top != folder else ""
