"""Triton's own tests of layout conversion, converted by Triton and by `lc.exchange`: widths and wavefronts.

    python -m benchmarks.triton_conversions OUT [--every 1] [--processes 1]

needs Triton, no GPU. The layouts are those between which Triton's tests convert in one block on NVIDIA's GPUs
(python/test/gluon/test_lowerings.py: one and two dimensions, MMA to MMA, within a warp; figures read, no
code). Triton compiles each conversion for sm_90; what its PTX has of loads and stores of
shared memory is counted, without any conflict: the least that it can cost. Writes OUT/synthesis_triton.json,
and prints what is not at least as good.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import tempfile
from collections.abc import Iterator
from itertools import islice
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from benchmarks.evidence import head, write

SHAPES = ((64, 1), (64, 64), (64, 128), (1, 64))
MMA_SHAPES = ((16, 16), (64, 1), (1, 64), (64, 64), (128, 128), (256, 256))
KERNEL = """
from triton.experimental import gluon
from triton.experimental.gluon import language as ttgl


@gluon.jit
def two(src, dst, M: ttgl.constexpr, N: ttgl.constexpr, a: ttgl.constexpr, b: ttgl.constexpr):
    row = ttgl.arange(0, M, layout=ttgl.SliceLayout(1, a))
    column = ttgl.arange(0, N, layout=ttgl.SliceLayout(0, a))
    given = ttgl.load(src + row[:, None] * N + column[None, :])
    made = ttgl.convert_layout(given, layout=b)
    row = ttgl.arange(0, M, layout=ttgl.SliceLayout(1, b))
    column = ttgl.arange(0, N, layout=ttgl.SliceLayout(0, b))
    ttgl.store(dst + row[:, None] * N + column[None, :], made)


@gluon.jit
def one(src, dst, M: ttgl.constexpr, N: ttgl.constexpr, a: ttgl.constexpr, b: ttgl.constexpr):
    given = ttgl.load(src + ttgl.arange(0, M, layout=a))
    ttgl.store(dst + ttgl.arange(0, M, layout=b), ttgl.convert_layout(given, layout=b))
"""


def mma(version: int, warps: list[int], shape: list[int], minor: int = 0) -> Any:
    from triton.experimental.gluon import language as ttgl

    return ttgl.NVMMADistributedLayout(version=[version, minor], warps_per_cta=warps, instr_shape=shape)


def conversions() -> Iterator[tuple[tuple[int, ...], Any, Any, int]]:
    """The shape, both layouts and the element's bits, of every conversion."""
    from triton.experimental.gluon import language as ttgl

    def operand(parent: Any, index: int, width: int) -> Any:
        return ttgl.DotOperandLayout(parent=parent, operand_index=index, k_width=width)

    three, two = mma(3, [4, 1], [16, 32, 16]), mma(2, [4, 1], [16, 8])
    flat = [
        ttgl.BlockedLayout([1, 1], [32, 1], [2, 2], [0, 1]),
        ttgl.BlockedLayout([1, 16], [8, 4], [4, 1], [1, 0]),
        three,
        operand(three, 0, 2),
        operand(three, 0, 1),
        two,
        operand(two, 1, 2),
        operand(mma(2, [2, 2], [16, 8]), 0, 2),
        operand(two, 0, 8),
        ttgl.SliceLayout(dim=1, parent=operand(mma(3, [4, 1, 1], [16, 32, 16]), 0, 2)),
        ttgl.SliceLayout(dim=1, parent=operand(mma(2, [4, 1, 1], [1, 16, 8]), 1, 2)),
    ]
    for shape in SHAPES:
        yield from ((shape, a, b, 16) for a in flat for b in flat if str(a) != str(b))
    pairs = [
        (mma(2, [1, 4], [16, 8]), mma(2, [4, 1], [16, 8])),
        (mma(2, [2, 8], [16, 8]), mma(2, [8, 2], [16, 8])),
        (mma(2, [1, 4], [16, 8], 1), mma(2, [4, 1], [16, 8], 1)),
        (mma(2, [2, 8], [16, 8], 1), mma(2, [8, 2], [16, 8], 1)),
        (mma(3, [4, 1], [16, 32, 32]), mma(3, [4, 1], [16, 64, 32])),
        (mma(3, [1, 4], [16, 32, 32]), mma(3, [4, 1], [16, 64, 32])),
        (mma(3, [2, 8], [16, 64, 32]), mma(3, [8, 2], [16, 32, 32])),
        (mma(3, [4, 1], [16, 128, 16]), mma(3, [4, 1], [16, 64, 16])),
    ]
    for shape in MMA_SHAPES:
        for a, b in pairs:
            yield from ((shape, *both, 16) for both in ((a, b), (b, a)))
    lines = [
        ttgl.SliceLayout(dim, parent)
        for parent in (
            ttgl.BlockedLayout([1, 4], [1, 32], [4, 1], [1, 0]),
            ttgl.BlockedLayout([1, 4], [1, 32], [2, 2], [1, 0]),
            three,
            two,
            operand(three, 0, 2),
            operand(mma(2, [2, 2], [16, 8]), 0, 2),
        )
        for dim in (0, 1)
    ]
    for extent in (64, 128, 256):
        yield from (
            ((extent,), a, b, bits) for a in lines for b in lines if str(a) != str(b) for bits in (32, 8)
        )
    local = [
        ttgl.BlockedLayout([1, each], [32 // lanes, lanes], [1, 1], [1, 0])
        for each in (1, 4)
        for lanes in (1, 2, 4, 8, 16, 32)
    ]
    local += [ttgl.BlockedLayout([32 >> n, 1], [1 << n, 32 >> n], [1, 1], [1, 0]) for n in (0, 1)]
    for shape in ((32, 32), (64, 64)):
        yield from ((shape, a, b, 16) for a in local for b in local if a is not b and _near(a, b))


def _near(a: Any, b: Any) -> bool:
    """Whether Triton's test of conversions within a warp takes the pair."""
    rows, columns = (x // y for x, y in zip(a.threads_per_warp, b.threads_per_warp, strict=True))
    return (rows or columns) <= 2


class Linear:
    """Layouts as Triton has them: bases of registers, lanes and warps."""

    def __init__(self) -> None:
        from triton._C.libtriton import gluon_ir, ir
        from triton.backends.compiler import GPUTarget
        from triton.backends.nvidia.compiler import CUDABackend

        self._context = ir.context()
        ir.load_dialects(self._context)
        CUDABackend(GPUTarget("cuda", 90, 32)).load_dialects(self._context)
        self._builder = gluon_ir.GluonOpBuilder(self._context)

    def bases(self, layout: Any, shape: tuple[int, ...]) -> list[list[list[int]]]:
        """[registers, lanes, warps], each a list of coordinates."""
        found = self._builder.to_linear_layout(layout._to_ir(self._builder), list(shape))
        return [found.reg_bases, found.lane_bases, found.warp_bases]


def triton_s(module: Any, shape: tuple[int, ...], a: Any, b: Any, bits: int, warps: int) -> dict[str, Any]:
    """What a warp of Triton's PTX has of shared memory and of shuffles: instructions by their names."""
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.experimental.gluon._runtime import GluonASTSource

    kind = {8: "*i8", 16: "*fp16", 32: "*fp32"}[bits]
    names = {"src": kind, "dst": kind, **dict.fromkeys(("M", "N", "a", "b"), "constexpr")}
    m, n = (*shape, 1)[:2]
    source = GluonASTSource(
        fn=module.two if len(shape) == 2 else module.one,
        signature=names,
        constexprs={"M": m, "N": n, "a": a, "b": b},
        attrs={(0,): [["tt.divisibility", 16]], (1,): [["tt.divisibility", 16]]},
    )
    ptx = triton.compile(source, target=GPUTarget("cuda", 90, 32), options={"num_warps": warps}).asm["ptx"]
    found: dict[str, int] = {}
    for name in re.findall(
        r"^\s*(?:@%p\d+ )?((?:st|ld)\.shared\S*|(?:ld|st)matrix\S*|shfl\S*)", ptx, re.MULTILINE
    ):
        found[name] = found.get(name, 0) + 1
    return found


def cost(instructions: dict[str, int], store: bool) -> tuple[int, int, int]:
    """Bits of the widest, instructions and wavefronts of a warp's stores or loads, without conflicts."""
    widest = issued = wavefronts = 0
    for name, count in instructions.items():
        if name.startswith("shfl") or name.startswith("st") != store:
            continue
        words = re.search(r"\.v([24])", name)
        if "matrix" in name:
            bits = 32 * int(re.search(r"\.x([124])", name)[1])  # type: ignore[index]
        else:
            bits = int(re.search(r"\.[bufs](\d+)$", name)[1]) * (int(words[1]) if words else 1)  # type: ignore[index]
        widest, issued = max(widest, bits), issued + count
        wavefronts += count * max(1, bits // 32)
    return widest, issued, wavefronts


def compared(row: dict[str, Any]) -> dict[str, Any]:
    """Ours beside Triton's, both for a block: bits, instructions and wavefronts of each side.

    `better_or_equal`: no more wavefronts on either side, and no more instructions together. `as_wide`: no
    side's accesses are narrower.
    """
    import layoutcheck as lc
    from layoutcheck.errors import InputError

    shape = (*row["shape"], 1)[:2]
    kind = {8: "i8", 16: "bf16", 32: "f32"}[row["bits"]]
    try:
        sides = [_layout_tv(bases, shape) for bases in (row["src"], row["dst"])]
        found = lc.exchange(shape, *sides, kind)
    except (InputError, ValueError) as error:
        return {"refused": str(error)[:300]}
    ours, theirs = {}, {}
    for name, side in (("write", found.write), ("read", found.read)):
        warps = 1 << len(row["src" if name == "write" else "dst"][2])
        width, issued, wavefronts = cost(row["triton"], name == "write")
        ours[name] = side.width_bits, side.instructions, side.wavefronts
        theirs[name] = width, issued * warps, wavefronts * warps
    return {
        "ours": ours,
        "theirs": theirs,
        "better_or_equal": all(ours[name][2] <= theirs[name][2] for name in ours)
        and sum(one[1] for one in ours.values()) <= sum(one[1] for one in theirs.values()),
        "as_wide": all(ours[name][0] >= theirs[name][0] for name in ours),
    }


def _layout_tv(bases: list[list[list[int]]], shape: tuple[int, ...]) -> Any:
    """(thread, value) -> index into the tile. Raises ValueError where bases overlap: CuTe has no XOR."""
    from layoutcheck.algebra.layout import Layout

    registers, lanes, warps = bases

    def steps(some: list[list[int]]) -> tuple[int, ...]:
        return tuple(one[0] + (one[1] if len(one) > 1 else 0) * shape[0] for one in some)

    every = [n for one in (registers, lanes, warps) for n in steps(one)]
    if any(n & (n - 1) for n in every):
        raise ValueError("a base of more than one bit")
    threads, values = steps([*lanes, *warps]), steps(registers)
    return Layout(((2,) * len(threads), (2,) * max(1, len(values))), (threads, values or (0,)))


def share(given: tuple[int, int]) -> list[dict[str, Any]]:
    """The conversions number `first`, `first + step`, ..., each with what became of it."""
    from tests.synthesis.compile_programs import module_of

    first, step = given
    linear, rows = Linear(), []
    with tempfile.TemporaryDirectory() as folder:
        os.environ["TRITON_CACHE_DIR"] = folder
        module = module_of(KERNEL, Path(folder), "conversion")
        for shape, a, b, bits in islice(conversions(), first, None, step):
            row: dict[str, Any] = {"shape": list(shape), "bits": bits, "from": str(a), "to": str(b)}
            row["src"], row["dst"] = linear.bases(a, shape), linear.bases(b, shape)
            row["triton"] = triton_s(module, shape, a, b, bits, 1 << len(row["src"][2]))
            through = any(not name.startswith("shfl") for name in row["triton"])
            rows.append(row | (compared(row) if through else {"no_shared": True}))
    return rows


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("out", type=Path)
    options.add_argument("--every", type=int, default=1)
    options.add_argument("--processes", type=int, default=1)
    given = options.parse_args()
    step = given.every * given.processes
    starts = [(given.every * n, step) for n in range(given.processes)]
    rows = []
    with get_context("spawn").Pool(given.processes) as pool:
        for some in pool.imap_unordered(share, starts):
            rows += some
            print(f"{len(rows)} conversions", flush=True)
    for row in rows:
        if not row.get("better_or_equal", True) or "refused" in row:
            print(json.dumps(row))
    shared = [row for row in rows if "no_shared" not in row]
    good = sum(row.get("better_or_equal", False) for row in shared)
    write(
        {
            **head("benchmarks.triton_conversions", "triton"),
            "through_shared_memory": len(shared),
            "no_worse": good,
            "as_wide": sum(row.get("as_wide", False) for row in shared),
            "conversions": rows,
        },
        given.out / "synthesis_triton.json",
    )
    print(f"{len(rows)} conversions, {len(shared)} through shared memory in Triton: {good} no worse in ours")


if __name__ == "__main__":
    main()
