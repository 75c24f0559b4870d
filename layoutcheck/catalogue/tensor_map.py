"""The tensor map that CUTLASS prints when the driver refuses it, judged field by field.

TMA Desc Addr: ... format 6 dim 3 gmem_address 0x... globalDim (1024,1024,1,1,1) globalStrides (2,2048,...)
boxDim (64,128,1,1,1) elementStrides (1,1,1,1,1) interleave 0 swizzle 3 l2Promotion 0 oobFill 0
"""

from __future__ import annotations

import math
import re

from layoutcheck.atoms.tma.descriptor import FORMATS, MOST_BOX, PIECE_BYTES, WHOLE_PIECES, Descriptor
from layoutcheck.atoms.tma.limits import Violation, violations
from layoutcheck.errors import InputError

# CUtensorMapDataType and CUtensorMapSwizzle, in the order of the CUDA driver API.
_FORMATS = (
    "U8", "U16", "U32", "S32", "U64", "S64", "F16_RN", "F32_RN", "F64_RN", "BF16_RN", "F32_FTZ_RN", "F32_RN",
    "F32_FTZ_RN",
)  # fmt: skip
_SWIZZLES = ("none", "32B", "64B", "128B", "128B_ATOM_32B")

_NO_ADDRESS = "gmem_address is 0: the tensor was not allocated, or its pointer is void; pass a pointer that is a multiple of 16 B, and make no map for an operand that is not there"
_NUMBERS = r"\(([0-9,\s]+)\)"
_DUMP = re.compile(
    r"TMA Desc Addr:.{0,60}?format\s+(?P<format>[0-9]+).{0,40}?dim\s+(?P<rank>[0-9]+)\s+gmem_address\s+(?P<address>0x[0-9a-f]+|[0-9]+)"
    rf".{{0,20}}?globalDim\s+(?P<dims>{_NUMBERS}).{{0,20}}?globalStrides\s+(?P<strides>{_NUMBERS})"
    rf".{{0,20}}?boxDim\s+(?P<box>{_NUMBERS}).{{0,20}}?elementStrides\s+(?P<steps>{_NUMBERS}).{{0,40}}?swizzle\s+(?P<swizzle>[0-9]+)"
)
_ELEMENTS = (1, 2, 4, 8)  # bytes
_FIELDS = ("globalDim", "globalStride", "boxDim", "elementStride")
_TYPES = {
    "bf16|bfloat16": "BF16_RN", "f16|fp16|float16|half": "F16_RN", "f32|fp32|float32|float": "F32_RN",
    "u8|uint8|int8|i8|fp8|e4m3|e5m2": "U8", "u16|uint16|int16": "U16", "u32|uint32": "U32", "i32|int32": "S32",
}  # fmt: skip
_TYPED = re.compile(rf"(?i)(?<![a-z0-9])({'|'.join(_TYPES)})(?:_rn|_t|e4m3|e5m2)?(?![a-z0-9])")
_SWIZZLE = re.compile(r"(?i)\bswizzle\w*[ _=:]{0,3}(32|64|128)B?\b|\b(32|64|128)B?[- ]?(?:byte )?swizzl")


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
    told = [_told(bad) for bad in violations(map_)]
    if 0 in dims:
        return [
            f"{told[0]}: the tensor is empty{' (address 0)' * (not base)}; make no map, and launch nothing, where a count is 0",
            *told[1:],
        ]
    return [] if base and not told else told if base else [_NO_ADDRESS, *told]


def extents(text: str) -> list[str]:
    """What the driver refuses, or a program did not mean, of the fields that the text holds by their names.

    Of a map whose element type the text names all of its fields are judged, strides as packed where none are given.
    """
    read = {name: _values(found[1]) for name in _FIELDS if (found := _field(name).search(text))}
    read |= {name: each for name in _FIELDS if name not in read and (each := _by_index(name, text))}
    dims, box = read.get("globalDim", ()), read.get("boxDim", ())
    whole = len(read.get("globalStride", ())) == len(dims)  # with that of the contiguous mode
    out = (
        [_told(bad, whole) for bad in violations(map_)]
        if (map_ := _named(text, read))
        else _out_of_range(read)
    )
    out += [
        f"globalDim[{at}] is {dim}, and the box takes {inside} there: the tensor has another shape than the kernel was made for (one value where a vector is meant, an axis too few)"
        for at, (dim, inside) in enumerate(zip(dims, box, strict=False))
        if 0 < dim < inside and dim == 1
    ]
    return out


def _field(name: str) -> re.Pattern[str]:
    """`boxDim {64,128}`, `box_dim=[64, 128]`, `boxDim: (64,128)`."""
    words = re.sub(r"(?=[A-Z])", "_?", name)
    return re.compile(rf"(?i)\b{words}s?\b[ =:]{{1,9}}[({{\[] ?([0-9][0-9, ]*)[)}}\]]")


def _by_index(name: str, text: str) -> tuple[int, ...]:
    """`globalDim[0] = 3466, globalDim[1] = 128`: the values of all indices from 0 on; none where one is missing or has two."""
    words = re.sub(r"(?=[A-Z])", "_?", name)
    pairs = {
        (int(at), int(value))
        for at, value in re.findall(rf"(?i)\b{words}s?\[([0-4])\] ?[=:] ?([0-9]{{1,13}})\b", text)
    }
    values = dict(pairs)
    return (
        tuple(values[at] for at in range(len(values)))
        if len(pairs) == len(values) and all(at in values for at in range(len(values)))
        else ()
    )


def _values(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.replace(" ", "").split(",") if part)


def _out_of_range(read: dict[str, tuple[int, ...]]) -> list[str]:
    """The extents and strides that no tensor map has, whatever its type."""
    limits = (("globalDim", 1 << 32), ("boxDim", MOST_BOX))
    ranges = [
        f"{name}[{at}] is {value}, not 1 to {most}"
        for name, most in limits
        for at, value in enumerate(read.get(name, ()))
        if not 1 <= value <= most
    ]
    strides = list(enumerate(read.get("globalStride", ())))
    if strides and (len(strides) == len(read.get("globalDim", ())) or strides[0][1] in _ELEMENTS):
        del strides[0]  # which is an element's
    return ranges + [
        f"globalStrides[{at}] is {value}, not {WHOLE_PIECES}" for at, value in strides if value % PIECE_BYTES
    ]


def _named(text: str, read: dict[str, tuple[int, ...]]) -> Descriptor | None:
    """The map of extents and box that a text gives with their element type; None where a part is missing or has another rank."""
    dims, box, typed = read.get("globalDim", ()), read.get("boxDim", ()), _TYPED.search(text)
    if not (dims and typed):
        return None
    name = next(format_ for words, format_ in _TYPES.items() if re.fullmatch(words, typed[1].lower()))
    bits = dict(FORMATS)[name]
    packed = [math.prod(dims[: at + 1]) * bits // 8 for at in range(len(dims) - 1)]
    given = read.get("globalStride", ())[-len(packed) :] if packed else ()
    swizzle = _SWIZZLE.search(text)
    span = next((one for one in (swizzle[1], swizzle[2]) if one), "") if swizzle else ""
    steps = read.get("elementStride") or (1,) * len(dims)
    try:
        return Descriptor(
            name, dims, tuple(given) or tuple(packed), box, f"{span}B" if span else "none", PIECE_BYTES, steps
        )
    except InputError:
        return None


def _told(bad: Violation, whole: bool = True) -> str:
    """`globalStrides[1] is 2, not a multiple of 16 B`, as CUTLASS prints the fields: strides from mode 0 on, if `whole`."""
    if bad.field == "boxDim[0]":
        return f"boxDim[0] x element size is {bad.value} B, not {bad.demand}"
    if bad.at is None:
        return f"{bad.field} is {bad.value}, not {bad.demand}"
    return (
        f"{bad.field}[{bad.at + (whole and bad.field == 'globalStrides')}] is {bad.value}, not {bad.demand}"
    )
