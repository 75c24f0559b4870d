"""A fix of several statements, in place of the copy's own: its code with the program's names.

The code of a fix calls the tiles `src` and `dst` and the thread `tidx`. In the program they are the arguments
of `partition_S`, `partition_D` and `get_slice` behind the copy's operands; of a copy that is known by one
thread's views, `src`, `dst` and `pred` are its own operands.
"""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import replace

from layoutcheck.atoms.universal import UniversalCopy
from layoutcheck.check import Fix
from layoutcheck.copies.copy import Copy
from layoutcheck.fixes.code import atom_code, dtype_code, folded
from layoutcheck.lint.source import Source, names_in
from layoutcheck.patching.edit import Candidate, Edit, indent_of, rewritten
from layoutcheck.patching.program import Program, Site
from layoutcheck.syntax import name_of


def in_its_place(program: Program, fix: Fix, site: Site) -> Iterator[Candidate]:
    """The copy's statement written anew; nothing where its tiles or its thread have no name."""
    tiling = fix.copies[0].tiling
    if not fix.copies[0].needs_map:
        edits = instead(program, site, fix.code, None if tiling is None else len(tiling.src.layout.modes))
        yield from (edits,) if edits else ()


def instead(program: Program, site: Site, text: str, rank: int | None) -> Candidate:
    """The statements `text` in place of the copy's, for tiles of `rank` modes; None: for its operands."""
    source = program.sources[site.path]
    statements = (node for node in ast.walk(source.tree) if isinstance(node, ast.Expr))
    statement = next((node for node in statements if node.value is site.node), None)
    names = _operands(program, site) if rank is None else _names(program, site, rank)
    indent = None if statement is None else indent_of(source, statement)
    if statement is None or indent is None or names is None:
        return ()
    start, end = source.span_of(statement)
    return (Edit(site.path, start, end, _in_words_of(source, text, names, indent)),)


def by_all(program: Program, site: Site, text: str) -> Candidate:
    """The statements `text` for all threads, behind a branch `if tidx == 0:` that has the copy, or for it.

    Nothing where other branches are around it, whose threads alone would come by.
    """
    source = program.sources[site.path]
    parents = {child: node for node in ast.walk(source.tree) for child in ast.iter_child_nodes(node)}
    statement = parents[site.node]
    branch = parents.get(statement)
    indents = [indent_of(source, one) for one in (statement, branch) if isinstance(one, (ast.Expr, ast.If))]
    names, thread = _operands(program, site), _one_thread(source, site, branch)
    if names is None or thread is None or len(indents) != 2 or indents[1] is None or indents[0] is None:
        return ()
    assert isinstance(branch, ast.If) and isinstance(statement, ast.Expr)
    around = parents[branch]
    while around is not site.scope.node:
        if not isinstance(around, ast.For):
            return ()
        around = parents[around]
    code = _in_words_of(source, text, names | {"tidx": thread}, indents[1])
    start, end = source.span_of(branch)
    if len(branch.body) == 1:
        return (Edit(site.path, start, end, code),)
    first, last = (_line_end(source, source.span_of(one)[1]) for one in (statement, branch))
    gone = Edit(site.path, source.text.rfind("\n", 0, source.span_of(statement)[0]), first, "")
    return (Edit(site.path, last, last, f"\n{indents[1]}{code}"), gone)


def _line_end(source: Source, at: int) -> int:
    found = source.text.find("\n", at)
    return len(source.text) if found < 0 else found


def _one_thread(source: Source, site: Site, branch: ast.AST | None) -> ast.expr | None:
    """The thread's index in `if tidx == 0:`, which a branch without `else` begins with."""
    if not isinstance(branch, ast.If) or branch.orelse:
        return None
    test = branch.test
    if site.node not in [one.value for one in branch.body if isinstance(one, ast.Expr)]:
        return None
    if not source.text.startswith("if", source.span_of(branch)[0]) or not isinstance(test, ast.Compare):
        return None
    if not isinstance(test.left, ast.Name) or not isinstance(test.ops[0], ast.Eq) or len(test.ops) > 1:
        return None
    if not isinstance(test.comparators[0], ast.Constant):
        return None
    for made, scope in source.assignments:
        if scope is site.scope and isinstance(made, ast.Assign) and isinstance(made.value, ast.Call):
            [target] = made.targets[:1]
            first = target.elts[0] if isinstance(target, ast.Tuple) and target.elts else None
            if name_of(made.value) == "thread_idx" and isinstance(first, ast.Name):
                return test.left if first.id == test.left.id else None
    return None


def _in_words_of(source: Source, text: str, names: Mapping[str, ast.expr], indent: str) -> str:
    """The statements with the program's names; what they make has names that are free there."""
    tree = ast.parse(text)
    taken = names_in(source.tree)
    made = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    others = {name: ast.Name(f"{name}_{_free(name, taken)}") for name in made & taken}
    code = folded(ast.unparse(_Renamed({**names, **others}).visit(tree)))
    return textwrap.indent(code, indent).lstrip()


def before_recast(program: Program, site: Site, copy: Copy) -> Iterator[Candidate]:
    """A wider view's elements copied as they were, the other operand recast to them."""
    for role, other in (("src", "dst"), ("dst", "src")):
        narrow = copy.side(role).recast_from
        operands = [program.argument(site, name) for name in (role, other, "atom")]
        if narrow is None or copy.tiling is not None or not isinstance(copy.atom, UniversalCopy):
            continue
        if any(one is None for one in operands):
            continue
        mine, theirs, atom = (one for one in operands if one is not None)
        made = program.definition(mine)
        recast = made.node
        if not isinstance(recast, ast.Call) or name_of(recast) != "recast_tensor" or not recast.args:
            continue
        if made.scope is not site.scope or made.path != site.path:
            continue
        width = replace(copy.atom, dtype=narrow.dtype, width_bits=narrow.dtype.bits)
        source = program.sources[site.path]
        new = (
            ast.unparse(recast.args[0]),
            f"cute.recast_tensor({ast.unparse(theirs.node)}, {dtype_code(narrow.dtype)})",
            atom_code(width),
        )
        yield tuple(
            rewritten(source, one.node, text) for one, text in zip((mine, theirs, atom), new, strict=True)
        )


def _operands(program: Program, site: Site) -> dict[str, ast.expr] | None:
    """The operands of the copy's call."""
    found = {role: program.argument(site, role) for role in ("src", "dst", "pred")}
    if found["src"] is None or found["dst"] is None:
        return None
    return {role: start.node for role, start in found.items() if start is not None}


def _names(program: Program, site: Site, rank: int) -> dict[str, ast.expr] | None:
    """What the code's names are in the program, for tiles of `rank` modes."""
    found: dict[str, ast.expr] = {}
    for role in ("src", "dst"):
        start = program.argument(site, role)
        cut = None if start is None else program.definition(start)
        picked: tuple[ast.expr, ...] = ()
        if cut is not None and isinstance(cut.node, ast.Subscript):
            at = _picked(cut.node, rank)
            if at is None:
                return None
            picked, cut = at, program.definition(Site(cut.path, cut.node.value, cut.scope))
        if cut is None or not isinstance(cut.node, ast.Call) or cut.scope is not site.scope:
            return None
        if name_of(cut.node) not in ("partition_S", "partition_D") or len(cut.node.args) != 1:
            return None
        own = program.definition(Site(cut.path, cut.node.func.value, cut.scope))  # type: ignore[attr-defined]
        if not isinstance(own.node, ast.Call) or own.scope is not site.scope or len(own.node.args) != 1:
            return None
        if name_of(own.node) not in ("get_slice", "get_thread_slice"):
            return None
        tile = cut.node.args[0]
        if picked:
            whole: list[ast.expr] = [ast.Constant(None)] * rank
            tile = ast.Subscript(tile, ast.Tuple([*whole, *picked], ast.Load()), ast.Load())
        found |= {role: tile, "tidx": own.node.args[0]}
    return found


def _picked(view: ast.Subscript, rank: int) -> tuple[ast.expr, ...] | None:
    """What is picked behind a thread's part of a tile; None if a part of that is picked, too."""
    index = view.slice.elts if isinstance(view.slice, ast.Tuple) else [view.slice]
    own, behind = index[: rank + 1], index[rank + 1 :]
    all_of_it = all(isinstance(one, ast.Constant) and one.value is None for one in own)
    return tuple(behind) if len(own) == rank + 1 and all_of_it else None


def _free(name: str, taken: set[str]) -> int:
    return next(n for n in range(1, len(taken) + 2) if f"{name}_{n}" not in taken)


class _Renamed(ast.NodeTransformer):
    def __init__(self, names: dict[str, ast.expr]) -> None:
        self.names = names

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self.names.get(node.id, node)
