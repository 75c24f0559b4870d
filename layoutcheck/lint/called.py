"""Which functions of a repository its programs may call, by the names that they use.

A file counts as imported if code that may run has its name: in an import, as a name or in a string. If a name
may be made while a program runs (`import_module(name)`), all files do. A function counts as called if code
that may run uses its name: as a name, an attribute, or a string such as "op" or "library::op". As far as the
files tell it, a name or attribute of an imported module is that module's, a name that is defined nearby is
that one, an attribute of `self` is of a class of its family, and a variable of a function is no other
function. What has a decorator that may keep it for later counts as called. A class that is used brings its
special methods, and all methods if a class outside of the repository is among its bases. So nothing calls
what does not count, as far as names tell; what counts may stand behind a condition that no program meets.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from copy import copy
from pathlib import PurePath

from layoutcheck.lint.uses import EVERY, FIXTURES, Scope, read

_SPECIAL = re.compile(r"__\w+__\Z")
_OF_ALL = ("conftest.py", "sitecustomize.py")  # run before any program of their folder


class Called:
    """What may run of a repository's files: `sources` by path, of which `tests` and `scripts` are run."""

    def __init__(self, sources: Mapping[str, bytes], tests: Iterable[str], scripts: Iterable[str]) -> None:
        run, asked = set(tests), set(scripts)
        self._files: dict[str, Scope] = {}
        for path, raw in sources.items():
            pytest = path in run or path.rpartition("/")[2] == "conftest.py"
            scope = read(raw, path, pytest, path in asked)
            if scope is not None:
                self._files[path] = scope
        self._meanings: dict[str, list[Scope]] = {}
        self._named: dict[str, list[Scope]] = {}
        for scope in self._files.values():
            for each in _below(scope):
                for name in (each.name, FIXTURES) if each.fixture else (each.name,):
                    self._named.setdefault(name, []).append(each)
        self._families: dict[str, set[str]] = {}
        self._heirs: dict[str, set[str]] = {}
        for scopes in self._named.values():
            for one in scopes:
                for base in one.bases or ():
                    self._heirs.setdefault(base, set()).add(one.name)
        self._modules: dict[str, list[str]] = {EVERY: list(self._files)}
        for path in self._files:
            self._modules.setdefault("".join(_module(path)[-1:]), []).append(path)
        for scope in self._files.values():
            for alias, names in scope.binds.items():
                for one in self._given(name for name in names if not name.endswith(f".{alias}")):
                    one.aliases.add(alias)
                    self._named.setdefault(alias, []).append(one)
        self._words = {word for path in self._files for word in PurePath(path).with_suffix("").parts}
        self._used: set[str] = set()
        self._meant: set[int] = set()  # functions and classes that are used as such, not by a name alone
        self._runs: set[int] = set()
        self._programs = {path for path in self._files if path in run | asked}
        self._each: dict[str, set[int]] = {}  # what runs of a program alone
        self._follow(self._programs)

    def reaches(self, program: str, path: str, line: int) -> bool:
        """Whether a program may run the functions around a line, as far as names tell."""
        if program not in self._each:
            alone = copy(self)
            alone._used, alone._meant, alone._runs = set(), set(), set()
            alone._follow({program} & self._programs)
            self._each[program] = alone._runs
        return any(id(one) in self._each[program] for one in self._around(path, line)[-1:])

    def uncalled(self, path: str, line: int) -> str:
        """The outermost function around a line that nothing calls; "" for none, or where it is not known."""
        return next((one.qualified for one in self._around(path, line) if id(one) not in self._runs), "")

    def span(self, path: str, line: int) -> range:
        """The lines of the innermost function around a line; none for a file's own statements."""
        around = self._around(path, line)
        return range(around[-1].first, around[-1].last + 1) if around else range(0)

    def around(self, path: str, line: int) -> list[tuple[str, range]]:
        """The names and lines of the functions and classes around a line, from the outside."""
        return [(one.name, range(one.first, one.last + 1)) for one in self._around(path, line)]

    def _around(self, path: str, line: int) -> list[Scope]:
        """The functions and classes around a line, from the outside."""
        at, found = self._files.get(path), []
        while at is not None:
            at = next((one for one in at.children if one.first <= line <= one.last), None)
            if at is not None:
                found.append(at)
        return found

    def _follow(self, programs: Iterable[str]) -> None:
        begun = (*programs, *(path for path in self._files if path.rpartition("/")[2] in _OF_ALL))
        waiting, known = [self._files[path] for path in begun], set[str]()
        while waiting:
            scope = waiting.pop()
            if id(scope) in self._runs:
                continue
            self._runs.add(id(scope))
            waiting += [one for one in scope.children if self._begins(one)]
            self._meant.update(map(id, meant := self._mean(scope)))
            waiting += [one for one in meant if self._begins(one)]
            for name in scope.uses - self._used:
                self._used.add(name)
                waiting += [one for one in self._named.get(name, ()) if self._begins(one)]
            for name in (scope.uses | scope.imports) - known:
                known.add(name)
                waiting += [self._files[path] for path in self._modules.get(name, ())]
            if scope.parent is None:  # the packages that it is in come first
                inits = (str(folder / "__init__.py") for folder in PurePath(scope.path).parents)
                waiting += [self._files[path] for path in inits if path in self._files]

    def _begins(self, scope: Scope) -> bool:
        """Whether code that runs calls it."""
        parent = scope.parent
        if parent is None or id(parent) not in self._runs:
            return False
        used = not self._used.isdisjoint((scope.name, *scope.aliases))
        if scope.entry or scope.kept or used or id(scope) in self._meant:
            return True
        if scope.fixture and FIXTURES in self._used:
            return True
        special = _SPECIAL.match(scope.name) is not None
        return parent.bases is not None and (special or self._derived(parent))

    def _mean(self, scope: Scope) -> list[Scope]:
        """What names, attributes of modules and those of `self` in a scope are; others count by their names.

        A name that is imported, or defined around the scope, is that one alone.
        """
        found: list[Scope] = []
        sure = {name: _defined(scope, name) for name in scope.names}
        sure |= {dotted: self._given([dotted]) for dotted in scope.given}
        for dotted, here in sure.items():
            found += here
            scope.uses.update(() if here else (dotted.rpartition(".")[2],))
        for dotted, name in scope.attributes:
            files = self._imported(dotted)
            here = [one for path in files for one in self._files[path].children if one.name == name]
            inside = bool(files) or dotted.startswith(".") or dotted.split(".")[0] in self._words
            found += here
            if not here and inside:
                scope.uses.add(name)
        for owner, name in scope.own:
            family = self._family(owner)
            here = [one for one in self._named.get(name, ()) if one.parent and one.parent.name in family]
            found += here
            if not here:
                scope.uses.add(name)
        return found

    def _given(self, names: Iterable[str]) -> list[Scope]:
        """What dotted names are, also where a module has imported them itself."""
        found: list[Scope] = []
        for dotted in names:
            if dotted not in self._meanings:
                here = self._meanings[dotted] = list[Scope]()  # modules may import from each other
                module, _, name = dotted.rpartition(".")
                for at in (self._files[path] for path in self._imported(module)):
                    here += [one for one in at.children if one.name == name]
                    every = (f"{each[:-1]}{name}" for each in at.binds.get(EVERY, ()))
                    here += self._given((*at.binds.get(name, ()), *every))
            found += self._meanings[dotted]
        return found

    def _imported(self, dotted: str) -> list[str]:
        """The files that a module's name may mean."""
        parts = tuple(filter(None, dotted.split(".")))
        return [
            path
            for path in self._modules.get(parts[-1] if parts else "", ())
            if _module(path)[-len(parts) :] == parts
        ]

    def _family(self, owner: str) -> set[str]:
        """The names of the classes that a class is derived from, or that are derived from these."""
        if owner not in self._families:
            found, waiting = {owner}, [owner]
            while waiting:
                name = waiting.pop()
                near = {base for one in self._named.get(name, ()) for base in one.bases or ()}
                near |= self._heirs.get(name, set())
                waiting += near - found
                found |= near
            self._families.update(dict.fromkeys(found, found))
        return self._families[owner]

    def _derived(self, scope: Scope, depth: int = 8) -> bool:
        """Whether a class outside of the repository is among the bases of a class."""
        for name in scope.bases or ():
            classes = [one for one in self._named.get(name, ()) if one.bases is not None and one is not scope]
            if not classes or (depth and any(self._derived(one, depth - 1) for one in classes)):
                return True
        return False


def _module(path: str) -> tuple[str, ...]:
    """The words of a module's dotted name, its folder's first."""
    at = PurePath(path)
    return at.parent.parts if at.name == "__init__.py" else at.with_suffix("").parts


def _defined(scope: Scope, name: str) -> list[Scope]:
    """The nearest definitions of a name that code in a scope may use: not those of a class around it."""
    at: Scope | None = scope
    while at is not None:
        here = [one for one in at.children if one.name == name and (at is scope or at.bases is None)]
        if here:
            return here
        at = at.parent
    return []


def _below(scope: Scope) -> Iterator[Scope]:
    for one in scope.children:
        yield one
        yield from _below(one)
