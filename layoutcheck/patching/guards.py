"""Edits for element accesses that leave their tensor: an `if` on their coordinates, and when it is proven.

The condition is made of the coordinates of the tensor's elements, as `predicates.py` does it for copies. The
`if` stands around the statements from the first to the last that leave the tensor, so that it is asked once;
else around one of them. What such a statement reads is 0 where the condition does not hold.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from layoutcheck.lint.scopes import Scope
from layoutcheck.lint.source import Source
from layoutcheck.patching.cuts import coordinates, cut_of, free, put
from layoutcheck.patching.edit import Candidate, Edit, indent_of
from layoutcheck.patching.predicates import STRATEGY, names_of
from layoutcheck.patching.program import COPIES, Program, Site
from layoutcheck.patching.state import BAD, Edited, Place, State
from layoutcheck.sources.mlir import each_once
from layoutcheck.sources.traced import KernelFinding, Trace
from layoutcheck.syntax import name_of, spans

VERDICT = "in bounds"
_TITLE = f"{STRATEGY}: what has coordinates outside of the tensor is not accessed"
# Calls of many threads, and calls that do more than give a value.
_TOGETHER = re.compile(r"sync|barrier|fence|arrive|wait|commit|gemm|reduc|shuffle|vote|match|elect")
_ACTS = re.compile(r"atomic|^red|store|copy|print|fill")
_LEAVES = (ast.Return, ast.Break, ast.Continue, ast.Yield)
_TEXTS = (ast.Constant, ast.JoinedStr)


def findings(trace: Trace) -> list[KernelFinding]:
    """The element accesses that leave a tensor in global memory, each line once."""
    found: dict[Place, KernelFinding] = {}
    for one in _bad(trace):
        if one.code == "LC204" and "tensor_bytes" in one.evidence:
            found.setdefault(_place(one), one)
    return list(found.values())


class Way(NamedTuple):
    """An edit, what it does in words, and the same edit with a condition that always holds."""

    title: str
    edits: Candidate
    bare: Candidate


def ways(texts: dict[str, str], finding: KernelFinding, trace: Trace) -> Iterator[Way]:
    """Edits for a finding; first one that is for others of the `trace`, too."""
    path, line = _place(finding)
    program = Program(texts)
    at = _statement(program.sources[path], line) if path in texts else None
    if at is None:
        return
    lines = [line, *(_place(one)[1] for one in findings(trace) if _place(one)[0] == path)]
    whole = at.around([n for n, one in enumerate(at.suite) if _leaves(one, lines)], lines)
    single = at.around([at.suite.index(at.statement)], lines)
    for access in _accesses(at.statement, finding.places[0].what):
        zero = _zero(at.statement, access)
        for condition in _conditions(program, at, access):
            for title, statements, first in (
                (_TITLE, whole, ""),
                (_TITLE, single, ""),
                (f"{_TITLE}; what is not read is 0", [at.statement] if zero else [], zero),
            ):
                endless = condition._replace(extents=f"cute.repeat_like(1 << 30, {condition.extents})")
                edits, bare = (_guarded(at, statements, one, first) for one in (condition, endless))
                if edits:
                    yield Way(title, edits, bare)


def objection(edited: Edited, finding: KernelFinding) -> str:
    """What is worse with an edit, of element accesses; "" where nothing is."""
    there = set(_lines(edited, _place(finding)))
    bad = [_bad(state.trace) for state in (edited.before, edited.after)]
    if any(one.code == finding.code and _place(one) in there for one in bad[1]):
        return f"{finding.code} remains"
    old, new = (Counter(one.code for one in some) for some in bad)
    if new - old:
        return f"{min(new - old)} is found instead"
    unknown = [
        sum(one.accesses - one.known for one in trace.elements)
        for trace in (edited.before.trace, edited.after.trace)
    ]
    return "fewer accesses are known" if unknown[1] > unknown[0] else ""


def unkept(edited: Edited, bare: State, finding: KernelFinding, edits: Candidate) -> str:
    """Why it is not shown that an edit takes away just what leaves the tensor; "" where it is.

    `bare` is the program with the same statement under a condition that always holds: what is evaluated of
    it is then what is evaluated of the edited program.
    """
    block = edits[0]
    first, last = (edited.texts[block.path].count("\n", 0, at) + 1 for at in (block.start, block.end))
    there = {one for line in range(first, last + 1) for one in _lines(edited, (block.path, line))}
    if not any(_place(one) in there for one in findings(bare.trace)):
        return f"{finding.code} is not found of what it takes away"
    return edited.keeps(there, there, bare)


def repaired(edited: Edited) -> list[KernelFinding]:
    """What left a tensor before an edit and does not after it."""
    left = {_place(one) for one in findings(edited.after.trace)}
    return [one for one in findings(edited.before.trace) if left.isdisjoint(_lines(edited, _place(one)))]


def _lines(edited: Edited, place: Place) -> list[Place]:
    """Where a line may be after an edit."""
    return [(place[0], at) for at in edited.lines(*place)]


def _bad(trace: Trace) -> list[KernelFinding]:
    """What is wrong with a trace's element accesses."""
    every = (one for report in trace.elements for one in report.findings)
    return [one for one in every if one.severity in BAD and one.places]


def _place(finding: KernelFinding) -> Place:
    where = finding.places[0].where
    return where.file, where.line


def _leaves(node: ast.stmt, lines: Iterable[int]) -> bool:
    """Whether a statement accesses elements outside of a tensor; `lines` are those that do."""
    return any(spans(node, line) for line in lines)


class _At(NamedTuple):
    """A statement that accesses elements, the list of statements that it is in, and the function."""

    source: Source
    statement: ast.stmt
    suite: list[ast.stmt]
    scope: Scope

    def around(self, indices: Sequence[int], lines: Sequence[int]) -> list[ast.stmt]:
        """The statements from the first to the last of these, and those that read what they bind.

        None where others read that, where threads do something together, one statement leaves the block, or
        does something that has nothing to do with what leaves a tensor in the `lines`.
        """
        first, last = min(indices), max(indices)
        names = [one for one in ast.walk(self.scope.node) if isinstance(one, ast.Name)]
        stored = [one for one in names if isinstance(one.ctx, ast.Store)]
        while True:
            taken = self.suite[first : last + 1]
            span = range(taken[0].lineno, (taken[-1].end_lineno or taken[-1].lineno) + 1)
            before = {*self.scope.parameters, *(one.id for one in stored if one.lineno < span.start)}
            bound = {one.id for one in stored if one.lineno in span}
            reads = (one for one in names if one.id in bound - before and not isinstance(one.ctx, ast.Store))
            further = max((one.lineno for one in reads if one.lineno not in span), default=0)
            if not further:
                break
            last = next((n for n, one in enumerate(self.suite) if n > last and spans(one, further)), -1)
            if last < 0:
                return []
        inner = [node for one in taken for node in ast.walk(one)]
        together = any(name in COPIES or _TOGETHER.search(name) for name in self._called(inner))
        ends = any(isinstance(node, _LEAVES) for node in inner)
        return [] if together or ends or self._loses(taken, lines, bound & before) else taken

    def _called(self, nodes: list[ast.AST]) -> Iterator[str]:
        """The functions that are called, and those that the file's own ones call."""
        names = [name_of(node) for node in nodes if isinstance(node, ast.Call)]
        for name in each_once(names):
            yield name
            if name:
                names += [
                    name_of(one) for one in self.source.calls() if self.source.scope_of(one).name == name
                ]

    def _loses(self, taken: list[ast.stmt], lines: Sequence[int], older: set[str]) -> bool:
        """Whether something else is not done where the statements are not.

        That is a store, a call or a value for one of the `older` names, which rests on nothing that is read
        outside of a tensor; and such a value that takes the place of the last one, which is read in its stead
        then. A sum of what is read just has one summand less.
        """
        read, kept = set[str](), {name for name in older if self._read_apart(name, taken)}
        for one in (node for top in taken for node in ast.walk(top) if isinstance(node, ast.stmt)):
            if hasattr(one, "body"):
                continue
            loaded, bound = (_names(one, kind) for kind in (ast.Load, ast.Store))
            rests = _leaves(one, lines) or not read.isdisjoint(loaded)
            if isinstance(one, ast.AugAssign):
                loaded |= bound
            if not rests and (_acts(one) or kept & bound):
                return True
            asked = {name for top in taken for test in _tests(top, one) for name in _names(test, ast.Load)}
            if kept & bound - loaded - asked:
                return True
            read |= bound - older if rests else set()
        return False

    def _read_apart(self, name: str, taken: list[ast.stmt]) -> bool:
        """Whether a value that statements give a name is read behind them, or in a loop's next turn."""
        start, end = taken[0].lineno, taken[-1].end_lineno or taken[-1].lineno
        uses = [one for one in ast.walk(self.scope.node) if isinstance(one, ast.Name) and one.id == name]
        loads = [one.lineno for one in uses if isinstance(one.ctx, ast.Load)]
        if any(line > end for line in loads):
            return True
        given = [one.lineno for one in uses if isinstance(one.ctx, ast.Store)]
        for loop in (one for one in ast.walk(self.scope.node) if isinstance(one, (ast.For, ast.While))):
            if loop.lineno < start and spans(loop, end):
                first = min(line for line in given if line >= loop.lineno)
                if any(loop.lineno <= line <= min(first, start - 1) for line in loads):
                    return True
        return False


def _statement(source: Source, line: int) -> _At | None:
    """The simple statement of a line."""
    scope = source.scope_at(line)
    suites = (getattr(node, name, None) for node in ast.walk(scope.node) for name in ("body", "orelse"))
    for suite in [one for one in suites if isinstance(one, list)]:
        for one in suite:
            if isinstance(one, (ast.Assign, ast.AugAssign, ast.Expr)) and spans(one, line):
                return _At(source, one, suite, scope)
    return None


def _accesses(statement: ast.stmt, what: str) -> list[ast.Subscript]:
    """The elements that a statement reads or writes, by one index each."""
    return [
        node
        for node in ast.walk(statement)
        if isinstance(node, ast.Subscript)
        and (isinstance(node.ctx, ast.Store) == (what == "writes") or isinstance(statement, ast.AugAssign))
        and not any(isinstance(one, ast.Slice) or _is_none(one) for one in ast.walk(node.slice))
    ]


def _is_none(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _names(node: ast.AST, kind: type[ast.expr_context]) -> set[str]:
    """The names that are loaded, or stored, in a part of a program."""
    return {one.id for one in ast.walk(node) if isinstance(one, ast.Name) and isinstance(one.ctx, kind)}


def _acts(node: ast.stmt) -> bool:
    """Whether a simple statement does more than to give names their values."""
    calls = [name_of(one) for one in ast.walk(node) if isinstance(one, ast.Call)]
    kept = [one for one in ast.walk(node) if isinstance(one, (ast.Subscript, ast.Attribute))]
    stored = any(isinstance(one.ctx, ast.Store) for one in kept)
    return stored or (isinstance(node, ast.Expr) and bool(calls)) or any(map(_ACTS.search, calls))


def _tests(node: ast.AST, inner: ast.AST) -> list[ast.expr]:
    """The conditions of the branches of a statement around another one."""
    branches = (one for one in ast.walk(node) if isinstance(one, ast.If))
    return [one.test for one in branches if any(inner is part for part in ast.walk(one))]


class _Condition(NamedTuple):
    """What is asked of `{}`, the tensor's extents; the statement before it ("" for none); edits elsewhere."""

    text: str
    extents: str
    before: str
    more: Candidate


def _conditions(program: Program, at: _At, access: ast.Subscript) -> Iterator[_Condition]:
    """Whether the coordinates of an element are inside of its tensor."""
    site = Site(at.source.path, access.value, at.scope)
    cut = cut_of(program, site, at.statement.lineno)
    if cut is None:
        return
    index, taken = ast.unparse(access.slice), names_of(at.source)
    for coords, extents, more in coordinates(program, site, cut, taken):
        before, of_one = "", index
        if not isinstance(cut.part, ast.Name):
            name = free("coords", taken)
            before = f"{name} = {ast.unparse(coords)}"
            of_one = f"{name}[{index.removeprefix('(').removesuffix(')')}]"
        elif not isinstance(access.slice, ast.Tuple):
            yield _Condition(f"{index} < {{}}", f"cute.size({cut.root.id})", "", more)
        yield _Condition(f"cute.elem_less({of_one}, {{}})", extents, before, more)


def _zero(statement: ast.stmt, access: ast.Subscript) -> str:
    """The statement with 0 for what it reads by that index; "" for one that reads nothing so."""
    if not isinstance(statement, ast.Assign) or not all(
        isinstance(one, (ast.Name, ast.Subscript)) for one in statement.targets
    ):
        return ""
    index, value = ast.unparse(access.slice), statement.value
    while reads := [
        one for one in ast.walk(value) if isinstance(one, ast.Subscript) and ast.unparse(one.slice) == index
    ]:
        value = put(value, reads[0], ast.Name(f"{ast.unparse(reads[0].value)}.element_type(0)"))
    if value is statement.value:
        return ""  # it stores there
    return ast.unparse(ast.Assign(statement.targets, value, lineno=0))


def _guarded(at: _At, statements: Sequence[ast.stmt], condition: _Condition, zero: str) -> Candidate:
    """Statements under a condition; nothing where they share their lines, or a text has several."""
    source, indents = at.source, [indent_of(at.source, one) for one in statements]
    texts = (node for one in statements for node in ast.walk(one) if isinstance(node, _TEXTS))
    if not indents or None in indents or any(node.lineno != node.end_lineno for node in texts):
        return ()
    (start, _), (_, end) = (source.span_of(one) for one in (statements[0], statements[-1]))
    indent = indents[0] or ""
    step = "\t" if "\t" in indent else "    "
    inner = re.sub(r"\n(?=[^\r\n])", f"\n{step}", source.text[start:end])
    asked = f"if {condition.text.format(condition.extents)}:"
    lines = filter(None, (condition.before, zero, asked, f"{step}{inner}"))
    return (Edit(source.path, start, end, f"\n{indent}".join(lines)), *condition.more)
