"""Kernels that a run does not build, and that an edit changes all the same.

No trace of theirs proves the edit: a number of the module's may be a pitch in shared memory here and one in
global memory there.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from layoutcheck.syntax import words_of

UNBUILT = "a kernel that this run does not build would change as well"


class _Part(NamedTuple):
    """A function, a method, or a statement of a module that gives a name a value."""

    owner: str  # the class of a method
    name: str
    node: ast.stmt

    @property
    def is_kernel(self) -> bool:
        """Whether it is decorated as a kernel."""
        given = self.node.decorator_list if isinstance(self.node, ast.FunctionDef) else []
        named = (one.func if isinstance(one, ast.Call) else one for one in given)
        return any(words_of(one)[-1:] == ["kernel"] for one in named)

    def builds(self, kernel: str) -> bool:
        """Whether the DSL calls what it builds of it by this name."""
        method = not self.owner or f"{self.owner}_object_at" in kernel
        return method and isinstance(self.node, ast.FunctionDef) and f"cutlass_{self.name}_" in kernel


def unbuilt(texts: Mapping[str, str], changed: Mapping[str, str], kernels: Sequence[str]) -> str:
    """The first kernel that differs between two texts of a program and is none of those built; "" for none.

    `kernels` are the names that the DSL gives what it builds.
    """
    before, after = ([*_parts(some)] for some in (texts, changed))
    built = _reached(before, [one for one in before if any(one.builds(name) for name in kernels)])
    for kernel in (one for one in before if one.is_kernel and one not in built):
        now = [one for one in after if (one.owner, one.name) == (kernel.owner, kernel.name)]
        if _dumped(_reached(before, [kernel])) != _dumped(_reached(after, now)):
            return kernel.name
    return ""


def _parts(texts: Mapping[str, str]) -> Iterator[_Part]:
    for text in texts.values():
        for node in ast.parse(text).body:
            if isinstance(node, ast.ClassDef):
                yield _Part("", node.name, node)
            for one in node.body if isinstance(node, ast.ClassDef) else [node]:
                owner = node.name if isinstance(node, ast.ClassDef) else ""
                if isinstance(one, ast.FunctionDef):
                    yield _Part(owner, one.name, one)
                elif isinstance(one, (ast.Assign, ast.AnnAssign)):
                    targets = one.targets if isinstance(one, ast.Assign) else [one.target]
                    names = (name for target in targets for name in ast.walk(target))
                    yield from (_Part(owner, name.id, one) for name in names if isinstance(name, ast.Name))


def _reached(parts: Sequence[_Part], first: Sequence[_Part]) -> list[_Part]:
    """Some parts, and what they name, and so on."""
    found = list(first)
    for part in found:  # which grows
        if isinstance(part.node, ast.ClassDef) and not part.node.decorator_list:
            continue  # its methods are parts of their own
        used = {one.id if isinstance(one, ast.Name) else one.attr for one in _names(part.node)}
        found += [one for one in parts if one.name in used and one not in found]
    return found


def _names(node: ast.stmt) -> Iterator[ast.Name | ast.Attribute]:
    """What a statement names; `cute.kernel` above a function is none that it calls."""
    inside = [node.args, *node.body] if isinstance(node, ast.FunctionDef) else [node]
    every = (one for part in inside for one in ast.walk(part))
    return (one for one in every if isinstance(one, (ast.Name, ast.Attribute)))


def _dumped(parts: Sequence[_Part]) -> list[str]:
    plain = (one.node for one in parts if not isinstance(one.node, ast.ClassDef) or one.node.decorator_list)
    return sorted(ast.dump(node) for node in plain)
