"""A request of 4-bit elements as one of bytes, two elements each: no access is smaller than a byte."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from layoutcheck.algebra.integers import Dynamic
from layoutcheck.algebra.layout import Layout
from layoutcheck.copies.memref import Memref
from layoutcheck.copies.vectors import contiguous_mode
from layoutcheck.errors import InputError
from layoutcheck.machine.dtypes import dtype
from layoutcheck.synthesis.wanted import Wanted

PAIR = 2
"""Elements of a byte."""


def in_bytes(wanted: Wanted) -> Wanted:
    """The request with pairs of elements along the contiguous mode as its elements.

    Raises InputError where a pair is not a byte everywhere: the tensors and the operand must be contiguous
    along one mode, with even extents and pitches.
    """
    tensors = [tensor for tensor in (wanted.src, wanted.dst) if tensor is not None]
    modes: set[int | None] = {contiguous_mode(tensor.layout) for tensor in tensors} | _operands(wanted)
    if None in modes or len(modes) != 1 or wanted.accumulator:
        raise InputError(
            f"{wanted.dtype} lie two in a byte: nothing turns them on the way",
            expected="tensors and operand contiguous along one mode (ldmatrix, tcgen05: K)",
        )
    [fast] = modes
    assert fast is not None
    extents = list(wanted.tile)
    extents[fast] = _half(extents[fast], "the tile's extent")
    return replace(
        wanted,
        tile=(extents[0], extents[1]),
        dtype=dtype("ui8"),
        src=_of_bytes(wanted.src, fast),
        dst=None if wanted.dst is None else _of_bytes(wanted.dst, fast),
        major=1 if any(one.unit == "tcgen05" for one in wanted.consumers) else wanted.major,
        packed=wanted.dtype,
    )


def _operands(wanted: Wanted) -> set[int | None]:
    """The modes along which the operands hold pairs: those of tcgen05 and ldmatrix hold them along K."""
    found: set[int | None] = set()
    for one in wanted.consumers:
        if one.unit in ("ldmatrix", "tcgen05"):
            found.add(one.modes[1])
        if wanted.major is not None and one.unit in ("tcgen05", "registers"):
            found.add(one.modes[wanted.major])
    return found


def _of_bytes(tensor: Memref, fast: int) -> Memref:
    shape, stride = list(tensor.layout.shape), list(tensor.layout.stride)
    shape[fast] = _half(shape[fast], "an extent")
    stride[1 - fast] = _half(stride[1 - fast], "a pitch")
    return replace(tensor, dtype=dtype("ui8"), layout=Layout(tuple(shape), tuple(stride)))


def _half(value: Any, what: str) -> Any:
    divisor = value.divisor if isinstance(value, Dynamic) else value
    if divisor % PAIR:
        raise InputError(f"{what} of {value} elements is not whole bytes", expected="an even one: ?{div=2}")
    return Dynamic(divisor // PAIR, value.bits) if isinstance(value, Dynamic) else value // PAIR
