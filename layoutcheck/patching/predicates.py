"""Predicates as statements before a copy: Booleans of numbers, and `guard-tail`, where tiles leave a tensor.

The coordinates of `guard-tail` are those of the tensor's elements: what cuts the tensor into a thread's part,
written once more for `make_identity_tensor` of its shape. Entry i of the predicate says whether vector i
begins inside. Where the host cut the tensor before the launch, it cuts the coordinates, too, and the kernel
gets them and the extents as parameters.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from layoutcheck.copies.copy import Copy
from layoutcheck.patching.arguments import with_keyword
from layoutcheck.patching.edit import Candidate, Edit, indent_of, span_of
from layoutcheck.patching.program import Program, Site, Source, name_of

STRATEGY = "guard-tail"
MOST_STEPS = 40

_CUTS = {
    "local_tile": 0, "local_partition": 0, "zipped_divide": 0, "logical_divide": 0, "tiled_divide": 0,
    "flat_divide": 0, "group_modes": 0, "slice_": 0, "filter_zeros": 0, "domain_offset": 1, "partition_S": 0,
    "partition_D": 0, "partition_A": 0, "partition_B": 0, "partition_C": 0,
}  # fmt: skip
"""Functions that give a part of a tensor, and which argument is the tensor."""


@dataclass(frozen=True)
class _Cut:
    """How a part is cut from `root`, a tensor's name; `of` is written for another tensor."""

    root: ast.Name
    part: ast.expr

    def of(self, other: ast.expr) -> ast.expr:
        """The same part of another tensor."""
        return _put(self.part, self.root, other)


def guarded(program: Program, site: Site, copy: Copy) -> Iterator[tuple[Candidate, Candidate]]:
    """Edits that give the copy a predicate, each with those that take away the one that it has."""
    source, call = program.sources[site.path], site.node
    assert isinstance(call, ast.Call)
    given = program.argument(site, "pred")
    bare = () if given is None else (Edit(site.path, *span_of(source, given.node), "None"),)
    taken = _names(source)
    for role in ("dst", "src"):
        v = copy.side(role).layout[0].shape
        operand = program.argument(site, role)
        if copy.side(role).space != "gmem" or operand is None or not isinstance(v, tuple) or len(v) != 2:
            continue
        cut = _cut_of(program, operand, call.lineno)
        for coords, extents, more in () if cut is None else _coordinates(program, site, cut, taken):
            tile, guard = (_free(name, taken) for name in ("coords", "guard"))
            inner = _tensor_of(coords)
            lines: list[str] = []
            if inner is not None and not isinstance(inner, ast.Name):
                lines = [f"{tile} = {ast.unparse(inner)}"]
                coords = _put(coords, inner, ast.Name(tile))
            lines.append(f"{guard} = cute.group_modes({ast.unparse(coords)}, 1)[(0, None), None]")
            held = program.argument(site, "dst")
            fills = role == "src" and copy.dst.space == "rmem" and held is not None
            last = [f"{ast.unparse(held.node)}.fill(0)"] if fills and held is not None else []
            shape = f"{guard}.shape"
            if isinstance(v[1], tuple) and len(v[1]) == 2:  # cute.copy takes two modes for V and its rest
                shape = f"((1, {shape}[0]), {shape}[1])"
            filled = _filled(program, site, shape, f"cute.elem_less({guard}[{{}}], {extents})")
            for edits in _before_copy(program, site, filled, lines, last):
                yield (*edits, *more), bare


def truths(program: Program, site: Site) -> Iterator[Candidate]:
    """A Boolean predicate in place of one of numbers: what is not 0 is copied."""
    given = program.argument(site, "pred")
    if given is not None:
        text = ast.unparse(given.node)
        yield from _before_copy(program, site, _filled(program, site, f"{text}.shape", f"{text}[{{}}] != 0"))


def _filled(program: Program, site: Site, shape: str, entry: str) -> tuple[str, list[str]]:
    """The name of a new predicate of a shape, and the lines that fill entry {} of it."""
    taken = _names(program.sources[site.path])
    pred, i = (_free(name, taken) for name in ("pred", "i"))
    return pred, [
        f"{pred} = cute.make_rmem_tensor({shape}, cutlass.Boolean)",
        f"for {i} in cutlass.range_constexpr(cute.size({pred})):",
        f"    {pred}[{i}] = {entry.format(i)}",
    ]


def _before_copy(
    program: Program,
    site: Site,
    filled: tuple[str, list[str]],
    first: Sequence[str] = (),
    last: Sequence[str] = (),
) -> Iterator[Candidate]:
    """Statements before that of the copy, which then takes the predicate; nothing if it shares its line."""
    source, call = program.sources[site.path], site.node
    assert isinstance(call, ast.Call)
    statements = (node for node in ast.walk(source.tree) if isinstance(node, ast.Expr))
    statement = next((node for node in statements if node.value is call), None)
    indent = None if statement is None else indent_of(source, statement)
    if statement is None or indent is None or name_of(call) != "copy":
        return
    start, _ = span_of(source, statement)
    pred, lines = filled
    text = "".join(f"{line}\n{indent}" for line in (*first, *lines, *last))
    for passed in with_keyword(source, call, "pred", pred, None):
        yield (Edit(site.path, start, start, text), *passed)


def _names(source: Source) -> set[str]:
    """The names of variables and parameters in a file."""
    nodes = list(ast.walk(source.tree))
    parameters = {node.arg for node in nodes if isinstance(node, ast.arg)}
    return parameters | {node.id for node in nodes if isinstance(node, ast.Name)}


def _cut_of(program: Program, site: Site, line: int) -> _Cut | None:
    """What an expression, used at a line, is cut from: names are replaced by what they were given before."""
    path, function = site.path, site.function

    def followed(node: ast.expr, line: int, steps: int) -> tuple[ast.Name, ast.expr] | None:
        if steps > MOST_STEPS:
            return None
        if isinstance(node, ast.Name):
            made = _before(program, path, function, node.id, line)
            found = None if made is None else followed(made, made.lineno, steps + 1)
            return found or (node, node)
        inner = _tensor_of(node)
        found = None if inner is None else followed(inner, line, steps + 1)
        if found is None or inner is None:
            return None
        if _rebuilds(node):
            return found
        return found[0], _put(node, inner, found[1])

    found = followed(site.node, line, 0)
    return None if found is None else _Cut(*found)


def _tensor_of(node: ast.expr) -> ast.expr | None:
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


def _before(program: Program, path: str, function: object, name: str, line: int) -> ast.expr | None:
    """What a name was last given before a line of its function, where that is one value."""
    found = None
    for node, owner in program.sources[path].assignments:
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        if owner is function and (node.end_lineno or node.lineno) < line and node.value is not None:
            for target in targets:
                alone = isinstance(target, ast.Name) and target.id == name
                later = found is None or node.lineno > found.lineno
                if alone and later:
                    found = node.value
    return found


def _coordinates(
    program: Program, site: Site, cut: _Cut, taken: set[str]
) -> Iterator[tuple[ast.expr, str, Candidate]]:
    """The coordinates of a part, the extents of the tensor, and the edits outside the copy's function.

    First with the coordinates from the host where it cuts what it gives the kernel, else made in the kernel.
    """
    name = cut.root.id
    hosts = [_host_of(program, argument) for argument in program.given(site.function, name)]
    function = site.function
    if hosts and None not in hosts and isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
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
    cut = None if call is None else _cut_of(program, argument, call.lineno)
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
    function = site.function
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
    names = {what: _free(what, taken) for what in wanted}
    taken.update(names.values())
    _, end = span_of(program.sources[site.path], plain[-1])
    edits = [Edit(site.path, end, end, "".join(f", {names[what]}: {_KINDS[what]}" for what in wanted))]
    for host in hosts:
        source = program.sources[host.launch.path]
        _, close = span_of(source, host.launch.node)
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
    cut = _cut_of(program, site, site.node.lineno if hasattr(site.node, "lineno") else 1)
    if cut is None:
        return ast.unparse(site.node)
    whole = _before(program, site.path, site.function, cut.root.id, 1 << 30)
    identity = isinstance(whole, ast.Call) and name_of(whole) == "make_identity_tensor"
    return ast.unparse(_Positional().visit(deepcopy(cut.of(whole) if identity and whole else cut.part)))


def _call_around(program: Program, argument: Site) -> ast.Call | None:
    """The call that an expression is an argument of."""
    for call in program.sources[argument.path].calls():
        if argument.node in call.args or argument.node in [one.value for one in call.keywords]:
            return call
    return None


def _put(tree: ast.expr, old: ast.expr, new: ast.expr) -> ast.expr:
    """A tree with another expression in place of that very node, the rest as it was."""
    if tree is old:
        return new

    def put(value: Any) -> Any:
        return _put(value, old, new) if isinstance(value, ast.AST) else value  # type: ignore[arg-type]

    fields = {name: list(map(put, v)) if isinstance(v, list) else put(v) for name, v in ast.iter_fields(tree)}
    return type(tree)(**fields)  # type: ignore[arg-type]


def _free(name: str, taken: set[str]) -> str:
    """The name, or with the first number that makes it new."""
    return next(one for one in (name, *(f"{name}_{n}" for n in range(2, len(taken) + 3))) if one not in taken)
