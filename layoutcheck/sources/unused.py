"""An option is used or refused: what was said of a copy and changed nothing of it is an error."""

from __future__ import annotations

from layoutcheck.copies.copy import Copy
from layoutcheck.errors import InputError, option_of
from layoutcheck.machine.dtypes import DType
from layoutcheck.request import Request
from layoutcheck.sources.live import to_atom
from layoutcheck.sources.operands import states_its_pointer, swizzle_of

# What is said of a copy that no thread and value layouts partition: who issues it, and its tensor map.
_WHOLE = (
    "expect_bytes", "cluster", "mcast_mask", "cta_rank", "waits_rank",
    "tiler", "coord", "described", "internal_type", "im2col", "index",
)  # fmt: skip


def refuse_unused(given: Request, element: DType | None, copy: Copy) -> None:
    """Raises InputError, naming the option, where `copy` was made without one that is given.

    `element` is the type of what states none. To repeat what an operand or atom states is no error; to
    contradict it is.
    """
    if copy.tiling is not None:
        for name in _WHOLE:
            if getattr(given, name) is not None:
                expected = "one thread's views; or the copy without it"
                raise InputError(
                    f"{option_of(name)} is not used for tiles that thread and value layouts partition",
                    expected=expected,
                )
    elif given.block is not None and (copy.atom is None or copy.atom.family != "bulk"):
        raise InputError(
            "--block is not used for one thread's views, nor for a TMA copy, whose thread the DSL elects",
            expected="whole tiles with --thr and --val, or a bulk copy",
        )
    if given.expect_bytes is not None and copy.pred is not None:
        raise InputError(
            "--expect-bytes is not used beside --pred: how many bytes come is not known",
            expected="one of the two",
        )
    for side in ("src", "dst"):
        _refuse_pointer(given, copy, side)
    swizzle = swizzle_of(given.swizzle)
    if swizzle is not None and swizzle not in (copy.whole("src").swizzle, copy.whole("dst").swizzle):
        raise InputError(
            "--swizzle is not used: no operand is a bare layout in shared memory",
            expected="--src-space or --dst-space 'smem'",
        )
    if given.evict_priority and copy.op != "autovec_copy":
        raise InputError("--evict-priority is not used", expected="--op autovec_copy")
    _refuse_types(given, element, copy)


def _refuse_pointer(given: Request, copy: Copy, side: str) -> None:
    """Where an operand that states its own memory space and alignment is given another."""
    if not states_its_pointer(getattr(given, side)):
        return
    view = copy.whole(side)
    for name, stated in (("space", view.space), ("align", view.align_bytes)):
        said = getattr(given, f"{side}_{name}")
        if said is not None and said != stated:
            raise InputError(
                f"{option_of(f'{side}_{name}')} is not used: {side} states its own, {stated}",
                expected="it for a bare layout",
            )


def _refuse_types(given: Request, element: DType | None, copy: Copy) -> None:
    """Where a width is not the atom's, or an element type nobody's."""
    width = getattr(copy.atom, "width_bits", None)
    if given.bits is not None and width != given.bits and _keeps(given, copy):
        raise InputError(
            "--bits is not used", expected="an atom that has widths, given by a name without one"
        )
    known = (copy.whole("src").dtype, copy.whole("dst").dtype, getattr(copy.atom, "dtype", None))
    if given.dtype is not None and element not in known:
        raise InputError(f"--dtype is not used: no operand is of {element}", expected="it for a bare layout")


def _keeps(given: Request, copy: Copy) -> bool:
    """Whether the atom is the same without `bits`."""
    if copy.atom is None or given.tiled is not None:
        return True
    try:
        return to_atom(given.atom, getattr(copy.atom, "dtype", None), None) in (copy.atom, copy.tiled)
    except InputError:
        return False  # it has no default
