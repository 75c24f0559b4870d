"""The global tensor of a traced TMA copy: from its atom to the kernel's argument, the launch, and the host.

`cute.copy` is given coordinates, which say nothing of addresses and pitches. The operation that makes the
tensor map (`make_non_exec_tiled_tma_load` and its kin) has the tensor's type.
"""

from __future__ import annotations

from layoutcheck.copies.memref import Memref
from layoutcheck.copies.opaque import OtherOperand
from layoutcheck.errors import InputError
from layoutcheck.sources.mlir import Block, Module, Operation, Value
from layoutcheck.sources.types import parse_memref

_MAKES = "cute_nvgpu.atom.make_non_exec_tiled_tma_"
_SAME_ATOM = ("cute_nvgpu.atom.make_exec_tma", "cute_nvgpu.atom.set_value")
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


def mapped_tensor(atom: Value, launched: dict[str, Operation]) -> Memref | None:
    """The tensor that the map of a copy's atom was made of; None where it is not found."""
    value = atom
    for _ in range(_MOST_STEPS):
        made = value.definition
        if made is None:
            outer = _argument(value, launched)
            if outer is None:
                return None
            value = outer
        elif made.name in _SAME_ATOM:
            value = made.operands[0]
        elif made.name.startswith(_MAKES):
            return _memref(made.operands[0].type)
        else:
            return None
    return None


def _argument(value: Value, launched: dict[str, Operation]) -> Value | None:
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
