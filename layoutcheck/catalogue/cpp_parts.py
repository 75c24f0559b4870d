"""What CuTe's C++ types say of a copy or an MMA: values of one instruction, threads, the strides of a mode, the element type."""

from __future__ import annotations

import math
import re
from typing import Any

from layoutcheck import algebra
from layoutcheck.algebra.inttuple import flatten, wrap
from layoutcheck.catalogue import cpp_types
from layoutcheck.catalogue.cpp_stack import Frame
from layoutcheck.catalogue.cpp_types import Type
from layoutcheck.errors import InputError

# ldmatrix and stmatrix: registers of 32 bits, or pairs of 16-bit values in the transposed form
MATRIX = re.compile(r"SM(?:75|90|100)_U(?P<bits>16|32)x(?P<count>[0-9]+)_(?P<way>LDSM|STSM)_(?P<form>[NT])")
_WIDE = re.compile(r"uint([0-9]+)_t")
_OPERANDS = re.compile(r"SM[0-9]+_[0-9x]+_((?:T?F|BF|S|U)[0-9]+(?:(?:T?F|BF|S|U)[0-9]+){3})_")
_OF_A_WARP = re.compile(r"SM(?:75|80|89|120)_")
_OF_A_WARPGROUP = ("SM90_64", "MMA_64")


def operation(frame: Frame, *names: str) -> Type | None:
    """The operation of an atom, or of its traits, that a template parameter is given, or else the signature names."""
    of = frame.type(*names) or _traits(frame.signature)
    if of is None or of.name not in ("Copy_Atom", "Copy_Traits", "MMA_Atom", "MMA_Traits", "tuple"):
        return of
    first = of.args[0] if of.args else None
    return first.args[0] if first and first.name == "Copy_Traits" and first.args else first


def _traits(signature: str) -> Type | None:
    found = signature.find("Copy_Traits<")
    return cpp_types.parse(signature, found) if found >= 0 else None


def values(of: Type, element: str) -> int:
    """How many elements of a type one thread moves by one instruction; 0 where that is not known."""
    bits, matrix = cpp_types.bits_of(element), MATRIX.fullmatch(of.name)
    if matrix:
        return int(matrix["bits"]) * int(matrix["count"]) // bits if bits else 0
    if of.args and bits and ("CP_ASYNC" in of.name or of.name == "UniversalCopy"):
        wide = _WIDE.fullmatch(of.args[0].name)
        return (int(wide[1]) if wide else cpp_types.bits_of(of.args[0].name)) // bits
    return 0


def other_form(name: str) -> str:
    """What reads a shared tile of the other major than this ldmatrix: U32x4_LDSM_N along K, U16x8_LDSM_T along M or N."""
    matrix = MATRIX.fullmatch(name)
    if matrix is None:
        return ""
    count, sm = int(matrix["count"]), name.partition("_")[0]
    along, instead, other = (
        ("M or N", "K", f"{sm}_U32x{count // 2}_LDSM_N")
        if matrix["form"] == "T"
        else ("K", "M or N", f"{sm}_U16x{count * 2}_LDSM_T")
    )
    return f"{name} is for a shared tile that is contiguous along {along}. If this one is contiguous along {instead}, take {other}; else give the tile whole rows of 16 bytes along {along}"


def threads(of: Type | None) -> int | None:
    """The threads of a tiled copy or of a tiled MMA."""
    layout = cpp_types.notation_of(of.args[1]) if of and len(of.args) > 1 else None
    if of is None or not layout:
        return None
    if of.name == "TiledCopy":
        return math.prod(extents(layout_of(layout)[0].shape))
    if of.name != "TiledMMA" or not of.args[0].args:
        return None
    name = of.args[0].args[0].name
    each = 1 if name.startswith("UniversalFMA") else 128 if name.startswith(_OF_A_WARPGROUP) else 32
    return (
        each * math.prod(extents(layout_of(layout).shape)) if each != 32 or _OF_A_WARP.match(name) else None
    )


def named(frame: Frame, variable: str) -> Type | None:
    """The type of the one template parameter that a variable is named after: copy_a of TiledCopyA, mma of TiledMma."""
    plain = variable.replace("_", "").lower()
    found = [name for name in frame.given if name.replace("_", "").lower().endswith(plain)]
    return frame.type(found[0]) if len(found) == 1 else None


def width(name: str, operand: str) -> int:
    """The bits of an operand's elements by an MMA's name, whose types stand in the order D, A, B, C; 0 where it does not tell."""
    types = _OPERANDS.search(name)
    found = re.findall(r"[A-Z]+([0-9]+)", types[1]) if types else []
    if types is None or len(found) != 4:
        return 0
    bits = int(found["DABC".index(operand)])
    return 19 if "TF32" in types[1] and bits == 32 and operand in "AB" else bits


def direction(tiled: Frame) -> int | None:
    """The mode of a tiled copy's tile of two along which the values of one instruction lie."""
    layout, tile = layout_of(tiled.shown("TV")), algebra.parse_tree(tiled.shown("Tiler"))
    step = next(iter(_steps(layout[1])), None)
    if not isinstance(step, int) or not isinstance(tile, tuple) or len(tile) != 2:
        return None
    return 0 if step < extents(tile)[0] else 1


def first_strides(layout: str, mode: int = 0) -> list[str]:
    """The strides of one mode's parts with more than one element, as printed, each once."""
    return list(dict.fromkeys(map(str, _steps(layout_of(layout)[mode])))) or ["0"]


def _steps(part: Any) -> list[Any]:
    """The strides of the parts of a layout that have more than one element."""
    shape, stride = (flatten(one) for one in (part.shape, part.stride))
    return [step for extent, step in zip(shape, stride, strict=True) if extent != 1]


def extents(shape: Any) -> list[int]:
    """The size of each mode of a shape. Raises InputError where only the run knows one."""
    found = [algebra.size(one) for one in wrap(shape)]
    known = [one for one in found if isinstance(one, int)]
    if len(known) < len(found):
        raise InputError("an extent that only the run knows")
    return known


def layout_of(text: str) -> Any:
    """A layout as printed, of a composed one its last part; a shape alone is compact."""
    plain = text.rpartition(" o ")[2]
    return algebra.parse_any_layout(plain) if ":" in plain else algebra.Layout(algebra.parse_tree(plain))


def element(frame: Frame, engine: str) -> str:
    """The element type of an engine, pointer or tensor, as CuTe names it; "" where it is not known."""
    found = frame.type(engine)
    return _in(found) if found else ""


def _in(of: Type) -> str:
    return of.name if cpp_types.bits_of(of.name) else next(filter(None, map(_in, of.args)), "")


def space(engine: str) -> str:
    """Where an engine's elements are."""
    return "gmem" if "gmem_ptr" in engine else "smem" if "smem_ptr" in engine else "registers"


def plain(of: Type) -> str:
    """A type as code has it, with the first of its arguments: SM80_CP_ASYNC_CACHEALWAYS<uint128_t>."""
    return f"{of.name}<{of.args[0].name}>" if of.args else of.name
