"""`Request`: what a user says of one copy. Everything that takes a copy takes these, under these names.

The signature of `layoutcheck.check`, the options of `layoutcheck explain`, the keys of JSON Lines and of
named cases, their types and their defaults all follow from the fields below. To add an option is to add a
field and to read it in `sources.request`.
"""

import contextlib
import inspect
import json
import operator
from collections.abc import Callable
from dataclasses import KW_ONLY, Field, dataclass, fields
from typing import Annotated, Any, ParamSpec, TypeVar, get_args

from layoutcheck.errors import InputError

P = ParamSpec("P")
R = TypeVar("R")

_NAMES = {int: "a whole number", bool: "true or false", str: "a string"}


@dataclass(frozen=True)
class Request:
    """The operands of a copy and all that may be said of it (see `layoutcheck.check`).

    What is annotated `Any` may be text, as the DSL prints it, or an object; the words beside a type are those
    of `--help`. Raises InputError, which names the argument, where a value is of another type.
    """

    src: Annotated[Any, "layout or tensor; or a file, '-'"]
    dst: Annotated[Any, "layout or tensor"]
    atom: Annotated[Any, "cp.async, universal, ldmatrix.x4, autovec, or as printed"] = None
    _: KW_ONLY
    bits: Annotated[int | None, "width of an atom given by name"] = None
    dtype: Annotated[Any, "element type, such as bf16"] = None
    thr: Annotated[Any, "thread layout: SRC and DST are whole tiles"] = None
    val: Annotated[Any, "value layout"] = None
    tiled: Annotated[Any, "a printed tiled copy: SRC and DST are whole tiles"] = None
    pred: Annotated[Any, "predicate tensor"] = None
    arch: Annotated[str | None, "sm_80, sm_90a, ... (default sm_90a, or the first with the atom)"] = None
    src_space: Annotated[str | None, "gmem, smem or rmem, if SRC is a bare layout"] = None
    dst_space: Annotated[str | None, "gmem, smem or rmem, if DST is a bare layout"] = None
    src_align: Annotated[int | None, "alignment in bytes, if SRC is a bare layout"] = None
    dst_align: Annotated[int | None, "alignment in bytes, if DST is a bare layout"] = None
    swizzle: Annotated[Any, "pointer swizzle in shared memory: 'S<3,4,3>'"] = None
    block: Annotated[int | None, "threads launched; bulk copy: threads that issue it"] = None
    expect_bytes: Annotated[int | None, "bytes that a bulk or TMA copy's barrier expects"] = None
    cluster: Annotated[int | None, "blocks in the cluster, for a copy between blocks"] = None
    mcast_mask: Annotated[Any, "the blocks that a multicast writes to: '0b11'"] = None
    cta_rank: Annotated[int | None, "the block that bulk.s2s or st.async writes to"] = None
    waits_rank: Annotated[int | None, "the block that waits on the barrier, if different"] = None
    tiler: Annotated[Any, "TMA: extents of the tile, '(64,64)'"] = None
    coord: Annotated[Any, "TMA: which tile, '(0,1)'; default: the first"] = None
    described: Annotated[Any, "TMA: smem layout the map was made from, if different"] = None
    internal_type: Annotated[Any, "TMA: internal_type of make_tiled_tma_atom"] = None
    im2col: Annotated[Any, "TMA im2col: 'filter=(3,3) padding=(1,1) ...', W first"] = None
    index: Annotated[Any, "tma_gather4, tma_scatter4: the tensor of row numbers"] = None
    aux: Annotated[Any, "tcgen05.ld.red: the second destination"] = None
    op: Annotated[str, "copy, autovec_copy, basic_copy, copy_atom_call"] = "copy"
    evict_priority: Annotated[bool, "autovec_copy gets an l1c_evict_priority"] = False

    def __post_init__(self) -> None:
        for name, kind, default in _TYPED:
            value = getattr(self, name)
            if value is not default and type(value) is not kind:
                object.__setattr__(self, name, typed(name, value, kind))


def kind_of(one: Field[Any]) -> type | None:
    """The type of a field's values; None for those that may be text or an object."""
    allowed = get_args(one.type.__origin__) or (one.type.__origin__,)  # type: ignore[union-attr]
    return next((kind for kind in (int, bool, str) if kind in allowed), None)


def help_of(one: Field[Any]) -> str:
    """What `--help` says of a field."""
    return str(one.type.__metadata__[0])  # type: ignore[union-attr]


# The fields that have one type, with their defaults, which are always allowed.
_TYPED = tuple((one.name, kind, one.default) for one in fields(Request) if (kind := kind_of(one)) is not None)


def typed(name: str, value: Any, kind: type) -> Any:
    """The value as that type; a number may be anything that Python takes for an index. Raises InputError."""
    if kind is int and not isinstance(value, bool):
        with contextlib.suppress(TypeError):
            return operator.index(value)
    elif kind is not int and isinstance(value, kind):
        return value
    try:
        shown = json.dumps(value)
    except (TypeError, ValueError, RecursionError):
        shown = f"an object of type {type(value).__name__}"
    raise InputError(f"'{name}' is {_NAMES[kind]}, not {shown[:40]}")


def takes_request(made: Callable[P, Any]) -> Callable[[Callable[..., R]], Callable[P, R]]:
    """The function with the signature of `made`, a `Request`, for type checkers, editors and `help`."""

    def signed(function: Callable[..., R]) -> Callable[P, R]:
        returns = inspect.signature(function).return_annotation
        parameters = [
            one.replace(annotation=one.annotation.__origin__)
            for one in inspect.signature(made).parameters.values()
        ]
        setattr(function, "__signature__", inspect.Signature(parameters, return_annotation=returns))  # noqa: B010
        return function

    return signed
