"""How a thread's part is cut from a tensor, written once more for the tensor's coordinates.

Where the host cut the tensor before the launch, it cuts the coordinates, too, and the kernel gets them and
the extents as parameters.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from layoutcheck.lint.scopes import Scope
from layoutcheck.patching.edit import Candidate, Edit
from layoutcheck.patching.program import Program, Site
from layoutcheck.syntax import name_of

MOST_STEPS = 40

_CUTS = {
    "local_tile": 0, "local_partition": 0, "zipped_divide": 0, "logical_divide": 0, "tiled_divide": 0,
    "flat_divide": 0, "composition": 0, "group_modes": 0, "slice_": 0, "filter_zeros": 0, "domain_offset": 1,
    "partition_S": 0, "partition_D": 0, "partition_A": 0, "partition_B": 0, "partition_C": 0,
}  # fmt: skip
"""Functions that give a part of a tensor, and which argument is the tensor."""


@dataclass(frozen=True)
class Cut:
    """How a part is cut from `root`, a tensor's name; `of` is written for another tensor."""

    root: ast.Name
    part: ast.expr

    def of(self, other: ast.expr) -> ast.expr:
        """The same part of another tensor."""
        return put(self.part, self.root, other)


def cut_of(program: Program, site: Site, line: int) -> Cut | None:
    """What an expression, used at a line, is cut from: names are replaced by what they were given before."""
    path, scope = site.path, site.scope

    def followed(node: ast.expr, line: int, steps: int) -> tuple[ast.Name, ast.expr] | None:
        if steps > MOST_STEPS:
            return None
        if isinstance(node, ast.Name):
            made = _before(program, path, scope, node.id, line)
            found = None if made is None else followed(made, made.lineno, steps + 1)
            return found or (node, node)
        inner = tensor_of(node)
        found = None if inner is None else followed(inner, line, steps + 1)
        if found is None or inner is None:
            return None
        if _rebuilds(node):
            return found
        return found[0], put(node, inner, found[1])

    found = followed(site.node, line, 0)
    return None if found is None else Cut(*found)


def tensor_of(node: ast.expr) -> ast.expr | None:
    """The tensor that an expression gives a part of."""
    if isinstance(node, ast.Subscript):
        return node.value
    if isinstance(node, ast.Call):
        at = _CUTS.get(name_of(node))
        if at is not None and len(node.args) > at:
            return node.args[at]
        if _rebuilds(node):
            return next(one for one in ast.walk(node.args[1]) if isinstance(one, ast.Name))
    return None


def _rebuilds(node: ast.expr) -> bool:
    """`make_tensor(x.iterator..., x.layout)`: the same tensor with another promise."""
    if not isinstance(node, ast.Call) or name_of(node) != "make_tensor" or len(node.args) != 2:
        return False
    pointer, layout = node.args
    own = isinstance(layout, ast.Attribute) and layout.attr == "layout" and isinstance(layout.value, ast.Name)
    return own and ast.unparse(pointer).startswith(f"{layout.value.id}.iterator")  # type: ignore[attr-defined]


def _before(program: Program, path: str, scope: Scope, name: str, line: int) -> ast.expr | None:
    """What a name was last given before a line of its function, where that is one value."""
    found = None
    for node, owner in program.sources[path].assignments:
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        if owner is scope and (node.end_lineno or node.lineno) < line and node.value is not None:
            given = (one for target in targets for one in _pairs(target, node.value))
            value = next((value for target, value in given if getattr(target, "id", "") == name), None)
            if value is not None and (found is None or value.lineno > found.lineno):
                found = value
    return found


def _pairs(target: ast.expr, value: ast.expr) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Names and what each is given, where `a, b = x, y` says that, or `a, b = (f(i) for i in (x, y))`."""
    value = _spelt_out(value)
    sides = [side.elts if isinstance(side, (ast.Tuple, ast.List)) else None for side in (target, value)]
    if sides[0] is None:
        yield target, value
    elif sides[1] is not None and len(sides[0]) == len(sides[1]):
        yield from zip(sides[0], sides[1], strict=True)


def _spelt_out(value: ast.expr) -> ast.expr:
    """The tuple that a comprehension over a written tuple makes; any other value as it is."""
    if not isinstance(value, (ast.GeneratorExp, ast.ListComp)) or len(value.generators) != 1:
        return value
    loop = value.generators[0]
    if loop.ifs or not isinstance(loop.target, ast.Name) or not isinstance(loop.iter, (ast.Tuple, ast.List)):
        return value
    made = []
    for item in loop.iter.elts:
        part = value.elt
        for name in [one for one in ast.walk(value.elt) if isinstance(one, ast.Name)]:
            part = put(part, name, item) if name.id == loop.target.id else part
        made.append(ast.copy_location(part, value))
    return ast.Tuple(made)


def coordinates(
    program: Program, site: Site, cut: Cut, taken: set[str]
) -> Iterator[tuple[ast.expr, str, Candidate]]:
    """The coordinates of a part, the extents of the tensor, and the edits outside the copy's function.

    First with the coordinates from the host where it cuts what it gives the kernel, else made in the kernel.
    """
    name = cut.root.id
    hosts = [_host_of(program, argument) for argument in program.given(site.scope, name)]
    if hosts and None not in hosts and site.scope.name:
        made, edits = _handed_on(program, site, [host for host in hosts if host is not None], taken)
        if made is not None:
            yield cut.of(ast.Name(made["coords"])), made["extents"], edits
            return
    identity = _parsed(f"cute.make_identity_tensor({name}.shape)")
    yield cut.of(identity), f"{name}.shape", ()


class _Host(NamedTuple):
    """A launch whose argument is cut from a tensor there: its call, and what it can give for the guard."""

    launch: Site
    given: dict[str, str]


def _host_of(program: Program, argument: Site) -> _Host | None:
    call = _call_around(program, argument)
    cut = None if call is None else cut_of(program, argument, call.lineno)
    if call is None or cut is None or isinstance(cut.part, ast.Name):
        return None
    whole = f"cute.make_identity_tensor({cut.root.id}.shape)"
    given = {"coords": ast.unparse(cut.of(_parsed(whole))), "extents": f"{cut.root.id}.shape"}
    return _Host(replace(argument, node=call), given)


_KINDS = {"coords": "cute.Tensor", "extents": "cute.Shape"}


def _handed_on(
    program: Program, site: Site, hosts: Sequence[_Host], taken: set[str]
) -> tuple[dict[str, str] | None, Candidate]:
    """The names that the kernel has for what every launch gives it, and the edits that hand on the rest."""
    function = site.scope.node
    assert isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef))
    arguments = function.args
    had = [_had(program, function, host) for host in hosts]
    known = {what: name for what, name in had[0].items() if all(one.get(what) == name for one in had)}
    wanted = [what for what in hosts[0].given if what not in known]
    if not wanted:
        return known, ()
    plain = arguments.args[: len(arguments.args) - len(arguments.defaults)]
    calls = [host.launch.node for host in hosts]
    many = max(len(call.args) for call in calls if isinstance(call, ast.Call))
    if not plain or (arguments.defaults and many > len(plain)):
        return None, ()
    names = {what: free(what, taken) for what in wanted}
    taken.update(names.values())
    _, end = program.sources[site.path].span_of(plain[-1])
    edits = [Edit(site.path, end, end, "".join(f", {names[what]}: {_KINDS[what]}" for what in wanted))]
    for host in hosts:
        source = program.sources[host.launch.path]
        _, close = source.span_of(host.launch.node)
        written = ", ".join(f"{names[what]}={host.given[what]}" for what in wanted)
        before = source.text[: close - 1].rstrip()
        comma = " " if before.endswith(",") else ", "
        edits.append(Edit(host.launch.path, len(before), len(before), comma + written))
    return known | names, tuple(edits)


def _had(program: Program, function: ast.FunctionDef | ast.AsyncFunctionDef, host: _Host) -> dict[str, str]:
    """The parameters that a launch gives what the guard needs already."""
    call = host.launch.node
    assert isinstance(call, ast.Call)
    own = [one.arg for one in function.args.args]
    passed = dict(zip(own[own[:1] == ["self"] :], call.args, strict=False))
    passed |= {one.arg: one.value for one in call.keywords if one.arg}
    there = {_said(program, replace(host.launch, node=node)): name for name, node in passed.items()}
    texts = {
        what: _said(program, replace(host.launch, node=_parsed(text))) for what, text in host.given.items()
    }
    return {what: there[text] for what, text in texts.items() if text in there}


def _parsed(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


class _Positional(ast.NodeTransformer):
    """Arguments by name become arguments by position: `tiler=t` last is the same as `t` last."""

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        return ast.Call(node.func, [*node.args, *(one.value for one in node.keywords)], [])


def _said(program: Program, site: Site) -> str:
    """An argument of a launch in one notation, with what its names were given before."""
    cut = cut_of(program, site, site.node.lineno if hasattr(site.node, "lineno") else 1)
    if cut is None:
        return ast.unparse(site.node)
    whole = _before(program, site.path, site.scope, cut.root.id, 1 << 30)
    identity = isinstance(whole, ast.Call) and name_of(whole) == "make_identity_tensor"
    return ast.unparse(_Positional().visit(deepcopy(cut.of(whole) if identity and whole else cut.part)))


def _call_around(program: Program, argument: Site) -> ast.Call | None:
    """The call that an expression is an argument of."""
    for call in program.sources[argument.path].calls():
        if argument.node in call.args or argument.node in [one.value for one in call.keywords]:
            return call
    return None


def put(tree: ast.expr, old: ast.expr, new: ast.expr) -> ast.expr:
    """A tree with another expression in place of that very node, the rest as it was."""
    if tree is old:
        return new

    def within(value: Any) -> Any:
        return put(value, old, new) if isinstance(value, ast.AST) else value  # type: ignore[arg-type]

    fields = {
        name: list(map(within, v)) if isinstance(v, list) else within(v) for name, v in ast.iter_fields(tree)
    }
    return type(tree)(**fields)  # type: ignore[arg-type]


def free(name: str, taken: set[str]) -> str:
    """The name, or with the first number that makes it new."""
    return next(one for one in (name, *(f"{name}_{n}" for n in range(2, len(taken) + 3))) if one not in taken)
