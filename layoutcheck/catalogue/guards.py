"""A condition of Python as a sentence: what was true of a call when it was refused, and what it asks for.

`in_words`: the condition of an assertion. `n % 64 == 0 and k % 128 == 0` is "n is a multiple of 64 and k is a multiple of 128".
C++ that is near to Python is read as well (`cpp_conditions.py`). `met_by`: what makes it hold.
"""

from __future__ import annotations

import ast
import re
from typing import NamedTuple

from layoutcheck.catalogue import cpp_conditions
from layoutcheck.catalogue.meanings import named
from layoutcheck.catalogue.rows import rows

_LONGEST = 160  # characters of a sentence; what is longer is left to its source
_IS, _ARE = {True: "is", False: "is not"}, {True: "are", False: "are not"}
_COMPARED: dict[type[ast.cmpop], tuple[str, str]] = {
    ast.Lt: ("is less than", "is at least"),
    ast.LtE: ("is at most", "is greater than"),
    ast.Gt: ("is greater than", "is at most"),
    ast.GtE: ("is at least", "is less than"),
    ast.Eq: ("is", "is not"),
    ast.NotEq: ("is not", "is"),
    ast.Is: ("is", "is not"),
    ast.IsNot: ("is not", "is"),
    ast.In: ("is one of", "is not one of"),
    ast.NotIn: ("is not one of", "is one of"),
}
_MEASURES = named("measures")

_STATES = {"is_contiguous": "contiguous", "has_value": "given"}  # members that ask an object of itself


class Guard(NamedTuple):
    """Tests that hold, or do not, where a statement is reached: those of the branches around it, innermost first.

    `failed` is the expression whose exception is handled there, "" outside of a handler; `written` a condition of C++ that
    is false there, "" in Python.
    """

    tests: tuple[tuple[ast.expr, bool], ...] = ()
    failed: str = ""
    written: str = ""

    def __str__(self) -> str:
        """The innermost test as Python; a condition of C++ as it is written."""
        if not self.tests:
            return f"not ({self.written})" if self.written else ""
        test, holds = self.tests[0]
        return ast.unparse(test) if holds else f"not ({ast.unparse(test)})"

    def told(self) -> str:
        """What was true of the call: "begin is at least end"; "" where there is no short sentence."""
        if self.failed:
            return _short(f"`{self.failed}` fails")
        if self.written:
            tree = read(self.written)
            return _short(clause(tree, False) if tree else f"`{self.written}` is false")
        if not self.tests:
            return ""
        return _short(_alternatives(self.tests) or clause(*self.tests[0]))

    def asked(self) -> str:
        """What the call must be instead; "" where there is no short sentence."""
        if self.written:
            tree = read(self.written)
            return _short(clause(tree, True)) if tree and not _bare(tree) else ""
        if self.failed or not self.tests:
            return ""
        chosen = _alternatives(self.tests)
        if chosen:
            return _short(chosen.replace(" is none of ", " is one of ", 1))
        test, holds = self.tests[0]
        return "" if _bare(test) else _short(clause(test, not holds))

    def names(self) -> tuple[str, ...]:
        """The names and attributes that the tests ask about: "begin", "end", "num_bits_per_copy"."""
        found: dict[str, None] = {}
        for test, _ in self.tests[:1]:
            for node in ast.walk(test):
                if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                    found.setdefault(node.attr if node.value.id == "self" else node.value.id)
                elif isinstance(node, ast.Name):
                    found.setdefault(node.id)
        return tuple(found)


def read(condition: str) -> ast.expr | None:
    """A condition as a tree, of Python or of C++ that is near to it; None for any other."""
    if cpp_conditions.CPP.search(condition):
        return cpp_conditions.read(condition)
    try:
        return ast.parse(condition.strip(), mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return None


def _bare(test: ast.expr) -> bool:
    """Whether a test is a name alone, which says little to who did not write it."""
    return isinstance(test.operand if isinstance(test, ast.UnaryOp) else test, ast.Name | ast.Attribute)


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else ""


def _alternatives(tests: tuple[tuple[ast.expr, bool], ...]) -> str:
    """`x is none of A, B` for the end of a chain of `if x is A: ... elif x is B: ...`; "" for any other chain."""
    if len(tests) < 2:
        return ""
    subjects, values = set(), []
    for test, holds in reversed(tests):
        one = None if holds else _choice(test)
        if one is None:
            return ""
        subjects.add(one[0])
        values.append(one[1])
    return f"{subjects.pop()} is none of {', '.join(dict.fromkeys(values))}" if len(subjects) == 1 else ""


def _choice(test: ast.expr) -> tuple[str, str] | None:
    """(subject, value) of a test for one value or one type."""
    if (
        isinstance(test, ast.Compare)
        and isinstance(test.ops[0], ast.Is | ast.Eq | ast.In)
        and len(test.ops) == 1
    ):
        return term(test.left), _value(test.comparators[0])
    if isinstance(test, ast.Call) and called(test) in ("isinstance", "issubclass") and len(test.args) == 2:
        return term(test.args[0]), _value(test.args[1])
    return None


def clause(test: ast.expr, holds: bool) -> str:
    """A test as a clause, or its negation; in Python, between back quotes, where there are no words for it."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return clause(test.operand, not holds)
    if isinstance(test, ast.BoolOp):
        joint = " and " if isinstance(test.op, ast.And) == holds else " or "
        parts = [clause(part, holds) for part in test.values]
        return joint.join(parts)
    if isinstance(test, ast.Compare):
        return _comparison(test, holds)
    if isinstance(test, ast.Call):
        return _asked_of(test, holds)
    if isinstance(test, ast.Attribute) and test.attr == "is_cuda":
        return f"{term(test.value)} {_IS[holds]} on a GPU"
    return _as_written(test, holds)


def _comparison(test: ast.Compare, holds: bool) -> str:
    if len(test.ops) > 1:
        operands = [test.left, *test.comparators]
        pairs = [ast.Compare(operands[at], [op], [operands[at + 1]]) for at, op in enumerate(test.ops)]
        return (" and " if holds else " or ").join(_comparison(pair, holds) for pair in pairs)
    (operator,), (right,), left = test.ops, test.comparators, test.left
    if isinstance(operator, ast.Eq | ast.NotEq):
        told = _measured(left, right, isinstance(operator, ast.Eq) == holds)
        if told:
            return told
    if isinstance(right, ast.Constant) and right.value is None:
        given = isinstance(operator, ast.IsNot | ast.NotEq) == holds
        return f"{term(left)} {'is given' if given else 'is not given (None)'}"
    said = _COMPARED[type(operator)][not holds]
    return f"{term(left)} {said} {_value(right) if isinstance(operator, ast.In | ast.NotIn) else term(right)}"


def _measured(left: ast.expr, right: ast.expr, equal: bool) -> str:
    """What it means that two numbers are equal or not: multiples, powers of two, dimensions, strides; or ""."""
    if isinstance(left, ast.BinOp) and isinstance(right, ast.Constant) and right.value == 0:
        if isinstance(left.op, ast.Mod):
            return f"{term(left.left)} {_IS[equal]} a multiple of {term(left.right)}"
        if isinstance(left.op, ast.BitAnd):
            return _masked(left, equal)
    of = left.func if isinstance(left, ast.Call) else left
    if not isinstance(of, ast.Attribute):
        return ""
    if of.attr in ("ndim", "dim") and (of is left) == (of.attr == "ndim"):
        return f"{term(of.value)} {'has' if equal else 'does not have'} {term(right)} dimensions"
    if of.attr == "stride" and isinstance(left, ast.Call) and left.args and ast.unparse(right) == "1":
        adjacent = f"the elements of {term(of.value)} {_ARE[equal]} adjacent in memory"
        return f"{adjacent} along mode {ast.unparse(left.args[0])}"
    return ""


def _masked(masked: ast.BinOp, equal: bool) -> str:
    """`x & (x - 1)` and `x & 15` compared with zero."""
    number, mask = term(masked.left), masked.right
    if isinstance(mask, ast.Constant) and isinstance(mask.value, int):
        below = mask.value + 1
        return f"{number} {_IS[equal]} a multiple of {below}" if below & mask.value == 0 else ""
    if not isinstance(mask, ast.BinOp) or not isinstance(mask.op, ast.Sub) or ast.unparse(mask.right) != "1":
        return ""
    power = ast.unparse(mask.left) == ast.unparse(masked.left)
    return f"{number} {_IS[equal]} a {'power of two' if power else f'multiple of {term(mask.left)}'}"


def _asked_of(test: ast.Call, holds: bool) -> str:
    name, arguments = called(test), test.args
    if name in ("const_expr", "bool") and len(arguments) == 1:
        return clause(arguments[0], holds)
    if name in ("isinstance", "issubclass") and len(arguments) == 2:
        return f"{term(arguments[0])} {_IS[holds]} {_article(_value(arguments[1]))}"
    if isinstance(test.func, ast.Attribute) and not arguments and name in _STATES:
        return f"{term(test.func.value)} {_IS[holds]} {_STATES[name]}"
    if name == "all" and holds and arguments and isinstance(arguments[0], ast.GeneratorExp):
        loop = arguments[0].generators[0]
        each = clause(arguments[0].elt, holds)
        return f"{each}, for each {ast.unparse(loop.target)} of {ast.unparse(loop.iter)}"
    if name == "is_family_of" and isinstance(test.func, ast.Attribute) and len(arguments) == 1:
        return f"{term(test.func.value)} {_IS[holds]} of the family of {_value(arguments[0])}"
    if name == "callable" and arguments:
        return f"{term(arguments[0])} {_IS[holds]} a function"
    if name == "hasattr" and len(arguments) == 2 and isinstance(arguments[1], ast.Constant):
        return f"{term(arguments[0])} {'has' if holds else 'does not have'} .{arguments[1].value!s}"
    if name == "is_static" and arguments:
        return f"{term(arguments[0])} {_IS[holds]} known when the program is compiled"
    if name == "is_weakly_congruent" and len(arguments) == 2:
        return f"{term(arguments[0])} {_IS[holds]} weakly congruent to {term(arguments[1])}"
    if name in ("is_integer", "is_int_tuple", "isclass") and arguments:
        what = {"is_integer": "an integer", "is_int_tuple": "a tuple of integers", "isclass": "a class"}[name]
        return f"{term(arguments[0])} {_IS[holds]} {what}"
    of_cpp = cpp_conditions.told(name, [term(one) for one in arguments], holds)
    if of_cpp:
        return of_cpp
    if isinstance(test.func, ast.Attribute) and name in ("startswith", "endswith") and len(arguments) == 1:
        verb = "begins" if name == "startswith" else "ends"
        return f"{term(test.func.value)} {verb if holds else f'does not {verb[:-1]}'} with {_value(arguments[0])}"
    return _as_written(test, holds)


def _as_written(test: ast.expr, holds: bool) -> str:
    """A test in Python."""
    written = _source(test)
    return f"`{written}` is {'true' if holds else 'false'}"


def _source(test: ast.expr) -> str:
    return ast.unparse(test).replace("self.", "")


def term(node: ast.expr) -> str:
    """A value of a test as it is named to a reader: "begin", "the number of modes of order", "3"."""
    name = called(node) if isinstance(node, ast.Call) else ""
    if isinstance(node, ast.Call) and name in _MEASURES and node.args:
        mode = next((ast.unparse(one.value) for one in node.keywords if one.arg == "mode"), "")
        of = f"mode {mode.strip('[]')} of " if mode else ""
        return f"{_MEASURES[name]} {of}{term(node.args[0])}"
    if isinstance(node, ast.Call) and name == "type" and node.args:
        return f"the type of {term(node.args[0])}"
    return _value(node)


def _value(node: ast.expr) -> str:
    """A constant, a class or a list of them, without the modules that they are of."""
    if isinstance(node, ast.Tuple | ast.List | ast.Set):
        return ", ".join(_value(one) for one in node.elts)
    if isinstance(node, ast.Attribute) and not isinstance(node.value, ast.Call):
        parts = ast.unparse(node).split(".")
        if parts[-1] in ("Value", "NumericMeta"):
            return _CLASSES.get(parts[-1], "value of the compiled program")
        kept = [part for part in parts if part != "self" and not (part.islower() and part in _MODULES)]
        return ".".join(kept[-2:])
    written = ast.unparse(node).replace("self.", "")
    return _CLASSES.get(written, written)


_CLASSES = {
    "NumericMeta": "number type of the DSL (cutlass.Float16)",
    "Numeric": "number type of the DSL (cutlass.Float16)",
}
_MODULES = {"core", "cute", "base_dsl", "cutlass", "ir", "cuda_driver", "cutlass_arith"}


def _article(kind: str) -> str:
    first = kind.partition(",")[0].lstrip("_")
    return f"{'an' if first[:1] in 'AEIOaeio' else 'a'} {kind.replace(', ', ' or ')}"


def called(node: ast.Call) -> str:
    """The name of the function that is called, without what it is of."""
    return node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")


_MOST_READ = 300  # characters of a condition that are read
_MET = tuple((row.field("words"), row.field("helps")) for row in rows("meanings/conditions.txt"))


def in_words(condition: str) -> str:
    """What must hold, in words; "" where the condition is not one that Python can read, or has no words."""
    text = condition.strip().rstrip(";")
    if not text or len(text) > _MOST_READ:
        return ""
    tree = read(text)
    if isinstance(tree, ast.Tuple) and len(tree.elts) == 2:  # "condition, message" of an assert statement
        tree = tree.elts[0]
    if not isinstance(tree, ast.BoolOp | ast.Compare | ast.UnaryOp | ast.Call | ast.Name | ast.Attribute):
        return ""
    words = clause(tree, True)
    if isinstance(tree, ast.Call) and words.startswith("`"):
        return ""
    return words.replace("[", "<").replace("]", ">") if cpp_conditions.CPP.search(text) else words


def met_by(condition: str) -> str:
    """What makes such a condition hold, by what it reads; "" where that does not tell."""
    return next((helps for words, helps in _MET if re.search(words, condition)), "")
