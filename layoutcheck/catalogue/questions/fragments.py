"""Which thread holds which element of an MMA's operands, by the model's own thread-value layouts."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from layoutcheck.algebra.image import image
from layoutcheck.catalogue.figures import TYPES
from layoutcheck.errors import InputError
from layoutcheck.machine.mma import LANES, MmaAtom, checked

_PTX = re.compile(
    r"(?i)\b(?P<warpgroup>wgmma\S*?\.|mma\.sync\S*?\.)?m(?P<m>16|64)n(?P<n>[0-9]{1,3})k(?P<k>[0-9]{1,3})\b"
)
_CPP = re.compile(
    r"\bSM(?P<arch>[0-9]{2,3})_(?P<m>16|64)x(?P<n>[0-9]{1,3})x(?P<k>[0-9]{1,3})_(?P<types>[A-Z0-9]+)"
)
_ASKS = re.compile(
    r"(?i)\b(?:which|what|how)\b.{0,60}\b(?:threads?|lanes?|registers?|elements?|values?)\b|\b[0-9]+ registers\b|\bfragments?\b|\baccumulators?\b|\b[ABC]Layout\b|Layout[ABC]_TV|thread[- ]value|\bTV[- ]layout|\bhold"
)
_LETTERS = re.compile(
    r"\b(?P<a>(?i:operand |matrix |fragment |multiplicand )A\b|ALayout|LayoutA|a_frag|fragA)|\b(?P<b>(?i:operand |matrix |fragment |multiplicand )B\b|BLayout|LayoutB|b_frag|fragB)|(?P<c>(?i:accumulator|output|result)\w*|\b(?:CLayout|LayoutC|matrix [CD])\b)"
)
_ELEMENT = re.compile(
    r"\b[ABCD]\[(?P<row>[0-9]{1,3})\]\[(?P<column>[0-9]{1,3})\]|(?:\b[ABCD]|(?i:element|coordinate|entry)) ?[\[(](?P<row_of>[0-9]{1,3}), ?(?P<column_of>[0-9]{1,3})[\])]"
)
_SOURCE = "PTX ISA, matrix fragments; layoutcheck draw --mma"
_NAMES = {"F16": "f16", "BF16": "bf16", "TF32": "tf32", "F32": "f32", "S8": "i8", "U8": "u8", "S32": "i32", "E4M3": "f8E4M3FN", "E5M2": "f8E5M2"}  # fmt: skip
_NAMED = re.compile("BF16|TF32|F16|F32|S32|S8|U8|E4M3|E5M2")
_SPOKEN = {"half": "f16", "fp16": "f16", "f16": "f16", "float16": "f16", "bf16": "bf16", "bfloat16": "bf16", "tf32": "tf32", "e4m3": "f8E4M3FN", "e5m2": "f8E5M2", "fp8": "f8E4M3FN", "int8": "i8", "s8": "i8"}  # fmt: skip
_TYPE = re.compile(rf"(?i)(?<![a-z0-9])(?P<type>s8|{'|'.join(TYPES)})(?![a-z0-9])")


def told(subject: str, text: str) -> Iterator[str]:
    """Where the elements of the operands lie that a text asks for: of the MMA which it names; none where it asks for something else."""
    if not _ASKS.search(subject):
        return
    atom = _named(text)
    if atom is None:
        return
    element = re.search(r"\b([ABC]) ?[\[(][0-9]", subject)
    asked = (
        element[1]
        if element
        else "".join(sorted({name for one in _LETTERS.finditer(subject) for name in "abc" if one[name]}))
        or "abc"
    )
    for letter in asked.upper():
        if atom.where(letter) == "registers":
            yield from _element(atom, letter, subject)
            yield _said(atom, letter)


def _named(text: str) -> MmaAtom | None:
    """The one MMA of a warp or a warpgroup that a text names; None of more, or where its types leave two."""
    cpp, ptx = _CPP.search(text), _PTX.search(text)
    found = cpp or ptx
    if found is None:
        return None
    shape = (int(found["m"]), int(found["n"]), int(found["k"]))
    if cpp:
        types = [_NAMES[one] for one in _NAMED.findall(cpp["types"])]
        d, a, b = (*types, "", "", "")[:3]
    else:
        spoken = [
            _SPOKEN[one["type"].lower()] for one in _TYPE.finditer(text) if one["type"].lower() in _SPOKEN
        ]
        a = b = spoken[0] if spoken else "f16" if shape[2] == 16 else ""  # k8 and k32 are of two widths
        d = "i32" if a in ("i8", "u8") else "f32"
    from layoutcheck.machine.dtypes import dtype

    try:
        every = (dtype(a), dtype(b), dtype(d))
        return checked(
            MmaAtom("warpgroup" if shape[0] == 64 else "warp", shape, every, a_from="registers"), text
        )
    except InputError:
        return None


def _element(atom: MmaAtom, letter: str, subject: str) -> Iterator[str]:
    """Which lane holds the one element that a question names, as which value of which register."""
    found = _ELEMENT.search(subject)
    if found is None:
        return
    row, column = (int(found[name] or found[f"{name}_of"]) for name in ("row", "column"))
    (rows, columns), layout = atom.extents(letter), atom.tv(letter)
    place = row + rows * column
    if row >= rows or column >= columns:
        yield f"{letter} of {atom.name} has {rows} x {columns} elements, and none at ({row},{column})"
        return
    value, thread = divmod(int(np.flatnonzero(image(layout) == place)[0]), atom.threads)
    bits = atom.types["ABC".index(letter)].bits
    lane = f"lane {thread % LANES}" + (f" of warp {thread // LANES}" if atom.threads > LANES else "")
    half = f", bits {value * bits % 32} to {value * bits % 32 + bits - 1} of it" if bits < 32 else ""
    yield f"{letter}({row},{column}) of {atom.name} is value {value} of {lane}, in register {value * bits // 32}{half}"


def _said(atom: MmaAtom, letter: str) -> str:
    """Rows and columns of a lane's values, how many registers they take, and the layout as CuTe has it."""
    (rows, columns), layout = atom.extents(letter), atom.tv(letter)
    element = atom.types["ABC".index(letter)]
    word = 2 if letter == "C" else atom.word
    count = rows * columns // atom.threads
    down, along = ("n", "k") if letter == "B" else ("m", "k" if letter == "A" else "n")
    lane = "16 w + l / 4" if atom.level == "warpgroup" else "l / 4"
    pairs = 1 if letter == "B" else 2
    row = lane if pairs == 1 else f"{lane} + 8 (v / {word} % 2)"
    column = f"{word} (l % 4) + v % {word}"
    if count > word * pairs:
        column += f" + {4 * word} (v / {word * pairs})"
    registers = count * element.bits // 32
    of = (
        "warp w and lane l of a warpgroup hold"
        if atom.level == "warpgroup"
        else f"lane l of the {LANES} holds"
    )
    return (
        f"{letter} of {atom.name}: {of} {count} values in {registers} registers: value v is the element {down} = {row}, {along} = {column} "
        f"(/ without its remainder); as CuTe prints it {layout}, (thread, value) to the place in ({rows},{columns}) column-major ({_SOURCE})"
    )
