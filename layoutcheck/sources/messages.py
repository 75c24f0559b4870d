"""What the verifier's messages mean, for pastes that hold a message without the operand types.

Wordings measured on DSL 4.2.1, 4.3.5, 4.5.0 and 4.8.1. White space is ignored in matching: terminals wrap.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from layoutcheck.algebra import parse_tree
from layoutcheck.catalogue import reasons
from layoutcheck.copies.predicate import surplus
from layoutcheck.digits import is_number
from layoutcheck.errors import InputError
from layoutcheck.machine.dtypes import dtype

SHOW_TYPES = (
    "`layoutcheck trace --no-launch SCRIPT` sees them, judges the copy and needs no GPU. Or run the "
    "program with CUTE_DSL_SHOW_STACKTRACE=1 and paste everything: the message then holds the types"
)
PRINT_THEM = (
    "print(src) and print(dst) before the line, and give what they print: "
    "layoutcheck explain SRC DST --atom ATOM"
)


@dataclass(frozen=True, slots=True)
class Explanation:
    """`code` is the rule's; `title` one line; `meaning` the reason; `evidence` the numbers in the message."""

    code: str
    title: str
    meaning: str
    operand: str | None = None
    evidence: dict[str, Any] = field(default_factory=dict)


class _Wording(NamedTuple):
    """`pattern` is matched against the message without white space; `title` is formatted with its groups.

    Only a copy's message says what is `alone`; other operations and tools have the other words, too.
    """

    pattern: str
    code: str
    title: str
    meaning: str
    alone: bool = True


_ALIGNMENT = (
    "The compiler believes types, not addresses: align<> of the base pointer, and the strides of every slice "
    "and partition. What is missing, most often first: the promise itself (assumed_align={bytes} in "
    "from_dlpack or make_ptr, byte_alignment={bytes} of a shared allocation); a divisor of a run-time stride "
    "(mark_compact_shape_dynamic(..., divisibility={elements}), cute.assume(stride, divby={elements})); an "
    "offset added to an "
    "iterator, where a slice of a divided layout would keep the proof. If this side is not contiguous along "
    "the copied mode (a transposed view), its addresses really are not aligned and no promise helps."
)
_MATRIX = re.compile(r"ldsm|stsm|ldmatrix|stmatrix")
_ROWS = (
    "ldmatrix and stmatrix move rows of 16 bytes, {elements} elements: each row of the shared layout begins "
    "at a multiple of 16 bytes, and its swizzle keeps 16 bytes together (in elements Swizzle<B,M,S> with M "
    "of {base} or more; the unit's make_smem_layout_atom has such layouts). "
)
_VECTOR = (
    "One instruction moves adjacent elements. The first mode of both views must be contiguous for as many "
    "elements as the atom moves, on the source and on the destination."
)
_SHAPES = "Source and destination must have the same static size in every mode."
_MODES = (
    "cute.copy pairs the modes of both views: V, then the rest, which count a thread's atoms. One side still "
    "has a mode that the other does not have (a stage, a k tile: slice it), or the two tiles differ."
)
_WIDTHS = "Copies move bits: both sides need elements of the same width. Convert in registers."
_TMA_TILE = (
    "tma_partition takes one tile of each tensor in mode 0: local_tile the global one, slice off a stage of "
    "the shared one, and group_modes(tensor, 0, rank) both."
)

_WORDINGS = (
    _Wording(
        r"(?P<operand>src|dst|S/D|S|D)ptralignment\((?P<have>[0-9]+)bits\)doesnotmeetrequirement\((?P<need>[0-9]+)bits\)",
        "LC101",
        "{operand} is proved aligned to {have} bits, and the atom needs {need}",
        _ALIGNMENT,
    ),
    _Wording(
        r"alignmentdoesnotmeetrequirement",
        "LC101",
        "one of the two pointers is not proved aligned to the width of the atom",
        _ALIGNMENT,
    ),
    _Wording(
        r"expects(?P<operand>src|dst)ptrbitalignmenttobedivisiblebycopy_bits\((?P<need>[0-9]+)\),butgot(?P<have>[0-9]+)",
        "LC101",
        "{operand} is proved aligned to {have} bits, and the atom needs {need}",
        _ALIGNMENT,
    ),
    _Wording(
        r"can'?n?o?tvectorized?copyto(?P<elements>[0-9]+)elements",
        "LC102",
        "{elements} elements of one vector are not adjacent on both sides",
        _VECTOR,
    ),
    _Wording(
        r"expectsatomstridesofsrcanddsttobestaticandequalto1",
        "LC102",
        "the elements of one vector are not adjacent on both sides",
        _VECTOR,
    ),
    _Wording(
        r"'cp_size'onlysupports\((?P<supported>[0-9,]+)\),butgot(?P<need>[0-9]+)",
        "LC103",
        "cp.async has no copy of {need} bits (it has {supported})",
        "cp.async moves 4, 8 or 16 bytes at a time, and only 16 when it bypasses L1 (cache = global).",
    ),
    _Wording(
        r"expect(?:s|ed)copy_bits(?:tobe(?:oneof|0|apower)|>)|LDSM/STSMisnotsupported",
        "LC103",
        "the atom has no instruction of this width or form",
        "The width or the matrix form asked for does not exist for this atom.",
    ),
    _Wording(
        r"(?P<operand>src|dst)expects(?P<expected>\w{1,40})basedmemref,butgot(?P<space>\w+)",
        "LC104",
        "{operand} is in {space}, and the atom needs it in {expected} memory",
        "A copy atom moves data between fixed memory spaces. A tensor made of a pointer without a space is "
        "'generic': state gmem when the tensor is made.",
    ),
    _Wording(
        r"needs?be(?:shared|tmem|non-tmem|CoordTensor|reg)",
        "LC104",
        "the operands are not in the memory spaces of this atom",
        "A copy atom moves data between fixed memory spaces.",
        alone=False,
    ),
    _Wording(
        r"expectssamesizein(?:rank(?P<mode>[0-9]+)|restAtomVRank)(?:butgotsrcShape:(?P<src>[0-9(),?]+)anddstShape:(?P<dst>[0-9(),?]+))?",
        "LC105",
        "source and destination differ in size",
        _SHAPES,
        alone=False,
    ),
    _Wording(
        r"tohavethesamerank,butgot(?P<src>[0-9]+)and(?P<dst>[0-9]+)",
        "LC105",
        "the source has {src} modes, the destination {dst}",
        _MODES,
        alone=False,
    ),
    _Wording(
        r"tohavethesamesizeinmode-(?P<mode>[0-9]+),butgot(?P<src>[0-9]+)and(?P<dst>[0-9]+)",
        "LC105",
        "after V the source has {src} atoms, the destination {dst}",
        _MODES,
    ),
    _Wording(
        r"expectsthesizeofsource,destination,andpredicate", "LC105", "the tensors differ in size", _SHAPES
    ),
    _Wording(r"tobestaticallyshaped", "LC105", "a shape is known only at run time", _SHAPES, alone=False),
    _Wording(
        r"smemandgmemhavethesamesizeinthefirstrank,butgotsmemShape:(?P<smem>[0-9(),?]+)andgmemShape:(?P<gmem>[0-9(),?]+)",
        "LC113",
        "mode 0 of the shared tensor is {smem}, of the global one {gmem}",
        _TMA_TILE,
    ),
    _Wording(
        r"shapeequivalencebetweentheSMEMlayoutandtheCTAV-map",
        "LC113",
        "the shared layout does not have the tiler's modes",
        "make_tiled_tma_atom wants a shared layout with a mode of the same size for each mode of the tiler: "
        "cute.tile_to_shape(atom, tiler, order). For an operand of an MMA, or its scale factors, make the "
        "shared layout from the mma_tiler that the atom gets (make_smem_layout_a, _b, _sfa, _sfb), and take "
        "one stage of it.",
    ),
    _Wording(
        r"shared-memoryoperandstrideatmode[0-9]+(?:leaf[0-9]+)?is(?P<bits>-?[0-9]+)bits,"
        r"notamultipleoftherequired128-bit",
        "LC113",
        "behind V the shared tensor has a stride of {bits} bits, a part of 16 bytes",
        "Everything behind mode 0 counts boxes, and boxes begin at multiples of 16 bytes or more. Often "
        "the tile was never grouped into mode 0, and its own columns are taken for boxes. " + _TMA_TILE,
    ),
    _Wording(
        r"unabletopartitioninputtensorsforTMA",
        "LC113",
        "the box of the tensor map is not found in the shared tensor",
        "Most often a composed layout, which older DSLs do not take: give the swizzle to the "
        "pointer, allocate_tensor(dtype, layout.outer, byte_alignment=1024, swizzle=layout.inner) "
        "(NVIDIA/cutlass#2345). Otherwise TMA does not have the layout or the swizzle. " + _TMA_TILE,
    ),
    _Wording(
        r"gmem_(?:coord|index)_layout(?:mustbe2D|rankmustmatch|(?:gather|scatter)modesize)"
        r"|gmem_coord_tensorisrequired|Gather/ScatteronlyexpectsTMAG-basiswithrank2",
        "LC115",
        "the operands are not a tensor of rows with an index for each row",
        "A gather4 or scatter4 takes a global tensor of two modes that stay two in the tensor map. Its "
        "gmem_coord_tensor has a row number for each row, at least four: "
        "cute.make_layout((R, C), stride=(1, 0)) if rows are contiguous along mode 1.",
    ),
    _Wording(
        r"make_non_exec_im2col_tma_(?:load|store)'opoperand#1mustbeCuTecomposedlayouttype",
        "LC113",
        "the shared layout of an im2col copy is not composed with a swizzle",
        "The DSL does not take a plain layout here: cute.make_composed_layout(cute.make_swizzle(0, 4, 3), 0, "
        "layout) is one without a swizzle.",
    ),
    _Wording(
        r"expectsarchtobeatleast(?P<first_arch>sm_[0-9]+),butgot(?P<arch>sm_[0-9]+[af]?)",
        "LC108",
        "{arch} does not have this instruction",
        "The DSL compiles for CUTE_DSL_ARCH, or else for the GPU of this machine. Compile for an "
        "architecture that has the instruction, or take another atom.",
        alone=False,
    ),
    _Wording(r"src\.rank\(\)", "LC105", "source and destination differ in rank", _SHAPES, alone=False),
    _Wording(r"tohavestaticshape", "LC105", "a shape is known only at run time", _SHAPES, alone=False),
    _Wording(
        r"thesameelementsize|elementtohavesizeequalto|npow2sub-bytetype|elementtypebitwidth",
        "LC106",
        "the element types differ in width, or the atom cannot hold them",
        _WIDTHS,
        alone=False,
    ),
    _Wording(
        r"expectspred|expectscopy_bitstobe:[0-9]+butgot",
        "LC107",
        "the predicate does not fit the copy",
        "With a nested first mode ((atom, rest), ...) the predicate has one entry for each rest coordinate; "
        "with a flat one it needs an entry for every element.",
        alone=False,
    ),
)


_SIDES = {"src": "the source", "S": "the source", "dst": "the destination", "D": "the destination"}


def is_message(text: str) -> bool:
    """Whether lines that may miss the operation's name hold what only the verifier of a copy says."""
    squeezed = "".join(text.split())
    return any(wording.alone and re.search(wording.pattern, squeezed) for wording in _WORDINGS)


def explain(message: str) -> Explanation | None:
    """What a verifier's message means; None for one that is not known."""
    squeezed = "".join(message.split())
    for wording in _WORDINGS:
        found = re.search(wording.pattern, squeezed)
        if found is None:
            continue
        facts: dict[str, Any] = {k: v for k, v in found.groupdict().items() if v is not None}
        operand = {"S": "src", "D": "dst"}.get(facts.get("operand", ""), facts.get("operand"))
        side = _SIDES.get(facts.get("operand", ""), "an operand")
        title = wording.title.format(**{**facts, "operand": side})
        units = {"have": "have_bits", "need": "need_bits"}
        evidence = {
            units.get(key, key): int(value) if is_number(value) else value
            for key, value in facts.items()
            if key != "operand"
        }
        return Explanation(
            wording.code,
            title,
            _with_numbers(wording.meaning, squeezed, facts)
            if wording.meaning is _ALIGNMENT
            else _differing(squeezed) + _beyond(squeezed) + wording.meaning,
            operand if operand in ("src", "dst") else None,
            evidence,
        )
    return None


def of_family(message: str) -> Explanation | None:
    """What a message without a wording of its own means, by its family; None for none."""
    family = reasons.find(message)
    if family is None:
        return None
    return Explanation("LC100", "the compiler refuses this copy", f"{family.cause} {family.helps}.")


def _with_numbers(meaning: str, message: str, facts: dict[str, Any]) -> str:
    """The promise in bytes, and in elements of the atom's type; where the message has neither, 16 of 2."""
    bits = int(facts.get("need", 128))
    atom = re.search(r"(?:(?:!cute_nvgpu\.atom\.|ofatom['`]?)\w+<|val_type=)(\w+),", message)
    try:
        width = dtype(atom[1]).bits if atom else 16
    except InputError:
        width = 16
    rows = (
        _ROWS.format(elements=128 // width, base=(128 // width).bit_length() - 1)
        if _MATRIX.search(message)
        else ""
    )
    return (
        _proved(int(facts.get("have", 0)), bits, width if atom else 0, narrower=not rows)
        + rows
        + meaning.format(bytes=max(1, bits // 8), elements=max(1, bits // width))
    )


def _proved(have: int, need: int, width: int, *, narrower: bool) -> str:
    """What an alignment of `have` bits comes from, in elements of `width` bits; "" where it tells nothing.

    `narrower` says whether the copy could move fewer bits at once.
    """
    if not (width and have) or have % width:
        return ""
    if have == width:
        return (
            "A single element's alignment is all that is known: the vector runs along a mode of another "
            "stride than 1 (values laid along the wrong mode, a transposed view), or nothing is promised. "
        )
    return (
        f"Addresses are known to be multiples of {have // 8} bytes, {have // width} elements: a stride or "
        f"offset, so often a row's pitch, is no multiple of {need // width} elements. Pad it"
        f"{f', or move {have} bits at once' if narrower else ''}. "
    )


_LAYOUT = re.compile(r"!cute\.(?:composed_)?layout<\"(?:S<[0-9,]+>o[^\"()]{1,20}o)?([^\":]{1,300}):")


def _differing(message: str) -> str:
    """In which mode the shared layout and the tile of a message differ in size; "" where it lacks either."""
    shapes = _LAYOUT.findall(message)
    try:
        first, second = map(parse_tree, shapes)
    except (InputError, ValueError):  # not two
        return ""
    if any("?" in shape for shape in shapes):
        return ""
    path: list[int] = []
    while isinstance(first, tuple) and isinstance(second, tuple) and len(first) == len(second):
        pairs = zip(first, second, strict=True)
        at = next((at for at, (one, other) in enumerate(pairs) if _size(one) != _size(other)), None)
        if at is None:
            return ""
        path.append(at)
        first, second = first[at], second[at]
    if _size(first) == _size(second):
        return ""
    mode = ".".join(map(str, path)) or "all"
    return f"Mode {mode} is {_written(first)} in the shared layout and {_written(second)} in the tile. "


_PREDICATE = re.compile(
    r"compatibleshapewith:(?P<want>[0-9(),]{1,200})butgotactualpredShape:(?P<got>[0-9(),]{1,200})"
)


def _beyond(message: str) -> str:
    """Which mode the predicate of a message has beyond what is asked; "" for any other message."""
    found = _PREDICATE.search(message)
    try:
        said = surplus(parse_tree(found["want"]), parse_tree(found["got"])) if found else ""
    except InputError:  # cut off
        return ""
    return f"{said}. " if said else ""


def _size(shape: Any) -> int:
    return math.prod(map(_size, shape)) if isinstance(shape, tuple) else int(shape)


def _written(shape: Any) -> str:
    """`(16,(4,2)) (128 elements)`."""
    return f"{str(shape).replace(' ', '').replace(',)', ')')} ({_size(shape):,} elements)"
