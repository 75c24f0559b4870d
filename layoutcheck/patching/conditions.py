"""Element accesses under a condition, as text: statements in an `if`, or what they read in a name, else 0.

The condition is made of the coordinates of the tensor's elements, as `predicates.py` does it for copies.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from layoutcheck.lint.source import Source
from layoutcheck.patching.cuts import coordinates, cut_of, free, put
from layoutcheck.patching.edit import Candidate, Edit, indent_of, rewritten, spliced
from layoutcheck.patching.predicates import names_of
from layoutcheck.patching.program import Program, Site
from layoutcheck.patching.skipped import Statement

_TEXTS = (ast.Constant, ast.JoinedStr)
_LAZY = (ast.Lambda, ast.IfExp, ast.BoolOp, ast.GeneratorExp, ast.ListComp)  # evaluate their parts or not
_FAR = 1 << 30


class Condition(NamedTuple):
    """What is asked of the tensor's extents, `{0}`, and of the least coordinate, `{1}`.

    `before` is the statement before it ("" for none), `more` are edits elsewhere.
    """

    text: str
    extents: str
    before: str
    more: Candidate

    @property
    def asked(self) -> str:
        """Whether the element is inside of the tensor."""
        return self.text.format(self.extents, 0)

    @property
    def holds(self) -> Condition:
        """The same, of extents and coordinates so large that it always holds."""
        return self._replace(
            text=self.text.replace("{1}", f"-{_FAR}"), extents=f"cute.repeat_like({_FAR}, {self.extents})"
        )


def accesses(statement: ast.AST, writes: bool) -> list[ast.Subscript]:
    """The elements that a statement reads, or writes, by one index each."""
    return [
        node
        for node in ast.walk(statement)
        if isinstance(node, ast.Subscript)
        and (isinstance(node.ctx, ast.Store) == writes or isinstance(statement, ast.AugAssign))
        and not any(isinstance(one, ast.Slice) or _is_none(one) for one in ast.walk(node.slice))
    ]


def _is_none(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def conditions(program: Program, at: Statement, access: ast.Subscript, below: bool) -> Iterator[Condition]:
    """Whether an element's coordinates are inside of its tensor; `below`: some were seen before it."""
    site = Site(at.source.path, access.value, at.scope)
    cut = cut_of(program, site, at.node.lineno)
    if cut is None:
        return
    index, taken = ast.unparse(access.slice), names_of(at.source)
    parts = access.slice.elts if isinstance(access.slice, ast.Tuple) else [access.slice]
    least = "".join(f"{ast.unparse(one)} >= {{1}} and " for one in parts if below and _subtracts(one))
    for coords, extents, more in coordinates(program, site, cut, taken):
        before, of_one = "", index
        if not isinstance(cut.part, ast.Name):
            name = free("coords", taken)
            before = f"{name} = {ast.unparse(coords)}"
            of_one = f"{name}[{index.removeprefix('(').removesuffix(')')}]"
        elif len(parts) == 1:
            yield Condition(f"{least}{index} < {{0}}", f"cute.size({cut.root.id})", "", more)
        yield Condition(f"{least}cute.elem_less({of_one}, {{0}})", extents, before, more)


def _subtracts(node: ast.expr) -> bool:
    return any(isinstance(one, (ast.Sub, ast.USub)) for one in ast.walk(node))


def zeroed(statement: ast.stmt, access: ast.Subscript) -> str:
    """The statement with 0 for what it reads by that index; "" for one that reads nothing so."""
    if not isinstance(statement, ast.Assign) or not all(
        isinstance(one, (ast.Name, ast.Subscript)) for one in statement.targets
    ):
        return ""
    index, value = ast.unparse(access.slice), statement.value
    while reads := [
        one for one in ast.walk(value) if isinstance(one, ast.Subscript) and ast.unparse(one.slice) == index
    ]:
        value = put(value, reads[0], ast.Name(_nothing(reads[0])))
    if value is statement.value:
        return ""  # it stores there
    return ast.unparse(ast.Assign(statement.targets, value, lineno=0))


def _nothing(access: ast.Subscript) -> str:
    """0 of a tensor's type."""
    return f"{ast.unparse(access.value)}.element_type(0)"


def guarded(at: Statement, statements: Sequence[ast.stmt], condition: Condition, zero: str) -> Candidate:
    """Statements under a condition, behind one that stands for them else; nothing where that has no place."""
    place = _place(at.source, statements)
    if place is None:
        return ()
    source, (_, end) = at.source, at.source.span_of(statements[-1])
    text = source.text[source.span_of(statements[0])[0] : end]
    inner = re.sub(r"\n(?=[^\r\n])", f"\n{place.step}", text)
    lines = (condition.before, zero, f"if {condition.asked}:", f"{place.step}{inner}")
    return (place.edit(source.path, end, lines), *condition.more)


def read_before(
    at: Statement, where: ast.expr, asked: Sequence[tuple[ast.Subscript, Condition]]
) -> Candidate:
    """What a statement reads in `where`, read before it under conditions into names that are 0 else."""
    place, source = _place(at.source, [at.node]), at.source
    lazy = {id(one) for node in ast.walk(where) if isinstance(node, _LAZY) for one in ast.walk(node)}
    start, end = source.span_of(at.node)[0], source.span_of(where)[1]
    if place is None or source.text.startswith("elif", start):
        return ()
    if any(id(access) in lazy for access, _ in asked):
        return ()
    text, lines, taken = source.text[start:end], list[str](), names_of(source)
    edits: dict[str, str] = {}
    for access, condition in asked:
        name = free("value", taken)
        taken.add(name)
        read = source.text_of(access)
        edits[read] = name
        lines += [
            condition.before, f"{name} = {_nothing(access)}", f"if {condition.asked}:",
            f"{place.step}{name} = {read}",
        ]  # fmt: skip
    same = [
        one for one in accesses(where, writes=False) if source.text_of(one) in edits and id(one) not in lazy
    ]
    text = spliced(text, (rewritten(source, one, edits[source.text_of(one)]) for one in same), start)
    more = tuple(dict.fromkeys(edit for _, condition in asked for edit in condition.more))
    return (place.edit(source.path, end, [*lines, text]), *more)


class _Place(NamedTuple):
    """Where lines go: from an offset on, behind a text, at an indent. `step` is one indent more."""

    start: int
    text: str
    indent: str

    @property
    def step(self) -> str:
        return "\t" if "\t" in self.indent else "    "

    def edit(self, path: str, end: int, lines: Sequence[str]) -> Edit:
        """The lines, without empty ones, up to another offset."""
        return Edit(path, self.start, end, self.text + f"\n{self.indent}".join(filter(None, lines)))


def _place(source: Source, statements: Sequence[ast.stmt]) -> _Place | None:
    """That of statements which have their lines for themselves, or of one behind `for ...:` in its line.

    None for any other, and where a text has several lines.
    """
    texts = (node for one in statements for node in ast.walk(one) if isinstance(node, _TEXTS))
    if not statements or any(node.lineno != node.end_lineno for node in texts):
        return None
    start, end = source.span_of(statements[0])
    indents = [indent_of(source, one) for one in statements]
    if None not in indents:
        return _Place(start, "", indents[0] or "")
    before = source.text[source.text.rfind("\n", 0, start) + 1 : start]
    after = source.text[end:].split("\n", 1)[0].partition("#")[0]
    header = before.rstrip()
    if len(statements) > 1 or after.strip() or not header.endswith(":"):
        return None
    blanks = before[: len(before) - len(before.lstrip())]
    indent = blanks + ("\t" if "\t" in blanks else "    ")
    return _Place(start - len(before) + len(header), f"\n{indent}", indent)
