"""Why a copy of CuTe in C++ does not compile: the ways of `cpp_causes` that read a copy atom, its tiled copy and both tensors."""

from __future__ import annotations

import math
import re

from layoutcheck import algebra
from layoutcheck.catalogue import cpp_parts, cpp_types
from layoutcheck.catalogue.cpp_stack import Failure, Frame, Says
from layoutcheck.catalogue.cpp_types import Type

_SIDES = {"src": "source", "dst": "destination"}
_ENGINES = {"src": ("SEngine", "TS"), "dst": ("DEngine", "TD")}  # TS and TD in older headers
_OPERATIONS = "AnyCPYTraits", "CopyOp", "Operation"


def unadjacent(failure: Failure) -> Says:
    """An instruction whose elements are not adjacent on one side."""
    unpacked, operation = _instruction(failure)
    if unpacked is None or operation is None:
        return None
    tiled = failure.giving("TV", "Tiler")
    side = "dst" if re.search(r"\bdst (?:failed|layout)", failure.message) else "src"
    internal = failure.giving("CopyInternalType")
    engine = _engine(unpacked, side)
    told = {
        "side": _SIDES[side],
        "operation": cpp_parts.plain(operation),
        "element": cpp_parts.element(unpacked, engine),
        "internal": cpp_parts.element(internal, "CopyInternalType") if internal else "",
    }
    ends = {one: cpp_parts.element(unpacked, _engine(unpacked, one)) for one in _ENGINES}
    if 0 < cpp_types.bits_of(ends["src"]) != cpp_types.bits_of(ends["dst"]) > 0:
        return "types of a copy", told | ends
    widths = [cpp_types.bits_of(told[one]) for one in ("element", "internal")]
    if all(widths) and widths[0] != widths[1]:
        return "atom of another type", told
    outer = tiled or failure.giving("SrcLayout", "DstLayout") or unpacked
    layout = outer.shown(f"{side.title()}Layout", f"{side[0].upper()}Layout")
    values = cpp_parts.values(operation, told["element"])
    if not layout or not values:
        return None
    strides, shared = cpp_parts.first_strides(layout), "smem_ptr" in unpacked.given.get(engine, "")
    apart = f"{' and '.join(strides)} elements apart"
    if "?" in strides:
        by = "split, by the shared layout's major or by its swizzle"
        apart = by if shared else "at a stride that only the run knows"
    loads = "LDSM" in operation.name and side == "src"
    told |= {"apart": apart, "layout": layout, "values": str(values), "along": ""}
    told |= {"moves": "reads rows of" if loads else "moves", "helps": cpp_parts.other_form(operation.name)}
    if loads:
        return "values apart", told
    helps, run = list[str](), cpp_parts.direction(tiled) if tiled else None
    if "?" in strides and not shared:
        helps.append("make that stride Int<1>{} if it is always 1")
    if tiled and run is not None:
        told["along"] = (
            f" The tiled copy, {tiled.shown('TV')} over {tiled.shown('Tiler')}, lays them along mode {run} of its tile."
        )
        shape = f"Shape<_1,_{values}>" if run == 0 else f"Shape<_{values},_1>"
        helps.append(
            f"if the tensors are contiguous along mode {1 - run}, let the values run there: Layout<{shape}> as the value layout, and threads in that order"
        )
    if shared:
        helps.append(
            f"give the shared layout the other side's contiguous mode, with a swizzle that keeps {values} elements together (Swizzle<B,{values.bit_length() - 1},S>)"
        )
    remedy = "; ".join([*helps, "or take a narrower atom"]).removeprefix("or ")
    return "values apart", told | {"helps": f"{remedy[0].upper()}{remedy[1:]}"}


def _engine(unpacked: Frame, side: str) -> str:
    """The template parameter that is one side's engine; "" where the instantiation has none."""
    return next((one for one in _ENGINES[side] if one in unpacked.given), "")


def _instruction(failure: Failure) -> tuple[Frame | None, Type | None]:
    """The instantiation that makes one instruction of a copy, and its operation."""
    unpacked = next((one for one in failure.frames if one.name.endswith("copy_unpack")), None)
    return unpacked, cpp_parts.operation(unpacked, *_OPERATIONS) if unpacked else None


def of_other_spaces(failure: Failure) -> Says:
    """An instruction that does not copy between these memory spaces, or writes to const."""
    unpacked, operation = _instruction(failure)
    if unpacked is None or operation is None:
        return None
    engines = [unpacked.given.get(_engine(unpacked, one), "") for one in _ENGINES]
    source, target = map(cpp_parts.space, engines)
    told = {"operation": cpp_parts.plain(operation), "source": source, "target": target}
    if "CP_ASYNC" in operation.name and (source, target) != ("gmem", "smem"):
        swapped = " The two tensors are in the wrong order." if (source, target) == ("smem", "gmem") else ""
        return "spaces of cp.async", told | {"swapped": swapped}
    return ("destination is const", told) if "const " in engines[1] else None


def of_other_width(failure: Failure) -> Says:
    """A cp.async of a width that its cache mode does not take."""
    made = next((one for one in failure.frames if "CP_ASYNC_CACHE" in one.name), None)
    element = cpp_parts.element(made, "TS") if made else ""
    width = cpp_types.bits_of(element) // 8
    if made is None or not width:
        return None
    helps = "Take uint32_t, uint64_t or uint128_t"
    if "ALWAYS" not in made.name:
        other = f"SM80_CP_ASYNC_CACHEALWAYS<{element}> for {width} bytes, or " if width in (4, 8) else ""
        helps = f"Take {other}uint128_t with CACHEGLOBAL"
    told = {"operation": made.name.rpartition("::")[2], "width": str(width), "helps": helps}
    return "width of cp.async", told


def of_too_few_values(failure: Failure) -> Says:
    """A tiled copy whose value layout is no multiple of the atom's."""
    made = failure.giving("Copy_Atom", "LayoutCopy_TV") or failure.giving("Args", "ValLayout")
    parameter = "Copy_Atom" if made and "Copy_Atom" in made.given else "Args"
    operation, atom = (cpp_parts.operation(made, parameter), made.type(parameter)) if made else (None, None)
    if made is None or operation is None or atom is None:
        return None
    element = atom.args[-1].name
    values, alone = cpp_parts.values(operation, element), parameter == "Args"
    layout = made.shown("ValLayout" if alone else "LayoutCopy_TV")
    if not values or not layout:
        return None
    whole = cpp_parts.layout_of(layout)
    have = math.prod(cpp_parts.extents((whole if alone else whole[1]).shape))
    narrower = math.gcd(have, values) * cpp_types.bits_of(element)
    if cpp_parts.MATRIX.fullmatch(operation.name):
        helps = "Take an operation that fills fewer registers (x2, x1), or give each thread more values: a larger tile, or a larger permutation of the tiled MMA"
    else:
        less = f", or an operation of {narrower} bits (uint{narrower}_t)" if narrower in (32, 64) else ""
        helps = f"Give each thread {values} values, or a multiple, along the contiguous mode (Layout<Shape<_1,_{values}>> where that is mode 1){less}"
    return "too few values", {
        "what": "value layout" if alone else "thread-value layout",
        "layout": layout,
        "have": str(have),
        "values": str(values),
        "operation": cpp_parts.plain(operation),
        "element": element,
        "helps": helps,
    }


def of_other_ranks(failure: Failure) -> Says:
    """A copy between tensors of which one is not partitioned."""
    copied = failure.giving("SrcLayout", "DstLayout")
    sides = [copied.shown(f"{one}Layout") for one in ("Src", "Dst")] if copied else []
    if not sides or not all(sides):
        return None
    ranks = [algebra.rank(cpp_parts.layout_of(one)) for one in sides]
    whole = int(ranks[0] > ranks[1])  # the side with fewer modes
    return ("ranks of a copy", {
        "source": str(ranks[0]), "target": str(ranks[1]), "side": list(_SIDES.values())[whole],
        "layout": sides[whole], "other": sides[1 - whole], "letter": "SD"[whole],
        "how": "not partitioned" if min(ranks) < 3 else "partitioned or sliced in another way",
    }) if ranks[0] != ranks[1] else None  # fmt: skip


def of_too_few_modes(failure: Failure) -> Says:
    """A tensor with fewer modes than the tiled copy that partitions it."""
    made = failure.giving("DTensor") or failure.giving("STensor")
    tensor = made.type("DTensor", "STensor") if made else None
    layouts = [cpp_types.notation_of(one) for one in tensor.args] if tensor else []
    layout = next(filter(None, layouts), "")
    told = {"layout": layout, "modes": str(algebra.rank(cpp_parts.layout_of(layout)))} if layout else {}
    return ("rank of a part", told) if told else None
