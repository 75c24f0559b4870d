"""What figures of a text decide together: a tolerance beside its type, an extent beside the width of a vector."""

from __future__ import annotations

import math
import re

_TOLERANCE = re.compile(
    r"(?i)(?:\b(?:toleran\w*|[ar]tol|within|atol|rtol)\W{0,4}(?:of |is |= ?)?(?P<before>[0-9.]*[1-9]e-[0-9]{1,2})|(?P<behind>[0-9.]*[1-9]e-[0-9]{1,2}) (?:\w+ )?toleran\w*)"
)
# Types as people write them: bits of an element, and of its significand, 0 where rounding is not told [IEEE 754; OCP, FP8].
TYPES = {
    "fp4": (4, 0), "nvfp4": (4, 0), "int4": (4, 0), "fp8": (8, 4), "e4m3": (8, 4), "e5m2": (8, 3), "int8": (8, 0), "uint8": (8, 0),
    "bf16": (16, 8), "bfloat16": (16, 8), "fp16": (16, 11), "float16": (16, 11), "half": (16, 11), "f16": (16, 11),
    "tf32": (32, 11), "fp32": (32, 0), "float32": (32, 0), "f32": (32, 0),
}  # fmt: skip
_ROUNDED = [name for name, (_, significand) in TYPES.items() if significand]
_TYPE = re.compile(rf"(?i)\b(?:torch\.|float8_?)?(?P<type>{'|'.join(TYPES)})(?:fn(?:uz)?)?\b")
_ERROR = re.compile(
    r"(?i)\bmax(?:imum)?[ _](?:abs\w*[ _])?(?:error|diff\w*)\W{0,3}(?:(?:reaches|of|is|was) (?:up to )?)?(?P<error>[0-9]{0,3}\.[0-9]+)\b(?! ?%)"
)
_PRODUCT = re.compile(
    r"(?<![\w.*])\(?(?P<first>[0-9][0-9,]{0,11}) ?[*x×] ?\(?(?P<second>[0-9][0-9,]{0,11})\)?(?: ?[*x×] ?\(?(?P<third>[0-9][0-9,]{0,11})\)?)?(?![\w.])"
)
_FAILS = re.compile(
    r"(?i)\bfail|\berror|\brefus|\bINVALID_VALUE|invalid (?:value|argument)|\billegal|\bmis-?align"
)
_AWAY = re.compile(
    r"(?i)\b(?:[0-9.,]+ ?(?:TB|TiB|PB|terabytes?)|[0-9]{13,}(?: bytes)?|[0-9]{1,3}(?:,[0-9]{3}){4,}(?: bytes)?|terabytes) (?:away|off|from|before|after|beyond|past)\b(?: (?:from|of))?(?: (?:any|every|the nearest) allocation)?"
)
_SLICE = re.compile(r"(?<![\w.])(?P<name>[a-z]\w{0,20})\[(?P<first>[1-9][0-9]{0,5}):[^\],\[]{0,20}\]")
_ALIGNED = re.compile(r"(?i)\bmis-?align|\bun-?aligned|\balignment")
_INDEX = re.compile(r"(?i)int32|int64|overflow|illegal|offset|stride|index|ptr|out[- ]of[- ]bound|invalid")
_RESERVED = re.compile(
    r"(?i)(?:request\w*|reserv\w*|launch\w*|smem ?=|set(?:ting)?)\b[^.;]{0,60}?\b(?P<asked>[0-9][0-9,]{3,8})(?: ?(?:B|bytes))?\b[^.;0-9]{0,30}\b(?:below|less than|fewer than|smaller than|under|(?:but|while|whereas)\b[^.;0-9]{0,40}\b(?:uses?|needs?|takes?))\b[^.;0-9]{0,20}(?P<used>[0-9][0-9,]{3,8})\b"
)
_SHARED = re.compile(r"(?i)\bsmem|shared")
_NEEDED = re.compile(r"(?i)\b(?:us|need|tak|requir|declar|allocat|sum|total|comput)")
_NO_NEED = re.compile(
    r"(?i)limit|maxim|\bmost\b|opt-?in|capacit|availab|device|threads\b|regist|token|element|batch|hidden"
)
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
_AT, _ROOM = (
    re.compile(rf"(?i)\b{word}\b[^.;]{{0,60}}?(?<![\w.])(?P<count>[0-9][0-9,]{{0,11}}) elements\b")
    for word in ("(?:offset|index)", "(?:only|just) (?:has|holds|have)")
)
_TRANSACTION = re.compile(
    r"(?i)\b(?:tx[ _-]?(?:count|bytes)|expect\w*|transaction)\b[^.;]{0,30}?(?P<bytes>[0-9][0-9,]{0,8}(?: ?[*x×] ?[0-9]{1,4}){0,3})(?![\w.,]*[0-9])"
)
_TILE = re.compile(
    rf"(?i)(?<![\w.])(?P<rows>[0-9]{{1,4}}) ?[x×,] ?(?P<columns>[0-9]{{1,4}})\)? ?(?:of |in )?(?P<type>{'|'.join(TYPES)})\b"
)
_STORED = re.compile(r"(?:\b[CD]|(?i:\b(?:epilogue|output|accumulator)))\b[^.;,]{0,20}$")
_APART = re.compile(
    r"(?i)\b(?:own|separate|another|different|two|second|each has an?) (?:\w+ )?(?:m?bar(?:rier)?s?)\b|multicast|\bclusters?\b|2[ _-]?cta|\bpeer"
)  # barriers of several, or bytes that other blocks load
_DIGITS = re.compile(r"[0-9]+")
_SENTENCES = re.compile(r"(?<=[.!?]) |[;\u3002]")
_CLAUSES = re.compile(r"(?i),? (?:but|while|whereas|and|so that|where)\b")
_VALUE = re.compile(r"\b(?P<name>[A-Za-z]\w{0,30})`? ?= ?`?(?P<value>[0-9]{1,7})\b(?!\.)")
_QUOTIENT = re.compile(
    r"(?<![-\w.])(?P<whole>[A-Za-z]\w{0,30}) ?// ?(?P<part>[A-Za-z]\w{0,30})\b(?!\)? ?\+ ?1\b)"
)
_OF_ONE = re.compile(
    r"(?:\w+_)?(?:[pbt]?id|idx|index|lane|warp|thread|block|rank|row|col|head|token)|[a-jpqr-z]"
)  # a number among others, not how many there are
_WRAPS = 1 << 31
_COARSE = 8  # bits of a significand whose steps are seen in a result
VECTOR = 16  # bytes of the widest access, and of a row of ldmatrix [PTX ISA]


def told(folded: str) -> tuple[str, ...]:
    """What the figures of a text decide; none where it has not both of a pair."""
    every = (_wild, _rounding, _step, _sliced, _wraps, _reserved, _placed, _parts, _beyond, _awaited)
    return tuple(fact for one in every for fact in one(folded))


def _typed(folded: str, said: re.Match[str]) -> str:
    """The type of a figure: of its own sentence, else the only one that the text names; of FP8 the first that says which."""
    start = max((stop.end() for stop in _SENTENCES.finditer(folded, 0, said.start())), default=0)
    stop = _SENTENCES.search(folded, said.end())
    beside = _TYPE.findall(folded, start, stop.start() if stop else len(folded))
    found = [one.lower() for one in beside or _TYPE.findall(folded)]
    rounded = [one for one in found if one in _ROUNDED]
    alone = beside or len({TYPES[one] for one in found}) == 1
    return next((one for one in rounded if one != "fp8"), (*rounded, *found)[0]) if found and alone else ""


def _rounding(folded: str) -> tuple[str, ...]:
    """That a tolerance is below what one rounding to the text's type may change."""
    asked = _TOLERANCE.search(folded)
    typed = _typed(folded, asked) if asked else ""
    bits = TYPES[typed][1] if typed else 0
    if not (asked and bits):
        return ()
    said = asked["before"] or asked["behind"]
    unit = 2.0**-bits
    if float(said) >= unit:
        return ()
    return (
        f"{typed} keeps {bits} bits: one rounding changes a value by up to 2^-{bits} = {unit:.1g} of it, more than the tolerance {said}: two right results differ by more; "
        "compare each with a result in float32, and by `layoutcheck numerics tol`",
    )


def _step(folded: str) -> tuple[str, ...]:
    """From which value on an error is one rounding to the text's type; none of a type of more than 8 bits of significand."""
    told = _ERROR.search(folded)
    typed = _typed(folded, told) if told else ""
    bits = TYPES[typed][1] if typed else 0
    if not (told and 0 < bits <= _COARSE and float(told["error"])):
        return ()
    return (
        f"{typed} keeps {bits} bits: one rounding changes a value by up to 2^-{bits} of it, so that {told['error']} is one rounding of a value of {float(told['error']) * 2**bits:.3g} or more: "
        "compare with a reference that is rounded to the same type",
    )


def _wraps(folded: str) -> tuple[str, ...]:
    """That a product of a text about indices does not fit 32 bits; three extents by "x" may be M, N and K."""
    for found in _PRODUCT.finditer(folded) if _INDEX.search(folded) else ():
        value = math.prod(int(one.replace(",", "")) for one in found.groups() if one and one.strip(","))
        is_work = found["third"] and "*" not in found[0]
        if not is_work and _WRAPS <= value < _WRAPS << 20:
            return (
                f"{found[0].strip('( ')} = {value:,} is beyond 2^31 - 1: as an index or offset in int32 it wraps to another place; take 64 bits (int64_t, tl.int64, .to(int64)) before the product",
            )
    return ()


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
        bits = TYPES.get(typed, (0, 0))[0]
        behind = int(one["first"]) * bits // 8
        if behind % VECTOR:
            return (
                f"{one[0]} of a one-dimensional tensor of {typed} begins {behind} B behind it, no multiple of {VECTOR}: the base of a tensor map and each 16-byte vector need one; clone() the slice, or promise no alignment for it",
            )
    return ()


def _reserved(folded: str) -> tuple[str, ...]:
    """That a launch asks for less shared memory than the kernel uses."""
    found = _RESERVED.search(folded)
    asked, used = (int(found[name].replace(",", "")) for name in ("asked", "used")) if found else (0, 0)
    if not found or asked >= used:
        return ()
    said, behind = found[0], folded[found.end() : found.end() + 40].partition(".")[0]
    needed = _NEEDED.search(said[said.index(found["asked"]) :] + behind)
    if not _SHARED.search(said + behind) or not needed or _NO_NEED.search(said + behind):
        return ()
    return (
        f"the launch asks for {asked:,} B of shared memory, {used - asked:,} fewer than the {used:,} B that are used: what lies behind is no memory of the block, and an access there faults at run time, whatever compiles; "
        "count every buffer with its alignment, or let the DSL count (no smem= at the launch)",
    )


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
        each = elements * TYPES[staged["type"].lower()][0] // 8
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


def _parts(folded: str) -> tuple[str, ...]:
    """What a division of two numbers that the text names leaves over."""
    values = {one["name"]: int(one["value"]) for one in _VALUE.finditer(folded)}
    for found in _QUOTIENT.finditer(folded):
        whole, part = (values.get(found[name], 0) for name in ("whole", "part"))
        rest = re.search(rf"\b{found['whole']} ?% ?{found['part']}\b", folded)
        if rest or _OF_ONE.fullmatch(found["whole"]):
            continue
        if part > 1 and whole % part and whole > part:
            each = whole // part
            return (
                f"{found[0]} = {whole} // {part} is {each}, and leaves {whole % part}: {part} x {each} = {part * each} of the {whole} are reached, the last {whole - part * each} by nobody; take a divisor of {whole}, or one more part with a bound",
            )
    return ()


def _beyond(folded: str) -> tuple[str, ...]:
    """That an offset which the text names lies behind all elements of what it says to have few."""
    for one in sentences(folded):
        at, room = _AT.search(one), _ROOM.search(one)
        where, count = (int(found["count"].replace(",", "")) if found else 0 for found in (at, room))
        if where >= count > 0:
            return (
                f"an offset of {where:,} elements is an index beyond a tensor or tile of {count:,}: take the offset within the tile, not within the whole tensor",
            )
    return ()


def _awaited(folded: str) -> tuple[str, ...]:
    """That a barrier is told the bytes of one of the tiles that are loaded, or their elements, and not the bytes of all."""
    told = _TRANSACTION.search(folded) if _OF_TMA.search(folded) else None
    if told is None or _APART.search(folded):
        return ()
    awaited = math.prod(int(one) for one in _DIGITS.findall(told["bytes"].replace(",", "")))
    tiles = [
        one
        for one in _TILE.finditer(folded)
        if not _STORED.search(folded, max(0, one.start() - 40), one.start())
    ]
    counts = [int(one["rows"]) * int(one["columns"]) for one in tiles]
    each = [count * TYPES[one["type"].lower()][0] // 8 for count, one in zip(counts, tiles, strict=True)]
    if sum(each) == awaited or awaited not in (*each, *counts, sum(counts)):
        return ()
    shown = " + ".join(f"{bytes_:,} ({one[0]})" for bytes_, one in zip(each, tiles, strict=True))
    all_ = f" = {sum(each):,}" if len(each) > 1 else ""
    return (
        f"the barrier is told {awaited:,} bytes, and the tiles of the text are {shown}{all_} B: where they report to one barrier, each phase needs the bytes of all",
    )
