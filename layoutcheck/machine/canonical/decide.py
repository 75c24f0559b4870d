"""What the DSL says of an operand: its descriptor, its refusal, or that it dies."""

from __future__ import annotations

from dataclasses import dataclass

from layoutcheck.algebra.composition import composition
from layoutcheck.algebra.divide import logical_divide
from layoutcheck.algebra.inttuple import flatten
from layoutcheck.algebra.layout import Layout
from layoutcheck.algebra.recast import upcast
from layoutcheck.algebra.simplify import coalesce
from layoutcheck.algebra.swizzle import Swizzle
from layoutcheck.machine.canonical.modes import K_BITS, UNIT_BITS, UNITS, mode_of, size_of
from layoutcheck.machine.dtypes import DType

# Element types that the GMMA descriptor takes (measured).
GMMA_TYPES = ("f16", "bf16", "tf32", "i32", "f8E4M3FN", "f8E5M2", "si8", "ui8")


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


def first_step(layout: Layout, bits: int) -> Layout:
    """The part of (MN, K) that one instruction takes: all of MN, 256 bits of K."""
    k = composition(layout[1], Layout(min(size_of(layout[1].shape), K_BITS // bits)), strict=False)
    return Layout((layout[0].shape, k.shape), (layout[0].stride, k.stride))


def decide(layout: Layout, element: DType, major: str, swizzle: Swizzle, unit: str) -> Decision:
    """What the DSL says of a rank-2 static layout that is one instruction's operand."""
    wgmma = unit == "wgmma"
    name = f"Not a canonical {UNITS[unit]}_{major} Layout: "
    if wgmma and element.name not in GMMA_TYPES:
        return Decision("operand #0 must be CuTe pointer to allowable types for SM90 MMA A/B operands")
    mode = mode_of(swizzle)
    if mode is None or (wgmma and mode.name == "SW128_32B"):
        return Decision(f"unsupported swizzle, got {swizzle}")
    _, w, rows, _ = mode
    units = upcast(layout, UNIT_BITS // element.bits)
    k_units = size_of(units[1].shape)
    if major == "K":
        if size_of(units[0].shape) % rows:
            return Decision(f"{name}Expected MN-size multiple of {rows}.")
        if wgmma and k_units not in (2, 4):
            return Decision(f"{name}Expected K-size 2 (in units of uint128_t) or 4 in sparse gemm kernels.")
        first, second = _divided(units[0], rows), _divided(units[1], 2)
        expected: tuple[int | None, int | None] = (w, 1 if w > 1 else None)
    else:
        sizes = (K_BITS // element.bits, 2 * K_BITS // element.bits)
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
    bytes_ = UNIT_BITS // 8
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
