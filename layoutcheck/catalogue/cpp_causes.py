"""Why a static assertion of CuTe fails, in the user's layouts and numbers: by the types of the instantiations that led to it.

Each way reads one kind of failure (`_WAYS`), and gives the row of meanings/instantiations.txt that says it with what its sentences
name; nothing where the text lacks a type that it needs.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache
from typing import NamedTuple

from layoutcheck import algebra
from layoutcheck.algebra.inttuple import wrap
from layoutcheck.catalogue import cpp_copies, cpp_parts, cpp_stack, cpp_types
from layoutcheck.catalogue.cpp_stack import Failure, Says
from layoutcheck.catalogue.rows import rows
from layoutcheck.errors import InputError

_ROWS = {row.name: row for row in rows("meanings/instantiations.txt")}
_FIELD = re.compile(r"\{(\w+)\}")
_PICKED = {"Tiler": "tiler", "LShape": "thread layout", "LStride": "thread layout"}
_CONSTANT = re.compile(r'identifier "_(?P<number>[0-9]+)" is undefined')
_REGISTERS = re.compile(r"size\(r(?P<operand>[ABCD])\) == Int<RegNum")
_CONST = re.compile(r"\bconst (?P<element>[\w:]+) ?\*")
# as nvcc, gcc and clang say that a name is no constant
_OF_THE_RUN = re.compile(
    r"value of (?:parameter|variable) \"(\w+)\".{0,60}cannot be used as a constant"
    r"|(?:the value of )?'(\w+)' is not (?:usable in a constant expression|a constant expression)"
    r"|(?:parameter|variable) '(\w+)' (?:with unknown value )?(?:cannot be used|is not allowed) in a constant expression"
)
_SIZES = re.compile(r"size\((\w+)\) == size\((\w+)\)")


class Told(NamedTuple):
    """What is said of one failure: `entry` is the entry of the catalogue whose kind it is, `place` the user's "file:line"."""

    entry: str
    title: str
    cause: str
    remedy: str
    said: str
    place: str | None


@lru_cache(maxsize=8)
def told(folded: str) -> Told | None:
    """The cause of the first failure of a text that the text's own types tell; None where none does."""
    for failure in cpp_stack.failures(folded):
        for pattern, way in _WAYS:
            found = pattern.search(failure.message)
            if found and (says := (way, found.groupdict()) if isinstance(way, str) else _says(way, failure)):
                row, fields = _ROWS[says[0]], says[1]
                title, cause, helps = (
                    _filled(row.field(part), fields) for part in ("title", "cause", "helps")
                )
                return Told(row.traits, title, cause, helps, failure.said, failure.place)
    return None


def _filled(sentence: str, fields: dict[str, str]) -> str:
    return _FIELD.sub(lambda found: fields[found[1]], sentence)


def _says(way: Callable[[Failure], Says], failure: Failure) -> Says:
    """What a way says; nothing of layouts that the algebra does not take."""
    with suppress(InputError):
        return way(failure)
    return None


def _sizes(failure: Failure) -> Says:
    """`size(copy_a) == size(mma)`: threads of a tiled copy and of a tiled MMA."""
    found = _SIZES.search(failure.message)
    outer = next((one for one in failure.frames if not cpp_stack.is_header(one.file)), None)
    if found is None or outer is None:
        return None
    one, other = found.groups()
    has, asks = (cpp_parts.threads(cpp_parts.named(outer, name)) for name in (one, other))
    if has is None or asks is None or has == asks:
        return None
    return "sizes", {"one": one, "other": other, "has": str(has), "asks": str(asks)}


def _indexed(failure: Failure) -> Says:
    """A tensor or tile that is sliced with another number of coordinates than it has modes."""
    tile = next((one for one in failure.frames if one.name.endswith(("local_tile", "local_partition"))), None)
    diced = failure.frames[:1]
    if tile and diced and diced[0].name.endswith("dice"):
        steps, given = (diced[0].type(one) for one in "AB")
        if steps is None or given is None or len(steps.args) == len(given.args):
            return None
        named = ((one, cpp_types.notation_of(one)) for one in steps.args)
        return "projection", {
            "call": tile.name.rpartition("::")[2],
            "which": next((_PICKED[one] for one in _PICKED if given == tile.type(one)), "coordinate"),
            "given": str(len(given.args)),
            "steps": str(len(steps.args)),
            "projection": f"Step<{','.join(f'_{n}' if n else cpp_parts.plain(one) for one, n in named)}>",
        }
    tensor = failure.giving("Layout", "Coord") or failure.giving("Shape", "Coord")
    coordinate, layout = (tensor.type("Coord"), tensor.shown("Layout", "Shape")) if tensor else (None, "")
    if coordinate is None or coordinate.name != "tuple" or not layout:
        return None
    modes, given_ = algebra.rank(cpp_parts.layout_of(layout)), len(coordinate.args)
    shown = ",".join("_" if one.name == "Underscore" else "i" for one in coordinate.args)
    registers = not re.search("[gs]mem_ptr", tensor.given.get("Engine", "smem_ptr")) if tensor else False
    fewer = (
        "a fragment in registers is made of one stage, tensor(_,_,0), and is retiled (retile_S, retile_D) and not partitioned"
        if registers
        else "one is missing, often the stage or the k tile"
    )
    more = "the tensor lacks a mode that the call expects, often the k tiles or the stages"
    told = {"modes": str(modes), "given": str(given_), "layout": layout, "coordinate": f"({shown})"}
    return ("coordinates", told | {"lacks": fewer if given_ < modes else more}) if modes != given_ else None


def _tiled(failure: Failure) -> Says:
    """tile_to_shape with a block that does not divide the shape."""
    made = failure.giving("Shape", "TrgShape") or failure.giving("B", "TrgShape")
    block = (made.shown("Shape") or made.shown("B")).partition(":")[0] if made else ""
    target = made.shown("TrgShape") if made else ""
    if not block or not target:
        return None
    pairs = zip(wrap(algebra.parse_tree(block)), wrap(algebra.parse_tree(target)), strict=False)
    for mode, (each, extent) in enumerate((algebra.size(one), algebra.size(other)) for one, other in pairs):
        if isinstance(each, int) and isinstance(extent, int) and extent % each:
            numbers = {"each": each, "extent": extent, "mode": mode, "common": math.gcd(each, extent)}
            told = {name: str(number) for name, number in numbers.items()}
            return "tile to shape", told | {"block": block, "target": target}
    return None


def _divided(failure: Failure) -> Says:
    """A tensor that a tiled MMA or a tiled copy does not cut into whole pieces."""
    cut = failure.giving("LShape", "RShape")
    user = next(
        (one for one in failure.frames if one.name.startswith("cute::T") and "frg_" in one.name), None
    )
    shape, piece = (cut.shown("LShape"), cut.shown("RShape")) if cut else ("", "")
    if user is None or not shape or not piece:
        return None
    side = user.name[-1]
    of = user.type(f"{side}Tensor")
    layout = (
        cpp_types.notation_of(of) or next(filter(None, map(cpp_types.notation_of, of.args)), "") if of else ""
    )
    have, each = (math.prod(cpp_parts.extents(algebra.parse_tree(one))) for one in (shape, piece))
    if not layout or not each or have % each == 0:
        return None
    atom = cpp_parts.operation(user, "MMA_Atom", "Copy_Atom")
    name = f" of {cpp_parts.plain(atom).partition('<')[0]}" if atom else ""
    what = "MMA" if "MMA" in user.name else "copy"
    operand = (
        f"operand {side}" if what == "MMA" else {"S": "the source", "D": "the destination"}.get(side, side)
    )
    told = {"what": f"the tiled {what}{name}", "operand": operand, "layout": layout}
    return "pieces", told | {"have": str(have), "each": str(each)}


def _grouped(failure: Failure) -> Says:
    """A tensor of tma_partition whose first mode is not the tile."""
    return (
        ("mode of a tile", {}) if any(one.name == "cute::tma_partition" for one in failure.frames) else None
    )


def _described(failure: Failure) -> Says:
    """An operand's layout that the descriptor of wgmma or tcgen05 does not express."""
    made = failure.giving("MajorMode", "TLayout")
    layout = made.shown("TLayout") if made else ""
    asked = made.given["MajorMode"].rpartition("::")[2] if made else ""
    if made is None or not layout or asked not in ("K", "MN"):
        return None
    first = [cpp_parts.first_strides(layout, mode)[0] == "1" for mode in (0, 1)]
    have = "MN" if first[0] else "K" if first[1] else asked
    told = {"layout": layout, "asked": asked, "have": have, "along": "M or N" if have == "MN" else "K"}
    told |= {"element": cpp_parts.element(made, "TEngine"), "unit": "UMMA" if "umma" in made.name else "GMMA"}
    return "major" if have != asked else "swizzle atoms", told


def _boxed(failure: Failure) -> Says:
    """A TMA atom whose shared layout has another size than its tile, or another major than the tensor."""
    tiler = next((one for one in ("CTA_Tiler", "CTA_Tile") if failure.giving("SLayout", one)), "")
    made = failure.giving("SLayout", tiler) if tiler else None
    shared, tile = (made.shown("SLayout"), made.shown(tiler)) if made else ("", "")
    if made is None or not shared or not tile:
        return None
    sizes, tiles = map(cpp_parts.extents, (cpp_parts.layout_of(shared).shape, algebra.parse_tree(tile)))
    have, asks = math.prod(sizes), math.prod(tiles)
    told = {"shared": shared, "tile": tile, "call": made.name.rpartition("::")[2]}
    told |= {"have": f"{have:,}", "asks": f"{asks:,}", "extents": str(tuple(sizes)).replace(" ", "")}
    if have != asks:
        stages = math.prod(sizes[len(tiles) :]) if math.prod(sizes[: len(tiles)]) == asks else 0
        helps = "Build the shared layout by tile_to_shape(atom, shape), and give the same shape as the tile"
        staged = f" The layout holds {stages} stages." if stages else ""
        return "size of a box", told | {
            "staged": staged,
            "helps": "Pass the layout of one stage: sA(_,_,0)" if stages else helps,
        }
    if sizes != tiles and sorted(sizes) == sorted(tiles):
        return "order of a box", told
    gmem = made.shown("GLayout")
    return ("major of a box", told | {"gmem": gmem}) if gmem else None


def _constant(failure: Failure) -> Says:
    """A number that CuTe gives no name: those of _0 to _10, _12, and many multiples of 8 are declared."""
    found = _CONSTANT.search(failure.message)
    number = int(found["number"]) if found else 0
    unnamed = number == 11 or (number > 12 and number % 8 > 0)
    return ("constant of CuTe", {"number": str(number)}) if unnamed else None


def _run_time(failure: Failure) -> Says:
    """A layout that must be static and has an extent that only the run knows."""
    frame = failure.frames[0] if failure.frames else None
    of = "Layout" if frame and frame.name.endswith(("cosize_v", "size_v")) else "Arg0"
    layout = frame.shown(of) if frame else ""
    return ("run-time extent", {"layout": layout}) if "?" in layout else None


def _not_constant(failure: Failure) -> Says:
    """A number of the run where a constant is needed."""
    found = _OF_THE_RUN.search(failure.message)
    name = next(filter(None, found.groups()), "") if found else ""
    return ("not constant", {"name": name}) if name else None


def _written(failure: Failure) -> Says:
    """An assignment to an element of a tensor of const."""
    found = _CONST.search(failure.message)
    return "const element", {"element": found["element"].rpartition("::")[2] if found else "elements"}


def _tensor_for_layout(failure: Failure) -> Says:
    """A tensor where a function takes a layout."""
    given = ((one, name) for one in reversed(failure.frames) for name in one.given if name.endswith("Layout"))
    for frame, name in given:
        of = frame.type(name)
        if of and of.name == "Tensor":
            layout = next(filter(None, map(cpp_types.notation_of, of.args)), "")
            return "tensor for a layout", {"call": frame.name, "name": name, "layout": layout}
    return None


def _stages(failure: Failure) -> Says:
    """A collective of which fewer than two stages fit."""
    made = failure.giving("Stages")
    return ("stages", {"stages": made.given["Stages"]}) if made else None


def _types(failure: Failure) -> Says:
    """An operand of an MMA that holds another type than the operation reads."""
    called = _REGISTERS.search(failure.message)
    made = failure.giving(f"{called['operand']}Layout") if called else failure.giving("MMAOperation")
    operand = called["operand"] if called else made.name[-1] if made else ""
    parameters = (f"T{operand}", f"{operand}Engine") if called else (f"{operand}Tensor",)
    element = next(filter(None, (cpp_parts.element(made, one) for one in parameters)), "") if made else ""
    operation = cpp_parts.operation(made, "AnyMMATraits", "MMAOperation") if made else None
    if not element or operation is None:
        return None
    if called and cpp_parts.width(operation.name, operand) in (0, cpp_types.bits_of(element)):
        return None  # another count of the right type
    return "operand's type", {"operand": operand, "element": element, "operation": operation.name}


def _flagged(failure: Failure) -> Says:
    """A shared layout that was made for elements of another width than the pointer has."""
    made = failure.giving("Iterator", "B", "Layout")
    element = cpp_parts.element(made, "Iterator") if made else ""
    if made is None or not element:
        return None
    told = {"bits": made.given["B"], "element": element, "width": str(cpp_types.bits_of(element))}
    return "flag of a layout", told | {"layout": made.shown("Layout")}


# What a failure is read by: the words of a row, whose groups its sentences name, or a way.
_WAYS: tuple[tuple[re.Pattern[str], Callable[[Failure], Says] | str], ...] = (
    *((re.compile(row.field("words")), row.name) for row in _ROWS.values() if "words" in row.fields),
    (re.compile(r"failed to vectorize into registers|layout doesn't vectorize"), cpp_copies.unadjacent),
    (re.compile(r"qualifiers dropped in binding"), cpp_copies.of_other_spaces),
    (re.compile(r"cp\.async sizeof\(TS\)"), cpp_copies.of_other_width),
    (re.compile(r"TiledCopy uses too few vals"), cpp_copies.of_too_few_values),
    (_SIZES, _sizes),
    (re.compile(r"Mismatched Ranks"), _indexed),
    (re.compile(r"tile_to_shape: block shape"), _tiled),
    (re.compile(r"Divisibility Condition"), _divided),
    (re.compile(r"size<0>\(stensor\) == size<0>"), _grouped),
    (re.compile(r"Not a canonical [GU]MMA_"), _described),
    (re.compile(r"TMA requires CTA_Tile and SLayout|Could not find a common tile-gmem"), _boxed),
    (_CONSTANT, _constant),
    (re.compile(r"name followed by \"::\" must be"), _run_time),
    (re.compile(r"Expecting ValType[ABC] type"), _types),
    (re.compile(r"Expected a B-bit pointer type"), _flagged),
    (_REGISTERS, _types),
    (re.compile(r"Dynamic owning tensors"), _run_time),
    (re.compile(r"'(?:const )?void ?\*' is not a pointer-to-object"), "pointer to void"),
    (re.compile(r'identifier "(?P<name>SM80_[0-9]+x[0-9]+x[0-9]+_\w+)" is undefined'), "no such MMA"),
    (_OF_THE_RUN, _not_constant),
    (
        re.compile(
            r"assignment of read-only location .*cute::Tensor<|cannot assign to return value .*'operator\(\)|modifiable lvalue \w+\([^=]*\) ?[-+*/]?="
        ),
        _written,
    ),
    (re.compile(r"Stages set to value 2 or more"), _stages),
    (re.compile(r"^no (?:matching|instance|member)|has no member"), _tensor_for_layout),
    (re.compile(r"CopyAtom rank-mismatch"), cpp_copies.of_other_ranks),
    (re.compile(r"Rank of tensor to be partitioned too small"), cpp_copies.of_too_few_modes),
)
