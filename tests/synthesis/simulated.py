"""A synthesised program's PTX, run on the CPU: matrices of a warp, copies that fill with zeros, conversions.

What it does is in memory afterwards: tensors with gaps between their rows, of which no byte may change that
is no element of what is written.
"""

from __future__ import annotations

import math
import random
import re
import struct
from itertools import product
from typing import Any

import numpy as np

from layoutcheck.machine.arch import WARP
from layoutcheck.machine.dtypes import DType
from layoutcheck.synthesis.plans import Plan
from layoutcheck.synthesis.program import blocks_of
from tests.kernels.ptx_run import HELPERS, MATRIX, SHARED_BYTES, Memory, Program, Stop, ahead

BLANK = 0xA5
MOST_ELEMENTS = 60_000
"""That are moved: a program takes a second or two."""
UNSIGNED = {
    "lo": "lt",
    "ltu": "lt",
    "ls": "le",
    "leu": "le",
    "hi": "gt",
    "gtu": "gt",
    "hs": "ge",
    "geu": "ge",
}
Array = Any


def some(
    shared: Memory, special: dict[str, Any], memory: Memory, to: int, at: int, size: int, taken: int
) -> None:
    """cp.async: so many bytes of which it takes some, the rest is 0."""
    into, begin = shared.find(to, size)
    data = b""
    if taken:
        run, first = ahead(special, memory).find(at, size if taken == size else 1)
        data = bytes(run[first : first + taken])
        assert len(data) == taken, "cp.async reads past the tensor"
    into[begin : begin + size] = data + bytes(size - taken)


def rounded(bits: int, kind: str) -> int:
    """A float32 as bf16 or f16."""
    word = np.array([bits & 0xFFFFFFFF], np.uint32)
    return int(converted(word.view(np.uint8).reshape(1, 1, 4), "f32", kind).view(np.uint16)[0, 0, 0])


def widened(bits: int, kind: str) -> int:
    """bf16 or f16 as a float32."""
    half = np.array([bits & 0xFFFF], np.uint16)
    return int(converted(half.view(np.uint8).reshape(1, 1, 2), kind, "f32").view(np.uint32)[0, 0, 0])


def converted(raw: Array, kind: str, other: str) -> Array:
    """Elements uint8[row, column, byte] in another type: to nearest, ties to even."""
    if kind == other:
        return raw
    if kind == "bf16":
        words = raw.view(np.uint16).astype(np.uint32) << 16
    else:
        words = raw.view(np.float32 if kind == "f32" else np.float16).astype(np.float32).view(np.uint32)
    if other == "bf16":
        words = ((words + 0x7FFF + (words >> 16 & 1)) >> 16).astype(np.uint16)
    elif other == "f16":
        words = words.view(np.float32).astype(np.float16)
    return np.ascontiguousarray(words).view(np.uint8).reshape(*raw.shape[:2], -1)


class Simulated(Program):
    """A program whose warps also move matrices together."""

    def __init__(self, ptx: str) -> None:
        count = iter(range(10**6))
        alone = re.compile(r"^.*\b(?:ldmatrix|stmatrix)\.[^\n]*$", re.MULTILINE)
        super().__init__(alone.sub(lambda found: f"$M{next(count)}:\n{found[0]}\n$M{next(count)}:", ptx))

    def lines(self, name: str, operands: list[str]) -> list[str]:
        """An instruction."""
        words = name.split(".")
        if words[0] in ("ldmatrix", "stmatrix"):
            held, where = operands if words[0] == "ldmatrix" else reversed(operands)
            at = [int(self.value(one.strip())[2:-1]) for one in held.strip("{}").split(",")]
            way = words[0] == "ldmatrix", "trans" in words
            return [f"special['matrix'] = {way}, {self.address(where)}, {at}", f"return {MATRIX}"]
        if name.startswith(("fence.proxy", "fence.mbarrier", "cp.async.wait_all")):
            return ["pass"]
        if name.startswith(("cp.async.ca", "cp.async.cg")):
            size, more = operands[2], [one for one in operands[3:] if "policy" not in one]
            ends = (self.address(one) for one in operands[:2])
            return [f"some(s, special, g, {', '.join([*ends, size, self.value(more[0]) if more else size])})"]
        if words[0] == "setp" and words[1] in UNSIGNED:
            return super().lines(".".join([words[0], UNSIGNED[words[1]], *words[2:]]), operands)
        if words[0] == "cvt" and words[-1] in ("f32", "f16", "bf16"):
            target, *sources = (self.value(one) for one in operands)
            kind, source = words[-2], words[-1]
            if kind == "f32":
                return [f"{target} = widened({sources[0]}, {source!r})"]
            halves = [f"rounded({one}, {kind.removesuffix('x2')!r})" for one in sources]
            return [f"{target} = {' << 16 | '.join(halves)}"]
        return super().lines(name, operands)

    def run(
        self, grid: tuple[int, int, int], memory: Memory, *args: int | bytes, room: int = SHARED_BYTES
    ) -> None:
        """Shared memory begins with anything, the same in each run."""
        params, anything = dict(zip(self.names, args, strict=True)), random.Random(0)
        for z, y, x in product(*(range(extent) for extent in reversed(grid))):
            shared = Memory((0, bytearray(anything.randbytes(room))), bits=32)
            threads = [
                self.thread(params, shared, memory, grid, (x, y, z), tid) for tid in range(self.threads)
            ]
            stops = [next(thread, None) for thread in threads]
            while any(stops):
                for first in range(0, self.threads, WARP):
                    warp = slice(first, first + WARP)
                    while any(stop and stop.kind == MATRIX for stop in stops[warp]):
                        matrices(stops[warp], shared)
                        stops[warp] = [next(thread, None) for thread in threads[warp]]
                assert len({stop and stop.at for stop in stops}) == 1, "a barrier that not all threads reach"
                stops = [next(thread, None) for thread in threads]


def matrices(warp: list[Stop | None], shared: Memory) -> None:
    """ldmatrix or stmatrix of 16-bit elements: row r of matrix m lies where lane 8 m + r says."""
    lanes = [stop for stop in warp if stop is not None]
    assert len(lanes) == WARP and len({stop.at for stop in lanes}) == 1, "a matrix that not all lanes reach"
    (load, turned), _, held = lanes[0].special["matrix"]
    for matrix in range(len(held)):
        rows = [shared.find(lanes[8 * matrix + row].special["matrix"][1], 16) for row in range(8)]
        for lane, stop in enumerate(lanes):
            own = stop.special["matrix"][2][matrix]
            for half in range(2):
                row, column = lane // 4, 2 * (lane % 4) + half
                run, begin = rows[column if turned else row]
                at = slice(
                    begin + 2 * (row if turned else column), begin + 2 * (row if turned else column) + 2
                )
                if load and half == 0:
                    stop.registers[own] = 0
                if load:
                    stop.registers[own] |= int.from_bytes(run[at], "little") << 16 * half
                else:
                    run[at] = (stop.registers[own] >> 16 * half & 0xFFFF).to_bytes(2, "little")


HELPERS.update(some=some, rounded=rounded, widened=widened)


def wrong(plan: Plan, ptx: str, rng: random.Random, divisor: int) -> str | None:
    """What the program does wrong with tensors of random extents: "" for nothing, None if they are large."""
    wanted = plan.wanted
    extents = _extents(plan, rng, divisor)
    if math.prod(extents) > MOST_ELEMENTS:
        return None
    source = _elements(wanted.src.dtype, wanted.src.dtype != wanted.dtype, extents, rng)
    middle = converted(source, str(wanted.src.dtype), str(wanted.dtype))
    outs = [(wanted.src, middle) for one in wanted.consumers if one.target != "gmem"]
    if wanted.dst is not None:
        outs.append((wanted.dst, converted(middle, str(wanted.dtype), str(wanted.dst.dtype))))
    runs, expected, args = [], [], []
    for n, (tensor, elements) in enumerate([(wanted.src, source), *outs]):
        fast = [one == 1 for one in tensor.layout.stride].index(True)  # type: ignore[union-attr]
        pitch = -(-extents[fast] // divisor) * divisor + divisor * rng.randrange(3)
        blank = np.full_like(elements, BLANK)
        runs.append((n + 1 << 32, _placed(elements if n == 0 else blank, fast, pitch)))
        expected.append(_placed(elements, fast, pitch))
        args.append(struct.pack("<Qiiq", n + 1 << 32, *extents, pitch))
    Simulated(ptx).run((blocks_of(wanted, extents), 1, 1), Memory(*runs), *args)
    for (_, found), right in zip(runs, expected, strict=True):
        bad = [n for n, (a, b) in enumerate(zip(found, right, strict=True)) if a != b]
        if bad:
            return f"{len(bad)} of {len(right)} bytes of {extents}, the first at {bad[:4]}"
    return ""


def _extents(plan: Plan, rng: random.Random, divisor: int) -> tuple[int, int]:
    """Whole tiles, or with tails extents around one and two of them."""
    wanted = plan.wanted
    if not wanted.tails:
        steps = [math.lcm(extent, divisor) for extent in wanted.tile]
        return steps[0] * rng.choice([1, 2]), steps[1] * rng.choice([1, 2, 3])
    rows, columns = (divisor * rng.randrange(1, 2 * tile // divisor + 2) for tile in wanted.tile)
    return rows, columns + wanted.tile[1] * rng.choice([0, 1])


def _elements(kind: DType, numbers: bool, extents: tuple[int, int], rng: random.Random) -> Array:
    """uint8[row, column, byte]: any bits, or numbers for what is converted."""
    made = np.random.default_rng(rng.randrange(1 << 30))
    if numbers:
        values = made.standard_normal(extents).astype(np.float32).view(np.uint8).reshape(*extents, 4)
        return converted(values, "f32", str(kind))
    return made.integers(0, 256, (*extents, kind.bits // 8), np.uint8)


def _placed(elements: Array, fast: int, pitch: int) -> bytearray:
    """The bytes of a tensor whose mode `fast` is contiguous; gaps are BLANK."""
    rows = elements if fast == 1 else elements.transpose(1, 0, 2)
    whole = np.full((rows.shape[0], pitch, rows.shape[2]), BLANK, np.uint8)
    whole[:, : rows.shape[1]] = rows
    return bytearray(whole.tobytes())
