"""The tensor map that CUTLASS prints when the driver refuses it, judged field by field.

TMA Desc Addr: ... format 6 dim 3 gmem_address 0x... globalDim (1024,1024,1,1,1) globalStrides (2,2048,...)
boxDim (64,128,1,1,1) elementStrides (1,1,1,1,1) interleave 0 swizzle 3 l2Promotion 0 oobFill 0
"""

from __future__ import annotations

import re

# CUtensorMapDataType, in the order of the CUDA driver API: bits of an element.
_ELEMENT_BITS = (8, 16, 32, 32, 64, 64, 16, 32, 64, 16, 32, 32, 32)
_SWIZZLE_SPAN = {1: 32, 2: 64, 3: 128}  # bytes, of CUtensorMapSwizzle
_MOST_BOX, _UNIT = 256, 16  # cuTensorMapEncodeTiled

_NUMBERS = r"\(([0-9,\s]+)\)"
_DUMP = re.compile(
    r"TMA Desc Addr:.{0,60}?format\s+(?P<format>[0-9]+).{0,40}?dim\s+(?P<rank>[0-9]+)\s+gmem_address\s+(?P<address>0x[0-9a-f]+|[0-9]+)"
    rf".{{0,20}}?globalDim\s+(?P<dims>{_NUMBERS}).{{0,20}}?globalStrides\s+(?P<strides>{_NUMBERS})"
    rf".{{0,20}}?boxDim\s+(?P<box>{_NUMBERS}).{{0,20}}?elementStrides\s+(?P<steps>{_NUMBERS}).{{0,40}}?swizzle\s+(?P<swizzle>[0-9]+)"
)


def faults(text: str) -> list[str] | None:
    """What the driver refuses of the first tensor map printed in the text; None where none is printed.

    `text` has its runs of white space folded. Limits: CUDA driver API, cuTensorMapEncodeTiled.
    """
    found = _DUMP.search(text)
    if found is None:
        return None
    rank, code = int(found["rank"]), int(found["format"])
    address = int(found["address"], 0)
    dims, strides, box, steps = (
        [int(part) for part in found[name].strip("()").split(",")][:rank]
        for name in ("dims", "strides", "box", "steps")
    )
    out = []
    if address == 0:
        out.append(
            "gmem_address is 0: the tensor was not allocated, or its pointer is void (a kernel without C)"
        )
    elif address % _UNIT:
        out.append(f"gmem_address {address:#x} is not a multiple of {_UNIT}")
    out += [f"globalDim[{i}] is 0: the tensor is empty" for i, extent in enumerate(dims) if extent == 0]
    out += [
        f"globalStrides[{i}] is {stride} B, no multiple of {_UNIT}"
        for i, stride in enumerate(strides)
        if i and stride % _UNIT
    ]
    out += [
        f"boxDim[{i}] is {extent}, not 1 to {_MOST_BOX}"
        for i, extent in enumerate(box)
        if not 1 <= extent <= _MOST_BOX
    ]
    if code < len(_ELEMENT_BITS) and box:
        inner = box[0] * _ELEMENT_BITS[code] // 8
        span = _SWIZZLE_SPAN.get(int(found["swizzle"]))
        if inner % _UNIT:
            out.append(f"boxDim[0] x element size is {inner} B, no multiple of {_UNIT}")
        if span and inner > span:
            out.append(f"boxDim[0] x element size is {inner} B, more than the swizzle's span of {span} B")
    out += [
        f"elementStrides[{i}] is {step}, not 1 to 8" for i, step in enumerate(steps) if not 1 <= step <= 8
    ]
    return out
