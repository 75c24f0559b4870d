"""What a C++ assertion that fails has in its condition, evaluated: `size<1>(B) == size<2>(C)` is 3 against 2.

The compiler prints the template arguments of the innermost instantiation, `[with BLayout=cute::Layout<...>]`. A tensor of CuTe
is named after them: `B` or `rB` has the layout `BLayout`, `src` has `SrcLayout`. A number that the function itself makes is named
after a mode of its tile: `Tile_N` is size<1>(TileShape_MNK{}), `BLK_K0` is size<0>(BLK_K{}). What none of them binds has no value here.
"""

from __future__ import annotations

import ast
import operator
import re
from contextlib import suppress
from typing import Any

from layoutcheck import algebra
from layoutcheck.catalogue import cpp_types
from layoutcheck.catalogue.guards import called, term
from layoutcheck.errors import InputError

_OPERATORS: dict[type[ast.AST], Any] = {
    ast.Mod: operator.mod, ast.Mult: operator.mul, ast.Div: operator.floordiv, ast.Add: operator.add, ast.Sub: operator.sub,
    ast.BitAnd: operator.and_, ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le,
    ast.Gt: operator.gt, ast.GtE: operator.ge, ast.Is: operator.eq, ast.IsNot: operator.ne,
}  # fmt: skip
_SIZES = {"size": algebra.size, "rank": algebra.rank, "tuple_size": algebra.rank}
_MADE = re.compile(
    r"(?:k|b|static_)?(?P<of>Tile|BLK|CTA|Cta|Block|block|EPI|Epi|EpiTile|epi_tile|tile)?_?(?P<mode>[MNKmnk])"
)
_TILES = re.compile(r"(?:Cta)?TileShape(?:_?MNK?)?|(?:Cta|CTA|Block)(?:Tile|Shape)(?:_?MNK?)?")
_EPILOGUES = re.compile(r"Epi(?:logue)?Tile(?:Shape)?(?:_?MN)?")
_MEASURES = {*_SIZES, "shape", "stride", "get", "sizeof", "sizeof_bits"}


def given(test: ast.expr, types: dict[str, cpp_types.Type]) -> list[str]:
    """The operands of a test with their values, "the size of mode 1 of B is 3", in its parts that are false; none where it would hold."""
    parts = test.values if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) else [test]
    found = [(_value(part, types), part) for part in parts]
    broken = [one for value, one in found if value is False] or [one for value, one in found if value is None]
    values = {term(node): _value(node, types) for part in broken for node in _operands(part)}
    shown = {
        name: str(value).replace(" ", "").replace(",)", ")") + _origin(name, types)
        for name, value in values.items()
        if value is not None
    }
    return [f"{name} is {value}" for name, value in shown.items() if len(value) < 80]


def _operands(node: ast.AST) -> list[ast.expr]:
    measured = isinstance(node, ast.Call) and called(node) in _MEASURES
    if measured or isinstance(node, ast.Name | ast.Attribute):
        return [node]  # type: ignore[list-item]
    return [one for child in ast.iter_child_nodes(node) for one in _operands(child)]


def _value(node: ast.AST, types: dict[str, cpp_types.Type]) -> Any:
    """An integer, a truth, a type's last name, a shape or a layout; None for what is not known."""
    with suppress(InputError, ValueError, TypeError, ArithmeticError, LookupError, AttributeError):
        return _evaluated(node, types)


def _evaluated(node: ast.AST, types: dict[str, cpp_types.Type]) -> Any:
    match node:
        case ast.Constant():
            return node.value
        case ast.Name():
            return _of_type(_type(node.id, types) or _made(node.id, types)[1])
        case ast.Attribute(value=of, attr="value" | "rank" as name) if _value(of, types) is not None:
            found = _value(of, types)
            return found if name == "value" else algebra.rank(found)
        case ast.Attribute():  # a member that is bound by its own name
            return _of_type(types.get(node.attr))
        case ast.BoolOp():
            return _joined([_value(one, types) for one in node.values], isinstance(node.op, ast.And))
        case ast.BinOp():
            return _known(node.op, _value(node.left, types), _value(node.right, types))
        case ast.Compare():
            sides = [_value(one, types) for one in (node.left, *node.comparators)]
            return _joined([_known(op, *sides[at : at + 2]) for at, op in enumerate(node.ops)], True)
        case ast.Call() if called(node) in _MEASURES and node.args:
            return _measured(node, types)
    return None


def _measured(node: ast.Call, types: dict[str, cpp_types.Type]) -> Any:
    """The value of size<0>(x), rank(x), sizeof(T) and their like."""
    name = called(node)
    if name.startswith("sizeof"):
        type_ = _type(ast.unparse(node.args[0]), types)
        bits = cpp_types.bits_of(type_.name) if type_ else 0
        return (bits if name == "sizeof_bits" else bits // 8) or None
    of = _value(node.args[0], types)
    of = getattr(of, "stride" if name == "stride" else "shape", of)
    for mode in [mode for one in node.keywords for mode in ast.literal_eval(one.value)]:
        of = of[mode]
    found = None if of is None or isinstance(of, str) else _SIZES.get(name, lambda of: of)(of)
    return None if isinstance(found, algebra.Dynamic) else found


def _type(name: str, types: dict[str, cpp_types.Type]) -> cpp_types.Type | None:
    """The type that a name of the condition has: its own, or that of the layout which is named after it."""
    name = name.partition("_")[0] if name.endswith(("_c", "_v")) and name not in types else name
    last = name[-1:] if name[:-1].islower() else "?"
    side = {"src": "S", "dst": "D"}.get(name, "?")
    found = (types.get(f"{one}Layout") for one in (name, name.title(), side, last))
    return types.get(name) or next(filter(None, found), None)


def _made(name: str, types: dict[str, cpp_types.Type]) -> tuple[str, cpp_types.Type | None]:
    """The tile after one of whose modes a number is named that the function makes, and that mode; "" where no or more than one is."""
    if whole := types.get(name[:-1]) if name.endswith("0") else None:  # BLK_K0 is size<0>(BLK_K{})
        return name[:-1], whole.args[0] if whole.name.endswith("tuple") else whole
    found = _MADE.fullmatch(name)
    mode = "MNK".index(found["mode"].upper()) if found and found["of"] else 3
    tiles = _EPILOGUES if found and (found["of"] or "").lower().startswith("epi") else _TILES
    named = {
        one: type_.args for one, type_ in types.items() if tiles.fullmatch(one) and mode < len(type_.args)
    }
    sizes = {args[mode] for args in named.values()}
    return (next(iter(named)), sizes.pop()) if len(sizes) == 1 else ("", None)


def _origin(name: str, types: dict[str, cpp_types.Type]) -> str:
    """What is said of a value that its name alone gives."""
    tile = _made(name, types)[0] if _type(name, types) is None else ""
    return f" (of {tile}, by its name)" if tile else ""


def _of_type(type_: cpp_types.Type | None) -> Any:
    shown = cpp_types.notation_of(type_) if type_ else None
    if shown:
        return algebra.parse_any_layout(shown) if ":" in shown else algebra.parse_tree(shown)
    name = type_.name.rpartition("::")[2] if type_ else ""
    return {"true": True, "false": False}.get(name, name if name.isidentifier() else None)


def _known(of: ast.AST, *values: Any) -> Any:
    return None if None in values else _OPERATORS[type(of)](*values)


def _joined(values: list[Any], every: bool) -> Any:
    """The values by `and` or `or`: one that decides does so beside others that are not known."""
    known = {bool(one) for one in values if one is not None}
    return not every if (not every) in known else None if None in values else every
