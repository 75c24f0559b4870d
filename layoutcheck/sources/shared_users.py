"""Who else uses the shared memory of a traced TMA copy, and through which swizzle.

A tensor map has a swizzle of its own, and the shared tensor that the copy is given has one. TMA follows the
map. Where the two differ, data is in the wrong place if the others that use this memory follow the tensor.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from layoutcheck.algebra.notation import parse_swizzle
from layoutcheck.algebra.swizzle import Swizzle
from layoutcheck.atoms.tma.descriptor import dsl_kind, machine_swizzle
from layoutcheck.copies.memref import Memref
from layoutcheck.errors import InputError
from layoutcheck.machine.arch import parse_arch
from layoutcheck.sources.mlir import Operation, Value
from layoutcheck.sources.tensor_maps import map_of, mapped_swizzle

_SHARED = re.compile(r"!cute\.(?:ptr|memref)<[^\"]*\bsmem\b")
_TENSOR = re.compile(r"!cute\.memref<[^\"]*\bsmem\b")
_SWIZZLE = re.compile(r"S<[0-9,-]+>")
_USES = re.compile(r"\.(?:copy|copy_atom_call|memref\.\w*(?:load|store)\w*)$|fragment|desc")
_ATOM = "!cute_nvgpu.atom."
_XOR = "arith.xori"
UNREAD = "the shared layout of its tensor map cannot be read"
OTHERS = "its tensor map has another swizzle than its shared tensor; who reads through which is not known"
_KERNELS = ("cuda.kernel", "gpu.func")
_NONE, _UNKNOWN = Swizzle(0, 4, 3), Swizzle(0, 0, 0)


def moved_through(
    copy: Operation, shared: Memref, arch: str, launched: dict[str, Operation]
) -> Swizzle | str | None:
    """The swizzle of a copy's tensor map, where it is not the tensor's and all other users have one other.

    `shared` is the copy's shared tensor. None where map and tensor agree, and where all others follow the
    map; else why nothing is said, in words. S<0,4,3> stands for no swizzle. A kernel that computes with
    exclusive or may apply the map's swizzle to its coordinates itself: of its plain tensors nothing is said.
    """
    made = map_of(copy.operands[0], launched)
    own = _effective(shared.swizzle)
    mapped = _UNKNOWN if made is None else _of_map(made, arch)
    if mapped == _UNKNOWN:
        return UNREAD
    if mapped == own:
        return None
    side = next((value for value in copy.operands[1:3] if _TENSOR.match(value.type)), None)
    if side is None:
        return OTHERS
    kernel = copy.outer(*_KERNELS)
    users = set(_users(_allocation(side), copy, kernel, arch, launched))
    if users == {mapped}:
        return None
    if len(users) != 1 or users == {_UNKNOWN}:
        return OTHERS
    if users == {_NONE} and any(op.name == _XOR for op in kernel.walk()):
        return OTHERS
    return mapped


def _of_map(made: Operation, arch: str) -> Swizzle:
    """What the machine does for a map."""
    found = mapped_swizzle(made)
    if isinstance(found, str):
        return _UNKNOWN
    return _effective(machine_swizzle(dsl_kind(found), parse_arch(arch).number))


def _effective(swizzle: Swizzle | None) -> Swizzle:
    return swizzle if swizzle is not None and swizzle.bits else _NONE


def _allocation(value: Value) -> Value:
    """The first value in shared memory of a chain of views: what was allocated."""
    while (made := value.definition) is not None:
        outer = next((one for one in made.operands if _SHARED.match(one.type)), None)
        if outer is None:
            return value
        value = outer
    return value


def _users(
    root: Value, copy: Operation, kernel: Operation, arch: str, launched: dict[str, Operation]
) -> Iterator[Swizzle]:
    """The swizzle through which each other user sees the memory; another TMA copy follows its own map."""
    views = {root}
    for op in kernel.walk():
        mine = [value for value in op.operands if value in views]
        if not mine:
            continue
        views.update(result for result in op.results if _SHARED.match(result.type))
        if op is copy or not _USES.search(op.name):
            continue
        made = map_of(op.operands[0], launched) if op.operands[0].type.startswith(_ATOM) else None
        for value in mine:
            if made is not None:
                yield _of_map(made, arch)
            elif _TENSOR.match(value.type):
                yield _typed(value.type)


def _typed(text: str) -> Swizzle:
    found = _SWIZZLE.search(text)
    try:
        return _effective(parse_swizzle(found[0])) if found is not None else _NONE
    except InputError:
        return _UNKNOWN
