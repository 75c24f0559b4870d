"""The tensor map of a traced TMA copy: from its atom to the kernel's argument, the launch, and the host.

`cute.copy` is given coordinates, which say nothing of addresses and pitches. The operation that makes the
tensor map (`make_non_exec_tiled_tma_load` and its kin) has the global tensor's type and the shared layout.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from layoutcheck.algebra.notation import parse_swizzle
from layoutcheck.algebra.swizzle import Swizzle
from layoutcheck.atoms.tma.descriptor import PIECE_BYTES, dsl_kind, machine_swizzle
from layoutcheck.copies.memref import Memref
from layoutcheck.copies.opaque import OtherOperand
from layoutcheck.errors import InputError
from layoutcheck.machine.arch import parse_arch
from layoutcheck.sources.mlir import Block, Module, Operation, Value
from layoutcheck.sources.seen import NONE, SHARED, effective, made_of, seen_through
from layoutcheck.sources.types import parse_memref

_MAKES = "cute_nvgpu.atom.make_non_exec_tiled_tma_"
_MAPS = re.compile(r"cute_nvgpu\.atom\.make_non_exec_\w*tma_")  # im2col, gather and scatter too
_LAYOUT = re.compile(r'!cute\.(?:composed_)?layout<"(S<[0-9,-]+>)?')
_SAME_ATOM = ("cute_nvgpu.atom.make_exec_tma", "cute_nvgpu.atom.set_value")
_ALIGNED = re.compile(r"!cute\.(?:ptr|memref)<\w+, gmem, align<([0-9]+)>")
_STEP = re.compile(r'!cute\.int_tuple<"(-?[0-9]+)">')
_ELEMENT = re.compile(r"!cute\.ptr<[a-z]+([0-9]+)\w*,")
_LAUNCHES = ("cuda.launch_ex", "cuda.launch")
_KERNELS = ("cuda.kernel", "gpu.func")
_MOST_STEPS = 64


def launches(module: Module) -> dict[str, Operation]:
    """The launch of each kernel, by the name that it calls; the first where there are several."""
    found: dict[str, Operation] = {}
    for op in module.walk():
        if op.name in _LAUNCHES:
            found.setdefault(op.attributes.get("callee", "").rpartition("@")[2].strip('"'), op)
    return found


def map_of(atom: Value, launched: dict[str, Operation]) -> Operation | None:
    """The host's operation that made the tensor map of a copy's atom; None where it is not found."""
    value = atom
    for _ in range(_MOST_STEPS):
        made = value.definition
        if made is None:
            outer = argument(value, launched)
            if outer is None:
                return None
            value = outer
        elif made.name in _SAME_ATOM:
            value = made.operands[0]
        else:
            return made if _MAPS.match(made.name) else None
    return None


def mapped_tensor(made: Operation | None) -> Memref | None:
    """The tensor that a tiled map was made of; None for other maps, and where it is not found."""
    tiled = made is not None and made.name.startswith(_MAKES)
    return _memref(made.operands[0].type) if made is not None and tiled else None


def mapped_swizzle(made: Operation) -> Swizzle | str | None:
    """The swizzle of the shared layout that a map was made of, None for none; "" where it cannot be read."""
    for value in made.operands[1:]:
        found = _LAYOUT.match(value.type)
        if found is not None:
            return parse_swizzle(found[1]) if found[1] else None
    return ""


def bytes_past(made: Operation) -> int | None:
    """Bytes from a multiple of 16 to the base of a map's tensor, by its steps from an aligned pointer."""
    value, past = made.operands[0], 0
    for _ in range(_MOST_STEPS):
        aligned = _ALIGNED.search(value.type)
        if aligned is not None and int(aligned[1]) % PIECE_BYTES == 0:
            return past % PIECE_BYTES
        op = value.definition
        if op is None or op.name not in ("cute.make_view", "cute.get_iter", "cute.add_offset"):
            return None
        value = op.operands[0]
        if op.name == "cute.add_offset":
            step, element = _STEP.match(op.operands[1].type), _ELEMENT.match(value.type)
            if step is None or element is None:
                return None
            past += int(step[1]) * int(element[1]) // 8
    return None


def argument(value: Value, launched: Mapping[str, Operation]) -> Value | None:
    """What the launch gives for a kernel's argument: the last operands, in order."""
    block = value.owner
    if not isinstance(block, Block) or block.parent.parent.name not in _KERNELS:
        return None
    launch = launched.get(block.parent.parent.attributes.get("sym_name", "").strip('"'))
    count = len(block.arguments)
    if launch is None or len(launch.operands) < count:
        return None
    given = launch.operands[len(launch.operands) - count + value.index]
    return given if given.type == value.type else None


def _memref(text: str) -> Memref | None:
    try:
        found = parse_memref(text)
    except InputError:
        return None
    return None if isinstance(found, OtherOperand) else found


_TENSOR = re.compile(r"!cute\.memref<[^\"]*\bsmem\b")
_USES = re.compile(r"\.(?:copy|copy_atom_call|memref\.\w*(?:load|store)\w*)$|fragment|desc")
_ATOM = "!cute_nvgpu.atom."
_XOR = "arith.xori"
UNREAD = "the shared layout of its tensor map cannot be read"
OTHERS = "its tensor map has another swizzle than its shared tensor; who reads through which is not known"
_UNKNOWN = Swizzle(0, 0, 0)


def moved_through(
    copy: Operation, shared: Memref, arch: str, launched: dict[str, Operation]
) -> Swizzle | str | None:
    """The swizzle of a copy's tensor map, where it is not the tensor's and all other users have one other.

    A tensor map has a swizzle of its own, and the shared tensor that the copy is given has one. TMA follows
    the map. Where the two differ, data is in the wrong place if the others that use this memory follow the
    tensor.

    `shared` is the copy's shared tensor. None where map and tensor agree, and where all others follow the
    map; else why nothing is said, in words. S<0,4,3> stands for no swizzle. A kernel that computes with
    exclusive or may apply the map's swizzle to its coordinates itself: of its plain tensors nothing is said.
    """
    made = map_of(copy.operands[0], launched)
    own = effective(shared.swizzle)
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
    if users == {NONE} and any(op.name == _XOR for op in kernel.walk()):
        return OTHERS
    return mapped


def _of_map(made: Operation, arch: str) -> Swizzle:
    """What the machine does for a map."""
    found = mapped_swizzle(made)
    if isinstance(found, str):
        return _UNKNOWN
    return effective(machine_swizzle(dsl_kind(found), parse_arch(arch).number))


def _allocation(value: Value) -> Value:
    """The first value in shared memory of a chain of views: what was allocated."""
    while (made := value.definition) is not None:
        outer = made_of(made)
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
        views.update(result for result in op.results if SHARED.match(result.type))
        if op is copy or not _USES.search(op.name):
            continue
        made = map_of(op.operands[0], launched) if op.operands[0].type.startswith(_ATOM) else None
        for value in mine:
            if made is not None:
                yield _of_map(made, arch)
            elif _TENSOR.match(value.type):
                seen = seen_through(value)
                yield _UNKNOWN if seen is None else seen
