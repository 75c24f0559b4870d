"""Tensor maps that the host has the driver encode: `cuda.tensor_map_encode_tiled`.

Its operands are those of cuTensorMapEncodeTiled, its numbers those of the driver's enumerations (CUDA Driver
API, CUtensorMapDataType and CUtensorMapSwizzle). The value is that of a map which the DSL writes itself: its
words.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from layoutcheck.atoms.tma.descriptor import Descriptor
from layoutcheck.atoms.tma.words import WORDS, encode
from layoutcheck.dsl.lowered.machine import Step
from layoutcheck.dsl.lowered.steps import Steps
from layoutcheck.dsl.lowered.values import Value, number
from layoutcheck.errors import InputError
from layoutcheck.sources.mlir import Operation

ENCODED = "cuda.tensor_map_encode_tiled"
MAP_TYPE = "!cuda.tensor_map"

# Formats by the driver's number, and whether the map rounds to TF32.
_FORMATS = (
    ("U8", False), ("U16", False), ("U32", False), ("S32", False), ("U64", False), ("S64", False),
    ("F16_RN", False), ("F32_RN", False), ("F64_RN", False), ("BF16_RN", False), ("F32_FTZ_RN", False),
    ("F32_RN", True), ("F32_FTZ_RN", True), ("U4", False), ("U4_UNPACK_U8", False), ("U6_UNPACK_U8", False),
)  # fmt: skip
_SWIZZLES = {0: "none", 1: "32B", 2: "64B", 3: "128B", 4: "128B_ATOM_32B", 6: "128B_ATOM_64B"}


def _encode(steps: Steps, op: Operation) -> Step:
    """The words of the map, where all that it is made of is known; else 0, as of anything not evaluated."""
    machine, values, provenance = steps.machine, steps.machine.values, steps.machine.provenance
    result, made = (steps.slots[value] for value in op.results)
    given = [steps.slots[value] for value in op.operands]
    unknown = steps.assume(op, "blocked", f"{op.name} is not evaluated")
    bits = 0

    def held(start: int, count: int, size: int) -> tuple[int, ...]:
        """Numbers that the host keeps in an array. Raises KeyError for one that is not followed."""
        nonlocal bits
        found = []
        for at in range(start, start + count * size, size):
            value, rests, known = machine.registers.load(at, size)
            if not known:
                raise KeyError(at)
            bits |= rests
            found.append(_one(value))
        return tuple(found)

    def run() -> None:
        nonlocal bits
        bits = machine.rests_of(given)
        code, rank, base, dims, strides, box, steps_, interleave, kind = (_one(values[s]) for s in given[:9])
        try:
            form, tf32 = _FORMATS[code]
            extents, pitches = held(dims, rank, 8), held(strides, rank - 1, 8)
            of_box, every = held(box, rank, 4), held(steps_, rank, 4)
            map_ = Descriptor(
                form, extents, pitches, of_box, _SWIZZLES[kind], base, every, interleave, tf32
            )  # fmt: skip
        except (InputError, IndexError, KeyError):
            unknown()
            return
        words = encode(map_)
        values[result], provenance[result] = 0, 0
        values[made], provenance[made] = (*words, *[0] * (2 * WORDS - len(words))), bits

    return run


def _one(value: Value) -> int:
    return int(np.asarray(number(value)).flat[0])


MAKERS: dict[str, Callable[[Steps, Operation], Step]] = {ENCODED: _encode}
