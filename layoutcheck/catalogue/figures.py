"""What figures of a text decide together: where an address, a slice or a tile of TMA begins."""

from __future__ import annotations

import math
import re

# Types as people write them, with the bits of an element.
TYPES = {
    "fp4": 4, "nvfp4": 4, "int4": 4, "fp8": 8, "e4m3": 8, "e5m2": 8, "int8": 8, "uint8": 8,
    "bf16": 16, "bfloat16": 16, "fp16": 16, "float16": 16, "half": 16, "f16": 16,
    "tf32": 32, "fp32": 32, "float32": 32, "f32": 32,
}  # fmt: skip
_ALSO = {"float": "fp32", "byte": "int8", "halve": "half"}
_TYPE = re.compile(rf"(?i)\b(?:torch\.|float8_?)?(?P<type>{'|'.join(TYPES)})(?:fn(?:uz)?)?\b")
_FAILS = re.compile(
    r"(?i)\bfail|\berror|\brefus|\bINVALID_VALUE|invalid (?:value|argument)|\billegal|\bmis-?align"
)
_AWAY = re.compile(
    r"(?i)\b(?:[0-9.,]+ ?(?:TB|TiB|PB|terabytes?)|[0-9]{13,}(?: bytes)?|[0-9]{1,3}(?:,[0-9]{3}){4,}(?: bytes)?|terabytes) (?:away|off|from|before|after|beyond|past)\b(?: (?:from|of))?(?: (?:any|every|the nearest) allocation)?"
)
_SLICE = re.compile(r"(?<![\w.])(?P<name>[a-z]\w{0,20})\[(?P<first>[1-9][0-9]{0,5}):[^\],\[]{0,20}\]")
_ALIGNED = re.compile(r"(?i)\bmis-?align|\bun-?aligned|\balignment")
_OF_TMA = re.compile(r"\bTMA\b|\bUTMA\w+|cuTensorMap|cp\.async\.bulk\.tensor|tma_")
_NO_TMA = re.compile(
    r"(?i)\b(?:no|not|never|without|un-?used?|disabl\w+|instead of|rather than|off)\b[^.;,]{0,24}\btma|\btma\b[^.;,]{0,24}\b(?:disabled|off|unused|not used)\b|\btma (?:version|variant|path|kernel|one)\b[^.;,]{0,12}\b(?:runs?|works?|is (?:fine|right|ok)|passes)\b"
)
_OF_OTHERS = re.compile(
    r"(?i)\bcp\.async(?!\.bulk)|\bldmatrix|\bstmatrix|\bLDSM|\b(?:ld|st)\.shared|\b(?:LDS|STS)\b|\b(?:threads?|lanes?|warps?) (?:load|store|read|write|copy|fill)"
)  # which take other addresses
_OFFSET = re.compile(
    r"(?i)(?:smem|shared|buf\w*)\b[^.;]{0,60}?\boffset (?:of |is |= ?)?(?P<offset>0x[0-9a-f]{1,6}|[0-9]{1,6})\b(?! ?elem)|\b(?:smem|shared|buf\w*) ?\+ ?(?P<behind>[0-9]{3,6})\b(?! ?elem)"
)
_STAGE = re.compile(
    rf"(?i)\((?:stages? ?= ?)?[2-9], ?(?P<extents>[0-9]{{1,4}}(?:, ?[0-9]{{1,4}}){{0,2}})\) (?P<type>{'|'.join(TYPES)})\b(?=[^.;]{{0,40}}(?:shared|smem))"
)
_BARRIER = re.compile(r"(?i)bar(?:rier)?s?\b")  # 8 bytes, at a multiple of 8
_TILE_OF_TMA = 128
_DIGITS = re.compile(r"[0-9]+")
_SENTENCES = re.compile(r"(?<=[.!?]) |[;\u3002]")
_CLAUSES = re.compile(r"(?i),? (?:but|while|whereas|and|so that|where)\b")
_FAULTS = re.compile(
    r"(?i)illegal|\bfaults?\b|\bcrash|\bwrong\b|\bincorrect|\bzeros?\b|\boverflow|\bIMA\b|out of bounds?|\bassert"
)
_SHAPE = re.compile(
    r"[\[(](?P<extents>[0-9]{1,9}(?:, ?[0-9]{1,9}){1,5})[\])]|(?P<pair>--?[MmNn][ =][0-9]{4,9} --?[NnKk][ =][0-9]{4,9})"
)
_TYPED_SHAPE = re.compile(r"\b[fsui](?P<bits>8|16|32|64)$")
VECTOR = 16  # bytes of the widest access, and of a row of ldmatrix [PTX ISA]


def told(folded: str) -> tuple[str, ...]:
    """What the figures of a text decide; none where it has not both of a pair."""
    every = (_wild, _sliced, _placed, _wrapped)
    return tuple(fact for one in every for fact in one(folded))


def _typed(folded: str, said: re.Match[str]) -> str:
    """The type of a figure: of its own sentence, else the only one that the text names."""
    start = max((stop.end() for stop in _SENTENCES.finditer(folded, 0, said.start())), default=0)
    stop = _SENTENCES.search(folded, said.end())
    beside = _TYPE.findall(folded, start, stop.start() if stop else len(folded))
    found = [one.lower() for one in beside or _TYPE.findall(folded)]
    alone = beside or len({TYPES[one] for one in found}) == 1
    return found[0] if found and alone else ""


def _wild(folded: str) -> tuple[str, ...]:
    """That an address lies farther from every allocation than any index of a tensor brings it."""
    found = _AWAY.search(folded)
    return (
        (
            f"an address {found[0]} is none that a tail or a wrong stride leads to: the pointer or the index itself is wrong (never set, memory of the host, half of 64 bits, a product that wrapped, data that was read as an address)",
        )
        if found
        else ()
    )


def _sliced(folded: str) -> tuple[str, ...]:
    """Where a slice of a one-dimensional tensor begins, if that is no multiple of 16 bytes, in a text about alignment."""
    for one in _SLICE.finditer(folded) if _ALIGNED.search(folded) else ():
        made = re.search(
            rf"\b{one['name']} ?= ?[^;=]{{0,80}}?\bdtype ?= ?[\w.]*?\b({'|'.join(TYPES)})\b", folded
        )
        if "," in made[0].rpartition(",")[0] if made else "tensor" not in folded.lower():
            continue  # of more dimensions, or of a list
        typed = made[1] if made else _typed(folded, one)
        bits = TYPES.get(typed, 0)
        behind = int(one["first"]) * bits // 8
        if behind % VECTOR:
            return (
                f"{one[0]} of a one-dimensional tensor of {typed} begins {behind} B behind it, no multiple of {VECTOR}: the base of a tensor map and each 16-byte vector need one; clone() the slice, or promise no alignment for it",
            )
    return ()


def _wrapped(folded: str) -> tuple[str, ...]:
    """The largest tensor of a text about a fault or wrong values, if an offset in it does not fit 32 bits."""
    told: dict[int, str] = {}
    for one in _SHAPE.finditer(folded) if _FAULTS.search(folded) else ():
        extents = _DIGITS.findall(one["extents"] or one["pair"])
        typed = _TYPED_SHAPE.search(folded, 0, one.start())
        for width, unit in ((1, "elements"), (int(typed["bits"]) // 8 if typed else 1, "bytes")):
            count = math.prod(map(int, extents)) * width
            by = f" x {width} B" * (unit == "bytes")
            told.setdefault(count, f"{' x '.join(extents)}{by} = {count:,} {unit}")
    most = max(told, default=0)
    return (
        (
            f"{told[most]} are beyond 2^31 - 1: an offset that is computed in 32 bits wraps to another address; where half of it is right, take 64-bit strides and indices (cast before the product), or a part at a time",
        )
        if most >= 1 << 31
        else ()
    )


def bits_of(typed: str) -> int:
    """The bits of an element of a type, or of several, "halves"; of a width that PTX writes, b16, that width."""
    name = typed.lower().removesuffix("s")
    return TYPES.get(_ALSO.get(name, name)) or int(name)


def of_tma(said: str) -> bool:
    """Whether a part of a text says that TMA is used in it, and by no word that it is not."""
    return _OF_TMA.search(said) is not None and _NO_TMA.search(said) is None


def fails_by_map(folded: str) -> bool:
    """Whether a text is about a tensor map of TMA that is refused or leads nowhere."""
    return of_tma(folded) and _FAILS.search(folded) is not None


def sentences(folded: str) -> list[str]:
    """The sentences of a text, as far as full stops and semicolons part them."""
    return [one for one in _SENTENCES.split(folded) if one]


def _placed(folded: str) -> tuple[str, ...]:
    """Where in shared memory a tile of TMA begins, in itself or in a later stage, if that is no multiple of what TMA takes.

    An offset is one of TMA only in a clause that says so and names no other instruction.
    """
    told = []
    of_tma = [one for one in sentences(folded) if of_tma_alone(one)]
    clauses = (part for one in of_tma for part in _CLAUSES.split(one) if of_tma_alone(part))
    offset = next(filter(None, map(_OFFSET.search, clauses)), None)
    staged = next(filter(None, map(_STAGE.search, of_tma)), None)
    written = (offset["offset"] or offset["behind"]).lower() if offset else "0"
    at = int(written, 16 if written.startswith("0x") else 10)
    if offset and _BARRIER.search(offset.string[max(0, offset.start() - 40) : offset.end()]):
        at = 0
    if at % _TILE_OF_TMA:
        told.append(f"an offset of {at} is {at % _TILE_OF_TMA} behind a multiple of {_TILE_OF_TMA}")
    if staged:
        elements = math.prod(map(int, _DIGITS.findall(staged["extents"])))
        each = elements * TYPES[staged["type"].lower()] // 8
        if each % _TILE_OF_TMA:
            told.append(
                f"where the first mode counts stages, one of {elements} elements of {staged['type']} is {each} B: the next begins at {each}"
            )
    law = f"the shared address of a tensor copy of TMA is a multiple of {_TILE_OF_TMA} bytes (1024 with the 128-byte swizzle; 16 for bulk copies without a map), from the base on: declare it __align__(1024), and pad the stage"
    return (f"{' and '.join(told)}; {law}",) if told else ()


def of_tma_alone(said: str) -> bool:
    """Whether a part of a text says that TMA is used, and names no other instruction."""
    return of_tma(said) and not of_others(said)


def of_others(said: str) -> bool:
    """Whether a part of a text names an instruction other than TMA's."""
    return _OF_OTHERS.search(said) is not None
