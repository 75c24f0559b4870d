"""A call that the program makes of a kernel's host function, as numbers for the `?` of its arguments' types.

The traced run tells which tensors and integers a call gives (`dsl/called.py`), not where in the host's
function they go. They are its tensors and integers in order: as many of each, and each tensor as its type
says. Otherwise nothing is known of the call.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from layoutcheck.algebra.integers import Dynamic
from layoutcheck.algebra.inttuple import flatten
from layoutcheck.algebra.layout import Layout
from layoutcheck.dsl.lowered.arguments import Numbers
from layoutcheck.dsl.lowered.held import Contents
from layoutcheck.dsl.lowered.tensors import tensor

_INTEGER = re.compile(r"i(?:8|16|32|64)|index")
_POINTER = "!cute.ptr<"
_POINTED = re.compile(_POINTER + r"[us]?i(8|16|32|64), (?:gmem|generic)")
_OTHERS = ("f", "bf", _POINTER, "!cuda.stream")  # no extents or strides

Call = tuple[Any, ...]
"""What a call gives, in order: a tensor's shape, strides and elements (None: not known), the elements that a
pointer points to, alone, or an integer."""


def numbers_of(
    calls: Iterable[Call | None], types: Mapping[str, Sequence[str]], kernels: Sequence[str]
) -> tuple[Numbers | None, ...]:
    """The calls of a module, each once, None for those whose numbers are not known.

    `types` are the arguments of the module's functions.
    """
    hosts = [given for name, given in types.items() if name not in kernels]
    one = hosts[0] if len(hosts) == 1 else None
    return tuple(
        dict.fromkeys(None if one is None or call is None else _numbers(one, call) for call in calls)
    )


Strayed = tuple[Layout, Layout, int]
"""A call's tensor, its type's layout, and the first mode whose static stride is not the tensor's."""


def strayed(calls: Iterable[Call | None], types: Sequence[str]) -> Iterator[Strayed]:
    """Tensors of calls whose strides are not the static ones of their type, nor of another argument's.

    Arguments that are given by name may come in another order. A mode of one element has no stride.
    """
    memrefs = [memref for memref in map(tensor, types) if memref is not None]
    layouts = [memref.layout for memref in memrefs if memref.dtype.bits >= 8]
    for call in calls:
        tensors = [one[:2] for one in call or () if not isinstance(one, int) and len(one) > 1]
        if not len(tensors) == len(layouts) == len(memrefs):
            continue
        for layout, (shape, stride) in zip(layouts, tensors, strict=True):
            steps = enumerate(zip(flatten(layout.stride), stride, shape, strict=False))
            wrong = (i for i, (own, n, size) in steps if isinstance(own, int) and own != n and size > 1)
            fits = any(_chosen(one, shape, stride) is not None for one in layouts)
            mode = None if 0 in shape or fits else next(wrong, None)
            if mode is not None and _extents_fit(flatten(layout.shape), shape):
                yield Layout(shape, stride), layout, mode


def _extents_fit(own: Sequence[Any], given: Sequence[int]) -> bool:
    pairs = zip(own, given, strict=False)
    return len(own) == len(given) and all(isinstance(leaf, Dynamic) or leaf == n for leaf, n in pairs)


def unwritten(calls: Iterable[Numbers | None], written: Collection[int]) -> tuple[Numbers | None, ...]:
    """The calls, without the contents of the objects that the module's kernels write.

    Nor of another tensor with the same contents, which may be the same.
    """
    return tuple(call and replace(call, contents=_lasting(call.contents, written)) for call in calls)


def _lasting(contents: Sequence[Contents | None], written: Collection[int]) -> tuple[Contents | None, ...]:
    lost = {contents[base - 1] for base in written if 0 < base <= len(contents)}
    left = tuple(None if held in lost else held for held in contents)
    return left if any(left) else ()


def _numbers(types: Sequence[str], call: Call) -> Numbers | None:
    tensors = iter([one for one in call if not isinstance(one, int) and len(one) > 1])
    pointers = [one for one in call if not isinstance(one, int) and len(one) == 1]
    pointed = iter(pointers if len(pointers) == sum(kind.startswith(_POINTER) for kind in types) else ())
    integers = iter([one for one in call if isinstance(one, int)])
    found: list[tuple[int, ...] | None] = []
    contents: list[Contents | None] = []
    extents: list[int] = []
    names: list[str] = []
    for kind in types:
        memref = tensor(kind)
        given = None if memref is None else next(tensors, None)
        held = None
        if memref is not None and given is not None and memref.dtype.bits >= 8:
            shape, stride, elements = given
            chosen = _chosen(memref.layout, shape, stride)
            if chosen is None:
                return None
            found.append(tuple(chosen))
            extents += chosen[: sum(isinstance(n, Dynamic) for n in flatten(memref.layout.shape))]
            names.append(f"({','.join(map(str, shape))})")
            if elements is not None and memref.dtype.kind == "int":
                held = _holding(memref.dtype.bits, shape, stride, elements)
        elif _INTEGER.fullmatch(kind):
            number = next(integers, None)
            if number is None:
                return None
            found.append((number,))
            names.append(str(number))
        elif kind.startswith(_OTHERS):
            found.append(None)
            held = _pointed(kind, next(pointed, (None,))[0]) if kind.startswith(_POINTER) else None
        else:
            return None
        contents.append(held)
    if next(tensors, None) is not None or next(integers, None) is not None:
        return None
    return Numbers(tuple(found), tuple(extents), ", ".join(names), tuple(contents) if any(contents) else ())


def _pointed(kind: str, elements: Sequence[int] | None) -> Contents | None:
    """What lies where a pointer to integers points, if that is known."""
    bits = _POINTED.match(kind)
    if bits is None or elements is None:
        return None
    return _holding(int(bits[1]), (len(elements),), (1,), elements)


def _holding(
    bits: int, shape: Sequence[int], stride: Sequence[int], elements: Sequence[int]
) -> Contents | None:
    held = Contents(bits, tuple(shape), tuple(stride), tuple(elements))
    return None if held.memory() is None else held


def _chosen(layout: Layout, shape: Sequence[int], stride: Sequence[int]) -> list[int] | None:
    """The numbers of a tensor for the `?` of its type, extents before strides; None where it is another."""
    leaves = (*flatten(layout.shape), *flatten(layout.stride))
    given = (*shape, *stride)
    if len(leaves) != len(given) or len(shape) != len(stride):
        return None
    chosen = []
    for i, (leaf, number) in enumerate(zip(leaves, given, strict=True)):
        if isinstance(leaf, Dynamic):
            if number % leaf.divisor:
                return None
            chosen.append(number)
        elif leaf != number and (i < len(shape) or shape[i - len(shape)] != 1):
            return None
    return chosen
