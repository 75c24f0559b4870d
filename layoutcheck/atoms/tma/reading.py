"""`!cute_nvgpu.atom.tma_load<...>`, `tma_store`, `tma_reduce` and their forms before `make_exec_tma`.

Short `tma_load`, `tma_store`, `tma_reduce`: the atom that `make_tiled_tma_atom` makes of the two tensors;
`im2col_tma_load`, `im2col_tma_store`: that of `make_im2col_tma_atom`; `tma_gather4`, `tma_scatter4`: that of
the operations of four rows, with an index tensor.
"""

from __future__ import annotations

import re

from layoutcheck.algebra.layout import Layout
from layoutcheck.algebra.notation import Scanner, read_layout
from layoutcheck.atoms.reading import NAME, NUMBER, WORD, Reading, Short, UnknownAttribute, read_dtype
from layoutcheck.atoms.tma import KINDS, TmaCopy
from layoutcheck.copies.atom import Atom
from layoutcheck.digits import is_number

_PLAIN = {f"tma_{kind}": kind for kind in KINDS}
_IM2COL = ("im2col_tma_load", "im2col_tma_store")
_INDEXED = {"tma_gather4": "load", "tma_scatter4": "store"}
_NON_EXEC = {f"non_exec_{mode}_tma_{kind}": (mode, kind) for mode in ("tiled", "im2col") for kind in KINDS}
_NON_EXEC |= {name: ("im2col", name.removeprefix("im2col_tma_")) for name in _IM2COL}
_NON_EXEC |= {"non_exec_2d_gather4_tma_load": ("gather4", "load")}
_NON_EXEC |= {"non_exec_2d_scatter4_tma_store": ("scatter4", "store")}
_LEAD = re.compile(r"(?!bf16\b|f16\b|f32\b|tf32\b|f64\b)(?:sm_\w+|[A-Z]{2,}\w*)\s*,")  # the kind of operation
_QUOTED = re.compile(r'<\s*"([^"]*)"\s*>')


def _read(scan: Scanner, name: str) -> Atom:
    """`ELEMENT, key = value ...`: commas come and go between the attributes, so they are all optional."""
    start = scan.pos
    attributes: list[tuple[str, str]] = []
    mode, kind = _NON_EXEC.get(name, ("tiled", _PLAIN.get(name, "")))
    while found := scan.match(_LEAD):
        attributes.append(("kind", found[0].rstrip(", \t")))
    element = read_dtype(scan)
    gbasis: Layout | None = None
    bits, ctas = 0, 1
    while not scan.accept(">"):
        scan.accept(",")
        key = scan.need("unexpected text in the atom", "'key = value' or '>'", NAME)
        scan.expect("=", f"'=' after {key[0]}")
        if key[0] == "tma_gbasis":
            scan.expect("<")
            scan.expect('"')
            gbasis = read_layout(scan)
            scan.expect('"')
            scan.expect(">")
            continue
        value = scan.need("no value", f"the value of {key[0]}", _QUOTED, WORD, NUMBER)
        text = value[0]
        if key[0] == "copy_bits" and is_number(text):
            bits = int(text)
        elif key[0] == "num_cta" and is_number(text):
            ctas = int(text)
        elif key[0] == "mode":
            mode = text
        else:
            attributes.append((key[0], text))
    if gbasis is None or not bits:
        raise UnknownAttribute
    whole = " ".join(f"!cute_nvgpu.atom.{name}<{scan.text[start : scan.pos]}".split())
    return TmaCopy(kind, element, gbasis, bits, mode, ctas, tuple(attributes), whole)


def _build(short: Short) -> Atom | None:
    name = short.family.removeprefix("im2col_").removeprefix("tma_")
    mode = "im2col" if short.family in _IM2COL else name if short.family in _INDEXED else "tiled"
    kind = _INDEXED.get(short.family, name)
    known = {"multicast": ("mcast", "true")} if kind == "load" else {}
    if mode == "tiled" and kind != "reduce":
        known["override"] = ("override", "true")
    if len({*short.options}) != len(short.options) or not {*short.options} <= known.keys():
        return None
    return TmaCopy(kind, short.element, mode=mode, attributes=tuple(known[one] for one in short.options))


READING = Reading(
    since=90,
    readers=dict.fromkeys((*_PLAIN, *_NON_EXEC), _read),
    names=(*_PLAIN, *_IM2COL, *_INDEXED),
    build=_build,
    shown=("tma_load", "tma_load.multicast", "tma_store", "tma_reduce", *_IM2COL, *_INDEXED),
    classes={
        "copybulktensortileg2sop": "tma_load",
        "copybulktensortileg2smulticastop": "tma_load.multicast",
        "copybulktensortiles2gop": "tma_store",
        "copybulktensortileg2soverrideop": "tma_load.override",
        "copybulktensortileg2smulticastoverrideop": "tma_load.multicast.override",
        "copybulktensortiles2goverrideop": "tma_store.override",
        "copyreducebulktensortiles2gop": "tma_reduce",
        "copybulktensorim2colg2sop": "im2col_tma_load",
        "copybulktensorim2colg2smulticastop": "im2col_tma_load.multicast",
        "copybulktensorim2cols2gop": "im2col_tma_store",
        "copybulktensor2dgather4g2sop": "tma_gather4",
        "copybulktensor2dgather4g2smulticastop": "tma_gather4.multicast",
        "copybulktensor2dscatter4s2gop": "tma_scatter4",
    },
)
