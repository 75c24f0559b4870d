"""What a tile of a text, a layout or one in words, makes of its accesses to shared memory: wavefronts of ldmatrix, operands of tensor cores."""

from __future__ import annotations

import re
from collections.abc import Iterator

from layoutcheck.algebra import Layout, cosize
from layoutcheck.catalogue import tiles
from layoutcheck.catalogue.figures import TYPES, VECTOR, bits_of
from layoutcheck.catalogue.symptoms import placed
from layoutcheck.errors import InputError
from layoutcheck.machine.arch import most_shared, numbers
from layoutcheck.machine.best_swizzle import best_swizzle
from layoutcheck.machine.canonical import canonical
from layoutcheck.machine.tiles import TileAccess, analyse_tile, in_elements, matrix_access

_OF_BANKS = re.compile(r"(?i)\bbank[- ]?conflict|\bwavefronts?\b")
_SWIZZLED = re.compile(
    r"(?i)(?<!no )(?<!not )(?<!without )(?<!without a )(?<!un)swizzl(?:e[sd]?\b(?!.{0,30}\?)|ing\b)|\bSw?<[0-9]"
)
_TYPED = re.compile(
    rf"(?i)\b(?:torch\.|cutlass\.|cute\.)?(?P<type>{'|'.join(TYPES)}|float|half|halfs|halves|floats)(?:_t)?\b"
)
_MATRIX = re.compile(
    r"(?i)\b(?P<way>ld|st)matrix(?:\.sync\.aligned\.m8n8)?(?:\.x(?P<count>[124]))?(?P<trans>\.trans)?"
)
_UNIT = re.compile(r"(?i)\b(?P<wgmma>wgmma|gmma)|\b(?:tcgen05|umma)")
_SWIZZLES = {
    "S<3,4,3>": 128,
    "S<2,4,3>": 64,
    "S<1,4,3>": 32,
}  # of a pointer, in bytes [PTX ISA, matrix descriptors]
_WIDEST = 128
_ASKED = re.compile(r"(?i)\b(?:which|what|how)\b.{0,60}swizzl|swizzl.{0,60}\?|\bcanonical\b")
_MMA = {"half": "f16", "fp16": "f16", "float16": "f16", "bfloat16": "bf16", "float": "f32", "fp32": "f32", "float32": "f32", "fp8": "f8E4M3FN", "e4m3": "f8E4M3FN", "e5m2": "f8E5M2", "int8": "i8"}  # fmt: skip
_MOST = 2  # layouts
_NEAR = 60  # characters before a layout that say what it is of
_SPACE = re.compile(
    r"(?i)\b(?:smem|shared|(?P<foreign>gmem|global|rmem|registers?|fragments?|tmem|scales?|scale[ _]factors?|sf[ab]))\b"
)
_OF_THREADS = re.compile(
    r"(?i)\b(?:thr(?:eads?)?|vals?|values?|tv|warps?|atom|cluster|grid)(?:[ _]layout)?(?: (?:is|of|was)|[ =:,(])*$"
)
_OF_EPILOGUE = re.compile(r"(?i)\bepilogue\b|\bstore|\boutput\b")


def told(folded: str) -> tuple[str, ...]:
    """What the text's tiles cost in banks, where it is about them; of which unit they are operands."""
    return (*_banks(folded), *_operands(folded))


def _banks(folded: str) -> Iterator[str]:
    """The wavefronts of ldmatrix or stmatrix over each tile without a swizzle."""
    matrix = _MATRIX.search(folded)
    if matrix is None or not _OF_BANKS.search(folded) or _SWIZZLED.search(folded):
        return
    types = {bits_of(one["type"]) for one in _TYPED.finditer(folded)}
    bits = types.pop() if len(types) == 1 else 0
    every = [(text, layout, bits) for text, layout in _shared(folded, bits)] if bits >= 8 else []
    every += [(one.said, one.layout, one.bits) for one in tiles.by_rows(folded)] if not every else []
    for text, layout, each in every[:_MOST]:
        yield from _by_matrix(text, layout, each, matrix)


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


def _by_matrix(text: str, layout: Layout, bits: int, named: re.Match[str]) -> Iterator[str]:
    """The wavefronts of ldmatrix or stmatrix over a tile, and the swizzle and the pitch that have the fewest."""
    count, store = int(named["count"] or 4), named["way"].lower() == "st"
    try:
        access = matrix_access(layout, bits, count, store, bool(named["trans"]))
        found = best_swizzle(layout, bits, [access], allow=("swizzle",))
    except InputError:
        return
    (before,), (after,) = found.before, found.after
    ways = []
    if found.swizzle:
        each = [
            f"<{one.bits},{one.base},{one.shift}>"
            for one in (found.swizzle, in_elements(found.swizzle, bits))
        ]
        ways.append(f"S{each[0]} on the pointer, in bytes ({each[1]} in elements)")
    if _padded(layout, bits, access) == after.wavefronts:
        ways.append(f"rows padded by {VECTOR * 8 // bits} elements ({VECTOR} B)")
    better = f"; with {' or '.join(ways)} it takes {after.wavefronts}" if ways and before.ways > 1 else ""
    yield f"{access.name} over {text} takes {before.wavefronts} wavefronts, {before.ideal} at the least: {before.ways}-way{better} (LC301)"


def _padded(layout: Layout, bits: int, access: TileAccess) -> int:
    """The wavefronts of an access to a tile whose rows are a vector longer; 0 of another form."""
    if layout.stride != (layout.shape[1] if isinstance(layout.shape, tuple) else 0, 1):
        return 0
    longer = Layout(layout.shape, (layout.stride[0] + VECTOR * 8 // bits, 1))
    (cost,) = analyse_tile(longer, bits, [access])
    return cost.wavefronts


def _operands(folded: str) -> Iterator[str]:
    """Which swizzle makes a tile of a text an operand of the unit that it names, where rows of K lie one behind another."""
    unit = _UNIT.search(folded)
    if unit is None or not _ASKED.search(folded) or _OF_EPILOGUE.search(folded):
        return
    takes = "wgmma" if unit["wgmma"] else "tcgen05"
    for tile in tiles.by_rows(folded)[:_MOST]:
        row, typed = tile.columns * tile.bits // 8, tile.said.rpartition(" ")[2].lower()
        mode, span = next(((mode, span) for mode, span in _SWIZZLES.items() if row % span == 0), ("", 0))
        width = span * 8 // tile.bits
        piece = Layout((tile.rows, width), (width, 1))
        if (
            not span
            or tile.bits < 8
            or canonical(piece, _MMA.get(typed, typed), "K", mode, takes).verdict != "legal"
        ):
            continue
        pieces = f", as {row // span} pieces of {width} columns side by side" * (row > span)
        wider = (
            "" if span == _WIDEST else f"; the {_WIDEST}-byte one needs rows of {_WIDEST * 8 // tile.bits}"
        )
        yield f"K-major rows of {tile.said} have {tile.columns} elements, {row} bytes: the {span}-byte swizzle, {mode} in bytes (K_SW{span}){pieces}{wider} (LC607; PTX ISA, matrix descriptors)"
