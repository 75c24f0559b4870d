"""What a layout or an index in a text makes of its accesses to shared memory: wavefronts, operands of tensor cores."""

from __future__ import annotations

import re
from collections.abc import Iterator

from layoutcheck.algebra import Layout, cosize, parse_any_layout
from layoutcheck.algebra.image import image
from layoutcheck.algebra.modes import leaves
from layoutcheck.catalogue.figures import TYPES
from layoutcheck.catalogue.symptoms import placed
from layoutcheck.errors import InputError
from layoutcheck.machine.arch import WARP, most_shared, numbers
from layoutcheck.machine.banks import shared_wavefronts
from layoutcheck.machine.best_swizzle import best_swizzle
from layoutcheck.machine.canonical import canonical
from layoutcheck.machine.tiles import analyse_tile, matrix_access

_OF_BANKS = re.compile(r"(?i)\bbank[- ]?conflict|\bwavefronts?\b")
_TYPED = re.compile(
    rf"(?i)\b(?:torch\.|cutlass\.|cute\.)?(?P<type>{'|'.join(TYPES)}|float|half|halfs|halves|floats)(?:_t)?\b"
)
_ALSO = {"float": "fp32", "halve": "half", "byte": "int8", "__half": "half", "__nv_bfloat16": "bf16", "int": "fp32", "char": "int8", "int32_t": "fp32", "uint32_t": "fp32", "uint16_t": "half", "uint8_t": "int8", "int8_t": "int8"}  # fmt: skip
_ARRAY = re.compile(
    r"(?:__shared__|\bshared\b)(?: alignas\([0-9]+\)| __align__\([0-9]+\))? (?P<type>float|half|__half|int|__nv_bfloat16|char|uint8_t|int8_t|uint16_t|uint32_t|int32_t) (?P<name>[A-Za-z_]\w*) ?\["
)
_INDEXED = re.compile(
    r"\b(?P<name>[A-Za-z_]\w*)\[ ?(?:threadIdx\.x|tid\w*|lane\w*|idx|tx|t) ?\* ?(?P<stride>[0-9]{1,4}) ?\]"
)
_MATRIX = re.compile(
    r"(?i)\b(?P<way>ld|st)matrix(?:\.sync\.aligned\.m8n8)?(?:\.x(?P<count>[124]))?(?P<trans>\.trans)?"
)
_UNIT = re.compile(r"(?i)\b(?P<wgmma>wgmma|gmma)|\b(?:tcgen05|umma)")
_SWIZZLES = {
    "": 0,
    "S<1,4,3>": 32,
    "S<2,4,3>": 64,
    "S<3,4,3>": 128,
}  # of a pointer, in bytes [PTX ISA, matrix descriptors]
_MMA = {"half": "f16", "fp16": "f16", "float16": "f16", "bfloat16": "bf16", "float": "f32", "fp32": "f32", "float32": "f32", "fp8": "f8E4M3FN", "e4m3": "f8E4M3FN", "e5m2": "f8E5M2", "int8": "i8"}  # fmt: skip
_COMPOSED = re.compile(
    r"\b(?:S|Sw|Swizzle) ?<(?P<bits>[0-9]), ?(?P<base>[0-9]), ?(?P<shift>[0-9])> ?o ?(?:_?0 ?o ?)?(?=[(])"
)
_MOST = 2  # layouts
_NEAR = 60  # characters before a layout that say what it is of
_SPACE = re.compile(
    r"(?i)\b(?:smem|shared|(?P<foreign>gmem|global|rmem|registers?|fragments?|tmem|scales?|scale[ _]factors?|sf[ab]))\b"
)
_OF_THREADS = re.compile(
    r"(?i)\b(?:thr(?:eads?)?|vals?|values?|tv|warps?|atom|cluster|grid)(?:[ _]layout)?(?: (?:is|of|was)|[ =:,(])*$"
)
_OF_EPILOGUE = re.compile(r"(?i)\bepilogue\b|\bstore|\boutput\b")
_SIDES = 2  # M or N, and K


def told(folded: str) -> tuple[str, ...]:
    """What the text's layouts cost in banks, where it is about them; of which unit they are operands."""
    return (*_banks(folded), *_strided(folded), *_operands(folded))


def _banks(folded: str) -> Iterator[str]:
    """The wavefronts of a warp that reads or writes one element a lane, along each mode of each static layout."""
    types = {_bits(one["type"]) for one in _TYPED.finditer(folded)}
    if not _OF_BANKS.search(folded) or len(types) != 1:
        return
    bits = types.pop()
    matrix = _MATRIX.search(folded)
    for text, layout in _shared(folded, bits) if bits >= 8 else ():
        if matrix:
            yield from _by_matrix(text, layout, bits, matrix, _swizzle(folded, text))
            continue
        swizzle = _swizzle(folded, text)
        if swizzle:
            yield from _swizzled(swizzle, text, layout, bits)
            continue
        told = [_along(at, extent, stride, bits) for at, extent, stride in _modes(layout)]
        if told:
            yield f"{text} in elements of {bits // 8} B: {'; '.join(told)}; one a lane, without a swizzle (LC301)"


def _strided(folded: str) -> Iterator[str]:
    """The wavefronts of a shared array that each lane indexes by a multiple of its own number."""
    arrays = {one["name"]: _bits(one["type"]) for one in _ARRAY.finditer(folded)}
    for one in _INDEXED.finditer(folded) if _OF_BANKS.search(folded) else ():
        bits, stride = arrays.get(one["name"], 0), int(one["stride"])
        if bits < 8 or stride < 2:
            continue
        ways = _ways(WARP, stride, bits)
        free = stride + 1 - stride % 2
        yield (
            f"{one[0]} of elements of {bits // 8} B: neighbouring lanes lie {stride} elements apart, and {WARP} lanes take {ways} wavefronts, {ways}-way"
            + (
                f": ncu counts {ways - 1} conflicts for each such access of a warp; a stride of {free} has none (LC301)"
                if ways > 1
                else ", without a conflict"
            )
        )
        return


def _swizzle(folded: str, text: str) -> str:
    """The swizzle of elements that a layout of the text is composed with; "" where it has none."""
    found = _COMPOSED.search(folded)
    plain = folded.replace(" ", "").replace("_", "")
    composed = found is not None and f"{found[0]}{text}".replace(" ", "").replace("_", "") in plain
    return f"S<{found['bits']},{found['base']},{found['shift']}>" if found and composed else ""


def _swizzled(swizzle: str, text: str, layout: Layout, bits: int) -> Iterator[str]:
    """The wavefronts of the lanes along each mode of a composed layout."""
    places = image(parse_any_layout(f"{swizzle} o 0 o {text}"))
    told, step = [], 1
    for at, (_, extent, _) in enumerate(leaves(layout)):
        if not isinstance(extent, int):
            return
        lanes = min(WARP, extent)
        ways = _wavefronts([int(places[lane * step]) for lane in range(lanes)], bits)
        if lanes > 1:
            told.append(f"{lanes} lanes along mode {at} take {ways} wavefront{'s' * (ways > 1)}")
        step *= extent
    if told:
        yield f"{swizzle} o 0 o {text} in elements of {bits // 8} B: {'; '.join(told)}; one a lane (LC301)"


def _shared(folded: str, bits: int) -> list[tuple[str, Layout]]:
    """The first layouts of a text that are known whole and fit a block's shared memory, but those that it says to be of something else."""
    most = max(map(most_shared, numbers()))
    every = dict.fromkeys(
        (text, one)
        for start, text, one in placed(folded)
        if one is not None
        and one.is_static
        and isinstance(reach := cosize(one), int)
        and reach * bits <= 8 * most
        and not _is_foreign(folded, start)
    )
    return list(every)[:_MOST]


def _is_foreign(folded: str, start: int) -> bool:
    """Whether the words before a layout say that it is of threads, of registers or of global memory."""
    before = folded[max(0, start - _NEAR) : start]
    *_, space = (None, *_SPACE.finditer(before))
    return _OF_THREADS.search(before) is not None or (space is not None and space["foreign"] is not None)


def _by_matrix(text: str, layout: Layout, bits: int, named: re.Match[str], swizzle: str) -> Iterator[str]:
    """The wavefronts of ldmatrix or stmatrix over a tile, and the swizzle that has the fewest."""
    count, store = int(named["count"] or 4), named["way"].lower() == "st"
    try:
        access = matrix_access(layout, bits, count, store, bool(named["trans"]))
        if swizzle:
            (cost,) = analyse_tile(parse_any_layout(f"{swizzle} o 0 o {text}"), bits, [access])
            yield f"{access.name} over {swizzle} o 0 o {text} in elements of {bits // 8} B takes {cost.wavefronts} wavefronts, {cost.ideal} at the least: {cost.ways}-way (LC301)"
            return
        found = best_swizzle(layout, bits, [access], allow=("swizzle",))
    except InputError:
        return
    (before,), (after,) = found.before, found.after
    better = (
        f"; with S<{found.swizzle.bits},{found.swizzle.base},{found.swizzle.shift}> on the pointer, in bytes, {after.wavefronts}"
        if found.swizzle
        else ""
    )
    yield f"{access.name} over {text} in elements of {bits // 8} B takes {before.wavefronts} wavefronts, {before.ideal} at the least: {before.ways}-way{better} (LC301)"


def _operands(folded: str) -> Iterator[str]:
    """With which swizzles of the pointer a layout of the text is an operand of the unit that it names."""
    unit, types = _UNIT.search(folded), {one["type"].lower() for one in _TYPED.finditer(folded)}
    if unit is None or len(types) != 1:
        return
    name = types.pop().removesuffix("s")
    for text, layout in _shared(folded, _bits(name)):
        if len(layout.modes) != _SIDES or _OF_EPILOGUE.search(folded):
            continue
        takes = "wgmma" if unit["wgmma"] else "tcgen05"
        try:
            legal = [
                f"{major}-major with {f'{mode} (the {span}-byte swizzle)' if mode else 'no swizzle'}"
                for major in ("K", "MN")
                for mode, span in _SWIZZLES.items()
                if canonical(layout, _MMA.get(name, name), major, mode or None, takes).verdict == "legal"
            ]
        except InputError:
            return
        yield f"{text} as (MN,K) of {name} is an operand of {takes}: {', or '.join(legal) or 'with no swizzle, in no major order'}, on the pointer and in the descriptor (LC607)"


def _modes(layout: Layout) -> list[tuple[int, int, int]]:
    """(place, extent, stride) of each flattened mode along which lanes can lie."""
    each = ((at, one.extent, one.stride) for at, one in enumerate(leaves(layout)))
    return [
        (at, extent, stride)
        for at, extent, stride in each
        if isinstance(extent, int) and isinstance(stride, int) and extent > 1
    ]


def _along(at: int, extent: int, stride: int, bits: int) -> str:
    """The wavefronts of the lanes that lie along one mode, as many as it has and a warp at most; the next stride that has no conflict."""
    lanes = min(WARP, extent)
    ways = _ways(lanes, stride, bits)
    said = f"{lanes} lanes along mode {at} (stride {stride}) take {ways} wavefront{'s' if ways > 1 else ''}"
    free = next((one for one in range(stride, stride + WARP + 1) if _ways(lanes, one, bits) == 1), stride)
    return said if free == stride else f"{said}, and 1 with a stride of {free}"


def _ways(lanes: int, stride: int, bits: int) -> int:
    """The wavefronts of lanes that lie a stride apart; the others of the warp are off."""
    return _wavefronts([lane * stride for lane in range(lanes)], bits)


def _wavefronts(places: list[int], bits: int) -> int:
    """The wavefronts of lanes at these elements; the others of the warp are off."""
    addresses = [place * bits // 8 for place in places] + [None] * (WARP - len(places))
    return shared_wavefronts(addresses, min(bits, 32)).wavefronts


def _bits(name: str) -> int:
    """The bits of an element of this type, or of these: "half", "halves"."""
    one = name.lower().removesuffix("s")
    return TYPES[_ALSO.get(one, one)][0]
