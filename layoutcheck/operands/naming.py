"""A tiled MMA as a user names it: the DSL's types, the code that makes it, or an instruction's name.

    !cute.tiled_mma<...>, !cute_nvgpu.sm80.mma<...>
    MmaF16BF16Op(cutlass.BFloat16, cutlass.Float32, (16, 8, 16)), warpgroup.MmaF16BF16Op(...), tcgen05...
    cute.make_tiled_mma(OP, (2, 2, 1), permutation_mnk=(32, 32, 16))
    mma.m16n8k16.f32.bf16, wgmma.m64n128k16.f32.f16.rs.k.mn, PTX
    SM90_64x64x16_F32F16F16_SS<GMMA::Major::K, GMMA::Major::MN>

Code is read and never run.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Any

from layoutcheck.algebra.layout import Layout, compact_col_major
from layoutcheck.algebra.notation import parse_layout, parse_tree
from layoutcheck.errors import InputError, said_of
from layoutcheck.machine.dtypes import DType, dtype
from layoutcheck.machine.mma import MmaAtom, checked
from layoutcheck.numerics.names import instruction
from layoutcheck.operands.fragments import ONE, TiledMma, made, tiled_mma
from layoutcheck.syntax import words_of

EXPECTED = (
    "an MMA as code (warp.MmaF16BF16Op(...)), as the DSL prints it, or by name (mma.m16n8k16.f32.bf16, "
    "wgmma.m64n128k16.f32.bf16)"
)
_CODE = re.compile(r"(?:[A-Za-z_]\w*\.)*(?:\w*Mma\w*Op|make_tiled_mma)\s*\(")
_MAJOR = re.compile(r"Major::(MN|K)\b")
_WHOLE = {"s8": "si8", "u8": "ui8", "s4": "si4", "u4": "ui4", "s32": "i32"}
# Types of A, B and C that a class of the DSL fixes.
_FIXED = {
    "TF32": ("tf32", "tf32", "f32"), "I8": (None, None, "i32"), "MXF8F6F4": (None, None, "f32"),
    "MXF8": (None, None, "f32"), "MXF4": ("f4E2M1FN", "f4E2M1FN", "f32"),
}  # fmt: skip


def read_mma(text: str, atom_layout: str | None = None, permutation: str | None = None) -> TiledMma:
    """The tiled MMA that a text names; `atom_layout` and `permutation` go with an atom. Raises InputError."""
    if not isinstance(text, str) or not text.strip():
        raise InputError("no MMA", expected=EXPECTED)
    one = _read(text.strip())
    if atom_layout is None and permutation is None:
        return one
    if one != TiledMma(one.atom):
        raise InputError(
            "the tiled MMA has its own atoms and permutation", text=text[:160], expected="one atom"
        )
    with said_of("--atom-layout"):
        warps = ONE if atom_layout is None else _atoms(atom_layout)
    with said_of("--permutation"):
        tilers: list[Layout | None] = [None] * 3 if permutation is None else _permutation(permutation)
    return made(one.atom, warps, tilers, text)


def _read(text: str) -> TiledMma:
    if "cute.tiled_mma<" in text or re.match(r"!?cute_nvgpu\.", text):
        return tiled_mma(text)
    if _CODE.match(text):
        try:
            tree = ast.parse(text, mode="eval").body
        except (SyntaxError, ValueError) as error:
            at = max(0, (getattr(error, "offset", 1) or 1) - 1)
            raise InputError(
                "code that cannot be read", text=text[:400], start=at, expected=EXPECTED
            ) from None
        if not isinstance(tree, ast.Call):
            raise InputError("no call", text=text[:400], expected=EXPECTED)
        return _called(tree, text)
    return TiledMma(_named(text))


def _named(text: str) -> MmaAtom:
    try:
        found = instruction(text)
    except InputError as error:
        expected = EXPECTED if str(error).startswith("no tensor-core instruction") else error.expected
        raise InputError(error.message, text=text[:200], expected=expected) from None
    types = [dtype(_WHOLE.get(one.name, one.name)) for one in (found.a, found.b, found.accumulator)]
    tokens = text.lower().split(".")
    majors = [one.upper() for one in tokens if one in ("k", "mn")] or _MAJOR.findall(text)
    if len(majors) not in (0, 2):
        raise InputError("majors are given for A and B", text=text[:200], expected="such as .k.mn")
    rs = "rs" in tokens or re.search(r"_RS\b", text) is not None
    level = {"mma": "warp", "wgmma": "warpgroup"}.get(found.kind, found.kind)
    source = "registers" if level == "warp" or rs else "smem"
    form = "block-scaled" if found.scaling else ""
    shape = (found.m, found.n, found.k)
    a, b = (majors[0], majors[1]) if majors else ("K", "K")
    return checked(MmaAtom(level, shape, (types[0], types[1], types[2]), (a, b), source, 1, form), text)


def _called(call: ast.Call, text: str) -> TiledMma:
    """The MMA of a call of `make_tiled_mma`, or of an operation's class."""
    name = words_of(call.func)[-1]
    if name != "make_tiled_mma":
        return TiledMma(_operation(call, text))
    given = dict(zip(("op_or_atom", "atom_layout_mnk", "permutation_mnk"), call.args, strict=False))
    given |= {str(one.arg): one.value for one in call.keywords}
    op = given.get("op_or_atom")
    if not isinstance(op, ast.Call):
        raise _at("make_tiled_mma of what is not written there", op or call, text, "its operation, as code")
    warps = _layout(given["atom_layout_mnk"], text) if "atom_layout_mnk" in given else ONE
    chosen: list[Layout | None] = [None] * 3
    order = given.get("permutation_mnk")
    if order is not None and not (isinstance(order, ast.Constant) and order.value is None):
        if not isinstance(order, ast.Tuple) or len(order.elts) != 3:
            raise _at("a permutation is a tuple of three", order, text, "(32, 32, 16)")
        chosen = [
            None if isinstance(x, ast.Constant) and x.value is None else _layout(x, text) for x in order.elts
        ]
    return made(_operation(op, text), warps, chosen, text)


def _operation(call: ast.Call, text: str) -> MmaAtom:
    """The atom of `warp.MmaF16BF16Op(...)` and its like: arguments are told by what they are."""
    names = words_of(call.func)
    types: dict[str, DType] = {}
    loose: list[DType] = []
    shape: tuple[int, ...] = ()
    majors: list[str] = []
    source, blocks = "", 1
    for keyword, value in _arguments(call):
        if isinstance(value, ast.Tuple):
            shape = _numbers(value, text)
            continue
        words = words_of(value)
        if not words:
            continue  # a vector size, a flag: no layout depends on it
        if words[-2:-1] in (["OperandMajorMode"], ["Major"]):
            majors.append(words[-1].upper())
        elif words[-2:-1] == ["OperandSource"]:
            source = words[-1].lower()
        elif words[-2:-1] == ["CtaGroup"]:
            blocks = 2 if words[-1] == "TWO" else 1
        elif words[-2:-1] in (["SparseMetadataFormat"], ["CollectorOp"]) or keyword in (
            "sf_dtype",
            "sf_type",
        ):
            continue
        else:
            try:
                found = dtype(words[-1])
            except InputError:
                raise _at(
                    "no element type", value, text, "cutlass.BFloat16 and its like, written out"
                ) from None
            if keyword:
                types[keyword.removesuffix("_dtype")] = found
            else:
                loose.append(found)
    level = next((x for x in names if x in ("warp", "warpgroup", "tcgen05")), "")
    level = level or ("tcgen05" if "CtaGroup" in text else "warpgroup" if source else "warp")
    kinds = _types(names[-1], types, loose, call, text)
    sparse = "Sparse" in names[-1]
    if len(shape) == 2 and level != "warp":
        shape = (*shape, 256 * (1 + sparse) // max(kinds[0].bits, kinds[1].bits))
    if len(shape) != 3:
        raise _at("an operation without its shape (M,N,K)", call, text, "such as (16, 8, 16)")
    form = "sparse" if sparse else "block-scaled" if "MXF" in names[-1] else ""
    where = {"rmem": "registers", "tmem": "tmem"}.get(source, "registers" if level == "warp" else "smem")
    major = (majors[0], majors[1]) if len(majors) == 2 else ("K", "K")
    return checked(MmaAtom(level, (shape[0], shape[1], shape[2]), kinds, major, where, blocks, form), text)


def _types(
    name: str, named: dict[str, DType], loose: list[DType], call: ast.Call, text: str
) -> tuple[DType, DType, DType]:
    fixed = next((v for k, v in _FIXED.items() if f"Mma{k}" in name), (None, None, None))
    wanted = [i for i in range(3) if fixed[i] is None]
    found = [None if x is None else dtype(x) for x in fixed]
    if "ab" in named:
        named |= {"a": named["ab"], "b": named["ab"]}
    for i in wanted:
        found[i] = named.get(("a", "b", "acc")[i])
    left = [i for i in wanted if found[i] is None]
    if len(loose) == len(left) - 1 and left[:2] == [0, 1]:  # one type for A and B
        loose = [loose[0], *loose]
    for i, one in zip(left, loose, strict=False):
        found[i] = one
    if found[0] is None or found[1] is None or found[2] is None:
        raise _at("an operation without its types", call, text, "those of A and B, and of the accumulator")
    return found[0], found[1], found[2]


def _arguments(call: ast.Call) -> Iterator[tuple[str, ast.expr]]:
    for one in call.args:
        yield "", one
    for named in call.keywords:
        yield str(named.arg), named.value


def _numbers(node: ast.Tuple, text: str) -> tuple[int, ...]:
    found = [x.value for x in node.elts if isinstance(x, ast.Constant) and type(x.value) is int]
    if len(found) != len(node.elts):
        raise _at("a shape that is not written in numbers", node, text, "such as (16, 8, 16)")
    return tuple(found)


def _layout(node: ast.expr, text: str) -> Layout:
    """A number, a tuple, or `cute.make_layout(shape, stride=...)`."""
    parts: list[Any] = [node]
    if isinstance(node, ast.Call) and words_of(node.func)[-1:] == ["make_layout"]:
        parts = [value for _, value in _arguments(node)]
    try:
        found = [ast.literal_eval(one) for one in parts]
        return (
            parse_layout(":".join(str(x).replace(" ", "").replace(",)", ")") for x in found))
            if found[1:]
            else (Layout(found[0], compact_col_major(found[0])))
        )
    except (ValueError, TypeError, IndexError):
        raise _at("not a layout", node, text, "numbers, or cute.make_layout of numbers") from None


def _at(message: str, node: ast.expr, text: str, expected: str) -> InputError:
    return InputError(
        message, text=text[:400], start=node.col_offset, end=node.end_col_offset, expected=expected
    )


def _atoms(text: str) -> Layout:
    if ":" in text:
        return parse_layout(text)
    shape = parse_tree(text)
    return Layout(shape, compact_col_major(shape))


def _permutation(text: str) -> list[Layout | None]:
    """`(32,32,16)`, `(_,32,_)` or `[64:1;(8,2,2):(1,16,8);_]`."""
    inside = text.strip().strip("[]") if ";" in text else ";".join(text.strip().strip("()").split(","))
    parts = [part.strip() for part in inside.split(";")]
    if len(parts) != 3:
        raise InputError(
            "a permutation has three modes", text=text[:160], expected="(32,32,16) or [_;_;16:1]"
        )
    return [None if part in ("_", "") else _atoms(part) for part in parts]
