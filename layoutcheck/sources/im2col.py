"""A convolution as a user gives it to an im2col copy: `filter=(3,3) padding=(1,1) stride=(2,2)`, W first.

`filter`, `padding`, `stride` and `dilation` are the layer's; the corners that `make_im2col_tma_atom` takes
follow from them, as in the DSL's own helper `make_im2col_tma_atom_A`. `lower_corner`, `upper_corner`,
`lower_padding`, `upper_padding` and `lower_srt` may be given instead, by the DSL's names, and win.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from layoutcheck.algebra.inttuple import flatten
from layoutcheck.algebra.layout import Layout
from layoutcheck.algebra.notation import parse_tree
from layoutcheck.atoms.tma import TmaCopy
from layoutcheck.atoms.tma.im2col import channel_mode
from layoutcheck.copies.copy import Im2col
from layoutcheck.errors import InputError

_EXPECTED = "'filter=(3,3) padding=(1,1) stride=(2,2) dilation=(1,1)', or corners by the DSL's names"
_NAMES = (
    "filter", "padding", "stride", "dilation", "lower_corner", "upper_corner", "lower_padding",
    "upper_padding", "lower_srt",
)  # fmt: skip
_ALSO = {
    "lower_corner_whd": "lower_corner", "upper_corner_whd": "upper_corner", "stride_whd": "stride",
    "lower_padding_whd": "lower_padding", "upper_padding_whd": "upper_padding", "stride_srt": "dilation",
}  # fmt: skip
_PART = re.compile(r"\s*,?\s*(\w+)\s*[=:]\s*(-?[0-9]+|\([^()]*\))\s*")
_MOST = 1 << 31


def read_im2col(given: Any, gmem: Layout, atom: TmaCopy) -> Im2col | None:
    """The convolution of an im2col atom, by default of a filter of one tap; None for other atoms.

    Raises InputError for what is no convolution over the tensor's spatial modes.
    """
    if atom.mode != "im2col":
        if given is not None:
            raise InputError("--im2col is for im2col copies only", expected="--atom im2col_tma_load")
        return None
    channel_mode(gmem)
    spatial = len(flatten(gmem.shape)) - 2
    if isinstance(given, Im2col):
        found = given
    elif atom.kind == "store":
        if given is not None:
            raise InputError("an im2col store takes no filter: it is im2col_no_offs", expected="no im2col")
        found = _made({}, spatial)
    else:
        found = _made(_named(given), spatial)
    sizes = {len(getattr(found, name)) for name in Im2col.__slots__}
    if sizes != {spatial}:
        raise InputError(f"{spatial} numbers for the {spatial} spatial modes of {gmem}", expected=_EXPECTED)
    if min(found.stride) < 1 or 0 in found.dilation:
        raise InputError("a stride is at least 1, and a dilation is not 0", expected=_EXPECTED)
    return found


def _named(given: Any) -> dict[str, Any]:
    if given is None:
        return {}
    if isinstance(given, Mapping):
        return dict(given)
    text, at, out = str(given), 0, {}
    while at < len(text):
        part = _PART.match(text, at)
        if part is None:
            raise InputError("no convolution", text=text, start=at, end=len(text), expected=_EXPECTED)
        if part[1] in out:
            raise InputError(
                f"{part[1]} is given twice",
                text=text,
                start=part.start(1),
                end=part.end(),
                expected="one of them",
            )
        out[part[1]] = part[2]
        at = part.end()
    return out


def _made(given: dict[str, Any], spatial: int) -> Im2col:
    told = {}
    for name, value in given.items():
        known = _ALSO.get(name, name)
        if known not in _NAMES:
            raise InputError(f"unknown part '{name[:40]}' of a convolution", expected=", ".join(_NAMES))
        told[known] = _numbers(name, value, spatial)

    def part(name: str, otherwise: tuple[int, ...]) -> tuple[int, ...]:
        return told.get(name, otherwise)

    taps, padding = part("filter", (1,) * spatial), part("padding", (0,) * spatial)
    stride, dilation = part("stride", (1,) * spatial), part("dilation", (1,) * spatial)
    if any(n < 1 for n in taps):
        raise InputError("a filter has at least one tap along each dimension", expected=_EXPECTED)
    below, above = part("lower_padding", padding), part("upper_padding", padding)
    reach = [(n - 1) * abs(d) for n, d in zip(taps, dilation, strict=True)]
    corner = part("lower_corner", tuple(-n for n in below))
    upper = tuple(n - r for n, r in zip(above, reach, strict=True))
    backwards = [r if d < 0 else 0 for r, d in zip(reach, dilation, strict=True)]  # the first tap is the last
    if "lower_padding" not in told:  # which counts the taps that run backwards
        below = tuple(c + r if r else n for c, r, n in zip(corner, backwards, below, strict=True))
    return Im2col(
        corner,
        part("upper_corner", upper),
        below,
        above,
        stride,
        part("lower_srt", tuple(backwards)),
        dilation,
    )


def _numbers(name: str, value: Any, spatial: int) -> tuple[int, ...]:
    """One number a spatial mode; a bare one stands for all."""
    tree = parse_tree(value) if isinstance(value, str) else value
    flat = flatten(tuple(tree) if isinstance(tree, (list, tuple)) else (tree,) * spatial)
    if len(flat) != spatial or not all(type(n) is int and abs(n) < _MOST for n in flat):
        raise InputError(f"{name} {value} is not {spatial} whole numbers", expected=_EXPECTED)
    return flat
