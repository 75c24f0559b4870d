"""Which element types threads convert in registers, `TensorSSA.to`, and where.

Measured: the DSL compiled a conversion of each type of 8 bits and more to each other one, for sm_80, sm_87,
sm_89, sm_90a, sm_100, sm_100a, sm_103a, sm_110a and sm_120a (tests/conformance/test_conversions.py). PTX ISA,
cvt, has the same: e4m3 and e5m2 from sm_89 on, ue8m0 for sm_100a and its like. The DSL also compiles i8 to
floats of a byte, as from no other integer, on every architecture: no GPU ran it, so it does not count.
"""

from __future__ import annotations

from layoutcheck.machine.arch import BLACKWELL_FORMS, EVERYWHERE, Arch, Needs, has
from layoutcheck.machine.dtypes import DType

_WHOLE = ("f64", "f32", "tf32", "f16", "bf16")
_BYTES = {
    "f8E4M3FN": Needs(Arch(89)),
    "f8E5M2": Needs(Arch(89)),
    "f8E8M0FNU": BLACKWELL_FORMS,
    "f8E4M3": None,
    "f8E4M3B11FNUZ": None,
}
"""Floats of a byte: where they are converted from and to larger floats; None for nowhere."""


def conversion_needs(a: DType, b: DType) -> Needs | None:
    """Where values of one type become the other's; None for nowhere, and for bytes of floats and integers."""
    for byte, other in ((a, b), (b, a)):
        if byte.name in _BYTES:
            return _BYTES[byte.name] if other.name in _WHOLE else None
    return EVERYWHERE


def converts(a: DType, b: DType, arch: Arch) -> bool:
    """Whether threads convert one type to the other there. Types of less than a byte were not measured."""
    needs = conversion_needs(a, b)
    return a == b or (needs is not None and has(arch, needs))
