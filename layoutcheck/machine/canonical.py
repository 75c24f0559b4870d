"""Canonical shared-memory layouts of wgmma and tcgen05 operands: is a layout one, and which is nearest.

The tensor cores read A and B through a 64-bit descriptor with two strides and a swizzle mode and nothing
else (PTX ISA, wgmma and tcgen05, Shared Memory Matrix Layout and Matrix Descriptor). In units of 128 bits,
for the 256 bits of K that one instruction takes, with W = 1, 2, 4, 8 for no, 32-, 64- and 128-byte swizzle,
it describes

    K-major     ((8,n),2):((W,SBO),1)          without a swizzle ((8,n),2):((1,SBO),LBO)
    MN-major    ((W,n),(8,k)):((1,LBO),(W,SBO))    without ((1,n),(8,k)):((*,SBO),(1,LBO))

and for tcgen05 also the 128-byte swizzle of 32-byte atoms, S<2,5,2>, with 4 in the place of 8.

`decide` follows DSL 4.8.1 (`make_gmma_smem_desc`, `make_umma_smem_desc`): same answer, same reason, on every
random layout of tests/conformance/test_canonical.py. The DSL recasts to 128 bits first, and rounds: a pitch
of 60 bf16 elements passes as 64. `canonical` therefore also compares, element by element, what the
descriptor describes with what the layout says; where they differ the compiler accepts and the product is
wrong. tcgen05 is compiler-verified only: no Blackwell GPU ran it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from layoutcheck.algebra.composition import composition
from layoutcheck.algebra.divide import logical_divide
from layoutcheck.algebra.image import image
from layoutcheck.algebra.inttuple import flatten
from layoutcheck.algebra.layout import Layout
from layoutcheck.algebra.notation import parse_any_layout, parse_swizzle
from layoutcheck.algebra.recast import upcast
from layoutcheck.algebra.simplify import coalesce
from layoutcheck.algebra.swizzle import ComposedLayout, Swizzle
from layoutcheck.errors import InputError
from layoutcheck.machine.dtypes import DType
from layoutcheck.machine.dtypes import dtype as read_dtype

UNITS = {"wgmma": "GMMA", "tcgen05": "UMMA"}
_UNIT_BITS = 128
_K_BITS = 256  # one instruction's K (PTX ISA: 32 bytes)
_MAX_ELEMENTS = 1 << 20

# Swizzle of byte addresses -> (name, W, rows of its pattern, bytes after which it repeats).
_MODES: dict[tuple[int, int, int], tuple[str, int, int, int]] = {
    (0, 4, 3): ("INTER", 1, 8, 128),
    (1, 4, 3): ("SW32", 2, 8, 256),
    (2, 4, 3): ("SW64", 4, 8, 512),
    (3, 4, 3): ("SW128", 8, 8, 1024),
    (2, 5, 2): ("SW128_32B", 8, 4, 1024),
}
NONE = Swizzle(0, 4, 3)
# Element types that the GMMA descriptor takes (measured, DSL 4.8.1).
_GMMA_TYPES = ("f16", "bf16", "tf32", "i32", "f8E4M3FN", "f8E5M2", "si8", "ui8")


@dataclass(frozen=True, slots=True)
class Decision:
    """The compiler's answer: `message` is its own text, empty where it accepts.

    `aborts`: its process dies instead. `leading_bytes` and `stride_bytes` are the descriptor's two offsets.
    """

    message: str = ""
    aborts: bool = False
    leading_bytes: int = 0
    stride_bytes: int = 0

    @property
    def accepted(self) -> bool:
        """Whether a descriptor is made."""
        return not self.message and not self.aborts


@dataclass(frozen=True, slots=True)
class Canonical:
    """Whether an operand's layout is canonical: `verdict` is "legal", "rejected" or "wrong".

    "wrong": the compiler makes a descriptor, and it describes other addresses than the layout. `name` is the
    DSL's `SmemLayoutAtomKind` for a legal one. `nearest` is a canonical layout of the same shape,
    `nearest_name` its kind, `code` the DSL source that makes it. The base must be a multiple of
    `align_bytes` for the swizzle's pattern to begin where the descriptor says.
    """

    verdict: str
    name: str
    reason: str
    decision: Decision
    align_bytes: int
    nearest: str = ""
    nearest_name: str = ""
    code: str = ""
    evidence: dict[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "verdict": self.verdict,
            "name": self.name,
            "reason": self.reason,
            "compiler": self.decision.message,
            "leading_bytes": self.decision.leading_bytes,
            "stride_bytes": self.decision.stride_bytes,
            "align_bytes": self.align_bytes,
            "nearest": self.nearest,
            "nearest_name": self.nearest_name,
            "code": self.code,
            "evidence": self.evidence,
        }


def canonical(
    layout: str | Layout | ComposedLayout,
    dtype: str | DType = "bf16",
    major: str = "K",
    swizzle: str | Swizzle | None = None,
    unit: str = "wgmma",
) -> Canonical:
    """Whether shared memory of `layout`, modes (MN, K), can be an operand of `unit`; if not, what is nearest.

    `swizzle` acts on byte addresses, as a pointer's does; a composed layout `S<3,4,3> o 0 o ...` states
    it itself, as `make_smem_layout_atom` prints it. `major` is "K" or "MN", `unit` "wgmma" or "tcgen05".
    Further modes (stages) are ignored. Raises InputError for anything else.

    >>> canonical("(64,128):(128,1)", "f16").nearest_name
    'K_SW128'
    """
    outer, pointer = _operand(layout, swizzle)
    element = dtype if isinstance(dtype, DType) else read_dtype(dtype)
    kind = major.strip().upper()
    if kind not in ("K", "MN") or unit not in UNITS:
        raise InputError(
            f"unknown operand '{major} {unit}'"[:60], expected="major K or MN, unit wgmma or tcgen05"
        )
    if element.bits > 64 or _UNIT_BITS % element.bits:
        raise InputError(f"{element} is no operand of a tensor core", expected="4- to 64-bit elements")
    one = first_step(outer, element.bits)
    decision = decide(one, element, kind, pointer, unit)
    mode = _MODES.get((pointer.bits, pointer.base, pointer.shift))
    align = mode[3] if mode else 128
    if decision.accepted and mode is not None:
        wrong = _first_wrong(outer, element.bits, kind, pointer, decision)
        if wrong is None:
            return Canonical("legal", f"{kind}_{mode[0]}", "", decision, align)
        reason, evidence = wrong
        verdict = "wrong"
    else:
        reason, evidence = _why(one, element, kind, pointer, decision), {}
        verdict = "rejected"
    near = nearest(outer, element, kind, pointer, unit)
    return Canonical(verdict, "", reason, decision, align, *near, evidence)


def first_step(layout: Layout, bits: int) -> Layout:
    """The part of (MN, K) that one instruction takes: all of MN, 256 bits of K."""
    k = composition(layout[1], Layout(min(_size(layout[1].shape), _K_BITS // bits)), strict=False)
    return Layout((layout[0].shape, k.shape), (layout[0].stride, k.stride))


def _size(shape: Any) -> int:
    return math.prod(flatten(shape))


def decide(layout: Layout, element: DType, major: str, swizzle: Swizzle, unit: str) -> Decision:
    """What DSL 4.8.1 says of a rank-2 static layout that is one instruction's operand."""
    wgmma = unit == "wgmma"
    name = f"Not a canonical {UNITS[unit]}_{major} Layout: "
    if wgmma and element.name not in _GMMA_TYPES:
        return Decision("operand #0 must be CuTe pointer to allowable types for SM90 MMA A/B operands")
    mode = _MODES.get((swizzle.bits, swizzle.base, swizzle.shift))
    if mode is None or (wgmma and mode[0] == "SW128_32B"):
        return Decision(f"unsupported swizzle, got {swizzle}")
    _, w, rows, _ = mode
    units = upcast(layout, _UNIT_BITS // element.bits)
    k_units = _size(units[1].shape)
    if major == "K":
        if _size(units[0].shape) % rows:
            return Decision(f"{name}Expected MN-size multiple of {rows}.")
        if wgmma and k_units not in (2, 4):
            return Decision(f"{name}Expected K-size 2 (in units of uint128_t) or 4 in sparse gemm kernels.")
        first, second = _divided(units[0], rows), _divided(units[1], 2)
        expected: tuple[int | None, int | None] = (w, 1 if w > 1 else None)
    else:
        sizes = (_K_BITS // element.bits, 2 * _K_BITS // element.bits)
        if k_units not in sizes[: 1 if wgmma else 2]:
            sparse = "." if wgmma else " or 512/sizeof_bits(T) in sparse gemm kernels."
            return Decision(f"{name}Expected K-size 256/sizeof_bits<T>{sparse}")
        first, second = _divided(units[0], w), _divided(units[1], rows)
        expected = (1 if w > 1 else None, w)
    if first[0] is None or second[0] is None:
        return Decision(aborts=True)
    if any(want is not None and got[0] != want for want, got in zip(expected, (first, second), strict=True)):
        return Decision(f"{name}Expected stride failure.")
    if first[1] is None or (major == "MN" and second[1] is None):
        return Decision(aborts=True)
    bytes_ = _UNIT_BITS // 8
    if major == "K":
        return Decision(leading_bytes=second[0] * bytes_, stride_bytes=first[1] * bytes_)
    across, along = first[1], second[1] or 0
    leading, stride = (along, across) if w == 1 else (across, along)
    return Decision(leading_bytes=leading * bytes_, stride_bytes=stride * bytes_)


def _divided(mode: Layout, by: int) -> tuple[int | None, int | None]:
    """The strides of the mode's first `by` and of what repeats them; None where either is not one stride."""
    divided = logical_divide(mode, Layout(by), strict=False)
    found: list[int | None] = []
    for part in (coalesce(divided[0]), coalesce(divided[1])):
        strides = flatten(part.stride)
        found.append(int(strides[0]) if len(strides) == 1 else None)
    return found[0], found[1]


def described(shape: tuple[int, int], bits: int, major: str, swizzle: Swizzle, decision: Decision) -> Any:
    """Bit offsets [mn, k] of the elements of one instruction, before the swizzle, as the descriptor says."""
    _, w, rows, _ = _MODES[swizzle.bits, swizzle.base, swizzle.shift]
    mn, k = (np.arange(n, dtype=np.int64) for n in shape)
    leading, stride = decision.leading_bytes * 8, decision.stride_bytes * 8
    per = _UNIT_BITS // bits
    if major == "K":
        row = mn % rows * (w * _UNIT_BITS) + mn // rows * stride
        column = k // per * (leading if w == 1 else _UNIT_BITS) + k % per * bits
        return row[:, None] + column
    across, along = (stride, leading) if w == 1 else (leading, stride)
    unit = mn // per
    row = unit % w * _UNIT_BITS + unit // w * across + mn % per * bits
    return row[:, None] + (k % rows * (w * _UNIT_BITS) + k // rows * along)


def _first_wrong(
    layout: Layout, bits: int, major: str, swizzle: Swizzle, decision: Decision
) -> tuple[str, dict[str, Any]] | None:
    """Why the descriptor of each K step does not describe the layout; None where it does."""
    size = (_size(layout[0].shape), _size(layout[1].shape))
    step = min(size[1], _K_BITS // bits)
    if size[0] * size[1] > _MAX_ELEMENTS:
        raise InputError(f"an operand of {size[0] * size[1]} elements is too large to compare")
    said = image(layout[0])[:, None] * bits + image(layout[1]) * bits
    want = described((size[0], step), bits, major, swizzle, decision)
    for start in range(0, size[1] - step + 1, step):
        base = int(said[0, start])
        if base % _UNIT_BITS:
            return (
                f"K step {start // step} begins at bit {base}, and a descriptor's address counts 16 bytes",
                {"k": start, "offset_bits": base},
            )
        off = said[:, start : start + step] - base != want
        if off.any():
            mn, k = (int(i) for i in np.argwhere(off)[0])
            asked, used = int(said[mn, start + k]), base + int(want[mn, k])
            return (
                f"element ({mn},{start + k}) is {asked // bits} elements from the base, in the descriptor"
                f" {used / bits:g}: strides that are no whole 16 bytes are rounded up",
                {"mn": mn, "k": start + k, "asked_bits": asked, "used_bits": used},
            )
    return None


def _why(layout: Layout, element: DType, major: str, swizzle: Swizzle, decision: Decision) -> str:
    """The refusal in terms of the layout's own strides."""
    mode = _MODES.get((swizzle.bits, swizzle.base, swizzle.shift))
    if decision.aborts:
        return f"{layout} has modes that are not one stride each over the pattern: the compiler dies on it"
    if mode is None or "swizzle" in decision.message:
        return f"{swizzle} is no swizzle of a descriptor: S<0..3,4,3>, for tcgen05 also S<2,5,2>"
    if "allowable types" in decision.message:
        return f"{element} is no operand type of wgmma: {', '.join(_GMMA_TYPES)}"
    if "MN-size" in decision.message:
        return f"{_size(layout[0].shape)} rows are no multiple of {mode[2]}"
    if "K-size" in decision.message:
        return (
            f"{layout} does not give one instruction its 256 bits of K, {_K_BITS // element.bits} elements "
            f"of {element}{', adjacent' if major == 'K' else ''}"
        )
    per = _UNIT_BITS // element.bits
    row = mode[1] * per
    fast, slow = ("K", "MN") if major == "K" else ("MN", "K")
    return (
        f"{major}_{mode[0]} wants {row} adjacent elements along {fast}"
        + (f" in each of {mode[2]} rows {row} elements apart along {slow}" if mode[1] > 1 else "")
        + (f", {mode[2]} of them {per} elements apart along {slow}" if mode[1] == 1 else "")
        + f"; {layout} is not so"
    )


def nearest(layout: Layout, element: DType, major: str, swizzle: Swizzle, unit: str) -> tuple[str, str, str]:
    """(layout, kind, code) of a canonical operand near this one; empty where none fits.

    The same layout under another swizzle, or with the other major, else the tile of the widest atom that
    divides its shape.
    """
    tried = [Swizzle(*key) for key in ((3, 4, 3), (2, 4, 3), (1, 4, 3), (0, 4, 3))]
    for kind in (major, "MN" if major == "K" else "K"):
        for other in tried:
            if (kind, other) != (major, swizzle) and _works(layout, element, kind, other, unit):
                name = f"{kind}_{_MODES[other.bits, other.base, other.shift][0]}"
                return f"{other} o 0 o {layout}", name, _code(name, layout, element, unit)
    shape = (_size(layout[0].shape), _size(layout[1].shape))
    first = [swizzle] if swizzle in tried and swizzle.bits else []
    for other in (*first, *tried):
        tile = atom_tile(shape, element.bits, major, other)
        if tile is not None and _works(tile, element, major, other, unit):
            name = f"{major}_{_MODES[other.bits, other.base, other.shift][0]}"
            return f"{other} o 0 o {tile}", name, _code(name, tile, element, unit)
    return "", "", ""


def _works(layout: Layout, element: DType, major: str, swizzle: Swizzle, unit: str) -> bool:
    try:
        one = first_step(layout, element.bits)
        decision = decide(one, element, major, swizzle, unit)
        return decision.accepted and not _first_wrong(layout, element.bits, major, swizzle, decision)
    except InputError:
        return False


def atom_tile(shape: tuple[int, int], bits: int, major: str, swizzle: Swizzle) -> Layout | None:
    """The canonical atom of a swizzle repeated over (MN, K), MN first; None where it does not divide it."""
    run = _MODES[swizzle.bits, swizzle.base, swizzle.shift][1] * _UNIT_BITS // bits
    mn, k = shape
    if major == "K":
        if mn % 8 or k % run:
            return None
        return Layout(((8, mn // 8), (run, k // run)), ((run, 8 * run), (1, mn * run)))
    if mn % run or k % 8:
        return None
    return Layout(((run, mn // run), (8, k // 8)), ((1, 8 * run), (run, 8 * mn)))


def _code(name: str, layout: Layout, element: DType, unit: str) -> str:
    """The DSL source of the layout, by the atom's kind."""
    module = "cute.nvgpu.warpgroup" if unit == "wgmma" else "cute.nvgpu.tcgen05"
    shape = (_size(layout[0].shape), _size(layout[1].shape))
    return (
        f"atom = {module}.make_smem_layout_atom({module}.SmemLayoutAtomKind.{name}, dtype)  # {element}\n"
        f"layout = cute.tile_to_shape(atom, {shape}, order=(0, 1))"
    )


def _operand(layout: str | Layout | ComposedLayout, swizzle: str | Swizzle | None) -> tuple[Layout, Swizzle]:
    """The (MN, K) layout and the pointer's swizzle."""
    found: Any = parse_any_layout(layout) if isinstance(layout, str) else layout
    pointer = parse_swizzle(swizzle) if isinstance(swizzle, str) else swizzle
    if isinstance(found, ComposedLayout):
        if pointer is not None or not isinstance(found.inner, Swizzle) or found.offset != 0:
            raise InputError(f"{found}: one swizzle, at offset 0, is what an operand can have")
        found, pointer = found.outer, found.inner
    if not isinstance(found, Layout) or len(found) < 2 or type(found.shape) is not tuple:
        raise InputError(f"{found} has no modes MN and K", expected="(MN,K) such as (64,128):(128,1)")
    if not found.is_static:
        raise InputError(f"{found} is not static", expected="extents and strides that are numbers")
    if any(n < 1 for n in flatten(found.shape)) or any(type(d) is not int for d in flatten(found.stride)):
        raise InputError(f"{found} does not map to memory")
    pointer = pointer if pointer is not None and pointer.bits else NONE
    return Layout((found[0].shape, found[1].shape), (found[0].stride, found[1].stride)), pointer
