"""The mutants of a source file: one small change each, with an id that does not depend on line numbers.

Not mutated: annotations, docstrings, messages (f-strings and the text of errors), assertions, and what a rule
shows as its example.
"""

from __future__ import annotations

import ast
import hashlib
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path
from typing import NamedTuple

COMPARE = {
    ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.Eq: "!=", ast.NotEq: "==",
    ast.Is: "is not", ast.IsNot: "is", ast.In: "not in", ast.NotIn: "in",
}  # fmt: skip
ARITHMETIC = {
    ast.Add: "-", ast.Sub: "+", ast.Mult: "//", ast.FloorDiv: "*", ast.Div: "*", ast.Mod: "//",
    ast.LShift: ">>", ast.RShift: "<<", ast.BitAnd: "|", ast.BitOr: "&", ast.BitXor: "|", ast.Pow: "*",
}  # fmt: skip
NAMES = {"any": "all", "all": "any", "min": "max", "max": "min"}
STRINGS = {"src": "dst", "dst": "src", "gmem": "smem", "smem": "gmem"}
# Of these the order of the arguments is checked by their types, or makes no difference.
UNSWAPPED = {"isinstance", "issubclass", "getattr", "hasattr", "setattr", "max", "min", "gcd", "lcm", "dtype"}
KEY = re.compile(r"[A-Za-z][\w.-]*")


class Mutant(NamedTuple):
    """Characters `start` to `end` of `path` become `after`; `function` is where, "" at module level."""

    id: str
    path: str
    function: str
    line: int
    end_line: int
    operator: str
    before: str
    after: str
    start: int
    end: int

    def apply(self, text: str) -> str:
        """The file's text with the change."""
        return text[: self.start] + self.after + text[self.end :]


def mutants_of(text: str, path: str) -> list[Mutant]:
    """All mutants of a file, in the order of the text."""
    return sorted(_Walk(text, path).mutants(), key=lambda one: (one.start, one.end, one.after))


def functions(tree: ast.AST, inside: str = "") -> Iterator[tuple[str, ast.AST]]:
    """Every function of a module with its qualified name, outer ones first."""
    for node in ast.iter_child_nodes(tree):
        name = inside
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            name = f"{inside}.{node.name}".lstrip(".")
            if not isinstance(node, ast.ClassDef):
                yield name, node
        yield from functions(node, name)


def sample(found: list[Mutant], count: int, seed: int) -> list[Mutant]:
    """`count` of them, as many of each operator, by a hash of seed and id.

    A change of the code elsewhere so leaves most of the choice as it is.
    """
    of: dict[str, list[Mutant]] = {}
    for one in sorted(found, key=lambda one: hashlib.sha256(f"{seed} {one.id}".encode()).digest()):
        of.setdefault(one.operator, []).append(one)
    turns = zip_longest(*(of[operator] for operator in sorted(of)))
    return [one for turn in turns for one in turn if one is not None][:count]


class _Walk:
    """One file's tree, walked once."""

    def __init__(self, text: str, path: str) -> None:
        self.text, self.path = text, path
        self.tree = ast.parse(text)
        # The tree counts bytes of UTF-8 within a line.
        self.lines = [0]
        for line in text.splitlines(keepends=True):
            self.lines.append(self.lines[-1] + len(line))
        self.raw = [line.encode() for line in text.splitlines()]
        self.seen: Counter[tuple[str, ...]] = Counter()

    def mutants(self) -> Iterator[Mutant]:
        yield from self._node(self.tree, "", "")

    def _at(self, line: int, column: int) -> int:
        raw = self.raw[line - 1]
        return self.lines[line - 1] + (column if raw.isascii() else len(raw[:column].decode()))

    def _span(self, node: ast.AST) -> tuple[int, int]:
        return (
            self._at(node.lineno, node.col_offset),  # type: ignore[attr-defined]
            self._at(node.end_lineno, node.end_col_offset),  # type: ignore[attr-defined]
        )

    def _source(self, node: ast.AST) -> str:
        start, end = self._span(node)
        return self.text[start:end]

    def _node(self, node: ast.AST, function: str, statement: str) -> Iterator[Mutant]:
        if isinstance(node, (ast.JoinedStr, ast.Assert, ast.Raise)):
            if isinstance(node, ast.Raise):
                yield from self._changes(node, function, statement)
            return
        if isinstance(node, ast.Call) and _name(node.func) == "make_rule":
            return
        if isinstance(node, ast.If) and _name(node.test) == "TYPE_CHECKING":
            return
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            function = f"{function}.{node.name}".lstrip(".")
        if isinstance(node, ast.stmt):
            statement = " ".join(self._source(node).split())[:200]
        yield from self._changes(node, function, statement)
        for field, value in ast.iter_fields(node):
            if field in ("annotation", "returns", "decorator_list", "type_comment"):
                continue
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST) and not _is_docstring(child):
                    yield from self._node(child, function, statement)

    def _make(
        self, node: ast.AST, function: str, statement: str, operator: str, after: str, span: tuple[int, int]
    ) -> Mutant:
        before = self.text[span[0] : span[1]]
        key = (self.path, function, operator, statement, before, after)
        self.seen[key] += 1
        digest = hashlib.sha256("|".join([*key, str(self.seen[key])]).encode()).hexdigest()[:10]
        line = bisect_right(self.lines, span[0])
        end_line = line + before.count("\n")
        return Mutant(digest, self.path, function, line, end_line, operator, before, after, *span)

    def _changes(self, node: ast.AST, function: str, statement: str) -> Iterator[Mutant]:
        for operator, after, span in self._replacements(node):
            yield self._make(node, function, statement, operator, after, span)

    def _replacements(self, node: ast.AST) -> Iterator[tuple[str, str, tuple[int, int]]]:
        match node:
            case ast.Compare():
                left = node.left
                for op, right in zip(node.ops, node.comparators, strict=True):
                    between = self._between(left, right)
                    yield "compare", f" {COMPARE[type(op)]} ", between
                    left = right
            case ast.BinOp() if type(node.op) in ARITHMETIC and not _has_text(node):
                yield "arithmetic", f" {ARITHMETIC[type(node.op)]} ", self._between(node.left, node.right)
            case ast.AugAssign() if type(node.op) in ARITHMETIC:
                yield "arithmetic", f" {ARITHMETIC[type(node.op)]}= ", self._between(node.target, node.value)
                yield "drop", "pass", self._span(node)
            case ast.BoolOp():
                word = "or" if isinstance(node.op, ast.And) else "and"
                for left, right in zip(node.values, node.values[1:], strict=False):
                    yield "and-or", f" {word} ", self._between(left, right)
            case ast.UnaryOp(op=ast.Not() | ast.USub(), operand=operand) if not _is_number(operand):
                yield "unary", f"({self._source(operand)})", self._span(node)
            case ast.Constant(value=bool()):
                yield "constant", str(not node.value), self._span(node)
            case ast.Constant(value=int()):
                yield "constant", str(node.value + 1), self._span(node)
                yield "constant", f"({node.value - 1})", self._span(node)
            case ast.Name(id=name, ctx=ast.Load()) if name in NAMES:
                yield "any-all-min-max", NAMES[name], self._span(node)
            case ast.Attribute(attr=attr) if attr in NAMES:
                end = self._span(node)[1]
                yield "any-all-min-max", NAMES[attr], (end - len(attr), end)
            case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test):
                yield "negate", f"(not ({self._source(test)}))", self._span(test)
            case ast.comprehension(ifs=tests):
                for test in tests:
                    yield "negate", f"(not ({self._source(test)}))", self._span(test)
            case ast.Expr(value=ast.Call() | ast.Yield() | ast.YieldFrom()) | ast.Raise():
                yield "drop", "pass", self._span(node)
            case ast.Assign(targets=[ast.Subscript() | ast.Attribute()]) | ast.Continue() | ast.Break():
                yield "drop", "pass", self._span(node)
            case ast.Call(func=func, args=[first, second, *_]) if _name(func) not in UNSWAPPED:
                yield from self._swapped(first, second)
        yield from self._keys(node)

    def _swapped(self, first: ast.expr, second: ast.expr) -> Iterator[tuple[str, str, tuple[int, int]]]:
        one, two = self._source(first), self._source(second)
        if one != two and not isinstance(first, (ast.Starred, ast.GeneratorExp)) and not _has_text(second):
            if isinstance(second, (ast.Starred, ast.GeneratorExp)) or _has_text(first):
                return
            between = self.text[self._span(first)[1] : self._span(second)[0]]
            yield "swap", two + between + one, (self._span(first)[0], self._span(second)[1])

    def _keys(self, node: ast.AST) -> Iterator[tuple[str, str, tuple[int, int]]]:
        """Strings that are keys or are compared with: another one of its kind, or one that nobody uses."""
        strings: list[ast.expr | None] = []
        match node:
            case ast.Dict(keys=keys):
                strings = list(keys)
            case ast.Subscript(slice=key):
                strings = [key]
            case ast.Compare(comparators=others):
                strings = [node.left, *others]
                strings += [s for o in others if isinstance(o, (ast.Tuple, ast.Set)) for s in o.elts]
        for one in strings:
            if isinstance(one, ast.Constant) and isinstance(one.value, str) and KEY.fullmatch(one.value):
                other = STRINGS.get(one.value, f"{one.value}_")
                yield "string", repr(other).replace("'", '"'), self._span(one)

    def _between(self, left: ast.AST, right: ast.AST) -> tuple[int, int]:
        """The operator between two operands, without the brackets around them."""
        start, end = self._span(left)[1], self._span(right)[0]
        middle = self.text[start:end]
        before = len(middle) - len(middle.lstrip(" \n)\t"))
        after = len(middle) - len(middle.rstrip(" \n(\t"))
        if "#" in middle:  # a comment: up to the last word
            before = 0
        while before and middle[before - 1] in " ":
            before -= 1
        while after and middle[len(middle) - after] in " ":
            after -= 1
        return start + before, end - after


def _name(node: ast.AST) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def _is_docstring(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _is_number(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant)


def _has_text(node: ast.AST) -> bool:
    """Whether a message is among its parts."""
    return any(
        isinstance(part, ast.JoinedStr) or (isinstance(part, ast.Constant) and isinstance(part.value, str))
        for part in ast.walk(node)
    )


def read(root: Path, paths: list[str]) -> list[Mutant]:
    """The mutants of all Python files under `paths`."""
    files = sorted(
        {f for p in paths for f in ([root / p] if (root / p).is_file() else (root / p).rglob("*.py"))}
    )
    return [one for f in files for one in mutants_of(f.read_text("utf-8"), f.relative_to(root).as_posix())]
