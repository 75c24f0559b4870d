"""A condition of C++ as Python's syntax has it, for `guards` to put in words.

Template arguments become subscripts (`Layout<A,B>` is `Layout[A, B]`), a type made into a value its name (`X{}` is `X`), and
the traits of CuTe and of the standard the comparison that they are: `is_same_v<A, B>` is `A is B`, `size<0>(x)` has a mode.
"""

from __future__ import annotations

import ast
import re

from layoutcheck.brackets import closing
from layoutcheck.errors import InputError

# what Python has not
CPP = re.compile(
    r"::|->|\bnullptr\b|\w<[\w_]|\w\{\}|&&|\|\||!(?!=)|\b[0-9]+[uUlL]+\b|\bstatic_cast\b|\bsizeof\.\.\."
)
_COMMENT = re.compile(r"/\*.*?\*/|// [^()]*?(?=[()]|$)")
_NAMESPACE = re.compile(
    r"(?<![\w>])(?:::)?(?:cute|cutlass|std|detail|platform|arch|layout|gemm|collective|epilogue)::"
)
_DROPPED = re.compile(r"\b(?:typename|template|const|constexpr)\b ?")
_DECLTYPE = re.compile(r"^decltype\((?P<inner>.*)\)(?:::value|\{\})$", re.DOTALL)
_NUMBER = re.compile(
    r"\b(?:Int|C|Number)<([0-9]+)>(?:\{\}|::value)?|\b_([0-9]+)\b(?:\{\}|::value)?|\b([0-9]+)[uUlL]+\b"
)
_PACK = re.compile(r"\bsizeof\.\.\.\((\w+)\)")
_OPENED = re.compile(r"(?<=[A-Za-z0-9_])<(?![ =<])|(?<=_v)< ")
_SPACES = {"is_smem": "shared", "is_gmem": "global", "is_rmem": "register", "is_tmem": "tensor"}
_LOGIC = (("&&", " and "), ("||", " or "), ("->", "."), ("::", "."), ("nullptr", "None"), ("{}", ""))
_NOT = re.compile(r"!(?!=)")
_LONGEST = 600  # characters


def read(condition: str) -> ast.expr | None:
    """The condition as a tree of Python; None where its syntax is not this near to Python's."""
    text = inner(_NAMESPACE.sub("", _DROPPED.sub("", _COMMENT.sub(" ", condition))))
    text = _PACK.sub(r"tuple_size(\1)", text)
    text = _NUMBER.sub(lambda found: next(filter(None, found.groups())), text)
    try:
        text = _subscripted(text) if len(text) < _LONGEST else ""
        for cpp, python in _LOGIC:
            text = text.replace(cpp, python)
        tree: ast.expr = _Traits().visit(ast.parse(_NOT.sub(" not ", text).strip(), mode="eval").body)
    except (InputError, SyntaxError, ValueError, MemoryError, RecursionError):
        return None
    return tree


def inner(condition: str) -> str:
    """The expression of `decltype(...)::value`, as CUTE_STATIC_ASSERT_V wraps it."""
    text = condition.strip().rstrip(";")
    while found := _DECLTYPE.match(text):
        text = found["inner"].strip()
    return text


def _subscripted(text: str) -> str:
    """The text with each list of template arguments in square brackets."""
    while found := _OPENED.search(text):
        end = closing(text, found.start(), len(text))
        inner = text[found.end() : end - 1]
        if re.search(r"&&|\|\|", inner):
            raise InputError("a comparison")
        text = f"{text[: found.start()]}[{inner or '()'}]{text[end:]}"
    return text


class _Traits(ast.NodeTransformer):
    """Traits and functions of CuTe as Python would write them."""

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        self.generic_visit(node)
        of = node.value
        if node.attr not in ("value", "type") or isinstance(of, ast.Name):
            return node
        return (
            of.args[0] if isinstance(of, ast.Call) and ast.unparse(of.func) == "decltype" and of.args else of
        )

    def visit_Call(self, node: ast.Call) -> ast.expr:
        if not isinstance(node.func, ast.Subscript):
            return self.generic_visit(node)  # type: ignore[return-value]
        modes = ast.keyword("mode", ast.List(_given(node.func), ast.Load()))
        return ast.Call(node.func.value, [self.visit(one) for one in node.args], [modes])

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        self.generic_visit(node)
        if isinstance(node.op, ast.Not) and isinstance(node.operand, ast.BinOp):
            return ast.Compare(node.operand, [ast.Eq()], [ast.Constant(0)])  # !(a % b)
        return node

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        self.generic_visit(node)
        name = node.value.id.removesuffix("_v") if isinstance(node.value, ast.Name) else ""
        given = _given(node)
        if name == "is_same" and len(given) == 2:
            return ast.Compare(given[0], [ast.Is()], [given[1]])
        if name == "is_any_of" and len(given) > 1:
            return ast.Compare(given[0], [ast.In()], [ast.Tuple(given[1:], ast.Load())])
        if name in ("Int", "C") and len(given) == 1:
            return given[0]
        if name.startswith(
            ("is_", "has_", "rank", "size", "cosize", "depth", "tuple_size", "dependent_false", "sizeof")
        ):
            return ast.Call(ast.Name(name, ast.Load()), given, [])
        return node


def _given(node: ast.Subscript) -> list[ast.expr]:
    return list(node.slice.elts) if isinstance(node.slice, ast.Tuple) else [node.slice]


def told(name: str, given: list[str], holds: bool) -> str:
    """A trait of one type as a clause: "T is in shared memory"; "" for one without words of its own."""
    verb = "is" if holds else "is not"
    if name in _SPACES and given:
        return f"{given[0]} {verb} in {_SPACES[name]} memory"
    if name == "is_base_of" and len(given) == 2:
        return f"{given[1]} {verb} a kind of {given[0]}"
    if name == "is_convertible" and len(given) == 2:
        return f"{given[0]} {'converts' if holds else 'does not convert'} to {given[1]}"
    if name.startswith("is_") and len(given) == 1:
        return f"{given[0]} {verb} {name.removeprefix('is_').replace('_', ' ')}"
    if name in ("evenly_divides", "is_evenly_divisible") and len(given) == 2:
        return f"{given[1]} {'divides' if holds else 'does not divide'} {given[0]}"
    if name in ("congruent", "compatible", "weakly_congruent") and len(given) == 2:
        return f"{given[0]} {verb} {name.replace('_', ' ')} {'with' if name == 'compatible' else 'to'} {given[1]}"
    return ""
