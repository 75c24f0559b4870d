"""The tensor map of a traced TMA copy: from its atom to the kernel's argument, the launch, and the host.

`cute.copy` is given coordinates, which say nothing of addresses and pitches. The operation that makes the
tensor map (`make_non_exec_tiled_tma_load` and its kin) has the global tensor's type and the shared layout.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from layoutcheck.algebra.notation import parse_swizzle
from layoutcheck.algebra.swizzle import Swizzle
from layoutcheck.atoms.tma.descriptor import PIECE_BYTES
from layoutcheck.copies.memref import Memref
from layoutcheck.copies.opaque import OtherOperand
from layoutcheck.errors import InputError
from layoutcheck.sources.mlir import Block, Module, Operation, Value
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
