"""The operands of a copy as a user gives them, and what is assumed of them that was not said."""

from __future__ import annotations

import re
from typing import Any

from layoutcheck.algebra.inttuple import is_static, wrap
from layoutcheck.algebra.layout import Layout
from layoutcheck.algebra.notation import parse_swizzle
from layoutcheck.algebra.swizzle import Swizzle
from layoutcheck.copies.atom import Atom
from layoutcheck.copies.memref import SPACES, Memref
from layoutcheck.copies.opaque import OtherOperand
from layoutcheck.digits import is_number
from layoutcheck.errors import InputError, option_of, said_of
from layoutcheck.machine.canonical.modes import mode_of
from layoutcheck.machine.dtypes import DType, dtype
from layoutcheck.machine.tiles import in_elements
from layoutcheck.sources.live import to_memref
from layoutcheck.sources.pointers import Defaults

# What tensors are taken to be aligned to when only a layout is given: torch and the DSL's runtime promise 16
# bytes of global tensors, SmemAllocator's default for swizzled tiles is 128 or more, fragments have 32.
ALIGN_BYTES = {"gmem": 16, "smem": 128, "dsmem": 128, "rmem": 32}

_NO_ALIGN = re.compile(rf"\s*(?:(?:{'|'.join(SPACES)})\b|\w+\s+\w|.*ptr\[)")  # may leave the alignment open


def spaces_of(atom: Atom | None, src: str | None, dst: str | None) -> tuple[str, str]:
    """The memory spaces of operands that do not state theirs: as given, else those the atom moves between."""
    for space in (src, dst):
        if space is not None and space not in SPACES:
            raise InputError(
                f"unknown memory space '{space[:40]}'",
                text=space,
                end=len(space),
                expected=" or ".join(SPACES),
            )
    default = atom.spaces if atom is not None else None
    if default is None:
        default = (src or ("gmem" if dst != "gmem" else "smem"), dst or ("smem" if src != "smem" else "rmem"))
    return src or default[0], dst or default[1]


def swizzle_of(value: Any) -> Swizzle | None:
    """A pointer's swizzle as text or object."""
    if value is None or isinstance(value, Swizzle):
        return value
    return parse_swizzle(str(value))


def operand(
    side: str,
    value: Any,
    element: DType | None,
    space: str,
    given_space: str | None,
    align: int | None,
    swizzle: Swizzle | None,
    assumed: list[str],
) -> Memref:
    """One operand; `assumed` gets a line where it was a layout alone and nobody stated the rest."""
    taken = align or ALIGN_BYTES.get(space)
    pointer = swizzle if space == "smem" else None
    memref = _read(side, value, Defaults(element, space, taken, pointer, side))
    if states_its_pointer(value):
        if isinstance(value, str) and _NO_ALIGN.match(value) and "align" not in value and taken is not None:
            assumed.append(f"{side} is aligned to {memref.align_bytes} bytes")
        return memref
    if isinstance(value, str) and value.lstrip()[:1] == "S" and memref.swizzle is not None:
        own = in_elements(memref.swizzle, memref.dtype.bits)
        said = f"{side} is swizzled by {memref.swizzle} in bytes: in a composed layout {own} counts elements"
        if mode_of(memref.swizzle) is None and mode_of(own) is not None:
            said += f" (if make_smem_layout_atom printed it, it counts bytes: then `swizzle` is {own})"
        assumed.append(said)
    if given_space is None or align is None:
        facts = [] if given_space else [f"in {memref.space}"]
        if align is None and memref.align_bytes is not None:
            facts.append(f"aligned to {memref.align_bytes} bytes")
        if facts:
            assumed.append(f"{side} is {', '.join(facts)}")
    return memref


def states_its_pointer(value: Any) -> bool:
    """Whether the operand says itself where it is and how it is aligned."""
    if isinstance(value, str):
        first = value.lstrip()[:1]
        return "ptr[" in value or not (first in ("(", "?", "_", "S") or is_number(first))
    return hasattr(value, "dtype") or isinstance(value, Memref)


def predicate(value: Any) -> Memref | None:
    """The predicate tensor; a layout alone is one of booleans (i8) in registers, as the DSL makes them."""
    if value is None:
        return None
    return _read("pred", value, Defaults(dtype("i8"), "rmem", None, None, "pred"))


def second_destination(atom: Atom | None, dst: Memref, value: Any, assumed: list[str]) -> Memref | None:
    """The second destination of an atom that has one: without one, a value for each of its instructions.

    Raises InputError for other atoms.
    """
    if atom is None or atom.destinations == 1:
        if value is not None:
            raise InputError("--aux is the second destination", expected="--atom tcgen05.ld.red...")
        return None
    if value is not None:
        return _read("aux", value, Defaults(atom.dtype, "rmem", ALIGN_BYTES["rmem"], None, "aux"))
    if isinstance(dst, OtherOperand):
        return None
    v, *rest = wrap(dst.layout.shape)
    shape = ((1, v[1]) if type(v) is tuple and len(v) == 2 else 1, *rest)
    if not is_static(shape):
        return None
    made = Memref(atom.dtype, "rmem", Layout(shape), ALIGN_BYTES["rmem"])
    assumed.append(f"the second destination is {made}")
    return made


def _read(name: str, value: Any, defaults: Defaults) -> Memref:
    """The tensor; errors say which operand they are about."""
    with said_of(name if name in ("src", "dst") else option_of(name)):
        return to_memref(value, defaults)
