"""Types of the lowered module: how many bytes they take and where their parts lie.

LLVM's rules for NVPTX (https://llvm.org/docs/NVPTXUsage.html): natural alignment, pointers of 8 bytes in
every address space, a vector as many bits as its elements together.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache

from layoutcheck.algebra.integers import round_up
from layoutcheck.brackets import split
from layoutcheck.digits import is_number

GENERIC, GLOBAL, SHARED, CLUSTER, TENSOR = 0, 1, 3, 7, 6  # LLVM's numbers of NVPTX's address spaces

_SCALAR = re.compile(r"(?:i|f|bf|f8\w*?|f6\w*?|f4\w*?|tf)([0-9]+)")
_MATRIX = re.compile(r"vector<((?:[0-9]+x)+)(.+)>\Z", re.DOTALL)
_ARRAY = re.compile(r"array<([0-9]+)\s*x\s*(.+)>\Z", re.DOTALL)
_STRUCT = re.compile(r"struct<(?:\"[^\"]*\",?\s*)?(packed\s*)?\((.*)\)>\Z", re.DOTALL)
_POINTER = re.compile(r"ptr(?:<([0-9]+)>)?\Z")
_SMALL = {"f8": 8, "f6": 6, "f4": 4}


@dataclass(frozen=True, slots=True)
class Type:
    """`kind`: "scalar", "pointer", "vector", "array", "struct" or "other"; `parts`: an aggregate's types.

    `bits` is the width of a scalar and of a vector altogether; `count` the elements of a vector or array.
    `size_bytes` are those from one such value to the next in memory, `align_bytes` its natural alignment,
    `offsets` where the parts of a struct begin, and where the last ends.
    """

    kind: str
    bits: int = 0
    space: int = 0
    count: int = 0
    parts: tuple[Type, ...] = ()
    packed: bool = False
    size_bytes: int = field(init=False, compare=False)
    align_bytes: int = field(init=False, compare=False)
    offsets: tuple[int, ...] = field(init=False, compare=False, default=())

    def __post_init__(self) -> None:
        """Work out what every access asks for."""
        size, align = 0, 1 if self.packed else max((part.align_bytes for part in self.parts), default=1)
        if self.kind in ("scalar", "vector"):
            size = -(-self.bits // 8)
            align = 1 << max(0, (size - 1).bit_length())
        elif self.kind == "pointer":
            size = align = 8
        elif self.kind == "array":
            size = self.count * self.parts[0].size_bytes
        elif self.kind == "struct":
            object.__setattr__(self, "offsets", tuple(_offsets(self.parts, self.packed)))
            size = round_up(self.offsets[-1], align)
        object.__setattr__(self, "size_bytes", size)
        object.__setattr__(self, "align_bytes", align)

    @property
    def element_bits(self) -> int:
        """The width of a vector's element; of a scalar its own."""
        return self.parts[0].bits if self.kind == "vector" else self.bits

    def offset(self, index: int) -> int:
        """Bytes from the start of a struct to part `index`, of an array or vector to element `index`."""
        if self.kind == "struct":
            return self.offsets[min(index, len(self.parts))]
        return index * self.parts[0].size_bytes if self.parts else index

    def part(self, index: int) -> Type:
        """The type of a part."""
        return self.parts[index] if self.kind == "struct" else self.parts[0]


@lru_cache(maxsize=4096)
def parse_type(text: str) -> Type:
    """The type that `text` prints; kind "other" for what has no size here."""
    text = text.strip()
    text = text.removeprefix("!llvm.")
    if match := _POINTER.match(text):
        return Type("pointer", 64, int(match[1] or 0))
    if text == "index":
        return Type("scalar", 64)
    if text.startswith("vector<"):
        return _vector(text)
    if match := _ARRAY.match(text):
        return Type("array", count=int(match[1]), parts=(parse_type(match[2]),))
    if match := _STRUCT.match(text):
        return Type("struct", parts=tuple(map(parse_type, split(match[2]))), packed=match[1] is not None)
    if text[:2] in _SMALL and not is_number(text[2:]) and "E" in text.upper()[2:4]:
        return Type("scalar", _SMALL[text[:2]])
    if match := _SCALAR.fullmatch(text):
        return Type("scalar", int(match[1]))
    return Type("other")


def _vector(text: str) -> Type:
    match = _MATRIX.match(text)
    if match is None:
        return Type("other")
    count = 1
    for extent in match[1].split("x")[:-1]:
        count *= int(extent)
    element = parse_type(match[2])
    return Type("vector", count * element.bits, count=count, parts=(element,))


def _offsets(parts: tuple[Type, ...], packed: bool) -> Iterator[int]:
    """Where each part of a struct begins, and where the last ends."""
    at = 0
    for part in parts:
        at = at if packed else round_up(at, part.align_bytes)
        yield at
        at += part.size_bytes
    yield at
