"""The copy that a text states without the compiler's operation: printed tensors, and an instruction.

tAgA = tensor<ptr<f16, gmem, align<16>> o ((8,1),4):((1,0),?)>     each with the name before it, if it has one
tAsA: smem_ptr[16b](0x400) o ((_8,_1),_4):((_1,_0),_2048)
cp.async of 128 bits                                               the instruction
cute.copy(atom, tAgA, tAsA)                                        which of more than two tensors
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import permutations
from typing import NamedTuple, TypeAlias

from layoutcheck.algebra import Layout
from layoutcheck.algebra.integers import Dynamic, divisor
from layoutcheck.algebra.modes import dotted, leaves
from layoutcheck.algebra.notation import Scanner
from layoutcheck.copies.alignment import align_bits
from layoutcheck.copies.atom import Atom, ThreadAtom
from layoutcheck.copies.memref import Memref
from layoutcheck.copies.opaque import OtherOperand
from layoutcheck.errors import InputError
from layoutcheck.sources.atoms import named_atom
from layoutcheck.sources.pointers import Defaults
from layoutcheck.sources.types import read_operand

_LONGEST = 20_000  # characters of a text that are read
_MOST = 12  # tensors
_PRINTED = re.compile(
    r"(?:\b(?P<name>[A-Za-z_]\w{0,40})\s?(?:=|:|->|is)?\s{0,4})?"
    r"(?P<tensor>!cute\.memref<|\b[tT]ensor<(?:raw_)?ptr<|\braw_ptr\(0x|\b(?:Sw<[0-9],[0-9],[0-9]>_)?[gsr]?mem_ptr\[)"
)
_CALL = re.compile(
    r"\bcopy(?:_if)?\(\s*\w[\w.]*\s*,\s*(?:\w+\s*,\s*)?(?P<src>\w+)\s*(?:\[[^\]]*\]|\([^()]*\))?\s*,\s*(?P<dst>\w+)\s*(?:\[[^\]]*\]|\([^()]*\))?\s*[,)]"
)
# How a text calls an instruction, and the short name where it is not what stands there.
_INSTRUCTIONS = (
    (re.compile(r"\bSM[0-9]{2}_(?:CP_ASYNC|U32x|U16x)\w+(?:<[\w:]+>)?"), ""),
    (re.compile(r"\b(?:Ld|St)Matrix8x8x16bOp(?:\([^()]*\))?"), ""),
    (re.compile(r"\b(?:ld|st)matrix\.x[124](?:\.trans)?\b"), ""),
    (
        re.compile(r"(?i)\bcp\.async(?:\.c[ag])?\b(?!\.bulk|\.\w+_group)|\bcp_async\b|\bCopyG2SOp\b"),
        "cp.async",
    ),
    (re.compile(r"\bUniversalCopy(?:<[\w:]+>)?"), ""),
    (re.compile(r"\bCopyUniversalOp\b|\buniversal[ _]copy\b"), "universal"),
)  # fmt: skip
_WIDTH = re.compile(
    r"(?i)\bnum_bits_per_copy\s?=\s?(?P<bits>[0-9]{1,3})\b|\b(?P<said>8|16|32|64|128|256)[- ]?bits?\b"
)
_AGAINST = re.compile(
    r"(?i)\b(?:but|got|instead|works?|worked|fine|versus|vs|whereas|other kernel|second kernel)\b"
)
_EXPECTED = re.compile(r"(?i)\bexpect(?:s|ed)?\b[^\n]*$")
_NEAR, _PAIR = 40, 2  # characters, tensors
_BYTES = re.compile(r"(?i)\b(?P<bytes>4|8|16|32)[- ]?bytes?\b")


Tiling: TypeAlias = tuple[Layout, Layout]


class Stated(NamedTuple):
    """One copy in a text: both tensors as it prints them, the instruction, and the tiling of whole tiles."""

    src: str
    dst: str
    atom: Atom
    tiling: Tiling | None = None


class _Tensor(NamedTuple):
    name: str
    text: str
    memref: Memref


def find(text: str, atom: Atom | None = None, tiling: Tiling | None = None) -> Stated | None:
    """The one copy that a text states, by `atom` or the instruction that it names; None where it is open.

    Of three or more tensors the text has to call the copy, `copy(atom, SRC, DST)`, by their names. Both
    are the views of one thread; or, of a `tiling`, whole tiles, whose first mode is no single instruction.
    """
    if len(text) > _LONGEST:
        return None
    tensors = list(dict.fromkeys(_tensors(text)))
    call = next(_called(text, tensors), None)
    pairs = [call] if call else list(permutations(tensors, 2)) if _are_operands(text, tensors) else []
    for src, dst in pairs:
        for one in (atom,) if atom else _atoms(text, src.memref):
            if _moves(one, src.memref, dst.memref):
                return Stated(src.text, dst.text, one)
            if tiling and one.spaces in (None, (src.memref.space, dst.memref.space)) and _are_tiles(src, dst):
                return Stated(src.text, dst.text, one, tiling)
    return None


def _are_operands(text: str, tensors: list[_Tensor]) -> bool:
    """Whether a text has two tensors, and sets neither against the other, as "expected A but got B" does."""
    if len(tensors) != _PAIR:
        return False
    start, end = sorted(text.index(one.text) for one in tensors)
    between = text[start:end]
    return _AGAINST.search(between) is None and _EXPECTED.search(text, max(0, start - _NEAR), start) is None


def unproved(text: str, atom: Atom | None, side: str, need: int) -> str:
    """What keeps a printed tensor from the `need` bits of alignment asked of `side`; "" where nothing does.

    The tensor is the one of the memory space that the atom has on this side, or the only one of the text.
    """
    spaces = atom.spaces if atom else None
    printed = [one.memref for one in _tensors(text[:_LONGEST])]
    fitting = [one for one in printed if spaces and one.space == spaces[side == "dst"]] or printed
    if len(set(fitting)) != 1:
        return ""
    memref, elements = fitting[0], max(1, need // fitting[0].dtype.bits)
    told = [f"its pointer is align<{memref.align_bytes}>"] if align_bits(memref) % need else []
    every = leaves(memref.layout)
    adjacent = next((path for path, _, stride in every if stride == 1), None)
    for path, extent, stride in every:
        if extent != 1 and divisor(stride) % elements and path != adjacent:
            known = " and is not known to be one" if isinstance(stride, Dynamic) else ""
            told.append(f"the stride {stride} of mode {dotted(path)} is no multiple of {elements}{known}")
    return f"The text prints {memref}: {'; '.join(told)}" if told else ""


def _tensors(text: str) -> Iterator[_Tensor]:
    """The printed tensors in memory, each with the name before it."""
    for count, found in enumerate(_PRINTED.finditer(text)):
        if count == _MOST:
            return
        scan = Scanner(text, found.start("tensor"))
        try:
            memref = read_operand(scan, Defaults())
        except InputError:
            continue
        if not isinstance(memref, OtherOperand):
            yield _Tensor(found["name"] or "", text[found.start("tensor") : scan.pos].strip(), memref)


def _called(text: str, tensors: list[_Tensor]) -> Iterator[tuple[_Tensor, _Tensor]]:
    """The pairs that a call of the text copies from and to."""
    by_name = {one.name: one for one in tensors if one.name}
    for call in _CALL.finditer(text):
        if call["src"] in by_name and call["dst"] in by_name:
            yield by_name[call["src"]], by_name[call["dst"]]


def _atoms(text: str, src: Memref) -> Iterator[Atom]:
    """The instructions that the text names, the particular first, of the width that it names."""
    widths = {int(one["bits"] or one["said"]) for one in _WIDTH.finditer(text)}
    widths |= {8 * int(one["bytes"]) for one in _BYTES.finditer(text)}
    bits = widths.pop() if len(widths) == 1 else None
    for words, name in _INSTRUCTIONS:
        found = words.search(text)
        if found is None:
            continue
        try:
            yield named_atom(name or found[0], src.dtype, bits)
        except InputError:
            continue


def _moves(atom: Atom, src: Memref, dst: Memref) -> bool:
    """Whether the atom copies from the one memory space to the other, and both are a thread's views."""
    if atom.by_engine or atom.spaces not in (None, (src.space, dst.space)):
        return False
    bits = atom.width_bits if isinstance(atom, ThreadAtom) else 0
    return all(_is_view(one, bits // one.dtype.bits) for one in (src, dst))


def _are_tiles(src: _Tensor, dst: _Tensor) -> bool:
    """Whether two tensors of different memory are tiles of plain modes, and of one shape."""
    shape = src.memref.layout.shape
    plain = isinstance(shape, tuple) and all(isinstance(one, int) for one in shape)
    return plain and shape == dst.memref.layout.shape and src.memref.space != dst.memref.space


def _is_view(tensor: Memref, elements: int) -> bool:
    """Whether the first mode is a thread's values: of one instruction, or nested as partitions are."""
    shape = tensor.layout.modes[0].shape
    return isinstance(shape, tuple) or shape == elements
