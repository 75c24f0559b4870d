"""What the model works out of the numbers of a question: layouts mode by mode, swizzles by their bits, what one instruction moves."""

from __future__ import annotations

import re
from collections.abc import Iterator

from layoutcheck import algebra
from layoutcheck.algebra import Layout, coalesce
from layoutcheck.algebra.modes import leaves
from layoutcheck.catalogue import answering, snippets, spoken, symptoms, tiles
from layoutcheck.catalogue.figures import TYPES
from layoutcheck.catalogue.questions import fragments
from layoutcheck.catalogue.questions.asking import Asked
from layoutcheck.digits import many
from layoutcheck.errors import InputError
from layoutcheck.machine.best_swizzle import best_swizzle
from layoutcheck.machine.tiles import in_elements, matrix_access

DESCRIBED = " coordinates in "  # of a fact that only says what a layout is
_MOST, _LONGEST = 3, 300  # facts, characters of a function's documentation
_WORD = re.compile(r"\b[a-z]\w+")
_ALGEBRA = ("complement", "composition", "coalesce", "cosize")  # beside those with an underscore
_PRINTED = re.compile(
    r"(?i)\b(?:print\w*|mean\w*|layout|read|shape|stride|understand|interpret\w*|notation|[nmk]-?major)\b"
)
_TRIPLE = re.compile(
    r"\b(?:Swizzle|Sw|S) ?< ?(?P<bits>[0-9]) ?, ?(?P<base>[0-9]) ?, ?(?P<shift>[0-9]) ?>|(?i:swizzl\w*)[^.;]{0,60}?\b(?P<b>[0-9])(?:-|, ?| )(?P<m>[0-9])(?:-|,? and |, ?| )(?P<s>[0-9])\b|\b(?P<bb>[0-9])-(?P<mm>[0-9])-(?P<ss>[0-9]) (?i:swizzl)"
)
_LAID_OUT = re.compile(r"[(\[][0-9]+ ?,")
_TILE = re.compile(
    r"(?<![x×] )(?<![x×\w])(?P<rows>[0-9]{1,4}) ?[x×] ?(?P<columns>[0-9]{1,4})\b(?! ?[x×] ?[0-9])"
)
_COLUMNS = re.compile(r"(?i)\b(?:col(?:umn)?|M)[- ]?major\b")
_BEFORE = 30  # characters in which a layout of descriptors is called so
_SIZE = re.compile(r"(?i)\bhow (?:many bytes|much|large|big)\b|\bbytes\b|\bsize\b")
_EXPECTED = re.compile(r"(?i)expect_?tx|transaction|tx[ _-]?(?:count|bytes)")
_MOVED = re.compile(rf"(?i)\b(?P<count>[0-9]{{1,4}}) (?P<type>{'|'.join(TYPES)})\b")
_ROWS = (32, 64, 128)  # bytes


def told(asked: Asked, text: str, folded: str) -> tuple[str, ...]:
    """What decides the question, by the model; none where the text has nothing that can be worked out."""
    subject = asked.subject or asked.prose
    of_layouts = _PRINTED.search(subject)
    every = (
        *fragments.told(subject, folded),
        *spoken.numbers(folded),
        *_bytes(subject, folded),
        *_promised(folded),
        *_matrices(subject, folded),
        *_swizzles(subject, folded),
        *(
            one
            for one in snippets.facts(text)
            if not one.startswith("Swizzle<") and (of_layouts or DESCRIBED not in one)
        ),
    )
    return tuple(dict.fromkeys(every))[:_MOST]


def layouts(subject: str) -> Iterator[str]:
    """What each layout says that the question itself prints, mode by mode."""
    if not _PRINTED.search(subject):
        return
    for start, text, layout in symptoms.placed(subject):
        if (
            layout is not None
            and layout.is_static
            and "Iterator" not in subject[max(0, start - _BEFORE) : start]
        ):
            yield f"{text} has {_each(layout)}; as a function of one index it is {coalesce(layout)}: {symptoms.described(layout)}"


def functions(subject: str) -> Iterator[str]:
    """What each function of the layout algebra gives whose name a question has, with the example of its documentation."""
    for name in dict.fromkeys(_WORD.findall(subject)):
        known = name in _ALGEBRA or ("_" in name and name in algebra.__all__ and not name.startswith("make_"))
        said, _, example = (getattr(algebra, name).__doc__ or "" if known else "").strip().partition(">>> ")
        call, _, result = example.partition("\n")
        if result.strip():
            call = call.removeprefix("print(").removesuffix(")" * call.startswith("print("))
            told = answering.shortened(" ".join(said.split()), _LONGEST)
            yield f"{name}: {told} {call} = {result.strip().splitlines()[0]} (layoutcheck.{name})"


def _each(layout: Layout) -> str:
    """The top-level modes of a layout, each in words."""
    told = [f"mode {at} {mode}: {_steps(mode)}" for at, mode in enumerate(layout.modes)]
    return f"{many(len(told), 'mode')}: {'; '.join(told)}"


def _steps(mode: Layout) -> str:
    parts = []
    for one in leaves(mode):
        if one.extent == 1:
            parts.append("1 (no step, printed with stride 0)")
        elif one.stride == 0:
            parts.append(f"{one.extent} that repeat one element")
        else:
            parts.append(
                f"{one.extent} elements {one.stride} apart"
                if one.stride != 1
                else f"{one.extent} adjacent elements"
            )
    return " by ".join(parts)


def _swizzles(subject: str, folded: str) -> Iterator[str]:
    """Which bits each swizzle of a question exchanges, in what stands together and how often it repeats."""
    if "wizzl" not in subject and "S<" not in subject:
        return
    told: dict[tuple[int, int, int], None] = {}
    for one in (*_TRIPLE.finditer(subject), *_TRIPLE.finditer(folded)):
        groups = [one[name] for name in ("bits", "base", "shift", "b", "m", "s", "bb", "mm", "ss")]
        bits, base, shift = (int(part) for part in groups if part is not None)
        if bits and shift >= bits:
            told.setdefault((bits, base, shift))
    for bits, base, shift in [*told][:1]:
        first, count = base + shift, 1 << bits
        span = f"bits {base} to {base + bits - 1}" if bits > 1 else f"bit {base}"
        by = f"its bits {first} to {first + bits - 1}" if bits > 1 else f"its bit {first}"
        yield (
            f"Swizzle<{bits},{base},{shift}> XORs {span} of an offset with {by}: runs of {1 << base} stay together, "
            f"the {count} runs of each {1 << (base + bits)} change places, in a way that depends on which group of {1 << first} they are in; the pattern repeats after {1 << (first + bits)}. "
            f"Of a pointer these are bytes ({_rows(bits, base, shift)}), of a composed layout elements"
        )


def _rows(bits: int, base: int, shift: int) -> str:
    """What a swizzle of bytes does to rows of as many bytes as its period has of them."""
    if base != 4 or shift != 3:
        return f"runs of {1 << base} bytes"
    return f"the {16 << bits}-byte mode of TMA, wgmma and tcgen05: vectors of 16 bytes, so that the {1 << bits} of a row of {16 << bits} bytes fall on other banks in each of {1 << bits} groups of 128 bytes"


def _bytes(subject: str, folded: str) -> Iterator[str]:
    """The bytes of the tiles that a question about bytes names; what a barrier is told of them."""
    every = tiles.find(folded) if _SIZE.search(subject) else []
    if not every:
        return
    said = tiles.summed(every)
    if _EXPECTED.search(folded):
        said = f"{sum(one.bytes for one in every):,} bytes in each phase of the barrier: {said}"
        if "multicast" in folded.lower() or "cluster" in folded.lower():
            said += "; with multicast as well, since each block's barrier counts all that lands in its own shared memory, whoever loads it"
    yield f"{said} (LC225)" if _EXPECTED.search(folded) else said


def _promised(folded: str) -> Iterator[str]:
    """What from_dlpack promises where no alignment is given, beside the vectors that a question wants."""
    moved = _MOVED.search(folded)
    if "from_dlpack" not in folded or "assumed_align" in folded or moved is None:
        return
    bits = TYPES[moved["type"].lower()]
    count = int(moved["count"])
    width = " and num_bits_per_copy=128 in the atom" * (
        "num_bits_per_copy" not in folded or "no num_bits" in folded
    )
    yield (
        f"from_dlpack(t) without assumed_align promises the {bits // 8} B of one element alone, so that each copy moves one: {count} x {bits // 8} B = {count * bits // 8} B take {count} instructions, and {-(-count * bits // 128)} of 128 bits with assumed_align=16{width}, "
        "if the values lie one behind another and the strides are multiples of 16 B (LC101, LC102)"
    )


def _matrices(subject: str, folded: str) -> Iterator[str]:
    """Which swizzle has ldmatrix or stmatrix free of conflicts, for the tile of a question or by the length of a row.

    A layout that the text prints is worked out elsewhere.
    """
    named = re.search(r"(?i)\b(?P<way>ld|st)matrix(?:\.\w+)*|\bLDSM\w*|\bSTSM\w*", subject)
    if (
        named is None
        or "wizzl" not in subject
        or _LAID_OUT.search(folded)
        or next(symptoms.printed(folded), None)
    ):
        return
    types = {TYPES[one] for one in TYPES if re.search(rf"(?i)\b{one}\b", subject)} & {8, 16, 32}
    bits = types.pop() if len(types) == 1 else 16
    store, turned = (named["way"] or "").lower() == "st", ".trans" in named[0]
    tiles = [(int(one["rows"]), int(one["columns"])) for one in _TILE.finditer(folded)]
    if _COLUMNS.search(subject):
        tiles = [(columns, rows) for rows, columns in tiles]
    each = []
    for rows, columns in dict.fromkeys(tiles or [(64, row * 8 // bits) for row in _ROWS]):
        row = columns * bits // 8
        try:
            layout = Layout((rows, columns), (columns, 1))
            access = matrix_access(layout, bits, 4, store, turned)
            found = best_swizzle(layout, bits, [access], allow=("swizzle",)).swizzle
        except InputError:  # .trans of another width, or a tile that has no such access
            return
        if found:
            inside = in_elements(found, bits)
            each.append(
                f"rows of {row} bytes ({columns} elements) S<{found.bits},{found.base},{found.shift}> in bytes, <{inside.bits},{inside.base},{inside.shift}> in elements of {bits} bits"
            )
    if not each:
        return
    yield f"free of bank conflicts for {named[0]}: {'; '.join(each)}. What counts is the row of adjacent elements in shared memory: .trans reads the same 16-byte rows and takes the same swizzle (bank model, LC301; `layoutcheck banks LAYOUT --access {'st' if store else 'ld'}matrix.x4{'.trans' * turned}`)"
