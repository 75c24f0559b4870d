"""Canonical shared-memory layouts of wgmma and tcgen05 operands: is a layout one, and which is nearest.

The tensor cores read A and B through a 64-bit descriptor with two strides and a swizzle mode and nothing
else (PTX ISA, wgmma and tcgen05, Shared Memory Matrix Layout and Matrix Descriptor). In units of 128 bits,
for the 256 bits of K that one instruction takes, with W = 1, 2, 4, 8 for no, 32-, 64- and 128-byte swizzle,
it describes

    K-major     ((8,n),2):((W,SBO),1)          without a swizzle ((8,n),2):((1,SBO),LBO)
    MN-major    ((W,n),(8,k)):((1,LBO),(W,SBO))    without ((1,n),(8,k)):((*,SBO),(1,LBO))

and for tcgen05 also the 128-byte swizzle of 32-byte atoms, S<2,5,2>, with 4 in the place of 8.

`decide` follows the DSL (`make_gmma_smem_desc`, `make_umma_smem_desc`): same answer, same reason, on every
random layout of tests/conformance/test_canonical.py. The DSL recasts to 128 bits first, and rounds: a pitch
of 60 bf16 elements passes as 64. `canonical` therefore also compares, element by element, what the
descriptor describes with what the layout says; where they differ the compiler accepts and the product is
wrong. tcgen05 is compiler-verified only: no Blackwell GPU ran it.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from types import NoneType
from typing import Any

from layoutcheck.algebra.inttuple import flatten, must_be
from layoutcheck.algebra.layout import Layout
from layoutcheck.algebra.notation import parse_swizzle
from layoutcheck.algebra.swizzle import ComposedLayout, Swizzle
from layoutcheck.display import Text
from layoutcheck.errors import InputError
from layoutcheck.machine.canonical.decide import GMMA_TYPES, Decision, decide, first_step
from layoutcheck.machine.canonical.described import first_wrong, nearest
from layoutcheck.machine.canonical.modes import K_BITS, NONE, UNIT_BITS, UNITS, mode_of, size_of
from layoutcheck.machine.dtypes import DType
from layoutcheck.machine.dtypes import dtype as read_dtype
from layoutcheck.machine.pointers import how_read, parse_tile
from layoutcheck.machine.tiles import in_bytes

__all__ = ["Canonical", "Decision", "canonical"]


@dataclass(frozen=True, slots=True)
class Canonical(Text):
    """Whether an operand's layout is canonical: `verdict` is "legal", "rejected" or "wrong".

    "wrong": the compiler makes a descriptor, and it describes other addresses than the layout. `name` is the
    DSL's `SmemLayoutAtomKind` for a legal one. `swizzle` is the pointer's, in bytes, and `read_as` says which
    notation it was given in. `nearest` is a canonical layout of the same shape, `nearest_swizzle` its
    pointer's, `nearest_name` its kind, `code` the DSL source that makes it. The base must be a multiple of
    `align_bytes` for the swizzle's pattern to begin where the descriptor says. `layout` and `unit` are what
    was asked. Printed, it is what `layoutcheck canonical` prints.
    """

    verdict: str
    name: str
    reason: str
    decision: Decision
    align_bytes: int
    swizzle: str = ""
    read_as: str = ""
    nearest: str = ""
    nearest_swizzle: str = ""
    nearest_name: str = ""
    code: str = ""
    evidence: dict[str, Any] = field(default_factory=dict)
    layout: str = ""
    unit: str = ""

    def __repr__(self) -> str:
        return f"<Canonical {self.verdict} {self.name or self.reason}>"

    def to_dict(self) -> dict[str, Any]:
        """For JSON, without what was asked."""
        own = {
            one.name: getattr(self, one.name) for one in fields(self) if one.name not in ("layout", "unit")
        }
        decision = own.pop("decision")
        offsets = {"leading_bytes": decision.leading_bytes, "stride_bytes": decision.stride_bytes}
        return {**own, "compiler": decision.message, **offsets}


def canonical(
    layout: str | Layout | ComposedLayout,
    dtype: str | DType = "bf16",
    major: str = "K",
    swizzle: str | Swizzle | None = None,
    unit: str = "wgmma",
) -> Canonical:
    """Whether shared memory of `layout`, modes (MN, K), can be an operand of `unit`; if not, what is nearest.

    `swizzle` acts on byte addresses, as a pointer's does; that of a composed layout `S<3,3,3> o 0 o ...`
    acts on elements, as everywhere. The DSL's `make_smem_layout_atom` prints bytes in that form, for
    `allocate_tensor(layout.outer, swizzle=layout.inner)`: give the two apart.

    `major` is "K" or "MN", `unit` "wgmma" or "tcgen05". Further modes (stages) are ignored. Raises
    InputError for anything else.

    >>> canonical("(64,128):(128,1)", "f16").nearest_name
    'K_SW128'
    """
    must_be(str, "text", major=major, unit=unit)
    unit = unit.strip().lower()
    found = _canonical(layout, read_dtype(dtype), major, swizzle, unit)
    return replace(found, layout=str(layout), unit=unit)


def _canonical(
    layout: str | Layout | ComposedLayout,
    element: DType,
    major: str,
    swizzle: str | Swizzle | None,
    unit: str,
) -> Canonical:
    """The answer, without what was asked."""
    outer, pointer, read_as, other = _operand(layout, swizzle, element)
    kind = major.strip().upper()
    if kind not in ("K", "MN"):
        raise InputError(f"an operand has no major '{major[:40]}'", expected="K or MN")
    if element.name == "i8":  # Int8 and Uint8 in memory; the MMA's fragment of it is of si8 or ui8 (measured)
        element = read_dtype("si8")
    if unit not in UNITS:
        raise InputError(f"no unit '{unit[:40]}' of the tensor cores", expected="wgmma or tcgen05")
    if element.bits > 64 or UNIT_BITS % element.bits:
        raise InputError(f"{element} is not an operand of a tensor core", expected="4- to 64-bit elements")
    one = first_step(outer, element.bits)
    decision = decide(one, element, kind, pointer, unit)
    mode = mode_of(pointer)
    align = mode.repeat_bytes if mode else 128
    if decision.accepted and mode is not None:
        wrong = first_wrong(outer, element.bits, kind, pointer, decision)
        if wrong is None:
            return Canonical("legal", f"{kind}_{mode.name}", "", decision, align, str(pointer), read_as)
        reason, evidence = wrong
        verdict = "wrong"
    else:
        reason, evidence = _why(one, element, kind, pointer, decision), {}
        verdict = "rejected"
    if other is not None and _canonical(outer, element, kind, other, unit).verdict == "legal":
        reason += (
            f". With {other} on the pointer, in bytes, it is canonical: the DSL's make_smem_layout_atom "
            f"prints that in the form of a composed layout. Give the layout alone, and {other} as "
            "`swizzle`, the pointer's"
        )
    near = nearest(outer, element, kind, pointer, unit)
    if near[:2] == (str(outer), str(pointer)):  # the layout itself, read along its other mode
        reason += f". With major {near[2].partition('_')[0]} it is canonical"
    return Canonical(verdict, "", reason, decision, align, str(pointer), read_as, *near, evidence)


def _operand(
    layout: str | Layout | ComposedLayout, swizzle: str | Swizzle | None, element: DType
) -> tuple[Layout, Swizzle, str, Swizzle | None]:
    """The (MN, K) layout, its swizzle in bytes, how it was read, and a composed layout's own swizzle."""
    found: Any = layout
    pointer = parse_swizzle(swizzle) if isinstance(swizzle, str) else swizzle
    if isinstance(layout, str):
        found, printed = parse_tile(layout, element.bits)
        pointer = printed if pointer is None else pointer
    must_be((Swizzle, NoneType), "a Swizzle, its text or None", swizzle=pointer)
    own = None
    read_as = how_read(found, pointer, element.bits)
    if isinstance(found, ComposedLayout):
        if pointer is not None or not isinstance(found.inner, Swizzle) or found.offset != 0:
            raise InputError(f"{found}: one swizzle, at offset 0, is what an operand can have")
        own = found.inner
        found, pointer = found.outer, in_bytes(own, element.bits)
    must_be(Layout, "(MN,K) such as (64,128):(128,1)", layout=found)
    if len(found) < 2 or type(found.shape) is not tuple:
        raise InputError(f"{found} has no modes MN and K", expected="(MN,K) such as (64,128):(128,1)")
    if not found.is_static:
        raise InputError(f"{found} is not static", expected="extents and strides that are numbers")
    if any(n < 1 for n in flatten(found.shape)) or any(type(d) is not int for d in flatten(found.stride)):
        raise InputError(f"{found} does not map to memory")
    pointer = pointer if pointer is not None and pointer.bits else NONE
    operand = Layout((found[0].shape, found[1].shape), (found[0].stride, found[1].stride))
    return operand, pointer, read_as, own if own != pointer else None


def _why(layout: Layout, element: DType, major: str, swizzle: Swizzle, decision: Decision) -> str:
    """The refusal in terms of the layout's own strides."""
    mode = mode_of(swizzle)
    if decision.aborts:
        return f"{layout} has modes that are not one stride each over the pattern: the compiler dies on it"
    if mode is None or "swizzle" in decision.message:
        return f"{swizzle} is not a swizzle of a descriptor: S<0..3,4,3>, for tcgen05 also S<2,5,2>"
    if "allowable types" in decision.message:
        return f"{element} is not an operand type of wgmma: {', '.join(GMMA_TYPES)}"
    if "MN-size" in decision.message:
        return f"{size_of(layout[0].shape)} rows are not a multiple of {mode.rows}"
    if "K-size" in decision.message:
        return (
            f"{layout} does not give one instruction its 256 bits of K, {K_BITS // element.bits} elements "
            f"of {element}{', adjacent' if major == 'K' else ''}"
        )
    per = UNIT_BITS // element.bits
    row = mode.units * per
    fast, slow = ("K", "MN") if major == "K" else ("MN", "K")
    return (
        f"{major}_{mode.name} wants {row} adjacent elements along {fast}"
        + (f" in each of {mode.rows} rows {row} elements apart along {slow}" if mode.units > 1 else "")
        + (f", {mode.rows} of them {per} elements apart along {slow}" if mode.units == 1 else "")
        + f"; {layout} is not so"
    )
