"""What the verifier's messages mean, for pastes that hold a message without the operand types.

Wordings measured on DSL 4.2.1, 4.3.5, 4.5.0 and 4.8.1. White space is ignored in matching: terminals wrap.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

SHOW_TYPES = "Run it again with CUTE_DSL_SHOW_STACKTRACE=1 and paste everything: the types are then in it"


@dataclass(frozen=True, slots=True)
class Explanation:
    """`code` is the rule's; `title` one line; `meaning` the reason; `evidence` the numbers in the message."""

    code: str
    title: str
    meaning: str
    operand: str | None = None
    evidence: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Wording:
    pattern: re.Pattern[str]
    code: str
    title: str
    meaning: str


def _wording(pattern: str, code: str, title: str, meaning: str) -> _Wording:
    """`pattern` is matched against the message without white space; `title` is formatted with its groups."""
    return _Wording(re.compile(pattern), code, title, meaning)


_ALIGNMENT = (
    "An instruction needs addresses that are multiples of its size. The compiler proves alignment "
    "from the type of the base pointer and from the strides of each slice and partition; where a thread's "
    "offset is one element, the proof drops to the size of one element. Either the addresses really are not "
    "aligned (then the layouts of the two sides do not fit this atom), or they are and nobody said so "
    "(assumed_align, cute.assume on a stride)."
)
_VECTOR = (
    "One instruction moves adjacent elements. The first mode of both views must be contiguous for as many "
    "elements as the atom moves, on the source and on the destination."
)
_SHAPES = "Source and destination must have the same static size in every mode."

_WORDINGS = (
    _wording(
        r"(?P<operand>src|dst|S/D|S|D)ptralignment\((?P<have>\d+)bits\)doesnotmeetrequirement\((?P<need>\d+)bits\)",
        "LC101",
        "{operand} is proved aligned to {have} bits, and the atom needs {need}",
        _ALIGNMENT,
    ),
    _wording(
        r"ptralignmentdoesnotmeetrequirement",
        "LC101",
        "one of the two pointers is not proved aligned to the width of the atom",
        _ALIGNMENT,
    ),
    _wording(
        r"expects(?P<operand>src|dst)ptrbitalignmenttobedivisiblebycopy_bits\((?P<need>\d+)\),butgot(?P<have>\d+)",
        "LC101",
        "{operand} is proved aligned to {have} bits, and the atom needs {need}",
        _ALIGNMENT,
    ),
    _wording(
        r"cannotvectorized?copyto(?P<elements>\d+)elements",
        "LC102",
        "{elements} elements of one vector are not adjacent on both sides",
        _VECTOR,
    ),
    _wording(
        r"expectsatomstridesofsrcanddsttobestaticandequalto1",
        "LC102",
        "the elements of one vector are not adjacent on both sides",
        _VECTOR,
    ),
    _wording(
        r"'cp_size'onlysupports\((?P<supported>[\d,]+)\),butgot(?P<need>\d+)",
        "LC103",
        "cp.async has no copy of {need} bits (it has {supported})",
        "cp.async moves 4, 8 or 16 bytes at a time, and only 16 when it bypasses L1 (cache = global).",
    ),
    _wording(
        r"expect(?:s|ed)copy_bits(?:tobe(?:oneof|0|apower)|>)|LDSM/STSMisnotsupported",
        "LC103",
        "the atom has no instruction of this width or form",
        "The width or the matrix form asked for does not exist for this atom.",
    ),
    _wording(
        r"(?P<operand>src|dst)expects(?P<expected>\w+)basedmemref,butgot(?P<space>\w+)",
        "LC104",
        "{operand} is in {space}, and the atom needs it in {expected} memory",
        "A copy atom moves data between fixed memory spaces. A tensor made of a pointer without a space is "
        "'generic': state gmem when the tensor is made.",
    ),
    _wording(
        r"needs?be(?:shared|tmem|non-tmem|CoordTensor|reg)",
        "LC104",
        "the operands are not in the memory spaces of this atom",
        "A copy atom moves data between fixed memory spaces.",
    ),
    _wording(
        r"expectssamesizein(?:rank(?P<mode>\d+)|restAtomVRank)(?:butgotsrcShape:(?P<src>[\d(),?]+)anddstShape:(?P<dst>[\d(),?]+))?",
        "LC105",
        "source and destination differ in size",
        _SHAPES,
    ),
    _wording(r"src\.rank\(\)", "LC105", "source and destination differ in rank", _SHAPES),
    _wording(r"tohavestaticshape", "LC105", "a shape is known only at run time", _SHAPES),
    _wording(
        r"(?:thesameelementsize|elementtohavesizeequalto|npow2sub-bytetype)",
        "LC106",
        "the element types differ in width, or the atom cannot hold them",
        "Copies move bits: both sides need elements of the same width. Convert in registers.",
    ),
    _wording(
        r"expectspred|expectscopy_bitstobe:\d+butgot",
        "LC107",
        "the predicate does not fit the copy",
        "With a nested first mode ((atom, rest), ...) the predicate has one entry for each rest coordinate; "
        "with a flat one it needs an entry for every element.",
    ),
)


def explain(message: str) -> Explanation | None:
    """What a verifier's message means; None for one that is not known."""
    squeezed = "".join(message.split())
    for wording in _WORDINGS:
        found = wording.pattern.search(squeezed)
        if found is None:
            continue
        facts: dict[str, Any] = {k: v for k, v in found.groupdict().items() if v is not None}
        operand = {"S": "src", "D": "dst"}.get(facts.get("operand", ""), facts.get("operand"))
        title = wording.title.format(**facts)
        units = {"have": "have_bits", "need": "need_bits"}
        evidence = {
            units.get(key, key): int(value) if value.isdigit() else value
            for key, value in facts.items()
            if key != "operand"
        }
        return Explanation(
            wording.code,
            title,
            wording.meaning,
            operand if operand in ("src", "dst") else None,
            evidence,
        )
    return None
