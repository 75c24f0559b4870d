"""What the calls of the layout algebra in a text come to, where their arguments stand in numbers: a result, or the mode in the way."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias

from layoutcheck import algebra
from layoutcheck.algebra import Layout, parse_any_layout, parse_layout, parse_tile, parse_tree
from layoutcheck.algebra.notation import print_tile
from layoutcheck.brackets import closing, split
from layoutcheck.errors import InputError

Made: TypeAlias = Callable[[str], "Layout | None"]
_MOST = 3  # calls
_LONGEST = 300  # characters of one
_STATIC = re.compile(r"\b_(?=[0-9])|\b(?:Int<(?=[0-9]+>)|C<(?=[0-9]+>))|(?<=[0-9])>(?: ?\{\})?|\{\}")
NO_RESULT = "has no result"
_REFUSES = re.compile(r"(?i)divisib|\bdivides?\b|make_layout ?\(|\bLayout ?<")  # what a compiler may
_OLDER = ": where a compiler refuses it, its CuTe is older, and asks that the strides of the second divide the first's extents from the left"


def _tiler(text: str) -> Any:
    return parse_layout(text) if ":" in text and not text.startswith("[") else parse_tile(text)


# Each function of CuTe with how its arguments are read.
_READ: dict[str, tuple[Callable[[str], Any], ...]] = {
    "composition": (parse_layout, _tiler),
    **dict.fromkeys(
        ("logical_divide", "zipped_divide", "tiled_divide", "flat_divide"), (parse_layout, _tiler)
    ),
    **dict.fromkeys(
        (
            "logical_product",
            "zipped_product",
            "tiled_product",
            "flat_product",
            "blocked_product",
            "raked_product",
        ),
        (parse_layout, parse_layout),
    ),
    "complement": (parse_layout, parse_tree),
    "crd2idx": (parse_tree, parse_layout),
    "tile_to_shape": (parse_any_layout, parse_tree),
    **dict.fromkeys(("coalesce", "right_inverse", "left_inverse", "cosize", "size"), (parse_layout,)),
}
CALL = re.compile(rf"\b(?:cute(?:\.|::))?(?P<name>{'|'.join(_READ)}) ?(?=\()")


_TREE = r"(?:[0-9]+|\([0-9_(][0-9_,() ]*\))"
_JOINED = re.compile(
    rf"(?P<left>{_TREE}:{_TREE}) ?(?: o |∘) ?(?P<right>{_TREE}:{_TREE})".replace("[0-9]+|", "_?[0-9]+|")
)
_SPOKEN = re.compile(
    rf"(?i)\b(?P<name>{'|'.join(_READ).replace('_', '[_ ]')}) of (?P<first>{_TREE}(?::{_TREE})?)(?: (?:with|and|by|in|over) (?P<second>{_TREE}(?::{_TREE})?))?"
)  # "composition of A with B"


def facts(text: str, made: Made) -> list[str]:
    """Each call whose arguments are numbers, or layouts that `made` knows by name or makes in place, with its result."""
    return list(dict.fromkeys(_evaluated(text, made)))[:_MOST]


def stand_in(text: str) -> bool:
    """Whether a text has a call, or layouts that are composed."""
    return bool(CALL.search(text) or _JOINED.search(text) or _SPOKEN.search(text))


def _evaluated(text: str, made: Made) -> Iterator[str]:
    older = _OLDER if _REFUSES.search(text) else ""
    for joined in _JOINED.finditer(text):
        yield from _applied("composition", (joined["left"], joined["right"]), made, older)
    for spoken in _SPOKEN.finditer(text):
        name = spoken["name"].lower().replace(" ", "_")
        yield from _applied(name, [one for one in (spoken["first"], spoken["second"]) if one], made, older)
    for found in CALL.finditer(text):
        try:
            given = split(text[found.end() + 1 : closing(text, found.end(), found.end() + _LONGEST) - 1])
        except InputError:
            continue
        if any(
            one.strip("'\"(){}_ ,0123456789?") for one in given
        ):  # numbers alone: the size of something else
            yield from _applied(found["name"], given, made, older)


def _applied(name: str, given: Sequence[str], made: Made, older: str) -> Iterator[str]:
    """What a function comes to; nothing where an argument is missing or cannot be read."""
    readers = _READ[name]
    if len(given) != len(readers):
        return
    try:
        read = [_argument(one.strip(), reader, made) for one, reader in zip(given, readers, strict=True)]
    except InputError:
        return
    said = f"{name}({', '.join(map(_written, read))})"
    try:
        result = getattr(algebra, name)(*read)
    except InputError as error:
        yield f"{said} {NO_RESULT}: {error.message}"
    else:
        yield f"{said} is {result}{older if name == 'composition' else ''}"


def _written(read: Any) -> str:
    """An argument as a text has it, a tiler of layouts in its own notation."""
    of_layouts = isinstance(read, tuple) and any(part is None or isinstance(part, Layout) for part in read)
    return print_tile(read) if of_layouts else str(read).replace(" ", "")


def _argument(text: str, reader: Callable[[str], Any], made: Made) -> Any:
    """An argument as it is made, or as it stands. Raises InputError where it holds names of values."""
    known = None if reader is parse_tree else made(text)
    return reader(_STATIC.sub("", text).strip("'\"")) if known is None else known
