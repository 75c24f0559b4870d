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
from dataclasses import KW_ONLY, MISSING, Field, dataclass, fields
from functools import cache
from types import NoneType
from typing import Annotated, Any, ParamSpec, Protocol, TypeAlias, TypeVar, get_args

from layoutcheck.errors import InputError, meant

P = ParamSpec("P")
R = TypeVar("R")


class Shaped(Protocol):
    """What has a shape: a layout or tensor of layoutcheck or the DSL, a torch tensor, a numpy array."""

    @property
    def shape(self) -> Any:
        """Extents, which may be nested."""


Operand: TypeAlias = str | Shaped  # text as the DSL prints it, or an object
Described: TypeAlias = str | object  # an atom, a tiled copy, a swizzle, an element type: printed or live
Extents: TypeAlias = str | int | tuple[Any, ...]

_NAMES = {int: "a whole number", bool: "true or false", str: "a string"}


class Given:
    """What requests share: a field that has one type gets values of that type alone, or its default."""

    def __post_init__(self) -> None:
        for name, kind, default in _typed(type(self)):  # type: ignore[arg-type]
            value = getattr(self, name)
            if value is not default and type(value) is not kind:
                object.__setattr__(self, name, typed(name, value, kind))


G = TypeVar("G", bound=Given)


@dataclass(frozen=True)
class Request(Given):
    """The operands of a copy and all that may be said of it (see `layoutcheck.check`).

    What is an `Operand` or `Described` may be text, as the DSL prints it, or the object; the words beside a
    type are those of `--help`. Raises InputError, which names the argument, where a value is of another type.
    """

    src: Annotated[Operand, "layout or tensor; or a file with an error ('-' is stdin)"]
    dst: Annotated[Operand, "layout or tensor"]
    atom: Annotated[Described | None, "cp.async, universal, ldmatrix.x4, autovec, or as printed"] = None
    _: KW_ONLY
    bits: Annotated[int | None, "width of an atom given by name"] = None
    dtype: Annotated[Described | None, "element type, such as bf16"] = None
    thr: Annotated[Operand | None, "thread layout: SRC and DST are whole tiles"] = None
    val: Annotated[Operand | None, "value layout"] = None
    tiled: Annotated[Described | None, "a printed tiled copy: SRC and DST are whole tiles"] = None
    pred: Annotated[Operand | None, "predicate tensor"] = None
    arch: Annotated[str | None, "sm_80, sm_90a, ... (default sm_90a, or the first with the atom)"] = None
    src_space: Annotated[str | None, "gmem, smem or rmem, if SRC is a bare layout"] = None
    dst_space: Annotated[str | None, "gmem, smem or rmem, if DST is a bare layout"] = None
    src_align: Annotated[int | None, "alignment in bytes, if SRC is a bare layout"] = None
    dst_align: Annotated[int | None, "alignment in bytes, if DST is a bare layout"] = None
    swizzle: Annotated[Described | None, "pointer swizzle in shared memory: 'S<3,4,3>'"] = None
    block: Annotated[int | None, "threads launched; bulk copy: threads that issue it"] = None
    expect_bytes: Annotated[int | None, "bytes that a bulk or TMA copy's barrier expects"] = None
    cluster: Annotated[int | None, "blocks in the cluster, for a copy between blocks"] = None
    mcast_mask: Annotated[str | int | None, "the blocks that a multicast writes to: '0b11'"] = None
    cta_rank: Annotated[int | None, "the block that bulk.s2s or st.async writes to"] = None
    waits_rank: Annotated[int | None, "the block that waits on the barrier, if different"] = None
    tiler: Annotated[Extents | None, "TMA: extents of the tile, '(64,64)'"] = None
    coord: Annotated[Extents | None, "TMA: which tile, '(0,1)'; default: the first"] = None
    described: Annotated[
        Operand | None, "TMA: smem layout the map was made from, if different; its swizzle counts bytes"
    ] = None
    internal_type: Annotated[Described | None, "TMA: internal_type of make_tiled_tma_atom"] = None
    im2col: Annotated[Described | None, "TMA im2col: 'filter=(3,3) padding=(1,1) ...', W first"] = None
    index: Annotated[Operand | None, "tma_gather4, tma_scatter4: the tensor of row numbers"] = None
    aux: Annotated[Operand | None, "tcgen05.ld.red: the second destination"] = None
    op: Annotated[str, "copy, autovec_copy, basic_copy, copy_atom_call"] = "copy"
    evict_priority: Annotated[bool, "autovec_copy gets an l1c_evict_priority"] = False


def asked(kind: type[G], *given: Any, **options: Any) -> G:
    """The request of a call. Raises InputError where an argument is missing, unknown or of another type."""
    known = [one.name for one in fields(kind)]  # type: ignore[arg-type]
    for name in options:
        if name not in known:
            raise InputError(f"there is no argument '{name}'{meant(name, known)}")
    try:
        inspect.signature(kind).bind(*given, **options)
    except TypeError as error:
        needed = [one.name for one in fields(kind) if one.default is MISSING]  # type: ignore[arg-type]
        raise InputError(str(error), expected=f"{', '.join(needed)}; all else by its name") from None
    return kind(*given, **options)


def kind_of(one: Field[Any]) -> type | None:
    """The type of a field's values; None for those that may be text or an object."""
    given = get_args(one.type.__origin__) or (one.type.__origin__,)  # type: ignore[union-attr]
    allowed = [kind for kind in given if kind is not NoneType]
    return next((kind for kind in (int, bool, str) if allowed == [kind]), None)


def help_of(one: Field[Any]) -> str:
    """What `--help` says of a field."""
    return str(one.type.__metadata__[0])  # type: ignore[union-attr]


@cache
def _typed(request: type[Given]) -> tuple[tuple[str, type, Any], ...]:
    """The fields that have one type, with their defaults, which are always allowed."""
    every = fields(request)  # type: ignore[arg-type]
    return tuple((one.name, kind, one.default) for one in every if (kind := kind_of(one)) is not None)


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


def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object; `json.loads` would keep the last value of a key given twice. Raises InputError."""
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [key for key, _ in pairs]
        twice = next(key for key in names if names.count(key) > 1)
        raise InputError(f"the key '{twice[:40]}' is given twice", expected="it once")
    return found


def takes_request(made: Callable[P, Any]) -> Callable[[Callable[..., R]], Callable[P, R]]:
    """The function with the signature of `made`, a request, for type checkers, editors and `help`."""

    def signed(function: Callable[..., R]) -> Callable[P, R]:
        returns = inspect.signature(function).return_annotation
        parameters = [
            one.replace(annotation=one.annotation.__origin__)
            for one in inspect.signature(made).parameters.values()
        ]
        setattr(function, "__signature__", inspect.Signature(parameters, return_annotation=returns))  # noqa: B010
        return function

    return signed
