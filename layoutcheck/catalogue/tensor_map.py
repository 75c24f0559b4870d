"""The tensor map that CUTLASS prints when the driver refuses it, judged field by field.

TMA Desc Addr: ... format 6 dim 3 gmem_address 0x... globalDim (1024,1024,1,1,1) globalStrides (2,2048,...)
boxDim (64,128,1,1,1) elementStrides (1,1,1,1,1) interleave 0 swizzle 3 l2Promotion 0 oobFill 0
"""

from __future__ import annotations

import re

from layoutcheck.atoms.tma.descriptor import Descriptor
from layoutcheck.atoms.tma.limits import Violation, violations
from layoutcheck.errors import InputError

# CUtensorMapDataType and CUtensorMapSwizzle, in the order of the CUDA driver API.
_FORMATS = (
    "U8", "U16", "U32", "S32", "U64", "S64", "F16_RN", "F32_RN", "F64_RN", "BF16_RN", "F32_FTZ_RN", "F32_RN",
    "F32_FTZ_RN",
)  # fmt: skip
_SWIZZLES = ("none", "32B", "64B", "128B", "128B_ATOM_32B")

_NUMBERS = r"\(([0-9,\s]+)\)"
_DUMP = re.compile(
    r"TMA Desc Addr:.{0,60}?format\s+(?P<format>[0-9]+).{0,40}?dim\s+(?P<rank>[0-9]+)\s+gmem_address\s+(?P<address>0x[0-9a-f]+|[0-9]+)"
    rf".{{0,20}}?globalDim\s+(?P<dims>{_NUMBERS}).{{0,20}}?globalStrides\s+(?P<strides>{_NUMBERS})"
    rf".{{0,20}}?boxDim\s+(?P<box>{_NUMBERS}).{{0,20}}?elementStrides\s+(?P<steps>{_NUMBERS}).{{0,40}}?swizzle\s+(?P<swizzle>[0-9]+)"
)


def faults(text: str) -> list[str] | None:
    """What the driver refuses of the first tensor map printed in the text; None where none can be read.

    `text` has its runs of white space folded.
    """
    found = _DUMP.search(text)
    if found is None:
        return None
    rank, code, swizzle = int(found["rank"]), int(found["format"]), int(found["swizzle"])
    if code >= len(_FORMATS) or swizzle >= len(_SWIZZLES):
        return None
    dims, strides, box, steps = (
        tuple(int(part) for part in found[name].strip("()").split(","))[:rank]
        for name in ("dims", "strides", "box", "steps")
    )
    base = int(found["address"], 0)
    try:
        map_ = Descriptor(_FORMATS[code], dims, strides[1:], box, _SWIZZLES[swizzle], base, steps)
    except InputError:
        return None
    out = [] if base else ["gmem_address is 0: the tensor was not allocated, or its pointer is void"]
    return out + [_told(bad) for bad in violations(map_)]


def extents(text: str) -> list[str]:
    """What the driver refuses, or a program did not mean, of the globalDim and boxDim that the text holds alone."""
    read = {
        name: tuple(int(part) for part in found[1].split(","))
        for name in ("globalDim", "boxDim")
        if (found := re.search(rf"{name}[ =:]{{0,9}}{_NUMBERS}", text))
    }
    out = [
        f"{name}[{at}] is {value}, not 1 to {most}"
        for name, most in (("globalDim", 1 << 32), ("boxDim", 256))
        for at, value in enumerate(read.get(name, ()))
        if not 1 <= value <= most
    ]
    pairs = enumerate(zip(read.get("globalDim", ()), read.get("boxDim", ()), strict=False))
    out += [
        f"globalDim[{at}] is {dim}, and the box takes {box} there: the tensor has another shape than the kernel was made for (one value where a vector is meant, an axis too few)"
        for at, (dim, box) in pairs
        if 0 < dim < box and dim == 1
    ]
    return out


def _told(bad: Violation) -> str:
    """`globalStrides[1] is 2, not a multiple of 16 B`, numbered as CUTLASS prints the fields."""
    if bad.field == "boxDim[0]":
        return f"boxDim[0] x element size is {bad.value} B, not {bad.demand}"
    if bad.at is None:
        return f"{bad.field} is {bad.value}, not {bad.demand}"
    return f"{bad.field}[{bad.at + (bad.field == 'globalStrides')}] is {bad.value}, not {bad.demand}"
